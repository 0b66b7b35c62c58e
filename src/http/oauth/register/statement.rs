//! What a software statement says replaces what the client says (RFC 7591 §2.3, §3.1.1).

use crate::{
    crypto::BadStatement,
    domain::client::{ClientMetadata, MOST_METADATA},
    http::{
        answer::error::{Code, OAuthError},
        app::App,
    },
};
use serde_json::{Map, Value};

const MEMBER: &str = "software_statement";

const INVALID: OAuthError = OAuthError::new(
    Code::InvalidSoftwareStatement,
    "the software_statement is malformed, has expired, or its signature does not verify",
);

const UNAPPROVED: OAuthError = OAuthError::new(
    Code::UnapprovedSoftwareStatement,
    "the software_statement is of an issuer that is not trusted here",
);

/// What a client asks for, and the statement that it rests on.
pub struct StatedMetadata {
    pub members: Map<String, Value>,
    /// As it was sent.
    pub statement: Option<String>,
}

/// Lets the claims of a statement take the place of plain members.
///
/// Where no issuer is trusted a statement is ignored, as RFC 7591 §3.1.1 allows.
pub fn read(app: &App, body: &Map<String, Value>) -> Result<StatedMetadata, OAuthError> {
    let mut members = body.clone();
    let statement = members.remove(MEMBER).filter(|value| !value.is_null());
    let (Some(issuers), Some(statement)) = (&app.crypto.statement_issuers, statement) else {
        return Ok(StatedMetadata { members, statement: None });
    };
    let statement = statement.as_str().filter(|text| text.len() <= MOST_METADATA).ok_or(INVALID)?;
    let claims = issuers.read(statement).map_err(|why| match why {
        BadStatement::Invalid => INVALID,
        BadStatement::Unapproved => UNAPPROVED,
    })?;
    if !is_timely(&claims, app.clock.now().seconds()) {
        return Err(INVALID.because("it has expired, or is not good yet"));
    }
    overlay(&mut members, claims);
    Ok(StatedMetadata { members, statement: Some(statement.to_owned()) })
}

/// RFC 7519 §4.1.4 and §4.1.5; a time that is no number is none that has come.
fn is_timely(claims: &Map<String, Value>, now: i64) -> bool {
    let now_is = |name: &str, good: fn(f64, f64) -> bool| {
        let seconds = |value: &Value| value.as_f64();
        #[expect(clippy::cast_precision_loss, reason = "seconds are far below 2^53")]
        claims.get(name).is_none_or(|value| seconds(value).is_some_and(|at| good(now as f64, at)))
    };
    now_is("exp", |now, at| now < at) && now_is("nbf", |now, at| now >= at)
}

/// Puts what is client metadata among the claims in the place of what the client said.
fn overlay(members: &mut Map<String, Value>, claims: Map<String, Value>) {
    for (name, value) in claims.into_iter().filter(|(name, _)| ClientMetadata::is_known(name)) {
        // One of the two alternatives stands: the statement's.
        match name.as_str() {
            "jwks" => drop(members.remove("jwks_uri")),
            "jwks_uri" => drop(members.remove("jwks")),
            _ => {}
        }
        members.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("an object is needed") };
        object
    }

    #[test]
    fn a_statement_takes_precedence_and_says_nothing_but_metadata() {
        let mut members = object(json!({
            "client_name": "Mine", "contacts": ["a@b.test"], "jwks_uri": "https://a.example/",
        }));
        let claims = object(json!({
            "iss": "x", "client_id": "other", "trusted": true, "client_name": "Bank",
            "jwks": { "keys": [] },
        }));
        overlay(&mut members, claims);
        let expected = json!({
            "client_name": "Bank", "contacts": ["a@b.test"], "jwks": { "keys": [] },
        });
        assert_eq!(Value::Object(members), expected);
    }

    #[test]
    fn a_statement_counts_in_its_time_alone() {
        let timely = |claims: Value| is_timely(&object(claims), 1_000);
        assert!(timely(json!({})) && timely(json!({ "exp": 1_001, "nbf": 1_000 })));
        for claims in [
            json!({ "exp": 1_000 }),
            json!({ "exp": "2000" }),
            json!({ "exp": null }),
            json!({ "nbf": 1_001 }),
        ] {
            assert!(!timely(claims.clone()), "{claims}");
        }
    }
}
