//! Answers of the authorization endpoint: redirects for browsers, documents for programs, and a page
//! or JSON where a redirect is not safe.

use super::proof::ProvenClient;
use crate::{
    domain::{
        Context,
        authorization::{Carrier, Request},
        client::{KnownClient, redirect_uri},
        flow::{Flow, SIGN_IN, STEP_UP, Seed, SignedIn, Stage},
    },
    html::escape,
    http::{
        answer::{
            authorization_error::AuthorizationError,
            error::{OAuthError, RefusalMark, Subject},
            never_stored, private_json,
            redirect::see_other,
            response_summary::ResponseSummary,
        },
        app::App,
        authorization::response::AuthorizationResponse,
        extract::{cookies::with_cookie, request_source::RequestSource},
        flows::{
            Document, FlowView, expiry,
            ticket::{OverAtOnce, Ticket},
        },
        people::session,
        routes,
    },
};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// The answer of the endpoint itself to a request.
pub enum EndpointAnswer {
    Code(AuthorizationResponse),
    Refused(AuthorizationError),
    /// The person must do something first.
    Begin {
        request: Box<Request>,
        signed_in: Option<Box<SignedIn>>,
        /// They may choose an account that is signed in here.
        selects: bool,
    },
}

pub async fn give(
    app: &App,
    proven: &ProvenClient,
    answered: EndpointAnswer,
    (context, source): (&Context, RequestSource),
) -> Response {
    let wants_json = source.wants_json;
    let given = match answered {
        EndpointAnswer::Begin { request, signed_in, selects } => {
            begin(app, *request, (signed_in.map(|one| *one), selects), (context, source)).await
        }
        EndpointAnswer::Code(to) if wants_json => {
            Ok(over(app, proven, source, Some(to.address(app)), None).await)
        }
        EndpointAnswer::Code(to) => to.give(app),
        EndpointAnswer::Refused(error) => {
            let response = refuse(app, proven, &error, source).await;
            response.map(|response| noted(response, error, proven.client()))
        }
    };
    given.unwrap_or_else(IntoResponse::into_response)
}

async fn refuse(
    app: &App,
    proven: &ProvenClient,
    error: &AuthorizationError,
    source: RequestSource,
) -> Result<Response, OAuthError> {
    let to = || AuthorizationResponse::error(app, &proven.reply_to, error);
    if source.wants_json {
        let to = to()?.address(app).to_string();
        Ok(over(app, proven, source, None, Some(to)).await)
    } else if stays_here(app, proven, &source).await {
        Ok(destination_page(proven, error.clone()))
    } else {
        to()?.give(app)
    }
}

/// Marks a refusal for the log and the metrics.
fn noted(mut response: Response, error: AuthorizationError, client: &KnownClient) -> Response {
    let AuthorizationError { code, description, subject } = error;
    let (reason, client_id) = (None, Some(client.client_id.clone()));
    let refused = RefusalMark { code, description, reason, client_id, subject };
    response.extensions_mut().insert(refused);
    response
}

async fn begin(
    app: &App,
    request: Request,
    (signed_in, selects): (Option<SignedIn>, bool),
    (context, mut source): (&Context, RequestSource),
) -> Result<Response, OAuthError> {
    let (channel, cookie) = source.channel(app.settings.cookies, &*app.dice);
    // A person who is signed in and is to prove more steps up.
    let steps_up = signed_in.as_ref().is_some_and(|signed_in| signed_in.wanted.is_some());
    let kind = if steps_up { STEP_UP } else { SIGN_IN };
    let (kind, expires_at) = (kind.to_owned(), expiry(app));
    let (request, stage) = (Some(request), Stage::Identify);
    let seed = Seed {
        kind,
        channel,
        expires_at,
        request,
        later: None,
        stage,
        signed_in,
        invited: None,
        operator_link: None,
        organization: None,
        connection: None,
        approval: None,
        report: None,
        user_code: None,
        selects,
        back: None,
    };
    let id = Ticket::Begun(Box::new(seed.clone())).seal(&app.crypto.vault.now(), &*app.dice);
    let response = if source.wants_json {
        let shown = FlowView { id: &id, seed: &seed, flow: &Flow::Unborn, outcome: None };
        let document = Document::of(app, shown).await?;
        document.telling_accounts(app, context, &source).await?.into_response()
    } else {
        let Some(page) = sign_in_page(app, &[("flow", &id)]) else { return Ok(no_sign_in_page()) };
        see_other(&page)?
    };
    Ok(with_cookie(response, cookie))
}

