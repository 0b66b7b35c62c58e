//! The one client for everything that calls out: keys, metadata documents, webhooks, messages.
//!
//! A URL may come from any client, so every request takes the same steps:
//!
//! 1. the URL is checked: scheme, no credentials, a host;
//! 2. the host is resolved once, and each of its addresses is checked; a single forbidden one
//!    refuses the name as a whole;
//! 3. the connection goes to one of these very addresses, so a name that changes its answer in
//!    between gains nothing;
//! 4. one request, one answer, within limits of time and size; nothing is followed, unpacked,
//!    retried or kept open, and no proxy is asked.

mod address;
mod client;
mod destination;
mod error;
mod exchange;
mod request;
mod resolver;
mod share;
#[cfg(test)]
mod tests;
mod tls;
mod txt;

pub use address::is_public;
pub use client::{MayConnect, OutboundClient, Policy};
pub use error::{OutboundError, TrustError};
pub use request::{Request, Response};
pub use resolver::{Addresses, DnsResolver, Resolver};
pub use share::{Share, Shares};
pub use txt::{TxtAnswer, TxtAnswerFuture, TxtResolver};
