//! What we say of ourselves at a provider's token endpoint, where a signature takes the place of a secret.

use super::{Issuer, kind::APPLE_ISSUER};
use crate::domain::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// How long an assertion is good: for one request.
const ASSERTION_LIFETIME: Duration = Duration::from_mins(1);

/// How long a secret for Apple is good; it may be six months.
const SECRET_LIFETIME: Duration = Duration::from_mins(5);

/// An assertion of a client (RFC 7523 §3, OpenID Connect Core §9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientAssertion<'a> {
    iss: &'a str,
    sub: &'a str,
    /// The issuer alone, as one text: with an endpoint here, a provider could have us make assertions that serve
    /// at another one.
    aud: &'a str,
    jti: &'a str,
    iat: i64,
    exp: i64,
}

impl<'a> ClientAssertion<'a> {
    /// The value of `client_assertion_type` (RFC 7523 §2.2).
    pub const TYPE: &'static str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

    pub fn new(client_id: &'a str, issuer: &'a Issuer, jti: &'a str, now: Timestamp) -> Self {
        Self {
            iss: client_id,
            sub: client_id,
            aud: issuer.as_str(),
            jti,
            iat: now.seconds(),
            exp: (now + ASSERTION_LIFETIME).seconds(),
        }
    }
}

/// The client secret that Apple wants: signed by the key of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppleSecret<'a> {
    /// The id of the team.
    iss: &'a str,
    iat: i64,
    exp: i64,
    aud: &'static str,
    /// The client.
    sub: &'a str,
}

impl<'a> AppleSecret<'a> {
    pub fn new(team_id: &'a str, client_id: &'a str, now: Timestamp) -> Self {
        Self {
            iss: team_id,
            iat: now.seconds(),
            exp: (now + SECRET_LIFETIME).seconds(),
            aud: APPLE_ISSUER,
            sub: client_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[test]
    fn an_assertion_is_for_the_issuer_alone_and_for_a_minute() {
        let issuer = Issuer::parse("https://login.acme.test/").unwrap();
        let assertion = ClientAssertion::new("porteiro", &issuer, "j1", NOW);
        let expected = json!({
            "iss": "porteiro", "sub": "porteiro", "aud": "https://login.acme.test/", "jti": "j1",
            "iat": 1_800_000_000, "exp": 1_800_000_060,
        });
        assert_eq!(json!(assertion), expected);
    }

    #[test]
    fn the_secret_for_apple_is_the_teams_word_on_the_client() {
        let secret = AppleSecret::new("TEAM123456", "com.example.id", NOW);
        let expected = json!({
            "iss": "TEAM123456", "sub": "com.example.id", "aud": "https://appleid.apple.com",
            "iat": 1_800_000_000, "exp": 1_800_000_300,
        });
        assert_eq!(json!(secret), expected);
    }
}
