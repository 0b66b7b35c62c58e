//! What an access token says (RFC 9068 §2.2).

use crate::domain::{Timestamp, authority::Granted};
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
}

/// What a token is made of; the authority in it has passed [`crate::domain::authority::narrow()`].
pub struct Mint<'a> {
    pub issuer: &'a str,
    pub subject: &'a str,
    pub client_id: &'a str,
    pub granted: &'a Granted,
    /// The roles held in the organization of the grant.
    pub roles: &'a [&'a str],
    pub jti: String,
    pub now: Timestamp,
    pub lifetime: Duration,
}

impl<'a> From<Mint<'a>> for Claims<'a> {
    fn from(mint: Mint<'a>) -> Self {
        let iat = mint.now.seconds();
        let lifetime = i64::try_from(mint.lifetime.as_secs()).unwrap_or(i64::MAX);
        let org = mint.granted.organization().map(Cow::Borrowed);
        Self {
            iss: mint.issuer.into(),
            sub: mint.subject.into(),
            aud: mint.granted.audience().claim(mint.issuer).into(),
            exp: iat.saturating_add(lifetime),
            iat,
            jti: mint.jti,
            client_id: mint.client_id.into(),
            scope: mint.granted.scopes().to_string(),
            // Roles are roles of an organization; without one there are none.
            role: org.as_ref().map(|_| mint.roles.join(" ")).filter(|roles| !roles.is_empty()),
            org,
        }
    }
}

impl Claims<'_> {
    /// Lists the roles it speaks of.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.role.iter().flat_map(|roles| roles.split(' '))
    }

    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.exp.saturating_mul(1_000))
    }
}
