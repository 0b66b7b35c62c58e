//! Tells a client that what it waits for is decided.

use crate::domain::{DeliveryClass, DeliveryKey, Dispatch, Secret, Timestamp};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The topic of pings in the outbox.
pub const CIBA_PING: &str = "ciba_ping";

/// What the content of pings is sealed for; the context is the id of the client.
pub const PING_PURPOSE: &str = "ciba ping";

/// What a ping says, and to whom it proves where it comes from (CIBA Core §10.2).
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct PingContent {
    pub auth_req_id: String,
    /// The `client_notification_token`.
    pub token: String,
}

/// That a client is to be pinged; what to say is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {
    pub client_id: String,
    pub sealed: String,
}

impl Ping {
    pub(super) fn dispatch(&self, expires_at: Timestamp) -> Dispatch {
        let payload = serde_json::to_vec(self).expect("plain data with text keys is JSON");
        Dispatch {
            topic: CIBA_PING,
            class: DeliveryClass::Endpoint,
            key: DeliveryKey::client(&self.client_id),
            payload: Secret::new(payload),
            expires_at,
        }
    }

    pub fn read(payload: &Secret) -> Option<Self> {
        serde_json::from_slice(payload.expose()).ok()
    }
}
