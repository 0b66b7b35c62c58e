//! The answer of a token endpoint (RFC 6749 §5, OpenID Connect Core §3.1.3.3).

use super::{
    error::{Cause, Part, ProviderFailure, Refusal, UpstreamError},
    mask,
};
use crate::{
    domain::{strict_json, upstream::ProviderError},
    outbound::Response,
};
use hyper::StatusCode;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// Bytes of a token.
const LONGEST: usize = 32 * 1024;

/// The tokens of an answer; forgotten with the sign-in.
pub(super) struct TokenAnswer {
    pub(super) access_token: Option<Zeroizing<String>>,
    pub(super) id_token: Option<Zeroizing<String>>,
}

impl TokenAnswer {
    /// Reads an answer; `secrets` are texts of the request that an error might repeat.
    pub(super) fn read(response: &Response, secrets: &[&str]) -> Result<Self, UpstreamError> {
        let status = response.status;
        let unavailable = |cause| ProviderFailure { part: Part::TokenEndpoint, cause };
        let unexpected = unavailable(Cause::Status(status.as_u16()));
        let Ok(mut members) = strict_json::object(&response.body) else {
            let not_json = unavailable(Cause::NotJson);
            return Err(if status == StatusCode::OK { not_json } else { unexpected }.into());
        };
        // GitHub answers errors with status 200.
        let may_refuse = status == StatusCode::OK || is_refusal(status);
        if let Some(code) = members.get("error").and_then(Value::as_str).filter(|_| may_refuse) {
            let description = members.get("error_description").and_then(Value::as_str);
            let description = description.map(|text| mask::hide(text, secrets));
            let code = mask::hide(code, secrets);
            return Err(Refusal::Exchange(ProviderError::new(&code, description.as_deref())).into());
        }
        if status != StatusCode::OK {
            return Err(unexpected.into());
        }
        // RFC 6749 §7.1: a token of another type needs what we do not have.
        let token_type = members.get("token_type").and_then(Value::as_str);
        if !token_type.is_some_and(|token_type| token_type.eq_ignore_ascii_case("bearer")) {
            return Err(Refusal::Answer("has no token_type Bearer").into());
        }
        Ok(Self {
            access_token: token(&mut members, "access_token")?,
            id_token: token(&mut members, "id_token")?,
        })
    }
}

/// Tells whether a status goes with an error of RFC 6749 §5.2.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Takes a token out, if there is one.
fn token(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<Zeroizing<String>>, Refusal> {
    match members.remove(name) {
        None => Ok(None),
        Some(Value::String(token)) if is_token(&token) => Ok(Some(Zeroizing::new(token))),
        Some(_) => Err(Refusal::Answer("has a token that cannot be one")),
    }
}

fn is_token(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;
    use serde_json::json;

    fn read(status: u16, body: &str) -> Result<TokenAnswer, UpstreamError> {
        let status = StatusCode::from_u16(status).unwrap();
        let response = Response { status, headers: HeaderMap::new(), body: body.into() };
        TokenAnswer::read(&response, &["the-code-itself"])
    }

    fn reason(status: u16, body: &Value) -> &'static str {
        read(status, &body.to_string()).err().unwrap().reason()
    }

    #[test]
    fn tokens_are_taken_out_of_a_good_answer() {
        for token_type in ["Bearer", "bearer", "BEARER"] {
            let body =
                json!({ "token_type": token_type, "access_token": "a", "id_token": "b.c.d" });
            let answer = read(200, &body.to_string()).unwrap();
            assert_eq!(answer.access_token.unwrap().as_str(), "a");
            assert_eq!(answer.id_token.unwrap().as_str(), "b.c.d");
        }
    }

    #[test]
    fn an_error_is_named_and_repeats_no_secret() {
        let body =
            json!({ "error": "invalid_grant", "error_description": "the-code-itself is spent" });
        for status in [200, 400, 401, 403] {
            let error = read(status, &body.to_string()).err().unwrap();
            assert_eq!(error.reason(), "code_refused");
            assert!(error.to_string().contains("[masked] is spent"), "{error}");
            assert!(!format!("{error:?}{error}").contains("the-code-itself"));
        }
        assert_eq!(reason(401, &json!({ "error": "invalid_client" })), "client_refused");
        assert_eq!(reason(400, &json!({ "error": "unsupported" })), "exchange_refused");
        assert_eq!(reason(200, &json!({ "error": "bad_verification_code" })), "code_refused");
        let busy = read(503, &json!({ "error": "temporarily_unavailable" }).to_string());
        assert_eq!(
            busy.err().unwrap().to_string(),
            "the provider's token endpoint answered with status 503; redirects are not followed"
        );
    }

    #[test]
    fn what_is_no_token_answer_is_refused_by_name() {
        let good = json!({ "token_type": "Bearer", "access_token": "a", "id_token": "b" });
        let with = |name: &str, value: Value| {
            let mut body = good.clone();
            body[name] = value;
            body
        };
        for bad in [json!("mac"), json!(null), json!(1)] {
            assert_eq!(reason(200, &with("token_type", bad)), "token_answer_malformed");
        }
        let long = json!("a".repeat(LONGEST + 1));
        for bad in [json!(""), json!("a b"), json!("é"), json!(1), json!(null), long] {
            assert_eq!(reason(200, &with("id_token", bad.clone())), "token_answer_malformed");
            assert_eq!(reason(200, &with("access_token", bad)), "token_answer_malformed");
        }
        let twice = r#"{"token_type":"Bearer","id_token":"a","id_token":"b"}"#;
        for (status, body, expected) in [
            (200, "<html>", "answer_not_json"),
            (200, "[]", "answer_not_json"),
            (200, twice, "answer_not_json"),
            (302, "", "unexpected_status"),
            (404, "<html>", "unexpected_status"),
            (500, "{}", "unexpected_status"),
            (201, "{}", "unexpected_status"),
        ] {
            assert_eq!(read(status, body).err().unwrap().reason(), expected, "{status} {body}");
        }
    }
}
