//! The modules of the FAPI 2.0 plans, `fapi2-security-profile-final-test-plan` and
//! `fapi2-message-signing-final-test-plan`, for the profile `plain_fapi`.
//!
//! A module is written once, as a function of a [`run::Run`]; the two files named after the plans, with
//! `shared_modules.rs`, list which modules a plan has and in which [`variant::Variant`]s it is run. Requests of clients that come
//! with certificates go over the listener that asks for them, all others over the public one.

#[macro_use]
mod shared_modules;

mod client_authentication;
mod codes;
mod discovery;
mod dpop;
mod flows;
mod grants;
mod message_signing;
mod negatives;
mod pushed;
mod refresh;
mod request_objects;
mod requests;
pub mod run;
mod security_profile;
pub mod signer;
pub mod talk;
pub mod tls;
pub mod variant;
