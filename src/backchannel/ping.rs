//! Tells clients that a person has decided: CIBA Core §10.2, the ping mode (adr/0090).
//!
//! 1. The commit that decides leaves a message in the outbox, with what to say sealed
//!    (`domain::backchannel_request`).
//! 2. The courier looks the client up as it is now, and posts to the endpoint that it registered, through
//!    the guarded client.
//! 3. An HTTP answer is the end of it, whatever it says: no redirect is followed and no body is read. Only
//!    where none came another try is made, until the request has expired.

use super::{in_time, later, never};
use crate::{
    actors::{Courier, DeliveryFailure, DeliveryFuture, OutboxMessage, View},
    crypto::SharedVault,
    domain::{
        backchannel_request::{PING_PURPOSE, Ping, PingContent},
        client::Client,
    },
    outbound::{OutboundClient, Request},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use std::sync::{Arc, OnceLock};
use url::Url;

/// What pings are made of, once the server has started.
pub struct PingMeans {
    pub clients: View<Client>,
    pub vault: SharedVault,
}

/// Carries pings.
pub struct PingCourier {
    outbound: Arc<OutboundClient>,
    means: OnceLock<PingMeans>,
}

impl PingCourier {
    pub fn new(outbound: Arc<OutboundClient>) -> Self {
        Self { outbound, means: OnceLock::new() }
    }

    /// Gives it what it needs; before that it delivers nothing, and the first one counts.
    pub fn start(&self, means: PingMeans) {
        let _ = self.means.set(means);
    }

    async fn ping(&self, message: &OutboxMessage) -> Result<(), DeliveryFailure> {
        let ping = Ping::read(&message.payload);
        let ping = ping.ok_or_else(DeliveryFailure::of_newer_version)?;
        let means = self.means.get().ok_or_else(|| later("the server has not started yet"))?;
        let seen = means.clients.look(&ping.client_id).await;
        let seen = seen.map_err(|error| later(&error.to_string()))?;
        let gone = || never("the client is gone, or no longer wants to be pinged");
        let client = seen.machine.known().filter(|client| client.is_pinged()).ok_or_else(gone)?;
        let uri = client.metadata.backchannel_client_notification_endpoint.as_deref();
        let uri = Url::parse(uri.ok_or_else(gone)?);
        let uri = uri.map_err(|_| never("its endpoint cannot be called"))?;
        let content = open(&means.vault, &ping).ok_or_else(|| never("it cannot be opened"))?;
        self.post(uri, &content).await
    }

    async fn post(&self, uri: Url, content: &PingContent) -> Result<(), DeliveryFailure> {
        let bearer = HeaderValue::try_from(format!("Bearer {}", content.token));
        let mut bearer = bearer.map_err(|_| never("its token cannot be sent in a header"))?;
        bearer.set_sensitive(true);
        let body = serde_json::json!({ "auth_req_id": content.auth_req_id }).to_string();
        // Plain http is registered for loopback alone.
        let request = Request::post(uri, body)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(AUTHORIZATION, bearer)
            .allow_plain_http();
        let status = in_time(self.outbound.send_for_status(request)).await?;
        if !status.is_success() {
            tracing::info!(status = status.as_u16(), "a client did not take its ping");
        }
        Ok(())
    }
}

fn open(vault: &SharedVault, ping: &Ping) -> Option<PingContent> {
    let sealed = URL_SAFE_NO_PAD.decode(&ping.sealed).ok()?;
    let content = vault.now().open(PING_PURPOSE, ping.client_id.as_bytes(), &sealed).ok()?;
    serde_json::from_slice(content.expose()).ok()
}

impl Courier for PingCourier {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(self.ping(message))
    }
}
