//! Ends sessions and grants of people, beside running servers: of an account, in an organization, of everyone (adr/0140).
//!
//! One commit ends all of them, however many there are: it moves a number on that each of them names. They are counted
//! after it, by what was true before it.

mod survey;

pub use survey::{ClientHoldings, client_holdings};

use super::{lists::Entries, organization_changes::OrganizationError};
use crate::{
    actors::{HydrateError, MultiCommit, hydrate},
    domain::{
        Timestamp,
        account::{self, Account, EMAIL_ADDRESSES, normalise_email},
        installation::{self, INSTALLATION_ID, Installation, SelfService, SignOuts},
        logout::SessionEnded,
        organization::{self, Organization},
        session::{SESSIONS, Session},
    },
    store::{CommitError, ReadError},
    system::{Workbench, commit_failure},
};
use survey::Survey;

/// Whose sessions end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignOutScope<'a> {
    /// Of the account that has this address.
    Account(&'a str),
    /// Of the people of the organization with this slug, in it alone.
    Organization(&'a str),
    Everyone,
}

/// How many messages to clients the commit of an account leaves at most.
const MOST_LOGOUT_MESSAGES: usize = 5_000;

/// How many rows end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignOutCount {
    /// Of an organization: those that confer nothing there any more.
    pub sessions: u64,
    pub families: u64,
}

