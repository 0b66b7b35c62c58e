//! Claims that a client signed, each once (RFC 7519 §4).

use super::json;
use crate::{
    actors::Failure,
    crypto::{JwsFault, ProofFault, UnverifiedSignature},
    domain::{
        Context, Timestamp,
        client_assertion::{Audience, Command, Fault},
        dpop, request_object,
    },
    http::{answer::error::OAuthError, app::App},
};
use serde_json::{Map, Value};

/// The members of a payload.
pub struct SignedClaims(pub Map<String, Value>);

/// Why what a client signed is not believed; for the log alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignedClaimsFault {
    #[error(transparent)]
    Token(#[from] JwsFault),
    #[error("its type says that it is something else")]
    OtherType,
    #[error("its payload is no object with each claim once")]
    Payload,
    #[error("the claim {0} is missing or has the wrong type")]
    Claim(&'static str),
    #[error(transparent)]
    Claims(#[from] Fault),
    #[error(transparent)]
    Object(#[from] request_object::Fault),
    #[error(transparent)]
    Proof(#[from] ProofFault),
    #[error(transparent)]
    ProofClaims(#[from] dpop::Fault),
    #[error("it has no nonce of ours that is good now")]
    NoNonce,
    #[error("its algorithm is not the one that the client registered")]
    OtherAlgorithm,
    #[error(transparent)]
    Signature(#[from] UnverifiedSignature),
    #[error("it was used before")]
    UsedBefore,
}

impl SignedClaims {
    pub fn read(payload: &[u8]) -> Result<Self, SignedClaimsFault> {
        json::object(payload).map(Self).ok_or(SignedClaimsFault::Payload)
    }

    pub fn text(&self, name: &'static str) -> Result<Option<&str>, SignedClaimsFault> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(SignedClaimsFault::Claim(name)),
        }
    }

    /// Returns seconds since 1970; RFC 7519 §2 allows fractions, which are cut off.
    pub fn time(&self, name: &'static str) -> Result<Option<i64>, SignedClaimsFault> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        let whole = value.as_i64();
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the ends")]
        let seconds = whole.or_else(|| value.as_f64().map(|seconds| seconds as i64));
        seconds.map(Some).ok_or(SignedClaimsFault::Claim(name))
    }

    pub fn audience(&self) -> Result<Option<Audience>, SignedClaimsFault> {
        const WRONG: SignedClaimsFault = SignedClaimsFault::Claim("aud");
        match self.0.get("aud") {
            None => Ok(None),
            Some(Value::String(one)) => Ok(Some(Audience::One(one.clone()))),
            Some(Value::Array(all)) => {
                let all = all.iter().map(|one| one.as_str().map(str::to_owned));
                let all: Option<Vec<String>> = all.collect();
                all.map(Audience::Several).map(Some).ok_or(WRONG)
            }
            Some(_) => Err(WRONG),
        }
    }
}

/// Writes the one use of what a client signed; false where it was used before.
pub async fn use_once(
    app: &App,
    context: &Context,
    (id, expires_at): (&str, Timestamp),
) -> Result<bool, OAuthError> {
    let used = Command::Use { expires_at };
    match app.entities.client_assertions.ask_new(context, id, used).await {
        Ok(_) => Ok(true),
        Err(Failure::Refused(_)) => Ok(false),
        // It may be spent: its client signs another.
        Err(failure) => Err(OAuthError::unavailable().because(failure.to_string())),
    }
}

/// Insists on a claim.
pub fn needed<T>(name: &'static str, found: Option<T>) -> Result<T, SignedClaimsFault> {
    found.ok_or(SignedClaimsFault::Claim(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(text: &str) -> SignedClaims {
        SignedClaims::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn each_claim_is_there_once_and_of_its_type() {
        for bad in ["", "[]", "7", r#"{"iss":"a","iss":"b"}"#, r#"{"a":{"b":1,"b":2}}"#, "{} {}"] {
            assert_eq!(SignedClaims::read(bad.as_bytes()).err(), Some(SignedClaimsFault::Payload));
        }
        let read = claims(r#"{"iss":"a","exp":1800000000.9,"nbf":-1,"iat":1e300,"jti":7}"#);
        assert_eq!(read.text("iss"), Ok(Some("a")));
        assert_eq!(read.text("sub"), Ok(None));
        assert_eq!(read.text("jti"), Err(SignedClaimsFault::Claim("jti")));
        assert_eq!(read.time("exp"), Ok(Some(1_800_000_000)));
        assert_eq!((read.time("nbf"), read.time("iat")), (Ok(Some(-1)), Ok(Some(i64::MAX))));
        assert_eq!(claims(r#"{"exp":"1"}"#).time("exp"), Err(SignedClaimsFault::Claim("exp")));
    }

    #[test]
    fn an_audience_is_one_or_several() {
        let of = |text: &str| claims(text).audience();
        assert_eq!(of("{}"), Ok(None));
        assert_eq!(of(r#"{"aud":"a"}"#), Ok(Some(Audience::One("a".to_owned()))));
        assert_eq!(of(r#"{"aud":["a"]}"#), Ok(Some(Audience::Several(vec!["a".to_owned()]))));
        for wrong in [r#"{"aud":7}"#, r#"{"aud":["a",7]}"#, r#"{"aud":null}"#, r#"{"aud":{}}"#] {
            assert_eq!(of(wrong), Err(SignedClaimsFault::Claim("aud")), "{wrong}");
        }
    }
}
