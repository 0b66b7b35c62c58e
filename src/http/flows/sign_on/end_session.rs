//! The provider is told of a sign-out here: the browser goes on to its logout endpoint (OpenID Connect RP-Initiated
//! Logout 1.0 §2, adr/0138).

use super::client;
use crate::{
    domain::{Secret, account::SealedSecret, assurance::SingleSignOn, person::Person},
    http::app::App,
};
use std::time::Duration;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// What an ID token is sealed for.
const PURPOSE: &str = "id token hint";

/// Bytes: it goes through an address. A longer one is not kept.
const LONGEST: usize = 6_000;

/// How long a person who signs out waits for what the provider publishes.
const PATIENCE: Duration = Duration::from_secs(3);

/// Keeps the ID token of an upstream session until the person signs out.
pub fn seal_hint(app: &App, session: &str, token: Option<Secret>) -> Option<SealedSecret> {
    let token = token.filter(|token| token.expose().len() <= LONGEST)?;
    let vault = app.crypto.vault.now();
    let sealed = vault.seal(PURPOSE, session.as_bytes(), token.expose(), &*app.dice);
    Some(SealedSecret::new(sealed))
}

/// Returns where the browser of a person goes who has signed out here: to the provider by which they came last, if it has
/// an endpoint for that. A provider that does not answer keeps no person signed in.
pub async fn end_session(app: &App, person: &Person) -> Option<Zeroizing<String>> {
    let sign_on = person.evidence.last_sign_on()?;
    let address = timeout(PATIENCE, Box::pin(address(app, sign_on))).await;
    let address = address.inspect_err(|_| {
        tracing::info!(connection = sign_on.connection, "a provider is not told of a sign-out");
    });
    address.ok().flatten()
}

async fn address(app: &App, sign_on: &SingleSignOn) -> Option<Zeroizing<String>> {
    let session = app.views.upstream_sessions.peek(&sign_on.session).await.ok()?;
    let hint = session.machine.open()?.hint.clone()?;
    let known = app.views.connections.look(&sign_on.connection).await.ok()?;
    let client = client(app, known.machine.known()?).ok()?;
    let vault = app.crypto.vault.now();
    let hint = vault.open(PURPOSE, sign_on.session.as_bytes(), hint.expose()).ok()?;
    // Where the person goes after that is the provider's to show: an address that it does not know is an error there.
    let url = app.upstreams.end_session(&client, Some(&hint), None, None).await;
    let url = url.inspect_err(|error| {
        tracing::info!(%error, connection = sign_on.connection, "a provider is not told of a sign-out");
    });
    url.ok().flatten().map(|url| Zeroizing::new(url.into()))
}
