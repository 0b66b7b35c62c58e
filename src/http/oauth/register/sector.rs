//! Whether a client belongs to the sector it names: OIDC Registration §5.
//!
//! What is found at the `sector_identifier_uri` must list every redirect URI of the client. Any caller
//! can name any address there, so it is called through the outbound guard, and the answer is the same
//! whatever was wrong: it must not tell what our network can reach.

use super::unfit;
use crate::{
    client_documents::{FetchFault, FetchPurpose},
    domain::client::{ClientMetadata, GrantType},
    http::{answer::error::OAuthError, app::App},
};

const UNPROVED: OAuthError =
    unfit("the sector_identifier_uri does not lead to a list that names every redirect URI");

/// Refuses a client that its sector does not name.
pub async fn check(app: &App, metadata: &ClientMetadata) -> Result<(), OAuthError> {
    let Some(uri) = &metadata.sector_identifier_uri else { return Ok(()) };
    let listed = fetch(app, uri).await?;
    if belongs(metadata, &listed) {
        Ok(())
    } else {
        Err(UNPROVED.because("a URI of the client is not on the list"))
    }
}

async fn fetch(app: &App, uri: &str) -> Result<Vec<String>, OAuthError> {
    let found = app.documents.fetcher.get(FetchPurpose::Sector, uri, app.clock.now()).await;
    let found = found.map_err(|fault| match fault {
        FetchFault::Busy => OAuthError::unavailable().because(fault.to_string()),
        fault => UNPROVED.because(fault.to_string()),
    })?;
    serde_json::from_slice(&found).map_err(|_| UNPROVED.because("the answer is not a list of URIs"))
}

/// Tells whether the sector lists what people are led to, and the keys of a client that proves itself by
/// keys where no redirect does (CIBA Core §4, adr/0113).
fn belongs(metadata: &ClientMetadata, listed: &[String]) -> bool {
    let grants = metadata.grant_types(false);
    let by_keys = grants.contains(&GrantType::Ciba) || metadata.proves_sector_by_keys(&grants);
    let keys = metadata.jwks_uri.iter().filter(|_| by_keys);
    metadata.redirect_uris.iter().chain(keys).all(|uri| listed.contains(uri))
}
