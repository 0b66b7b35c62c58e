//! Answers that send a browser back to a client, or on to a page.

use super::{error::OAuthError, never_stored, roomy};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

/// Returns the redirect URI with these parameters in its query, beside what is there.
pub fn with_query<'a>(
    redirect_uri: &str,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query = query.extend_pairs(parameters).finish();
    let joint = match redirect_uri.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, held)) if held.ends_with('&') => "",
        Some(_) => "&",
    };
    [redirect_uri, joint, &query].concat()
}

/// 303, so that a form is not posted on (RFC 9700 §4.12).
pub fn see_other(to: &str) -> Result<Response, OAuthError> {
    let mut location = HeaderValue::try_from(to).map_err(|_| OAuthError::unavailable())?;
    location.set_sensitive(true);
    let mut response = roomy(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(header::LOCATION, location);
    never_stored(&mut response);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://id.example";

    #[test]
    fn parameters_are_added_to_whatever_query_there_is() {
        for (uri, begins) in [
            ("https://rp.example/cb", "https://rp.example/cb?code=c&"),
            ("https://rp.example/cb?", "https://rp.example/cb?code=c&"),
            ("https://rp.example/cb?a=b", "https://rp.example/cb?a=b&code=c&"),
            ("https://rp.example/cb?a=b&", "https://rp.example/cb?a=b&code=c&"),
            ("com.example.app:/cb", "com.example.app:/cb?code=c&"),
        ] {
            let to = with_query(uri, [("code", "c"), ("iss", ISSUER)]);
            assert!(to.starts_with(begins), "{to}");
            assert!(to.ends_with("iss=https%3A%2F%2Fid.example"), "{to}");
        }
    }

    #[test]
    fn nothing_in_a_state_leaves_its_place() {
        let hostile = "x\r\nSet-Cookie: a=b&code=evil#frag\0é%0d%0a";
        let to = with_query(
            "https://rp.example/cb",
            [("code", "c"), ("state", hostile), ("iss", ISSUER)],
        );
        assert!(to.bytes().all(|byte| byte.is_ascii_graphic()), "{to}");
        let parsed = url::Url::parse(&to).unwrap();
        let pairs: Vec<_> = parsed.query_pairs().collect();
        assert_eq!(pairs[1], ("state".into(), hostile.into()));
        assert_eq!((pairs.len(), parsed.fragment()), (3, None));
    }
}
