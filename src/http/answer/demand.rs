//! What an API of ours demands of the person behind an access token, and how it says so: RFC 9470.

use super::error::{Code, OAuthError};
use crate::domain::{Timestamp, access_token::Claims, assurance::Level};
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use std::{fmt::Write as _, time::Duration};

/// How sure an API must be of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    pub level: Level,
    /// How long ago the person may have proved who they are.
    pub max_age: Option<Duration>,
}

impl Demand {
    /// Answers with a challenge, unless the person behind the token has proved enough.
    ///
    /// A token without a person never does.
    pub fn unmet(&self, claims: &Claims<'_>, now: Timestamp) -> Option<Response> {
        (!self.is_met(claims, now)).then(|| self.challenge())
    }

    fn is_met(&self, claims: &Claims<'_>, now: Timestamp) -> bool {
        let Some(auth_time) = claims.auth_time else { return false };
        let age = now.since(Timestamp::from_seconds(auth_time));
        claims.level(now) >= Some(self.level) && self.max_age.is_none_or(|most| age <= most)
    }

    /// RFC 9470 §3: says what the client must ask the authorization endpoint for.
    fn challenge(&self) -> Response {
        const REFUSED: OAuthError = OAuthError::new(
            Code::InsufficientUserAuthentication,
            "the person must prove more, or again, who they are",
        );
        let mut text = format!(
            "Bearer realm=\"porteiro\", error=\"{}\", error_description=\"{}\", acr_values=\"{}\"",
            REFUSED.code.name(),
            REFUSED.description,
            self.level.name()
        );
        if let Some(most) = self.max_age {
            let _infallible = write!(text, ", max_age=\"{}\"", most.as_secs());
        }
        let mut response = REFUSED.into_response();
        let challenge = HeaderValue::try_from(text).expect("words and numbers are a header value");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    /// In seconds.
    const DAY: i64 = 24 * 60 * 60;

    fn claims(acr: Option<&str>, age: i64) -> Claims<'static> {
        let mut claims = json!({
            "iss": "https://id.example", "sub": "ana", "aud": "https://id.example", "exp": 0,
            "iat": 0, "jti": "j", "client_id": "app",
        });
        if let Some(acr) = acr {
            (claims["acr"], claims["auth_time"]) = (acr.into(), (NOW.seconds() - age).into());
        }
        serde_json::from_value(claims).unwrap()
    }

    #[test]
    fn a_token_is_enough_only_for_the_level_and_the_age_that_it_says() {
        let aal2 = Demand { level: Level::Aal2, max_age: None };
        let fresh = Demand { max_age: Some(Duration::from_mins(15)), ..aal2 };
        for (acr, age, met, met_fresh) in [
            (Some("aal2"), 0, true, true),
            (Some("aal2"), 900, true, true),
            (Some("aal2"), 901, true, false),
            (Some("aal2"), DAY - 1, true, false),
            (Some("aal2"), DAY, false, false),
            (Some("aal1"), 0, false, false),
            (Some("phr"), 0, false, false),
            (Some(""), 0, false, false),
            (None, 0, false, false),
        ] {
            let claims = claims(acr, age);
            assert_eq!(aal2.unmet(&claims, NOW).is_none(), met, "{acr:?} {age}");
            assert_eq!(fresh.unmet(&claims, NOW).is_none(), met_fresh, "{acr:?} {age}");
        }
        let aal1 = Demand { level: Level::Aal1, max_age: None };
        assert!(aal1.unmet(&claims(Some("aal2"), 30 * DAY), NOW).is_none(), "it lapses to aal1");
        assert!(aal1.unmet(&claims(None, 0), NOW).is_some(), "a client in its own name");
    }

    #[test]
    fn the_challenge_says_what_to_ask_for() {
        let demand = Demand { level: Level::Aal2, max_age: Some(Duration::from_mins(15)) };
        let refused = demand.unmet(&claims(Some("aal1"), 0), NOW).unwrap();
        assert_eq!(refused.status(), 401);
        let challenge = refused.headers()["www-authenticate"].to_str().unwrap();
        assert_eq!(
            challenge,
            "Bearer realm=\"porteiro\", error=\"insufficient_user_authentication\", \
             error_description=\"the person must prove more, or again, who they are\", \
             acr_values=\"aal2\", max_age=\"900\""
        );
        let lasting = Demand { max_age: None, ..demand };
        let refused = lasting.unmet(&claims(None, 0), NOW).unwrap();
        assert!(!refused.headers()["www-authenticate"].to_str().unwrap().contains("max_age"));
        assert_eq!(refused.headers()["cache-control"], "no-store");
    }
}
