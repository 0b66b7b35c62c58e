//! What a request object must say of itself (RFC 9101, OIDC Core §6), beside the request in it.
//!
//! Issuer, audience and times are rules where they are given: RFC 9101 §4 has clients include them, but
//! does not insist. Profiles that sign messages do (FAPI 2.0 Message Signing §5.3.1, FAPI-CIBA §5.2.2).

use super::{
    Timestamp,
    client::{ObjectRules, Profile, ProfileRules},
    client_assertion::{AHEAD, Audience, BEHIND},
};
use std::time::Duration;

/// For how long an object of a profile may be good, and how old it may be.
const LONGEST: Duration = Duration::from_hours(1);

/// What an object says of itself; times in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    pub issuer: Option<String>,
    pub subject: Option<String>,
    pub client_id: Option<String>,
    pub audience: Option<Audience>,
    pub expires: Option<i64>,
    pub not_before: Option<i64>,
    pub issued: Option<i64>,
    /// Whether it has a name of its own.
    pub has_jti: bool,
}

/// By what an object is judged.
pub struct Rules<'a> {
    pub client_id: &'a str,
    pub profile: Option<Profile>,
    /// Our own name.
    pub issuer: &'a str,
}

/// Why an object is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the object is another client's")]
    OtherClient,
    #[error("the object is a client's assertion")]
    Assertion,
    #[error("the object is for another server")]
    OtherAudience,
    #[error("the object has expired")]
    Expired,
    #[error("the object is not good yet")]
    NotYet,
    #[error("the object lacks a claim that its profile needs")]
    Missing,
    #[error("the object lives for more than an hour, or is older")]
    TooLong,
}

impl Claims {
    /// Checks everything but the signature and the request itself.
    pub fn check(&self, rules: &Rules<'_>, now: Timestamp) -> Result<(), Fault> {
        let is_other =
            |name: &Option<String>| name.as_ref().is_some_and(|one| one != rules.client_id);
        if is_other(&self.issuer) || is_other(&self.client_id) {
            return Err(Fault::OtherClient);
        }
        // RFC 9101 §10.8: what a client signed to authenticate must not serve as a request.
        if self.subject.as_deref() == Some(rules.client_id) {
            return Err(Fault::Assertion);
        }
        if self.audience.as_ref().is_some_and(|audience| !audience.names(&[rules.issuer])) {
            return Err(Fault::OtherAudience);
        }
        let [expires, not_before, issued] = [self.expires, self.not_before, self.issued]
            .map(|time| time.map(Timestamp::from_seconds));
        if expires.is_some_and(|at| at + BEHIND <= now) {
            return Err(Fault::Expired);
        }
        if [not_before, issued].into_iter().flatten().any(|at| at > now + AHEAD) {
            return Err(Fault::NotYet);
        }
        let needed = ProfileRules::of(rules.profile).objects;
        if needed == ObjectRules::AsGiven {
            return Ok(());
        }
        let (Some(expires), Some(not_before)) = (expires, not_before) else {
            return Err(Fault::Missing);
        };
        let is_named = issued.is_some() && self.has_jti;
        let lacks_name = needed == ObjectRules::TimedAndNamed && !is_named;
        if self.issuer.is_none() || self.audience.is_none() || lacks_name {
            return Err(Fault::Missing);
        }
        let is_short = expires <= not_before + LONGEST && now <= not_before + LONGEST;
        if is_short { Ok(()) } else { Err(Fault::TooLong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn claims() -> Claims {
        Claims {
            issuer: Some("a".to_owned()),
            client_id: Some("a".to_owned()),
            audience: Some(Audience::One("https://id".to_owned())),
            expires: Some(NOW.seconds() + 60),
            not_before: Some(NOW.seconds()),
            issued: Some(NOW.seconds()),
            has_jti: true,
            ..Claims::default()
        }
    }

    fn judge(claims: &Claims, profile: Option<Profile>) -> Option<Fault> {
        claims.check(&Rules { client_id: "a", profile, issuer: "https://id" }, NOW).err()
    }

    #[test]
    fn what_is_given_must_be_right_and_may_be_left_out() {
        assert_eq!(judge(&claims(), None), None);
        assert_eq!(judge(&Claims::default(), None), None);
        let b = Some("b".to_owned());
        let several = |name: &str| Some(Audience::Several(vec!["x".to_owned(), name.to_owned()]));
        let now = NOW.seconds();
        for (wrong, fault) in [
            (Claims { issuer: b.clone(), ..claims() }, Fault::OtherClient),
            (Claims { client_id: b, ..claims() }, Fault::OtherClient),
            (Claims { subject: Some("a".to_owned()), ..claims() }, Fault::Assertion),
            (Claims { audience: several("https://other"), ..claims() }, Fault::OtherAudience),
            (Claims { expires: Some(now - 5), ..claims() }, Fault::Expired),
            (Claims { not_before: Some(now + 31), ..claims() }, Fault::NotYet),
            (Claims { issued: Some(now + 31), ..claims() }, Fault::NotYet),
        ] {
            assert_eq!(judge(&wrong, None), Some(fault));
        }
        let right = [
            Claims { audience: several("https://id"), ..claims() },
            Claims { not_before: Some(now + 8), issued: Some(now + 8), ..claims() },
            Claims { expires: Some(i64::MAX), not_before: Some(i64::MIN), ..claims() },
        ];
        assert!(right.iter().all(|right| judge(right, None).is_none()));
    }

    #[test]
    fn a_profile_that_signs_messages_needs_all_of_it_for_an_hour_at_most() {
        for profile in [Profile::Fapi2MessageSigning, Profile::FapiCiba] {
            let judge = |claims: &Claims| judge(claims, Some(profile));
            assert_eq!(judge(&claims()), None);
            for lacking in [
                Claims { issuer: None, ..claims() },
                Claims { audience: None, ..claims() },
                Claims { expires: None, ..claims() },
                Claims { not_before: None, ..claims() },
            ] {
                assert_eq!(judge(&lacking), Some(Fault::Missing));
            }
            let now = NOW.seconds();
            let long = Claims { expires: Some(now + 4_200), ..claims() };
            let old = Claims { not_before: Some(now - 4_200), ..claims() };
            assert_eq!((judge(&long), judge(&old)), (Some(Fault::TooLong), Some(Fault::TooLong)));
        }
        let bare = Claims { not_before: None, ..claims() };
        assert_eq!(judge(&bare, Some(Profile::Fapi2)), None);
        for unnamed in [Claims { issued: None, ..claims() }, Claims { has_jti: false, ..claims() }]
        {
            assert_eq!(judge(&unnamed, Some(Profile::Fapi2MessageSigning)), None);
            assert_eq!(judge(&unnamed, Some(Profile::FapiCiba)), Some(Fault::Missing));
        }
    }
}
