//! The client that signs who it is: its key, and an assertion for each request.

use crate::Outcome;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use porteiro::{
    clock::SystemClock,
    crypto::{SystemDice, draw_text},
    domain::Clock as _,
};
use rcgen::KeyPair;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const KID: &str = "bench";

/// A key for ES256; both halves go into the scene, which only this run reads.
#[derive(Clone, Serialize, Deserialize)]
pub struct ClientKey {
    private: String,
    pub public: Value,
}

impl ClientKey {
    pub fn new() -> Self {
        let pair = KeyPair::generate().unwrap();
        let point = pair.public_key_raw();
        let part = |at: usize| URL_SAFE_NO_PAD.encode(&point[at..at + 32]);
        let public = json!({
            "kty": "EC", "crv": "P-256", "kid": KID, "use": "sig", "alg": "ES256",
            "x": part(1), "y": part(33),
        });
        Self { private: STANDARD.encode(pair.serialized_der()), public }
    }

    /// The public half as a provisioning file has it.
    pub fn in_toml(&self) -> String {
        let members = self.public.as_object().unwrap().iter();
        let members: Vec<String> =
            members.map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{{ keys = [{{ {} }}] }}", members.join(", "))
    }

    /// Signs that a client speaks to an issuer.
    pub fn assert(&self, client_id: &str, issuer: &str) -> Outcome<String> {
        let key = EncodingKey::from_ec_der(&STANDARD.decode(&self.private)?);
        let now = SystemClock.now().seconds();
        let said = json!({
            "iss": client_id, "sub": client_id, "aud": issuer, "iat": now, "exp": now + 60,
            "jti": draw_text(&SystemDice, 16),
        });
        let parts = [json!({ "alg": "ES256", "kid": KID }), said];
        let message = parts.map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = crypto::sign(message.as_bytes(), &key, Algorithm::ES256)?;
        Ok(format!("{message}.{signature}"))
    }
}
