//! Suspends an account, or enables it again, beside running servers.

use crate::{
    actors::HydrateError,
    domain::{
        account::{Account, Command, EMAIL_ADDRESSES, Standing, normalise_email},
        session::{self, SESSIONS, Session},
        token_family::{self, FAMILIES, TokenFamily},
    },
    store::{CommitError, ReadError},
    system::Workbench,
};

/// How often it is tried while the account changes.
const TRIES: usize = 20;

/// How many entries of a list are read at once.
const PAGE: u32 = 100;

/// What is to become of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspending {
    Suspend,
    Enable,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// The account's id.
    pub account: String,
    pub standing: Standing,
    /// It was otherwise before.
    pub changed: bool,
}

/// Why nothing happened.
#[derive(Debug, thiserror::Error)]
pub enum SuspendError {
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

/// Suspends or enables the account that has this address.
///
/// The one commit of the account ends everything that rests on it. What is ended one by one after it
/// is ended for the clients that are told, and for the lists that people look at.
pub async fn suspend(
    workbench: &Workbench,
    email: &str,
    suspending: Suspending,
    reason: Option<&str>,
) -> Result<Suspended, SuspendError> {
    let address = normalise_email(email).ok_or(SuspendError::NoSuchAccount)?;
    let command = match suspending {
        Suspending::Suspend => Command::Suspend,
        Suspending::Enable => Command::Enable,
    };
    for _ in 0..TRIES {
        let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
        let (_, account) = found.ok_or(SuspendError::NoSuchAccount)?;
        let mut commit = workbench.multi_commit_because(reason);
        let before = standing(commit.look::<Account>(&account).await?)?;
        let decided = commit.decide::<Account>(&account, &command).await?;
        decided.map_err(|_| SuspendError::NoSuchAccount)?;
        let standing = standing(commit.look::<Account>(&account).await?)?;
        match commit.commit().await {
            Ok(()) => {
                if standing == Standing::Suspended {
                    end_all(workbench, &account, reason).await?;
                }
                return Ok(Suspended { account, standing, changed: standing != before });
            }
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(error @ (CommitError::Unavailable | CommitError::Unknown)) => {
                return Err(SuspendError::NotCommitted(error));
            }
        }
    }
    Err(SuspendError::Contended)
}

fn standing(account: &Account) -> Result<Standing, SuspendError> {
    let known = account.known().ok_or(SuspendError::NoSuchAccount)?;
    Ok(known.standing())
}

/// Ends what is listed. What cannot be ended now confers nothing, and expires.
async fn end_all(
    workbench: &Workbench,
    account: &str,
    reason: Option<&str>,
) -> Result<(), SuspendError> {
    for list in [SESSIONS, FAMILIES] {
        let mut after = (String::new(), String::new());
        loop {
            let from = (after.0.as_str(), after.1.as_str());
            let page = workbench.store().list(list, account, from, PAGE).await?;
            for listed in &page {
                let mut commit = workbench.multi_commit_because(reason);
                if list == SESSIONS {
                    let _gone =
                        commit.decide::<Session>(&listed.id, &session::Command::End).await?;
                } else {
                    let end = token_family::Command::End;
                    let _gone = commit.decide::<TokenFamily>(&listed.id, &end).await?;
                }
                if let Err(error) = commit.commit().await {
                    tracing::warn!(%error, "what rests on a suspended account was not ended");
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => {
                    after = (last.rank.clone(), last.id.clone());
                }
                _ => break,
            }
        }
    }
    Ok(())
}
