//! Whether an access token or a grant of ours is still good: everything it rests on, read in one query.
//!
//! A token names its ancestors: the client, the families and the session of a person's grant, the
//! account, the membership, the organization, the API. Killing one kills everything below it at once.
//! What they are is compared by version, and authority is narrowed once more over what is true now.

use crate::{
    actors::{EntitySnapshot, HydrateError, View},
    crypto::PairwiseSubjects,
    domain::{
        Machine, Timestamp,
        access_token::{AccessToken, Claims},
        account::Account,
        assurance::SingleSignOn,
        authority::{Audience, Permissions, RequestedAuthority, Scopes},
        authorization_details::Details,
        client::{Client, GrantType, KnownClient},
        consent::{Consent, Parties},
        grant::{GRANTS_OF_PEOPLE, Grant, HeldPermissions, Limits, Wish},
        installation::{INSTALLATION_ID, Installation},
        membership::{self, Membership},
        organization::{self, Organization},
        resource::{DetailType, Resource},
        session::Session,
        token_family::TokenFamily,
    },
    http::{
        answer::error::OAuthError,
        app::App,
        grants::{delegation, target},
        reading::{
            LivenessReading, Reading,
            read_token::{Good, ReadToken},
        },
    },
};
use std::sync::Arc;

/// What a token or a grant says of itself, all of which must be true.
struct Basis<'a> {
    /// Of the token, if it is one.
    jti: Option<&'a str>,
    client_id: &'a str,
    /// What the claim `aud` says.
    audience: &'a str,
    scopes: Scopes,
    details: &'a Details,
    organization: Option<&'a str>,
    roles: Vec<&'a str>,
    /// When the token was issued, if it is one.
    issued_at: Timestamp,
    /// Of the organization, and where a person speaks, of the membership, the account, the installation, the consent
    /// and the client.
    epoch: u64,
    person: Option<PersonBasis<'a>>,
}

impl Basis<'_> {
    /// Returns the id of the consent between a person and the client.
    fn consent(&self, person: &PersonBasis<'_>) -> String {
        let parties = Parties {
            account: person.account.to_owned(),
            client_id: self.client_id.to_owned(),
            organization: self.organization.map(str::to_owned),
        };
        parties.id()
    }
}

/// What only a person's grant says.
struct PersonBasis<'a> {
    account: &'a str,
    families: Vec<&'a str>,
    session: Option<&'a str>,
    membership: Option<&'a str>,
    /// What it rests on, where the person came by single sign-on.
    sign_on: Option<&'a SingleSignOn>,
}

/// What is read to tell whether a token is good.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Everything it rests on, as it is now.
    Everything,
    /// Only what a commit that issues under it does not require (see [`of_token_before_commit`]); the rest may be a
    /// second old.
    BeforeCommit,
}

/// Tells whether everything a token says is still true; the organization `also` must be live as well.
pub async fn of_token(
    app: &App,
    token: &ReadToken,
    also: Option<&str>,
) -> Result<Option<Good>, OAuthError> {
    read_token(app, token, also, Extent::Everything).await
}

/// The same for a token under which something is issued by a commit that requires its families, session, account,
/// membership and organization: those decide there, and are not read before. That it is not good must be asked of
/// [`of_token`].
pub async fn of_token_before_commit(
    app: &App,
    token: &ReadToken,
) -> Result<Option<Good>, OAuthError> {
    read_token(app, token, None, Extent::BeforeCommit).await
}

