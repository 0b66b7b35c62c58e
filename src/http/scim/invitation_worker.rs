//! Mails the invitations that the allowance did not permit at once, and again those that were not accepted (adr/0133).
//!
//! Every node goes through the list of those who wait, a part at each turn and then from the beginning. The commit
//! requires the membership to be as it was read, so that of two nodes one invites.

use super::invite::{self, Invitee};
use crate::{
    actors::{Bound, CommitError, HydrateError, RepeatedWork},
    domain::{
        Context,
        membership::{Command, DUE_INVITATIONS, Membership, not_due},
        organization::Organization,
    },
    http::{answer::error::Problem, app::App},
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How many of those who wait are looked at in one turn.
const PART: Bound = Bound::new(200);

/// Why a person was not invited.
#[derive(Debug, thiserror::Error)]
enum InvitationFailure {
    #[error("something cannot be read")]
    Unreadable(#[from] HydrateError),
    #[error("something cannot be read: {}", .0.detail)]
    Problem(Problem),
    #[error("it was not committed")]
    NotCommitted(#[from] CommitError),
}

impl From<Problem> for InvitationFailure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// What became of one who waits.
enum Outcome {
    Settled,
    /// The organization has no allowance left for now.
    Exhausted(String),
}

/// Returns the work of the worker that invites those who wait.
pub fn inviting(app: App, every: Duration) -> RepeatedWork {
    let place = Arc::new(Mutex::new(Default::default()));
    let turn = move || -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        let (app, place) = (app.clone(), place.clone());
        Box::pin(async move {
            let from = std::mem::take(&mut *place.lock().unwrap_or_else(PoisonError::into_inner));
            let next = invite_some(&app, from).await;
            *place.lock().unwrap_or_else(PoisonError::into_inner) = next;
        })
    };
    RepeatedWork { name: "inviter", every, turn: Arc::new(turn) }
}

/// Invites some of those who wait after a place in the list, and returns where to go on.
async fn invite_some(app: &App, after: (String, String)) -> (String, String) {
    if !app.channels().mail {
        return after;
    }
    let place = (after.0.as_str(), after.1.as_str());
    let not_due = not_due(app.clock.now());
    let due = (place, Some(not_due.as_str()));
    let due = app.views.memberships.page_below((DUE_INVITATIONS, ""), due, PART);
    let page = match due.await {
        Ok(page) => page,
        Err(error) => {
            tracing::warn!(%error, "those who are to be invited could not be listed");
            return after;
        }
    };
    let mut exhausted: HashSet<String> = HashSet::new();
    for (_, entry) in &page {
        if entry.machine.organization().is_none_or(|slug| exhausted.contains(slug)) {
            continue;
        }
        match invite_one(app, &entry.id).await {
            Ok(Outcome::Exhausted(slug)) => drop(exhausted.insert(slug)),
            // It is settled; or another node, or the directory, was first, and a later turn tells.
            Ok(Outcome::Settled)
            | Err(InvitationFailure::NotCommitted(
                CommitError::Conflict | CommitError::Unmet { .. },
            )) => {}
            Err(error) => {
                tracing::warn!(%error, membership = entry.id, "a person could not be invited");
            }
        }
    }
    let is_full = page.len() >= PART.most() as usize;
    let last = page.last().filter(|_| is_full);
    last.map(|(rank, entry)| (rank.clone(), entry.id.clone())).unwrap_or_default()
}

async fn invite_one(app: &App, id: &str) -> Result<Outcome, InvitationFailure> {
    let context = Context::node();
    let mut commit = app.multi_commit(&context);
    let machine = commit.look::<Membership>(id).await?.clone();
    let Some(slug) = machine.organization().filter(|_| machine.wants_invitation(app.clock.now()))
    else {
        return Ok(Outcome::Settled);
    };
    let home = commit.look::<Organization>(slug).await?.known().filter(|home| home.enabled);
    let Some(home) = home.cloned() else { return Ok(Outcome::Settled) };
    let address = match &machine {
        Membership::Pending(pending) => pending.address.clone(),
        Membership::Known(known) => {
            let account = app.views.accounts.peek(&known.account).await?;
            account.machine.known().map(|account| account.email.clone())
        }
        Membership::Unborn | Membership::Removed { .. } => None,
    };
    let Some(address) = address else { return Ok(Outcome::Settled) };
    let mut charged = None;
    // An administrator may have invited them meanwhile: that is as good.
    if !invite::stands(app, &home, &address).await? {
        charged = invite::charge(app, &context, slug, &address).await;
        if charged.is_none() {
            return Ok(Outcome::Exhausted(slug.to_owned()));
        }
        invite::withdraw(app, &mut commit, (slug, &address)).await?;
        let invitee = Invitee { membership: id, address: &address };
        if !invite::make(app, &mut commit, &home, &invitee).await? {
            return Ok(Outcome::Settled);
        }
    }
    let noted = commit.decide::<Membership>(id, &Command::NoteInvited).await?;
    if noted.is_err() {
        return Ok(Outcome::Settled);
    }
    commit.commit().await?;
    app.views.memberships.forget(id);
    charged.into_iter().for_each(invite::InvitationCharge::keep);
    Ok(Outcome::Settled)
}
