//! Which API a request is about (RFC 8707).

use crate::{
    actors::{EntitySnapshot, HydrateError},
    domain::{
        authority::{self, Audience, OwnedScope, PROVISION, Permission, Scopes, WrongTarget},
        authorization_details::Details,
        client::KnownClient,
        resource::{self, DetailType, Known, LONGEST_IDENTIFIER, Resource},
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        reading::Reading,
    },
};
use std::sync::Arc;

/// The one recipient of a token, and what it offers if it was asked for by name.
pub struct Target {
    pub audience: Audience,
    resource: Option<Arc<EntitySnapshot<Resource>>>,
    /// The types of the details that were asked for.
    pub types: Vec<DetailType>,
}

impl Target {
    /// Lists the scopes of the API that was asked for.
    pub fn offered(&self) -> Vec<String> {
        offered(self.resource.as_deref())
    }
}

/// Returns the API that a grant or a request is for, if it is for one.
pub async fn resource(
    app: &App,
    audience: &Audience,
    reading: Reading<'_>,
) -> Result<Option<Arc<EntitySnapshot<Resource>>>, HydrateError> {
    let Audience::Resource(identifier) = audience else { return Ok(None) };
    if let Some(built_in) = app.built_in(identifier) {
        return Ok(Some(built_in));
    }
    reading.see(&app.views.resources, identifier).await.map(Some)
}

/// Lists the scopes of an API, if there is one.
pub fn offered(resource: Option<&EntitySnapshot<Resource>>) -> Vec<String> {
    let known = resource.and_then(|seen| seen.machine.known());
    known.map(|known| scopes_of(known).map(str::to_owned).collect()).unwrap_or_default()
}

/// Lists the types of these details, as far as the API has them and the client may ask for them.
pub fn types(
    resource: Option<&resource::Known>,
    client: &KnownClient,
    details: &Details,
) -> Vec<DetailType> {
    let kinds = details.kinds();
    let wanted =
        |kind: &&DetailType| kinds.contains(&&*kind.name) && client.may_ask_in_detail(&kind.name);
    let all = resource.iter().flat_map(|known| &known.authorization_details);
    all.filter(wanted).cloned().collect()
}

pub fn scopes_of(resource: &resource::Known) -> impl Iterator<Item = &str> {
    resource.scopes.iter().map(Permission::as_str)
}

/// What is asked of an API, and by whom.
pub struct Sought<'a> {
    pub client: &'a KnownClient,
    pub scopes: &'a Scopes,
    pub details: &'a Details,
    /// The organization that is asked for, as far as it is known.
    pub organization: Option<&'a str>,
}

impl Sought<'_> {
    /// Returns the SCIM that `scim:provision` is a scope of: that of the organization that is spoken for.
    fn scim(&self, app: &App, resource: Option<&str>) -> Result<Arc<str>, OAuthError> {
        let named = resource.and_then(|identifier| app.scim_organization(identifier));
        let own = self.client.organization.as_deref();
        let slug = self.organization.or(named).or(own).ok_or_else(|| {
            let why = "scim:provision is for one organization: name it by organization or resource";
            OAuthError::new(Code::InvalidTarget, why)
        })?;
        Ok(Known::scim(&app.issuer, slug).identifier.into())
    }

    /// Refuses the SCIM of one organization where another is asked for.
    fn check_organization(&self, app: &App, audience: &Audience) -> Result<(), OAuthError> {
        let scim = app.scim_organization(audience.claim(&app.issuer));
        match (scim, self.organization) {
            (Some(slug), Some(asked)) if slug != asked => {
                let why = "the resource is of another organization than the one asked for";
                Err(OAuthError::new(Code::InvalidTarget, why))
            }
            _ => Ok(()),
        }
    }
}

