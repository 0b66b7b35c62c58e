//! Forms that pages of other sites have a browser post.

use super::request_source::{RequestSource, comes_from_another_site};
use axum::http::HeaderMap;
use url::form_urlencoded;

/// Bytes; the head of a request may have as many again.
const LONGEST_LINK: usize = 16 * 1024;

/// Returns the link that asks the same, where a page of another site has a browser post: to that our
/// cookies do not come (`SameSite=Lax`), so that neither session nor browser would be known again.
pub fn as_link(
    path: &str,
    headers: &HeaderMap,
    source: &RequestSource,
    body: &[u8],
) -> Option<String> {
    if source.wants_json || !comes_from_another_site(headers) {
        return None;
    }
    link(path, body)
}

/// Returns the link that asks what a form asks, unless it would be too long.
pub fn link(path: &str, body: &[u8]) -> Option<String> {
    // From what was parsed, repetitions included: those are refused there as here.
    let address = format!("{path}?");
    let begins = address.len();
    let mut query = form_urlencoded::Serializer::for_suffix(address, begins);
    let link = query.extend_pairs(form_urlencoded::parse(body)).finish();
    (link.len() <= LONGEST_LINK).then_some(link)
}
