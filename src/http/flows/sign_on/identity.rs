//! What becomes of what a provider says: the account that its subject leads to, or why it leads to none.
//!
//! An account is never found by the address that a provider reports. A new one is made only where the organization has
//! proved the domain of that address, and only where no account has it.

use super::SSO_REFUSED;
use crate::{
    actors::{CommitError, DomainHolder, MultiCommit},
    crypto::draw_uuid,
    domain::{
        Context, Machine as _, Requirement,
        account::{self, Account, EMAIL_ADDRESSES, normalise_email},
        connection::{Connection, Known},
        external_identity::{
            Cause, Command as LinkCommand, EXTERNAL_IDENTITIES, ExternalIdentity, Linked,
            identity_name, is_subject,
        },
        membership::{
            self, Draft, MEMBERSHIP_PAIRS, Membership, PENDING_ADDRESSES, SCIM_EXTERNAL_IDS, Word,
            external_id_in, pair, pending_address_in,
        },
        organization::{self, Organization},
        upstream::{UpstreamPerson, mapped_roles},
    },
    http::{answer::error::Problem, app::App},
};
use axum::http::StatusCode;

/// How often it is decided while other changes come between.
const TRIES: usize = 4;

pub const ACCOUNT_NOT_VOUCHED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "account_not_vouched",
    "no account is linked, and no proved domain of the organization vouches for the address",
);

pub const IDENTITY_NOT_LINKED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "identity_not_linked",
    "an account has this address: sign in to it by its own credential, and link it there",
);

pub const IDENTITY_ALREADY_LINKED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "identity_already_linked",
    "this identity is linked to an account already: unlink it there first",
);

pub const MEMBERSHIP_DISABLED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "membership_disabled",
    "the membership in the organization is disabled",
);

/// An account that a subject leads to, in an organization or outside of any.
pub struct ResolvedAccount {
    pub account: String,
    /// The id of the external identity.
    pub identity: String,
    /// What must still be so when the proof is committed.
    pub requirements: Vec<Requirement>,
}

/// Finds the account of a subject, or makes one where that is allowed. What has to change is one commit, which wants the
/// connection to be at the version at which the provider was believed.
pub async fn resolve(
    app: &App,
    context: &Context,
    (connection, version): (&Known, i64),
    person: &UpstreamPerson,
) -> Result<ResolvedAccount, Problem> {
    for _ in 0..TRIES {
        let mut commit = app.multi_commit(context);
        let asking = SubjectResolver { app, connection, version, person };
        let resolved = match Box::pin(asking.resolve(&mut commit)).await {
            // Another request has made account and identity since this one looked for the identity.
            Err(problem)
                if problem == IDENTITY_NOT_LINKED && asking.identity().await?.is_some() =>
            {
                continue;
            }
            resolved => resolved?,
        };
        match commit.commit().await {
            Ok(()) => return Ok(resolved),
            Err(CommitError::Unmet { kind: Connection::KIND }) => return Err(SSO_REFUSED),
            // Another request was first: look again.
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(CommitError::Unavailable) => return Err(Problem::UNAVAILABLE),
            Err(CommitError::Unknown) => return Err(Problem::OUTCOME_UNKNOWN),
        }
    }
    Err(Problem::UNAVAILABLE)
}

/// Says what would become of what a provider says: whether an account would be made. Nothing is changed.
pub async fn foresee(
    app: &App,
    context: &Context,
    connection: &Known,
    person: &UpstreamPerson,
) -> Result<bool, Problem> {
    let mut commit = app.multi_commit(context);
    // No version is required of what is not committed.
    let asking = SubjectResolver { app, connection, version: 0, person };
    let resolved = Box::pin(asking.resolve(&mut commit)).await?;
    // It was decided, and is not committed.
    drop(commit);
    let account = app.views.accounts.peek(&resolved.account).await?;
    Ok(account.machine.known().is_none())
}

struct SubjectResolver<'a> {
    app: &'a App,
    connection: &'a Known,
    version: i64,
    person: &'a UpstreamPerson,
}