async fn read_token(
    app: &App,
    token: &ReadToken,
    also: Option<&str>,
    extent: Extent,
) -> Result<Option<Good>, OAuthError> {
    let claims: &Claims<'_> = token;
    let Ok(scopes) = Scopes::parse(&claims.scope) else { return Ok(None) };
    // A token without a scope of an API does not name its membership, one of a pairwise client not its
    // account, one that is held for another not its chain. Its family does, and what a family stands for never changes: this look may be old,
    // and costs nothing where it is.
    let pairwise = PairwiseSubjects::is_one(&claims.sub);
    let no_membership = claims.membership.is_none() && claims.org.is_some();
    let held_for = claims.act.is_some();
    let unnamed = claims.family().filter(|_| pairwise || no_membership || held_for || claims.sso);
    let family = match unnamed {
        None => None,
        Some(family) => Some(app.views.families.look(family).await?),
    };
    let grant = family.as_ref().and_then(|seen| seen.machine.grant());
    if held_for {
        let Some(grant) = grant else { return Ok(None) };
        // Boxed: few tokens take this way.
        return Box::pin(delegation::of_token(app, claims, grant, also)).await;
    }
    let of_grant = grant.and_then(|grant| grant.membership.as_ref());
    let account = match (pairwise && claims.family().is_some(), grant) {
        (false, _) => &*claims.sub,
        (true, Some(grant)) => grant.account.as_deref().unwrap_or_default(),
        // Its family has ended.
        (true, None) => return Ok(None),
    };
    let person = claims.family().map(|_| PersonBasis {
        account,
        families: claims.families().collect(),
        session: claims.sid.as_deref(),
        membership: claims.membership.as_deref().or(of_grant.and_then(|one| one.id.as_deref())),
        sign_on: grant.and_then(|grant| grant.sign_on.as_deref()),
    });
    // Its family has ended.
    if claims.sso && person.as_ref().is_none_or(|person| person.sign_on.is_none()) {
        return Ok(None);
    }
    let basis = Basis {
        jti: Some(&claims.jti),
        client_id: &claims.client_id,
        audience: &claims.aud,
        scopes,
        details: &claims.authorization_details,
        organization: claims.org.as_deref(),
        roles: claims.roles().collect(),
        issued_at: Timestamp::from_seconds(claims.iat),
        epoch: claims.epoch,
        person,
    };
    // A client in its own name has nothing that such a commit requires.
    let extent = if basis.person.is_some() { extent } else { Extent::Everything };
    look(app, &basis, also, (Some(token), extent)).await
}

/// Tells whether everything a person's grant rests on is still there; `also` as for a token.
pub async fn of_grant(
    app: &App,
    grant: &Grant,
    family: &str,
    also: Option<&str>,
) -> Result<Option<Good>, OAuthError> {
    // What is held for another is never refreshed.
    let Some(account) = grant.account.as_deref().filter(|_| grant.delegation.is_none()) else {
        return Ok(None);
    };
    let parents = grant.parents.iter().map(String::as_str);
    let person = PersonBasis {
        account,
        families: parents.chain([family]).collect(),
        session: grant.bound_session(),
        membership: grant.membership.as_ref().and_then(|one| one.id.as_deref()),
        sign_on: grant.sign_on.as_deref(),
    };
    let basis = Basis {
        jti: None,
        client_id: &grant.client_id,
        audience: grant.audience.claim(&app.issuer),
        scopes: grant.scopes.clone(),
        details: &grant.details,
        organization: grant.organization(),
        roles: Vec::new(),
        issued_at: Timestamp::FOREVER,
        epoch: grant.epochs(),
        person: Some(person),
    };
    look(app, &basis, also, (None, Extent::Everything)).await
}

