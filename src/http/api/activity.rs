//! `…/clients/{client_id}/activity`: what the trail of the organization says of a client, and of what it
//! did for others.

use super::{
    audit::{Filter, other_cursor, parts, place, shown},
    call::{Answer, Call},
    page::PageRequest,
};
use crate::domain::trail::Entry;
use serde_json::Value;

/// As many entries of the trail are looked at for one page: the trail is not ordered by clients.
const MOST_LOOKED_AT: u32 = 2_000;

pub async fn list(call: Call) -> Answer {
    let client_id = call.param("client_id");
    let asked = PageRequest::of(&call, &format!("activity {client_id}"))?;
    let filter = Filter::of(&call)?;
    let before = place(&asked.after).ok_or_else(other_cursor)?;
    let rows = filter.read(&call.app, &before, MOST_LOOKED_AT).await?;
    let mut items: Vec<Entry> = Vec::new();
    let mut last = None;
    for row in &rows {
        last = Some(&row.place);
        let entry = shown(row);
        if is_of(&entry.detail, client_id) {
            items.push(entry);
        }
        if items.len() == asked.limit as usize {
            break;
        }
    }
    let is_full = rows.len() == MOST_LOOKED_AT as usize || items.len() == asked.limit as usize;
    Ok(asked.answer(items, last.filter(|_| is_full).map(parts)))
}

/// Tells whether an entry is about a client, or the client acted.
fn is_of(detail: &Value, client_id: &str) -> bool {
    let context = &detail["context"];
    let acts = |parties: &Value| {
        parties.as_str().is_some_and(|parties| parties.split(' ').any(|one| one == client_id))
    };
    detail["client_id"] == client_id
        || acts(&detail["act"])
        || acts(&context["act"])
        || (context["actor"]["type"] == "client" && context["actor"]["id"] == client_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_of_a_client_that_it_names_or_that_acted() {
        for own in [
            json!({ "client_id": "agent" }),
            json!({ "client_id": "web", "act": "second agent" }),
            json!({ "context": { "act": "agent", "actor": { "type": "person", "id": "ana" } } }),
            json!({ "context": { "actor": { "type": "client", "id": "agent" } } }),
        ] {
            assert!(is_of(&own, "agent"), "{own}");
        }
        for other in [
            Value::Null,
            json!({ "client_id": "agent-2", "act": "agents" }),
            json!({ "context": { "actor": { "type": "person", "id": "agent" } } }),
            json!({ "reason": "agent" }),
        ] {
            assert!(!is_of(&other, "agent"), "{other}");
        }
    }
}
