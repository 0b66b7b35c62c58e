//! `[[resource]]`: an API, its scopes, and the types of `authorization_details` it understands.

use super::{
    lines::{Declaration, Lines},
    table::{Reading, Table, excerpt},
};
use crate::{
    config::{DocumentValue, Section},
    domain::{
        authority::Permission,
        authorization_details::{Shrinks, SubsetRules, Texts},
        resource::{DetailType, Draft, Refusal},
    },
};
use serde_json::Value;

/// The lists whose members must each be found again: complaints of ownership name their lines.
pub(super) const SCOPES: &str = "scopes";
pub(super) const DETAILS: &str = "authorization_details";

pub(super) fn read(section: Section, reading: &mut Reading) -> Option<Declaration<Draft>> {
    let mut table = Table::new("resource", section, reading);
    table.demand(&["identifier"]);
    let identifier = table.text("identifier");
    let name = table.name("name");
    let scopes = table.permissions(SCOPES);
    for DocumentValue { value, line } in scopes.iter().flatten() {
        table.reading.once("scope", value.as_str(), *line);
    }
    let sections = table.tables(DETAILS);
    let details = sections.map(|sections| {
        sections.into_iter().filter_map(|section| detail(section, &mut table)).collect()
    });
    if let Some(DocumentValue { value, line }) = &identifier {
        table.reading.once("resource", value, *line);
    }
    let lines = table.finish();
    let draft = Draft {
        identifier: identifier?.value,
        name,
        scopes: scopes.map(|scopes| scopes.into_iter().map(|scope| scope.value).collect()),
        authorization_details: details,
    };
    Some(Declaration { draft, lines })
}

fn detail(section: Section, resource: &mut Table<'_>) -> Option<DetailType> {
    let mut table = Table::new("resource.authorization_details", section, resource.reading);
    table.demand(&["type", "schema"]);
    let name = table.name("type");
    let schema = schema(&mut table);
    let permission = permission(&mut table);
    let irreversible = table.flag("irreversible").unwrap_or_default();
    let subset = subset(&mut table);
    let text = texts(&mut table);
    let line = table.finish().of_field("type");
    let name = name?;
    resource.reading.once("type of authorization_details", &name, line);
    resource.note_member(DETAILS, &name, line);
    Some(DetailType { name, schema: schema?, permission, irreversible, subset, text })
}

/// A JSON Schema is an object, or says yes or no to everything.
fn schema(table: &mut Table<'_>) -> Option<Value> {
    let DocumentValue { value, line } = table.json("schema")?;
    if value.is_object() || value.is_boolean() {
        return Some(value);
    }
    table.complain_of("schema", line, "must be a JSON Schema: a table, or true or false");
    None
}

fn permission(table: &mut Table<'_>) -> Option<Permission> {
    let DocumentValue { value, line } = table.text("permission")?;
    match Permission::parse(&value) {
        Ok(permission) => Some(permission),
        Err(why) => {
            let wrong = format!("is `{}`: {why}", excerpt(&value));
            table.complain_of("permission", line, &wrong);
            None
        }
    }
}

/// Takes how members may shrink; those inside others are tables inside tables.
fn subset(table: &mut Table<'_>) -> SubsetRules {
    let Some(DocumentValue { value, line }) = table.json("subset") else {
        return SubsetRules::default();
    };
    let mut rules = Vec::new();
    if flatten("", &value, &mut rules).is_none() {
        let wrong = "must be a table in which each member is `at_most` or `subset`";
        table.complain_of("subset", line, wrong);
    }
    rules.into_iter().collect()
}

fn flatten(path: &str, value: &Value, rules: &mut Vec<(String, Shrinks)>) -> Option<()> {
    let Value::Object(members) = value else {
        let rule = value.as_str().filter(|_| !path.is_empty()).and_then(Shrinks::by_name)?;
        rules.push((path.to_owned(), rule));
        return Some(());
    };
    for (name, value) in members {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        flatten(&path, value, rules)?;
    }
    Some(())
}

fn texts(table: &mut Table<'_>) -> Texts {
    let Some(section) = table.table("text") else { return Texts::default() };
    let mut texts = Table::new("resource.authorization_details.text", section, table.reading);
    let mut text = |key| texts.text(key).map(|text| text.value);
    let read = Texts { en: text("en"), pt: text("pt") };
    texts.finish();
    read
}

/// What was refused in words, with its line.
pub(super) fn said(refusal: &Refusal, lines: &Lines) -> (usize, String) {
    let line = match refusal {
        Refusal::Identifier => lines.of_field("identifier"),
        Refusal::Wildcard(scope) | Refusal::Reserved(scope) => {
            lines.of_member(SCOPES, scope.as_str())
        }
        Refusal::DetailWildcard { name, .. }
        | Refusal::DetailSchema { name, .. }
        | Refusal::DetailSubset { name, .. }
        | Refusal::DetailText { name, .. } => lines.of_member(DETAILS, name),
    };
    (line, refusal.to_string())
}
