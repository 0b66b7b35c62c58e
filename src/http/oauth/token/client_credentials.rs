//! A client in its own name: RFC 6749 §4.4, for the one organization it belongs to.
//!
//! 1. the organization is the client's own; another, or one that is suspended, is `invalid_target`;
//! 2. the audience is the resource asked for, or the one that owns the scopes;
//! 3. what is asked must be covered by the registration and by what the client's roles confer there;
//! 4. an access token is signed; nothing is stored, for what it rests on is in it.

use super::Issued;
use crate::{
    crypto::draw_text,
    domain::{
        access_token::{Claims, Mint},
        authority::{Asked, Scopes, Widening},
        client::KnownClient,
        organization,
        signing_keys::SigningAlgorithm,
    },
    http::{
        App,
        client_auth::Caller,
        error::{Code, OAuthError},
        form::Form,
        target,
    },
};

const WRONG_ORGANIZATION: OAuthError =
    OAuthError::new(Code::InvalidTarget, "the client does not speak for this organization");

pub async fn grant(app: &App, caller: Caller, form: &Form) -> Result<Issued, OAuthError> {
    let caller = caller.confidential()?;
    let client = caller.client();
    let scopes = Scopes::parse(form.get("scope").unwrap_or_default())
        .map_err(|_| OAuthError::new(Code::InvalidScope, "a scope is malformed"))?;
    let home = home(app, client, form.get("organization")).await?;
    let audience = target::audience(app, form.resource()?, &scopes).await?;

    let organization = home.as_ref().map(|home| home.slug.clone());
    let asked = Asked { organization, audience, scopes };
    let granted = client.narrow(home.as_ref(), asked).map_err(|why| refuse(&why))?;

    let claims = Claims::from(Mint {
        issuer: &app.issuer,
        subject: &client.client_id,
        client_id: &client.client_id,
        granted: &granted,
        roles: &client.roles_at(home.as_ref()),
        jti: draw_text(&*app.dice, 16),
        now: app.clock.now(),
        lifetime: app.lifetimes.access_token,
    });
    let access_token = app.sign(SigningAlgorithm::Es256, "at+jwt", &claims)?;
    let expires_in = app.lifetimes.access_token.as_secs();
    Ok(Issued { access_token, token_type: "Bearer", expires_in, scope: claims.scope })
}

/// Returns the organization the client speaks for, as it is.
async fn home(
    app: &App,
    client: &KnownClient,
    asked: Option<&str>,
) -> Result<Option<organization::Known>, OAuthError> {
    if asked.is_some() && asked != client.organization.as_deref() {
        return Err(WRONG_ORGANIZATION);
    }
    let Some(slug) = &client.organization else { return Ok(None) };
    let seen = app.organizations.look(slug).await.map_err(|_| OAuthError::unavailable())?;
    match seen.machine.known() {
        Some(home) if home.enabled => Ok(Some(home.clone())),
        // Suspended: it confers no authority.
        _ => Err(WRONG_ORGANIZATION),
    }
}

fn refuse(widening: &Widening) -> OAuthError {
    tracing::info!(%widening, scope = widening.scope(), "more was asked than is held");
    let description = match widening {
        Widening::OtherOrganization => return WRONG_ORGANIZATION,
        Widening::BeyondRegistration { .. } => {
            "a scope is not among those the client was registered with"
        }
        Widening::NotConferred { .. } => "a scope is not conferred by the roles of the client",
        Widening::NeedsMembership { .. } => "a scope needs an organization to speak for",
        Widening::NeedsPerson { .. } => "a scope speaks of a person, and this grant has none",
    };
    OAuthError::new(Code::InvalidScope, description)
}
