//! Where a page leads: the redirect after a form.

pub use crate::http::flows::path_of;

use crate::http::answer::redirect::see_other;
use axum::response::{IntoResponse, Response};
use url::form_urlencoded;

/// Leads from a form to a page.
pub fn to(path: &str, query: &[(&str, &str)]) -> Response {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    let query = pairs.extend_pairs(query).finish();
    let address = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    see_other(&address).unwrap_or_else(IntoResponse::into_response)
}
