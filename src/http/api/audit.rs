//! `/api/organizations/{organization}/audit`: the trail that the customer can read.

use super::{
    call::{Answer, Call, wrong_parameter},
    page::PageRequest,
};
use crate::{
    domain::{
        Timestamp,
        trail::{Entry, EntryParts},
    },
    http::{answer::error::Problem, app::App},
    store::views::{LogEntry, LogPlace, Trail},
};

pub const FILTERS: [(&str, &str); 4] = [
    ("event", "Entries of this event alone. An organization may ask so once at a time (429)."),
    ("cause", "`scim`: what directories did and were refused alone."),
    ("since", "Not before this time (RFC 3339)."),
    ("until", "Before this time (RFC 3339)."),
];

/// Shows an entry as its customer reads it.
pub fn shown(entry: &LogEntry) -> Entry {
    let LogEntry { place, event, kind, id, detail, .. } = entry;
    Entry::of(&EntryParts {
        lane: &place.lane,
        seq: place.seq,
        at: place.at,
        event,
        kind,
        id,
        detail,
    })
}

/// Which entries of the caller's organization are asked for.
#[derive(Clone)]
pub struct Filter {
    organization: String,
    event: Option<String>,
    of_directories: bool,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Filter {
    pub fn of(call: &Call) -> Result<Self, Problem> {
        Ok(Self {
            organization: call.caller.organization.clone(),
            event: call.query("event").map(str::to_owned),
            of_directories: match call.query("cause") {
                None => false,
                Some("scim") => true,
                Some(_) => return Err(wrong_parameter("cause", "is `scim`")),
            },
            since: time(call, "since")?,
            until: time(call, "until")?,
        })
    }

    /// Names the organization whose whole trail may have to be looked through: an event may be rare.
    pub fn scans_for(&self) -> Option<&str> {
        self.event.as_ref().map(|_| &*self.organization)
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
            of_directories: self.of_directories,
            since: self.since,
            until: self.until,
            before,
            most,
        };
        Ok(app.store.trail(&trail).await?)
    }
}

/// Writes a place as the parts of a cursor.
pub fn parts(place: &LogPlace) -> Vec<String> {
    vec![place.at.millis().to_string(), place.lane.clone(), place.seq.to_string()]
}

/// Reads the place of a cursor; of none, the end.
pub fn place(parts: &[String]) -> Option<LogPlace> {
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
    let asked = PageRequest::of(&call, "audit")?;
    let filter = Filter::of(&call)?;
    let before = place(&asked.after).ok_or_else(other_cursor)?;
    let scans = &call.app.limits.scans;
    let _scan = filter.scans_for().map(|organization| scans.begin(organization)).transpose()?;
    let page = filter.read(&call.app, &before, asked.limit).await?;
    let is_full = page.len() == asked.limit as usize;
    let last = page.last().filter(|_| is_full).map(|entry| parts(&entry.place));
    Ok(asked.answer(page.iter().map(shown).collect(), last))
}

pub fn other_cursor() -> Problem {
    wrong_parameter("cursor", "is not one of this list")
}

fn time(call: &Call, name: &str) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = call.query(name) else { return Ok(None) };
    let at = Timestamp::from_rfc3339(text);
    at.map(Some).ok_or_else(|| wrong_parameter(name, "is no time as RFC 3339 writes it"))
}
