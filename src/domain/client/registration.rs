//! Clients that registered themselves (RFC 7591): what they are given, and when they are forgotten.
//!
//! A stranger is never trusted, speaks for no organization, holds no role and looks at nobody's
//! tokens; whatever of that it asks for is no client metadata, and so is not heeded.

use super::{
    AuthMethod, Client, ClientMetadata, Event, FieldFault, GrantType, KnownClient, Refusal,
    ResponseType,
};
use crate::domain::{
    Decision, Fingerprint, Provisioned, Record, Timestamp, signing_keys::SigningAlgorithm,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// How long a client that registered itself is waited for.
const AWAITED_FOR: Duration = Duration::from_hours(30 * 24);

/// What is kept of a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Of the token by which the client manages itself (RFC 7592).
    pub token: Fingerprint,
    pub registered_at: Timestamp,
    /// Whether it has come back, or is the operator's by now: then it stays.
    pub used: bool,
}

/// A client that asks to be known.
#[derive(Clone, Debug, PartialEq)]
pub struct Registrant {
    pub client_id: String,
    pub metadata: ClientMetadata,
    pub secret: Option<Fingerprint>,
    pub token: Fingerprint,
}

impl ClientMetadata {
    /// Reads what a stranger wants to be registered with, and says what it has left unsaid.
    pub fn to_register(members: &Map<String, Value>) -> Result<Self, Vec<FieldFault>> {
        use GrantType::{AuthorizationCode, RefreshToken};
        // RFC 7591 §3.1.1: a software statement may be ignored by whoever supports none.
        let mut metadata = Self::default().patch(&Self::heeded(members))?;
        let usual = || vec![AuthorizationCode, RefreshToken];
        let spends_codes =
            metadata.grant_types.get_or_insert_with(usual).contains(&AuthorizationCode);
        // RFC 7591 §2.1: what contradicts the grants would be an inconsistent state, and §3.2.1 lets
        // it be replaced.
        metadata.response_types =
            Some(if spends_codes { vec![ResponseType::Code] } else { Vec::new() });
        // RFC 7591 §2, OIDC Registration §2. Unsaid, `application_type` is not `web` here: it decides
        // whether ports are free.
        metadata.token_endpoint_auth_method.get_or_insert(AuthMethod::ClientSecretBasic);
        metadata.id_token_signed_response_alg.get_or_insert(SigningAlgorithm::Rs256);
        let faults = metadata.check_whole(false);
        if faults.is_empty() { Ok(metadata) } else { Err(faults) }
    }

    /// Tells whether a client that registers with this is to be given a secret.
    pub fn asks_for_secret(&self) -> bool {
        use AuthMethod::{ClientSecretBasic, ClientSecretPost};
        matches!(self.token_endpoint_auth_method, Some(ClientSecretBasic | ClientSecretPost))
    }
}

impl KnownClient {
    /// Tells whether it registered itself and has not been seen since.
    pub fn is_awaited(&self) -> bool {
        self.registration.as_ref().is_some_and(|registration| !registration.used)
    }

    /// Returns when a client that nobody has ever used is forgotten.
    pub(super) fn awaited_until(&self) -> Option<Timestamp> {
        let awaited = self.registration.as_ref().filter(|registration| !registration.used);
        awaited.map(|registration| registration.registered_at + AWAITED_FOR)
    }
}

impl Client {
    pub(super) fn register(&self, registrant: &Registrant, now: Timestamp) -> Decision<Self> {
        if self.known().is_some() {
            return Decision::refuse(Refusal::Exists);
        }
        let Registrant { client_id, metadata, secret, token } = registrant.clone();
        let registration = Registration { token, registered_at: now, used: false };
        let known = KnownClient {
            metadata,
            secret,
            registration: Some(registration),
            ..KnownClient::new(&client_id)
        };
        if let Err(why) = known.check(None, &[]) {
            return Decision::refuse(why);
        }
        Decision::accept(vec![Event::Provisioned(Box::new(known))], Provisioned::Created)
            .recording(Record::new("client.registered"))
    }

    /// Only the first use is worth a commit.
    pub(super) fn note_use(&self) -> Decision<Self> {
        match self.known() {
            None => Decision::refuse(Refusal::NoSuchClient),
            Some(known) if known.is_awaited() => {
                Decision::accept(vec![Event::Used], Provisioned::Changed(vec!["registration"]))
            }
            Some(_) => Decision::accept(Vec::new(), Provisioned::Unchanged),
        }
    }
}

#[cfg(test)]
mod tests;
