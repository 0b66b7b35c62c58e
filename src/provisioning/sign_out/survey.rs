//! Counts the sessions and grants of people that are good, in pages: there may be many.

use super::SignOutCount;
use crate::{
    actors::{HydrateError, ListEntry, hydrate, hydrate_page_of_all},
    domain::{
        Machine as _, Timestamp,
        account::{ACCOUNTS, Account, Known},
        api_key::{API_KEYS, ApiKey, Issuer},
        client::Client,
        connection::Connection,
        consent::Consent,
        grant::{Grant, MembershipRef},
        installation::{INSTALLATION_ID, Installation, SignOuts},
        membership::{MEMBERS, Membership},
        organization::{self, Organization},
        session::{SESSIONS, Session},
        token_family::{FAMILIES, HELD_BY_OTHERS, TokenFamily},
    },
    provisioning::lists::Entries,
    store::Store,
    system::Workbench,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// How many entries are read at once.
const PAGE: u32 = 500;

/// The lists of what people have granted.
const GRANTED: [&str; 2] = [FAMILIES, HELD_BY_OTHERS];

/// A count of what is good, by what was read first.
pub(super) struct Survey<'a> {
    store: &'a Store,
    sign_outs: SignOuts,
    now: Timestamp,
    /// The epochs of clients that were met.
    clients: HashMap<String, u64>,
    /// The organizations that were met; none where there is none, or it is suspended.
    homes: HashMap<String, Option<Arc<organization::Known>>>,
}

/// What a client holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientHoldings {
    pub families: u64,
    /// Keys that rest on the client: they confer nothing while it is suspended.
    pub api_keys: u64,
}

/// Counts what a client holds that is good.
pub async fn client_holdings(
    workbench: &Workbench,
    client_id: &str,
) -> Result<ClientHoldings, HydrateError> {
    let mut survey = Survey::begin(workbench).await?;
    let families = survey.families(|grant| grant.clients().any(|one| one == client_id)).await?;
    let (mut api_keys, mut keys) = (0, Pages::<ApiKey>::of(survey.store, API_KEYS));
    while let Some((_, key)) = keys.next().await? {
        let active = key.machine.known().filter(|_| key.machine.revoked_at().is_none());
        let is_its =
            |issuer: &Issuer| matches!(issuer, Issuer::Client { client_id: id } if id == client_id);
        api_keys += u64::from(active.is_some_and(|key| is_its(&key.issuer)));
    }
    Ok(ClientHoldings { families, api_keys })
}

impl<'a> Survey<'a> {
    pub(super) async fn begin(workbench: &'a Workbench) -> Result<Self, HydrateError> {
        let store = workbench.store();
        let installation = hydrate::<Installation>(store, INSTALLATION_ID).await?;
        let (sign_outs, now) = (installation.machine.sign_outs(), workbench.clock().now());
        Ok(Self { store, sign_outs, now, clients: HashMap::new(), homes: HashMap::new() })
    }

    pub(super) async fn of_account(&mut self, known: &Known) -> Result<SignOutCount, HydrateError> {
        let mut count = SignOutCount::default();
        let mut sessions = Entries::<Session>::in_store(self.store, SESSIONS, &known.id);
        while let Some((_, session)) = sessions.next().await? {
            count.sessions += u64::from(self.is_open(&session, known));
        }
        for list in GRANTED {
            let mut families = Entries::<TokenFamily>::in_store(self.store, list, &known.id);
            while let Some((_, family)) = families.next().await? {
                count.families += u64::from(self.is_good(&family, known, |_| true).await?);
            }
        }
        Ok(count)
    }

