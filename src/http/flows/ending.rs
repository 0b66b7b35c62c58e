//! Goes on with a flow as far as nobody must be asked, and says what it has come to.

use super::{
    document::{Document, Outcome, Shown},
    opened::Opened,
    problems::{CLIENT_CHANGED, SESSION_OVER, UNAVAILABLE},
};
use crate::{
    actors::Failure,
    crypto::{Minted, OpaqueKind, draw_id},
    domain::{
        Machine as _,
        authorization::AuthorizationFacts,
        flow::{Channel, Finished, Flow, Fresh, Reply, Step},
        session::{Command, Session},
    },
    http::{
        answer::{error::Problem, redirect::redirect_with_code},
        app::App,
        extract::cookies::with_cookie,
        facts::{authorization::FactsReader, session},
    },
};
use axum::response::{IntoResponse as _, Response};

/// How often a flow tries to go on while what it rests on changes.
const TRIES: usize = 4;

/// Who goes on.
#[derive(Clone, Copy)]
pub struct Proved<'a> {
    pub account: &'a str,
    /// The organization they chose.
    pub chosen: Option<&'a str>,
}

/// What a step that may end a flow is given.
pub struct Facts {
    pub situation: Option<Box<AuthorizationFacts>>,
    pub fresh: Box<Fresh>,
}

/// Tokens drawn for a flow that may end with this step.
struct Drawn {
    session: Minted,
    code: Minted,
    fresh: Fresh,
}

/// Takes the step that `step` makes of the facts, again where they have changed meanwhile.
pub async fn proceed(
    app: &App,
    opened: &Opened,
    proved: Proved<'_>,
    step: impl Fn(Facts) -> Step,
) -> Result<Response, Problem> {
    let present = session::find(app, &opened.source, true).await?;
    let (mut own, other) = match present {
        Some(present) if present.person.account == proved.account => (Some(present.id), None),
        other => (None, other.map(|present| present.id)),
    };
    for number in 0..TRIES {
        let situation = situation(app, opened, proved, number > 0).await?.map(Box::new);
        let drawn = draw(app, own.clone());
        let fresh = Box::new(drawn.fresh.clone());
        match opened.ask(app, step(Facts { situation, fresh })).await {
            Ok(reply) => {
                let finished = reply.finished.as_ref();
                if let (Some(other), Some(_)) = (other, finished.filter(|one| one.proved_here)) {
                    // Nobody is left who could present its token.
                    app.sessions.insist(&other, Command::End).await.ok();
                }
                return answer(app, opened, reply, drawn).await;
            }
            Err(Failure::Unmet { kind }) if kind == Session::KIND => {
                if opened.seed.signed_in.is_some() {
                    return Err(SESSION_OVER);
                }
                own = None;
            }
            Err(Failure::Unmet { .. }) => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    Err(UNAVAILABLE)
}

/// Shows a flow that goes on.
pub async fn standing(app: &App, opened: &Opened, flow: &Flow) -> Result<Document, Problem> {
    let Opened { id, seed, .. } = opened;
    Ok(Document::of(app, Shown { id, seed, flow, outcome: None }).await?)
}

async fn situation(
    app: &App,
    opened: &Opened,
    proved: Proved<'_>,
    anew: bool,
) -> Result<Option<AuthorizationFacts>, Problem> {
    let Some(request) = &opened.seed.request else { return Ok(None) };
    let seen = app.clients.look_if(anew, &request.client_id).await?;
    // It may have changed since the flow began, and a code goes only where it is at home now.
    let client = seen.machine.known().ok_or(CLIENT_CHANGED)?;
    let at_home = client.has_redirect_uri(&request.redirect_uri);
    if !at_home || client.may_ask_for_codes().is_err() {
        return Err(CLIENT_CHANGED);
    }
    let (client_version, Proved { account, chosen }) = (seen.version, proved);
    let gathering = FactsReader { app, client, client_version, request, account, chosen, anew };
    Ok(Some(gathering.gather().await?))
}

fn draw(app: &App, present: Option<String>) -> Drawn {
    let (vault, dice) = (app.vault.now(), &*app.dice);
    let (session_id, family_id) = (draw_id(dice), draw_id(dice));
    let owner = present.as_deref().unwrap_or(&session_id);
    let session = OpaqueKind::Session.mint(owner, &vault, dice);
    let code = OpaqueKind::AuthorizationCode.mint(&family_id, &vault, dice);
    let fresh = Fresh {
        session_id,
        session_token: session.fingerprint,
        session_idle: app.lifetimes.session_idle,
        session_ceiling: app.lifetimes.session_ceiling,
        family_id,
        code: code.fingerprint,
        code_lives: app.lifetimes.authorization_code,
        present,
    };
    Drawn { session, code, fresh }
}

async fn answer(
    app: &App,
    opened: &Opened,
    reply: Reply,
    drawn: Drawn,
) -> Result<Response, Problem> {
    let Opened { id, seed, source, .. } = opened;
    let Reply { flow, finished } = reply;
    let Some(Finished { session, new_session, proved_here, granted, .. }) = finished else {
        return Ok(standing(app, opened, &flow).await?.into_response());
    };
    let mut outcome = Outcome::default();
    if let (Some(_), Some(request)) = (granted, &seed.request) {
        let to = redirect_with_code(request, &drawn.code.text, &app.issuer);
        outcome.redirect_to = Some(to);
        let seen = app.clients.look(&request.client_id).await.ok();
        if let Some(client) = seen.as_ref().and_then(|seen| seen.machine.known()) {
            app.note_use_of(client).await;
        }
    }
    let mut cookie = None;
    if proved_here {
        let renewed = new_session || renew(app, &session, &flow, &drawn.session).await;
        // The code is good all the same; the session, if it is still there, has its former token.
        if renewed {
            let seconds = app.lifetimes.session_ceiling.as_secs();
            if seed.channel != Channel::Program {
                cookie = Some(app.cookies.keep_session(&drawn.session.text, seconds));
            }
            if !source.has_scripts {
                outcome.session_token = Some(drawn.session.text);
            }
        }
    }
    let shown = Shown { id, seed, flow: &flow, outcome: Some(outcome) };
    Ok(with_cookie(Document::of(app, shown).await?, cookie))
}

/// Gives a session that goes on its new token: a change of privilege changes it, and the former one
/// opens nothing any more.
async fn renew(app: &App, session: &str, flow: &Flow, minted: &Minted) -> bool {
    let Flow::Over(over) = flow else { return false };
    let Some(person) = over.person.clone() else { return false };
    let renew = Command::Renew { person, token: minted.fingerprint };
    app.sessions.ask(session, renew).await.is_ok()
}
