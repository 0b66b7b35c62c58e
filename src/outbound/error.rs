//! Why a call did not happen or gave no answer.

use std::io;

/// Why there is no answer; says nothing of the path, the query, the headers or the body.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    #[error("the url is not https")]
    Scheme,
    #[error("the url carries credentials")]
    Credentials,
    #[error("the url cannot be called")]
    BadUrl,
    #[error("the address is not one that may be called")]
    Forbidden,
    #[error("the address was called too often")]
    RateLimited,
    #[error("the name has no address")]
    Unresolved(#[source] io::Error),
    #[error("no address could be connected to")]
    Unreachable(#[source] io::Error),
    #[error("the tls handshake failed")]
    Tls(#[source] io::Error),
    #[error("the answer is not http")]
    Malformed(#[source] hyper::Error),
    #[error("the connection ended before the answer did")]
    Broken(#[source] hyper::Error),
    #[error("the answer is shorter than it said")]
    Short,
    #[error("the answer is longer than allowed")]
    TooLong,
    #[error("the time limit has passed")]
    TimedOut,
}

impl From<hyper::Error> for OutboundError {
    fn from(error: hyper::Error) -> Self {
        if error.is_parse() { Self::Malformed(error) } else { Self::Broken(error) }
    }
}

/// Why the additional trust anchors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("extra_ca is not readable as pem")]
    Unreadable(#[source] rustls::pki_types::pem::Error),
    #[error("extra_ca holds no certificate")]
    Empty,
    #[error("a certificate in extra_ca cannot anchor trust")]
    Unusable(#[source] rustls::Error),
}