/// Finds the one recipient of a token with these scopes and details.
pub async fn find(
    app: &App,
    resource: Option<&str>,
    sought: Sought<'_>,
) -> Result<Target, OAuthError> {
    let Sought { client, scopes, details, .. } = sought;
    let asked = match resource {
        None => None,
        Some(identifier) => Some(look(app, identifier).await?),
    };
    let mut owners: Vec<(&str, Option<Arc<str>>)> = Vec::new();
    for scope in scopes.of_apis() {
        let owner = match scope {
            PROVISION => Some(sought.scim(app, resource)?),
            _ => owner(app, scope).await?,
        };
        owners.push((scope, owner));
        if owners.last().is_some_and(|(_, owner)| owner.is_none()) {
            break;
        }
    }
    for kind in details.kinds() {
        let owner = owner_of_type(app, kind).await?;
        owners.push((kind, Some(owner.ok_or(UNKNOWN_TYPE)?)));
    }
    let owned: Vec<OwnedScope<'_>> =
        owners.iter().map(|(scope, owner)| OwnedScope { scope, owner: owner.as_deref() }).collect();
    let audience = authority::audience(resource, &owned).map_err(|why| match why {
        WrongTarget::UnknownScope { scope } => {
            OAuthError::new(Code::InvalidScope, "a scope is not known").naming(scope)
        }
        WrongTarget::SeveralResources => {
            OAuthError::new(Code::InvalidTarget, "what is asked for belongs to several resources")
        }
        WrongTarget::ForeignScope { .. } => {
            OAuthError::new(Code::InvalidTarget, "something else than the resource is asked for")
        }
    })?;
    sought.check_organization(app, &audience)?;
    // What registered itself manages nothing, though a person would let it (adr/0079).
    if app.is_built_in(audience.claim(&app.issuer)) && client.is_self_registered() {
        let why = "this API is not for clients that registered themselves";
        return Err(OAuthError::new(Code::InvalidTarget, why));
    }
    let mut types = Vec::new();
    if !details.is_empty() {
        let found = self::resource(app, &audience, Reading::Recent).await?;
        let known = found.as_ref().and_then(|seen| seen.machine.known());
        types = self::types(known, client, details);
    }
    Ok(Target { audience, resource: asked, types })
}

/// Bytes; no type has a longer name.
const LONGEST_TYPE: usize = 800;

const UNKNOWN_TYPE: OAuthError = OAuthError::new(
    Code::InvalidAuthorizationDetails,
    "a type of authorization_details is not known",
);

/// Tells whether there is an API that has the scope.
pub async fn is_known(app: &App, scope: &str) -> Result<bool, HydrateError> {
    Ok(scope == PROVISION || owner(app, scope).await?.is_some())
}

/// Returns the API that has the scope, if it is one for all organizations.
async fn owner(app: &App, scope: &str) -> Result<Option<Arc<str>>, HydrateError> {
    match Permission::parse(scope) {
        Ok(one) if app.reserved_names().await?.machine.reserve(&one) => {
            let own = app.own_api.machine.known();
            let owns = own.filter(|own| own.scopes.contains(&one));
            Ok(owns.map(|own| own.identifier.as_str().into()))
        }
        Ok(one) if !one.is_wildcard() => app.views.scope_owners.look(scope).await,
        // What no API could own is not worth a look.
        _ => Ok(None),
    }
}

/// Returns the API that has the type of `authorization_details`.
pub async fn owner_of_type(app: &App, kind: &str) -> Result<Option<Arc<str>>, HydrateError> {
    // What no API could have declared is not worth a look.
    if kind.len() > LONGEST_TYPE {
        return Ok(None);
    }
    app.views.detail_owners.look(kind).await
}

async fn look(app: &App, identifier: &str) -> Result<Arc<EntitySnapshot<Resource>>, OAuthError> {
    const UNKNOWN: OAuthError = OAuthError::new(Code::InvalidTarget, "the resource is not known");
    // What is for the issuer is for no API, though one may have been registered under its name.
    if identifier.len() > LONGEST_IDENTIFIER || identifier == app.issuer {
        return Err(UNKNOWN);
    }
    if let Some(built_in) = app.built_in(identifier) {
        return Ok(built_in);
    }
    let seen = app.views.resources.look(identifier).await?;
    if seen.machine.known().is_none() { Err(UNKNOWN) } else { Ok(seen) }
}