/// Looks at everything; of a token it is known what was found the last time.
async fn look(
    app: &App,
    basis: &Basis<'_>,
    also: Option<&str>,
    (token, extent): (Option<&ReadToken>, Extent),
) -> Result<Option<Good>, OAuthError> {
    // Neither the issuer nor what we serve ourselves is a row.
    let to_an_api = basis.audience != app.issuer && !app.is_built_in(basis.audience);
    let consent = basis.person.as_ref().map(|person| basis.consent(person));
    let mut asked: Vec<(&'static str, &str)> = Vec::with_capacity(12);
    asked.extend(basis.jti.map(|jti| (AccessToken::KIND, jti)));
    let tokens = asked.len();
    // Its row may be missing: not every client is asked about.
    asked.extend(consent.as_deref().map(|id| (Consent::KIND, id)));
    // Likewise, where no person was ever signed out and nothing was closed.
    asked.extend(basis.person.as_ref().map(|_| (Installation::KIND, INSTALLATION_ID)));
    let optional = asked.len();
    if extent == Extent::Everything {
        asked.push((Client::KIND, basis.client_id));
        asked.extend(to_an_api.then_some((Resource::KIND, basis.audience)));
        asked.extend(basis.organization.map(|slug| (Organization::KIND, slug)));
        asked.extend(also.map(|slug| (Organization::KIND, slug)));
    }
    if let Some(person) = basis.person.as_ref().filter(|_| extent == Extent::Everything) {
        asked.extend(person.families.iter().map(|family| (TokenFamily::KIND, *family)));
        asked.extend(person.session.map(|session| (Session::KIND, session)));
        asked.push((Account::KIND, person.account));
        asked.extend(person.membership.map(|id| (Membership::KIND, id)));
        asked.extend(person.sign_on.iter().flat_map(|sign_on| sign_on.rests_on()));
    }
    let found = app.store.liveness(&asked).await?;
    let standing = LivenessReading { asked: &asked, found: &found };
    if !standing.holds(tokens, optional, app.clock.now()) {
        return Ok(None);
    }
    // What narrows it is the same where the same entities have the same versions.
    let versions = || found.iter().map(|found| found.map_or(0, |found| found.version));
    let token = token.filter(|_| extent == Extent::Everything);
    if let Some(good) = token.and_then(|token| token.found_good(also, versions())) {
        return Ok(Some(good));
    }
    let read = ValidityReading { app, basis, consent: consent.as_deref(), standing };
    let good = read.narrowed().await?;
    let good = good.map(|good| good.judged_by(app.is_built_in(basis.audience), &read.standing));
    if let (Some(token), Some(good)) = (token, &good) {
        token.remember(also, versions(), good);
    }
    Ok(good)
}

/// A reading of all that a token or a grant names.
struct ValidityReading<'a> {
    app: &'a App,
    basis: &'a Basis<'a>,
    /// The id of the consent between the person and the client.
    consent: Option<&'a str>,
    standing: LivenessReading<'a>,
}

