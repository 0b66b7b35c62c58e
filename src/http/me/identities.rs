//! `/me/identities`: identities of other providers that are linked to the account of a person; each can be unlinked
//! (adr/0139).

use super::{
    EntryId, Items,
    caller::{Caller, SESSION_REQUIRED, SignedIn},
    change::{LAST_WAY_IN, reach_without},
    step_up,
};
use crate::{
    actors::{CommitError, HydrateError},
    domain::{
        Requirement,
        account::{Account, Known, Reach},
        account_alerts::{AccountAlerts, Command::Tell},
        connection,
        external_identity::{Cause, Command, ExternalIdentity, Linked},
        message::MailContent,
    },
    http::{
        answer::error::Problem,
        app::App,
        flows::{ConnectionName, sign_on::identities_of},
        people::notice::mail,
        time::rfc3339,
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

/// A UUID has so many characters.
const LONGEST_ID: usize = 36;

/// How often it is decided while other changes come between.
const TRIES: usize = 4;

#[derive(Serialize)]
pub struct Identity {
    pub id: String,
    pub connection: ConnectionName,
    pub subject: String,
    pub linked_at: String,
}

impl From<(Linked, connection::Known)> for Identity {
    fn from((linked, connection): (Linked, connection::Known)) -> Self {
        Self {
            id: linked.id,
            connection: ConnectionName { id: connection.id, name: connection.name },
            subject: linked.subject,
            linked_at: rfc3339(linked.linked_at),
        }
    }
}

pub async fn list(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<Identity>, Problem> {
    let mut linked = linked_to(&app, caller.account()).await?;
    linked.retain(|(one, _)| caller.reaches(one.organization.as_deref()));
    Ok(Items::whole(linked.into_iter().map(Identity::from).collect()))
}

/// Lists the identities of an account.
pub async fn of_account(app: &App, account: &str) -> Result<Vec<Identity>, HydrateError> {
    Ok(linked_to(app, account).await?.into_iter().map(Identity::from).collect())
}

/// Lists what is linked to an account, with its connection; what leads nowhere any more is left out.
async fn linked_to(
    app: &App,
    account: &str,
) -> Result<Vec<(Linked, connection::Known)>, HydrateError> {
    let mut linked = Vec::new();
    for one in identities_of(app, account).await? {
        let seen = app.views.connections.look_anew(&one.connection).await?;
        linked.extend(seen.machine.known().map(|known| (one, known.clone())));
    }
    Ok(linked)
}

/// Returns an identity of no organization by which the person can sign in, beside the one that is named.
pub async fn way_in(
    app: &App,
    account: &str,
    without: Option<&str>,
) -> Result<Option<String>, HydrateError> {
    let is_other = |one: &Linked| one.organization.is_none() && Some(&*one.id) != without;
    let linked = linked_to(app, account).await?;
    Ok(linked.into_iter().find(|(one, _)| is_other(one)).map(|(one, _)| one.id))
}

pub async fn delete(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
    id: EntryId,
) -> Result<Response, Problem> {
    let id = id.read(LONGEST_ID)?;
    let seen = app.views.external_identities.look_anew(&id).await?;
    let own = seen.machine.linked().filter(|linked| linked.account == caller.account());
    let linked = own.cloned().ok_or(Problem::NOT_FOUND)?;
    let known = caller.known(&app).await?;
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    for _ in 0..TRIES {
        match unlink(&app, &caller, &linked).await? {
            Ok(()) => return Ok(StatusCode::NO_CONTENT.into_response()),
            // Another request was first: look again.
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(CommitError::Unavailable) => return Err(Problem::UNAVAILABLE),
            Err(CommitError::Unknown) => return Err(Problem::OUTCOME_UNKNOWN),
        }
    }
    Err(Problem::UNAVAILABLE)
}

/// Unlinks an identity, while the account has another way in.
async fn unlink(
    app: &App,
    caller: &Caller,
    linked: &Linked,
) -> Result<Result<(), CommitError>, Problem> {
    let mut commit = app.multi_commit(&caller.context);
    let known: Option<Known> = commit.look::<Account>(caller.account()).await?.known().cloned();
    let sign_outs = app.sign_outs().await?;
    let honours =
        |known: &Known| known.honours(caller.present.person.epoch, sign_outs, app.clock.now());
    let known = known.filter(honours).ok_or(SESSION_REQUIRED)?;
    if linked.organization.is_none() {
        let reach = reach_without(app, caller.account(), Some(&linked.id)).await?;
        if !known.has_way_in(&reach) {
            return Err(LAST_WAY_IN);
        }
        let beside = Reach { identity: None, ..reach.clone() };
        if let Some(other) = reach.identity.filter(|_| !known.has_way_in(&beside)) {
            commit.require(Requirement::live::<ExternalIdentity>(other));
        }
    }
    let unlink = Command::Unlink { cause: Cause::Person };
    let decided = commit.decide::<ExternalIdentity>(&linked.id, &unlink).await?;
    decided.map_err(|_| Problem::NOT_FOUND)?;
    let seen = app.views.connections.look(&linked.connection).await?;
    let connection = seen.machine.known().map(|known| known.name.clone()).unwrap_or_default();
    let content = MailContent::IdentityUnlinked { connection };
    // A person who did not do it learns of it at once.
    if let Some(mail) = mail(app, &caller.context, &known, content) {
        let tell = Tell { account: known.id.clone(), mail: Box::new(mail) };
        let _told = commit.decide::<AccountAlerts>(&known.id, &tell).await?;
    }
    Ok(commit.commit().await)
}
