//! How many sessions of a person, and grants of theirs to one client, are kept (contract, Refresh): beyond that the longest
//! unused ends, with a record, so that no person owns more than others' requests can bear (adr/0119).

use crate::{
    domain::{
        ClientRank, Context,
        session::{self, MOST_SESSIONS, SESSIONS},
        token_family::{self, FAMILIES, MOST_FAMILIES},
    },
    http::app::App,
    store::views::ListPart,
};

/// How many are ended at once: one begins at a time, on each node.
const AT_ONCE: u32 = 8;

/// Ends the longest unused sessions of an account beyond those that are kept. Where they cannot be read now, the next
/// sign-in looks again.
pub async fn keep_sessions(app: &App, context: &Context, account: &str) {
    // Ranks are digits.
    let part = ListPart { list: SESSIONS, owner: account, above: "", below: "g" };
    let found = app.store.live_beyond(&part, (MOST_SESSIONS, AT_ONCE), app.clock.now()).await;
    for id in found.unwrap_or_default() {
        let ended =
            app.entities.sessions.ask_detached(context, &id, session::Command::MakeRoom).await;
        if ended.is_err() {
            tracing::warn!("a session beyond those that are kept was not ended");
        }
        app.views.sessions.forget(&id);
    }
}

/// Ends the longest unused grants of a person to a client beyond those that are kept.
pub async fn keep_families(app: &App, context: &Context, account: &str, client_id: &str) {
    let client = ClientRank::of(client_id);
    let below = client.below();
    let part = ListPart { list: FAMILIES, owner: account, above: client.above(), below: &below };
    let found = app.store.live_beyond(&part, (MOST_FAMILIES, AT_ONCE), app.clock.now()).await;
    for id in found.unwrap_or_default() {
        let make_room = token_family::Command::MakeRoom;
        if app.entities.families.ask_detached(context, &id, make_room).await.is_err() {
            tracing::warn!("a grant beyond those that are kept was not ended");
        }
        app.views.families.forget(&id);
    }
}