/// Shows a program what a browser would be redirected to.
async fn over(
    app: &App,
    proven: &ProvenClient,
    mut source: RequestSource,
    code_to: Option<Zeroizing<String>>,
    failed_to: Option<String>,
) -> Response {
    let (channel, cookie) = source.channel(app.settings.cookies, &*app.dice);
    let over = OverAtOnce {
        kind: SIGN_IN.to_owned(),
        channel,
        expires_at: expiry(app),
        client_id: Some(proven.client().client_id.clone()),
        scope: proven.scope.clone(),
        failed_to,
    };
    let id = Ticket::Over(over.clone()).seal(&app.crypto.vault.now(), &*app.dice);
    with_cookie(Document::over(app, &id, &over, code_to).await, cookie)
}

/// Answers HEAD to a request that GET would go on with: nothing is issued and no cookie is set, and
/// headers that only issuing could tell are left out (RFC 9110 §9.3.2).
pub async fn outline(app: &App, proven: &ProvenClient, source: &RequestSource) -> Response {
    if source.wants_json {
        return private_json(&Map::<String, Value>::new());
    }
    if proven.is_silent || is_signed_in(app, source).await {
        let status = match proven.reply_to.mode.carrier() {
            Carrier::Query => StatusCode::SEE_OTHER,
            Carrier::FormPost => StatusCode::OK,
        };
        let mut response = status.into_response();
        never_stored(&mut response);
        return response;
    }
    match sign_in_page(app, &[]) {
        Some(page) => see_other(&page).unwrap_or_else(IntoResponse::into_response),
        None => no_sign_in_page(),
    }
}

/// Tells whether a browser is kept from following an error to the client.
///
/// Anyone can register a client, and a link to us with a mistake in it would then lead anywhere. So an
/// error of such a client is a page, unless the person has signed in here (RFC 9700 §4.11.2, adr/0044).
async fn stays_here(app: &App, proven: &ProvenClient, source: &RequestSource) -> bool {
    let leaves = !proven.client().is_self_registered() || proven.is_silent;
    !leaves && !is_signed_in(app, source).await
}

async fn is_signed_in(app: &App, source: &RequestSource) -> bool {
    session::is_open(app, source).await
}

/// Names the host that an error would have led to.
fn destination_page(proven: &ProvenClient, error: AuthorizationError) -> Response {
    // A host or a scheme: letters, digits and a few marks, none of which means anything in HTML.
    let host = redirect_uri::host(&proven.reply_to.redirect_uri).unwrap_or_default();
    let text = format!(
        "<p>The application that sent you here made a mistake: {}.</p>\n\
         <p>It registered itself here, and would take you to <strong>{host}</strong>. \
         Go there only if you know it.</p>\n",
        escape(&error.text())
    );
    let told =
        ResponseSummary::BadLink { description: error.text(), host: Some(host), given: None };
    page(OAuthError::from(error).with_status(StatusCode::BAD_REQUEST), &text, told)
}

/// Where it is not certain whose redirect URI it is, no browser is sent there (RFC 6749 §4.1.2.1).
pub fn unproven(source: &RequestSource, error: OAuthError) -> Response {
    if source.wants_json {
        return error.into_response();
    }
    let given = match &error.subject {
        Some(Subject::RedirectUri { given, .. }) => Some(given.clone()),
        Some(Subject::Scope(_)) | None => None,
    };
    let shown = given.as_deref().map(|given| {
        format!(
            "<p>For developers: the address that was given is <code>{}</code></p>\n",
            escape(given)
        )
    });
    let description = Subject::complete(error.subject.as_ref(), error.description);
    let text = format!(
        "<p>The application that sent you here made a mistake: {}.</p>\n\
         <p>Go back to it and try again; if that does not help, tell its makers.</p>\n{}",
        escape(&description),
        shown.unwrap_or_default()
    );
    page(error, &text, ResponseSummary::BadLink { description, host: None, given })
}

/// Shows a refusal to a person.
fn page(error: OAuthError, text: &str, told: ResponseSummary) -> Response {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <title>This sign-in link cannot be used</title></head>\n<body>\n\
         <h1>This sign-in link cannot be used</h1>\n{text}</body>\n</html>\n"
    );
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let mut response = error.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    response.extensions_mut().insert(told);
    let (head, _) = response.into_parts();
    Response::from_parts(head, page.into())
}

/// Returns where people sign in: a page of ours, or that of `[links]`.
fn sign_in_page(app: &App, query: &[(&str, &str)]) -> Option<String> {
    let link = app.settings.links.sign_in.as_ref();
    (app.settings.screens || link.is_some()).then(|| app.page(link, routes::SIGN_IN, query))
}

fn no_sign_in_page() -> Response {
    let text = "There is no sign-in page here: ask for application/json, or have the operator set \
                links.sign_in.\n";
    (StatusCode::BAD_REQUEST, text).into_response()
}
