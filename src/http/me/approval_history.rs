//! What clients have asked of a person by a back channel, and what was decided, as the security log has it:
//! a request itself is forgotten soon after its end.

use crate::{
    domain::{Machine as _, backchannel_request::BackchannelRequest},
    http::time::rfc3339,
    store::views::LogEntry,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A request, and what became of it.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct AskedOnce {
    id: String,
    client_id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Value>,
    /// Of which types the details were.
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_at: Option<String>,
    /// `approved` or `denied`; what was not decided has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
    /// The hash of exactly what the person was shown, where they approved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<Value>,
}

/// Puts the entries of each request together, the newest first as the entries are.
pub fn of_log(rows: &[LogEntry]) -> Vec<AskedOnce> {
    let (mut found, mut places) = (Vec::new(), HashMap::new());
    for row in rows.iter().filter(|row| row.kind == BackchannelRequest::KIND) {
        let at = *places.entry(row.id.as_str()).or_insert(found.len());
        if at == found.len() {
            found.push(AskedOnce { id: row.id.clone(), ..AskedOnce::default() });
        }
        found[at].note(row);
    }
    found
}

impl AskedOnce {
    fn note(&mut self, row: &LogEntry) {
        let mut detail: Map<String, Value> = serde_json::from_str(&row.detail).unwrap_or_default();
        let at = Some(rfc3339(row.place.at));
        match &*row.event {
            "approval.asked" => {
                self.asked_at = at;
                self.scope = detail.remove("scope");
                self.authorization_details = detail.remove("authorization_details");
            }
            "approval.given" => (self.decision, self.decided_at) = (Some("approved"), at),
            "approval.denied" => (self.decision, self.decided_at) = (Some("denied"), at),
            // What became of its tokens is in the history.
            _ => return,
        }
        self.client_id = detail.remove("client_id").unwrap_or_default();
        self.organization.clone_from(&row.organization);
        self.shown = self.shown.take().or_else(|| detail.remove("shown"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Timestamp, store::views::LogPlace};
    use serde_json::json;

    fn row(kind: &str, id: &str, event: &str, seconds: i64) -> LogEntry {
        let at = Timestamp::from_millis(seconds * 1_000);
        LogEntry {
            place: LogPlace { at, ..LogPlace::end() },
            event: event.to_owned(),
            organization: Some("acme".to_owned()),
            kind: kind.to_owned(),
            id: id.to_owned(),
            detail: json!({ "client_id": "agent", "scope": "openid" }).to_string(),
        }
    }

    #[test]
    fn the_entries_of_a_request_become_one_and_others_are_left_out() {
        let kind = BackchannelRequest::KIND;
        let rows = [
            row(kind, "b", "approval.asked", 9),
            row(kind, "a", "approval.denied", 8),
            row("approval_block", "a", "approval.client_blocked", 8),
            row(kind, "a", "approval.asked", 7),
        ];
        let [waiting, denied] = &of_log(&rows)[..] else { panic!("two") };
        assert_eq!((waiting.decision, &*waiting.id), (None, "b"));
        assert_eq!((denied.decision, &*denied.id), (Some("denied"), "a"));
        assert_eq!(denied.client_id, "agent");
        assert_eq!(denied.asked_at.as_deref(), Some("1970-01-01T00:00:07Z"));
        assert_eq!(denied.decided_at.as_deref(), Some("1970-01-01T00:00:08Z"));
    }
}
