//! What is read from a request before a handler works on it.

pub mod address;
pub mod bearer;
pub mod body;
pub mod client_assertion;
pub mod client_auth;
pub mod client_certificate;
pub mod client_credentials;
pub mod context;
pub mod form;
pub mod forwarded_certificate;
pub mod json;
pub mod link;
pub mod origin;
pub mod possession;
pub mod request_source;
pub mod signed_claims;
pub mod unauthenticated;

pub(in crate::http) use super::cookies;
