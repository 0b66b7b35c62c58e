//! Erases the accounts whose time has come, with what is held of their people elsewhere.
//!
//! Memberships end, except in suspended organizations, which accept no change: what is left there is an
//! id, and confers nothing. Consents are withdrawn, blocked clients are forgotten. Rows of the log hold ids, and stay as they are.
//!
//! Each commit changes a bite of rows, and requires the account to be what it was; the last one erases it.
//! An account that was erased in part is still due: the next sweep goes on.

use super::{HydrateError, MultiCommit, hydrate::hydrate, services::Services};
use crate::{
    domain::{
        Context, Timestamp,
        account::{self, Account, AccountStatus, Command, DELETIONS},
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

/// Rows that one commit changes at most: it holds others up no longer than theirs do.
const BITE: u32 = 100;

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
    let mut erasure = Erasure::begin(services, account);
    if !erasure.is_due().await? {
        return Ok(());
    }
    for list in [SESSIONS, FAMILIES, CONSENTS, BLOCKED_CLIENTS, MEMBERSHIPS] {
        erasure.end_all(list).await?;
    }
    let _due = erasure.commit.decide::<Account>(account, &Command::Erase).await?;
    Ok(erasure.commit.commit().await?)
}

/// An account that is being erased.
struct Erasure<'a> {
    services: &'a Arc<Services>,
    account: &'a str,
    /// The present bite.
    commit: MultiCommit,
    rows: u32,
}

impl<'a> Erasure<'a> {
    fn begin(services: &'a Arc<Services>, account: &'a str) -> Self {
        let commit = MultiCommit::new(services.clone(), Context::node());
        Self { services, account, commit, rows: 0 }
    }

    /// Tells whether its time has come; what is committed then requires that to be unchanged.
    async fn is_due(&mut self) -> Result<bool, HydrateError> {
        let now = self.services.clock.now();
        let known = self.commit.look::<Account>(self.account).await?.known();
        let standing = known.map(account::Known::standing);
        Ok(matches!(standing, Some(AccountStatus::Deleting { until }) if until <= now))
    }

    /// Ends everything that is in a list of the account's.
    async fn end_all(&mut self, list: &str) -> Result<(), NotErased> {
        let mut after = (String::new(), String::new());
        loop {
            let cursor = (after.0.as_str(), after.1.as_str());
            let page = self.services.store.list_for_worker(list, self.account, cursor, BITE).await;
            let page = page.map_err(HydrateError::from)?;
            for entry in &page {
                self.make_room().await?;
                self.end(list, &entry.id).await?;
            }
            match page.last() {
                Some(last) if page.len() == BITE as usize => {
                    after = (last.rank.clone(), last.id.clone());
                }
                _ => return Ok(()),
            }
        }
    }

    /// Commits a bite that is full, and begins the next.
    async fn make_room(&mut self) -> Result<(), NotErased> {
        if self.rows == BITE {
            let next = Self::begin(self.services, self.account);
            let full = std::mem::replace(self, next);
            full.commit.commit().await?;
            self.commit.look::<Account>(self.account).await?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends one entity; what is over already stays as it is.
    async fn end(&mut self, list: &str, id: &str) -> Result<(), HydrateError> {
        match list {
            SESSIONS => {
                let _over = self.commit.decide::<Session>(id, &session::Command::End).await?;
            }
            FAMILIES => {
                let end = token_family::Command::End;
                let _over = self.commit.decide::<TokenFamily>(id, &end).await?;
            }
            CONSENTS => {
                let held = hydrate::<Consent>(&self.services.store, id).await?.machine;
                if let Consent::Given { parties, .. } = held {
                    let withdraw = consent::Command::Withdraw { parties };
                    let _never = self.commit.decide::<Consent>(id, &withdraw).await?;
                }
            }
            BLOCKED_CLIENTS => {
                let lift = approval_block::Command::Lift;
                let _never = self.commit.decide::<ApprovalBlock>(id, &lift).await?;
            }
            _ => self.end_membership(id).await?,
        }
        Ok(())
    }

    async fn end_membership(&mut self, id: &str) -> Result<(), HydrateError> {
        let held = hydrate::<Membership>(&self.services.store, id).await?.machine;
        let Some(held) = held.known().filter(|held| held.enabled) else { return Ok(()) };
        let home = self.commit.look::<Organization>(&held.organization).await?.known().cloned();
        let draft = membership::Draft {
            id: id.to_owned(),
            account: held.account.clone(),
            organization: held.organization.clone(),
            roles: None,
            enabled: Some(false),
            mapped: None,
            entry: None,
            word: membership::Word::Operator,
        };
        let end = membership::Command::Provision { draft, home };
        let _suspended = self.commit.decide::<Membership>(id, &end).await?;
        Ok(())
    }
}
