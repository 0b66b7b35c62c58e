//! A client's assertion: what it must say (RFC 7523 §3, OIDC Core §9), and that it is used once.
//!
//! It is kept from its use until it would have expired, found by its client and its `jti`.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unseen | use | used | |
//! | used | use | used | always |

use super::{
    CLOCK_SKEW, Decision, Fingerprint, Machine, Timestamp,
    client::{Profile, ProfileRules},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How far ahead of ours a client's clock may be.
pub const AHEAD: Duration = Duration::from_secs(30);

/// How far behind ours a client's clock may be when its assertion expires.
pub const BEHIND: Duration = Duration::from_secs(5);

/// For how long an assertion may be good: so long it is remembered.
const LONGEST: Duration = Duration::from_hours(1);

/// Bytes.
pub(super) const LONGEST_JTI: usize = 512;

/// Whom a token is for: one, or several (RFC 7519 §4.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    /// Tells whether it names one of these.
    pub fn names(&self, any: &[&str]) -> bool {
        match self {
            Self::One(one) => any.contains(&one.as_str()),
            Self::Several(all) => all.iter().any(|one| any.contains(&one.as_str())),
        }
    }
}

/// What an assertion says; times in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub issuer: String,
    pub subject: String,
    pub audience: Audience,
    pub jti: String,
    pub expires: i64,
    pub not_before: Option<i64>,
    pub issued: Option<i64>,
}

/// By what an assertion is judged.
pub struct Rules<'a> {
    pub client_id: &'a str,
    pub profile: Option<Profile>,
    pub issuer: &'a str,
    /// Other names of ours that clients without a profile may use: the token endpoint, and what was called.
    pub endpoints: &'a [&'a str],
}

/// Why an assertion is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("iss and sub are not the client")]
    OtherClient,
    #[error("the audience is not this server")]
    OtherAudience,
    #[error("it has expired")]
    Expired,
    #[error("it lives too long")]
    TooLong,
    #[error("it is not good yet")]
    NotYet,
    #[error("its jti is empty or too long")]
    Jti,
}

impl Claims {
    /// Checks everything but signature and use, and returns when it expires.
    pub fn check(&self, rules: &Rules<'_>, now: Timestamp) -> Result<Timestamp, Fault> {
        if self.issuer != rules.client_id || self.subject != rules.client_id {
            return Err(Fault::OtherClient);
        }
        if !is_for_us(&self.audience, rules) {
            return Err(Fault::OtherAudience);
        }
        let expires = Timestamp::from_seconds(self.expires);
        if expires + BEHIND <= now {
            return Err(Fault::Expired);
        }
        if expires > now + LONGEST + AHEAD {
            return Err(Fault::TooLong);
        }
        let is_ahead = |time: i64| Timestamp::from_seconds(time) > now + AHEAD;
        if self.not_before.is_some_and(is_ahead) || self.issued.is_some_and(is_ahead) {
            return Err(Fault::NotYet);
        }
        if self.jti.is_empty() || self.jti.len() > LONGEST_JTI {
            return Err(Fault::Jti);
        }
        Ok(expires)
    }

    /// Returns the id under which its use is kept: short, whatever it says.
    pub fn id(&self) -> String {
        // No client id contains a NUL, so that no two pairs are one text.
        Fingerprint::of(format!("{}\0{}", self.subject, self.jti).as_bytes()).into()
    }
}

