//! The public listener: connections accepted, timed, counted, and drained without failing a request.
//!
//! A connection is given a place, shakes hands if it speaks TLS, says by ALPN or by its first
//! bytes which HTTP it speaks, and is served by the router until it ends or takes too long
//! ([`ConnectionLimits`]). Every request carries a [`Peer`].
//!
//! # Drain
//!
//! 1. *Lame duck.* Everything is served as before, newcomers too, but each HTTP/1 answer says
//!    `Connection: close`, and each HTTP/2 connection that has had a request is sent GOAWAY.
//!    Clients that are active move away by themselves. Over when nobody is there, or after
//!    [`DrainLimits::lame_duck`].
//! 2. *Shut.* The backlog is taken in and the listeners are closed. Who is inside, newcomers from
//!    the backlog included, has [`DrainLimits::idle_grace`] to bring a request.
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
mod bare;
mod connection;
mod connection_state;
mod door;
mod limits;
mod server;
mod shared;
mod stream;
mod streams;
mod tally;
#[cfg(test)]
mod tests;
mod timeouts;
mod tls;
mod wire;

pub use door::Peer;
pub use limits::{ConnectionLimits, DrainLimits};
pub use server::{Drained, Meter, Server, ServerOptions};
pub use tally::Report;
pub use tls::{TlsFault, TlsIdentity};
