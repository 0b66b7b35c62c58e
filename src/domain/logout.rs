//! What clients are told when a session ends: OIDC Back-Channel Logout 1.0.
//!
//! The commit that ends a session leaves a [`SessionEnded`] in the outbox for each client that is told.
//! The token is made when it is delivered, anew for each try: it lives for two minutes.

use super::{DeliveryClass, DeliveryKey, Dispatch, Secret, Timestamp};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, time::Duration};

/// The topic of these messages in the outbox.
pub const BACKCHANNEL_LOGOUT: &str = "backchannel_logout";

/// The type in the header of a logout token (Back-Channel Logout §2.4).
pub const LOGOUT_TOKEN: &str = "logout+jwt";

/// How long a logout token is good; §2.4 wants two minutes at most.
const TOKEN_LIFETIME: Duration = Duration::from_mins(2);

/// That a session has ended into which a client had signed a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    pub client_id: String,
    /// The id of the account.
    pub account: String,
    /// The id of the session, which clients know as `sid`.
    pub session: String,
}

impl SessionEnded {
    /// How long a client that cannot be reached is tried.
    pub const WORTH_TELLING: Duration = Duration::from_hours(24);

    /// The message for the outbox.
    pub fn dispatch(&self, now: Timestamp) -> Dispatch {
        let payload = serde_json::to_vec(self).expect("plain data with text keys is JSON");
        Dispatch {
            topic: BACKCHANNEL_LOGOUT,
            class: DeliveryClass::Endpoint,
            key: DeliveryKey::client(&self.client_id),
            payload: Secret::new(payload),
            expires_at: now + Self::WORTH_TELLING,
        }
    }

    pub fn read(payload: &Secret) -> Option<Self> {
        serde_json::from_slice(payload.expose()).ok()
    }
}

/// What a logout token says (Back-Channel Logout §2.4); a nonce is forbidden in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogoutToken<'a> {
    iss: Cow<'a, str>,
    sub: Cow<'a, str>,
    aud: Cow<'a, str>,
    iat: i64,
    exp: i64,
    jti: Cow<'a, str>,
    sid: Cow<'a, str>,
    events: Events,
}

/// The one event there is; its value is an empty object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Events {
    #[serde(rename = "http://schemas.openid.net/event/backchannel-logout")]
    logout: Empty,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Empty {}

/// What one is made of.
pub struct Mint<'a> {
    pub issuer: &'a str,
    /// The person as the client knows them.
    pub subject: &'a str,
    pub ended: &'a SessionEnded,
    /// Of no other token.
    pub id: &'a str,
    pub now: Timestamp,
}

impl<'a> From<Mint<'a>> for LogoutToken<'a> {
    fn from(mint: Mint<'a>) -> Self {
        Self {
            iss: mint.issuer.into(),
            sub: mint.subject.into(),
            aud: (&*mint.ended.client_id).into(),
            iat: mint.now.seconds(),
            exp: (mint.now + TOKEN_LIFETIME).seconds(),
            jti: mint.id.into(),
            sid: (&*mint.ended.session).into(),
            events: Events::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_logout_token_says_what_the_standard_wants_and_nothing_else() {
        let ended = SessionEnded {
            client_id: "web".to_owned(),
            account: "ana".to_owned(),
            session: "sid".to_owned(),
        };
        let dispatch = ended.dispatch(Timestamp::from_millis(0));
        assert_eq!(SessionEnded::read(&dispatch.payload), Some(ended.clone()));
        assert_eq!(SessionEnded::read(&Secret::new("{}")), None);
        let (issuer, now) = ("https://id.example", Timestamp::from_millis(1_000_000));
        let mint = Mint { issuer, subject: "ana", ended: &ended, id: "one", now };
        let said = serde_json::to_value(LogoutToken::from(mint)).unwrap();
        let event = "http://schemas.openid.net/event/backchannel-logout";
        assert_eq!(
            said,
            json!({
                "iss": issuer, "sub": "ana", "aud": "web", "iat": 1_000, "exp": 1_120,
                "jti": "one", "sid": "sid", "events": { event: {} },
            })
        );
    }
}
