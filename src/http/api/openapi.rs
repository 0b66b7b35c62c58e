//! `GET /api/openapi.json`: OpenAPI 3.1, made of the table of operations.

use super::{
    described,
    operation::{JSON, Operation, Schemas},
    operations::OPERATIONS,
};
use crate::http::{app::App, extract::json::BodyRule};
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const CACHING: HeaderValue = HeaderValue::from_static("public, max-age=300");

pub async fn get(State(app): State<App>) -> Response {
    let document = app.fixed.openapi.get_or_init(|| document(&app.issuer).to_string().into());
    let kind = HeaderValue::from_static("application/json");
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, CACHING)];
    (headers, document.clone()).into_response()
}

/// Makes the document of an installation.
fn document(issuer: &str) -> Value {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut schemas = Map::new();
    schemas.insert("Problem".to_owned(), problem());
    for operation in OPERATIONS {
        let described = describe(operation, &mut schemas);
        let methods = paths.entry(operation.path.to_owned()).or_default();
        methods.insert(operation.verb.name().to_ascii_lowercase(), described);
    }
    for (path, methods) in described::others() {
        // A parameter that takes the rest of a path is one like others to the document.
        paths.entry(path.replace("{*", "{")).or_default().extend(methods);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Porteiro",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sign-in flows, what a person may see and change, and the management of \
                organizations. A code of a problem is stable. Members and paths are added without \
                notice; what is removed is marked as deprecated for a year before.",
        },
        "servers": [{ "url": issuer }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer",
                    "description": "An access token for the resource {issuer}/api, or an API key." },
                "session": { "type": "apiKey", "in": "header", "name": "X-Session-Token",
                    "description": "The session of a person; browsers send a cookie instead." },
            },
        },
    })
}

fn describe(operation: &Operation, schemas: &mut Map<String, Value>) -> Value {
    let mut parameters: Vec<Value> = path_parameters(operation.path).collect();
    parameters.extend(operation.query_parameters().map(|(name, text)| {
        let schema = match *name {
            "limit" => json!({ "type": "integer", "minimum": 1, "maximum": 100 }),
            _ => json!({ "type": "string" }),
        };
        json!({ "name": name, "in": "query", "description": text, "schema": schema })
    }));
    if operation.at_version {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": true,
            "description": "The ETag that was last seen, or *.", "schema": { "type": "string" },
        }));
    }
    parameters.push(json!({
        "name": "X-Reason", "in": "header", "required": operation.with_reason,
        "description": if operation.with_reason {
            "Why: 1 to 500 printable characters of ASCII."
        } else {
            "Why: required of a holder of organizations:administer who is no member."
        },
        "schema": { "type": "string" },
    }));
    let mut answers = Map::new();
    let mut answer = json!({ "description": "Done." });
    match operation.gives {
        Some(gives) => answer["content"] = content(&gives(), operation.media, schemas),
        // A text of another format is not described further.
        None if operation.media != JSON => {
            let media = operation.media;
            answer["content"] = json!({ media: { "schema": { "type": "string" } } });
        }
        None => {}
    }
    let is_entity = !operation.is_list && operation.media == JSON;
    if operation.gives.is_some() && is_entity {
        let tag = json!({ "description": "The version.", "schema": { "type": "string" } });
        answer["headers"] = json!({ "ETag": tag });
    }
    if operation.may_make {
        answers.insert("201".to_owned(), answer.clone());
    }
    answers.insert(operation.status.to_string(), answer);
    answers.insert("default".to_owned(), refused());
    let mut described = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "description": format!("Needs the permission `{}`.", operation.needs),
        "parameters": parameters,
        "responses": answers,
        "security": [{ "bearer": [] }],
        "x-permission": operation.needs,
    });
    if let Some((takes, rule)) = operation.takes {
        let (body, required) = (content(&takes(), JSON, schemas), rule == BodyRule::Required);
        described["requestBody"] = json!({ "required": required, "content": body });
    }
    described
}

/// Describes the parameters of a path.
pub(super) fn path_parameters(path: &'static str) -> impl Iterator<Item = Value> {
    path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        let name = name.trim_start_matches('*');
        let schema = json!({ "type": "string" });
        Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
    })
}

/// Describes a body; one of another media type than JSON is text, of which each line is of the schema.
fn content(schema: &Schemas, media: &str, schemas: &mut Map<String, Value>) -> Value {
    let plain = |schema| serde_json::to_value(schema).unwrap_or_default();
    for (name, other) in &schema.others {
        schemas.entry(name.clone()).or_insert_with(|| plain(other));
    }
    schemas.entry(schema.name.clone()).or_insert_with(|| plain(&schema.schema));
    let reference = format!("#/components/schemas/{}", schema.name);
    let reference = json!({ "$ref": reference });
    let schema = if media == JSON {
        reference
    } else {
        json!({ "type": "string", "description": "One object a line.", "x-line": reference })
    };
    json!({ media: { "schema": schema } })
}

/// Any refusal (RFC 9457).
pub(super) fn refused() -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    json!({
        "description": "Refused; `code` says why.",
        "content": { "application/problem+json": { "schema": schema } },
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "A refusal (RFC 9457). `code` is stable.",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": { "type": "string" },
            "detail": { "type": "string" },
            "enroll": {
                "description": "With `assurance_out_of_reach`: the kinds of flows that mend it.",
                "type": "array",
                "items": { "type": "string" },
            },
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["pointer", "detail"],
                    "properties": {
                        "pointer": { "type": "string" },
                        "detail": { "type": "string" },
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::authority::Permission;

    #[test]
    fn every_operation_is_in_the_document_and_needs_a_permission_of_our_own() {
        let document = document("https://id.example.com");
        for operation in OPERATIONS {
            let method = operation.verb.name().to_ascii_lowercase();
            let described = &document["paths"][operation.path][&method];
            assert_eq!(described["operationId"], operation.name);
            assert_eq!(described["x-permission"], operation.needs);
            let needs = Permission::parse(operation.needs).unwrap();
            assert!(needs.is_reserved() && !needs.is_wildcard(), "{needs}");
        }
        let names = OPERATIONS.iter().map(|operation| operation.name);
        let unique: std::collections::BTreeSet<&str> = names.collect();
        assert_eq!(unique.len(), OPERATIONS.len());
    }

    #[test]
    fn every_reference_in_the_document_leads_to_a_schema() {
        let document = document("https://id.example.com");
        let text = document.to_string();
        for (at, _) in text.match_indices("\"#/components/schemas/") {
            let name = text[at + 22..].split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
        let export = &document["paths"]["/api/organizations/{organization}/audit/export"]["get"];
        let answer = &export["responses"]["200"];
        let line = &answer["content"]["application/jsonl"]["schema"]["x-line"];
        assert_eq!(line["$ref"], "#/components/schemas/Entry");
        assert!(answer["headers"].is_null(), "it is no entity at a version");
        assert!(text.contains("\"/me\"") && text.contains("\"/flows\""));
    }
}
