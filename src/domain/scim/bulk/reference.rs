//! `bulkId:…` where an identifier is wanted that the server has not given yet (RFC 7644 §3.7.2).

use serde_json::{Map, Value};

/// Reads the bulkId that a text refers to, if it does.
pub(super) fn read(text: &str) -> Option<&str> {
    let (start, bulk_id) = text.split_at_checked("bulkId:".len())?;
    (start.eq_ignore_ascii_case("bulkId:") && !bulk_id.is_empty()).then_some(bulk_id)
}

/// Collects the bulkIds to which a path and a body refer, each once.
pub(super) fn collect(
    id: Option<&str>,
    data: Option<&Map<String, Value>>,
    found: &mut Vec<String>,
) {
    let mut waiting: Vec<&Value> = data.into_iter().flat_map(Map::values).collect();
    found.extend(id.and_then(read).map(str::to_owned));
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found.extend(read(text).map(str::to_owned)),
            Value::Array(values) => waiting.extend(values),
            Value::Object(members) => waiting.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found.sort_unstable();
    found.dedup();
}

/// Replaces every reference within a value. What is not found stays.
pub(super) fn replace(value: &mut Value, find: &dyn Fn(&str) -> Option<String>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => replace_text(text, find),
            Value::Array(values) => waiting.extend(values.iter_mut()),
            Value::Object(members) => waiting.extend(members.values_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

pub(super) fn replace_text(text: &mut String, find: &dyn Fn(&str) -> Option<String>) {
    if let Some(id) = read(text).and_then(find) {
        *text = id;
    }
}
