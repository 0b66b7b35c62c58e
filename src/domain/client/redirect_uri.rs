//! Redirect URIs: which may be registered, and when one presented is one registered.
//!
//! Codes and tokens go where these lead, so a URI is compared as it is written, by its characters
//! (OAuth 2.1 §2.3.1, RFC 9700 §4.1.3), with one exception: a native application takes whatever port
//! its system gives it on loopback (RFC 8252 §7.3).

use super::{
    ApplicationType,
    uri::{Authority, Uri, UriFault, is_loopback as is_loopback_host},
};

/// Says whether a redirect URI may be registered at all.
///
/// Whether a private-use scheme suits the application's type is checked with the whole metadata.
pub fn check(text: &str) -> Result<(), UriFault> {
    let uri = Uri::parse(text)?;
    // RFC 6749 §3.1.2: an absolute URI without a fragment.
    if uri.fragment.is_some() {
        return Err(UriFault::Fragment);
    }
    match uri.scheme {
        "https" => Ok(()),
        "http" if uri.is_loopback_http() => Ok(()),
        "http" => Err(UriFault::PlainHttp),
        // `javascript:`, `data:`, `file:` and the like bear no dot.
        scheme if is_reversed_domain(scheme) => Ok(()),
        _ => Err(UriFault::Scheme),
    }
}

/// Says whether `presented` is the URI that was `registered`.
///
/// `application_type` is as registered, not its default: the port is free on a loopback address, and
/// on `localhost` registered without a port, unless the client said that it is a web application.
pub fn matches(
    registered: &str,
    presented: &str,
    application_type: Option<ApplicationType>,
) -> bool {
    if registered == presented {
        return true;
    }
    if application_type == Some(ApplicationType::Web) {
        return false;
    }
    let (Some(meant), Some(asked)) = (Loopback::of(registered), Loopback::of(presented)) else {
        return false;
    };
    let port_is_free = meant.host != "localhost" || meant.port.is_none();
    port_is_free && meant.host == asked.host && meant.rest == asked.rest
}

/// Tells whether a URI leads to the person's own machine, where any program may listen.
pub fn is_loopback(text: &str) -> bool {
    let Ok(Uri { scheme: "http" | "https", authority: Some(authority), .. }) = Uri::parse(text)
    else {
        return false;
    };
    is_loopback_host(&authority.host.to_ascii_lowercase())
}

/// Tells whether a URI leads to a program that claimed its scheme, as any may (RFC 8252 §7.1).
pub fn is_private_use(text: &str) -> bool {
    Uri::parse(text).is_ok_and(|uri| !matches!(uri.scheme, "http" | "https"))
}

/// Returns where a URI leads, in words that a person can judge: its host, or the scheme that a program
/// on the person's device has claimed.
pub fn host(text: &str) -> Option<String> {
    let uri = Uri::parse(text).ok()?;
    let named = match (uri.scheme, uri.authority) {
        ("http" | "https", Some(authority)) => authority.host,
        ("http" | "https", None) => return None,
        (scheme, _) => scheme,
    };
    Some(named.to_ascii_lowercase()).filter(|named| !named.is_empty())
}

/// A plain http URI on this machine, cut where the port stands.
struct Loopback<'a> {
    host: &'a str,
    port: Option<&'a str>,
    /// Everything after the authority.
    rest: &'a str,
}

impl<'a> Loopback<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let net = text.strip_prefix("http://")?;
        let (authority, rest) = net.split_at(net.find(['/', '?', '#']).unwrap_or(net.len()));
        let Authority { host, port } = Authority::parse(authority).ok()?;
        is_loopback_host(host).then_some(Self { host, port, rest })
    }
}

/// RFC 8252 §7.1: a private-use scheme is a domain name reversed; §8.4: one without a period is to be
/// refused.
fn is_reversed_domain(scheme: &str) -> bool {
    scheme.contains('.') && scheme.split('.').all(|label| !label.is_empty())
}

#[cfg(test)]
mod matching;
#[cfg(test)]
mod tests;