    /// Counts what people have granted there, and their sessions in which enough was proved to speak for it: those of its
    /// members, and of the administrators of all organizations (adr/0079).
    pub(super) async fn of_organization(
        &mut self,
        home: organization::Known,
    ) -> Result<SignOutCount, HydrateError> {
        let home = Arc::new(home);
        let present = Some(home.clone()).filter(|home| home.enabled);
        self.homes.insert(home.slug.clone(), present);
        let mut count = SignOutCount::default();
        let mut counted = HashSet::new();
        let mut members = Entries::<Membership>::in_store(self.store, MEMBERS, &home.slug);
        while let Some((_, member)) = members.next().await? {
            let Some(member) = member.known().filter(|member| member.enabled) else { continue };
            let account = hydrate::<Account>(self.store, &member.account).await?;
            let Some(known) = account.machine.known() else { continue };
            self.count_there(&home, known, &mut count).await?;
            counted.insert(member.account.clone());
        }
        let mut accounts = Pages::<Account>::of(self.store, ACCOUNTS);
        while let Some((_, account)) = accounts.next().await? {
            let administers = |known: &&Known| known.administers && !counted.contains(&known.id);
            let Some(known) = account.machine.known().filter(administers) else { continue };
            self.count_there(&home, known, &mut count).await?;
        }
        Ok(count)
    }

    /// Counts what one person has there.
    async fn count_there(
        &mut self,
        home: &organization::Known,
        known: &Known,
        count: &mut SignOutCount,
    ) -> Result<(), HydrateError> {
        let slug = home.slug.as_str();
        let mut sessions = Entries::<Session>::in_store(self.store, SESSIONS, &known.id);
        while let Some((_, session)) = sessions.next().await? {
            let counts = session.owned_by(&known.id, self.now).is_some_and(|open| {
                let proved = open.person_at(self.now).evidence;
                let proved = proved.since_sign_out(slug, home.signed_out);
                proved.at(Some(slug), self.now).level(self.now).is_some()
            });
            count.sessions += u64::from(counts && self.is_open(&session, known));
        }
        for list in GRANTED {
            let mut families = Entries::<TokenFamily>::in_store(self.store, list, &known.id);
            while let Some((_, family)) = families.next().await? {
                let is_there = |grant: &Grant| grant.organization() == Some(slug);
                count.families += u64::from(self.is_good(&family, known, is_there).await?);
            }
        }
        Ok(())
    }

    pub(super) async fn of_everyone(&mut self) -> Result<SignOutCount, HydrateError> {
        let mut sessions = 0;
        let mut pages = Pages::<Session>::of(self.store, SESSIONS);
        let mut owner = Owner::default();
        while let Some((account, session)) = pages.next().await? {
            let known = owner.read(self.store, &account).await?;
            sessions += u64::from(known.is_some_and(|known| self.is_open(&session.machine, known)));
        }
        Ok(SignOutCount { sessions, families: self.families(|_| true).await? })
    }

    /// Counts the grants of all people that are `meant`.
    async fn families(&mut self, meant: impl Fn(&Grant) -> bool) -> Result<u64, HydrateError> {
        let mut families = 0;
        for list in GRANTED {
            let mut pages = Pages::<TokenFamily>::of(self.store, list);
            let mut owner = Owner::default();
            while let Some((account, family)) = pages.next().await? {
                let Some(known) = owner.read(self.store, &account).await? else { continue };
                families += u64::from(self.is_good(&family.machine, known, &meant).await?);
            }
        }
        Ok(families)
    }

    fn is_open(&self, session: &Session, known: &Known) -> bool {
        let open = session.owned_by(&known.id, self.now);
        open.is_some_and(|open| known.honours(open.epoch(), self.sign_outs, self.now))
    }

    /// Tells whether a grant of a person is good, as far as levers reach: neither it nor what it rests on is over, and the
    /// person, the consents, the clients, the connection and the membership are in the epoch that it was given in.
    async fn is_good(
        &mut self,
        family: &TokenFamily,
        known: &Known,
        meant: impl Fn(&Grant) -> bool,
    ) -> Result<bool, HydrateError> {
        let Some(grant) = family.grant().filter(|grant| !grant.is_by_key() && meant(grant)) else {
            return Ok(false);
        };
        if family.live_until() <= self.now || !known.admits(self.now) {
            return Ok(false);
        }
        let speaks = match &grant.membership {
            Some(of) => self.speaks(of, known).await?,
            None => true,
        };
        if !speaks || self.epoch(grant, known).await? != Some(grant.epoch) {
            return Ok(false);
        }
        let ancestors = grant.ancestors();
        let asked: Vec<_> = ancestors.iter().map(|one| (one.kind(), one.id())).collect();
        let found = self.store.liveness(&asked).await?;
        Ok(found.iter().all(|one| one.is_some_and(|one| one.is_live(self.now))))
    }

