//! HTTP: standards into commands, outcomes into standard answers.
//!
//! A handler has four parts: read the request, build a command, ask, write the answer. It decides
//! nothing that a machine decides, holds no actor and writes no SQL.
//!
//! No room imports one above it (`tests/kernel/import_cycles.rs`). From below:
//!
//! | folder or file | holds |
//! |---|---|
//! | [`routes`] | the one table of endpoints: a path is said once |
//! | [`answer`] | errors, redirects and JSON |
//! | [`limits`] | permits, rate limits by address, attempts against an identifier |
//! | `reading` | how fresh what is looked at must be, what was read for a token, and asking again |
//! | [`app`] | what handlers share |
//! | `clients`, `extract` | the client that asks, and what is read from a request: forms, JSON, the caller's address |
//! | `people` | sessions, memberships, invitations, what people are told |
//! | `grants` | what a token, an API key or a grant is worth now, and for which API |
//! | `authorization` | what decides about an authorization request, and how it is answered |
//! | `issuing` | tokens for grants |
//! | [`flows`], `oauth`, [`api`], `me`, `related_origins`, `well_known` | the endpoints, one file each; [`api`] is a table of operations and one guard |
//! | `scim` | the same for SCIM, with the callers of [`api`] |
//! | `screens`, `playground`, `mailbox` | pages: hosted ones, drawn from the documents of flows, and those of a development server |
//! | `layers` | what stands around every endpoint |
//! | [`operator`], [`router`] | the two listeners: endpoints with their handlers and layers |

pub mod answer;
pub mod api;
pub mod app;
mod authorization;
mod brand_files;
mod clients;
pub(crate) mod cookies;
pub(crate) mod extract;
pub mod flows;
mod grants;
mod hosts;
mod issuing;
mod layers;
pub mod limits;
mod mailbox;
mod me;
mod new_password;
mod oauth;
pub mod operator;
mod options;
mod people;
mod playground;
pub mod purpose;
mod reading;
mod related_origins;
pub mod router;
pub mod routes;
pub mod scim;
mod screens;
pub mod time;
pub mod vitals;
mod well_known;

pub use app::App;
pub use hosts::Hosts;
pub use limits::request_permits::Limits;
pub use new_password::{About, NewPasswords, PasswordDependencies};
pub use options::{
    AlertOptions, AppOptions, Channels, Lifetimes, Links, MutualTls, PasswordOptions, SecurityTxt,
    SignUp,
};
pub use people::alert_digests;
