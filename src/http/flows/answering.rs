//! Fresh ids and secrets for a flow that may end now, and the answer when it has.

use super::{
    browser_sessions::{self, adds},
    document::{Document, FlowView},
    known_browser,
    opened::OpenedFlow,
    parts::Outcome,
    sign_on,
    step_outcome::FlowAnswer,
};
use crate::{
    crypto::{MintedToken, OpaqueKind, draw_id_at},
    domain::{
        Context,
        assurance::{Level, Method},
        flow::{Channel, Flow, Fresh, Over, SIGN_IN, SessionChange, Stage},
        person::Person,
        session, throttle,
    },
    http::{
        answer::error::Problem,
        app::App,
        authorization::response::AuthorizationResponse,
        people::{ceilings, session::HeldSession},
    },
};
use axum::http::HeaderValue;
use zeroize::Zeroizing;

/// How far a flow has come: the answer, and whether the person has proved enough by now.
pub struct FlowProgress {
    pub answer: FlowAnswer,
    pub authenticated: bool,
    /// The account itself proved something in the flow: see [`Open::proved_own`](crate::domain::flow::Open::proved_own).
    pub proved_own: bool,
}

/// Fresh tokens for a flow that may end with this step.
pub(super) struct FreshSecrets {
    pub(super) session: MintedToken,
    pub(super) code: MintedToken,
    /// The id by which alerts recognise the browser from now on.
    pub(super) device: String,
    pub(super) fresh: Fresh,
}

/// The person who acts, and the flow in which they do.
pub(super) struct ActingPerson<'a> {
    pub(super) opened: &'a OpenedFlow,
    pub(super) context: Context,
}

pub(super) fn ended_by(over: &Over, drawn: &FreshSecrets) -> bool {
    over.finished.as_ref().is_some_and(|finished| finished.family_id == drawn.fresh.family_id)
}

pub(super) fn changes(over: &Over) -> Option<SessionChange> {
    over.finished.as_ref()?.session.as_ref().map(|session| session.change)
}

pub(super) fn draw(
    app: &App,
    acting: &ActingPerson<'_>,
    present: Option<String>,
    remembered: bool,
) -> FreshSecrets {
    let (vault, dice) = (app.crypto.vault.now(), &*app.dice);
    let now = app.clock.now();
    let (session_id, family_id) = (draw_id_at(dice, now), draw_id_at(dice, now));
    // A flow that began in a session goes on in it, whatever session this request comes with.
    let began_in = acting.opened.seed.signed_in.as_ref().map(|signed_in| &signed_in.session);
    let owner = began_in.or(present.as_ref()).unwrap_or(&session_id);
    let session = OpaqueKind::Session.mint(owner, &vault, dice);
    let code = OpaqueKind::AuthorizationCode.mint(&family_id, &vault, dice);
    let fresh = Fresh {
        session_id,
        session_token: session.fingerprint,
        session_idle: app.settings.lifetimes.session_idle,
        session_ceiling: app.settings.lifetimes.session_ceiling,
        device: acting.context.device(),
        remembered,
        offers_passkey: acting.opened.offers_passkey,
        family_id,
        code: code.fingerprint,
        lives: app.settings.lifetimes.of_code(),
        present,
    };
    let device = known_browser::device(app, &acting.opened.source);
    FreshSecrets { session, code, device, fresh }
}

