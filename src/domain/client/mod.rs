//! Clients: what they say of themselves, and the rules their words must obey.

pub mod redirect_uri;
mod uri;
mod vocabulary;

pub use uri::UriFault;
pub use vocabulary::{
    ApplicationType, AuthMethod, DeliveryMode, GrantType, ResponseType, SubjectType,
};
