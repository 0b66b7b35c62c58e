//! A client that signs: its key, and whatever it says with it.

use crate::{
    http::Answer,
    outside::Outside,
    support::{TestServer, form},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::{Method, http::request::Builder};
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use porteiro::domain::Clock as _;
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

pub const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A key for ES256.
pub struct ClientKey {
    pub kid: String,
    pub jwk: Value,
    key: EncodingKey,
}

impl ClientKey {
    pub fn new(kid: &str) -> Self {
        let pair = rcgen::KeyPair::generate().unwrap();
        let point = pair.public_key_raw();
        let part = |at: usize| URL_SAFE_NO_PAD.encode(&point[at..at + 32]);
        let jwk = json!({
            "kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "alg": "ES256",
            "x": part(1), "y": part(33),
        });
        let key = EncodingKey::from_ec_der(pair.serialized_der());
        Self { kid: kid.to_owned(), jwk, key }
    }

    pub fn header(&self) -> Value {
        json!({ "alg": "ES256", "kid": self.kid })
    }

    pub fn sign(&self, claims: &Value) -> String {
        self.sign_under(&self.header(), claims)
    }

    /// Signs by ES256, whatever the header says.
    pub fn sign_under(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(header, &claims.to_string())
    }

    /// Signs a payload as it is written.
    pub fn sign_text(&self, header: &Value, payload: &str) -> String {
        let parts = [header.to_string(), payload.to_owned()];
        let message = parts.map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        let signature = crypto::sign(message.as_bytes(), &self.key, Algorithm::ES256).unwrap();
        format!("{message}.{signature}")
    }
}

/// The one RSA key of clients. Making one takes as long as a test: the first that asks keeps it for the others.
fn shared_rsa_pair() -> KeyPair {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = kept.join("rsa-key-of-clients.der");
    if let Ok(bytes) = fs::read(&path) {
        return KeyPair::try_from(bytes).unwrap();
    }
    let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
    // Whole or not at all.
    let made = tempfile::NamedTempFile::new_in(kept).unwrap();
    fs::write(made.path(), pair.serialized_der()).unwrap();
    made.persist(&path).unwrap();
    pair
}

/// A key for RS256 and PS256.
pub struct RsaClientKey {
    pub jwk: Value,
    key: EncodingKey,
}

impl RsaClientKey {
    pub fn new(kid: &str) -> Self {
        let pair = shared_rsa_pair();
        // RFC 8017 §A.1.1: two numbers, of which the first has 256 bytes after a zero.
        let modulus = &pair.public_key_raw()[9..][..256];
        let jwk = json!({
            "kty": "RSA", "kid": kid, "use": "sig", "e": "AQAB",
            "n": URL_SAFE_NO_PAD.encode(modulus),
        });
        // RFC 5208 §5: what stands before the key itself is as long for every key of this size.
        let key = EncodingKey::from_rsa_der(&pair.serialized_der()[26..]);
        Self { jwk, key }
    }

    pub fn sign(&self, algorithm: Algorithm, claims: &Value) -> String {
        let header = json!({ "alg": format!("{algorithm:?}"), "kid": self.jwk["kid"] });
        self.sign_under(algorithm, &header, claims)
    }

    /// Signs by an algorithm, whatever the header says.
    pub fn sign_under(&self, algorithm: Algorithm, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = crypto::sign(message.as_bytes(), &self.key, algorithm).unwrap();
        format!("{message}.{signature}")
    }
}

/// Header and payload, to be signed.
pub fn message(header: &Value, claims: &Value) -> String {
    [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".")
}

pub fn key_set(keys: &[&Value]) -> Value {
    json!({ "keys": keys })
}

/// Writes a key set, whose members are texts, as TOML.
pub fn in_toml(set: &Value) -> String {
    let key = |key: &Value| {
        let members = key.as_object().unwrap().iter();
        let members: Vec<String> =
            members.map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{{ {} }}", members.join(", "))
    };
    let keys: Vec<String> = set["keys"].as_array().unwrap().iter().map(key).collect();
    format!("{{ keys = [{}] }}", keys.join(", "))
}

/// A claim set that is right, unless a test says otherwise; null leaves a claim out.
pub fn claims(server: &TestServer, client: &str, otherwise: Value) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = server.clock.now().seconds();
    let mut claims: Map<String, Value> = json!({
        "iss": client, "sub": client, "aud": server.issuer(), "iat": now, "exp": now + 60,
        "jti": format!("jti-{}", NEXT.fetch_add(1, SeqCst)),
    })
    .as_object()
    .unwrap()
    .clone();
    let Value::Object(otherwise) = otherwise else { panic!("claims are an object") };
    claims.extend(otherwise);
    claims.retain(|_, value| !value.is_null());
    Value::Object(claims)
}

impl Outside {
    /// Asks for a token in its own name with an assertion.
    pub async fn assert(&self, assertion: &str, more: &[(&str, &str)]) -> Answer {
        let fields = [&[("grant_type", "client_credentials")], more].concat();
        self.assert_at("/connect/token", assertion, &fields).await
    }

    pub async fn assert_at(&self, path: &str, assertion: &str, more: &[(&str, &str)]) -> Answer {
        self.send_assertion(self.request(Method::POST, path), assertion, more).await
    }

    /// Asks for a token in its own name with an assertion and a proof of a key.
    pub async fn assert_proved(&self, assertion: &str, proof: &str) -> Answer {
        let request = self.request(Method::POST, "/connect/token").header("dpop", proof);
        self.send_assertion(request, assertion, &[("grant_type", "client_credentials")]).await
    }

    async fn send_assertion(
        &self,
        request: Builder,
        assertion: &str,
        more: &[(&str, &str)],
    ) -> Answer {
        let given = [("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)];
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(form(&[&given, more].concat())).unwrap()).await
    }
}

/// Makes a client of Acme that authenticates by signing; `keys` is a line of TOML.
pub async fn provision(server: &TestServer, client: &str, keys: &str) {
    let text = format!(
        "[[client]]\nclient_id = \"{client}\"\norganization = \"acme\"\nroles = [\"clerk\"]\n\
         token_endpoint_auth_method = \"private_key_jwt\"\n{keys}\n"
    );
    server.apply(&text).await;
}
