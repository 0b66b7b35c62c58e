//! Which server guards an API: protected resource metadata (RFC 9728).
//!
//! | path | about |
//! |---|---|
//! | bare | the issuer, where userinfo is |
//! | `/api` | the management API |
//! | `/scim/v2/{slug}` | SCIM of an organization |
//! | `/resources/{host}{path}` | a resource that was provisioned under that address; its own server names this document in `WWW-Authenticate` |

use crate::{
    domain::{
        authority::{Audience, OIDC_SCOPES},
        organization::is_slug,
        resource::{Known, LONGEST_IDENTIFIER},
    },
    http::{
        answer::error::Problem,
        app::App,
        grants::target::{self, scopes_of},
        reading::Reading,
        routes,
    },
};
use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    resource: &'a str,
    authorization_servers: [&'a str; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<&'a str>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_details_types_supported: Vec<&'a str>,
}

/// Returns the member of a challenge by which a client finds the document of the issuer (RFC 9728 §5.1).
pub fn named(app: &App) -> String {
    format!("resource_metadata=\"{}{}\"", app.issuer, routes::PROTECTED_RESOURCE)
}

pub async fn of_issuer(State(app): State<App>) -> Response {
    answer(&Document {
        resource: &app.issuer,
        authorization_servers: [&app.issuer],
        scopes_supported: OIDC_SCOPES.to_vec(),
        bearer_methods_supported: ["header"],
        resource_name: None,
        authorization_details_types_supported: Vec::new(),
    })
}

pub async fn of_api(State(app): State<App>) -> Response {
    match app.own_api.machine.known() {
        Some(known) => of(&app, known),
        None => Problem::NOT_FOUND.into_response(),
    }
}

/// The same for an organization that exists and one that does not.
pub async fn of_scim(
    State(app): State<App>,
    Path(slug): Path<String>,
) -> Result<Response, Problem> {
    if !is_slug(&slug) {
        return Err(Problem::NOT_FOUND);
    }
    Ok(of(&app, &Known::scim(&app.issuer, &slug)))
}

pub async fn of_resource(
    State(app): State<App>,
    Path(address): Path<String>,
) -> Result<Response, Problem> {
    // An address without a path is written with a slash and without.
    let address = address.trim_start_matches('/');
    let bare = address.trim_end_matches('/');
    let host_alone = !bare.contains('/');
    let mut identifiers = vec![format!("https://{address}"), format!("http://{address}")];
    if host_alone {
        identifiers.extend([format!("https://{bare}"), format!("https://{bare}/")]);
    }
    for identifier in identifiers {
        // The database could not even be asked about the others.
        if identifier.len() > LONGEST_IDENTIFIER || identifier.contains('\0') {
            continue;
        }
        let seen = target::resource(&app, &Audience::Resource(identifier), Reading::Recent).await?;
        let known = seen.as_ref().and_then(|seen| seen.machine.known());
        if let Some(known) = known.filter(|known| !app.is_built_in(&known.identifier)) {
            return Ok(of(&app, known));
        }
    }
    Err(Problem::NOT_FOUND)
}

fn of(app: &App, known: &Known) -> Response {
    let types = known.authorization_details.iter();
    answer(&Document {
        resource: &known.identifier,
        authorization_servers: [&app.issuer],
        scopes_supported: scopes_of(known).collect(),
        bearer_methods_supported: ["header"],
        resource_name: known.name.as_deref(),
        authorization_details_types_supported: types.map(|kind| kind.name.as_str()).collect(),
    })
}

fn answer(document: &Document<'_>) -> Response {
    let caching = HeaderValue::from_static("public, max-age=300");
    ([(header::CACHE_CONTROL, caching)], Json(document)).into_response()
}
