//! `/api/organizations/{organization}/audit`: the trail that the customer can read.

use super::{
    call::{Answer, Call, wrong_parameter},
    page::Asked,
};
use crate::{
    domain::Timestamp,
    http::{
        answer::error::Problem,
        time::{parse_rfc3339, rfc3339},
    },
    store::views::{Trail, TrailEntry},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An entry of the trail.
#[derive(Serialize, ToSchema)]
pub struct Entry {
    /// It never changes, and is never used again.
    id: String,
    at: String,
    /// What happened; the catalogue of events lists them.
    event: String,
    /// What it happened to.
    subject: Subject,
    /// Ids and reasons; `context` says who acted, and from where.
    #[schema(value_type = Object)]
    detail: Value,
}

/// What an entry is about.
#[derive(Serialize, ToSchema)]
pub struct Subject {
    kind: String,
    id: String,
}

pub const FILTERS: [(&str, &str); 3] = [
    ("event", "Entries of this event alone."),
    ("since", "Not before this time (RFC 3339)."),
    ("until", "Before this time (RFC 3339)."),
];

impl From<TrailEntry> for Entry {
    fn from(entry: TrailEntry) -> Self {
        Self {
            id: format!("{}.{}", entry.lane, entry.seq),
            at: rfc3339(entry.at),
            event: entry.event,
            subject: Subject { kind: entry.kind, id: entry.id },
            detail: serde_json::from_str(&entry.detail).unwrap_or(Value::Null),
        }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = Asked::of(&call, "audit")?;
    let (since, until) = (time(&call, "since")?, time(&call, "until")?);
    let after = match &*asked.after {
        [] => None,
        [at, lane, seq] => {
            let at = at.parse().map(Timestamp::from_millis);
            let seq: Result<i64, _> = seq.parse();
            let (Ok(at), Ok(seq)) = (at, seq) else { return Err(other_cursor()) };
            Some((at, lane.as_str(), seq))
        }
        _ => return Err(other_cursor()),
    };
    let trail = Trail {
        organization: &call.caller.organization,
        event: call.query("event"),
        since,
        until,
        after,
        most: asked.limit,
    };
    let page = call.app.store.trail(&trail).await?;
    let is_full = page.len() == asked.limit as usize;
    let key =
        |one: &TrailEntry| vec![one.at.millis().to_string(), one.lane.clone(), one.seq.to_string()];
    let last = page.last().filter(|_| is_full).map(key);
    Ok(asked.answer(page.into_iter().map(Entry::from).collect(), last))
}

fn other_cursor() -> Problem {
    wrong_parameter("cursor", "is not one of this list")
}

fn time(call: &Call, name: &str) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = call.query(name) else { return Ok(None) };
    let at = parse_rfc3339(text);
    at.map(Some).ok_or_else(|| wrong_parameter(name, "is no time as RFC 3339 writes it"))
}
