//! Bearer tokens: any holder may use them.

use axum::http::{HeaderMap, header};

/// Why no token was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    None,
    Malformed,
}

/// Reads the token that a request bears (RFC 6750 §2.1).
pub fn bearer(headers: &HeaderMap) -> Result<&str, Missing> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (given.next(), given.next()) {
        (None, _) => return Err(Missing::None),
        (Some(value), None) => value.to_str().map_err(|_| Missing::Malformed)?,
        (Some(_), Some(_)) => return Err(Missing::Malformed),
    };
    let (scheme, token) = value.split_once(' ').ok_or(Missing::Malformed)?;
    let token = token.trim();
    let is_bearer = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty();
    if is_bearer { Ok(token) } else { Err(Missing::Malformed) }
}
