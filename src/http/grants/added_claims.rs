//! Claims that the operator's own server adds, if there is one.

use crate::{
    domain::signing_keys::SigningAlgorithm,
    http::{answer::error::OAuthError, app::App},
};
use serde::Serialize;
use serde_json::{Map, Value};

/// Where claims would be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    IdToken,
    Userinfo,
}

/// Of whom, and to whom.
pub struct About<'a> {
    /// As the client knows the person.
    pub subject: &'a str,
    pub account: &'a str,
    pub client_id: &'a str,
    pub organization: Option<&'a str>,
    pub scope: &'a str,
}

/// What the hook is asked; signed as our tokens are.
#[derive(Serialize)]
struct Question<'a> {
    iss: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    place: Place,
    sub: &'a str,
    account: &'a str,
    client_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    org: Option<&'a str>,
    scope: &'a str,
}

/// Seconds for which a question may be answered.
const LIFETIME: i64 = 60;

/// Asks for them. Where there is no good answer nothing is said to the client.
pub async fn ask(
    app: &App,
    place: Place,
    about: About<'_>,
) -> Result<Map<String, Value>, OAuthError> {
    let Some(hook) = &app.claims_hook else { return Ok(Map::new()) };
    let iat = app.clock.now().seconds();
    let question = Question {
        iss: &app.issuer,
        aud: hook.audience(),
        iat,
        exp: iat + LIFETIME,
        place,
        sub: about.subject,
        account: about.account,
        client_id: about.client_id,
        org: about.organization,
        scope: about.scope,
    };
    let token = app.sign(SigningAlgorithm::Es256, "claims-hook+jwt", &question)?;
    hook.ask(token).await.map_err(|fault| {
        tracing::warn!(%fault, "the claims hook gave no good answer");
        OAuthError::unavailable().because(fault.to_string())
    })
}
