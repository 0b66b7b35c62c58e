//! `[[resource]]`: an API, its scopes, and the types of `authorization_details` it understands.

use super::{
    lines::{Declared, Lines},
    table::{Reading, Table, excerpt},
};
use crate::{
    config::{Located, Section},
    domain::{
        authority::Permission,
        resource::{DetailType, Draft, Refusal},
    },
};
use serde_json::Value;

/// The lists whose members must each be found again: complaints of ownership name their lines.
pub(super) const SCOPES: &str = "scopes";
pub(super) const DETAILS: &str = "authorization_details";

pub(super) fn read(section: Section, reading: &mut Reading) -> Option<Declared<Draft>> {
    let mut table = Table::new("resource", section, reading);
    table.demand(&["identifier"]);
    let identifier = table.text("identifier");
    let name = table.name("name");
    let scopes = table.permissions(SCOPES);
    for Located { value, line } in scopes.iter().flatten() {
        table.reading.once("scope", value.as_str(), *line);
    }
    let sections = table.tables(DETAILS);
    let details = sections.map(|sections| {
        sections.into_iter().filter_map(|section| detail(section, &mut table)).collect()
    });
    if let Some(Located { value, line }) = &identifier {
        table.reading.once("resource", value, *line);
    }
    let lines = table.finish();
    let draft = Draft {
        identifier: identifier?.value,
        name,
        scopes: scopes.map(|scopes| scopes.into_iter().map(|scope| scope.value).collect()),
        authorization_details: details,
    };
    Some(Declared { draft, lines })
}

fn detail(section: Section, resource: &mut Table<'_>) -> Option<DetailType> {
    let mut table = Table::new("resource.authorization_details", section, resource.reading);
    table.demand(&["type", "schema"]);
    let name = table.name("type");
    let schema = schema(&mut table);
    let permission = permission(&mut table);
    let line = table.finish().of_field("type");
    let name = name?;
    resource.reading.once("type of authorization_details", &name, line);
    resource.note_member(DETAILS, &name, line);
    Some(DetailType { name, schema: schema?, permission })
}

/// A JSON Schema is an object, or says yes or no to everything.
fn schema(table: &mut Table<'_>) -> Option<Value> {
    let Located { value, line } = table.json("schema")?;
    if value.is_object() || value.is_boolean() {
        return Some(value);
    }
    table.complain_of("schema", line, "must be a JSON Schema: a table, or true or false");
    None
}

fn permission(table: &mut Table<'_>) -> Option<Permission> {
    let Located { value, line } = table.text("permission")?;
    match Permission::parse(&value) {
        Ok(permission) => Some(permission),
        Err(why) => {
            let wrong = format!("is `{}`: {why}", excerpt(&value));
            table.complain_of("permission", line, &wrong);
            None
        }
    }
}

/// What was refused in words, with its line.
pub(super) fn said(refusal: &Refusal, lines: &Lines) -> (usize, String) {
    let line = match refusal {
        Refusal::Identifier => lines.of_field("identifier"),
        Refusal::Wildcard(scope) | Refusal::Reserved(scope) => {
            lines.of_member(SCOPES, scope.as_str())
        }
        Refusal::DetailWildcard { name, .. } => lines.of_member(DETAILS, name),
    };
    (line, refusal.to_string())
}
