//! The modules of the OpenID certification plans, in our own words: one test each, under its public
//! name with `_` for `-`.
//!
//! The plans for OpenID Connect send no PKCE, and this server takes no request without it (adr/0022). So
//! every request is sent twice: as the plan has it, which must be refused by name, and with PKCE, which
//! must do what the module demands. What the plans show a person for review is looked at in the flow's
//! document.
//!
//! The plans for FAPI (`fapi2`, `fapi_ciba`) are run as they are, in every variant that concerns us.

mod backchannel_logout;
mod basic;
mod ciba;
mod ciba_clients;
mod config;
mod dynamic;
mod fapi2;
mod fapi_ciba;
mod modules;
mod plans;
mod rp_initiated_logout;
pub mod suite;
