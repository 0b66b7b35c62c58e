//! Suspends an account, or enables it again, beside running servers.

use super::account_change::{AccountChange, AccountChangeError, change_account};
use crate::{
    domain::{
        account::{AccountStatus, Command},
        session::{self, SESSIONS, Session},
        token_family::{self, FAMILIES, TokenFamily},
    },
    system::Workbench,
};

/// How many entries of a list are read at once.
const PAGE: u32 = 100;

/// What is to become of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspensionChange {
    Suspend,
    Enable,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspensionOutcome {
    /// The account's id.
    pub account: String,
    pub standing: AccountStatus,
    /// It was otherwise before.
    pub changed: bool,
}

/// Suspends or enables the account that has this address.
///
/// The one commit of the account ends everything that rests on it. What is ended one by one after it
/// is ended for the clients that are told, and for the lists that people look at.
pub async fn suspend(
    workbench: &Workbench,
    email: &str,
    suspending: SuspensionChange,
    reason: Option<&str>,
) -> Result<SuspensionOutcome, AccountChangeError> {
    let command = match suspending {
        SuspensionChange::Suspend => Command::Suspend,
        SuspensionChange::Enable => Command::Enable,
    };
    let AccountChange { before, after } =
        change_account(workbench, email, &command, reason).await?;
    let standing = after.standing();
    if standing == AccountStatus::Suspended {
        end_all(workbench, &after.id, reason).await?;
    }
    Ok(SuspensionOutcome { account: after.id, standing, changed: standing != before.standing() })
}

/// Ends what is listed. What cannot be ended now confers nothing, and expires.
async fn end_all(
    workbench: &Workbench,
    account: &str,
    reason: Option<&str>,
) -> Result<(), AccountChangeError> {
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
                    tracing::warn!(%error, "what has ended with its account was not ended by itself");
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
