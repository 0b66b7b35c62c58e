//! The session that a request comes with.

use crate::http::{app::App, extract::request_source::RequestSource};
use crate::{
    actors::{Failure, HydrateError},
    crypto::OpaqueKind,
    domain::{
        Context, Requirement,
        account::Account,
        grant::Person,
        session::{Command, Session},
    },
};

/// A session that is open, as it was read.
pub struct Present {
    pub id: String,
    pub person: Person,
    version: i64,
    /// The clients that are told when it ends.
    told: Vec<String>,
}

impl Present {
    /// Tells whether this client is told when it ends.
    pub fn tells(&self, client_id: &str) -> bool {
        self.told.iter().any(|one| one == client_id)
    }

    /// That it is still what was read, in the commit that relies on it.
    pub fn requirement(&self) -> Requirement {
        Requirement::unchanged::<Session>(&*self.id, self.version)
    }
}

/// Finds the session whose token a request presents, and notes that it is used.
///
/// What is found may be a second old; a caller that relies on it requires it in a commit, or looks again.
pub async fn find(
    app: &App,
    context: &Context,
    source: &RequestSource,
    anew: bool,
) -> Result<Option<Present>, HydrateError> {
    let Some(token) = &source.session_token else { return Ok(None) };
    let Some(token) = OpaqueKind::Session.read(token, &app.vault.now()) else { return Ok(None) };
    let now = app.clock.now();
    let mut seen = app.session_views.look_if(anew, &token.id).await?;
    if seen.machine.opened_by(token.fingerprint, now).is_none() && !anew {
        // It may have been renewed a moment ago.
        seen = app.session_views.look_anew(&token.id).await?;
    }
    let Some(open) = seen.machine.opened_by(token.fingerprint, now) else { return Ok(None) };
    if open.is_due(now) {
        match app.sessions.ask(context, &token.id, Command::Touch).await {
            Ok(_) => seen = app.session_views.look_anew(&token.id).await?,
            Err(Failure::Refused(_)) => return Ok(None),
            // To note it the next time will do.
            Err(_) => {}
        }
    }
    let Some(open) = seen.machine.opened_by(token.fingerprint, now) else { return Ok(None) };
    let (person, version) = (open.person_at(now), seen.version);
    // It rests on its account, which may be suspended or about to be deleted, or in another epoch.
    let honours =
        |account: &Account| account.known().is_some_and(|one| one.honours(person.epoch, now));
    let account = app.accounts.look_if(anew, &person.account).await?;
    if !honours(&account.machine) {
        // They may have signed in a moment after everything had ended.
        if anew || !honours(&app.accounts.look_anew(&person.account).await?.machine) {
            return Ok(None);
        }
    }
    Ok(Some(Present { id: token.id, person, version, told: open.told().to_vec() }))
}

/// Tells whether a request presents the token of an open session; its use is not noted.
pub async fn is_open(app: &App, source: &RequestSource) -> bool {
    let Some(token) = &source.session_token else { return false };
    let Some(token) = OpaqueKind::Session.read(token, &app.vault.now()) else { return false };
    let seen = app.session_views.look_anew(&token.id).await;
    seen.is_ok_and(|seen| seen.machine.opened_by(token.fingerprint, app.clock.now()).is_some())
}
