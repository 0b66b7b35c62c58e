//! A message to an endpoint, as it waits in the outbox.

use super::Endpoint;
use crate::domain::{DeliveryClass, DeliveryKey, Dispatch, Secret, Timestamp, trail::Entry};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// The topic of these messages in the outbox.
pub const WEBHOOK: &str = "webhook";

/// How long an endpoint that cannot be reached is tried.
const WORTH_TELLING: Duration = Duration::from_hours(5 * 24);

/// A message to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The id of the endpoint.
    pub webhook: String,
    /// The slug of its organization; what an earlier version left in the outbox does not name it.
    #[serde(default)]
    pub organization: String,
    /// What the message is known by, at each try the same; it has no full stop.
    pub id: String,
    /// What is posted.
    pub body: String,
}

impl Delivery {
    /// Tells an endpoint of an entry of its organization's trail.
    pub fn of_entry(endpoint: &Endpoint, entry: &Entry) -> Self {
        let body = json!({ "type": entry.event, "timestamp": entry.at, "data": entry });
        // A full stop ends the id in what is signed.
        let id = entry.id.replace('.', "_");
        Self::new(endpoint, id, &body)
    }

    /// Tells an endpoint of nothing, so that its owner sees that it works.
    pub(super) fn test(endpoint: &Endpoint, message: &str, now: Timestamp) -> Self {
        let data = json!({ "webhook": endpoint.id });
        let body = json!({ "type": "webhook.test", "timestamp": now.rfc3339(), "data": data });
        Self::new(endpoint, message.to_owned(), &body)
    }

    fn new(endpoint: &Endpoint, id: String, body: &serde_json::Value) -> Self {
        let (webhook, organization) = (endpoint.id.clone(), endpoint.organization.clone());
        Self { webhook, organization, id, body: body.to_string() }
    }

    /// The message for the outbox.
    pub fn dispatch(&self, now: Timestamp) -> Dispatch {
        let payload = serde_json::to_vec(self).expect("plain data with text keys is JSON");
        let expires_at = now + WORTH_TELLING;
        Dispatch {
            topic: WEBHOOK,
            class: DeliveryClass::Endpoint,
            key: DeliveryKey::endpoint(&self.organization, &self.webhook),
            payload: Secret::new(payload),
            expires_at,
        }
    }

    pub fn read(payload: &Secret) -> Option<Self> {
        serde_json::from_slice(payload.expose()).ok()
    }
}
