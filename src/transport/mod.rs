//! The public listener: connections accepted, timed, counted, and drained without failing a request.
//!
//! A connection takes a permit, makes a TLS handshake where TLS is spoken, shows by ALPN or by its
//! first bytes which HTTP it speaks, and is served by the router until it ends or takes too long
//! ([`ConnectionLimits`]). Every request carries a [`Peer`].
//!
//! # When there are too many
//!
//! - An address has a share of the connections ([`AddressRules`]); IPv6 is counted by /64, /56 and
//!   /48. Beyond it, its own longest idle connection is closed, or the new one is refused.
//! - Where no permit is left, the longest idle connections of all are closed.
//! - A request is counted from its head until the last byte of its answer has been handed to the
//!   system. Beyond [`ConnectionLimits::memory`] the connections that owe the most for the longest
//!   time are closed. So no client can fill the memory by asking for much or by not reading.
//!
//! # Drain
//!
//! 1. *Lame duck.* Everything is served as before, new connections too, but each HTTP/1 answer says
//!    `Connection: close`, and each HTTP/2 connection that has had a request is sent GOAWAY.
//!    Clients that are active move away by themselves. Over when no connection is open, or after
//!    [`DrainLimits::lame_duck`].
//! 2. *Shut.* The backlog is accepted and the listeners are closed. Each open connection, also one
//!    from the backlog, has [`DrainLimits::idle_grace`] to bring a request.
//! 3. *Emptying.* Connections without a request are closed. Requests under way, and those whose
//!    head has come in part, are finished, until [`DrainLimits::timeout`] runs out and the rest
//!    is cut off.
//!
//! What remains, and what the client has to try again:
//!
//! - over HTTP/1, a request that is sent in the very moment its connection is closed in 3, by a
//!   client that was silent during all of 1 and 2 (RFC 9112 §9.5), and requests pipelined behind
//!   one whose answer says `Connection: close` (§9.3.2);
//! - over HTTP/2, a request whose number is beyond the last that GOAWAY names: its client is told
//!   that it was not looked at (RFC 9113 §6.8);
//! - a TCP handshake that the system completes between our last look at the backlog and the
//!   closing of the listener, and a TLS handshake that takes longer than the grace.
//!
//! # Answers of hyper's own
//!
//! Hyper refuses what it cannot parse as HTTP/1 before there is a request: 400 for a request line,
//! version, header or body length that is wrong, 431 for a head that is too long. These bare
//! answers are given the headers that every answer has. A 414 could only come from a URI beyond
//! 65,534 bytes, which a head of ours cannot hold; hyper knows no 505, and a head that takes too
//! long gets no answer. Errors in HTTP/2 are frames, not answers, and the 431 that the HTTP/2
//! library sends for a header list that is too long stays bare.

mod acceptor;
mod addresses;
mod bare;
mod client_verifier;
mod connection;
mod connection_state;
mod files;
mod limits;
mod registry;
mod server;
mod service;
mod shared;
mod stream;
mod streams;
mod tally;
#[cfg(test)]
mod tests;
mod timeouts;
mod tls;
mod wire;

pub use addresses::{AddressCounts, AddressRules, is_on_loopback, machine, network, networks};
pub use files::raise_limit;
pub use limits::{ConnectionLimits, DrainLimits};
pub use server::{DrainOutcome, Listener, Meter, Server, ServerOptions};
pub use service::Peer;
pub use tally::Report;
pub use tls::{TlsFault, TlsIdentity, TlsMode};
