//! What an access token says (RFC 9068 §2.2).

use crate::domain::{Timestamp, authority::Granted};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The claims, as they are signed and as they are read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub iss: String,
    pub sub: String,
    /// One recipient, always: a JSON string.
    pub aud: String,
    pub exp: i64,
    pub iat: i64,
    pub jti: String,
    pub client_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The slug of the one organization it speaks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
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
    pub roles: &'a [String],
    pub jti: String,
    pub now: Timestamp,
    pub lifetime: Duration,
}

impl From<Mint<'_>> for Claims {
    fn from(mint: Mint<'_>) -> Self {
        let iat = mint.now.seconds();
        let lifetime = i64::try_from(mint.lifetime.as_secs()).unwrap_or(i64::MAX);
        let org = mint.granted.organization().map(str::to_owned);
        Self {
            iss: mint.issuer.to_owned(),
            sub: mint.subject.to_owned(),
            aud: mint.granted.audience().claim(mint.issuer).to_owned(),
            exp: iat.saturating_add(lifetime),
            iat,
            jti: mint.jti,
            client_id: mint.client_id.to_owned(),
            scope: mint.granted.scopes().to_string(),
            // Roles are roles of an organization; without one there are none.
            role: org.as_ref().map(|_| mint.roles.join(" ")).filter(|roles| !roles.is_empty()),
            org,
        }
    }
}

impl Claims {
    /// Lists the roles it speaks of.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.role.iter().flat_map(|roles| roles.split(' '))
    }

    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.exp.saturating_mul(1_000))
    }
}
