//! The access token that a request presents, and by which scheme.

use axum::http::{HeaderMap, header};

/// Why no token was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingToken {
    None,
    Malformed,
}

/// How a token is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Any holder may use it, or the holder of a certificate (RFC 6750 §2.1).
    Bearer,
    /// With a proof of its key (RFC 9449 §7.1).
    Dpop,
}

/// A token, as it was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresentedToken<'a> {
    pub token: &'a str,
    pub scheme: Scheme,
}

/// Reads the token that a request presents.
pub fn presented(headers: &HeaderMap) -> Result<PresentedToken<'_>, MissingToken> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (given.next(), given.next()) {
        (None, _) => return Err(MissingToken::None),
        (Some(value), None) => value.to_str().map_err(|_| MissingToken::Malformed)?,
        (Some(_), Some(_)) => return Err(MissingToken::Malformed),
    };
    let (scheme, token) = value.split_once(' ').ok_or(MissingToken::Malformed)?;
    let scheme = match scheme {
        name if name.eq_ignore_ascii_case("bearer") => Scheme::Bearer,
        name if name.eq_ignore_ascii_case("dpop") => Scheme::Dpop,
        _ => return Err(MissingToken::Malformed),
    };
    let token = token.trim();
    if token.is_empty() {
        Err(MissingToken::Malformed)
    } else {
        Ok(PresentedToken { token, scheme })
    }
}

/// Reads a token that any holder may use.
pub fn bearer(headers: &HeaderMap) -> Result<&str, MissingToken> {
    match presented(headers)? {
        PresentedToken { token, scheme: Scheme::Bearer } => Ok(token),
        PresentedToken { scheme: Scheme::Dpop, .. } => Err(MissingToken::Malformed),
    }
}
