//! What of a backup is worth nothing any more, once it is put back (adr/0157).
//!
//! What was spent or revoked after a backup cannot be known from it. So everything ends that is good for one use or one
//! sign-in, in the copy, before any server sees it. Each kind of entity has its fate in [`FATES`].

use crate::{
    actors::{HydrateError, INSTALLATION, hydrate, hydrate_row},
    domain::{
        Context, Machine as _,
        access_token::AccessToken,
        account::{self, Account},
        account_alerts::AccountAlerts,
        agent_allowance::AgentAllowance,
        api_key::ApiKey,
        approval_block::ApprovalBlock,
        backchannel_request::BackchannelRequest,
        brand::logo::Logo,
        client::Client,
        client_assertion::ClientAssertion,
        connection::Connection,
        connection_trial::ConnectionTrial,
        consent::Consent,
        device_grant::DeviceGrant,
        domain_claim::DomainClaim,
        external_identity::ExternalIdentity,
        flow::Flow,
        installation::{self, INSTALLATION_ID, Installation, SelfService, restored},
        invitation::Invitation,
        membership::Membership,
        organization::Organization,
        pushed_request::PushedRequest,
        reserved_names::ReservedNames,
        resource::Resource,
        session::Session,
        signing_keys::{self, ObservedKey, PublicKey, SigningKeys},
        throttle::Throttle,
        token_family::TokenFamily,
        trail::Trail,
        upstream_session::UpstreamSession,
        webhook::{Webhook, feed::Feed},
    },
    store::{CommitError, ReadError},
    system::Workbench,
};
use std::{collections::BTreeMap, time::Duration};

/// What becomes of the entities of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Ends,
    /// It ends, unless the operator keeps sessions and token families.
    EndsUnlessKept,
    /// It is as old as the backup.
    Stays,
}

/// The fate of every kind.
pub const FATES: &[(&str, Fate)] = &[
    (Flow::KIND, Fate::Ends),
    (DeviceGrant::KIND, Fate::Ends),
    (BackchannelRequest::KIND, Fate::Ends),
    (Invitation::KIND, Fate::Ends),
    (ConnectionTrial::KIND, Fate::Ends),
    (Session::KIND, Fate::EndsUnlessKept),
    (UpstreamSession::KIND, Fate::EndsUnlessKept),
    // Where it is kept, a code that is not redeemed ends all the same.
    (TokenFamily::KIND, Fate::EndsUnlessKept),
    // What was spent or taken back until the backup: that must not be good again.
    (AccessToken::KIND, Fate::Stays),
    (ClientAssertion::KIND, Fate::Stays),
    (PushedRequest::KIND, Fate::Stays),
    (Throttle::KIND, Fate::Stays),
    // Its links and codes are voided one by one.
    (Account::KIND, Fate::Stays),
    (AccountAlerts::KIND, Fate::Stays),
    (AgentAllowance::KIND, Fate::Stays),
    (ApiKey::KIND, Fate::Stays),
    (ApprovalBlock::KIND, Fate::Stays),
    (Client::KIND, Fate::Stays),
    (Connection::KIND, Fate::Stays),
    (Consent::KIND, Fate::Stays),
    (DomainClaim::KIND, Fate::Stays),
    (ExternalIdentity::KIND, Fate::Stays),
    (Installation::KIND, Fate::Stays),
    (Logo::KIND, Fate::Stays),
    (Membership::KIND, Fate::Stays),
    (Organization::KIND, Fate::Stays),
    (ReservedNames::KIND, Fate::Stays),
    (Resource::KIND, Fate::Stays),
    (SigningKeys::KIND, Fate::Stays),
    (Trail::KIND, Fate::Stays),
    (Webhook::KIND, Fate::Stays),
    (Feed::KIND, Fate::Stays),
];

/// How many entities are read at once.
const PAGE: u32 = 500;

/// How many accounts one commit changes.
const TOGETHER: usize = 50;

/// What has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedCounts {
    /// How many entities of each kind.
    pub entities: BTreeMap<String, u64>,
    /// Accounts whose recovery links, or codes for another address, are void.
    pub accounts: u64,
}

/// Why a backup cannot be put back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(
        "the backup has entities of a kind that this binary does not know ({0}): use the binary \
         that wrote it, or a newer one"
    )]
    UnknownKind(String),
    #[error("the backup cannot be read")]
    Unreadable(#[from] ReadError),
    #[error("an entity cannot be read")]
    Entities(#[from] HydrateError),
    #[error(
        "a signing key that the replaced store knew as revoked signs in the backup, and the keys \
         folder has no other key of its algorithm: run `porteiro keys rotate`, and restore again"
    )]
    NoSuccessor,
    #[error("a key is not as it was published")]
    Key,
    #[error("the copy could not be changed")]
    NotCommitted(#[from] CommitError),
}

/// Tells the fate of a kind, if this binary knows it.
pub fn fate_of(kind: &str) -> Option<Fate> {
    FATES.iter().find(|(known, _)| *known == kind).map(|(_, fate)| *fate)
}

