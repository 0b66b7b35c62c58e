//! The keys of a client: those it registered, or those at its `jwks_uri`.

use crate::{
    client_documents::KeySetAddress,
    crypto::{ClientEvidence, ClientKeys, UnverifiedSignature},
    domain::client::KnownClient,
    http::app::App,
};

/// Tells whether it is the client who has shown this, with a key of its own.
pub async fn verify(
    app: &App,
    client: &KnownClient,
    evidence: ClientEvidence<'_>,
) -> Result<(), UnverifiedSignature> {
    match (&client.metadata.jwks, &client.metadata.jwks_uri) {
        (Some(set), _) => match ClientKeys::read_for(&evidence, set) {
            Some(Ok(keys)) => keys.verify(&evidence),
            // It was registered before a rule that it breaks.
            _ => Err(UnverifiedSignature::NoKey),
        },
        // Boxed: most callers have no such address, and should not carry what fetching needs.
        (None, Some(uri)) => {
            let address = KeySetAddress { uri, self_registered: client.is_self_registered() };
            Box::pin(app.documents.key_sets.verify(address, &evidence)).await
        }
        (None, None) => Err(UnverifiedSignature::NoKey),
    }
}
