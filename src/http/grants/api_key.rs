//! What an API key that a caller bears confers now: everything it rests on, read in one query (adr/0080).
//!
//! Whose key it is, where, and with which keys it was made never changes: a look that may be a second old
//! says what to ask for. The rest is taken as of the versions that the query has found.

use crate::{
    actors::{EntitySnapshot, HydrateError},
    crypto::read_api_key,
    domain::{
        Context, Machine as _,
        account::Account,
        api_key::{ApiKey, Backing, Command, Issuer, Key, Refusal},
        authority::Permissions,
        client::Client,
        membership::Membership,
        organization::{self, Organization},
    },
    http::{
        app::App,
        reading::{Dependencies, LivenessReading, Reading},
    },
    store::views::Liveness,
};
use std::sync::Arc;

/// A key that is good now.
pub struct LiveKey {
    pub key: Key,
    /// What it may do in its organization.
    pub permissions: Permissions,
    /// What a change must require that is made by the key.
    pub dependencies: Dependencies,
    /// This use is one to be noted.
    pub use_is_due: bool,
    home: Arc<EntitySnapshot<Organization>>,
}

impl LiveKey {
    /// The organization it acts in, as it is now.
    pub fn home(&self) -> Option<&organization::Known> {
        self.home.machine.known()
    }
}

/// What became of a key that was presented.
pub enum KeyLookup {
    Good(Box<LiveKey>),
    /// The key is good, but its organization is suspended.
    Suspended,
    /// It is no key of ours, it has ended, or its issuer does not hold what it permits.
    Nothing,
}

/// Notes that a key was used, if it is time. The answer does not wait for it: if it fails, the next use is
/// noted.
pub fn note_use(app: &App, context: &Context, live: &LiveKey) {
    if live.use_is_due {
        app.entities.api_keys.tell(context, &live.key.id, Command::Use);
    }
}

/// Finds what the key of this text confers; the caller notes that it is used.
///
/// What is named `beside` is read in the same query; its standing is returned in that order, and only
/// where the key is good.
pub async fn find(
    app: &App,
    text: &str,
    beside: &[(&'static str, &str)],
) -> Result<(KeyLookup, Vec<Option<Liveness>>), HydrateError> {
    const NOTHING: (KeyLookup, Vec<Option<Liveness>>) = (KeyLookup::Nothing, Vec::new());
    let Some(presented) = read_api_key(text) else { return Ok(NOTHING) };
    let seen = app.views.api_keys.look(&presented.id).await?;
    let Some(key) = seen.machine.known() else { return Ok(NOTHING) };
    let mut asked: Vec<(&'static str, &str)> =
        Vec::with_capacity(5 + key.parents.len() + beside.len());
    asked.extend([(Organization::KIND, &*key.organization), (ApiKey::KIND, &*presented.id)]);
    match &key.issuer {
        Issuer::Operator => {}
        Issuer::Membership { id, account } => {
            asked.extend([(Membership::KIND, &**id), (Account::KIND, &**account)]);
        }
        Issuer::Client { client_id } => asked.push((Client::KIND, client_id)),
    }
    asked.extend(key.parents.iter().map(|parent| (ApiKey::KIND, &**parent)));
    let own = asked.len();
    asked.extend_from_slice(beside);
    let mut found = app.store.liveness(&asked).await?;
    let (beside, now) = (found.split_off(own), app.clock.now());
    // Of the organization it is told apart whether it is suspended.
    if !found[1..].iter().all(|one| one.is_some_and(|one| one.is_live(now))) {
        return Ok(NOTHING);
    }
    let standing = LivenessReading { asked: &asked[..own], found: &found };
    let reading = Reading::At(&standing);
    let seen = reading.see(&app.views.api_keys, &presented.id).await?;
    let Some(key) = seen.machine.opened_by(presented.secret, now) else { return Ok(NOTHING) };
    let home = reading.see(&app.views.organizations, &key.organization).await?;
    let Some(known) = home.machine.known() else { return Ok(NOTHING) };
    let Some(backing) = backing(app, key, reading).await? else { return Ok(NOTHING) };
    match key.confers(known, &backing) {
        Ok(permissions) => {
            let (dependencies, use_is_due) = (standing.dependencies(), key.use_is_due(now));
            let key = key.clone();
            let live = LiveKey { key, permissions, dependencies, use_is_due, home };
            Ok((KeyLookup::Good(Box::new(live)), beside))
        }
        Err(Refusal::Suspended(_)) => Ok((KeyLookup::Suspended, Vec::new())),
        Err(_) => Ok(NOTHING),
    }
}

/// Reads the issuer of a key.
pub async fn backing(
    app: &App,
    key: &Key,
    reading: Reading<'_>,
) -> Result<Option<Backing>, HydrateError> {
    Ok(match &key.issuer {
        Issuer::Operator => Some(Backing::Operator),
        Issuer::Membership { id, account } => {
            let member = reading.see(&app.views.memberships, id).await?;
            let account = reading.see(&app.views.accounts, account).await?;
            let both = member.machine.known().zip(account.machine.known());
            both.map(|(member, account)| Backing::Membership {
                member: Box::new(member.clone()),
                account_epoch: account.epoch,
            })
        }
        Issuer::Client { client_id } => {
            let seen = reading.see(&app.views.clients, client_id).await?;
            seen.machine.known().map(|client| Backing::Client(Box::new(client.clone())))
        }
    })
}