/// FAPI 2.0 §5.3.2.1: exactly the issuer, as a string. RFC 7523 §3, OIDC Core §9 and RFC 9126 §2 have
/// clients name the endpoint instead, and all of them are used.
fn is_for_us(audience: &Audience, rules: &Rules<'_>) -> bool {
    if ProfileRules::of(rules.profile).audience_is_issuer {
        return *audience == Audience::One(rules.issuer.to_owned());
    }
    audience.names(&[rules.issuer]) || audience.names(rules.endpoints)
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientAssertion {
    #[default]
    Unseen,
    Used {
        expires_at: Timestamp,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Use { expires_at: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Used { expires_at: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was used before")]
pub struct UsedBefore;

impl Machine for ClientAssertion {
    const KIND: &'static str = "client_assertion";
    const ID_IS_DERIVED: bool = true;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = UsedBefore;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        let Command::Use { expires_at } = *command;
        match self {
            Self::Unseen => Decision::accept(vec![Event::Used { expires_at }], ()),
            Self::Used { .. } => Decision::refuse(UsedBefore),
        }
    }

    fn apply(&mut self, event: &Event) {
        let Event::Used { expires_at } = *event;
        *self = Self::Used { expires_at };
    }

    /// It gives no authority to anything.
    fn live_until(&self) -> Timestamp {
        Timestamp::NEVER
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unseen => None,
            Self::Used { expires_at } => Some(*expires_at + BEHIND + CLOCK_SKEW),
        }
    }

    /// What was used stays used.
    fn tolerates_stale(_command: &Command) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const OURS: [&str; 3] = ["https://id", "https://id/connect/token", "https://id/connect/par"];

    fn claims() -> Claims {
        Claims {
            issuer: "a".to_owned(),
            subject: "a".to_owned(),
            audience: Audience::One(OURS[0].to_owned()),
            jti: "1".to_owned(),
            expires: NOW.seconds() + 60,
            not_before: None,
            issued: None,
        }
    }

    fn judge(claims: &Claims, profile: Option<Profile>) -> Result<Timestamp, Fault> {
        claims
            .check(&Rules { client_id: "a", profile, issuer: OURS[0], endpoints: &OURS[1..] }, NOW)
    }

    fn several(names: &[&str]) -> Audience {
        Audience::Several(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn issuer_and_subject_are_the_client() {
        assert_eq!(judge(&claims(), None), Ok(NOW + Duration::from_mins(1)));
        for (issuer, subject) in [("b", "a"), ("a", "b"), ("b", "b"), ("", "a")] {
            let other = Claims { issuer: issuer.into(), subject: subject.into(), ..claims() };
            assert_eq!(judge(&other, None), Err(Fault::OtherClient));
        }
    }

    #[test]
    fn the_audience_is_ours_and_under_fapi2_the_issuer_alone() {
        let judge =
            |audience: Audience, profile| judge(&Claims { audience, ..claims() }, profile).is_ok();
        let strict = [Profile::Fapi2, Profile::Fapi2MessageSigning];
        for ours in OURS {
            for audience in [Audience::One(ours.to_owned()), several(&["https://x", ours])] {
                assert!(judge(audience.clone(), None), "{audience:?}");
                assert!(judge(audience.clone(), Some(Profile::FapiCiba)), "{audience:?}");
                let exact = audience == Audience::One(OURS[0].to_owned());
                for profile in strict {
                    assert_eq!(judge(audience.clone(), Some(profile)), exact, "{audience:?}");
                }
            }
        }
        for other in ["", "https://id/", "https://ID", "https://id/connect", "https://x"] {
            assert!(!judge(Audience::One(other.to_owned()), None), "{other}");
            assert!(!judge(several(&[other]), None), "{other}");
        }
        assert!(!judge(several(&[]), None));
    }

    #[test]
    fn times_are_now_within_what_clocks_may_differ() {
        let now = NOW.seconds();
        for (expires, outcome) in [
            (now - 4, None),
            (now - 5, Some(Fault::Expired)),
            (i64::MIN, Some(Fault::Expired)),
            (now + 3_630, None),
            (now + 3_631, Some(Fault::TooLong)),
            (i64::MAX, Some(Fault::TooLong)),
        ] {
            assert_eq!(judge(&Claims { expires, ..claims() }, None).err(), outcome, "{expires}");
        }
        for (time, outcome) in
            [(now - 9_999, None), (now + 30, None), (now + 31, Some(Fault::NotYet))]
        {
            let (since, issued) = (
                Claims { not_before: Some(time), ..claims() },
                Claims { issued: Some(time), ..claims() },
            );
            assert_eq!(judge(&since, None).err(), outcome);
            assert_eq!(judge(&issued, None).err(), outcome);
        }
        for jti in [String::new(), "x".repeat(513)] {
            assert_eq!(judge(&Claims { jti, ..claims() }, None), Err(Fault::Jti));
        }
    }

    #[test]
    fn it_is_used_once_and_remembered_for_longer_than_it_is_good() {
        let expires_at = judge(&claims(), None).unwrap();
        let command = Command::Use { expires_at };
        let mut assertion = ClientAssertion::default();
        for event in assertion.decide(&command, NOW).events {
            assertion.apply(&event);
        }
        let again = assertion.decide(&command, NOW);
        assert_eq!((again.events.len(), again.outcome), (0, Err(UsedBefore)));
        assert!(assertion.forget_at().unwrap() > expires_at + BEHIND);
        let other = Claims { subject: "b".to_owned(), ..claims() };
        assert_ne!(claims().id(), other.id(), "each client has jtis of its own");
    }
}