/// Why nothing ended, or is not known how much.
#[derive(Debug, thiserror::Error)]
pub enum SignOutError {
    #[error("there is no account with this address")]
    NoSuchAccount,
    #[error(transparent)]
    Organization(#[from] OrganizationError),
    #[error("something cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the address cannot be looked up")]
    Names(#[from] ReadError),
    #[error("the sessions have ended, but could not be counted")]
    NotCounted(#[source] HydrateError),
    #[error("others keep doing the same: try again")]
    Contended,
    #[error("nothing has ended")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(SignOutError);

/// Counts what would end, and changes nothing.
pub async fn count_sign_out(
    workbench: &Workbench,
    scope: SignOutScope<'_>,
) -> Result<SignOutCount, SignOutError> {
    let mut survey = Survey::begin(workbench).await?;
    Ok(match scope {
        SignOutScope::Account(email) => {
            let address = normalise_email(email).ok_or(SignOutError::NoSuchAccount)?;
            let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
            let (_, id) = found.ok_or(SignOutError::NoSuchAccount)?;
            let account = hydrate::<Account>(workbench.store(), &id).await?;
            let known = account.machine.known().ok_or(SignOutError::NoSuchAccount)?;
            survey.of_account(known).await?
        }
        SignOutScope::Organization(slug) => {
            let home = super::organization(workbench, slug).await?;
            survey.of_organization(home).await?
        }
        SignOutScope::Everyone => survey.of_everyone().await?,
    })
}

/// Ends them, and counts what has ended.
pub async fn sign_out(
    workbench: &Workbench,
    scope: SignOutScope<'_>,
    reason: &str,
) -> Result<SignOutCount, SignOutError> {
    // What counted until now.
    let mut survey = Survey::begin(workbench).await?;
    match scope {
        SignOutScope::Account(email) => {
            let before = sign_out_account(workbench, email, reason).await?;
            survey.of_account(&before).await
        }
        SignOutScope::Organization(slug) => {
            let home = sign_out_of(workbench, slug, reason).await?;
            survey.of_organization(home).await
        }
        SignOutScope::Everyone => {
            let end = installation::Command::EndAllSessions;
            command(workbench, end, reason).await?;
            survey.of_everyone().await
        }
    }
    .map_err(SignOutError::NotCounted)
}

/// Ends what the account of an address is signed in by, and tells the clients that want to hear of it, in one commit; returns
/// the account as it was before.
async fn sign_out_account(
    workbench: &Workbench,
    email: &str,
    reason: &str,
) -> Result<account::Known, SignOutError> {
    let decide = async |commit: &mut MultiCommit| {
        let address = normalise_email(email).ok_or(SignOutError::NoSuchAccount)?;
        let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
        let (_, id) = found.ok_or(SignOutError::NoSuchAccount)?;
        let installation = commit.look::<Installation>(INSTALLATION_ID).await?.sign_outs();
        let before = commit.look::<Account>(&id).await?.known().cloned();
        let before = before.ok_or(SignOutError::NoSuchAccount)?;
        let told = logout_messages(workbench, &before, installation, commit.at()).await?;
        let end = account::Command::EndSessions { told };
        let decided = commit.decide::<Account>(&id, &end).await?;
        decided.map_err(|_| SignOutError::NoSuchAccount)?;
        Ok::<_, SignOutError>(before)
    };
    workbench.retrying(Some(reason), decide).await
}

/// Returns what clients are told of the open sessions of an account, the newest session first. One of which no client is
/// told any more has ended all the same.
async fn logout_messages(
    workbench: &Workbench,
    known: &account::Known,
    sign_outs: SignOuts,
    now: Timestamp,
) -> Result<Vec<SessionEnded>, HydrateError> {
    let mut told = Vec::new();
    let mut sessions = Entries::<Session>::of(workbench, SESSIONS, &known.id);
    while let Some((_, session)) = sessions.next().await? {
        let open = session.owned_by(&known.id, now);
        let open = open.filter(|open| known.honours(open.epoch(), sign_outs, now));
        told.extend(open.into_iter().flat_map(|open| open.logout_messages().collect::<Vec<_>>()));
        if told.len() >= MOST_LOGOUT_MESSAGES {
            tracing::warn!(
                account = known.id,
                "more clients than are told of the end of a session"
            );
            break;
        }
    }
    Ok(told)
}

/// Signs the people of an organization out of it; returns it as it was before.
async fn sign_out_of(
    workbench: &Workbench,
    slug: &str,
    reason: &str,
) -> Result<organization::Known, SignOutError> {
    let decide = async |commit: &mut MultiCommit| {
        let missing = || OrganizationError::NoSuchOrganization(slug.to_owned());
        let before = commit.look::<Organization>(slug).await?.known().cloned();
        let before = before.ok_or_else(missing)?;
        let number = installation::Command::NumberSignOut;
        let Ok(numbered) = commit.decide::<Installation>(INSTALLATION_ID, &number).await?;
        let end = organization::Command::EndSessions { number: numbered.sign_outs };
        let decided = commit.decide::<Organization>(slug, &end).await?;
        decided.map_err(OrganizationError::Refused)?;
        Ok::<_, SignOutError>(before)
    };
    workbench.retrying(Some(reason), decide).await
}

/// Has the installation decide, for a reason.
async fn command(
    workbench: &Workbench,
    command: installation::Command,
    reason: &str,
) -> Result<installation::Reply, SignOutError> {
    let decide = async |commit: &mut MultiCommit| {
        let Ok(reply) = commit.decide::<Installation>(INSTALLATION_ID, &command).await?;
        Ok::<_, SignOutError>(reply)
    };
    workbench.retrying(Some(reason), decide).await
}

/// Closes what strangers may do by themselves, or gives the word back to the configuration; tells whether it was
/// otherwise before.
pub async fn set_self_service(
    workbench: &Workbench,
    service: SelfService,
    closed: bool,
    reason: &str,
) -> Result<bool, SignOutError> {
    let set = if closed { installation::Command::Close } else { installation::Command::Open };
    Ok(command(workbench, set(service), reason).await?.changed)
}

/// Tells whether an operator has closed it.
pub async fn is_closed(workbench: &Workbench, service: SelfService) -> Result<bool, HydrateError> {
    let read = hydrate::<Installation>(workbench.store(), INSTALLATION_ID).await?;
    Ok(read.machine.is_closed(service))
}
