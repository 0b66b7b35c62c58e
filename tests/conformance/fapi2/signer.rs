//! Keys by which the clients of the plans sign.

use crate::signing_client::{ClientKey, RsaClientKey, message};
use jsonwebtoken::Algorithm;
use serde_json::Value;

/// A key for PS256 or for ES256.
pub enum Signer {
    Rsa(RsaClientKey),
    Ec(ClientKey),
}

impl Signer {
    pub fn jwk(&self) -> &Value {
        match self {
            Self::Rsa(key) => &key.jwk,
            Self::Ec(key) => &key.jwk,
        }
    }

    pub fn sign(&self, claims: &Value) -> String {
        match self {
            Self::Rsa(key) => key.sign(Algorithm::PS256, claims),
            Self::Ec(key) => key.sign(claims),
        }
    }

    /// Signs a request; those of one sort of client say what they are (RFC 9101 §10.8).
    pub fn sign_request(&self, claims: &Value) -> String {
        match self {
            Self::Rsa(_) => self.sign(claims),
            Self::Ec(key) => {
                let mut header = key.header();
                header["typ"] = "oauth-authz-req+jwt".into();
                key.sign_under(&header, claims)
            }
        }
    }

    /// Signs by RS256, which no profile allows.
    pub fn sign_weakly(&self, claims: &Value) -> String {
        match self {
            Self::Rsa(key) => key.sign(Algorithm::RS256, claims),
            Self::Ec(_) => panic!("the key is for ES256"),
        }
    }
}

/// What is claimed, without a signature.
pub fn unsigned(claims: &Value) -> String {
    format!("{}.", message(&serde_json::json!({ "alg": "none" }), claims))
}

/// The same with a signature that is not right.
pub fn broken(signed: &str) -> String {
    let (message, signature) = signed.rsplit_once('.').unwrap();
    let turned: String = signature.chars().rev().collect();
    format!("{message}.{turned}")
}
