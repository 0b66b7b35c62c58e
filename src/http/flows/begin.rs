//! `POST /flows`: begins a flow without a client.

use super::{
    document::{Document, Shown, expiry},
    invited,
    problems::{SIGN_IN_FIRST, SIGN_UP_CLOSED},
    ticket::Ticket,
};
use crate::{
    domain::{
        Context,
        flow::{Flow, Goal, INVITATION, InSession, Invited, SIGN_UP, Seed, SignedIn, Stage},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::{
            context::RequestContext,
            cookies::with_cookie,
            json::Json,
            origin::Origin,
            request_source::{RequestSource, refuse_foreign_pages},
        },
        facts::session,
        limits::purpose::Purpose,
    },
};
use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Body {
    kind: String,
    /// Of an invitation.
    #[serde(default)]
    token: Option<String>,
}

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body: Body { kind, token }, .. }: Json<Body>,
) -> Result<Response, Problem> {
    refuse_foreign_pages(&app, &headers)?;
    app.pace.take(Purpose::Flow, address, app.clock.now())?;
    let unknown = || Problem::wrong_member("#/kind", "there is no such kind of flow");
    let goal = app.flow_rules.goal(&kind).ok_or_else(unknown)?;
    if kind == SIGN_UP && !app.sign_up.open {
        return Err(SIGN_UP_CLOSED);
    }
    let invited = match token {
        _ if kind != INVITATION => None,
        None => return Err(Problem::wrong_member("#/token", "is missing")),
        Some(token) => Some(invited::find(&app, &token).await?),
    };
    // A caller that posts JSON is a program, unless a browser says that it is one.
    let mut source = RequestSource::of(&headers, app.cookies);
    source.is_browser = source.has_scripts;
    let signed_in = if goal.is_in_session() {
        Some(signed_in(&app, &context, &source, goal).await?)
    } else {
        None
    };
    let (channel, cookie) = source.channel(app.cookies, &*app.dice);
    let stage = match &invited {
        None => goal.first(),
        Some(Invited { account: None, .. }) => Stage::Profile,
        Some(_) => Stage::Credential,
    };
    let (expires_at, request) = (expiry(&app), None);
    let seed = Seed { kind, channel, expires_at, request, stage, signed_in, invited };
    let id = Ticket::Begun(Box::new(seed.clone())).seal(&app.vault.now(), &*app.dice);
    let shown = Shown { id: &id, seed: &seed, flow: &Flow::Unborn, outcome: None };
    let document = Document::of(&app, shown).await?;
    Ok(with_cookie((StatusCode::CREATED, document), cookie))
}

/// Finds the session that the flow begins in, and what the person is asked first.
async fn signed_in(
    app: &App,
    context: &Context,
    source: &RequestSource,
    goal: &dyn Goal,
) -> Result<SignedIn, Problem> {
    let present = session::find(app, context, source, true).await?.ok_or(SIGN_IN_FIRST)?;
    let account = app.accounts.look_anew(&present.person.account).await?;
    let known = account.machine.known().ok_or(SIGN_IN_FIRST)?;
    let methods = known.credentials.methods();
    let now = app.clock.now();
    let stage =
        goal.first_in_session(&InSession { person: &present.person, methods: &methods, now });
    let (person, session, question) = (present.person, present.id, None);
    Ok(SignedIn { person, session, stage, question, methods })
}
