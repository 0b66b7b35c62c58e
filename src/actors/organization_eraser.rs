//! Erases the organizations whose time has come, with what they own (adr/0136).
//!
//! 1. One node takes the lease of an organization by a commit, and prolongs it by every other one.
//! 2. What lets programs in ends first, then domains and connections with their identities, then the memberships with
//!    what was granted and consented to for the organization. Each is gone from its list when it has ended.
//! 3. The last commit erases the organization. Its slug stays.
//!
//! Where a node dies half way, the next one begins anew when the lease is over, and finds what is left.

use super::{
    RepeatedWork,
    batches::{BatchInterruption, Batches, Pages, read},
    eraser::is_due,
    services::Services,
};
use crate::{
    crypto::draw_text,
    domain::{
        Context, Fingerprint, Machine,
        api_key::{self, API_KEYS, ApiKey},
        brand::logo::{Keep, Logo},
        client::{self, Client, KEPT_AFTER_PERSON, ORGANIZATION_CLIENTS, Removal},
        connection::{self, CONNECTIONS, Connection},
        consent::{self, CONSENTS, Consent},
        domain_claim::{self, DOMAINS, DomainClaim},
        external_identity::{self, CONNECTION_IDENTITIES, Cause, ExternalIdentity},
        invitation::{self, INVITATIONS, Invitation},
        membership::{self, MEMBERS, Membership},
        organization::{Command, ORGANIZATION_DELETIONS, Organization},
        token_family::{self, FAMILIES, HELD_BY_OTHERS, TokenFamily},
        upstream_session::{self, UPSTREAM_SESSIONS, UpstreamSession},
        webhook::{self, WEBHOOKS, Webhook},
    },
    store::{CommitError, ListRow},
};
use std::{sync::Arc, time::Duration};

/// Organizations that are erased in one turn.
const BATCH: u32 = 20;

/// How often a node tries while other commits come between.
const TRIES: usize = 5;

/// Returns the work of the worker that erases organizations.
pub(super) fn erasing(services: Arc<Services>, every: Duration) -> RepeatedWork {
    let turn = move || -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        let services = services.clone();
        Box::pin(async move { erase_due(&services).await })
    };
    RepeatedWork { name: "organization eraser", every, turn: Arc::new(turn) }
}

async fn erase_due(services: &Arc<Services>) {
    let now = services.clock.now();
    let listed = services.store.list_for_worker(ORGANIZATION_DELETIONS, "", ("", ""), BATCH).await;
    let due = match listed {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "the organizations that are to be erased could not be listed");
            return;
        }
    };
    for ListRow { id, .. } in due.iter().take_while(|listed| is_due(listed, now)) {
        match erase(services, id).await {
            Ok(()) => tracing::info!(organization = id, "an organization was erased"),
            // Another node is at work.
            Err(
                BatchInterruption::NotDue | BatchInterruption::NotCommitted(CommitError::Conflict),
            ) => {}
            Err(error) => {
                tracing::warn!(%error, organization = id, "an organization could not be erased");
            }
        }
    }
}

async fn erase(services: &Arc<Services>, slug: &str) -> Result<(), BatchInterruption> {
    let mut lease = super::MultiCommit::new(services.clone(), Context::node());
    let begun = lease.decide::<Organization>(slug, &Command::BeginErasure).await?;
    begun.map_err(|_| BatchInterruption::NotDue)?;
    lease.commit().await?;
    for _ in 1..TRIES {
        match erase_leased(services, slug).await {
            // Something has ended by itself meanwhile: the rest is looked at anew.
            Err(BatchInterruption::NotCommitted(
                CommitError::Conflict | CommitError::Unmet { .. },
            )) => {}
            done => return done,
        }
    }
    erase_leased(services, slug).await
}

