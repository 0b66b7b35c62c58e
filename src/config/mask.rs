//! Values with their secret part masked.

use super::{Secrecy, Setting, settings::Form};
use std::fmt;
use zeroize::Zeroizing;

const MASK: &str = "***";

/// A URL that may hold a password; shown without it, and erased when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(Zeroizing<String>);

impl SecretUrl {
    pub fn new(url: impl Into<String>) -> Self {
        Self(Zeroizing::new(url.into()))
    }

    /// Returns the whole URL; review every caller of this.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&url(&self.0))
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretUrl({self})")
    }
}

/// Returns as much of a well-formed value as may be shown.
pub(super) fn text(setting: &Setting, value: &str) -> String {
    match (setting.secrecy, &setting.form) {
        (Secrecy::Url, _) | (Secrecy::Open, Form::Url(_) | Form::Word(_)) => url(value),
        (Secrecy::Open, _) => value.to_owned(),
        (Secrecy::Whole, _) => MASK.to_owned(),
    }
}

/// Masks what is secret in a URL, or in what may have been meant as one.
///
/// A password written without percent-encoding may hold any delimiter: where an `@` follows the
/// authority the end of the password is unknown, and only the scheme is shown.
pub(super) fn url(value: &str) -> String {
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None if value.contains('@') && value.contains(':') => return MASK.to_owned(),
        None => return value.to_owned(),
    };
    if matches!(scheme, "sqlite" | "file") {
        return format!("{scheme}://{}", tail(rest));
    }
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if tail.contains('@') {
        return format!("{scheme}://{MASK}");
    }
    let authority = match authority.rsplit_once('@') {
        None => authority.to_owned(),
        Some((userinfo, host)) => format!("{}@{host}", self::userinfo(scheme, userinfo)),
    };
    format!("{scheme}://{authority}{}", self::tail(tail))
}

/// The path is shown, a fragment never.
fn tail(tail: &str) -> String {
    let (tail, fragment) = match tail.split_once('#') {
        Some((tail, _)) => (tail, "#***"),
        None => (tail, ""),
    };
    match tail.split_once('?') {
        None => format!("{tail}{fragment}"),
        Some((path, query)) => format!("{path}?{}{fragment}", self::query(query)),
    }
}

/// A user of a database or a mail server is no secret; elsewhere a user without a password may be a
/// token.
fn userinfo(scheme: &str, userinfo: &str) -> String {
    let names_a_user = scheme.starts_with("postgres") || scheme.starts_with("smtp");
    match userinfo.split_once(':') {
        Some((user, _)) if names_a_user => format!("{user}:{MASK}"),
        None if names_a_user => userinfo.to_owned(),
        _ => MASK.to_owned(),
    }
}

/// The name of a parameter does not tell whether it is secret: all of them are masked.
fn query(query: &str) -> String {
    let masked = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    };
    query.split('&').map(masked).collect::<Vec<_>>().join("&")
}
