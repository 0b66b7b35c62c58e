//! Answers of the authorization endpoint: redirects for browsers, documents for programs, and a page
//! or JSON where nobody can be redirected.

use super::proof::Proven;
use crate::{
    domain::{
        authorization::Request,
        flow::{Flow, Seed, SignedIn},
    },
    http::{
        answer::{
            authorization_error::AuthorizationError,
            error::{OAuthError, Refused},
            redirect::see_other,
        },
        app::App,
        extract::{cookies::with_cookie, request_source::RequestSource},
        flows::{
            Document, Shown, expiry,
            ticket::{OverAtOnce, Ticket},
        },
    },
};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use zeroize::Zeroizing;

/// The kind of flow that a client's request begins.
const SIGN_IN: &str = "sign_in";

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
    let (kind, expires_at) = (SIGN_IN.to_owned(), expiry(app));
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
        kind: SIGN_IN.to_owned(),
        channel,
        expires_at: expiry(app),
        client_id: proven.client().client_id.clone(),
        scope: proven.scope.clone(),
        failed_to,
    };
    let id = Ticket::Over(over.clone()).seal(&app.vault.now(), &*app.dice);
    with_cookie(Document::over(app, &id, &over, code_to).await, cookie)
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
