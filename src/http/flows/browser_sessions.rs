//! The sessions that a browser holds: what it is told to keep after one began, was chosen or ended, and
//! how people are told of them (adr/0087).

use crate::{
    actors::{Failure, HydrateError},
    domain::{
        Actor, Context,
        account::Known,
        flow::{Channel, Flow, Seed},
        session::Command,
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::request_source::{MOST_OTHERS, RequestSource},
        flows::{
            Document,
            opened::OpenedFlow,
            problems::{SESSION_OVER, UNAVAILABLE},
        },
        people::session::{self, HeldSession, Lookup},
    },
    wording::quotable,
};
use axum::http::HeaderValue;
use serde::Serialize;
use serde_json::Value;

/// An account that is signed in where a flow is taken.
#[derive(Serialize)]
pub struct AccountView {
    /// What the step `account` takes.
    pub id: String,
    pub email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// It is the one in which the person acts, unless they choose another.
    pub current: bool,
}

impl AccountView {
    /// What people call it.
    pub fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.email)
    }

    fn of(known: &Known, current: bool) -> Self {
        let claim = |name| known.claim(name).as_ref().and_then(Value::as_str).map(quotable);
        let named = ["name", "given_name", "nickname"].into_iter().find_map(claim);
        Self {
            id: known.id.clone(),
            email: known.email.clone(),
            name: named.filter(|name| !name.is_empty()),
            current,
        }
    }
}

impl Document {
    /// Lists the accounts that the sender of this very request holds, where the person may choose one.
    pub async fn telling_accounts(
        mut self,
        app: &App,
        context: &Context,
        source: &RequestSource,
    ) -> Result<Self, HydrateError> {
        if self.offers("account") {
            self.accounts = Box::pin(told(app, context, source)).await?;
        }
        Ok(self)
    }
}

/// Lists the accounts that the sender of a request is signed in to.
async fn told(
    app: &App,
    context: &Context,
    source: &RequestSource,
) -> Result<Vec<AccountView>, HydrateError> {
    let mut told = Vec::new();
    for HeldSession { present, is_current, .. } in
        session::held(app, context, source, Lookup::Anew).await?
    {
        let seen = app.views.accounts.look(&present.person.account).await?;
        told.extend(seen.machine.known().map(|known| AccountView::of(known, is_current)));
    }
    Ok(told)
}

/// Tells whether a browser adds a session to those that it holds, rather than replaces the one it has.
pub fn adds(seed: &Seed, source: &RequestSource) -> bool {
    seed.channel != Channel::Program && source.session_by_cookie
}

/// The cookies that a browser is to hold from now on.
pub struct SessionCookies {
    pub cookies: Vec<HeaderValue>,
    /// The ids of the sessions that it holds no more, though they live.
    pub dropped: Vec<String>,
}

/// Makes a session the current one, by its token; the rest of those that are held stay beside it.
pub fn keep(
    app: &App,
    source: &RequestSource,
    held: &[HeldSession],
    (id, token): (&str, &str),
) -> SessionCookies {
    let seconds = app.settings.lifetimes.session_ceiling.as_secs();
    let mut cookies = vec![app.settings.cookies.keep_session(token, seconds)];
    if !source.session_by_cookie {
        return SessionCookies { cookies, dropped: Vec::new() };
    }
    let rest = || held.iter().filter(|other| other.present.id != id);
    let kept: Vec<&str> = rest().take(MOST_OTHERS).map(|other| other.token.as_str()).collect();
    cookies.extend(others(app, source, &kept));
    let dropped = rest().skip(MOST_OTHERS).map(|other| other.present.id.clone()).collect();
    SessionCookies { cookies, dropped }
}

/// Has the browser forget a session that has ended; the rest stays as it was.
pub fn forget(
    app: &App,
    source: &RequestSource,
    held: &[HeldSession],
    id: &str,
) -> Vec<HeaderValue> {
    let mut cookies = Vec::new();
    if !held.iter().any(|one| one.is_current && one.present.id != id) {
        cookies.push(app.settings.cookies.end_session());
    }
    let rest = held.iter().filter(|one| one.present.id != id && !one.is_current);
    let rest: Vec<&str> = rest.map(|one| one.token.as_str()).collect();
    cookies.extend(others(app, source, &rest));
    cookies
}

/// Writes the cookie of the other sessions, unless the browser has it so already.
fn others(app: &App, source: &RequestSource, tokens: &[&str]) -> Option<HeaderValue> {
    let has = source.other_tokens.iter().map(|token| token.as_str());
    let differs = !has.eq(tokens.iter().copied());
    differs.then(|| {
        app.settings.cookies.keep_others(tokens, app.settings.lifetimes.session_ceiling.as_secs())
    })
}

/// Ends every session that the sender holds but one.
pub async fn end_others(
    app: &App,
    context: &Context,
    source: &RequestSource,
    but: &str,
) -> Result<(), Problem> {
    for HeldSession { present, .. } in session::held(app, context, source, Lookup::Anew).await? {
        if present.id == but {
            continue;
        }
        let context = context.clone().by(Actor::Person(present.person.account));
        // It is carried out though the caller hangs up.
        let ended = app.entities.sessions.ask_detached(&context, &present.id, Command::End).await;
        app.views.sessions.forget(&present.id);
        if let Err(failure) = ended
            && !matches!(failure, Failure::Refused(_))
        {
            tracing::warn!(why = %failure, "a session could not be ended");
            return Err(UNAVAILABLE);
        }
    }
    Ok(())
}

/// Tells whether the flow goes on in the session of an account that was chosen. Where the caller holds that
/// session no more, it does not go on at all.
pub async fn is_in_chosen(
    app: &App,
    opened: &OpenedFlow,
    own: Option<&str>,
) -> Result<bool, Problem> {
    if !opened.seed.selects {
        return Ok(false);
    }
    match &app.views.flows.peek(&opened.name).await?.machine {
        Flow::Open(open) if open.session.is_none() => Ok(false),
        Flow::Open(open) if open.session.as_deref() == own => Ok(true),
        Flow::Open(_) => Err(SESSION_OVER),
        Flow::Over(_) | Flow::Unborn => Ok(false),
    }
}
