//! Whether an access token of ours is still good: everything it rests on, read in one query.
//!
//! A token names its ancestors: the client, the family and session of a person's grant, the account,
//! the membership, the organization, the API. Killing one kills everything below it at once. What they
//! are is compared by version, and authority is narrowed once more over what is true now.

use super::target;
use crate::http::{answer::error::OAuthError, app::App};
use crate::{
    domain::{
        Machine as _,
        access_token::{AccessToken, Claims},
        account::{self, Account},
        authority::{Asked, Audience, Scopes},
        client::{Client, GrantType, KnownClient},
        grant::{Held, Limits},
        membership::{self, Membership},
        organization::{self, Organization},
        resource::Resource,
        session::Session,
        token_family::TokenFamily,
    },
    store::views::Liveness,
};
use std::borrow::Cow;

/// What a good token rests on.
pub struct Good {
    /// The person it speaks for, if it is not a client in its own name.
    pub account: Option<Box<account::Known>>,
}

/// Tells whether everything the token says is still true; `also` must be live as well.
pub async fn look(
    app: &App,
    claims: &Claims<'_>,
    also: Option<&str>,
) -> Result<Option<Good>, OAuthError> {
    let to_an_api = claims.aud != app.issuer;
    let family = claims.family();
    let person = family.map(|_| &*claims.sub);
    let mut asked = vec![(AccessToken::KIND, &*claims.jti), (Client::KIND, &*claims.client_id)];
    asked.extend(to_an_api.then_some((Resource::KIND, &*claims.aud)));
    asked.extend(claims.org.as_deref().map(|slug| (Organization::KIND, slug)));
    asked.extend(also.map(|slug| (Organization::KIND, slug)));
    asked.extend(family.map(|family| (TokenFamily::KIND, family)));
    asked.extend(claims.sid.as_deref().map(|session| (Session::KIND, session)));
    asked.extend(person.map(|account| (Account::KIND, account)));
    asked.extend(claims.membership.as_deref().map(|id| (Membership::KIND, id)));
    let found = app.store.liveness(&asked).await?;
    let now = app.clock.now();
    // A row of the token itself says that it was revoked; of everything else, that it is there.
    let all_live = found[1..].iter().all(|found| found.is_some_and(|found| found.is_live(now)));
    if found[0].is_some() || !all_live {
        return Ok(None);
    }
    let read = Read { app, claims, asked: &asked, found: &found };
    read.narrowed().await
}

/// A reading of all that a token names.
struct Read<'a> {
    app: &'a App,
    claims: &'a Claims<'a>,
    asked: &'a [(&'a str, &'a str)],
    found: &'a [Option<Liveness>],
}

impl Read<'_> {
    fn version(&self, kind: &str, id: &str) -> i64 {
        let place = self.asked.iter().position(|(of, name)| (*of, *name) == (kind, id));
        place.and_then(|place| self.found[place]).map_or(0, |found| found.version)
    }

    async fn narrowed(&self) -> Result<Option<Good>, OAuthError> {
        let Self { app, claims, .. } = *self;
        let id = &claims.client_id;
        let client = app.clients.at_version(id, self.version(Client::KIND, id)).await?;
        let Some(client) = client.machine.known() else { return Ok(None) };
        let home = match &claims.org {
            None => None,
            Some(slug) => {
                let version = self.version(Organization::KIND, slug);
                Some(app.organizations.at_version(slug, version).await?)
            }
        };
        let home = home.as_ref().and_then(|home| home.machine.known());
        let (audience, offered) = if claims.aud == app.issuer {
            (Audience::Issuer, Vec::new())
        } else {
            let version = self.version(Resource::KIND, &claims.aud);
            let resource = app.resources.at_version(&claims.aud, version).await?;
            let Some(known) = resource.machine.known() else { return Ok(None) };
            let offered = target::scopes_of(known).map(str::to_owned).collect();
            (Audience::Resource(claims.aud.clone().into_owned()), offered)
        };
        let Ok(scopes) = Scopes::parse(&claims.scope) else { return Ok(None) };
        let organization = claims.org.clone().map(Cow::into_owned);
        let asked = Asked { organization, audience, offered, scopes };
        if claims.family().is_none() {
            let good = self.client_holds(client, home, asked);
            return Ok(good.then_some(Good { account: None }));
        }
        self.person_holds(client, home, asked).await
    }

    /// Narrows once more what a client in its own name was granted.
    fn client_holds(
        &self,
        client: &KnownClient,
        home: Option<&organization::Known>,
        asked: Asked,
    ) -> bool {
        let held = client.roles_at(home);
        let owned = |scope: &str| asked.offered.iter().any(|one| one == scope);
        asked.scopes.of_apis().all(owned)
            && self.claims.org.as_deref() == client.organization.as_deref()
            && self.claims.epoch == home.map_or(0, |home| home.epoch)
            && client.may_use(GrantType::ClientCredentials)
            && self.claims.roles().all(|role| held.contains(&role))
            && client.narrow(home, asked).is_ok()
    }

    /// Narrows once more what a person granted.
    async fn person_holds(
        &self,
        client: &KnownClient,
        home: Option<&organization::Known>,
        asked: Asked,
    ) -> Result<Option<Good>, OAuthError> {
        let Self { app, claims, .. } = *self;
        let member = match &claims.membership {
            None => None,
            Some(id) => {
                let version = self.version(Membership::KIND, id);
                Some(app.memberships.at_version(id, version).await?)
            }
        };
        let member = member.as_ref().and_then(|seen| seen.machine.known());
        let belongs = |member: &membership::Known, home: &organization::Known| {
            member.organization == home.slug
                && member.account == claims.sub
                && member.epoch_at(home) == claims.epoch
        };
        let held = match (member, home) {
            (None, None) => None,
            (Some(member), Some(home)) if belongs(member, home) => {
                let held = member.roles_at(home);
                if !claims.roles().all(|role| held.contains(&role)) {
                    return Ok(None);
                }
                let permissions = home.confers(&member.roles);
                Some(Held { organization: home.slug.clone(), permissions })
            }
            _ => return Ok(None),
        };
        let limits = Limits { ceiling: client.ceiling(), held, offered: asked.offered };
        let organization = asked.organization.as_deref();
        let narrowed = limits.narrow(organization, &asked.audience, &asked.scopes);
        if narrowed.is_err() || !client.may_use(GrantType::AuthorizationCode) {
            return Ok(None);
        }
        let version = self.version(Account::KIND, &claims.sub);
        let account = app.accounts.at_version(&claims.sub, version).await?;
        let account = account.machine.known().map(|known| Box::new(known.clone()));
        Ok(account.map(|account| Good { account: Some(account) }))
    }
}
