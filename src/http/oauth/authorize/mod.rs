//! The authorization endpoint: RFC 6749 §3.1 as OAuth 2.1 has it, OIDC Core §3.1.2, RFC 9207.
//!
//! 1. client and redirect URI are proved; without them nobody is sent anywhere ([`proof`]);
//! 2. the request passes an ordered table of checks ([`checks`]); from here on an error is a redirect;
//! 3. somebody with a live session may be done at once: the same rules as in a flow decide;
//! 4. everybody else begins a flow.
//!
//! Browsers are redirected; whoever asks for JSON gets the document of the flow, or of one that is
//! over already.

mod answer;
pub mod checks;
mod proof;
mod silent;

use crate::http::{
    answer::{
        error::{OAuthError, Stopped},
        redirect::see_other,
    },
    app::App,
    extract::{
        form::{self, Form},
        request_source::{RequestSource, comes_from_another_site},
    },
    routes,
};
use answer::Answered;
use axum::{
    extract::{RawQuery, Request, State},
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
    routing::{self, MethodRouter},
};
use url::form_urlencoded;

/// Bytes; the head of a request has room for as many again.
const LONGEST_LINK: usize = 16 * 1024;

/// Serves links and forms (OIDC Core §3.1.2.1), and refuses other methods in JSON.
pub fn methods() -> MethodRouter<App> {
    routing::get(get).head(refuse_method).post(post).fallback(refuse_method)
}

async fn get(State(app): State<App>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let source = RequestSource::of(&headers, app.cookies);
    let _place = match app.request_permits.work() {
        Ok(place) => place,
        Err(stopped) => return answer::unproven(&source, OAuthError::from(stopped)),
    };
    match Form::parse_noting(query.unwrap_or_default().as_bytes()) {
        Ok(form) => authorize(&app, &form, source).await,
        Err(error) => answer::unproven(&source, error),
    }
}

/// OIDC Core §3.1.2.1: the same parameters in a form.
async fn post(State(app): State<App>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let source = RequestSource::of(&head.headers, app.cookies);
    let (body, _place) = match form::arrived(&head, body, &app).await {
        Ok(arrived) => arrived,
        Err(error) => return answer::unproven(&source, error),
    };
    match Form::parse_noting(&body) {
        Ok(form) => match as_link(&head.headers, &source, &body) {
            Some(link) => see_other(&link).unwrap_or_else(IntoResponse::into_response),
            None => authorize(&app, &form, source).await,
        },
        Err(error) => answer::unproven(&source, error),
    }
}

/// Returns the link that asks the same, where a page of another site has a browser post: to that our
/// cookies do not come (`SameSite=Lax`), so that neither session nor browser would be known again.
fn as_link(headers: &HeaderMap, source: &RequestSource, body: &[u8]) -> Option<String> {
    if source.wants_json || !comes_from_another_site(headers) {
        return None;
    }
    // From what was parsed, repetitions included: those are refused there as here.
    let address = format!("{}?", routes::AUTHORIZE);
    let begins = address.len();
    let mut query = form_urlencoded::Serializer::for_suffix(address, begins);
    let link = query.extend_pairs(form_urlencoded::parse(body)).finish();
    (link.len() <= LONGEST_LINK).then_some(link)
}

/// RFC 9110 §9.2.1: whoever only looks at what a link would answer gets no code by it.
async fn refuse_method() -> Response {
    let mut response = OAuthError::from(Stopped::MethodNotAllowed).into_response();
    let allowed = HeaderValue::from_static("GET,POST");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

async fn authorize(app: &App, form: &Form, source: RequestSource) -> Response {
    let proven = match proof::prove(app, form).await {
        Ok(proven) => proven,
        Err(error) => return answer::unproven(&source, error),
    };
    let answered = match checks::run(app, form, &proven).await {
        Err(error) => Answered::Refused(error),
        Ok(request) => silent::settle(app, request, &source).await,
    };
    answer::give(app, &proven, answered, source).await
}
