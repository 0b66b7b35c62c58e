//! A URI taken apart as it is written: nothing is decoded, lower-cased or resolved.
//!
//! What a browser would make of it must be what a reader sees in it, so whatever the two could read
//! differently is refused: users before the host, dot segments, hosts in odd notations.

// Addresses as plain values; `core` has no sockets.
use core::net::{Ipv4Addr, Ipv6Addr};
use url::Url;

/// Why a URI cannot stand; reads on from "which".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriFault {
    #[error("is not an absolute URI")]
    NotAbsolute,
    #[error("has a character that no URI may contain")]
    Character,
    #[error("has an encoded control character")]
    EncodedControl,
    #[error("names a user")]
    User,
    #[error("has no proper host")]
    Host,
    #[error("has no proper port")]
    Port,
    #[error("has dot segments")]
    DotSegments,
    #[error("has a fragment")]
    Fragment,
    #[error("must be https")]
    NotHttps,
    #[error("is plain http and not on loopback")]
    PlainHttp,
    #[error("has a scheme that is neither https nor a reversed domain name")]
    Scheme,
}

/// The parts of a URI that decide where it leads (RFC 3986 §3).
#[derive(Debug)]
pub(super) struct Uri<'a> {
    pub(super) scheme: &'a str,
    pub(super) authority: Option<Authority<'a>>,
    pub(super) fragment: Option<&'a str>,
}

/// Host and port; a user is never let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Authority<'a> {
    pub(super) host: &'a str,
    pub(super) port: Option<&'a str>,
}

/// Whether what follows `#` may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    Allowed,
    Refused,
}

impl<'a> Uri<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, UriFault> {
        check_characters(text)?;
        let (scheme, rest) = text.split_once(':').ok_or(UriFault::NotAbsolute)?;
        if !is_scheme(scheme) {
            return Err(UriFault::NotAbsolute);
        }
        let (before, fragment) = match rest.split_once('#') {
            Some((before, fragment)) => (before, Some(fragment)),
            None => (rest, None),
        };
        let (hierarchy, query) = before.split_once('?').unwrap_or((before, ""));
        let (authority, path) = match hierarchy.strip_prefix("//") {
            Some(net) => {
                let (authority, path) = net.split_at(net.find('/').unwrap_or(net.len()));
                (Some(Authority::parse(authority)?), path)
            }
            None => (None, hierarchy),
        };
        // Brackets stand around an address and nowhere else (RFC 3986 §3.2.2).
        let brackets = [path, query, fragment.unwrap_or_default()].concat().contains(['[', ']']);
        if brackets || fragment.is_some_and(|fragment| fragment.contains('#')) {
            return Err(UriFault::Character);
        }
        if has_dot_segments(path) {
            return Err(UriFault::DotSegments);
        }
        let uri = Self { scheme, authority, fragment };
        if matches!(scheme, "http" | "https") {
            uri.check_against_browsers(text)?;
        }
        Ok(uri)
    }

    /// Compares with what browsers make of the same text: another host or port is a deception.
    fn check_against_browsers(&self, text: &str) -> Result<(), UriFault> {
        let url = Url::parse(text).map_err(|_| UriFault::Host)?;
        // `https:host` and `https:///host` lead browsers to a host that no reader of a URI sees.
        let authority = self.authority.ok_or(UriFault::Host)?;
        let host = url.host_str().unwrap_or_default();
        if authority.host.is_empty() || !host.eq_ignore_ascii_case(authority.host) {
            return Err(UriFault::Host);
        }
        let port = match authority.port {
            Some(port) => port.parse().ok(),
            None if self.scheme == "https" => Some(443),
            None => Some(80),
        };
        if url.port_or_known_default() == port { Ok(()) } else { Err(UriFault::Port) }
    }

    /// Whether it is http on this very machine, in one of the three spellings of RFC 8252 §7.3
    /// and §8.3.
    pub(super) fn is_loopback_http(&self) -> bool {
        self.scheme == "http" && self.authority.is_some_and(|a| is_loopback(a.host))
    }
}

