//! Where a request comes from, as far as trusted proxies say so.
//!
//! Any client can write a forwarded header. Its last entry was written by the peer that handed us
//! the request: it is believed if that peer is a trusted proxy; the entry before it if the last one
//! names a trusted proxy too, and so on. The first address that is no trusted proxy's is the
//! client's, and what stands before it is not believed.

use crate::transport::{AddressRules, Peer};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Returns the address of the client that sent a request over the connection of `peer`.
pub fn of(peer: Option<&Peer>, headers: &HeaderMap, addresses: &AddressRules) -> IpAddr {
    // Our listeners always name the peer; without one all clients count as one.
    let peer = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.address.ip());
    client_address(peer, headers, addresses)
}

/// Returns the address of the client on whose behalf `peer` has sent a request with these headers.
///
/// Where a trusted proxy does not say, it is the proxy's own.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, addresses: &AddressRules) -> IpAddr {
    let mut believed = peer.to_canonical();
    if !addresses.is_proxy(believed) {
        return believed;
    }
    // An entry that is no address ends it: the proxy that wrote it is the last one we know.
    for entry in entries(headers) {
        let Some(address) = entry else { return believed };
        believed = address;
        if !addresses.is_proxy(believed) {
            return believed;
        }
    }
    believed
}

/// Reads what the proxies say, the nearest first.
///
/// `X-Forwarded-For` is what proxies write; `Forwarded` (RFC 7239) is heeded where it stands alone.
fn entries(headers: &HeaderMap) -> Box<dyn Iterator<Item = Option<IpAddr>> + '_> {
    if headers.contains_key(X_FORWARDED_FOR) {
        let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
        return Box::new(lines.flat_map(|line| text(line).rsplit(',').map(node)));
    }
    let lines = headers.get_all(header::FORWARDED).iter().rev();
    Box::new(lines.flat_map(|line| split_from_the_right(text(line), b',').map(forwarded_for)))
}

/// A line that is no text has one entry that is no address.
fn text(line: &HeaderValue) -> &str {
    line.to_str().unwrap_or("unreadable")
}

/// Reads the one `for` of an element such as `for="[2001:db8::1]:4711";proto=https`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pairs = split_from_the_right(element, b';').filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
    let (Some((_, value)), None) = (named.next(), named.next()) else { return None };
    let value = value.trim();
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    node(quoted.unwrap_or(value))
}

/// Reads an address, with or without a port; `unknown` and `_hidden` are none (RFC 7239 §6).
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let address = if let Some(bracketed) = text.strip_prefix('[') {
        let (address, port) = bracketed.split_once(']')?;
        let whole = port.is_empty() || port.starts_with(':');
        address.parse::<Ipv6Addr>().ok().filter(|_| whole).map(IpAddr::from)
    } else if let Ok(address) = text.parse() {
        Some(address)
    } else {
        text.split_once(':')?.0.parse::<Ipv4Addr>().ok().map(IpAddr::from)
    };
    address.map(|address| address.to_canonical())
}

/// Splits at every separator that is not within quotes, the last part first.
///
/// From the right, because the last part is a trusted proxy's and well-formed: a quotation mark that
/// a client has left open further to the left cannot swallow it.
fn split_from_the_right(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let found = text.bytes().enumerate().rev().find(|(at, byte)| {
            quoted ^= *byte == b'"' && !is_escaped(text, *at);
            !quoted && *byte == separator
        });
        let (before, part) = match found {
            Some((at, _)) => (Some(&text[..at]), &text[at + 1..]),
            None => (None, text),
        };
        rest = before;
        Some(part)
    })
}

/// Tells whether an odd number of backslashes stands before the character at `at`.
fn is_escaped(text: &str, at: usize) -> bool {
    let before = text.as_bytes()[..at].iter().rev();
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests;
