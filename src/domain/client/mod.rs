//! Clients: what they say of themselves, and the rules their words must obey.

mod agent_limits;
mod authority;
mod certificate;
mod control;
mod document;
mod fault;
mod fields;
mod jwks;
mod known;
mod localized;
mod machine;
mod management;
mod metadata;
mod profile;
mod read;
pub mod redirect_uri;
mod redirects;
mod refusal;
mod registration;
mod secrets;
mod sector;
mod uri;
mod vocabulary;
mod whole;

pub use agent_limits::{AgentLimits, DailyLimit, Taking, Unit, Unmeasured};
pub use authority::NotRegistered;
pub use certificate::{CertificateNames, CertificateSubject};
pub use document::{DocumentFault, FromDocument, is_document_address};
pub use fault::{FieldFault, FieldProblem, Shape, Wrong};
pub use jwks::{KeySetFault, check_public_key};
pub use known::KnownClient;
pub(in crate::domain) use localized::is_language_tag;
pub use machine::{
    Bond, CLIENTS, Client, Command, Draft, Event, LONGEST_ID, ORGANIZATION_CLIENTS, UNUSED_CLIENTS,
};
pub use management::{Deletion, Removal, Replacement};
pub use metadata::ClientMetadata;
pub use profile::{Binding, ObjectRules, Profile, ProfileRules};
pub use refusal::Refusal;
pub use registration::{
    DEFAULT_GRANTS, KEPT_AFTER_PERSON, KEPT_UNUSED, KEPT_UNUSED_AMONG_MANY, MOST_METADATA,
    Registrant, Registration, USE_NOTED_EVERY, Usage, UsedBy,
};
pub use secrets::{FormerSecret, SECRET_OVERLAP, SecretRotation};
pub use uri::UriFault;
pub(in crate::domain) use uri::check_callable;
pub use vocabulary::{
    ApplicationType, AuthMethod, DeliveryMode, GrantType, ResponseType, SubjectType,
};
