//! Gives `organizations:administer` to an account, or takes it away, beside running servers.
//!
//! The command of an operator is the only way to that permission (contract section 5).

use super::account_change::{AccountChange, AccountChangeError, change_account};
use crate::{
    domain::{account::Command, authority::ADMINISTER},
    system::Workbench,
};

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
    #[error("only {ADMINISTER} is given to accounts: other permissions are in roles")]
    OtherPermission,
    #[error(transparent)]
    NotChanged(#[from] AccountChangeError),
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
    let command = Command::SetAdministration(given);
    let AccountChange { before, after } = change_account(workbench, email, &command, None).await?;
    let changed = before.administers != after.administers;
    Ok(Administration { account: after.id, changed })
}
