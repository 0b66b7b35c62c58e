//! Values with their secret part blotted out.

use super::{Secrecy, Setting, settings::Form};
use std::fmt;
use zeroize::Zeroizing;

const BLOT: &str = "***";

/// A URL that may hold a password; shown without it, and erased when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(Zeroizing<String>);

impl SecretUrl {
    pub fn new(url: impl Into<String>) -> Self {
        Self(Zeroizing::new(url.into()))
    }

    /// Hands out the whole URL; every caller of this is a place to look at in a review.
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
        (Secrecy::Whole, _) => BLOT.to_owned(),
    }
}

/// Blots out what is secret in a URL, or in what may have been meant as one.
///
/// A password written without percent-encoding may hold any delimiter: where an `@` stands beyond
/// the authority nobody can tell how far the password goes, and only the scheme is shown.
pub(super) fn url(value: &str) -> String {
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None if value.contains('@') && value.contains(':') => return BLOT.to_owned(),
        None => return value.to_owned(),
    };
    if matches!(scheme, "sqlite" | "file") {
        return format!("{scheme}://{}", tail(rest));
    }
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if tail.contains('@') {
        return format!("{scheme}://{BLOT}");
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

/// Who connects is no secret to databases and mail servers; elsewhere a lone user may be a token.
fn userinfo(scheme: &str, userinfo: &str) -> String {
    let names_a_user = scheme.starts_with("postgres") || scheme.starts_with("smtp");
    match userinfo.split_once(':') {
        Some((user, _)) if names_a_user => format!("{user}:{BLOT}"),
        None if names_a_user => userinfo.to_owned(),
        _ => BLOT.to_owned(),
    }
}

/// Nobody can tell from its name whether a parameter is secret: all of them are blotted out.
fn query(query: &str) -> String {
    let blot = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={BLOT}"),
        None => BLOT.to_owned(),
    };
    query.split('&').map(blot).collect::<Vec<_>>().join("&")
}
