//! A refresh token for tokens: RFC 6749 §6, rotated every time (RFC 9700 §4.14.2).

use super::{
    Issued,
    issue::{self, INVALID_GRANT, Occasion},
};
use crate::{
    crypto::OpaqueKind,
    domain::{
        authority::Scopes,
        token_family::{Command, Refresh},
    },
    http::{
        App,
        client_auth::Caller,
        error::{Code, OAuthError},
        form::Form,
    },
};

pub async fn grant(app: &App, caller: &Caller, form: &Form) -> Result<Issued, OAuthError> {
    let client = caller.client();
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter refresh_token is missing");
    let token = form.get("refresh_token").ok_or(missing)?;
    let token = OpaqueKind::RefreshToken.read(token, &app.vault.now());
    let Some(token) = token else { return Err(INVALID_GRANT.because("no refresh token of ours")) };
    let scopes = match form.get("scope").map(Scopes::parse) {
        None => None,
        Some(Ok(scopes)) => Some(scopes),
        Some(Err(_)) => {
            return Err(OAuthError::new(Code::InvalidScope, "a scope is malformed"));
        }
    };
    let asked = Asked { resource: form.resource()?, organization: form.get("organization") };
    let occasion = Occasion { family: &token.id, client, refreshable: true };
    issue::issue_if(
        app,
        occasion,
        |grant| asked.agrees(grant, &app.issuer),
        |facts| {
            let Some(next) = facts.next else { return Command::Show };
            Command::Refresh(Box::new(Refresh {
                token: token.fingerprint,
                client_id: client.client_id.clone(),
                scopes: scopes.clone(),
                next,
                limits: facts.limits,
                requirements: facts.requirements,
                lifetimes: facts.lifetimes,
            }))
        },
    )
    .await
}

/// What a client may say again of a grant, and never change.
struct Asked<'a> {
    resource: Option<&'a str>,
    organization: Option<&'a str>,
}

impl Asked<'_> {
    fn agrees(&self, grant: &crate::domain::grant::Grant, issuer: &str) -> Result<(), OAuthError> {
        const OTHER_TARGET: OAuthError =
            OAuthError::new(Code::InvalidTarget, "the grant is for another resource");
        if self.resource.is_some_and(|resource| resource != grant.audience.claim(issuer)) {
            return Err(OTHER_TARGET);
        }
        // Contract §5: a refresh can never change it.
        if self.organization.is_some() && self.organization != grant.organization() {
            return Err(INVALID_GRANT.because("another organization is asked for"));
        }
        Ok(())
    }
}
