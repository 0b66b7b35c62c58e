//! Upstream providers: a person signs in at a provider of their company, or at one that many use, and we are its
//! relying party (adr/0134).
//!
//! | call | does |
//! |---|---|
//! | [`Upstreams::begin`] | metadata, and the address to which the browser is sent |
//! | [`Upstreams::complete`] | the callback, the exchange of the code, the ID token: a person, or why not |
//! | [`Upstreams::logout_notice`] | a logout token of the provider: which session has ended there |
//! | [`Upstreams::end_session`] | the address at which the browser signs out there |
//!
//! What is believed is for [`crate::domain::upstream`] to say; here are the calls, each through the outbound guard,
//! within limits of time and size, and a cache of metadata and key sets. Userinfo is not called, and access tokens
//! are dropped, except for GitHub, whose API says who the person is.

mod client;
mod documents;
mod endpoint;
mod error;
mod exchange;
mod github;
mod mask;
#[cfg(test)]
mod tests;
mod token;
mod transcript;
mod upstreams;

pub use client::{AppleKey, AppleKeyFault, Authentication, UpstreamClient};
pub use error::{Cause, Part, ProviderFailure, Refusal, TokenFault, UpstreamError};
pub use transcript::{Message, MessageKind, Transcript};
pub use upstreams::{AuthenticationRequest, CallbackExpectation, UpstreamSignIn, Upstreams};
