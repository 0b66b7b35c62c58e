//! The logout endpoint: OIDC RP-Initiated Logout 1.0 (contract §5, adr/0066).
//!
//! 1. An ID token of ours for a known client is the only proof of who asks ([`logout_request`]). It may have
//!    expired, and its key may be retired, never revoked.
//! 2. If it names the session of this very browser, and the client registered the URI to go to: the
//!    session ends, and the browser is redirected.
//! 3. Anything else is a question to the person, and never a redirect: a page with a form, or for
//!    programs a flow of kind `sign_out`. Once they have confirmed, they go to a URI that was proved.
//! 4. Without a session nothing is left to end.
//!
//! A form posted here by a page of another site comes without our cookies and is answered with a link
//! that asks the same. The form of our own page names its flow, which is bound to the browser.

mod logout_request;
mod page;

use crate::{
    actors::Failure,
    domain::{Actor, Context, session::Command},
    http::{
        answer::{
            error::{Code, OAuthError, Problem},
            redirect::see_other,
        },
        app::App,
        extract::{
            context::RequestContext,
            cookies::{with_cookie, with_cookies},
            form::{self, Form},
            link::link,
            origin::Origin,
            request_source::{RequestSource, check_csrf},
        },
        flows::{
            Document, browser_sessions, expiry,
            leaving::{self, SIGN_OUT},
            ticket::{OverAtOnce, SignOutTarget, Ticket},
        },
        limits::purpose::Purpose,
        oauth::authorize::admit,
        people::session::{self, HeldSession, Lookup, Present},
        routes,
    },
};
use axum::{
    extract::{RawQuery, Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{self, MethodRouter},
};
use logout_request::LogoutRequest;
use zeroize::Zeroizing;

/// Serves links and forms (RP-Initiated Logout §2).
pub fn methods() -> MethodRouter<App> {
    routing::get(get).head(head).post(post)
}

/// RFC 9110 §9.2.1: a caller that only looks at a link ends nothing.
async fn head() -> StatusCode {
    StatusCode::OK
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
        Err(error) => return refuse(&source, error),
    };
    match Form::parse_noting(query.unwrap_or_default().as_bytes()) {
        Ok(form) => log_out(&app, context, &form, source).await,
        Err(error) => refuse(&source, error),
    }
}

async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let source = RequestSource::of(&head.headers, app.settings.cookies);
    if let Err(wait) = app.limits.pace.take(Purpose::Authorize, address, app.clock.now()) {
        return refuse(&source, OAuthError::from(wait));
    }
    let (body, _permit) = match form::arrived(&head, body, &app).await {
        Ok(arrived) => arrived,
        Err(error) => return refuse(&source, error),
    };
    let form = match Form::parse_noting(&body) {
        Ok(form) => form,
        Err(error) => return refuse(&source, error),
    };
    if let Some(flow) = form.get("flow") {
        return confirm(&app, context, flow, &head.headers).await;
    }
    if !source.wants_json && check_csrf(&app, &head.headers).is_err() {
        const TOO_LONG: OAuthError =
            OAuthError::new(Code::InvalidRequest, "the parameters are too long");
        return match link(routes::LOGOUT, &body) {
            Some(link) => see_other(&link).unwrap_or_else(IntoResponse::into_response),
            // Without our cookies it would look as if no person were signed in.
            None => refuse(&source, TOO_LONG),
        };
    }
    log_out(&app, context, &form, source).await
}

fn refuse(source: &RequestSource, error: OAuthError) -> Response {
    if source.wants_json { error.into_response() } else { page::refused(error) }
}

async fn log_out(app: &App, context: Context, form: &Form, mut source: RequestSource) -> Response {
    let answered = try_to_log_out(app, context, form, &mut source).await;
    answered.unwrap_or_else(|error| refuse(&source, error))
}

