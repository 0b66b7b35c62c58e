//! Erases the accounts whose time has come, with what is held of their people elsewhere.
//!
//! Memberships end, except in suspended organizations, which accept no change: what is left there is an
//! id, and confers nothing. Consents are withdrawn, blocked clients are forgotten. Rows of the log hold ids, and stay as they are.

use super::{HydrateError, MultiCommit, hydrate::hydrate, services::Services};
use crate::{
    domain::{
        Context, Timestamp,
        account::{Account, Command, DELETIONS},
        approval_block::{self, ApprovalBlock, BLOCKED_CLIENTS},
        consent::{self, CONSENTS, Consent},
        membership::{self, MEMBERSHIPS, Membership},
        organization::Organization,
        session::{self, SESSIONS, Session},
        token_family::{self, FAMILIES, TokenFamily},
    },
    store::{CommitError, Listed},
};
use std::sync::Arc;

/// Accounts that are erased in one sweep.
const BATCH: u32 = 20;

/// Entries of one list that are ended with their account; the next sweep does not find the rest, which
/// confer nothing any more.
const MOST: u32 = 1_000;

/// Why an account was not erased.
#[derive(Debug, thiserror::Error)]
enum NotErased {
    #[error("it cannot be read")]
    Unreadable(#[from] HydrateError),
    #[error("it was not committed")]
    NotCommitted(#[from] CommitError),
}

/// Erases what is due, a few at a time.
pub(super) async fn erase_due(services: &Arc<Services>, now: Timestamp) {
    let due = match services.store.list_for_worker(DELETIONS, "", ("", ""), BATCH).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "the accounts that are to be erased could not be listed");
            return;
        }
    };
    let is_due = |listed: &&Listed| {
        listed.rank.parse().is_ok_and(|at: i64| Timestamp::from_millis(at) <= now)
    };
    for Listed { id, .. } in due.iter().take_while(is_due) {
        // Another node may have done it, or the person may have signed in: the next sweep tells.
        if let Err(error) = erase(services, id).await {
            tracing::warn!(%error, account = id, "an account could not be erased");
        }
    }
}

async fn erase(services: &Arc<Services>, account: &str) -> Result<(), NotErased> {
    let mut commit = MultiCommit::new(services.clone(), Context::node());
    if commit.decide::<Account>(account, &Command::Erase).await?.is_err() {
        return Ok(());
    }
    for id in listed(services, SESSIONS, account).await? {
        let _gone = commit.decide::<Session>(&id, &session::Command::End).await?;
    }
    for id in listed(services, FAMILIES, account).await? {
        let _gone = commit.decide::<TokenFamily>(&id, &token_family::Command::End).await?;
    }
    for id in listed(services, CONSENTS, account).await? {
        let held = hydrate::<Consent>(&services.store, &id).await?.machine;
        if let Consent::Given { parties, .. } = held {
            let withdraw = consent::Command::Withdraw { parties };
            let _never = commit.decide::<Consent>(&id, &withdraw).await?;
        }
    }
    for id in listed(services, BLOCKED_CLIENTS, account).await? {
        let _never = commit.decide::<ApprovalBlock>(&id, &approval_block::Command::Lift).await?;
    }
    for id in listed(services, MEMBERSHIPS, account).await? {
        let held = hydrate::<Membership>(&services.store, &id).await?.machine;
        let Some(held) = held.known().filter(|held| held.enabled) else { continue };
        let home = commit.look::<Organization>(&held.organization).await?.known().cloned();
        let draft = membership::Draft {
            id: id.clone(),
            account: held.account.clone(),
            organization: held.organization.clone(),
            roles: None,
            enabled: Some(false),
            word: membership::Word::Operator,
        };
        let end = membership::Command::Provision { draft, home };
        let _suspended = commit.decide::<Membership>(&id, &end).await?;
    }
    Ok(commit.commit().await?)
}

async fn listed(
    services: &Services,
    list: &str,
    account: &str,
) -> Result<Vec<String>, HydrateError> {
    let page = services.store.list_for_worker(list, account, ("", ""), MOST).await?;
    Ok(page.into_iter().map(|entry| entry.id).collect())
}