    /// Returns the epoch in which such a grant would be given now; none where its connection is gone.
    async fn epoch(&mut self, grant: &Grant, known: &Known) -> Result<Option<u64>, HydrateError> {
        let mut epoch = known.person_epoch(self.sign_outs);
        if let Some(sign_on) = &grant.sign_on {
            let connection = hydrate::<Connection>(self.store, &sign_on.connection).await?;
            let Some(connection) = connection.machine.known() else { return Ok(None) };
            epoch = epoch.saturating_add(connection.epoch);
        }
        for id in grant.consents() {
            let consent = hydrate::<Consent>(self.store, &id).await?;
            epoch = epoch.saturating_add(consent.machine.epoch());
        }
        for client in grant.clients() {
            epoch = epoch.saturating_add(self.client(client).await?);
        }
        Ok(Some(epoch))
    }

    /// Tells whether a person speaks for an organization in the epoch of a grant.
    async fn speaks(&mut self, of: &MembershipRef, known: &Known) -> Result<bool, HydrateError> {
        let Some(home) = self.home(&of.organization).await? else { return Ok(false) };
        let Some(id) = &of.id else {
            return Ok(known.administers && of.epoch == home.person_epoch());
        };
        let membership = hydrate::<Membership>(self.store, id).await?;
        let member = membership.machine.known().filter(|member| member.enabled);
        Ok(member.is_some_and(|member| of.epoch == member.person_epoch_at(&home)))
    }

    async fn client(&mut self, client_id: &str) -> Result<u64, HydrateError> {
        if let Some(epoch) = self.clients.get(client_id) {
            return Ok(*epoch);
        }
        let seen = hydrate::<Client>(self.store, client_id).await?;
        let epoch = seen.machine.held().map_or(0, |client| client.epoch);
        self.clients.insert(client_id.to_owned(), epoch);
        Ok(epoch)
    }

    async fn home(&mut self, slug: &str) -> Result<Option<Arc<organization::Known>>, HydrateError> {
        if let Some(home) = self.homes.get(slug) {
            return Ok(home.clone());
        }
        let seen = hydrate::<Organization>(self.store, slug).await?;
        let home = seen.machine.known().filter(|home| home.enabled).cloned().map(Arc::new);
        self.homes.insert(slug.to_owned(), home.clone());
        Ok(home)
    }
}

/// The account whose entries are being read: they lie together.
#[derive(Default)]
struct Owner {
    id: String,
    account: Account,
}

impl Owner {
    async fn read(&mut self, store: &Store, id: &str) -> Result<Option<&Known>, HydrateError> {
        if self.id != id {
            self.account = hydrate::<Account>(store, id).await?.machine;
            id.clone_into(&mut self.id);
        }
        Ok(self.account.known())
    }
}

/// The entries of the lists of one name, of every owner.
struct Pages<'a, M> {
    store: &'a Store,
    list: &'static str,
    after: (String, String, String),
    page: std::vec::IntoIter<(String, ListEntry<M>)>,
    is_last: bool,
}

impl<'a, M: crate::domain::Machine> Pages<'a, M> {
    fn of(store: &'a Store, list: &'static str) -> Self {
        Self {
            store,
            list,
            after: Default::default(),
            page: Vec::new().into_iter(),
            is_last: false,
        }
    }

    async fn next(&mut self) -> Result<Option<(String, ListEntry<M>)>, HydrateError> {
        if self.page.len() == 0 && !self.is_last {
            let after = (&*self.after.0, &*self.after.1, &*self.after.2);
            let page = hydrate_page_of_all(self.store, self.list, after, PAGE).await?;
            self.is_last = page.len() < PAGE as usize;
            if let Some((owner, ListEntry { rank, id, .. })) = page.last() {
                self.after = (owner.clone(), rank.clone(), id.clone());
            }
            self.page = page.into_iter();
        }
        Ok(self.page.next())
    }
}
