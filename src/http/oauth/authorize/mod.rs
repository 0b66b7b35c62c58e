//! The authorization endpoint: RFC 6749 §3.1 as OAuth 2.1 has it, OIDC Core §3.1.2, RFC 9207.
//!
//! 1. client and redirect URI are proved; without them no browser is sent anywhere ([`proof`]). The
//!    parameters are in the request, or were pushed before ([`source`]);
//! 2. the request passes an ordered table of checks ([`checks`]); from here on an error is a redirect,
//!    or a page where the client registered itself and the browser has no session ([`answer`]);
//! 3. a person with a live session may be done at once: the same rules as in a flow decide;
//! 4. everyone else begins a flow.
//!
//! Browsers are redirected; a caller that asks for JSON gets the document of the flow, or of one that
//! is over already. HEAD is answered as GET would be, and issues nothing.

mod answer;
pub mod checks;
mod picked;
pub mod proof;
pub mod pushed;
mod request_object;
mod silent;
pub mod source;

use crate::domain::Context;
use crate::http::{
    answer::{
        error::{OAuthError, RequestFailure},
        redirect::see_other,
    },
    app::App,
    extract::{
        context::RequestContext,
        form::{self, Form},
        link::as_link,
        origin::Origin,
        request_source::RequestSource,
    },
    limits::{purpose::Purpose, request_permits::WorkPermit},
    routes,
};
use answer::EndpointAnswer;
use axum::{
    extract::{RawQuery, Request, State},
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
    routing::{self, MethodRouter},
};
use checks::Endpoint;
use proof::ProvenClient;
use silent::Requester;
use source::Source;
use std::net::IpAddr;

/// Serves links and forms (OIDC Core §3.1.2.1), and refuses other methods in JSON.
pub fn methods() -> MethodRouter<App> {
    routing::get(get).head(head).post(post).fallback(refuse_method)
}

/// Takes a permit to work on a link, within the rate of its address.
pub fn admit(app: &App, address: IpAddr) -> Result<WorkPermit, OAuthError> {
    app.limits.pace.take(Purpose::Authorize, address, app.clock.now())?;
    Ok(app.limits.request_permits.work(address)?)
}

/// RFC 9110 §9.1 and §9.2.1: a caller that only looks at a link gets no code by it, no flow and no
/// cookie.
async fn head(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let source = RequestSource::of(&headers, app.settings.cookies);
    let _permit = match admit(&app, address) {
        Ok(permit) => permit,
        Err(error) => return answer::unproven(&source, error),
    };
    let form = match Form::parse_noting(query.unwrap_or_default().as_bytes()) {
        Ok(form) => form,
        Err(error) => return answer::unproven(&source, error),
    };
    let (parameters, proven) = match prove(&app, &form, address).await {
        Ok(proven) => proven,
        Err(error) => return answer::unproven(&source, error),
    };
    match checks::run(&app, &parameters, &proven, Endpoint::Authorize).await {
        // A document would be that of a flow.
        Err(error) if !source.wants_json => {
            answer::give(&app, &proven, EndpointAnswer::Refused(error), (&context, source)).await
        }
        _ => answer::outline(&app, &proven, &source).await,
    }
}

/// Finds the client, where the parameters are, and where the answer may go.
async fn prove<'a>(
    app: &App,
    form: &'a Form,
    caller: IpAddr,
) -> Result<(Source<'a>, ProvenClient), OAuthError> {
    let seen = proof::client(app, form, caller).await?;
    let client = seen.machine.known().ok_or_else(OAuthError::unavailable)?;
    let parameters = source::resolve(app, client, form).await?;
    let proven = proof::prove(seen, parameters.form());
    // An object that is not taken says nothing of where the answer goes; nor is that its mistake.
    let proven = proven.map_err(|error| parameters.flaw.clone().unwrap_or(error))?;
    Ok((parameters, proven))
}

async fn get(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let source = RequestSource::of(&headers, app.settings.cookies);
    let _permit = match admit(&app, address) {
        Ok(permit) => permit,
        Err(error) => return answer::unproven(&source, error),
    };
    match Form::parse_noting(query.unwrap_or_default().as_bytes()) {
        Ok(form) => authorize(&app, context, AuthorizeCall { form, caller: address, source }).await,
        Err(error) => answer::unproven(&source, error),
    }
}

/// OIDC Core §3.1.2.1: the same parameters in a form.
async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let source = RequestSource::of(&head.headers, app.settings.cookies);
    if let Err(wait) = app.limits.pace.take(Purpose::Authorize, address, app.clock.now()) {
        return answer::unproven(&source, OAuthError::from(wait));
    }
    let (body, _permit) = match form::arrived(&head, body, &app).await {
        Ok(arrived) => arrived,
        Err(error) => return answer::unproven(&source, error),
    };
    match Form::parse_noting(&body) {
        Ok(form) => match as_link(routes::AUTHORIZE, &head.headers, &source, &body) {
            Some(link) => see_other(&link).unwrap_or_else(IntoResponse::into_response),
            None => authorize(&app, context, AuthorizeCall { form, caller: address, source }).await,
        },
        Err(error) => answer::unproven(&source, error),
    }
}

async fn refuse_method() -> Response {
    let mut response = OAuthError::from(RequestFailure::MethodNotAllowed).into_response();
    let allowed = HeaderValue::from_static("GET,HEAD,POST");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

/// A request whose parameters are here.
struct AuthorizeCall {
    form: Form,
    /// The address that it came from.
    caller: IpAddr,
    source: RequestSource,
}

async fn authorize(app: &App, context: Context, incoming: AuthorizeCall) -> Response {
    let AuthorizeCall { form, caller, source } = incoming;
    let (parameters, proven) = match prove(app, &form, caller).await {
        Ok(proven) => proven,
        Err(error) => return answer::unproven(&source, error),
    };
    let answered = match checks::run(app, &parameters, &proven, Endpoint::Authorize).await {
        Err(error) => EndpointAnswer::Refused(error),
        Ok(request) => {
            let asking = Requester { context: context.clone(), source: &source };
            silent::settle(app, request, asking).await
        }
    };
    answer::give(app, &proven, answered, (&context, source)).await
}
