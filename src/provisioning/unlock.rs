//! Clears what failed attempts hold against an account, beside running servers.

use crate::{
    actors::{HydrateError, MultiCommit},
    domain::{
        Machine as _,
        account::{Account, EMAIL_ADDRESSES, normalise_email},
        throttle::{Command, Throttle, held_against},
    },
    store::{CommitError, ReadError},
    system::{Workbench, commit_failure},
};

/// What was cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlockOutcome {
    /// The account's id.
    pub account: String,
    /// What was charged: authenticators, messages, user codes.
    pub authenticators: Vec<&'static str>,
}

/// Why nothing was cleared.
#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    #[error("there is no account with this address")]
    NoSuchAccount,
    #[error("the account cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the address cannot be looked up")]
    Names(#[from] ReadError),
    #[error("attempts keep being made: try again")]
    Contended,
    #[error("nothing was cleared")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(UnlockError);

/// Clears every throttle of the account that has this address.
pub async fn unlock(workbench: &Workbench, email: &str) -> Result<UnlockOutcome, UnlockError> {
    let address = normalise_email(email).ok_or(UnlockError::NoSuchAccount)?;
    let decide = async |multi_commit: &mut MultiCommit| {
        let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
        let (_, id) = found.ok_or(UnlockError::NoSuchAccount)?;
        let account = multi_commit.look::<Account>(&id).await?.known();
        let charged = account.map(held_against).ok_or(UnlockError::NoSuchAccount)?;
        let mut authenticators = Vec::new();
        for (authenticator, identifier) in charged {
            let parts = [authenticator, identifier.as_str()];
            let throttle = workbench.pseudonyms().name(Throttle::KIND, &parts);
            let command = Command::Unlock { account: id.clone(), authenticator };
            if let Ok(1..) = multi_commit.decide::<Throttle>(&throttle, &command).await? {
                authenticators.push(authenticator);
            }
        }
        Ok(UnlockOutcome { account: id, authenticators })
    };
    workbench.retrying(None, decide).await
}
