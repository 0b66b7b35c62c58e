//! Clients that registered themselves (RFC 7591): what they are given, and when they are forgotten.
//!
//! Such a client is never trusted, speaks for no organization, holds no role and introspects no
//! resource. Whatever it asks for of that is no client metadata, and is ignored.
//!
//! It is forgotten when it is no longer used. A use postpones that; it is noted once a day at most,
//! so that it costs next to nothing. Only an operator who provisions the client keeps it for good.

use super::{
    AuthMethod, Client, ClientMetadata, Event, FieldFault, FieldProblem, FromDocument, GrantType,
    KnownClient, Refusal, ResponseType,
};
use crate::domain::{
    Decision, Fingerprint, Provisioned, Record, Timestamp, signing_keys::SigningAlgorithm,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// What a client may use that has named no `grant_types` (contract §5; RFC 7591 §2 has the first alone).
pub const DEFAULT_GRANTS: [GrantType; 2] = [GrantType::AuthorizationCode, GrantType::RefreshToken];

/// Bytes of JSON that a client may register of itself.
pub const MOST_METADATA: usize = 8 * 1024;

const DAY: Duration = Duration::from_hours(24);

/// How often a use is noted at most.
pub const USE_NOTED_EVERY: Duration = DAY;

/// For how long a client is kept after a person has used it.
pub const KEPT_AFTER_PERSON: Duration = Duration::from_hours(90 * 24);

/// For how long a client is kept that no person has used: after it registered, or acted by itself.
pub const KEPT_UNUSED: Duration = Duration::from_hours(30 * 24);

/// The same while there are many of them; longer than a day, since uses are noted once a day.
pub const KEPT_UNUSED_AMONG_MANY: Duration = Duration::from_hours(2 * 24);

/// What is kept of a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Of the token by which the client manages itself (RFC 7592).
    pub token: Fingerprint,
    pub registered_at: Timestamp,
    /// When a use was last noted.
    #[serde(default)]
    pub used_at: Option<Timestamp>,
    /// Whether a person has ever let it act for them.
    #[serde(default)]
    pub used_by_person: bool,
    /// When it is forgotten, unless it is used before.
    #[serde(default)]
    pub kept_until: Option<Timestamp>,
    /// Whether an operator has provisioned it since: then it is kept.
    #[serde(default)]
    pub adopted: bool,
    /// The software statement that it rests on, as it was sent (RFC 7591 §2.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// It is known by a document at its own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<FromDocument>,
}

/// A client that asks to be registered.
#[derive(Clone, Debug, PartialEq)]
pub struct Registrant {
    pub client_id: String,
    pub metadata: ClientMetadata,
    pub secret: Option<Fingerprint>,
    pub token: Fingerprint,
    /// The software statement that it rests on.
    pub statement: Option<String>,
    /// For how long it is kept if it is not used.
    pub kept_for: Duration,
}

/// For whom a client was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedBy {
    /// A person let it act for them.
    Person,
    /// It got a token in its own name, which needs no person.
    Itself,
}

/// A use of a client, and for how long that keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub by: UsedBy,
    pub kept_for: Duration,
}

impl ClientMetadata {
    /// Reads what a client wants to be registered with, and fills in what it has left out.
    ///
    /// A method that it has not named stays open: it may present its secret either way.
    pub fn to_register(members: &Map<String, Value>) -> Result<Self, Vec<FieldFault>> {
        let mut metadata = Self::default().patch(&Self::heeded(members))?;
        let grants = metadata.grant_types.get_or_insert_with(|| DEFAULT_GRANTS.to_vec());
        let spends_codes = grants.contains(&GrantType::AuthorizationCode);
        // RFC 7591 §2.1: what contradicts the grants would be an inconsistent state, and §3.2.1 lets
        // it be replaced.
        metadata.response_types =
            Some(if spends_codes { vec![ResponseType::Code] } else { Vec::new() });
        // OIDC Registration §2. An `application_type` that is left out is not `web` here: it decides
        // whether ports are free.
        metadata.id_token_signed_response_alg.get_or_insert(SigningAlgorithm::Rs256);
        let mut faults = metadata.check_whole(false);
        if Value::Object(metadata.members()).to_string().len() > MOST_METADATA {
            let problem = FieldProblem::TooLarge { most: MOST_METADATA };
            faults.push(FieldFault::new("client metadata", problem));
        }
        if faults.is_empty() { Ok(metadata) } else { Err(faults) }
    }

