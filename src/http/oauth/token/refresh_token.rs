//! A refresh token for tokens: RFC 6749 §6, rotated every time (RFC 9700 §4.14.2).

use super::{
    Issued,
    issue::{self, INVALID_GRANT, Occasion},
};
use crate::{
    crypto::OpaqueKind,
    domain::token_family::{Command, Refresh},
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{client_auth::Caller, form::Form},
    },
};

pub async fn grant(app: &App, caller: &Caller, form: &Form) -> Result<Issued, OAuthError> {
    let client = caller.client();
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter refresh_token is missing");
    let token = form.get("refresh_token").ok_or(missing)?;
    let token = OpaqueKind::RefreshToken.read(token, &app.vault.now());
    let Some(token) = token else { return Err(INVALID_GRANT.because("no refresh token of ours")) };
    let occasion = Occasion { family: &token.id, client, refreshable: true };
    let said = issue::said(app, form);
    issue::issue(app, occasion, |facts| {
        let Some(next) = facts.next else { return Command::Show };
        Command::Refresh(Box::new(Refresh {
            token: token.fingerprint,
            client_id: client.client_id.clone(),
            said: said.clone(),
            next,
            limits: facts.limits,
            requirements: facts.requirements,
            lifetimes: facts.lifetimes,
        }))
    })
    .await
}
