//! The session that a request comes with.

use crate::{
    actors::{Failure, HydrateError},
    crypto::OpaqueKind,
    domain::{
        Context, Machine as _, Requirement, Timestamp,
        assurance::{Evidence, SingleSignOn},
        connection::Connection,
        person::Person,
        session::{Command, Session},
    },
    http::{
        app::App, extract::request_source::RequestSource, people::account_reading::AccountReading,
        reading::Reading,
    },
};
use zeroize::Zeroizing;

/// How a session and its account are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Both as they were less than a second ago, for a commit that [requires](Present::requirements) them.
    ForCommit,
    /// The session as it was less than a second ago, and the account as it is now.
    Recent,
    /// Both as they are now.
    Anew,
}

/// A session that is open, as it was read.
pub struct Present {
    pub id: String,
    pub person: Person,
    pub created_at: Timestamp,
    /// That both are still what was read.
    requirements: Vec<Requirement>,
    /// The clients that are told when it ends.
    told: Vec<String>,
}

impl Lookup {
    pub const fn anew_if(anew: bool) -> Self {
        if anew { Self::Anew } else { Self::Recent }
    }
}

impl Present {
    /// Tells whether this client is told when it ends.
    pub fn tells(&self, client_id: &str) -> bool {
        self.told.iter().any(|one| one == client_id)
    }

    /// What a commit that relies on it requires.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
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
    match &source.session_token {
        Some(token) => opened_by(app, context, token, Lookup::anew_if(anew)).await,
        None => Ok(None),
    }
}

/// Finds the session that a token opens, and notes that it is used.
async fn opened_by(
    app: &App,
    context: &Context,
    token: &str,
    lookup: Lookup,
) -> Result<Option<Present>, HydrateError> {
    let anew = lookup == Lookup::Anew;
    let Some(token) = OpaqueKind::Session.read(token, &app.crypto.vault.now()) else {
        return Ok(None);
    };
    let now = app.clock.now();
    let mut seen = app.views.sessions.look_if(anew, &token.id).await?;
    if seen.machine.opened_by(token.fingerprint, now).is_none() && !anew {
        // It may have been renewed a moment ago.
        seen = app.views.sessions.look_anew(&token.id).await?;
    }
    let Some(open) = seen.machine.opened_by(token.fingerprint, now) else { return Ok(None) };
    if open.is_due(now) {
        match app.entities.sessions.ask(context, &token.id, Command::Touch).await {
            Ok(_) => seen = app.views.sessions.look_anew(&token.id).await?,
            Err(Failure::Refused(_)) => return Ok(None),
            // To note it the next time will do.
            Err(_) => {}
        }
    }
    let Some(open) = seen.machine.opened_by(token.fingerprint, now) else { return Ok(None) };
    let person = open.person_at(now);
    // It rests on its account, which may be suspended or about to be deleted, or in another epoch. That is read anew
    // each time, or required by a commit: what an operator has ended is over at the next request.
    let reading = if lookup == Lookup::ForCommit { Reading::Recent } else { Reading::Anew };
    let account = AccountReading::seen(app, &person.account, reading).await?;
    let Some(known) = account.honouring(person.epoch, now) else { return Ok(None) };
    let authenticators = known.authenticators();
    let evidence = person.evidence.clone().weighed(&authenticators);
    let evidence = standing(app, evidence).await?;
    // A session that rested on single sign-on alone is over with it.
    if evidence.last_anywhere().is_none() {
        return Ok(None);
    }
    let mut requirements = vec![Requirement::unchanged::<Session>(&*token.id, seen.version)];
    requirements.extend(account.requirements(&person.account));
    let person = Person { evidence, ..person };
    let (created_at, told) = (open.created_at(), open.told().to_vec());
    Ok(Some(Present { id: token.id, person, created_at, requirements, told }))
}

/// Returns what is left of evidence by single sign-on: what rests on something that has ended counts no more.
async fn standing(app: &App, evidence: Evidence) -> Result<Evidence, HydrateError> {
    let asked: Vec<(&'static str, String)> = evidence
        .sign_ons()
        .flat_map(SingleSignOn::rests_on)
        .map(|(kind, id)| (kind, id.to_owned()))
        .collect();
    if asked.is_empty() {
        return Ok(evidence);
    }
    let borrowed: Vec<(&str, &str)> = asked.iter().map(|(kind, id)| (*kind, &**id)).collect();
    let (found, now) = (app.store.liveness(&borrowed).await?, app.clock.now());
    let live = |kind: &str, id: &str| {
        let place = borrowed.iter().position(|asked| *asked == (kind, id));
        place.and_then(|place| found[place]).filter(|one| one.is_live(now))
    };
    let mut epochs = Vec::new();
    for SingleSignOn { connection, .. } in evidence.sign_ons() {
        let Some(one) = live(Connection::KIND, connection) else { continue };
        let seen = app.views.connections.at_version(connection, one.version).await?;
        let epoch = seen.machine.known().map(|known| known.epoch);
        epochs.push((connection.clone(), epoch));
    }
    let is_over = |sign_on: &SingleSignOn| {
        let current = (sign_on.connection.clone(), Some(sign_on.epoch));
        !sign_on.rests_on().iter().all(|(kind, id)| live(kind, id).is_some())
            || !epochs.contains(&current)
    };
    Ok(evidence.clone().without_sign_ons(is_over))
}

/// A session that a caller holds, and the token by which it does.
pub struct HeldSession {
    pub present: Present,
    pub token: Zeroizing<String>,
    /// It is the one in which the caller acts, unless they choose another.
    pub is_current: bool,
}

/// Finds every session that a caller holds, the current one first: one an account (adr/0087). A token
/// that opens nothing counts for nothing, and one with a foreign MAC is not even looked up.
pub async fn held(
    app: &App,
    context: &Context,
    source: &RequestSource,
    lookup: Lookup,
) -> Result<Vec<HeldSession>, HydrateError> {
    let current = source.session_token.iter().map(|token| (token, true));
    let others = source.other_tokens.iter().map(|token| (token, false));
    let mut held: Vec<HeldSession> = Vec::new();
    for (token, is_current) in current.chain(others) {
        let Some(present) = opened_by(app, context, token, lookup).await? else { continue };
        let account = &present.person.account;
        if held.iter().all(|other| other.present.person.account != *account) {
            held.push(HeldSession { present, token: token.clone(), is_current });
        }
    }
    Ok(held)
}

/// Tells whether a request presents the token of an open session; its use is not noted.
pub async fn is_open(app: &App, source: &RequestSource) -> bool {
    let Some(token) = &source.session_token else { return false };
    let Some(token) = OpaqueKind::Session.read(token, &app.crypto.vault.now()) else {
        return false;
    };
    let (seen, now) = (app.views.sessions.look_anew(&token.id).await, app.clock.now());
    let Ok(seen) = seen else { return false };
    let Some(open) = seen.machine.opened_by(token.fingerprint, now) else { return false };
    let person = open.person_at(now);
    let account = AccountReading::of(app, &person.account).await;
    account.is_ok_and(|account| account.honouring(person.epoch, now).is_some())
}
