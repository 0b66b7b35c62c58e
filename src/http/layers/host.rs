//! Every request names exactly one host; a development server answers to loopback names alone.

use crate::http::error::{Stopped, Voice};
use axum::{
    extract::{Request, State},
    http::{Version, header},
    middleware::Next,
    response::Response,
};

/// To whom we answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    Any,
    /// A page elsewhere whose name was pointed at this machine must not talk to us.
    Loopback,
}

pub async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    match judge(hosts, &request) {
        Ok(()) => next.run(request).await,
        Err(stopped) => Voice::of(request.uri().path()).word(stopped),
    }
}

fn judge(hosts: Hosts, request: &Request) -> Result<(), Stopped> {
    let mut given = request.headers().get_all(header::HOST).iter();
    let host = match (given.next(), given.next()) {
        (Some(host), None) => host.to_str().map_err(|_| Stopped::MissingHost)?,
        // HTTP/2 names it in the request itself (RFC 9113 §8.3.1).
        (None, None) if request.version() >= Version::HTTP_2 => {
            request.uri().authority().ok_or(Stopped::MissingHost)?.as_str()
        }
        // RFC 9112 §3.2
        _ => return Err(Stopped::MissingHost),
    };
    if host.is_empty() {
        return Err(Stopped::MissingHost);
    }
    match hosts {
        Hosts::Loopback if !is_loopback(host) => Err(Stopped::ForeignHost),
        Hosts::Any | Hosts::Loopback => Ok(()),
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn with(hosts: &[&str]) -> Request {
        let mut request = Request::new(Body::empty());
        for host in hosts {
            request.headers_mut().append(header::HOST, host.parse().unwrap());
        }
        request
    }

    #[test]
    fn a_missing_empty_or_doubled_host_is_refused() {
        for bad in [&[][..], &[""], &["a", "a"], &["a", "b"]] {
            assert_eq!(judge(Hosts::Any, &with(bad)), Err(Stopped::MissingHost), "{bad:?}");
        }
        assert_eq!(judge(Hosts::Any, &with(&["id.example.com"])), Ok(()));
    }

    #[test]
    fn a_development_server_answers_to_loopback_names_alone() {
        for good in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080"] {
            assert_eq!(judge(Hosts::Loopback, &with(&[good])), Ok(()), "{good}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:8080",
            "localhost:8080@evil.example",
            "[::2]",
            "localhost.",
            "0x7f.1",
        ] {
            assert_eq!(judge(Hosts::Loopback, &with(&[bad])), Err(Stopped::ForeignHost), "{bad}");
        }
    }
}