/// Ends in a copy what may have been spent or revoked since, and records that. A flow lives for `flow_lifetime`.
pub async fn end_what_may_be_spent(
    workbench: &Workbench,
    keeps_sessions: bool,
    flow_lifetime: Duration,
) -> Result<EndedCounts, RestoreError> {
    let mut ended = EndedCounts::default();
    for (kind, _) in workbench.store().kinds().await? {
        let fate = fate_of(&kind).ok_or_else(|| RestoreError::UnknownKind(kind.clone()))?;
        let codes_alone = match (fate, keeps_sessions) {
            (Fate::EndsUnlessKept, true) if kind == TokenFamily::KIND => true,
            (Fate::Stays, _) | (Fate::EndsUnlessKept, true) => continue,
            _ => false,
        };
        let count = end_kind(workbench, &kind, codes_alone).await?;
        ended.entities.insert(kind, count);
    }
    ended.accounts = void_what_is_out(workbench).await?;
    // A flow is sealed in its id, and would begin anew.
    let begun_by_now = workbench.clock().now() + flow_lifetime;
    ask_installation(workbench, installation::Command::EndFlows(begun_by_now)).await?;
    if !keeps_sessions {
        // No browser is remembered, as if its person had just proved a second factor there.
        ask_installation(workbench, installation::Command::EndAllSessions).await?;
    }
    let record = restored(&ended.entities, keeps_sessions).in_context(&Context::operator());
    let of = (Installation::KIND, INSTALLATION_ID);
    workbench.store().note(workbench.clock().now(), of, record).await?;
    Ok(ended)
}

/// Keeps closed what an operator had closed in the replaced store; returns that of it which was open in the backup.
pub async fn keep_closed(
    workbench: &Workbench,
    replaced: &Installation,
) -> Result<Vec<SelfService>, RestoreError> {
    let mut closed = Vec::new();
    for service in [SelfService::Registration, SelfService::SignUp] {
        let close = installation::Command::Close(service);
        if replaced.is_closed(service) && ask_installation(workbench, close).await?.changed {
            closed.push(service);
        }
    }
    Ok(closed)
}

async fn ask_installation(
    workbench: &Workbench,
    command: installation::Command,
) -> Result<installation::Reply, RestoreError> {
    let mut commit = workbench.multi_commit();
    let Ok(reply) = commit.decide::<Installation>(INSTALLATION_ID, &command).await?;
    commit.commit().await?;
    Ok(reply)
}

/// Ends the entities of a kind, or those token families alone whose code is not redeemed.
async fn end_kind(
    workbench: &Workbench,
    kind: &str,
    codes_alone: bool,
) -> Result<u64, RestoreError> {
    let (mut ended, mut after) = (0, String::new());
    loop {
        let page = workbench.store().of_kind(kind, &after, PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(ended) };
        after.clone_from(last);
        let mut ends = Vec::with_capacity(page.len());
        for (id, row) in page {
            let waits = || Ok::<_, HydrateError>(hydrate_row::<TokenFamily>(&id, &row)?.is_code());
            if !codes_alone || waits()? {
                ends.push((kind.to_owned(), id));
            }
        }
        ended += workbench.store().end_all(ends).await?;
    }
}

/// Voids the recovery links of accounts, and the codes that were sent to another address.
async fn void_what_is_out(workbench: &Workbench) -> Result<u64, RestoreError> {
    let (mut voided, mut after) = (0, String::new());
    loop {
        let page = workbench.store().of_kind(Account::KIND, &after, PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(voided) };
        after.clone_from(last);
        let mut out = Vec::new();
        for (id, row) in &page {
            let account = hydrate_row::<Account>(id, row)?;
            if account.known().is_some_and(account::Known::has_something_out) {
                out.push(id);
            }
        }
        for some in out.chunks(TOGETHER) {
            let mut commit = workbench.multi_commit();
            for id in some {
                let void = account::Command::VoidWhatIsOut;
                // One that is suspended has nothing out.
                voided += u64::from(commit.decide::<Account>(id, &void).await?.is_ok());
            }
            commit.commit().await?;
        }
    }
}

/// Has the keys stay revoked that the replaced store knew as revoked, and returns the ids of those that the backup did not
/// know so. `observed` are the keys of the folder.
pub async fn keep_revoked(
    workbench: &Workbench,
    replaced: &SigningKeys,
    observed: &[ObservedKey],
) -> Result<Vec<String>, RestoreError> {
    let present = hydrate::<SigningKeys>(workbench.store(), INSTALLATION).await?.machine;
    let is_news = |key: &&PublicKey| !present.revoked().any(|known| known.kid == key.kid);
    let keys: Vec<ObservedKey> = replaced.revoked().filter(is_news).map(observed_of).collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let kids: Vec<String> = keys.iter().map(|key| key.kid.clone()).collect();
    // A successor that the backup does not know may take over at once.
    let others = observed.iter().filter(|key| !kids.contains(&key.kid)).cloned().collect();
    let held = observed.iter().map(|key| key.kid.clone()).collect();
    let mut commit = workbench.multi_commit();
    for command in [
        signing_keys::Command::Observe { keys: others },
        signing_keys::Command::StayRevoked { keys, held },
    ] {
        let decided = commit.decide::<SigningKeys>(INSTALLATION, &command).await?;
        decided.map_err(|refusal| match refusal {
            signing_keys::Refusal::NoSuccessor => RestoreError::NoSuccessor,
            _ => RestoreError::Key,
        })?;
    }
    commit.commit().await?;
    Ok(kids)
}

fn observed_of(key: &PublicKey) -> ObservedKey {
    let PublicKey { kid, algorithm, public_jwk, .. } = key.clone();
    ObservedKey { kid, algorithm, public_jwk }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs, path::Path};

    /// Every kind that a machine of the domain has.
    fn kinds_in(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                kinds_in(&path, found);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let kinds = code.split("const KIND: &'static str = \"").skip(1);
            found.extend(kinds.map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }

    #[test]
    fn every_kind_of_entity_has_a_fate() {
        let mut found = BTreeSet::new();
        kinds_in(Path::new("src"), &mut found);
        let judged: BTreeSet<String> = FATES.iter().map(|(kind, _)| (*kind).to_owned()).collect();
        assert!(found.len() > 25, "{found:?}");
        assert_eq!(found, judged, "say in FATES what becomes of each kind of a backup");
        assert_eq!(judged.len(), FATES.len(), "a kind is judged twice");
    }
}
