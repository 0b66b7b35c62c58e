//! Has the account of an address decide one command, beside running servers.

use crate::{
    actors::{HydrateError, MultiCommit},
    domain::account::{Account, Command, EMAIL_ADDRESSES, Known, normalise_email},
    store::{CommitError, ReadError},
    system::{Workbench, commit_failure},
};

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

commit_failure!(AccountChangeError);

/// Changes the account that has this address, for a reason that the operator may give.
pub(super) async fn change_account(
    workbench: &Workbench,
    email: &str,
    command: &Command,
    reason: Option<&str>,
) -> Result<AccountChange, AccountChangeError> {
    const NONE: AccountChangeError = AccountChangeError::NoSuchAccount;
    let address = normalise_email(email).ok_or(NONE)?;
    let decide = async |commit: &mut MultiCommit| {
        let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
        let (_, id) = found.ok_or(NONE)?;
        let before = commit.look::<Account>(&id).await?.known().cloned().ok_or(NONE)?;
        commit.decide::<Account>(&id, command).await?.map_err(|_| NONE)?;
        let after = commit.look::<Account>(&id).await?.known().cloned().ok_or(NONE)?;
        Ok(AccountChange { before, after })
    };
    workbench.retrying(reason, decide).await
}
