//! The limits of connections: how long, how large, how many.

use std::time::Duration;

/// What every connection is held to.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// From the accepted connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// How long the head of a request may take, on a fresh connection counted from its beginning.
    pub header_read: Duration,
    /// How long a connection may wait between two requests. Longer than the minute after which
    /// common proxies let go of theirs, so that it is they who close.
    pub idle: Duration,
    /// How long a request may be under way, until the whole answer has been sent.
    pub answer: Duration,
    /// How long a connection that we close still listens, so that what the other side is sending
    /// does not destroy our last answer.
    pub linger: Duration,
    /// How many connections may be open. For the next one the longest idle is closed; where none
    /// is idle, it waits in the backlog.
    pub max_connections: usize,
    /// How many of them one address may have, and never more than an eighth of all. For the next
    /// one its longest idle is closed; where none is idle, it is refused.
    pub max_per_address: usize,
    /// How many bytes the requests that are not answered and the answers that are not sent may
    /// take, over all connections: beyond that the connections that owe the most for the longest
    /// time are closed. Enough for some 3,500 ordinary requests at once.
    pub memory: usize,
    /// How many of them one connection may owe before it is closed.
    pub memory_per_connection: usize,
    /// The most bytes the head of a request may have.
    pub header_bytes: u32,
    /// How many requests one HTTP/2 connection may have under way.
    pub concurrent_streams: u32,
    /// How often an HTTP/2 peer is asked whether it is still there.
    pub ping_interval: Duration,
    /// How long it may take to say so.
    pub ping_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            header_read: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            answer: Duration::from_mins(2),
            linger: Duration::from_secs(1),
            max_connections: 10_000,
            max_per_address: 512,
            memory: 32 * 1024 * 1024,
            memory_per_connection: 8 * 1024 * 1024,
            header_bytes: 32 * 1024,
            concurrent_streams: 128,
            ping_interval: Duration::from_secs(20),
            ping_timeout: Duration::from_secs(20),
        }
    }
}

impl ConnectionLimits {
    /// How many connections one address may have.
    pub(super) fn per_address(&self) -> usize {
        self.max_per_address.min(self.max_connections / 8).max(1)
    }
}

/// How long each part of a drain may take.
#[derive(Clone, Debug)]
pub struct DrainLimits {
    /// How long we still accept while asking clients to leave; over as soon as no connection is open.
    pub lame_duck: Duration,
    /// How long after that a connection without a request may still bring one.
    pub idle_grace: Duration,
    /// How long, counted from the end of the lame duck, requests under way may take.
    pub timeout: Duration,
}

impl Default for DrainLimits {
    fn default() -> Self {
        Self {
            lame_duck: Duration::from_secs(2),
            idle_grace: Duration::from_secs(1),
            timeout: Duration::from_secs(25),
        }
    }
}
