//! What an access token says (RFC 9068 §2.2).

use crate::domain::{Timestamp, authority::Granted, epoch::is_first, grant::Grant};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, time::Duration};

/// The claims, as they are signed and as they are read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims<'a> {
    pub iss: Cow<'a, str>,
    pub sub: Cow<'a, str>,
    /// One recipient, always: a JSON string.
    pub aud: Cow<'a, str>,
    pub exp: i64,
    pub iat: i64,
    pub jti: String,
    pub client_id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The slug of the one organization it speaks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<Cow<'a, str>>,
    /// Role names there, joined by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The id of the membership in which the person speaks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership: Option<Cow<'a, str>>,
    /// The epoch of that organization and membership in which it was granted (adr/0038).
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The session it ends with, unless it outlives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<Cow<'a, str>>,
    /// How sure we were of the person (RFC 9068 §2.2.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<i64>,
}

/// What a token is made of; the authority in it has passed [`crate::domain::authority::narrow()`].
pub struct Mint<'a> {
    pub issuer: &'a str,
    pub subject: &'a str,
    pub client_id: &'a str,
    pub granted: &'a Granted,
    /// The roles held in the organization of the grant.
    pub roles: &'a [&'a str],
    /// Of the organization, and of the membership where a person speaks for it.
    pub epoch: u64,
    pub jti: String,
    /// The grant of a person that it is issued under, and the family of that grant.
    pub under: Option<(&'a Grant, &'a str)>,
    pub now: Timestamp,
    pub lifetime: Duration,
}

impl<'a> From<Mint<'a>> for Claims<'a> {
    fn from(mint: Mint<'a>) -> Self {
        let iat = mint.now.seconds();
        let lifetime = i64::try_from(mint.lifetime.as_secs()).unwrap_or(i64::MAX);
        let org = mint.granted.organization().map(Cow::Borrowed);
        let grant = mint.under.map(|(grant, _)| grant);
        let seat = grant.and_then(|grant| grant.seat.as_ref());
        let bound = grant.filter(|grant| !grant.is_offline());
        Self {
            iss: mint.issuer.into(),
            sub: mint.subject.into(),
            aud: mint.granted.audience().claim(mint.issuer).into(),
            exp: iat.saturating_add(lifetime),
            iat,
            // A token names its family, so that whoever asks about it need not look for it.
            jti: match mint.under {
                Some((_, family)) => format!("{family}.{}", mint.jti),
                None => mint.jti,
            },
            client_id: mint.client_id.into(),
            scope: mint.granted.scopes().to_string(),
            // Roles are roles of an organization; without one there are none.
            role: org.as_ref().map(|_| mint.roles.join(" ")).filter(|roles| !roles.is_empty()),
            org,
            membership: seat.map(|seat| Cow::Borrowed(&*seat.membership)),
            epoch: mint.epoch,
            sid: bound.map(|grant| Cow::Borrowed(&*grant.session)),
            acr: grant.map(|grant| Cow::Borrowed(grant.level.name())),
            auth_time: grant.map(|grant| grant.authenticated_at.seconds()),
        }
    }
}

impl<'a> Claims<'a> {
    /// What any token of a grant would say of what it rests on.
    pub fn of_grant(grant: &'a Grant, family: &str, issuer: &'a str) -> Self {
        let seat = grant.seat.as_ref();
        Self {
            iss: issuer.into(),
            sub: (&*grant.account).into(),
            aud: grant.audience.claim(issuer).into(),
            exp: 0,
            iat: 0,
            jti: format!("{family}."),
            client_id: (&*grant.client_id).into(),
            scope: grant.scopes.to_string(),
            org: grant.organization().map(Cow::Borrowed),
            role: None,
            membership: seat.map(|seat| Cow::Borrowed(&*seat.membership)),
            epoch: seat.map_or(0, |seat| seat.epoch),
            sid: (!grant.is_offline()).then(|| Cow::Borrowed(&*grant.session)),
            acr: Some(grant.level.name().into()),
            auth_time: Some(grant.authenticated_at.seconds()),
        }
    }
}

impl Claims<'_> {
    /// Lists the roles it speaks of.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.role.iter().flat_map(|roles| roles.split(' '))
    }

    /// Returns the family it belongs to, if a person granted it.
    pub fn family(&self) -> Option<&str> {
        self.jti.split_once('.').map(|(family, _)| family)
    }

    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.exp.saturating_mul(1_000))
    }
}
