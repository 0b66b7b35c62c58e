//! What accounts begin with: made once, however often the file is planned.

use super::{
    accounts::{PasswordEntry, Person},
    apply::ApplyError,
    lines::Declaration,
    progress::Progress,
};
use crate::{
    actors::hashing::{HashingError, HashingOptions, HashingPool},
    crypto::{draw, draw_uuid},
    domain::{
        Secret,
        account::{Draft, PasswordHash, SealedSecret},
        password::Password,
    },
    system::Workbench,
};
use std::{collections::HashMap, sync::Arc};
use tokio::task::JoinSet;

/// What the vault seals the secrets of authenticator apps for; the context is the account's id.
const TOTP_PURPOSE: &str = "totp";

/// The ids and credentials of accounts that are to be created, by address.
pub(super) struct Beginnings<'a> {
    workbench: &'a Workbench,
    ids: HashMap<&'a str, String>,
    hashes: HashMap<&'a str, PasswordHash>,
}

impl<'a> Beginnings<'a> {
    pub(super) fn new(workbench: &'a Workbench) -> Self {
        Self { workbench, ids: HashMap::new(), hashes: HashMap::new() }
    }

    /// Returns what an account will be known by, if it is created.
    pub(super) fn id(&mut self, person: &'a Person) -> &str {
        self.ids.entry(&person.address).or_insert_with(|| draw_uuid(self.workbench.dice()))
    }

    /// Returns the draft of an account that is created, with everything it begins with; the
    /// password is there once it was hashed.
    pub(super) fn draft(&mut self, person: &'a Person) -> Draft {
        let id = self.id(person).to_owned();
        let password = match &person.password {
            Some(PasswordEntry::Hashed(phc)) => Some(phc.clone()),
            Some(PasswordEntry::Clear(_)) => self.hashes.get(&*person.address).cloned(),
            None => None,
        };
        let seal = |secret: &Secret| {
            let (vault, dice) = (self.workbench.vault(), self.workbench.dice());
            let sealed = vault.seal(TOTP_PURPOSE, id.as_bytes(), secret.expose(), dice);
            SealedSecret::new(sealed)
        };
        let totp = person.totp_secret.as_ref().map(seal);
        Draft { id, password, totp, ..person.draft.clone() }
    }

    /// Hashes the passwords of these people, unless they have been already.
    pub(super) async fn hash(
        &mut self,
        newborn: &[&'a Declaration<Person>],
        progress: &mut Progress<'_>,
    ) -> Result<(), ApplyError> {
        let mut wanted = Vec::new();
        for Declaration { draft: person, .. } in newborn {
            match &person.password {
                Some(PasswordEntry::Clear(password))
                    if !self.hashes.contains_key(&*person.address) =>
                {
                    wanted.push((person.address.as_str(), password));
                }
                _ => progress.advance(),
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let cost = self.workbench.password_cost();
        let options = HashingOptions { cost, waiting: 0, ..HashingOptions::default() };
        let pool = Arc::new(HashingPool::start(options).map_err(ApplyError::NoThreads)?);
        let mut jobs = Jobs { pool: pool.clone(), lanes: options.workers, running: JoinSet::new() };
        let outcome = self.hash_by(&mut jobs, &wanted, progress).await;
        pool.stop().await;
        Ok(outcome?)
    }

    async fn hash_by(
        &mut self,
        jobs: &mut Jobs,
        wanted: &[(&'a str, &'a Password)],
        progress: &mut Progress<'_>,
    ) -> Result<(), HashingError> {
        let mut waiting = wanted.iter().enumerate();
        loop {
            if jobs.running.len() < jobs.lanes
                && let Some((place, (_, password))) = waiting.next()
            {
                jobs.begin(place, (*password).clone(), draw(self.workbench.dice()));
                continue;
            }
            let Some(done) = jobs.running.join_next().await else { return Ok(()) };
            // The pool catches what panics; a task is never aborted here.
            let (place, phc) = done.map_err(|_| HashingError::Failed)?;
            self.hashes.insert(wanted[place].0, PasswordHash::new(phc?));
            progress.advance();
        }
    }
}

/// As many jobs under way as the pool has threads.
struct Jobs {
    pool: Arc<HashingPool>,
    lanes: usize,
    running: JoinSet<(usize, Result<String, HashingError>)>,
}

impl Jobs {
    fn begin(&mut self, place: usize, password: Password, salt: [u8; 16]) {
        let pool = self.pool.clone();
        self.running.spawn(async move { (place, pool.hash(password, salt).await) });
    }
}
