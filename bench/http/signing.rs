//! The client that signs: its key, an assertion of who it is and a proof of its key for each request.

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
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex, PoisonError};

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
        let now = SystemClock.now().seconds();
        let said = json!({
            "iss": client_id, "sub": client_id, "aud": issuer, "iat": now, "exp": now + 60,
            "jti": draw_text(&SystemDice, 16),
        });
        self.sign(&[json!({ "alg": "ES256", "kid": KID }), said])
    }

    /// Signs that the key is held, for one request by POST (RFC 9449).
    pub fn prove(&self, url: &str) -> Outcome<String> {
        let said = json!({
            "jti": draw_text(&SystemDice, 16), "htm": "POST", "htu": url,
            "iat": SystemClock.now().seconds(),
        });
        let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.named() });
        self.sign(&[header, said])
    }

    /// What a token that is bound to the key names it by (RFC 7638: the members in the order of their names).
    pub fn thumbprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.named().to_string()))
    }

    /// The members that make the key.
    fn named(&self) -> Value {
        let Value::Object(public) = &self.public else { return Value::Null };
        let members = ["crv", "kty", "x", "y"].map(|name| (name.to_owned(), public[name].clone()));
        Value::Object(members.into_iter().collect())
    }

    fn sign(&self, parts: &[Value; 2]) -> Outcome<String> {
        let key = EncodingKey::from_ec_der(&STANDARD.decode(&self.private)?);
        let message =
            parts.each_ref().map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = crypto::sign(message.as_bytes(), &key, Algorithm::ES256)?;
        Ok(format!("{message}.{signature}"))
    }
}

/// What was signed before the clock runs, for all connections of a round. The generator shares the machine with the
/// server: if it signed while it presses, a round would measure that as well.
#[derive(Clone)]
pub struct SignedAhead(Arc<Mutex<Vec<String>>>);

impl SignedAhead {
    pub fn new(number: usize, sign: impl Fn() -> Outcome<String>) -> Outcome<Self> {
        let signed = (0..number).map(|_| sign()).collect::<Outcome<Vec<String>>>()?;
        Ok(Self(Arc::new(Mutex::new(signed))))
    }

    /// Takes the next one. A round that needs more has measured nothing that counts, and fails.
    pub fn next(&self) -> Outcome<String> {
        let mut signed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        signed.pop().ok_or_else(|| "more was needed than had been signed ahead".into())
    }
}
