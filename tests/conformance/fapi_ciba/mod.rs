//! The modules of `fapi-ciba-id1-test-plan` for the profile `plain_fapi`, by clients that are bound to
//! the profile `fapi-ciba`: `private_key_jwt` and certificates, poll and ping, tokens that are bound to
//! certificates, requests signed by PS256 and ES256.
//!
//! `ciba` and `ciba_clients` beside it demand the same of clients without a profile, as far as it
//! applies to them.

mod client_authentication;
mod flows;
mod ping;
mod plan;
mod request_objects;
mod run;
