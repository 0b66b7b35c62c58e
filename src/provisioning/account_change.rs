//! Has the account of an address decide one command, beside running servers.

use crate::{
    actors::HydrateError,
    domain::account::{Account, Command, EMAIL_ADDRESSES, Known, normalise_email},
    store::{CommitError, ReadError},
    system::Workbench,
};

/// How often it is tried while the account changes.
const TRIES: usize = 20;

/// An account before and after a command.
pub(super) struct AccountChange {
    pub(super) before: Known,
    pub(super) after: Known,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountChangeError {
    #[error("there is no account with this address")]
    NoSuchAccount,
    #[error("the account cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the address cannot be looked up")]
    Names(#[from] ReadError),
    #[error("the account keeps changing: try again")]
    Contended,
    #[error("nothing was changed")]
    NotCommitted(#[source] CommitError),
}

/// Changes the account that has this address, for a reason that the operator may give.
pub(super) async fn change_account(
    workbench: &Workbench,
    email: &str,
    command: &Command,
    reason: Option<&str>,
) -> Result<AccountChange, AccountChangeError> {
    const NONE: AccountChangeError = AccountChangeError::NoSuchAccount;
    let address = normalise_email(email).ok_or(NONE)?;
    for _ in 0..TRIES {
        let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
        let (_, id) = found.ok_or(NONE)?;
        let mut commit = workbench.multi_commit_because(reason);
        let before = commit.look::<Account>(&id).await?.known().cloned().ok_or(NONE)?;
        commit.decide::<Account>(&id, command).await?.map_err(|_| NONE)?;
        let after = commit.look::<Account>(&id).await?.known().cloned().ok_or(NONE)?;
        match commit.commit().await {
            Ok(()) => return Ok(AccountChange { before, after }),
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(error @ (CommitError::Unavailable | CommitError::Unknown)) => {
                return Err(AccountChangeError::NotCommitted(error));
            }
        }
    }
    Err(AccountChangeError::Contended)
}
