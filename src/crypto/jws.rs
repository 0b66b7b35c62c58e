//! Reading what others signed (RFC 7515): assertions, request objects and proofs of clients.
//!
//! The header is believed in two things: which algorithm was used, among ours, and which of the
//! client's own keys. A key that comes with the token proves nothing, and what a header calls critical
//! we do not understand (RFC 8725 §3).

use crate::domain::signing_keys::SigningAlgorithm;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::Value;

/// Bytes; a longer one is not even looked at.
const LONGEST: usize = 32 * 1024;

/// A token in compact form whose signature has not been verified yet.
#[derive(Debug)]
pub struct Jws<'a> {
    pub algorithm: SigningAlgorithm,
    pub kid: Option<String>,
    pub typ: Option<String>,
    pub payload: Vec<u8>,
    message: &'a [u8],
    signature: Vec<u8>,
}

/// Why a text is no token that could be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwsFault {
    #[error("it is not a signed token in compact form")]
    Malformed,
    #[error("its algorithm is not one that is accepted")]
    Algorithm,
    #[error("its header calls something critical")]
    Critical,
    #[error("its header brings a key")]
    KeyInHeader,
    #[error("its header brings no key")]
    NoKeyInHeader,
}

/// A member that is given twice is an error: two readers could believe different ones.
#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a member that must not be there")]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    #[serde(default, deserialize_with = "given")]
    crit: bool,
    #[serde(default, deserialize_with = "given")]
    b64: bool,
    #[serde(default, deserialize_with = "given")]
    zip: bool,
    #[serde(default, deserialize_with = "value")]
    jwk: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    jku: bool,
    #[serde(default, deserialize_with = "given")]
    x5c: bool,
    #[serde(default, deserialize_with = "given")]
    x5u: bool,
}

/// Notes that a member is there, be it null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// Keeps a member that is there, be it null.
fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl<'a> Jws<'a> {
    /// Takes a token apart; verifies nothing.
    pub fn read(token: &'a str) -> Result<Self, JwsFault> {
        match Self::take_apart(token)? {
            (_, Some(_)) => Err(JwsFault::KeyInHeader),
            (jws, None) => Ok(jws),
        }
    }

    /// The same for a token that brings the key it is verified by.
    pub(super) fn read_with_key(token: &'a str) -> Result<(Self, Value), JwsFault> {
        match Self::take_apart(token)? {
            (jws, Some(key)) => Ok((jws, key)),
            (_, None) => Err(JwsFault::NoKeyInHeader),
        }
    }

    fn take_apart(token: &'a str) -> Result<(Self, Option<Value>), JwsFault> {
        if token.len() > LONGEST {
            return Err(JwsFault::Malformed);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(JwsFault::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(JwsFault::Malformed)?;
        let header: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| JwsFault::Malformed)?;
        // Neither `none` nor an HMAC has a name among ours (RFC 8725 §2.1).
        let algorithm = SigningAlgorithm::by_name(&header.alg).ok_or(JwsFault::Algorithm)?;
        if header.crit || header.b64 || header.zip {
            return Err(JwsFault::Critical);
        }
        if header.jku || header.x5c || header.x5u {
            return Err(JwsFault::KeyInHeader);
        }
        let jws = Self {
            algorithm,
            kid: header.kid,
            typ: header.typ,
            payload: decode(payload)?,
            message: message.as_bytes(),
            signature: decode(signature)?,
        };
        Ok((jws, header.jwk))
    }

    /// Tells whether it has no type, or one of these, which are in lower case; `application/` may be
    /// left out (RFC 7515 §4.1.9).
    pub fn is_typed(&self, any: &[&str]) -> bool {
        let Some(typ) = &self.typ else { return true };
        let typ = typ.to_ascii_lowercase();
        any.contains(&typ.strip_prefix("application/").unwrap_or(&typ))
    }

    pub(super) fn message(&self) -> &[u8] {
        self.message
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }
}

fn decode(text: &str) -> Result<Vec<u8>, JwsFault> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| JwsFault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token(header: &str) -> String {
        format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(header))
    }

    fn fault(header: &Value) -> JwsFault {
        Jws::read(&token(&header.to_string())).unwrap_err()
    }

    #[test]
    fn a_header_says_which_algorithm_and_which_key() {
        let text = token(r#"{"alg":"PS256","kid":"a","typ":"JWT","x5t":"of no interest"}"#);
        let jws = Jws::read(&text).unwrap();
        assert_eq!((jws.algorithm, jws.kid.as_deref()), (SigningAlgorithm::Ps256, Some("a")));
        assert!(jws.is_typed(&["jwt"]) && !jws.is_typed(&["at+jwt"]));
        assert_eq!((jws.typ.as_deref(), jws.payload.as_slice()), (Some("JWT"), &b"{}"[..]));
    }

    #[test]
    fn neither_none_nor_hmac_is_an_algorithm() {
        for alg in ["none", "None", "NONE", "", "HS256", "HS384", "HS512", "rs256", "RS1", "dir"] {
            assert_eq!(fault(&json!({ "alg": alg })), JwsFault::Algorithm, "{alg}");
        }
    }

    #[test]
    fn what_is_critical_is_not_understood_and_no_key_comes_with_a_token() {
        for name in ["crit", "b64", "zip"] {
            for value in [json!(["exp"]), json!([]), json!(null), json!(false)] {
                let header = json!({ "alg": "RS256", name: value });
                assert_eq!(fault(&header), JwsFault::Critical, "{header}");
            }
        }
        for name in ["jwk", "jku", "x5c", "x5u"] {
            for value in [json!({ "kty": "oct", "k": "AAAA" }), json!("https://x"), json!(null)] {
                let header = json!({ "alg": "RS256", name: value });
                assert_eq!(fault(&header), JwsFault::KeyInHeader, "{header}");
            }
        }
    }

    #[test]
    fn what_is_no_token_is_malformed() {
        let twice = token(r#"{"alg":"RS256","alg":"ES256"}"#);
        let (long, padded) = ("a".repeat(LONGEST + 1), token(r#"{"alg":"RS256"}"#) + "=");
        let five = format!("{}.a.b", token(r#"{"alg":"RS256"}"#));
        let rest = ["", ".", "..", "a.b.c", "e30.e30.e30", &five, &long, &padded, &twice, "€.€.€"];
        for text in rest {
            assert_eq!(Jws::read(text).unwrap_err(), JwsFault::Malformed, "{text:.60}");
        }
    }
}
