//! A client that holds a key and signs a proof for each request (RFC 9449).

use crate::{
    http::Answer,
    outside::Outside,
    person::{callback, redeeming},
    signing_client::ClientKey,
    support::{SECRET, basic, form},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::Method;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A key, the server that it is proved to, and the time there.
pub struct KeyHolder {
    pub key: ClientKey,
    pub issuer: String,
    /// Seconds since 1970.
    pub now: i64,
}

impl KeyHolder {
    pub fn new(issuer: &str, now: i64) -> Self {
        Self { key: ClientKey::new("k"), issuer: issuer.to_owned(), now }
    }

    /// The public key, and nothing else of it.
    pub fn jwk(&self) -> Value {
        let part = |name: &str| self.key.jwk[name].clone();
        json!({ "kty": "EC", "crv": "P-256", "x": part("x"), "y": part("y") })
    }

    /// RFC 7638.
    pub fn thumbprint(&self) -> String {
        let jwk = &self.key.jwk;
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, jwk["x"], jwk["y"]);
        URL_SAFE_NO_PAD.encode(Sha256::digest(text))
    }

    pub fn header(&self) -> Value {
        json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk() })
    }

    /// What a proof says, unless a test says otherwise; null leaves a claim out.
    pub fn claims(&self, method: &str, path: &str, otherwise: Value) -> Value {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let usual = json!({
            "jti": format!("proof-{}", NEXT.fetch_add(1, SeqCst)), "htm": method,
            "htu": format!("{}{path}", self.issuer), "iat": self.now,
        });
        let (Value::Object(mut claims), Value::Object(otherwise)) = (usual, otherwise) else {
            panic!("claims are an object")
        };
        claims.extend(otherwise);
        claims.retain(|_, value| !value.is_null());
        Value::Object(claims)
    }

    pub fn proof(&self, method: &str, path: &str, otherwise: Value) -> String {
        self.key.sign_under(&self.header(), &self.claims(method, path, otherwise))
    }

    /// A proof for a request with an access token.
    pub fn proof_with(&self, method: &str, path: &str, token: &str) -> String {
        self.proof(method, path, json!({ "ath": hash(token) }))
    }
}

pub fn hash(token: &str) -> String {
    hash_of(token.as_bytes())
}

pub fn hash_of(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

impl Outside {
    /// Posts a form as a client of the scene, be it public, with these proofs.
    pub async fn post_proved(
        &self,
        client: &str,
        path: &str,
        (fields, proofs): (&[(&str, &str)], &[&str]),
    ) -> Answer {
        let mut request = self
            .request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded");
        for proof in proofs {
            request = request.header("dpop", *proof);
        }
        let mut fields = fields.to_vec();
        if ["app", "native"].contains(&client) {
            fields.push(("client_id", client));
        } else {
            request = request.header("authorization", basic(client, SECRET));
        }
        self.send(request.body(form(&fields)).unwrap()).await
    }

    pub async fn redeem_proved(&self, client: &str, code: &str, proofs: &[&str]) -> Answer {
        let callback = callback(client);
        let fields = redeeming(code, &callback);
        self.post_proved(client, "/connect/token", (&fields, proofs)).await
    }

    pub async fn refresh_proved(&self, client: &str, token: &str, proofs: &[&str]) -> Answer {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.post_proved(client, "/connect/token", (&fields, proofs)).await
    }

    /// Presents an access token, with these proofs.
    pub async fn present_token(
        &self,
        (method, path): (Method, &str),
        authorization: &str,
        proofs: &[&str],
    ) -> Answer {
        let mut request = self.request(method, path).header("authorization", authorization);
        for proof in proofs {
            request = request.header("dpop", *proof);
        }
        self.send(request.body(form(&[])).unwrap()).await
    }
}

/// Members of an object that stay when others are left out.
pub fn without(object: &Value, name: &str) -> Value {
    let mut left: Map<String, Value> = object.as_object().unwrap().clone();
    left.remove(name);
    Value::Object(left)
}
