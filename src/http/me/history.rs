//! `GET /me/history`: what the security log says of the person's own account, the newest first.
//!
//! A page is found by an index, whatever the size of the log. Where an operator, an administrator or a
//! server acted, neither their address nor their reason is told. Of what the person did it names the device and the
//! place, as the mail about it does (adr/0153).

use super::caller::SignedIn;
use crate::{
    actors::HydrateError,
    domain::{DeviceKind, Timestamp, account::Known},
    http::{
        answer::{error::Problem, private_json},
        app::App,
        time::rfc3339,
    },
    store::views::{LogEntry, LogPlace},
};
use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use url::form_urlencoded;

/// How many entries a page has at most, and where the caller says nothing.
const MOST: u32 = 100;
const USUAL: u32 = 50;

/// What a cursor of this list begins with.
const CURSOR: &str = "history";

/// The longest cursor that is looked at.
const LONGEST_CURSOR: usize = 512;

const WRONG_CURSOR: Problem =
    Problem::new(StatusCode::BAD_REQUEST, "invalid_cursor", "cursor is not one of this list");

const WRONG_LIMIT: Problem =
    Problem::new(StatusCode::BAD_REQUEST, "invalid_limit", "limit is a number from 1 to 100");

const WRONG_PARAMETER: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "invalid_request",
    "this list takes cursor and limit, each once",
);

/// A request for a page of the list.
#[derive(Debug, PartialEq, Eq)]
struct HistoryRequest {
    before: LogPlace,
    limit: u32,
}

#[derive(Serialize)]
pub struct HistoryEntry {
    id: String,
    at: String,
    event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<String>,
    /// Ids, by name.
    detail: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<Value>,
}

pub async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let HistoryRequest { before, limit } =
        HistoryRequest::read(query.as_deref().unwrap_or_default())?;
    let account = caller.account();
    let mut rows = app.store.history(account, &before, limit + 1).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows.last().filter(|_| more).map(|last| cursor(&last.place));
    // A page may have fewer entries than it could.
    rows.retain(|row| caller.reaches(row.organization.as_deref()));
    let items = told(&app, rows, account).await?;
    Ok(private_json(&match next {
        Some(next) => json!({ "items": items, "next_cursor": next }),
        None => json!({ "items": items }),
    }))
}

/// Reads the newest part of the history of an account.
pub async fn newest(app: &App, account: &str, most: u32) -> Result<Vec<LogEntry>, Problem> {
    Ok(app.store.history(account, &LogPlace::end(), most).await?)
}

/// Says what happened, as the person reads it.
pub async fn told(
    app: &App,
    rows: Vec<LogEntry>,
    account: &str,
) -> Result<Vec<HistoryEntry>, HydrateError> {
    let seen = app.views.accounts.look(account).await?;
    let locale = seen.machine.known().and_then(Known::locale).unwrap_or(app.settings.locale);
    let place = |address| app.alerts.geo.place(address, locale).name;
    Ok(rows.into_iter().map(|row| HistoryEntry::of(row, account, place)).collect())
}

impl HistoryRequest {
    fn read(query: &str) -> Result<Self, Problem> {
        let (mut before, mut limit) = (None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "cursor" if before.is_none() => {
                    before = Some(place(&value).ok_or(WRONG_CURSOR)?);
                }
                "limit" if limit.is_none() => {
                    let number = value.parse().ok().filter(|number| (1..=MOST).contains(number));
                    limit = Some(number.ok_or(WRONG_LIMIT)?);
                }
                _ => return Err(WRONG_PARAMETER),
            }
        }
        let before = before.unwrap_or_else(LogPlace::end);
        Ok(Self { before, limit: limit.unwrap_or(USUAL) })
    }
}

impl HistoryEntry {
    fn of(row: LogEntry, account: &str, place_of: impl Fn(IpAddr) -> Option<String>) -> Self {
        let LogEntry { place, event, organization, detail, .. } = row;
        let mut detail: Map<String, Value> = serde_json::from_str(&detail).unwrap_or_default();
        let mut context = match detail.remove("context") {
            Some(Value::Object(context)) => context,
            _ => Map::new(),
        };
        detail.remove("account");
        let mut actor = context.remove("actor");
        let kind = actor.as_ref().and_then(|actor| actor["type"].as_str()).map(str::to_owned);
        let own = match kind.as_deref() {
            None | Some("client") => true,
            Some("person") => actor.as_ref().is_some_and(|actor| actor["id"] == account),
            Some(_) => false,
        };
        // Who the others are is not told, only what they are.
        if !own && let Some(kind) = kind {
            actor = Some(json!({ "type": kind }));
            context.clear();
        }
        // A row of a sign-in says it as it was then.
        let said = |name: &str| context.get(name).and_then(Value::as_str);
        let device = said("user_agent").and_then(|agent| DeviceKind::of(agent).name());
        let is_at = said("address").and_then(|address| place_of(address.parse().ok()?));
        for (name, known) in [("device", device), ("place", is_at)] {
            if let Some(known) = known {
                detail.entry(name).or_insert_with(|| known.into());
            }
        }
        Self {
            id: identify(&place),
            at: rfc3339(place.at),
            event,
            organization,
            detail,
            actor,
            address: context.remove("address"),
            user_agent: context.remove("user_agent"),
        }
    }
}