impl SubjectResolver<'_> {
    async fn resolve(&self, commit: &mut MultiCommit) -> Result<ResolvedAccount, Problem> {
        let Self { app, connection, person, .. } = *self;
        if !is_subject(&person.subject) {
            return Err(SSO_REFUSED);
        }
        commit.require(self.believed());
        let linked = match &self.identity().await? {
            None => None,
            Some(id) => commit.look::<ExternalIdentity>(id).await?.linked().cloned(),
        };
        let Some(slug) = &connection.organization else {
            let linked = linked.ok_or(ACCOUNT_NOT_VOUCHED)?;
            return Ok(self.resolved(linked.account, linked.id, Vec::new()));
        };
        let home = commit.look::<Organization>(slug).await?.known().cloned();
        let home = home.filter(|home| home.enabled).ok_or(SSO_REFUSED)?;
        if let Some(linked) = linked {
            let membership = self.membership(commit, &home, &linked.account).await?;
            return Ok(self.resolved(linked.account, linked.id, vec![membership]));
        }
        if let Some(account) = self.of_directory(commit, &home).await? {
            let identity = self.link(commit, slug, &account, Cause::Directory).await?;
            let membership = self.membership(commit, &home, &account).await?;
            return Ok(self.resolved(account, identity, vec![membership]));
        }
        let (address, vouching) = self.vouched(slug).await?;
        if app.store.find(EMAIL_ADDRESSES, &address).await?.is_some() {
            return Err(IDENTITY_NOT_LINKED);
        }
        vouching.requirements().into_iter().for_each(|fact| commit.require(fact));
        let account = draw_uuid(&*app.dice);
        let draft = account::Draft {
            id: account.clone(),
            email: person.email.clone().unwrap_or_default(),
            email_verified: Some(true),
            ..account::Draft::default()
        };
        let made = account::Command::Provision(draft);
        let made = commit.decide::<Account>(&account, &made).await?;
        made.map_err(|_| ACCOUNT_NOT_VOUCHED)?;
        let membership = self.join(commit, &home, (&account, &address)).await?;
        let identity = self.link(commit, slug, &account, Cause::Domain).await?;
        Ok(self.resolved(account, identity, vec![membership]))
    }

    /// Returns the id of the identity, if the subject is linked.
    async fn identity(&self) -> Result<Option<String>, Problem> {
        let name = identity_name(&self.connection.id, &self.person.subject);
        let found = self.app.store.find(EXTERNAL_IDENTITIES, &name).await?;
        Ok(found.map(|(_, id)| id))
    }

    fn resolved(
        &self,
        account: String,
        identity: String,
        mut requirements: Vec<Requirement>,
    ) -> ResolvedAccount {
        requirements.push(self.believed());
        requirements.push(Requirement::live::<ExternalIdentity>(&*identity));
        ResolvedAccount { account, identity, requirements }
    }

    /// That the connection is still the one by which the provider was believed: another client may stand for other subjects,
    /// and what it believes may have been too much.
    fn believed(&self) -> Requirement {
        Requirement::unchanged::<Connection>(&*self.connection.id, self.version)
    }

    /// Returns the address that the provider asserts, if the organization has proved its domain.
    async fn vouched(&self, slug: &str) -> Result<(String, DomainHolder), Problem> {
        let Self { app, person, .. } = *self;
        let address = person.email.as_deref().filter(|_| person.email_verified != Some(false));
        let address = address.and_then(normalise_email).ok_or(ACCOUNT_NOT_VOUCHED)?;
        let vouching = app.domain_holders().of_address(&address).await?;
        let own = vouching.filter(|one| one.organization == slug);
        own.map(|vouching| (address, vouching)).ok_or(ACCOUNT_NOT_VOUCHED)
    }

    /// Finds the account that SCIM made with this subject as its `externalId`, where the connection says so.
    async fn of_directory(
        &self,
        commit: &mut MultiCommit,
        home: &organization::Known,
    ) -> Result<Option<String>, Problem> {
        let Self { app, connection, person, .. } = *self;
        if !connection.scim_subject {
            return Ok(None);
        }
        let name = external_id_in(&home.slug, &person.subject);
        let Some((_, id)) = app.store.find(SCIM_EXTERNAL_IDS, &name).await? else {
            return Ok(None);
        };
        let known = commit.look::<Membership>(&id).await?.known();
        let came_with = known.and_then(|known| known.entry.as_ref()?.came_with.as_deref());
        let is_it = came_with == Some(&*person.subject);
        Ok(known.filter(|_| is_it).map(|known| known.account.clone()))
    }

    async fn link(
        &self,
        commit: &mut MultiCommit,
        slug: &str,
        account: &str,
        cause: Cause,
    ) -> Result<String, Problem> {
        let id = draw_uuid(&*self.app.dice);
        let linked = Linked {
            id: id.clone(),
            account: account.to_owned(),
            organization: Some(slug.to_owned()),
            connection: self.connection.id.clone(),
            subject: self.person.subject.clone(),
            linked_at: commit.at(),
        };
        let link = LinkCommand::Link { linked: Box::new(linked), cause };
        let decided = commit.decide::<ExternalIdentity>(&id, &link).await?;
        decided.map_err(|_| SSO_REFUSED)?;
        Ok(id)
    }

    /// Finds the membership of an account, and sets the roles that are mapped; one that is disabled proves nothing.
    async fn membership(
        &self,
        commit: &mut MultiCommit,
        home: &organization::Known,
        account: &str,
    ) -> Result<Requirement, Problem> {
        let found = self.app.store.find(MEMBERSHIP_PAIRS, &pair(account, &home.slug)).await?;
        let (_, id) = found.ok_or(MEMBERSHIP_DISABLED)?;
        let known = commit.look::<Membership>(&id).await?.known().cloned();
        let known = known.filter(|known| known.enabled).ok_or(MEMBERSHIP_DISABLED)?;
        let draft = self.draft(home, &id, account, &known.roles_besides_mapped());
        self.provision(commit, home, draft).await
    }

    /// Makes the account a member: the one that a directory keeps for the address, or a new one.
    async fn join(
        &self,
        commit: &mut MultiCommit,
        home: &organization::Known,
        (account, address): (&str, &str),
    ) -> Result<Requirement, Problem> {
        let waiting = pending_address_in(&home.slug, address);
        let waiting = self.app.store.find(PENDING_ADDRESSES, &waiting).await?;
        let id = waiting.map_or_else(|| draw_uuid(&*self.app.dice), |(_, id)| id);
        let pending = commit.look::<Membership>(&id).await?.pending().cloned();
        let kept = pending.map(|pending| pending.roles).unwrap_or_default();
        let draft = self.draft(home, &id, account, &kept);
        self.provision(commit, home, draft).await
    }

    /// Roles given otherwise stay; mapped ones are those that the organization has.
    fn draft(&self, home: &organization::Known, id: &str, account: &str, kept: &[String]) -> Draft {
        let mapped = mapped_roles(&self.connection.roles, &self.person.claims);
        let is_added = |role: &&str| home.has_role(role) && !kept.iter().any(|one| one == *role);
        let added: Vec<String> = mapped.into_iter().filter(is_added).map(str::to_owned).collect();
        Draft {
            id: id.to_owned(),
            account: account.to_owned(),
            organization: home.slug.clone(),
            roles: Some(kept.iter().chain(&added).cloned().collect()),
            mapped: Some(added),
            enabled: Some(true),
            entry: None,
            word: Word::Person,
        }
    }

    async fn provision(
        &self,
        commit: &mut MultiCommit,
        home: &organization::Known,
        draft: Draft,
    ) -> Result<Requirement, Problem> {
        let id = draft.id.clone();
        let command = membership::Command::Provision { draft, home: Some(home.clone()) };
        let decided = commit.decide::<Membership>(&id, &command).await?;
        decided.map_err(|_| MEMBERSHIP_DISABLED)?;
        Ok(Requirement::live::<Membership>(id))
    }
}