async fn try_to_log_out(
    app: &App,
    context: Context,
    form: &Form,
    source: &mut RequestSource,
) -> Result<Response, OAuthError> {
    let wanted = LogoutRequest::read(app, form).await?;
    let mut held = session::held(app, &context, source, Lookup::Anew).await?;
    // Of several sessions it is the one that the token names, else the current one.
    let named = held.iter().position(|one| wanted.at_once(&one.present).is_some());
    let Some(place) = named.or_else(|| held.iter().position(|one| one.is_current)) else {
        return Ok(nothing_to_end(app, source, (wanted.leaving(), &held)).await);
    };
    if let Some(leaving) = wanted.at_once(&held[place].present) {
        let present = &held[place].present;
        end(app, context, present).await?;
        let to = leaving.redirect_to.clone();
        let answered = if source.wants_json {
            let client_id = Some(leaving.client_id.clone());
            over(app, source, client_id, Some(to.into())).await
        } else {
            see_other(&to)?
        };
        return Ok(forgetting(app, source, (&held, &present.id), answered));
    }
    let present = held.swap_remove(place).present;
    let leaving = wanted.once_confirmed(&present);
    let begun = leaving::begin(app, source, present, leaving).await?;
    let asked = if source.wants_json {
        begun.document.into_response()
    } else {
        page::confirmation(&begun.id)
    };
    Ok(with_cookie(asked, begun.cookie))
}

/// Ends the session, and with it every grant that is bound to it.
async fn end(app: &App, context: Context, present: &Present) -> Result<(), OAuthError> {
    let context = context.by(Actor::Person(present.person.account.clone()));
    // It is carried out though the caller hangs up.
    let ended = app.entities.sessions.ask_detached(&context, &present.id, Command::End).await;
    app.views.sessions.forget(&present.id);
    match ended {
        Ok(_) | Err(Failure::Refused(_)) => Ok(()),
        // To end it twice does no harm: the person may try again.
        Err(failure) => Err(OAuthError::unavailable().because(failure.to_string())),
    }
}

/// Has the browser forget a session that it sent as a cookie; the others that it holds stay.
fn forgetting(
    app: &App,
    source: &RequestSource,
    (held, id): (&[HeldSession], &str),
    response: Response,
) -> Response {
    let sent = source.session_token.is_some() || !source.other_tokens.is_empty();
    if !(source.session_by_cookie && sent) {
        return response;
    }
    with_cookies(response, browser_sessions::forget(app, source, held, id))
}

/// No person is signed in: the same as after a sign-out, and not a redirect.
async fn nothing_to_end(
    app: &App,
    source: &mut RequestSource,
    (leaving, held): (Option<SignOutTarget>, &[HeldSession]),
) -> Response {
    let answered = if source.wants_json {
        over(app, source, leaving.map(|leaving| leaving.client_id), None).await
    } else {
        page::signed_out(leaving.as_ref())
    };
    forgetting(app, source, (held, ""), answered)
}

/// Shows a program a sign-out that is over already.
async fn over(
    app: &App,
    source: &mut RequestSource,
    client_id: Option<String>,
    redirect_to: Option<Zeroizing<String>>,
) -> Response {
    let (channel, cookie) = source.channel(app.settings.cookies, &*app.dice);
    let (kind, scope, failed_to) = (SIGN_OUT.to_owned(), String::new(), None);
    let expires_at = expiry(app);
    let over = OverAtOnce { kind, channel, expires_at, client_id, scope, failed_to };
    let id = Ticket::Over(over.clone()).seal(&app.crypto.vault.now(), &*app.dice);
    with_cookie(Document::over(app, &id, &over, redirect_to).await, cookie)
}

/// Takes the form of our own page.
async fn confirm(app: &App, context: Context, flow: &str, headers: &HeaderMap) -> Response {
    match Box::pin(leaving::confirm(app, context, flow, headers)).await {
        Ok(leaving::SignedOut { cookies, leaving }) => {
            let page = page::signed_out_and_on(leaving.as_ref());
            with_cookies(page, cookies)
        }
        Err(problem @ Problem { .. }) => page::not_confirmed(problem),
    }
}