impl ValidityReading<'_> {
    /// Returns an entity at the version that was just read; as it was less than a second ago, if it was not.
    async fn see<M: Machine>(
        &self,
        view: &View<M>,
        id: &str,
    ) -> Result<Arc<EntitySnapshot<M>>, HydrateError> {
        let was_read = self.standing.asked.contains(&(M::KIND, id));
        let reading = if was_read { Reading::At(&self.standing) } else { Reading::Recent };
        reading.see(view, id).await
    }

    async fn narrowed(&self) -> Result<Option<Good>, OAuthError> {
        let Self { app, basis, .. } = *self;
        let client = self.see(&app.views.clients, basis.client_id).await?;
        let Some(client) = client.machine.known() else { return Ok(None) };
        let home = match basis.organization {
            None => None,
            Some(slug) => Some(self.see(&app.views.organizations, slug).await?),
        };
        let home = home.as_ref().and_then(|home| home.machine.known());
        let (audience, offered, types) = if basis.audience == app.issuer {
            (Audience::Issuer, Vec::new(), Vec::new())
        } else {
            let resource = match app.built_in(basis.audience) {
                Some(built_in) => built_in,
                None => self.see(&app.views.resources, basis.audience).await?,
            };
            let Some(known) = resource.machine.known() else { return Ok(None) };
            let offered = target::scopes_of(known).map(str::to_owned).collect();
            let types = target::types(Some(known), client, basis.details);
            (Audience::Resource(basis.audience.to_owned()), offered, types)
        };
        let organization = basis.organization.map(str::to_owned);
        let (scopes, details) = (basis.scopes.clone(), basis.details.clone());
        let asked = RequestedAuthority { organization, audience, offered, scopes, details };
        match &basis.person {
            None => {
                let good = self.client_holds(client, home, asked);
                Ok(good.then_some(Good::of_person(None)))
            }
            Some(person) => self.person_holds(person, client, home, (asked, types)).await,
        }
    }

    /// Narrows once more what a client in its own name was granted.
    fn client_holds(
        &self,
        client: &KnownClient,
        home: Option<&organization::Known>,
        asked: RequestedAuthority,
    ) -> bool {
        let held = client.roles_at(home);
        let owned = |scope: &str| asked.offered.iter().any(|one| one == scope);
        asked.scopes.of_apis().all(owned)
            && self.basis.organization == client.organization.as_deref()
            && self.basis.epoch == home.map_or(0, |home| home.epoch)
            && !client.was_suspended_after(self.basis.issued_at)
            && client.may_use(GrantType::ClientCredentials)
            && self.basis.roles.iter().all(|role| held.contains(role))
            && client.narrow(home, asked).is_ok()
    }

    /// Narrows once more what a person granted.
    async fn person_holds(
        &self,
        person: &PersonBasis<'_>,
        client: &KnownClient,
        home: Option<&organization::Known>,
        (asked, types): (RequestedAuthority, Vec<DetailType>),
    ) -> Result<Option<Good>, OAuthError> {
        let Self { app, basis, .. } = *self;
        let member = match person.membership {
            None => None,
            Some(id) => Some(self.see(&app.views.memberships, id).await?),
        };
        let member = member.as_ref().and_then(|seen| seen.machine.known());
        let belongs = |member: &membership::Known, home: &organization::Known| {
            member.organization == home.slug && member.account == person.account
        };
        let held = match (member, home) {
            (None, None) => None,
            (Some(member), Some(home)) if belongs(member, home) => {
                let held = member.roles_at(home);
                if !basis.roles.iter().all(|role| held.contains(role)) {
                    return Ok(None);
                }
                let permissions = home.confers(&member.roles);
                Some(HeldPermissions { organization: home.slug.clone(), permissions })
            }
            (None, Some(home)) if basis.roles.is_empty() => {
                let account = self.see(&app.views.accounts, person.account).await?;
                if !account.machine.known().is_some_and(|known| known.administers) {
                    return Ok(None);
                }
                let names = app.reserved_names().await?;
                let permissions = Permissions::of_administrator(&names.machine);
                Some(HeldPermissions { organization: home.slug.clone(), permissions })
            }
            _ => return Ok(None),
        };
        // What an organization requires acts on grants and refreshes: a token lives for minutes.
        let ceilings = client.ceiling().into_iter().collect();
        let limits = Limits { ceilings, held, offered: asked.offered, types, ..Limits::default() };
        let organization = asked.organization.as_deref();
        let wish = Wish { scopes: &asked.scopes, details: &asked.details };
        let narrowed = limits.narrow(organization, &asked.audience, wish);
        let may_hold = GRANTS_OF_PEOPLE.into_iter().any(|grant| client.may_use(grant));
        if narrowed.is_err() || !may_hold {
            return Ok(None);
        }
        let account = self.see(&app.views.accounts, person.account).await?;
        let Some(known) = account.machine.known() else { return Ok(None) };
        let of_member = match (member, home) {
            (Some(member), Some(home)) => member.person_epoch_at(home),
            (None, Some(home)) => home.person_epoch(),
            (_, None) => 0,
        };
        let installation = self.see(&app.views.installation, INSTALLATION_ID).await?;
        let of_account = known.person_epoch(installation.machine.sign_outs());
        let of_connection = self.connection_epoch(person, member.and(home)).await?;
        let Some(of_connection) = of_connection else { return Ok(None) };
        let of_consent = self.consent_epoch().await?;
        let epochs = [of_member, of_account, of_consent, client.epoch, of_connection];
        if basis.epoch != epochs.into_iter().fold(0, u64::saturating_add) {
            return Ok(None);
        }
        Ok(Some(Good::of_person(Some(account))))
    }

    /// Returns the epoch of the connection that the person came by, if they came by one; none where the organization
    /// requires another way than theirs, which is asked of its members alone.
    async fn connection_epoch(
        &self,
        person: &PersonBasis<'_>,
        home: Option<&organization::Known>,
    ) -> Result<Option<u64>, OAuthError> {
        let required = home.map(|home| &*home.required_connections).unwrap_or_default();
        let Some(sign_on) = person.sign_on else { return Ok(required.is_empty().then_some(0)) };
        if !required.is_empty() && !required.contains(&sign_on.connection) {
            return Ok(None);
        }
        let connection = self.see(&self.app.views.connections, &sign_on.connection).await?;
        Ok(connection.machine.known().map(|known| known.epoch))
    }

    async fn consent_epoch(&self) -> Result<u64, OAuthError> {
        let Some(id) = self.consent else { return Ok(0) };
        match self.standing.version(Consent::KIND, id) {
            0 => Ok(0),
            version => Ok(self.app.views.consents.at_version(id, version).await?.machine.epoch()),
        }
    }
}