    /// Returns the members as registration answers them: with the method by which a client that named
    /// none is expected to authenticate (RFC 7591 §2).
    pub fn registered_members(&self) -> Map<String, Value> {
        let mut members = self.members();
        let usual = || AuthMethod::ClientSecretBasic.name().into();
        members.entry("token_endpoint_auth_method").or_insert_with(usual);
        members
    }

    /// Tells whether a client of this metadata may authenticate by a secret.
    pub fn may_use_secret(&self) -> bool {
        use AuthMethod::{ClientSecretBasic, ClientSecretPost};
        matches!(self.token_endpoint_auth_method, None | Some(ClientSecretBasic | ClientSecretPost))
    }
}

impl KnownClient {
    /// Tells whether it registered itself, and no operator has provisioned it since.
    pub fn is_self_registered(&self) -> bool {
        self.own_registration().is_some()
    }

    /// Tells whether it registered itself and no person has ever used it.
    pub fn is_unused(&self) -> bool {
        self.own_registration().is_some_and(|registration| !registration.used_by_person)
    }

    /// Tells whether a use now is one to be noted.
    pub fn use_is_due(&self, by: UsedBy, now: Timestamp) -> bool {
        self.own_registration().is_some_and(|registration| {
            let first_person = by == UsedBy::Person && !registration.used_by_person;
            let noted = registration.used_at;
            first_person || noted.is_none_or(|noted| now >= noted + USE_NOTED_EVERY)
        })
    }

    /// Returns when it is forgotten, unless it is used before.
    pub(super) fn forgotten_at(&self) -> Option<Timestamp> {
        let registration = self.own_registration()?;
        Some(registration.kept_until.unwrap_or(registration.registered_at + KEPT_UNUSED))
    }

    fn own_registration(&self) -> Option<&Registration> {
        self.registration.as_ref().filter(|registration| !registration.adopted)
    }
}

impl Registration {
    pub(super) fn note_use(&mut self, used: Usage, at: Timestamp) {
        self.used_at = Some(at);
        self.used_by_person |= used.by == UsedBy::Person;
        // A use never shortens what an earlier one has promised.
        let kept_until = at + used.kept_for;
        self.kept_until = self.kept_until.max(Some(kept_until));
    }
}

impl Client {
    pub(super) fn register(&self, registrant: &Registrant, now: Timestamp) -> Decision<Self> {
        if *self != Self::Unborn {
            return Decision::refuse(Refusal::Exists);
        }
        let Registrant { client_id, metadata, secret, token, statement, kept_for } =
            registrant.clone();
        // Without a method and without a secret it would be public, which it has not asked for.
        if metadata.may_use_secret() && secret.is_none() {
            return Decision::refuse(Refusal::SecretMissing);
        }
        let registration = Registration {
            token,
            registered_at: now,
            used_at: None,
            used_by_person: false,
            kept_until: Some(now + kept_for),
            adopted: false,
            statement,
            document: None,
        };
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

    /// Only a use that is due is worth a commit.
    pub(super) fn note_use(&self, used: Usage, now: Timestamp) -> Decision<Self> {
        match self.known() {
            None => Decision::refuse(Refusal::NoSuchClient),
            Some(known) if known.use_is_due(used.by, now) => {
                let noted = Event::Used { used, at: now };
                Decision::accept(vec![noted], Provisioned::Changed(vec!["registration"]))
            }
            Some(_) => Decision::accept(Vec::new(), Provisioned::Unchanged),
        }
    }
}

#[cfg(test)]
mod tests;
