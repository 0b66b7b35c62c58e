//! The parts of a flow's document.

use super::ticket::Ticket;
use crate::{
    domain::{
        Timestamp,
        assurance::{Level, amr},
        authorization::{ConsentQuestion, ShownDetail},
        authorization_details::{Detail, Rendered},
        client::{ClientMetadata, KnownClient},
        flow::Seed,
        person::Person,
    },
    http::{app::App, clients},
};
use serde::Serialize;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

#[derive(Serialize)]
pub struct Assurance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<&'static str>,
    pub required: &'static str,
    pub methods: Vec<&'static str>,
}

impl Assurance {
    pub(super) fn of(person: Option<&Person>, required: Level, now: Timestamp) -> Self {
        let methods = person.map(|person| person.evidence.methods()).unwrap_or_default();
        Self {
            reached: person.and_then(|person| person.evidence.shown_level(now)).map(Level::name),
            required: required.name(),
            methods: amr(&methods),
        }
    }
}

/// What a person is asked to consent to beside the scopes: what the tokens will say (contract §5).
#[derive(Serialize)]
pub struct Consent {
    /// The identifier of the API that tokens would be for.
    pub resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// The slug of the organization that they would speak for.
    pub organization: Option<String>,
    /// The names of the roles that they would carry.
    pub roles: Vec<String>,
    /// The claims that the client would learn beside those of the scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// What they would carry beside the scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details: Vec<DetailInWords>,
}

/// A detail as it was asked for, and how it reads; it has no member `text` of its own.
#[derive(Serialize)]
pub struct DetailInWords {
    #[serde(flatten)]
    pub detail: Detail,
    pub text: Rendered,
}

impl From<ShownDetail> for DetailInWords {
    fn from(ShownDetail { detail, text }: ShownDetail) -> Self {
        Self { detail, text }
    }
}

impl From<ConsentQuestion> for Consent {
    fn from(question: ConsentQuestion) -> Self {
        let ConsentQuestion { organization, resource, roles, claims, details } = question;
        let (resource, resource_name) = match resource {
            Some(resource) => (Some(resource.identifier), resource.name),
            None => (None, None),
        };
        let organization = organization.map(|choice| choice.slug);
        let authorization_details = details.into_iter().map(DetailInWords::from).collect();
        Self { resource, resource_name, organization, roles, claims, authorization_details }
    }
}

/// What a caller must solve before a profile is taken: an answer for which the SHA-256 of
/// `challenge:email:answer` begins with so many zero bits.
#[derive(Serialize)]
pub struct ProofOfWork {
    pub algorithm: &'static str,
    pub bits: u32,
    pub challenge: String,
}

impl ProofOfWork {
    /// Returns what must be solved, if the flow takes a profile of an applicant now.
    pub(super) fn of(app: &App, id: &str, seed: &Seed, steps: &[&str]) -> Option<Self> {
        let bits = app.settings.sign_up.proof_of_work_bits;
        let asked = bits > 0 && seed.invited.is_none() && steps.contains(&"profile");
        let (challenge, _) = Ticket::open(id, &app.crypto.vault.now()).filter(|_| asked)?;
        Some(Self { algorithm: "sha-256", bits, challenge: challenge.to_owned() })
    }
}

#[derive(Serialize)]
pub struct Step {
    pub name: &'static str,
    pub method: &'static str,
    pub href: String,
}

impl Step {
    pub(super) fn of(id: &str, name: &'static str) -> Self {
        Self { name, method: "POST", href: format!("/flows/{id}/{name}") }
    }
}

#[derive(Serialize)]
pub struct Client {
    pub client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<String>,
    /// What it says of itself in other languages, for pages alone.
    #[serde(skip)]
    pub localized: BTreeMap<String, String>,
    /// It registered itself, and the operator does not vouch for what it says.
    pub self_registered: bool,
    /// In a consent document: the host that it leads to, or its private scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_host: Option<String>,
    /// The same in every document, for pages alone.
    #[serde(skip)]
    pub host: Option<String>,
    /// The slug of the one organization that it belongs to. For pages alone.
    #[serde(skip)]
    pub organization: Option<String>,
}

/// What people are told of a client; its id alone, where it cannot be looked at just now: a code may
/// be on its way to them.
pub async fn client(app: &App, client_id: &str) -> Client {
    let seen = clients::find_in_flow(app, client_id, false).await.ok();
    let known = seen.as_ref().and_then(|seen| seen.machine.known());
    let metadata = known.map(|known| &known.metadata);
    let told =
        |member: fn(&ClientMetadata) -> &Option<String>| metadata.and_then(|m| member(m).clone());
    Client {
        client_id: client_id.to_owned(),
        client_name: told(|metadata| &metadata.client_name),
        logo_uri: told(|metadata| &metadata.logo_uri),
        policy_uri: told(|metadata| &metadata.policy_uri),
        tos_uri: told(|metadata| &metadata.tos_uri),
        localized: metadata.map(|metadata| metadata.localized.clone()).unwrap_or_default(),
        self_registered: known.is_none_or(KnownClient::is_self_registered),
        redirect_host: None,
        host: None,
        organization: known.and_then(|known| known.organization.clone()),
    }
}

/// What a flow has come to; secrets are in it once.
#[derive(Default, Serialize)]
pub struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_token: Option<Zeroizing<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_to: Option<Zeroizing<String>>,
    /// The code in `redirect_to`. For the callback of a provider alone.
    #[serde(skip)]
    pub code: Option<Zeroizing<String>>,
    /// A new set of them, in clear for this once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recovery_codes: Vec<Zeroizing<String>>,
}
