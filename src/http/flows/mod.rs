//! The flow engine, headless: contract §6.
//!
//! | method and path | what |
//! |---|---|
//! | `POST /flows` | begins a flow |
//! | `GET /flows/{id}` | shows one |
//! | `POST /flows/{id}/{step}` | takes a step: one file each |
//!
//! A flow's id bears, sealed, how it began ([`ticket`]), so that nothing is stored before its first
//! step. It belongs to the channel that began it: a browser by its cookie, a program by the id.

mod begin;
mod consent;
mod document;
mod ending;
mod identifier;
mod opened;
mod organization;
mod password;
mod problems;
mod show;
pub mod ticket;
mod totp;

pub use begin::post as begin;
pub use consent::post as consent;
pub use document::{Document, Shown, expiry};
pub use identifier::post as identifier;
pub use organization::post as organization;
pub use password::post as password;
pub use show::get as show;
pub use totp::post as totp;
