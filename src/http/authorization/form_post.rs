//! A page that posts an authorization response to the client (OAuth 2.0 Form Post Response Mode §2).
//!
//! It is the only page that names the client's origin in `form-action`. Its script is known by its
//! hash; without scripts there is a button. With screens the same form is in their look. Callers that
//! drive a browser by JSON are given the address of the page: what is posted is sealed in it, and readable
//! by this server alone.

use crate::{
    crypto::draw_id,
    http::{
        answer::{
            error::OAuthError,
            html::escape,
            never_stored,
            response_summary::{Posting, ResponseSummary},
        },
        app::App,
        authorization::response::AuthorizationResponse,
        routes,
    },
};
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, sync::Arc};
use url::Url;
use zeroize::Zeroizing;

const PURPOSE: &str = "form post";
/// How long the part is that the rest is sealed to.
const NAME: usize = 22;
/// No address of ours is longer.
const LONGEST: usize = 12_000;
/// A classic script after the form: some browsers run no modules.
const SCRIPT: &str = "document.forms[0].submit()";

/// Returns the address of the page that posts this.
pub fn address(app: &App, response: &AuthorizationResponse) -> Zeroizing<String> {
    let name = draw_id(&*app.dice);
    let content = serde_json::to_vec(response).expect("text and numbers are JSON");
    let content = Zeroizing::new(content);
    let sealed = app.crypto.vault.now().seal(PURPOSE, name.as_bytes(), &content, &*app.dice);
    let sealed = URL_SAFE_NO_PAD.encode(sealed);
    format!("{}{}?response={name}{sealed}", app.issuer, routes::FORM_POST).into()
}

/// Reads what an address of ours holds, unless it is too old.
pub fn open(app: &App, held: &str) -> Option<AuthorizationResponse> {
    if held.len() > LONGEST {
        return None;
    }
    let (name, sealed) = held.split_at_checked(NAME)?;
    let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let content = app.crypto.vault.now().open(PURPOSE, name.as_bytes(), &sealed).ok()?;
    let response: AuthorizationResponse = serde_json::from_slice(content.expose()).ok()?;
    (app.clock.now() < response.expires_at).then_some(response)
}

/// Shows the page.
pub fn page(response: &AuthorizationResponse) -> Result<Response, OAuthError> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <title>Back to the application</title></head>\n<body>\n<form method=\"post\" action=\"{}\">\n",
        escape(&response.redirect_uri)
    );
    for (name, value) in &response.parameters {
        let (name, value) = (escape(name), Zeroizing::new(escape(value)));
        let written =
            writeln!(page, "<input type=\"hidden\" name=\"{name}\" value=\"{}\">", value.as_str());
        written.expect("a String takes it all");
    }
    write!(
        page,
        "<noscript><button>Continue to the application</button></noscript>\n</form>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
    .expect("a String takes it all");
    let target = target(&response.redirect_uri);
    let policy = HeaderValue::try_from(policy(&target)).map_err(|_| OAuthError::unavailable())?;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let (to, parameters) = (response.redirect_uri.clone(), response.parameters.clone());
    let told = ResponseSummary::Posting(Arc::new(Posting { to, target, parameters }));
    let mut response = page.into_response();
    never_stored(&mut response);
    response.extensions_mut().insert(told);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, html);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

fn policy(target: &str) -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; form-action {target}; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}

/// The form may be posted to the client's origin and nowhere else.
fn target(redirect_uri: &str) -> String {
    let target = Url::parse(redirect_uri).ok().map(|url| match url.origin() {
        origin @ url::Origin::Tuple(..) => origin.ascii_serialization(),
        // A private scheme has no host: it is named itself.
        url::Origin::Opaque(_) => format!("{}:", url.scheme()),
    });
    // A host may have signs in it that end a directive; no name in the DNS has.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:/[]+".contains(letter);
    let target = target.filter(|target| target.chars().all(plain));
    target.unwrap_or_else(|| "'none'".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_goes_to_the_origin_of_the_client_alone() {
        for (uri, target) in [
            ("https://rp.example/cb?a=b", "form-action https://rp.example;"),
            ("http://127.0.0.1:9/cb", "form-action http://127.0.0.1:9;"),
            ("com.example.app:/cb", "form-action com.example.app:;"),
            ("https://rp.example;sandbox/cb", "form-action 'none';"),
            ("https://rp.example,x/cb", "form-action 'none';"),
            ("nowhere", "form-action 'none';"),
        ] {
            let policy = policy(&super::target(uri));
            assert!(policy.contains(target), "{policy}");
        }
    }

    #[test]
    fn what_is_posted_is_not_printed() {
        let parameters = vec![("code".to_owned(), "pac_x".to_owned().into())];
        let (to, target) = ("https://rp.example/cb".to_owned(), "https://rp.example".to_owned());
        let shown =
            format!("{:?}", ResponseSummary::Posting(Arc::new(Posting { to, target, parameters })));
        assert!(!shown.contains("pac_x") && shown.contains("rp.example"), "{shown}");
    }
}