impl<'a> Authority<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, UriFault> {
        if text.contains('@') {
            return Err(UriFault::User);
        }
        // The colons of an IPv6 address stand in brackets, so the port's is the last outside them.
        let host_end = text.find(']').map_or_else(|| text.find(':'), |bracket| Some(bracket + 1));
        let (host, rest) = text.split_at(host_end.unwrap_or(text.len()));
        let port = match rest.strip_prefix(':') {
            Some(port) if is_port(port) => Some(port),
            None if rest.is_empty() => None,
            _ => return Err(UriFault::Port),
        };
        if is_host(host) { Ok(Self { host, port }) } else { Err(UriFault::Host) }
    }
}

/// Checks a URI that must be https.
pub(super) fn check_https(text: &str, fragment: Fragment) -> Result<(), UriFault> {
    let uri = Uri::parse(text)?;
    match (uri.scheme, uri.fragment, fragment) {
        ("https", None, _) | ("https", Some(_), Fragment::Allowed) => Ok(()),
        ("https", Some(_), Fragment::Refused) => Err(UriFault::Fragment),
        _ => Err(UriFault::NotHttps),
    }
}

/// Checks a URI that Porteiro calls: https, or http on this very machine.
pub(in crate::domain) fn check_callable(text: &str) -> Result<(), UriFault> {
    let uri = Uri::parse(text)?;
    match uri.scheme {
        _ if uri.fragment.is_some() => Err(UriFault::Fragment),
        "https" => Ok(()),
        "http" if uri.is_loopback_http() => Ok(()),
        "http" => Err(UriFault::PlainHttp),
        _ => Err(UriFault::NotHttps),
    }
}

/// Whether `host` as written is this machine: the parser for addresses takes four plain decimal
/// numbers and no other notation, and `localhost.example` is a domain like others.
pub(super) fn is_loopback(host: &str) -> bool {
    let address = host.parse::<Ipv4Addr>();
    matches!(host, "localhost" | "[::1]") || address.is_ok_and(|address| address.is_loopback())
}

/// Whether `host` could be written in a certificate.
pub(super) fn is_host_name(host: &str) -> bool {
    let of_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let name = host.strip_suffix('.').unwrap_or(host);
    name.split('.').all(|label| !label.is_empty() && label.bytes().all(of_name))
}

fn is_host(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    // A private-use URI may leave its host empty; where one is needed, browsers are asked.
    host.is_empty() || is_host_name(host) || address.is_some_and(|a| a.parse::<Ipv6Addr>().is_ok())
}

/// Whether these are digits as a browser would print them: not empty, no zeros in front.
pub(super) fn is_port(port: &str) -> bool {
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    digits && !port.starts_with('0') && port.parse::<u16>().is_ok()
}

/// RFC 3986 §3.1.
fn is_scheme(scheme: &str) -> bool {
    let of_scheme = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(of_scheme)
}

/// Lets through the characters of RFC 3986 §2 alone: no whitespace, no backslash, nothing beyond
/// ASCII. An encoded control character is an attack on a program that decodes it.
fn check_characters(text: &str) -> Result<(), UriFault> {
    const MARKS: &[u8] = b"-._~:/?#[]@!$&'()*+,;=%";
    if !text.bytes().all(|b| b.is_ascii_alphanumeric() || MARKS.contains(&b)) {
        return Err(UriFault::Character);
    }
    for encoded in text.split('%').skip(1) {
        let digits = encoded.get(..2).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            None => return Err(UriFault::Character),
            Some(byte) if byte.is_ascii_control() => return Err(UriFault::EncodedControl),
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether some reader would climb or stay in this path: segments of dots (RFC 3986 §5.2.4), plain
/// or encoded, between slashes or backslashes, plain or encoded.
fn has_dot_segments(path: &str) -> bool {
    let dots = path.to_ascii_lowercase().replace("%2e", ".");
    let plain = dots.replace("%2f", "/").replace("%5c", "/");
    plain.split('/').any(|segment| matches!(segment, "." | ".."))
}
