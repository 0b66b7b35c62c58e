//! Who asks, and where the answer may go: before both are certain nobody is redirected.

use super::checks::LONGEST_STATE;
use crate::{
    actors::Seen,
    domain::client::{Client, KnownClient, LONGEST_ID},
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::form::Form,
    },
};
use std::sync::Arc;

/// A client and a redirect URI of its own.
pub struct Proven {
    seen: Arc<Seen<Client>>,
    pub redirect_uri: String,
    pub state: Option<String>,
    pub scope: String,
}

impl Proven {
    pub fn client(&self) -> &KnownClient {
        self.seen.machine.known().expect("only known clients are proven")
    }
}

const fn invalid(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, description)
}

pub async fn prove(app: &App, form: &Form) -> Result<Proven, OAuthError> {
    const UNKNOWN: OAuthError = invalid("the client is not known");
    for name in ["client_id", "redirect_uri"] {
        if form.is_repeated(name) {
            return Err(invalid("client_id and redirect_uri are given once"));
        }
    }
    let client_id = form.get("client_id").ok_or(invalid("the parameter client_id is missing"))?;
    if client_id.len() > LONGEST_ID {
        return Err(UNKNOWN);
    }
    let seen = app.clients.look(client_id).await?;
    let Some(client) = seen.machine.known() else { return Err(UNKNOWN) };
    let redirect_uri = match (form.get("redirect_uri"), &client.metadata.redirect_uris[..]) {
        (Some(presented), _) => {
            if !client.has_redirect_uri(presented) {
                return Err(invalid("the redirect_uri is not one of the client's"));
            }
            presented
        }
        // OAuth 2.1 §4.1.1: it may be left out where there is only one it can be.
        (None, [only]) => only,
        (None, _) => return Err(invalid("the parameter redirect_uri is missing")),
    };
    let redirect_uri = redirect_uri.to_owned();
    // RFC 6749 §4.1.2.1 has it sent back; one that is too long was never taken.
    let short = |state: &&str| state.len() <= LONGEST_STATE && !form.is_repeated("state");
    let state = form.get("state").filter(short).map(str::to_owned);
    // For showing alone; what is asked for is checked later, and bounded.
    let scope = form.get("scope").filter(|scope| scope.len() <= LONGEST_STATE);
    let scope = scope.unwrap_or_default().to_owned();
    Ok(Proven { seen, redirect_uri, state, scope })
}
