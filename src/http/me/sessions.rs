//! `/me/sessions`: where a person is signed in, and how they end it.
//!
//! The id of a session is what tokens call `sid`. It opens nothing: that takes the token, of which we
//! keep a fingerprint.

use super::{
    Cursor, EntryId, Items,
    caller::{Caller, SignedIn},
    change::change,
    step_up,
};
use crate::{
    actors::{Bound, Failure},
    domain::{
        account,
        assurance::amr,
        session::{Command, Open, SESSIONS},
    },
    http::{answer::error::Problem, app::App, extract::cookies::with_cookie, flows, time::rfc3339},
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

/// How long an id is.
const ID: usize = 22;

#[derive(Serialize)]
pub struct Session {
    id: String,
    /// The one that asks.
    current: bool,
    created_at: String,
    /// Use is written down once in a while.
    last_seen_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// The network of the sign-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    methods: Vec<&'static str>,
}

impl Session {
    fn of(id: &str, open: &Open, current: bool) -> Self {
        let device = open.device().clone();
        Self {
            id: id.to_owned(),
            current,
            created_at: rfc3339(open.created_at()),
            last_seen_at: rfc3339(open.seen_at()),
            user_agent: device.user_agent,
            address: device.network,
            methods: amr(&open.methods()),
        }
    }
}

/// Lists those that are not over, the last used first.
pub async fn list(
    State(app): State<App>,
    cursor: Cursor,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<Session>, Problem> {
    page(&app, &caller, cursor.read(SESSIONS)?).await
}

/// As many are on a page.
const PAGE: Bound = Bound::new(100);

/// Lists the sessions of the caller that were used last.
pub async fn of_account(app: &App, caller: &Caller) -> Result<Vec<Session>, Problem> {
    Ok(page(app, caller, Default::default()).await?.items)
}

async fn page(
    app: &App,
    caller: &Caller,
    (rank, id): (String, String),
) -> Result<Items<Session>, Problem> {
    let (account, now) = (caller.account(), app.clock.now());
    let listed = app.views.sessions.page(SESSIONS, account, (&rank, &id), PAGE).await?;
    let shown = |id: &str, open: &Open| Session::of(id, open, id == caller.present.id);
    // What ended with an epoch of the person may still be a row.
    let is_current = |open: &&Open| open.epoch() == caller.present.person.epoch;
    // Where else the account is signed in is not for one organization.
    let is_told =
        |id: &str, open: &Open| id == caller.present.id || caller.reaches(open.only_for());
    let live = listed.iter().filter_map(|(_, entry)| {
        let open = entry.machine.owned_by(account, now).filter(is_current)?;
        is_told(&entry.id, open).then(|| shown(&entry.id, open))
    });
    let last = listed.last().filter(|_| listed.len() == PAGE.most() as usize);
    let next_cursor = last.map(|(rank, entry)| Cursor::after(SESSIONS, (rank, &entry.id)));
    Ok(Items { items: live.collect(), next_cursor })
}

/// Ends all sessions of the person, the one that asks among them, and every grant, offline or not.
pub async fn delete_all(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    if let Some(refused) = step_up::demand_own(&app, &mut caller).await? {
        return Ok(refused);
    }
    change(&app, &caller, account::Command::SignOutEverywhere).await?;
    // Everything has ended with that commit; now the clients are told that want to be.
    flows::sign_out_after_commit(&app, &caller.context, caller.account()).await;
    let cookie = caller.source.session_by_cookie.then(|| app.settings.cookies.end_session());
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), cookie))
}

/// Ends a session, and with it every grant that is bound to it.
pub async fn delete(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
    id: EntryId,
) -> Result<Response, Problem> {
    let id = id.read(ID)?;
    // The session that it comes with may always end.
    if id != caller.present.id
        && let Some(refused) = step_up::demand_own(&app, &mut caller).await?
    {
        return Ok(refused);
    }
    let seen = app.views.sessions.look_anew(&id).await?;
    // Of another account is as good as none.
    if seen.machine.owned_by(caller.account(), app.clock.now()).is_none() {
        return Err(Problem::NOT_FOUND);
    }
    // It is carried out though the caller hangs up.
    match app.entities.sessions.ask_detached(&caller.context, &id, Command::End).await {
        Ok(_) | Err(Failure::Refused(_)) => {}
        Err(failure) if failure.may_have_happened() => return Err(Problem::OUTCOME_UNKNOWN),
        Err(_) => return Err(Problem::UNAVAILABLE),
    }
    app.views.sessions.forget(&id);
    let is_own_cookie = id == caller.present.id && caller.source.session_by_cookie;
    let cookie = is_own_cookie.then(|| app.settings.cookies.end_session());
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), cookie))
}
