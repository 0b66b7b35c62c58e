//! Software statements: what an issuer that the operator trusts says of a client (RFC 7591 §2.3).
//!
//! The issuers and their public keys are in a file:
//!
//! ```text
//! { "https://statements.example": { "keys": [ … ] } }
//! ```

use super::Verifiers;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The issuers whose statements count, and their keys.
pub struct StatementIssuers(BTreeMap<String, Verifiers>);

/// Why a file of issuers cannot be used; reads on from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadIssuers {
    #[error("is not an object of issuers and their key sets")]
    Malformed,
    #[error("has a key set without a key, or with one that has no kid or cannot verify")]
    Keys,
}

/// Why a statement does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadStatement {
    #[error("it is malformed, or its signature does not verify")]
    Invalid,
    #[error("its issuer is not trusted")]
    Unapproved,
}

impl StatementIssuers {
    pub fn parse(file: &[u8]) -> Result<Self, BadIssuers> {
        let file: BTreeMap<String, Value> =
            serde_json::from_slice(file).map_err(|_| BadIssuers::Malformed)?;
        let read = |(issuer, keys): (String, Value)| {
            let keys = keys.get("keys").and_then(Value::as_array).ok_or(BadIssuers::Malformed)?;
            let verifiers = Verifiers::of_others(keys).ok_or(BadIssuers::Keys)?;
            if verifiers.is_empty() { Err(BadIssuers::Keys) } else { Ok((issuer, verifiers)) }
        };
        file.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the claims of a statement that one of the issuers has signed.
    ///
    /// Says nothing of time.
    pub fn read(&self, statement: &str) -> Result<Map<String, Value>, BadStatement> {
        let claims = statement.split('.').nth(1).ok_or(BadStatement::Invalid)?;
        let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| BadStatement::Invalid)?;
        let said: Value = serde_json::from_slice(&claims).map_err(|_| BadStatement::Invalid)?;
        // RFC 7591 §2.3: it must say who says it. It is believed only after its signature.
        let issuer = said.get("iss").and_then(Value::as_str).ok_or(BadStatement::Invalid)?;
        let keys = self.0.get(issuer).ok_or(BadStatement::Unapproved)?;
        keys.read("JWT", statement).map_err(|_| BadStatement::Invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::signer::tests::signers;
    use serde_json::json;

    const ISSUER: &str = "https://statements.example";

    #[test]
    fn a_statement_counts_if_its_issuer_signed_it() {
        let signers = signers();
        let keys: Vec<Value> = signers.iter().map(|signer| signer.observed().public_jwk).collect();
        let file = json!({ ISSUER: { "keys": keys }, "https://b.example": { "keys": [keys[0]] } });
        let issuers = StatementIssuers::parse(file.to_string().as_bytes()).unwrap();
        for signer in &signers {
            let said = json!({ "iss": ISSUER, "client_name": "Bank" });
            let statement = signer.sign("JWT", &said).unwrap();
            assert_eq!(issuers.read(&statement).unwrap()["client_name"], "Bank");
            let (message, _) = statement.rsplit_once('.').unwrap();
            let altered = format!("{message}.{}", "A".repeat(86));
            for wrong in [&altered[..], message, "", "a", "a.b.c", &statement[1..]] {
                assert_eq!(issuers.read(wrong), Err(BadStatement::Invalid), "{wrong}");
            }
            let token = signer.sign("at+jwt", &said).unwrap();
            assert_eq!(issuers.read(&token), Err(BadStatement::Invalid));
        }
        let statement = |issuer: Value| signers[1].sign("JWT", &json!({ "iss": issuer })).unwrap();
        let read = |issuer: Value| issuers.read(&statement(issuer));
        assert_eq!(read(json!("https://a.example")), Err(BadStatement::Unapproved));
        assert_eq!(read(json!("https://b.example")), Err(BadStatement::Invalid), "another's key");
        assert_eq!(read(json!(null)), Err(BadStatement::Invalid));
    }

    #[test]
    fn a_file_that_would_trust_less_than_it_says_is_refused() {
        let parse = |text: &str| StatementIssuers::parse(text.as_bytes()).err();
        for text in ["", "[]", r#"{"a":1}"#, r#"{"a":{}}"#, r#"{"a":{"keys":1}}"#] {
            assert_eq!(parse(text), Some(BadIssuers::Malformed), "{text}");
        }
        for text in [
            r#"{"a":{"keys":[]}}"#,
            r#"{"a":{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"1"}]}}"#,
            r#"{"a":{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}}"#,
            r#"{"a":{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"1"}]}}"#,
        ] {
            assert_eq!(parse(text), Some(BadIssuers::Keys), "{text}");
        }
        assert_eq!(parse("{}"), None);
    }
}
