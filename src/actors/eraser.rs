//! Erases the accounts whose time has come, with what is held of their people elsewhere.
//!
//! Memberships end, except in suspended organizations, which accept no change: what is left there is an
//! id, and confers nothing. Consents are withdrawn, blocked clients are forgotten, devices too, identities of other providers are unlinked. Rows of the log hold ids, and stay as they are.
//!
//! Each commit changes a batch of rows, and requires the account to be what it was; the last one erases it.
//! An account that was erased in part is still due: the next sweep goes on.

use super::{
    HydrateError,
    batches::{BatchInterruption, Batches, Pages, read},
    services::Services,
};
use crate::{
    domain::{
        Timestamp,
        account::{self, Account, AccountStatus, Command, DELETIONS},
        account_alerts::{self, AccountAlerts},
        approval_block::{self, ApprovalBlock, BLOCKED_CLIENTS},
        consent::{self, CONSENTS, Consent},
        external_identity::{self, ACCOUNT_IDENTITIES, Cause, ExternalIdentity},
        membership::{self, MEMBERSHIPS, Membership},
        organization::Organization,
        session::{self, SESSIONS, Session},
        token_family::{self, FAMILIES, TokenFamily},
        upstream_session::{self, UPSTREAM_SESSIONS, UpstreamSession},
    },
    store::ListRow,
};
use std::sync::Arc;

/// Accounts that are erased in one sweep.
const BATCH: u32 = 20;

/// Erases what is due, a few at a time.
pub(super) async fn erase_due(services: &Arc<Services>, now: Timestamp) {
    let due = match services.store.list_for_worker(DELETIONS, "", ("", ""), BATCH).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "the accounts that are to be erased could not be listed");
            return;
        }
    };
    for ListRow { id, .. } in due.iter().take_while(|listed| is_due(listed, now)) {
        // Another node may have done it, or the person may have signed in: the next sweep tells.
        if let Err(error) = erase(services, id).await {
            tracing::warn!(%error, account = id, "an account could not be erased");
        }
    }
}

/// Tells whether the time has come that a list is ordered by.
pub(super) fn is_due(listed: &ListRow, now: Timestamp) -> bool {
    listed.rank.parse().is_ok_and(|at: i64| Timestamp::from_millis(at) <= now)
}

async fn erase(services: &Arc<Services>, account: &str) -> Result<(), BatchInterruption> {
    let mut batches = Batches::<Account>::begin(services, account, None).await?;
    let standing = batches.owner().await?.known().map(account::Known::standing);
    let now = services.clock.now();
    // What is committed then requires that to be unchanged.
    if !matches!(standing, Some(AccountStatus::Deleting { until }) if until <= now) {
        return Ok(());
    }
    for list in [SESSIONS, FAMILIES, CONSENTS, BLOCKED_CLIENTS, ACCOUNT_IDENTITIES, MEMBERSHIPS] {
        let mut pages = Pages::of(services, list, account);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            for entry in &page {
                if list == ACCOUNT_IDENTITIES {
                    // What another provider has said of it.
                    let (said, end) =
                        ((UPSTREAM_SESSIONS, &*entry.id), upstream_session::Command::End);
                    batches.end_listed::<UpstreamSession>(said, &end).await?;
                }
                end(&mut batches, list, entry).await?;
            }
        }
    }
    batches.end::<AccountAlerts>(account, &account_alerts::Command::Erase).await?;
    batches.finish(&Command::Erase).await
}

/// Ends one entity; what is over already stays as it is.
async fn end(
    batches: &mut Batches<'_, Account>,
    list: &str,
    entry: &ListRow,
) -> Result<(), BatchInterruption> {
    let id = &entry.id;
    match list {
        SESSIONS => batches.end::<Session>(id, &session::Command::End).await,
        FAMILIES => batches.end::<TokenFamily>(id, &token_family::Command::End).await,
        CONSENTS => match read(entry)? {
            Consent::Given { parties, .. } => {
                batches.end::<Consent>(id, &consent::Command::Withdraw { parties }).await
            }
            Consent::Unborn | Consent::Withdrawn { .. } => Ok(()),
        },
        ACCOUNT_IDENTITIES => {
            let unlink = external_identity::Command::Unlink { cause: Cause::Erasure };
            batches.end::<ExternalIdentity>(id, &unlink).await
        }
        BLOCKED_CLIENTS => batches.end::<ApprovalBlock>(id, &approval_block::Command::Lift).await,
        _ => {
            let Some(end) = end_of_membership(batches, entry).await? else { return Ok(()) };
            batches.end::<Membership>(id, &end).await
        }
    }
}

async fn end_of_membership(
    batches: &mut Batches<'_, Account>,
    entry: &ListRow,
) -> Result<Option<membership::Command>, HydrateError> {
    let held: Membership = read(entry)?;
    let Some(held) = held.known().filter(|held| held.enabled) else { return Ok(None) };
    let home = batches.look::<Organization>(&held.organization).await?.known().cloned();
    let draft = membership::Draft {
        id: held.id.clone(),
        account: held.account.clone(),
        organization: held.organization.clone(),
        roles: None,
        enabled: Some(false),
        mapped: None,
        entry: None,
        word: membership::Word::Operator,
    };
    Ok(Some(membership::Command::Provision { draft, home }))
}