fn identify(place: &LogPlace) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}:{}", place.seq, place.lane))
}

fn cursor(place: &LogPlace) -> String {
    let LogPlace { at, lane, seq } = place;
    URL_SAFE_NO_PAD.encode(format!("{CURSOR}:{}:{seq}:{lane}", at.millis()))
}

fn place(cursor: &str) -> Option<LogPlace> {
    let cursor = Some(cursor).filter(|cursor| cursor.len() <= LONGEST_CURSOR)?;
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let mut parts = text.splitn(4, ':');
    let of_this_list = parts.next()? == CURSOR;
    let (at, seq, lane) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
    // A database could not even be asked about a zero.
    let sound = of_this_list && !lane.contains('\0');
    sound.then(|| LogPlace { at: Timestamp::from_millis(at), lane: lane.to_owned(), seq })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_one_of_another_list_is_not() {
        let here = LogPlace { at: Timestamp::from_millis(7), lane: "a:b".to_owned(), seq: 3 };
        assert_eq!(place(&cursor(&here)), Some(here));
        let other = URL_SAFE_NO_PAD.encode("accounts:7:3:a");
        let nul = URL_SAFE_NO_PAD.encode("history:7:3:\0");
        let long = URL_SAFE_NO_PAD.encode("history:7:3:".to_owned() + &"a".repeat(600));
        for bad in ["", "?", "aGlzdG9yeQ", &other, &nul, &long] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_list_takes_what_it_knows_and_nothing_else() {
        let usual = HistoryRequest { before: LogPlace::end(), limit: USUAL };
        assert_eq!(HistoryRequest::read(""), Ok(usual));
        assert_eq!(HistoryRequest::read("limit=100").unwrap().limit, 100);
        for bad in ["limit=0", "limit=101", "limit=", "limit=-1", "limit=1e1"] {
            assert_eq!(HistoryRequest::read(bad), Err(WRONG_LIMIT), "{bad}");
        }
        for bad in ["limit=1&limit=2", "account=eva", "Limit=1"] {
            assert_eq!(HistoryRequest::read(bad), Err(WRONG_PARAMETER), "{bad}");
        }
        assert_eq!(HistoryRequest::read("cursor=x"), Err(WRONG_CURSOR));
    }

    #[test]
    fn what_others_did_is_told_without_where_they_are() {
        let row = |actor: Value| LogEntry {
            place: LogPlace::end(),
            event: "account.suspended".to_owned(),
            organization: None,
            kind: "account".to_owned(),
            id: "ana".to_owned(),
            detail: json!({ "account": "ana", "passkey": "p", "context": {
                "actor": actor, "address": "203.0.113.9", "reason": "r",
                "user_agent": "Firefox/140.0 (Windows NT 10.0)" } })
            .to_string(),
        };
        let place = |_| Some("Lisbon, Portugal".to_owned());
        let own = HistoryEntry::of(row(json!({ "type": "person", "id": "ana" })), "ana", place);
        assert_eq!(own.address, Some(json!("203.0.113.9")));
        let detail =
            json!({ "passkey": "p", "device": "Firefox, Windows", "place": "Lisbon, Portugal" });
        assert_eq!(Value::Object(own.detail), detail);
        let silent = HistoryEntry::of(row(Value::Null), "ana", |_| None);
        assert_eq!(silent.detail.get("place"), None);
        for other in [json!({ "type": "person", "id": "eva" }), json!({ "type": "operator" })] {
            let told = HistoryEntry::of(row(other.clone()), "ana", place);
            assert_eq!(Value::Object(told.detail), json!({ "passkey": "p" }));
            assert_eq!(told.actor, Some(json!({ "type": other["type"] })));
            assert_eq!((told.address, told.user_agent), (None, None));
        }
    }
}
