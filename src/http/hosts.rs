//! Every request names exactly one host; a development server answers to loopback names alone.

use crate::http::answer::error::RequestFailure;
use axum::{
    extract::Request,
    http::{Version, header, uri::Authority},
};
use std::net::IpAddr;

/// To whom we answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    Any,
    /// A page elsewhere whose name was pointed at this machine must not talk to us.
    Loopback,
}

impl Hosts {
    /// Tells why a request is not for us.
    pub fn judge<B>(self, request: &Request<B>) -> Result<(), RequestFailure> {
        let mut given = request.headers().get_all(header::HOST).iter();
        let target = request.uri().authority();
        let host = match (given.next(), given.next(), target) {
            (Some(host), None, None) => {
                let host = host.to_str().ok().filter(|host| !host.is_empty());
                host.and_then(|host| host.parse::<Authority>().ok())
                    .ok_or(RequestFailure::MissingHost)?
            }
            // RFC 9112 §3.2.2 and RFC 9113 §8.3.1: named twice, it is the same.
            (Some(host), None, Some(target)) if host.as_bytes() == target.as_str().as_bytes() => {
                target.clone()
            }
            (None, None, Some(target)) if request.version() >= Version::HTTP_2 => target.clone(),
            // RFC 9112 §3.2
            _ => return Err(RequestFailure::MissingHost),
        };
        // A host has no user (RFC 9110 §4.2.4).
        if host.as_str().contains('@') {
            return Err(RequestFailure::MissingHost);
        }
        match self {
            Self::Loopback if !is_loopback(host.host()) => Err(RequestFailure::ForeignHost),
            Self::Any | Self::Loopback => Ok(()),
        }
    }
}

fn is_loopback(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(target: &str, hosts: &[&str]) -> Request<()> {
        let mut request = Request::builder().uri(target).body(()).unwrap();
        for host in hosts {
            request.headers_mut().append(header::HOST, host.parse().unwrap());
        }
        request
    }

    #[test]
    fn a_missing_empty_doubled_or_nonsensical_host_is_refused() {
        for bad in [&[][..], &[""], &["a", "a"], &["a", "b"], &["a b"], &["u@a"]] {
            assert_eq!(
                Hosts::Any.judge(&with("/", bad)),
                Err(RequestFailure::MissingHost),
                "{bad:?}"
            );
        }
        assert_eq!(Hosts::Any.judge(&with("/", &["id.example.com:8443"])), Ok(()));
    }

    #[test]
    fn a_target_that_names_another_host_is_refused() {
        assert_eq!(Hosts::Any.judge(&with("http://a/", &["a"])), Ok(()));
        for hosts in [&["b"][..], &[], &["a", "a"]] {
            let refused = Hosts::Any.judge(&with("http://a/", hosts));
            assert_eq!(refused, Err(RequestFailure::MissingHost), "{hosts:?}");
        }
    }

    #[test]
    fn a_development_server_answers_to_loopback_names_alone() {
        for good in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080"] {
            assert_eq!(Hosts::Loopback.judge(&with("/", &[good])), Ok(()), "{good}");
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
            "[127.0.0.1",
        ] {
            assert!(Hosts::Loopback.judge(&with("/", &[bad])).is_err(), "{bad}");
        }
        let elsewhere = with("http://evil.example/", &["localhost"]);
        assert!(Hosts::Loopback.judge(&elsewhere).is_err());
    }
}
