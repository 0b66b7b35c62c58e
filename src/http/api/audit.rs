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

    /// Reads the entries that follow a place, or the newest.
    pub async fn read(
        &self,
        app: &App,
        after: Option<&Place>,
        most: u32,
    ) -> Result<Vec<TrailEntry>, Problem> {
        let trail = Trail {
            organization: &self.organization,
            event: self.event.as_deref(),
            since: self.since,
            until: self.until,
            after: after.map(|place| (place.at, &*place.lane, place.seq)),
            most,
        };
        Ok(app.store.trail(&trail).await?)
    }
}

/// What the trail is ordered by.
pub struct Place {
    at: Timestamp,
    lane: String,
    seq: i64,
}

impl Place {
    pub fn of(entry: &TrailEntry) -> Self {
        Self { at: entry.at, lane: entry.lane.clone(), seq: entry.seq }
    }

    fn parts(&self) -> Vec<String> {
        vec![self.at.millis().to_string(), self.lane.clone(), self.seq.to_string()]
    }

    fn parse(parts: &[String]) -> Option<Self> {
        let [at, lane, seq] = parts else { return None };
        let at = Timestamp::from_millis(at.parse().ok()?);
        Some(Self { at, lane: lane.clone(), seq: seq.parse().ok()? })
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = Asked::of(&call, "audit")?;
    let filter = Filter::of(&call)?;
    let after = match &*asked.after {
        [] => None,
        parts => Some(Place::parse(parts).ok_or_else(other_cursor)?),
    };
    let page = filter.read(&call.app, after.as_ref(), asked.limit).await?;
    let is_full = page.len() == asked.limit as usize;
    let last = page.last().filter(|_| is_full).map(|entry| Place::of(entry).parts());
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
