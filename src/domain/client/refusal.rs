//! Why a client is not made or changed.

use super::FieldFault;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a client_id is made of 1 to 255 printable ASCII characters without spaces")]
    ClientId,
    #[error("its metadata cannot stand")]
    Metadata(Vec<FieldFault>),
    #[error("there is no organization `{0}`")]
    NoSuchOrganization(String),
    #[error("the organization `{0}` is suspended and accepts no change")]
    Suspended(String),
    #[error("a client stays with its organization: make another client")]
    OtherOrganization,
    #[error("the organization has no role `{0}`")]
    NoSuchRole(String),
    #[error("roles are held in an organization, and none is given")]
    RolesNowhere,
    #[error("a client that authenticates by a secret needs one")]
    SecretMissing,
    #[error("a client that authenticates otherwise has no use for a secret")]
    SecretUseless,
    #[error("the client authenticates without a secret")]
    NoSecret,
    #[error("a former secret is good for a day at most")]
    Overlap,
    #[error("a public client cannot prove who it is, as client_credentials needs it to")]
    PublicMachine,
    #[error("there is such a client already")]
    Exists,
    #[error("there is no such client")]
    NoSuchClient,
    #[error("there was such a client, and it has deleted itself: make another")]
    Deleted,
    #[error("the client is suspended and accepts no change")]
    ClientSuspended,
    #[error("the registration token is not the client's")]
    WrongToken,
    #[error("the secret is not the client's")]
    WrongSecret,
    #[error("an operator has provisioned the client")]
    OfOperator,
    #[error("a client that an organization has made is never trusted")]
    TrustedByMembers,
}
