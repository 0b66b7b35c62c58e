//! A client in its own name: RFC 6749 §4.4, for the one organization it belongs to.
//!
//! 1. the organization is the client's own; another, or one that is suspended, is `invalid_target`;
//! 2. the audience is the resource asked for, or the one that owns the scopes;
//! 3. what is asked must be covered by the registration and by what the client's roles confer there;
//! 4. an access token is signed; nothing is stored, for what it rests on is in it.

use super::Grant;
use crate::{
    actors::EntitySnapshot,
    domain::{
        authority::{RequestedAuthority, Scopes, Widening},
        authorization_details::Details,
        client::{GrantType, KnownClient},
        organization::{self, Organization},
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{client_auth::Caller, form::Form},
        grants::target::{self, Sought},
        issuing::{self, TokenContent, TokenResponse},
    },
};
use std::sync::Arc;

const WRONG_ORGANIZATION: OAuthError =
    OAuthError::new(Code::InvalidTarget, "the client does not speak for this organization");

pub const GRANT: Grant = Grant {
    kind: GrantType::ClientCredentials,
    serve: |app, caller, form| Box::pin(grant(app, caller, form)),
};

async fn grant(app: &App, caller: &Caller, form: &Form) -> Result<TokenResponse, OAuthError> {
    let client = caller.confidential()?;
    issuing::check_client(app, client)?;
    let scopes = Scopes::parse(form.get("scope").unwrap_or_default())
        .map_err(|_| OAuthError::new(Code::InvalidScope, "a scope is malformed"))?;
    if form.get("authorization_details").is_some() {
        let why = "authorization_details are granted by people, and this grant has none";
        return Err(OAuthError::new(Code::InvalidAuthorizationDetails, why));
    }
    let details = Details::default();
    let home = home(app, client, form.get("organization")).await?;
    let home = home.as_ref().and_then(|seen| seen.machine.known());
    let organization = home.map(|home| home.slug.as_str());
    let sought = Sought { client, scopes: &scopes, details: &details, organization };
    let target = target::find(app, form.resource()?, sought).await?;
    let organization = home.map(|home| home.slug.clone());
    let offered = target.offered();
    let asked =
        RequestedAuthority { organization, audience: target.audience, offered, scopes, details };
    let granted = client.narrow(home, asked).map_err(|why| refuse(&why))?;

    let bound = caller.possession_spent(app).await?.bound;
    let roles: Vec<String> = client.roles_at(home).into_iter().map(str::to_owned).collect();
    let epoch = home.map_or(0, |home| home.epoch);
    let (granted, roles) = (&granted, &roles[..]);
    issuing::sign(app, TokenContent { client, granted, roles, epoch, under: None, bound })
}

/// Returns the organization the client speaks for, as it is.
async fn home(
    app: &App,
    client: &KnownClient,
    asked: Option<&str>,
) -> Result<Option<Arc<EntitySnapshot<Organization>>>, OAuthError> {
    if asked.is_some() && asked != client.organization.as_deref() {
        return Err(WRONG_ORGANIZATION);
    }
    let Some(slug) = &client.organization else { return Ok(None) };
    let seen = app.views.organizations.look(slug).await?;
    let enabled = |home: &organization::Known| home.enabled;
    // Suspended: it confers no authority.
    if seen.machine.known().is_some_and(enabled) { Ok(Some(seen)) } else { Err(WRONG_ORGANIZATION) }
}

fn refuse(widening: &Widening) -> OAuthError {
    let (code, description) = match widening {
        Widening::OtherOrganization => return WRONG_ORGANIZATION,
        Widening::OutOfReach
        | Widening::DetailsBeyondGrant
        | Widening::DetailsNotOffered
        | Widening::DetailsNotConferred => {
            (Code::InvalidTarget, "the client holds nothing that this resource offers")
        }
        Widening::BeyondRegistration { .. } => {
            (Code::InvalidScope, "a scope is not among those the client was registered with")
        }
        Widening::BeyondGrant { .. } | Widening::NotOffered { .. } => {
            (Code::InvalidScope, "a scope was not granted")
        }
        Widening::NotConferred { .. } => {
            (Code::InvalidScope, "a scope is not conferred by the roles of the client")
        }
        Widening::NeedsMembership { .. } => {
            (Code::InvalidScope, "a scope needs an organization to speak for")
        }
        Widening::NeedsPerson { .. } => {
            (Code::InvalidScope, "a scope speaks of a person, and this grant has none")
        }
    };
    OAuthError::new(code, description).naming_if(widening.scope())
}
