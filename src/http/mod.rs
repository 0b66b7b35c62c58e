//! HTTP: standards into commands, outcomes into standard answers.
//!
//! A handler has four parts: read the request, build a command, ask, write the answer. It decides
//! nothing that a machine decides, holds no actor and writes no SQL.
//!
//! | folder or file | holds |
//! |---|---|
//! | [`app`] | what handlers share |
//! | [`routes`] | the one table of endpoints: a path is said once |
//! | [`router`] | the endpoints with their handlers, and the layers around them |
//! | `extract` | what is read from a request: forms, JSON, the client, the caller's address |
//! | `limits` | permits, rates by address, attempts against an identifier |
//! | `facts` | what is looked up before a decision: target, session, memberships, token validity, a new password |
//! | [`answer`] | errors, redirects and JSON |
//! | `layers` | what stands around every endpoint |
//! | `screens` | hosted pages, drawn from the documents of flows |
//! | `mailbox`, `playground` | pages of a development server |
//! | [`api`] | the management API: a table of operations and one guard |
//! | `oauth`, `flows`, `me`, [`operator`], `related_origins` | the endpoints, one file each |

pub mod answer;
pub mod api;
pub mod app;
mod brand_files;
mod clients;
mod extract;
mod facts;
pub mod flows;
mod issuing;
mod layers;
pub mod limits;
mod mailbox;
mod me;
mod oauth;
pub mod operator;
mod options;
mod playground;
mod related_origins;
pub mod router;
pub mod routes;
mod screens;
pub mod time;
pub mod vitals;

pub use app::App;
pub use facts::new_password::{About, Means, NewPasswords};
pub use layers::host::Hosts;
pub use options::{AppOptions, Channels, Lifetimes, Limits, Links, PasswordOptions, SignUp};
