//! Looks again and again whether the records of verified domains are there (adr/0131).
//!
//! 1. The domains whose check is due are read off a list that is ordered by time.
//! 2. Each is put off to its next check by a commit: of several nodes that see it one asks DNS.
//! 3. What DNS says is committed, where it changes something.

use super::{
    HydrateError, MultiCommit, domain_records::DomainRecords, hydrate::parse, services::Services,
};
use crate::{
    domain::{
        Context, Timestamp,
        domain_claim::{Command, DOMAIN_CHECKS, DomainClaim, Finding, Known, Refusal},
    },
    store::{CommitError, ListRow},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

/// How many are looked at in one sweep, and for how many DNS is asked at once.
const BATCH: u32 = 64;
const AT_ONCE: usize = 8;

pub(super) struct DomainChecks;

pub(super) struct ChecksState {
    services: Arc<Services>,
    records: DomainRecords,
    every: Duration,
}

/// Time to look for checks that are due.
pub(super) struct Sweep;

/// Why a check came to nothing.
#[derive(Debug, thiserror::Error)]
enum DomainCheckError {
    #[error("the domain cannot be read")]
    Unreadable(#[from] HydrateError),
    #[error("it was not committed")]
    NotCommitted(#[source] CommitError),
    /// Another node has begun it, or the domain was removed.
    #[error("it is not due any more")]
    NotDue,
}

impl Actor for DomainChecks {
    type Msg = Sweep;
    type State = ChecksState;
    type Arguments = (Arc<Services>, DomainRecords, Duration);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (services, records, every): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.send_after(every, || Sweep));
        Ok(ChecksState { services, records, every })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        Sweep: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.sweep().await;
        drop(myself.send_after(state.every, || Sweep));
        Ok(())
    }
}

impl ChecksState {
    async fn sweep(&self) {
        let (store, now) = (&self.services.store, self.services.clock.now());
        let page = match store.list_for_worker(DOMAIN_CHECKS, "", ("", ""), BATCH).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "the domains that are to be checked could not be listed");
                return;
            }
        };
        let is_due = |listed: &ListRow| {
            listed.rank.parse().is_ok_and(|at: i64| Timestamp::from_millis(at) <= now)
        };
        let mut under_way = JoinSet::new();
        for listed in page.into_iter().take_while(is_due) {
            if under_way.len() == AT_ONCE {
                under_way.join_next().await;
            }
            let (services, records) = (self.services.clone(), self.records.clone());
            under_way.spawn(async move {
                match check(&services, &records, &listed).await {
                    Ok(()) | Err(DomainCheckError::NotDue) => {}
                    Err(error) => {
                        tracing::warn!(%error, domain = listed.id, "a domain could not be checked");
                    }
                }
            });
        }
        while under_way.join_next().await.is_some() {}
    }
}

async fn check(
    services: &Arc<Services>,
    records: &DomainRecords,
    listed: &ListRow,
) -> Result<(), DomainCheckError> {
    let seen = parse::<DomainClaim>(&listed.id, &listed.row)?.machine;
    let claim: &Known = seen.known().ok_or(DomainCheckError::NotDue)?;
    decide(services, &claim.id, &Command::BeginCheck).await?;
    let finding = records.find(claim).await;
    if finding != Finding::Found {
        let (domain, id) = (claim.domain.as_str(), &claim.id);
        tracing::info!(?finding, domain, id, "the record of a domain was not found");
    }
    decide(services, &claim.id, &Command::Checked(finding)).await
}

/// Decides, and again where another commit came between.
async fn decide(
    services: &Arc<Services>,
    id: &str,
    command: &Command,
) -> Result<(), DomainCheckError> {
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        let mut commit = MultiCommit::new(services.clone(), Context::node());
        match commit.decide::<DomainClaim>(id, command).await? {
            Ok(()) => {}
            Err(Refusal::NotDue) => return Err(DomainCheckError::NotDue),
            // Nothing else refuses a check.
            Err(_) => return Ok(()),
        }
        match commit.commit().await {
            Ok(()) => return Ok(()),
            Err(CommitError::Conflict) => {}
            Err(error) => return Err(DomainCheckError::NotCommitted(error)),
        }
    }
    Err(DomainCheckError::NotCommitted(CommitError::Conflict))
}