async fn erase_leased(services: &Arc<Services>, slug: &str) -> Result<(), BatchInterruption> {
    let batches = Batches::begin(services, slug, Some(Command::ContinueErasure)).await?;
    let mut erasure = Erasure { services, slug, batches };
    erasure.end_all::<ApiKey>(API_KEYS, &api_key::Command::Erase).await?;
    erasure.end_all::<Webhook>(WEBHOOKS, &webhook::Command::Erase).await?;
    erasure.end_all::<Invitation>(INVITATIONS, &invitation::Command::Withdraw).await?;
    let seal = Fingerprint::of(draw_text(&*services.dice, 32).as_bytes());
    let removal = Removal { by_operator: true, seal, kept_for: KEPT_AFTER_PERSON };
    erasure.end_all::<Client>(ORGANIZATION_CLIENTS, &client::Command::Remove(removal)).await?;
    erasure.end_all::<DomainClaim>(DOMAINS, &domain_claim::Command::Erase).await?;
    erasure.connections().await?;
    erasure.members().await?;
    erasure.batches.end::<Logo>(slug, &Keep(None)).await?;
    erasure.batches.finish(&Command::Erase).await
}

/// An organization that is being erased.
struct Erasure<'a> {
    services: &'a Arc<Services>,
    slug: &'a str,
    batches: Batches<'a, Organization>,
}

impl Erasure<'_> {
    /// Ends everything that is in a list of the organization's.
    async fn end_all<M: Machine>(
        &mut self,
        list: &'static str,
        command: &M::Command,
    ) -> Result<(), BatchInterruption> {
        self.batches.end_listed::<M>((list, self.slug), command).await
    }

    /// Removes the connections, and before each what rests on it.
    async fn connections(&mut self) -> Result<(), BatchInterruption> {
        let mut connections = Pages::of(self.services, CONNECTIONS, self.slug);
        loop {
            let page = connections.next().await?;
            if page.is_empty() {
                return Ok(());
            }
            for connection in &page {
                self.identities(&connection.id).await?;
                self.batches
                    .end::<Connection>(&connection.id, &connection::Command::Remove)
                    .await?;
            }
        }
    }

    async fn identities(&mut self, connection: &str) -> Result<(), BatchInterruption> {
        let unlink = external_identity::Command::Unlink { cause: Cause::OrganizationErasure };
        let mut identities = Pages::of(self.services, CONNECTION_IDENTITIES, connection);
        loop {
            let page = identities.next().await?;
            if page.is_empty() {
                return Ok(());
            }
            for identity in &page {
                let sessions = (UPSTREAM_SESSIONS, &*identity.id);
                let end = upstream_session::Command::End;
                self.batches.end_listed::<UpstreamSession>(sessions, &end).await?;
                self.batches.end::<ExternalIdentity>(&identity.id, &unlink).await?;
            }
        }
    }

    /// Removes the memberships, and before each what its person has granted for the organization.
    async fn members(&mut self) -> Result<(), BatchInterruption> {
        let mut members = Pages::of(self.services, MEMBERS, self.slug);
        loop {
            let page = members.next().await?;
            if page.is_empty() {
                return Ok(());
            }
            for entry in &page {
                let membership: Membership = read(entry)?;
                if let Some(known) = membership.known() {
                    self.granted(&known.account).await?;
                }
                self.batches.end::<Membership>(&entry.id, &membership::Command::Erase).await?;
            }
        }
    }

    /// Ends what an account has granted and consented to for this organization; what is for others stays.
    async fn granted(&mut self, account: &str) -> Result<(), BatchInterruption> {
        for list in [FAMILIES, HELD_BY_OTHERS, CONSENTS] {
            let mut pages = Pages::of(self.services, list, account);
            loop {
                let page = pages.next().await?;
                if page.is_empty() {
                    break;
                }
                for entry in &page {
                    self.end_grant(list, entry).await?;
                }
            }
        }
        Ok(())
    }

    async fn end_grant(&mut self, list: &str, entry: &ListRow) -> Result<(), BatchInterruption> {
        if list == CONSENTS {
            let Consent::Given { parties, .. } = read(entry)? else { return Ok(()) };
            if parties.organization.as_deref() == Some(self.slug) {
                let withdraw = consent::Command::Withdraw { parties };
                self.batches.end::<Consent>(&entry.id, &withdraw).await?;
            }
            return Ok(());
        }
        let family: TokenFamily = read(entry)?;
        let membership = family.grant().and_then(|grant| grant.membership.as_ref());
        if membership.is_some_and(|membership| membership.organization == self.slug) {
            self.batches.end::<TokenFamily>(&entry.id, &token_family::Command::End).await?;
        }
        Ok(())
    }
}
