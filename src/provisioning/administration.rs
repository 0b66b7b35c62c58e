//! Gives `organizations:administer` to an account, or takes it away, beside running servers.
//!
//! The command of an operator is the only way to that permission (contract section 5).

use crate::{
    actors::HydrateError,
    domain::{
        account::{Account, Command, EMAIL_ADDRESSES, normalise_email},
        authority::ADMINISTER,
    },
    store::{CommitError, ReadError},
    system::Workbench,
};

/// How often it is tried while the account changes.
const TRIES: usize = 20;

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Administration {
    /// The account's id.
    pub account: String,
    /// It was not so before.
    pub changed: bool,
}

/// Why nothing was given or taken.
#[derive(Debug, thiserror::Error)]
pub enum AdministrationError {
    #[error("there is no account with this address")]
    NoSuchAccount,
    #[error("only {ADMINISTER} is given to accounts: other permissions are in roles")]
    OtherPermission,
    #[error("the account cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the address cannot be looked up")]
    Names(#[from] ReadError),
    #[error("the account keeps changing: try again")]
    Contended,
    #[error("nothing was changed")]
    NotCommitted(#[source] CommitError),
}

/// Gives the permission to the account with this address, or takes it away.
pub async fn administration(
    workbench: &Workbench,
    email: &str,
    permission: &str,
    given: bool,
) -> Result<Administration, AdministrationError> {
    if permission != ADMINISTER {
        return Err(AdministrationError::OtherPermission);
    }
    let address = normalise_email(email).ok_or(AdministrationError::NoSuchAccount)?;
    for _ in 0..TRIES {
        let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
        let (_, id) = found.ok_or(AdministrationError::NoSuchAccount)?;
        let mut multi_commit = workbench.multi_commit();
        let before = multi_commit.look::<Account>(&id).await?.known().cloned();
        let before = before.ok_or(AdministrationError::NoSuchAccount)?;
        let command = Command::SetAdministration(given);
        let decided = multi_commit.decide::<Account>(&id, &command).await?;
        decided.map_err(|_| AdministrationError::NoSuchAccount)?;
        match multi_commit.commit().await {
            Ok(()) => {
                let changed = before.administers != given;
                return Ok(Administration { account: id, changed });
            }
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(error @ (CommitError::Unavailable | CommitError::Unknown)) => {
                return Err(AdministrationError::NotCommitted(error));
            }
        }
    }
    Err(AdministrationError::Contended)
}
