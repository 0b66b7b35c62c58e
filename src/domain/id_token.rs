//! What an ID token says (OIDC Core §2): who signed in, when and how; nothing that was not asked for.

use super::{Timestamp, assurance::amr, grant::Grant};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::{borrow::Cow, time::Duration};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdToken<'a> {
    pub iss: Cow<'a, str>,
    pub sub: Cow<'a, str>,
    pub aud: Cow<'a, str>,
    pub exp: i64,
    pub iat: i64,
    pub auth_time: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Cow<'a, str>>,
    pub acr: Cow<'a, str>,
    pub amr: Vec<Cow<'a, str>>,
    /// The session, if the person signed in at one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<Cow<'a, str>>,
    /// OIDC Core §3.1.3.6; left out for EdDSA, whose hash the standard does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_hash: Option<String>,
    /// The slug of the organization that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<Cow<'a, str>>,
    /// The claims of the person that were asked for one by one; never one of the above.
    #[serde(flatten)]
    pub profile: Map<String, Value>,
}

/// What one is made of.
pub struct Mint<'a> {
    pub issuer: &'a str,
    /// How the client knows the person.
    pub subject: &'a str,
    pub grant: &'a Grant,
    pub nonce: Option<&'a str>,
    /// The access token it comes with, where its hash is told.
    pub access_token: Option<&'a str>,
    /// The claims of the person that were asked for one by one.
    pub profile: Map<String, Value>,
    pub now: Timestamp,
    pub lifetime: Duration,
}

impl<'a> From<Mint<'a>> for IdToken<'a> {
    fn from(mint: Mint<'a>) -> Self {
        let (grant, iat) = (mint.grant, mint.now.seconds());
        let lifetime = i64::try_from(mint.lifetime.as_secs()).unwrap_or(i64::MAX);
        Self {
            iss: mint.issuer.into(),
            sub: mint.subject.into(),
            aud: (&*grant.client_id).into(),
            exp: iat.saturating_add(lifetime),
            iat,
            auth_time: grant.authenticated_at.seconds(),
            nonce: mint.nonce.map(Cow::Borrowed),
            acr: grant.level.name().into(),
            amr: amr(&grant.methods).into_iter().map(Cow::Borrowed).collect(),
            sid: grant.session.as_deref().map(Cow::Borrowed),
            at_hash: mint.access_token.map(left_half),
            org: grant.organization().map(Cow::Borrowed),
            profile: mint.profile,
        }
    }
}

/// The left half of the hash that goes with 256-bit algorithms.
fn left_half(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(token)[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_an_access_token_is_the_standards() {
        // OpenID Connect Core, appendix A.3.
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        assert_eq!(left_half(token), "77QmUPtjPfzWtF2AnpK9RQ");
    }
}
