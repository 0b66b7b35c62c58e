//! The judgement of a logout token whose signature was verified (OpenID Connect Back-Channel Logout 1.0 §2.6).

use super::{
    Issuer,
    claims::{Claims, ClaimsFault},
};
use crate::domain::Timestamp;
use serde_json::{Map, Value};

/// The member of `events` that makes a token one of these (§2.4).
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// The types that a logout token may have. `logout+jwt` is recommended; older providers say `JWT` or nothing.
pub const TYPES: [&str; 2] = ["logout+jwt", "jwt"];

/// That a provider has ended a session, or all sessions of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutNotice {
    /// Whose session; of a notice without a session, every one of them.
    pub subject: Option<String>,
    /// Which session.
    pub session: Option<String>,
    /// A second notice of the same name is a repetition, and refused by the caller.
    pub jti: String,
    /// From when on the token is refused anyway: so long its `jti` is remembered.
    pub expires_at: Timestamp,
}

/// Makes a notice of the claims, or says which of them is wrong.
pub fn judge(
    claims: &Map<String, Value>,
    issuer: &Issuer,
    client_id: &str,
    now: Timestamp,
) -> Result<LogoutNotice, ClaimsFault> {
    let read = Claims(claims);
    read.check_issuer(issuer)?;
    read.check_audience(client_id)?;
    let expires_at = read.check_times(now)?;
    // No. 6 and 7: an ID token is none of these.
    let events = claims.get("events").and_then(Value::as_object);
    let is_event = events.and_then(|events| events.get(EVENT)).is_some_and(Value::is_object);
    if !is_event || claims.contains_key("nonce") {
        return Err(ClaimsFault::NoLogout);
    }
    let jti = read.required_text("jti")?.to_owned();
    let subject = read.subject()?.map(str::to_owned);
    let session = read.text("sid")?.map(str::to_owned);
    // No. 5.
    if subject.is_none() && session.is_none() {
        return Err(ClaimsFault::Missing("sub"));
    }
    Ok(LogoutNotice { subject, session, jti, expires_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const ISSUER: &str = "https://login.acme.test";
    const NOW: i64 = 1_800_000_000;

    fn claims() -> Value {
        json!({
            "iss": ISSUER, "aud": "porteiro", "iat": NOW, "exp": NOW + 120, "jti": "j1",
            "sub": "ana", "sid": "s1", "events": { EVENT: {} },
        })
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = claims();
        claims[name] = value;
        claims
    }

    fn without(names: &[&str]) -> Value {
        let mut claims = claims();
        for name in names {
            claims.as_object_mut().unwrap().remove(*name);
        }
        claims
    }

    fn judged(claims: &Value) -> Result<LogoutNotice, ClaimsFault> {
        let issuer = Issuer::parse(ISSUER).unwrap();
        let now = Timestamp::from_seconds(NOW);
        super::judge(claims.as_object().unwrap(), &issuer, "porteiro", now)
    }

    #[test]
    fn a_notice_names_a_session_or_a_person_or_both() {
        let notice = judged(&claims()).unwrap();
        assert_eq!(notice.subject.as_deref(), Some("ana"));
        assert_eq!(notice.session.as_deref(), Some("s1"));
        assert_eq!(notice.jti, "j1");
        assert_eq!(notice.expires_at, Timestamp::from_seconds(NOW + 180));
        assert_eq!(judged(&without(&["sub"])).unwrap().subject, None);
        assert_eq!(judged(&without(&["sid"])).unwrap().session, None);
        assert_eq!(judged(&without(&["sub", "sid"])), Err(ClaimsFault::Missing("sub")));
    }

    #[test]
    fn a_notice_is_remembered_no_longer_than_it_is_believed() {
        let long = judged(&with("exp", json!(NOW + 86_400))).unwrap();
        assert_eq!(long.expires_at, Timestamp::from_seconds(NOW + 960));
        assert_eq!(judged(&with("iat", json!(NOW - 960))), Err(ClaimsFault::TooOld));
        assert_eq!(judged(&with("exp", json!(NOW - 60))), Err(ClaimsFault::Expired));
        assert_eq!(judged(&with("iat", json!(NOW + 61))), Err(ClaimsFault::NotYet));
    }

    #[test]
    fn an_id_token_is_no_notice() {
        assert_eq!(judged(&with("nonce", json!("n"))), Err(ClaimsFault::NoLogout));
        assert_eq!(judged(&with("nonce", json!(null))), Err(ClaimsFault::NoLogout));
        assert_eq!(judged(&without(&["events"])), Err(ClaimsFault::NoLogout));
        for bad in [json!({}), json!([EVENT]), json!(EVENT), json!({ EVENT: true })] {
            assert_eq!(judged(&with("events", bad)), Err(ClaimsFault::NoLogout));
        }
        let further = json!({ EVENT: {}, "https://acme.test/another": {} });
        assert!(judged(&with("events", further)).is_ok());
    }

    #[test]
    fn issuer_audience_and_name_are_those_of_any_token() {
        assert_eq!(judged(&with("iss", json!("https://evil.test"))), Err(ClaimsFault::Issuer));
        assert_eq!(judged(&with("aud", json!("another"))), Err(ClaimsFault::Audience));
        assert_eq!(judged(&without(&["jti"])), Err(ClaimsFault::Missing("jti")));
        assert_eq!(judged(&with("jti", json!(""))), Err(ClaimsFault::Malformed("jti")));
        assert_eq!(judged(&without(&["exp"])), Err(ClaimsFault::Missing("exp")));
        assert_eq!(judged(&without(&["iat"])), Err(ClaimsFault::Missing("iat")));
    }

    proptest! {
        #[test]
        fn no_claim_panics(name in "(iss|aud|iat|exp|jti|sub|sid|events)", text in ".{0,20}", n: i64) {
            let _ = judged(&with(&name, json!(text)));
            let _ = judged(&with(&name, json!(n)));
            let _ = judged(&with(&name, json!({ EVENT: [text] })));
        }
    }
}
