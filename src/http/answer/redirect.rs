//! Answers that send a browser back to a client, or on to a page.

use super::{error::OAuthError, never_stored, roomy};
use crate::domain::authorization::Request;
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use zeroize::Zeroizing;

/// Returns the redirect URI with parameters, `state` and `iss` in its query (RFC 9207 §2).
pub fn redirect(
    redirect_uri: &str,
    parameters: &[(&str, &str)],
    state: Option<&str>,
    issuer: &str,
) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    query.extend_pairs(state.map(|state| ("state", state)));
    query.append_pair("iss", issuer);
    let query = query.finish();
    let joint = match redirect_uri.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, held)) if held.ends_with('&') => "",
        Some(_) => "&",
    };
    [redirect_uri, joint, &query].concat()
}

/// Returns where a browser takes a code.
pub fn redirect_with_code(request: &Request, code: &str, issuer: &str) -> Zeroizing<String> {
    let code = [("code", code)];
    redirect(&request.redirect_uri, &code, request.state.as_deref(), issuer).into()
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
            let to = redirect(uri, &[("code", "c")], None, ISSUER);
            assert!(to.starts_with(begins), "{to}");
            assert!(to.ends_with("iss=https%3A%2F%2Fid.example"), "{to}");
        }
    }

    #[test]
    fn nothing_in_a_state_leaves_its_place() {
        let hostile = "x\r\nSet-Cookie: a=b&code=evil#frag\0é%0d%0a";
        let to = redirect("https://rp.example/cb", &[("code", "c")], Some(hostile), ISSUER);
        assert!(to.bytes().all(|byte| byte.is_ascii_graphic()), "{to}");
        let parsed = url::Url::parse(&to).unwrap();
        let pairs: Vec<_> = parsed.query_pairs().collect();
        assert_eq!(pairs[1], ("state".into(), hostile.into()));
        assert_eq!((pairs.len(), parsed.fragment()), (3, None));
    }
}
