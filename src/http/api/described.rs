//! What the OpenAPI document says of `/flows` and `/me`, whose handlers have shapes of their own.

use super::openapi::{path_parameters, refused};
use crate::http::routes;
use serde_json::{Map, Value, json};

/// An operation that is not in the table of the management API.
pub struct Other {
    pub method: &'static str,
    pub path: &'static str,
    name: &'static str,
    pub summary: &'static str,
    status: u16,
    /// It needs a session.
    in_session: bool,
    /// `takes` a body of JSON; `renews` the session: a caller with `X-Session-Token` gets the new token instead.
    flags: &'static [&'static str],
}

impl Other {
    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

/// Describes the operations of a section of the table of endpoints.
macro_rules! others {
    ($in_session:literal, $($name:ident $path:literal { $(
        $method:ident $handler:path: $operation:literal, $status:literal, [$($flag:ident)*], $summary:literal;
    )+ })*) => { &[$($(Other {
        method: stringify!($method),
        path: $path,
        name: $operation,
        summary: $summary,
        status: $status,
        in_session: $in_session,
        flags: &[$(stringify!($flag)),*],
    },)+)*] };
}

macro_rules! described {
    (standards $s:tt flows { $($flows:tt)* } me { $($me:tt)* } $($rest:tt)*) => {
        const FLOWS: &[Other] = others!(false, $($flows)*);
        const ME: &[Other] = others!(true, $($me)*);
    };
}

routes::endpoints!(described);

/// Lists the operations of flows and `/me`.
pub fn operations() -> impl Iterator<Item = &'static Other> {
    FLOWS.iter().chain(ME)
}

/// Describes them by path and method.
pub(super) fn others() -> impl Iterator<Item = (&'static str, Map<String, Value>)> {
    operations().map(|other| {
        let mut answer = json!({ "description": "Done." });
        if other.status != 204 {
            let object = json!({ "type": "object" });
            answer["content"] = json!({ "application/json": { "schema": object } });
        }
        let mut answers = Map::new();
        answers.insert(other.status.to_string(), answer);
        if other.has("renews") {
            answers.insert("200".to_owned(), renewed());
        }
        answers.insert("default".to_owned(), refused());
        let security = if other.in_session {
            json!([{ "session": [] }])
        } else {
            json!([{ "session": [] }, {}])
        };
        let mut described = json!({
            "operationId": other.name,
            "summary": other.summary,
            "parameters": path_parameters(other.path).collect::<Vec<_>>(),
            "responses": answers,
            "security": security,
        });
        if other.has("takes") {
            let object = json!({ "type": "object" });
            let content = json!({ "application/json": { "schema": object } });
            described["requestBody"] = json!({ "required": true, "content": content });
        }
        (other.path, [(other.method.to_ascii_lowercase(), described)].into_iter().collect())
    })
}

/// What a caller gets who presented the former token in a header.
fn renewed() -> Value {
    let schema = json!({
        "type": "object",
        "required": ["session_token"],
        "properties": { "session_token": { "type": "string" } },
    });
    json!({
        "description": "Done; to callers with `X-Session-Token`. The former token is good no more.",
        "content": { "application/json": { "schema": schema } },
    })
}
