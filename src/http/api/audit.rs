//! `/api/organizations/{organization}/audit`: the trail that the customer can read.

use super::{
    call::{Answer, Call, wrong_parameter},
    page::Asked,
};
use crate::{
    domain::Timestamp,
    http::{
        answer::error::Problem,
        app::App,
        time::{parse_rfc3339, rfc3339},
    },
    store::views::{LogEntry, LogPlace, Trail},
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

impl From<LogEntry> for Entry {
    fn from(entry: LogEntry) -> Self {
        Self {
            id: format!("{}.{}", entry.place.lane, entry.place.seq),
            at: rfc3339(entry.place.at),
            event: entry.event,
            subject: Subject { kind: entry.kind, id: entry.id },
            detail: serde_json::from_str(&entry.detail).unwrap_or(Value::Null),
        }
    }
}

/// Which entries of the caller's organization are asked for.
#[derive(Clone)]
pub struct Filter {
    organization: String,
    event: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Filter {
    pub fn of(call: &Call) -> Result<Self, Problem> {
        Ok(Self {
            organization: call.caller.organization.clone(),
            event: call.query("event").map(str::to_owned),
            since: time(call, "since")?,
            until: time(call, "until")?,
        })
    }

    /// Reads the entries before a place, the newest first.
    pub async fn read(
        &self,
        app: &App,
        before: &LogPlace,
        most: u32,
    ) -> Result<Vec<LogEntry>, Problem> {
        let trail = Trail {
            organization: &self.organization,
            event: self.event.as_deref(),
            since: self.since,
            until: self.until,
            before,
            most,
        };
        Ok(app.store.trail(&trail).await?)
    }
}

/// Writes a place as the parts of a cursor.
fn parts(place: &LogPlace) -> Vec<String> {
    vec![place.at.millis().to_string(), place.lane.clone(), place.seq.to_string()]
}

/// Reads the place of a cursor; of none, the end.
fn place(parts: &[String]) -> Option<LogPlace> {
    match parts {
        [] => Some(LogPlace::end()),
        [at, lane, seq] => {
            let at = Timestamp::from_millis(at.parse().ok()?);
            Some(LogPlace { at, lane: lane.clone(), seq: seq.parse().ok()? })
        }
        _ => None,
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = Asked::of(&call, "audit")?;
    let filter = Filter::of(&call)?;
    let before = place(&asked.after).ok_or_else(other_cursor)?;
    let page = filter.read(&call.app, &before, asked.limit).await?;
    let is_full = page.len() == asked.limit as usize;
    let last = page.last().filter(|_| is_full).map(|entry| parts(&entry.place));
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
