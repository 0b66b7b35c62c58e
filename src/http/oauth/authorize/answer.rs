//! Answers of the authorization endpoint: redirects for browsers, documents for programs, and a page
//! or JSON where nobody can be redirected.

use super::{AuthorizationError, proof::Proven};
use crate::{
    domain::{
        authorization::Request,
        flow::{Flow, Kind, Seed, SignedIn},
    },
    http::{
        App,
        answer::{never_stored, roomy},
        error::{OAuthError, Refused},
        flows::{
            Document, Shown, expiry,
            ticket::{OverAtOnce, Ticket},
        },
        request_source::{RequestSource, with_cookie},
    },
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use zeroize::Zeroizing;

/// What becomes of a request at the endpoint itself.
pub enum Answered {
    /// A code is in it.
    Code(Zeroizing<String>),
    Refused(AuthorizationError),
    /// The person must do something first.
    Begin {
        request: Box<Request>,
        signed_in: Option<Box<SignedIn>>,
    },
}

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

pub async fn give(
    app: &App,
    proven: &Proven,
    answered: Answered,
    source: RequestSource,
) -> Response {
    let wants_json = source.wants_json;
    let given = match answered {
        Answered::Begin { request, signed_in } => {
            begin(app, *request, signed_in.map(|one| *one), source).await
        }
        Answered::Code(to) if wants_json => Ok(over(app, proven, source, Some(to), None).await),
        Answered::Code(to) => see_other(&to),
        Answered::Refused(error) => {
            let to = error.redirect_to(&proven.redirect_uri, proven.state.as_deref(), &app.issuer);
            let response = if wants_json {
                Ok(over(app, proven, source, None, Some(to)).await)
            } else {
                see_other(&to)
            };
            response.map(|response| noted(response, error))
        }
    };
    given.unwrap_or_else(IntoResponse::into_response)
}

/// Marks a refusal for the log and for whoever counts.
fn noted(mut response: Response, error: AuthorizationError) -> Response {
    let AuthorizationError { code, description } = error;
    response.extensions_mut().insert(Refused { code, description, reason: None });
    response
}

async fn begin(
    app: &App,
    request: Request,
    signed_in: Option<SignedIn>,
    mut source: RequestSource,
) -> Result<Response, OAuthError> {
    let (channel, cookie) = source.channel(app.cookies, &*app.dice);
    let (kind, expires_at) = (Kind::SignIn, expiry(app));
    let seed = Seed { kind, channel, expires_at, request: Some(request), signed_in };
    let id = Ticket::Begun(Box::new(seed.clone())).seal(&app.vault.now(), &*app.dice);
    let response = if source.wants_json {
        let shown = Shown { id: &id, seed: &seed, flow: &Flow::Unborn, outcome: None };
        Document::of(app, shown).await?.into_response()
    } else {
        let Some(link) = &app.links.sign_in else {
            let text = "There is no sign-in page here: ask for application/json, or have the \
                        operator set links.sign_in.\n";
            return Ok((StatusCode::BAD_REQUEST, text).into_response());
        };
        let mut link = link.clone();
        link.query_pairs_mut().append_pair("flow", &id);
        see_other(link.as_str())?
    };
    Ok(with_cookie(response, cookie))
}

/// Shows a program what a browser would be redirected to.
async fn over(
    app: &App,
    proven: &Proven,
    mut source: RequestSource,
    code_to: Option<Zeroizing<String>>,
    failed_to: Option<String>,
) -> Response {
    let (channel, cookie) = source.channel(app.cookies, &*app.dice);
    let over = OverAtOnce {
        kind: Kind::SignIn,
        channel,
        expires_at: expiry(app),
        client_id: proven.client().client_id.clone(),
        scope: proven.scope.clone(),
        failed_to,
    };
    let id = Ticket::Over(over.clone()).seal(&app.vault.now(), &*app.dice);
    with_cookie(Document::over(app, &id, &over, code_to).await, cookie)
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

/// Where it is not certain whose redirect URI it is, nobody is sent there (RFC 6749 §4.1.2.1).
pub fn unproven(source: &RequestSource, error: OAuthError) -> Response {
    if source.wants_json {
        return error.into_response();
    }
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <title>This sign-in link cannot be used</title></head>\n<body>\n\
         <h1>This sign-in link cannot be used</h1>\n\
         <p>The application that sent you here made a mistake: {}.</p>\n\
         <p>Go back to it and try again; if that does not help, tell its makers.</p>\n\
         </body>\n</html>\n",
        error.description
    );
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let mut response = error.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    let (head, _) = response.into_parts();
    Response::from_parts(head, page.into())
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
