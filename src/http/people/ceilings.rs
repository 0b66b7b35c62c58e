//! How many sessions of a person, and grants of theirs to one client, are kept (contract, Refresh): beyond that the longest
//! unused ends, with a record, so that no person owns more than others' requests can bear (adr/0119).

use crate::{
    domain::{
        ClientRank, Context,
        person::Person,
        session::{self, MOST_SESSIONS, SESSIONS, SessionRank},
        token_family::{self, FAMILIES, MOST_FAMILIES},
    },
    http::app::App,
    store::views::{ListPart, ReadError},
};

/// How many are ended at once: as many as one person may begin in the second between two looks.
const AT_ONCE: u32 = 256;

/// Ends the longest unused sessions of an account beyond those that are kept, among those of the sort of the one that has
/// just begun: an organization's provider ends those that rest on it alone, and no others. Where they cannot be read now,
/// the next sign-in looks again.
pub async fn keep_sessions(app: &App, context: &Context, person: &Person) {
    let rank = SessionRank::of(&person.evidence);
    let (owner, below) = (&*person.account, rank.below());
    let part = ListPart { list: SESSIONS, owner, above: rank.above(), below: &below };
    for id in beyond(app, &part, MOST_SESSIONS).await.unwrap_or_default() {
        app.entities.sessions.tell(context, &id, session::Command::MakeRoom);
    }
}

/// Ends the longest unused grants of a person to a client beyond those that are kept.
pub async fn keep_families(app: &App, context: &Context, account: &str, client_id: &str) {
    let client = ClientRank::of(client_id);
    let below = client.below();
    let part = ListPart { list: FAMILIES, owner: account, above: client.above(), below: &below };
    for id in beyond(app, &part, MOST_FAMILIES).await.unwrap_or_default() {
        app.entities.families.tell(context, &id, token_family::Command::MakeRoom);
    }
}

/// Returns the longest unused of what lives beyond the first `kept`. The store is asked only where there may be some.
async fn beyond(app: &App, part: &ListPart<'_>, kept: u32) -> Result<Vec<String>, ReadError> {
    let owner = format!("{} {} {}", part.list, part.owner, part.above);
    let (headroom, now) = (&app.limits.headroom, app.clock.now());
    if headroom.take(&owner, now) {
        return Ok(Vec::new());
    }
    let listed = app.store.count_part(part, kept + 1).await?;
    if listed <= kept {
        headroom.counted(owner, kept - listed, now);
        return Ok(Vec::new());
    }
    let found = app.store.live_beyond(part, (kept, AT_ONCE), now).await?;
    headroom.full(owner, now);
    Ok(found)
}
