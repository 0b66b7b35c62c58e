//! Single sign-on in a flow: which connections it offers, and what becomes of what a provider says (adr/0135).

mod end_session;
mod identity;
mod link;
mod offer;
pub mod trial;
mod waiting;

pub use end_session::{end_session, seal_hint};
pub use identity::{IDENTITY_ALREADY_LINKED, ResolvedAccount, resolve};
pub use link::{applying, identities_of, linkable, pending};
pub use offer::{ConnectionChoice, SignOnChoices, choices, connections_of, of_seed};
pub use waiting::{AskedAge, HeldAttempt, WaitingFlow};

use crate::{
    crypto::open_client_secret,
    domain::{connection::Known, signing_keys::SigningAlgorithm, upstream::Provider},
    http::{answer::error::Problem, app::App, routes},
    upstream::{AppleKey, Authentication, UpstreamClient},
};
use axum::http::StatusCode;

pub const SSO_REFUSED: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "sso_refused",
    "the other provider has refused, or what it says is not believed",
);

pub const UPSTREAM_UNAVAILABLE: Problem = Problem::new(
    StatusCode::BAD_GATEWAY,
    "upstream_unavailable",
    "the other provider cannot be reached, or does not answer as it should",
);

/// Returns where a provider sends the browser back to: an address of its own for each connection (RFC 9700 §4.4.2).
pub fn redirect_uri(app: &App, connection: &str) -> String {
    routes::of_connection(&app.issuer, routes::SSO_CALLBACK, connection)
}

/// Returns what we are at the provider of a connection.
pub fn client(app: &App, known: &Known) -> Result<UpstreamClient, Problem> {
    let vault = app.crypto.vault.now();
    let secret = open_client_secret(&vault, known).map_err(|error| {
        tracing::error!(%error, connection = known.id, "a secret cannot be opened");
        Problem::UNAVAILABLE
    })?;
    let authentication = if let Some(secret) = secret {
        let is_apple = Provider::of(&known.issuer) == Provider::Apple;
        match AppleKey::of_secret(&secret).filter(|_| is_apple) {
            None => Authentication::Secret(secret),
            Some(Ok(key)) => Authentication::AppleKey(key),
            Some(Err(error)) => {
                tracing::error!(%error, connection = known.id, "a key of Apple's cannot be read");
                return Err(UPSTREAM_UNAVAILABLE);
            }
        }
    } else {
        let keys = app.crypto.keys.borrow();
        let ours = [SigningAlgorithm::Es256, SigningAlgorithm::Rs256, SigningAlgorithm::EdDsa];
        let signers = ours.into_iter().filter_map(|one| keys.signer(one).cloned());
        Authentication::PrivateKeyJwt(signers.collect())
    };
    Ok(UpstreamClient {
        kind: known.kind,
        issuer: known.issuer.clone(),
        client_id: known.client_id.clone(),
        authentication,
        redirect_uri: redirect_uri(app, &known.id),
        company: known.company.clone(),
        scopes: Vec::new(),
    })
}
