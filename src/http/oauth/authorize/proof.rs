//! Which client asks, and where the answer may go: before both are certain no browser is redirected.

use super::checks::LONGEST_STATE;
use crate::{
    actors::EntitySnapshot,
    domain::{
        authorization::{ReplyTo, ResponseJwt, ResponseMode},
        client::{Client, KnownClient, LONGEST_ID},
    },
    http::{
        answer::error::{Code, OAuthError, Subject},
        app::App,
        clients,
        extract::form::Form,
    },
};
use std::{net::IpAddr, sync::Arc};

/// A client and a redirect URI of its own.
pub struct ProvenClient {
    seen: Arc<EntitySnapshot<Client>>,
    pub reply_to: ReplyTo,
    pub scope: String,
    /// `prompt=none`: no page is shown, whatever happens (OIDC Core §3.1.2.1).
    pub is_silent: bool,
}

impl ProvenClient {
    pub fn client(&self) -> &KnownClient {
        self.seen.machine.known().expect("only known clients are proven")
    }
}

const fn invalid(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, description)
}

/// Returns the client that a request names.
pub async fn client(
    app: &App,
    form: &Form,
    caller: IpAddr,
) -> Result<Arc<EntitySnapshot<Client>>, OAuthError> {
    const UNKNOWN: OAuthError = invalid("the client is not known");
    if form.is_repeated("client_id") {
        return Err(ONCE);
    }
    let client_id = form.get("client_id").ok_or(invalid("the parameter client_id is missing"))?;
    if client_id.len() > LONGEST_ID {
        return Err(UNKNOWN);
    }
    let seen = clients::find_to_begin(app, client_id, caller).await?;
    if seen.machine.known().is_some() { Ok(seen) } else { Err(UNKNOWN) }
}

const ONCE: OAuthError = invalid("client_id, redirect_uri and state are given once");

/// How many bytes of an address are shown and logged.
const MOST_SHOWN: usize = 500;

/// How many registered addresses are logged.
const MOST_LOGGED: usize = 10;

/// The address is not the client's: the log names both sides, and a page the one that was given.
fn foreign(client: &KnownClient, presented: &str) -> OAuthError {
    let registered = client.metadata.redirect_uris.iter().take(MOST_LOGGED).cloned().collect();
    let given = presented.chars().take(MOST_SHOWN).collect();
    let subject = Some(Subject::RedirectUri { given, registered });
    let error = invalid("the redirect_uri is not one of the client's");
    error.because(format!("asked by {:?}", client.client_id)).about(subject)
}

/// Proves where the answer to a request of this client may go.
pub fn prove(seen: Arc<EntitySnapshot<Client>>, form: &Form) -> Result<ProvenClient, OAuthError> {
    let client = seen.machine.known().ok_or(invalid("the client is not known"))?;
    if ["redirect_uri", "state"].into_iter().any(|name| form.is_repeated(name)) {
        return Err(ONCE);
    }
    let redirect_uri = match (form.get("redirect_uri"), &client.metadata.redirect_uris[..]) {
        (Some(presented), _) => {
            if !client.has_redirect_uri(presented) {
                return Err(foreign(client, presented));
            }
            presented
        }
        // OAuth 2.1 §4.1.1: it may be left out where there is only one it can be.
        (None, [only]) if !client.rules().names_redirect_uri => only,
        (None, _) => return Err(invalid("the parameter redirect_uri is missing")),
    };
    let redirect_uri = redirect_uri.to_owned();
    // RFC 6749 §4.1.2.1 has it sent back. A client that gets an answer without its state cannot tell
    // it from a forged one, so where the state cannot be sent back there is no redirect.
    let state = form.get("state");
    if state.is_some_and(|state| state.len() > LONGEST_STATE) {
        return Err(invalid("the state has more than 2048 bytes"));
    }
    let state = state.map(str::to_owned);
    // An error is told in the mode that was asked for, if it is one of ours.
    let asked = form.get("response_mode").filter(|_| !form.is_repeated("response_mode"));
    let jwt = || ResponseJwt {
        audience: client.client_id.clone(),
        algorithm: client.authorization_algorithm(),
    };
    let mode = asked.and_then(|name| ResponseMode::named(name, jwt)).unwrap_or_default();
    let mode = if client.rules().signed_responses { mode.signed(jwt) } else { mode };
    let reply_to = ReplyTo { redirect_uri, state, mode };
    // To be shown; what is asked for is checked later, and bounded.
    let scope = form.get("scope").filter(|scope| scope.len() <= LONGEST_STATE);
    let scope = scope.unwrap_or_default().to_owned();
    let is_silent = form.get("prompt") == Some("none") && !form.is_repeated("prompt");
    Ok(ProvenClient { seen, reply_to, scope, is_silent })
}