/// Answers; nothing that could fail is awaited for its own sake any more.
pub(super) async fn answer(
    app: &App,
    acting: &ActingPerson<'_>,
    flow: Flow,
    (drawn, recovery_codes, held): (FreshSecrets, Vec<Zeroizing<String>>, &[HeldSession]),
) -> Result<FlowProgress, Problem> {
    let ActingPerson { opened, context } = acting;
    let OpenedFlow { id, seed, source, .. } = opened;
    let over = match &flow {
        Flow::Over(over) if ended_by(over, &drawn) => over,
        going_on => {
            let authenticated = match going_on {
                Flow::Open(open) => match open.stage {
                    Stage::Organization | Stage::Consent | Stage::Confirm => true,
                    // A passkey is offered to a person who has come in.
                    Stage::Enrol => open.seed.kind == SIGN_IN,
                    _ => false,
                },
                Flow::Over(_) | Flow::Unborn => false,
            };
            let outcome = Outcome { recovery_codes, ..Outcome::default() };
            let outcome = (!outcome.recovery_codes.is_empty()).then_some(outcome);
            let shown = FlowView { id, seed, flow: going_on, outcome };
            let document = Document::of(app, shown).await?;
            let document = document.telling_accounts(app, context, source).await?;
            let answer = FlowAnswer { document, cookies: Vec::new() };
            let proved_own = matches!(going_on, Flow::Open(open) if open.proved_own);
            return Ok(FlowProgress { answer, authenticated, proved_own });
        }
    };
    let mut outcome = Outcome { recovery_codes, ..Outcome::default() };
    let granted = over.finished.as_ref().is_some_and(|finished| finished.granted);
    if let Some(request) = seed.request.as_ref().filter(|_| granted) {
        let to = AuthorizationResponse::code(app, &request.reply_to, &drawn.code.text)?;
        outcome.redirect_to = Some(to.address(app));
        outcome.code = Some(drawn.code.text.clone());
        app.note_use(context, &request.wanted.client_id).await;
    }
    let mut cookies = Vec::new();
    let change = changes(over);
    let proved_own = over.finished.as_ref().is_some_and(|finished| finished.proved_own);
    if matches!(change, Some(SessionChange::Begun | SessionChange::Renewed)) {
        if let Some(person) = &over.person {
            if proved_own {
                forgive(app, context, person).await;
            }
            if change == Some(SessionChange::Begun) {
                ceilings::keep_sessions(app, context, person).await;
            }
        }
        if seed.channel != Channel::Program {
            let id = session_of(over).map_or("", String::as_str);
            cookies.extend(held_from_now(app, acting, held, (id, &drawn.session.text)));
            // A provider of an organization makes no browser one that the person is known in.
            if let Some(person) = over.person.as_ref().filter(|_| proved_own) {
                let device = drawn.device.clone();
                cookies.push(known_browser::remember_device(app, source, person, device).await);
            }
        }
        if !source.has_scripts {
            outcome.session_token = Some(drawn.session.text);
        }
    }
    if change == Some(SessionChange::Kept) && seed.selects && adds(seed, source) {
        // The one that was chosen is the current one from now on.
        let chosen = held.iter().find(|one| Some(&one.present.id) == session_of(over));
        if let Some(chosen) = chosen.filter(|chosen| !chosen.is_current) {
            cookies.extend(held_from_now(app, acting, held, (&chosen.present.id, &chosen.token)));
        }
    }
    if change == Some(SessionChange::Ended) {
        let to = opened.leaving.as_ref().map(|leaving| leaving.redirect_to.clone());
        outcome.redirect_to = outcome.redirect_to.or(to.map(Zeroizing::new));
        if seed.channel != Channel::Program {
            // A client that wants the person back comes first.
            if let (None, Some(person)) = (&outcome.redirect_to, &over.person) {
                outcome.redirect_to = sign_on::end_session(app, person).await;
            }
            let id = session_of(over).map_or("", String::as_str);
            cookies.extend(browser_sessions::forget(app, source, held, id));
        }
    }
    let shown = FlowView { id, seed, flow: &flow, outcome: Some(outcome) };
    let document = Document::of(app, shown).await?;
    let answer = FlowAnswer { document, cookies };
    Ok(FlowProgress { answer, authenticated: true, proved_own })
}

/// Returns the id of the session that a flow has ended with.
fn session_of(over: &Over) -> Option<&String> {
    over.finished.as_ref()?.session.as_ref().map(|session| &session.id)
}

/// Makes a session the current one of a browser. One that finds no place any more is ended: no caller is
/// left with its token.
fn held_from_now(
    app: &App,
    acting: &ActingPerson<'_>,
    held: &[HeldSession],
    current: (&str, &str),
) -> Vec<HeaderValue> {
    let kept = browser_sessions::keep(app, &acting.opened.source, held, current);
    for id in &kept.dropped {
        app.entities.sessions.tell(&acting.context, id, session::Command::End);
    }
    kept.cookies
}

/// Ends the failures in a row of what the person did not use: another way in clears them. What was used
/// is cleared where it was charged, which may be the allowance of a known browser. A second factor
/// is cleared by two factors alone.
async fn forgive(app: &App, context: &Context, person: &Person) {
    // What cannot be read stays charged, which keeps no person out of the way they came in by.
    let Ok(seen) = app.views.accounts.look(&person.account).await else { return };
    let Some(known) = seen.machine.known() else { return };
    let has_both = person.evidence.level(app.clock.now()) >= Some(Level::Aal2);
    for (authenticator, charged_to) in throttle::charged_to(known) {
        let cleared = match authenticator {
            throttle::PASSWORD => !person.evidence.has(Method::Password),
            throttle::EMAIL_CODE => !person.evidence.has(Method::EmailCode),
            throttle::SMS_CODE => has_both && !person.evidence.has(Method::SmsCode),
            throttle::TOTP => has_both && !person.evidence.has(Method::Totp),
            throttle::RECOVERY_CODE => has_both && !person.evidence.has(Method::RecoveryCode),
            _ => false,
        };
        if cleared {
            app.limits.attempts.clear(context, authenticator, &charged_to);
        }
    }
}
