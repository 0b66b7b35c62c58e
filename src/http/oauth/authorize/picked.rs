//! In which of the sessions that a browser holds a request is answered (adr/0087).

use crate::{
    actors::HydrateError,
    domain::{account::normalise_email, authorization::Request},
    http::{
        app::App,
        people::session::{HeldSession, Present},
    },
};

/// What a request is answered in.
pub enum SessionChoice {
    Session(Box<Present>),
    /// The person chooses.
    Ask,
    None,
}

/// Tells whether the client has named the person, by whichever hint.
pub fn is_named(request: &Request) -> bool {
    request.wanted.hint.is_some() || request.login_hint.is_some()
}

/// Picks the session that the client has named, else the current one.
pub async fn pick(
    app: &App,
    request: &Request,
    mut held: Vec<HeldSession>,
) -> Result<SessionChoice, HydrateError> {
    if request.wanted.prompt.select_account && !held.is_empty() {
        return Ok(SessionChoice::Ask);
    }
    if request.wanted.prompt.select_account {
        return Ok(SessionChoice::None);
    }
    let named = match &request.wanted.hint {
        Some(account) => Some(account.clone()),
        None => named_by_address(app, request, &held).await?,
    };
    let is_theirs = |one: &HeldSession| named.as_ref() == Some(&one.present.person.account);
    let place = held.iter().position(is_theirs);
    let place = place.or_else(|| held.iter().position(|one| one.is_current));
    Ok(match place {
        Some(place) => SessionChoice::Session(Box::new(held.swap_remove(place).present)),
        // Whom an ID token names is not among them.
        None if held.is_empty() || request.wanted.hint.is_some() => SessionChoice::None,
        None => SessionChoice::Ask,
    })
}

/// Returns the account whose address the client thinks of, if it is one of several that are held.
async fn named_by_address(
    app: &App,
    request: &Request,
    held: &[HeldSession],
) -> Result<Option<String>, HydrateError> {
    let hint = request.login_hint.as_deref().and_then(normalise_email);
    let Some(hint) = hint.filter(|_| held.iter().any(|one| !one.is_current)) else {
        return Ok(None);
    };
    for one in held {
        let account = &one.present.person.account;
        let seen = app.views.accounts.look(account).await?;
        if seen.machine.known().is_some_and(|known| known.normalised_email() == hint) {
            return Ok(Some(account.clone()));
        }
    }
    Ok(None)
}
