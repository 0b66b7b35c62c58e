//! A refresh token for tokens: RFC 6749 §6, rotated every time (RFC 9700 §4.14.2) unless the client's profile has it stay
//! (adr/0130).

use super::{
    Grant, TokenResponse,
    issue::{self, INVALID_GRANT, TokenRequest},
};
use crate::{
    crypto::OpaqueKind,
    domain::{
        client::GrantType,
        token_family::{Command, Refresh},
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{client_auth::Caller, form::Form},
    },
};

pub const GRANT: Grant = Grant {
    kind: GrantType::RefreshToken,
    serve: |app, caller, form| Box::pin(refresh(app, caller, form)),
};

async fn refresh(app: &App, caller: &Caller, form: &Form) -> Result<TokenResponse, OAuthError> {
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter refresh_token is missing");
    let text = form.get("refresh_token").ok_or(missing)?;
    let token = OpaqueKind::RefreshToken.read(text, &app.crypto.vault.now());
    let Some(token) = token else { return Err(INVALID_GRANT.because("no refresh token of ours")) };
    let narrowing = issue::narrowing(app, form);
    let presented = TokenRequest { caller, family: &token.id, refreshable: true, narrowing };
    let rotates = caller.client().rules().rotates;
    let mut issued = issue::issue(app, presented, |issuing| {
        Command::Refresh(Box::new(Refresh { token: token.fingerprint, rotates, issuing }))
    })
    .await?;
    if !rotates {
        issued.refresh_token = Some(text.to_owned().into());
    }
    Ok(issued)
}
