//! Clients that are known by a document at their own address: the `client_id` is its URL (client ID
//! metadata documents, adr/0092).
//!
//! Such a client is in every respect like one that registered itself; only what it says of itself is
//! looked up where it lies. It becomes a row when a person first lets it act for them.

use super::{
    AuthMethod, Client, ClientMetadata, Event, FieldFault, KnownClient, LONGEST_ID, Refusal,
    Registration, registration::KEPT_UNUSED,
};
use crate::domain::{Decision, Fingerprint, Provisioned, Record, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

/// That a client is known by a document; what it says is kept as of any client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FromDocument {}

/// Why a document makes no client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentFault {
    #[error("it is no JSON object")]
    NoObject,
    #[error("its client_id is not the address that it lies at")]
    OtherClient,
    #[error(
        "what all can read is no secret: client_secret and methods by it are not for documents"
    )]
    Secret,
    #[error("it has no redirect_uris")]
    NoRedirect,
    #[error("{0:?}")]
    Metadata(Vec<FieldFault>),
}

/// Tells whether a `client_id` is the address of a document: https, with a path, as it is written
/// without dot segments, without credentials, query and fragment.
pub fn is_document_address(client_id: &str) -> bool {
    if client_id.len() > LONGEST_ID || !client_id.starts_with("https://") {
        return false;
    }
    let Ok(url) = Url::parse(client_id) else { return false };
    // The parser resolves dot segments and writes hosts in lower case: what differs then is refused.
    url.as_str() == client_id
        && url.path() != "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none()
        && url.host_str().is_some()
}

impl KnownClient {
    /// Reads the client that a document at this address describes, as if it were seen first now.
    pub fn from_document(
        client_id: &str,
        document: &Value,
        token: Fingerprint,
        now: Timestamp,
    ) -> Result<Self, DocumentFault> {
        let Value::Object(members) = document else { return Err(DocumentFault::NoObject) };
        if members.get("client_id").and_then(Value::as_str) != Some(client_id) {
            return Err(DocumentFault::OtherClient);
        }
        let mut members: Map<String, Value> = members.clone();
        if members.contains_key("client_secret") || members.contains_key("client_secret_expires_at")
        {
            return Err(DocumentFault::Secret);
        }
        let method = members.entry("token_endpoint_auth_method").or_insert_with(|| "none".into());
        let allowed = [AuthMethod::None, AuthMethod::PrivateKeyJwt].map(AuthMethod::name);
        if !method.as_str().is_some_and(|method| allowed.contains(&method)) {
            return Err(DocumentFault::Secret);
        }
        let metadata = ClientMetadata::to_register(&members).map_err(DocumentFault::Metadata)?;
        if metadata.redirect_uris.is_empty() {
            return Err(DocumentFault::NoRedirect);
        }
        let registration = Registration {
            token,
            registered_at: now,
            used_at: None,
            used_by_person: false,
            kept_until: Some(now + KEPT_UNUSED),
            adopted: false,
            statement: None,
            document: Some(FromDocument {}),
        };
        let registration = Some(registration);
        Ok(Self { metadata, registration, ..Self::new(client_id) })
    }

    /// The same, kept so long where no person uses it.
    pub fn with_kept_until(mut self, at: Timestamp) -> Self {
        if let Some(registration) = &mut self.registration {
            registration.kept_until = Some(at);
        }
        self
    }

    /// Returns what is kept of its document, if it is known by one.
    pub fn document(&self) -> Option<FromDocument> {
        self.registration.as_ref().filter(|one| !one.adopted)?.document
    }
}

impl Client {
    /// Keeps what a document says: the first time, and whenever it says something else.
    pub(super) fn keep(&self, seen: &KnownClient) -> Decision<Self> {
        let Some(held) = self.known() else {
            if *self != Self::Unborn {
                return Decision::refuse(Refusal::Exists);
            }
            let record = Record::new("client.registered").with("by", "document");
            let kept = Event::Provisioned(Box::new(seen.clone()));
            return Decision::accept(vec![kept], Provisioned::Created).recording(record);
        };
        if held.document().is_none() {
            // An operator has provisioned a client of that name.
            return Decision::refuse(Refusal::Exists);
        }
        if held.metadata == seen.metadata {
            return Decision::accept(Vec::new(), Provisioned::Unchanged);
        }
        let next = KnownClient { metadata: seen.metadata.clone(), ..held.clone() };
        let next = next.counting_redirects(held);
        let outcome = Provisioned::Changed(vec!["document"]);
        let record = outcome.record("client.created", "client.changed");
        let record = record.map(|record| next.telling_redirects(held, record));
        let decision = Decision::accept(vec![Event::Provisioned(Box::new(next))], outcome);
        record.into_iter().fold(decision, Decision::recording)
    }
}

#[cfg(test)]
mod tests;
