//! A Group as a client sent it, and the changes a PATCH asks of it.
//!
//! A Group may have very many members, so they are never kept in its document. What is read here
//! names them by their identifiers alone; `$ref`, `type` and `display` are said by the server.

#[cfg(test)]
mod tests;

use super::{
    error::ScimError,
    filter::{Literal, Node, Operator, Subject, Test},
    message::{check_size, find_member, require_schema},
    patch::{Operation, Patch, Path, Verb},
    resource::{self, Meta},
    schema::{GROUP, MAX_IDENTIFIER, ResourceType},
    value::read_single,
};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// What the body of a POST or a PUT says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub display_name: String,
    pub external_id: Option<String>,
    /// Identifiers, each once, in the order in which they were sent.
    pub members: Vec<String>,
}

/// One change of a Group. Changes are made in the order in which they are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupChange {
    DisplayName(String),
    ExternalId(Option<String>),
    AddMembers(Vec<String>),
    RemoveMembers(Vec<String>),
    RemoveAllMembers,
    ReplaceMembers(Vec<String>),
}

impl Group {
    /// Reads the body of a POST or a PUT with at most this many members.
    pub fn read(body: &Map<String, Value>, member_limit: usize) -> Result<Self, ScimError> {
        require_schema(body, GROUP.schema.id)?;
        check_size(body)?;
        let text = |name: &str| match find_member(body, name)? {
            Some(value) => read_text(name, value),
            None => Ok(None),
        };
        let display_name = check_display_name(text("displayName")?)?;
        let external_id = text("externalId")?;
        let members = match find_member(body, "members")? {
            Some(value) => MemberReader::new(member_limit).read(value)?,
            None => Vec::new(),
        };
        Ok(Self { display_name, external_id, members })
    }

    /// Returns the document that clients read. The caller adds `members` where they are wanted.
    pub fn show(
        display_name: &str,
        external_id: Option<&str>,
        id: &str,
        meta: &Meta<'_>,
    ) -> Map<String, Value> {
        let mut attributes = Map::new();
        attributes.insert("displayName".to_owned(), display_name.into());
        if let Some(external_id) = external_id {
            attributes.insert("externalId".to_owned(), external_id.into());
        }
        resource::show(&attributes, &GROUP, id, meta)
    }
}

impl GroupChange {
    /// Reads the body of a PATCH which names at most this many members in all.
    pub fn read(body: &Map<String, Value>, member_limit: usize) -> Result<Vec<Self>, ScimError> {
        let group: &'static ResourceType = &GROUP;
        let patch = Patch::read(body, group)?;
        let mut members = MemberReader::new(member_limit);
        let changes = patch.operations.iter().map(|operation| read_change(operation, &mut members));
        let changes: Result<Vec<Option<Self>>, ScimError> = changes.collect();
        Ok(changes?.into_iter().flatten().collect())
    }
}

fn read_change(
    operation: &Operation,
    members: &mut MemberReader,
) -> Result<Option<GroupChange>, ScimError> {
    let (verb, value) = (operation.verb, operation.value.as_ref());
    let target = match &operation.path {
        Path::Attribute(target) => *target,
        Path::Values(path) if verb == Verb::Remove && path.sub_attribute.is_none() => {
            let mut ids = Vec::new();
            if !collect_ids(&path.condition, &mut ids) {
                let detail = "members are found by `value eq` alone, joined by `or`";
                return Err(ScimError::invalid_filter(detail));
            }
            return Ok(Some(GroupChange::RemoveMembers(members.take(ids)?)));
        }
        Path::Values(_) => {
            let detail = "a member is not changed: it is added or removed";
            return Err(ScimError::mutability(detail));
        }
        Path::Extension(_) | Path::Password => return Ok(None),
    };
    let name = target.attribute.name;
    let text = || value.map(|value| read_text(name, value)).transpose().map(Option::flatten);
    match (name, verb) {
        _ if target.sub_attribute.is_some() => {
            let detail = "a member is not changed: it is added or removed";
            Err(ScimError::mutability(detail))
        }
        ("displayName", Verb::Remove) => check_display_name(None).map(|_| None),
        ("displayName", _) => Ok(Some(GroupChange::DisplayName(check_display_name(text()?)?))),
        ("externalId", Verb::Remove) => Ok(Some(GroupChange::ExternalId(None))),
        ("externalId", Verb::Replace) => Ok(Some(GroupChange::ExternalId(text()?))),
        ("externalId", Verb::Add) => Ok(text()?.map(|text| GroupChange::ExternalId(Some(text)))),
        ("members", _) => match (verb, value) {
            (Verb::Remove | Verb::Replace, None) => Ok(Some(GroupChange::RemoveAllMembers)),
            (Verb::Add, None) => Ok(None),
            // Entra names the members to remove in `value`. An empty list removes none of them.
            (Verb::Remove, Some(value)) => {
                Ok(Some(GroupChange::RemoveMembers(members.read(value)?)))
            }
            (Verb::Add, Some(value)) => Ok(Some(GroupChange::AddMembers(members.read(value)?))),
            (Verb::Replace, Some(value)) => {
                Ok(Some(GroupChange::ReplaceMembers(members.read(value)?)))
            }
        },
        _ => Ok(None),
    }
}

/// Collects the identifiers of `value eq "…"`, also joined by `or`; false where anything else is there.
fn collect_ids(condition: &Node, ids: &mut Vec<String>) -> bool {
    match condition {
        Node::Or(nodes) => nodes.iter().all(|node| collect_ids(node, ids)),
        Node::Test(Test {
            subject: Subject::Part(part),
            operator: Operator::Equal,
            literal: Literal::Text(id),
            ..
        }) if part.name == "value" => {
            ids.push(id.clone());
            true
        }
        _ => false,
    }
}

/// Reads an attribute of a Group that is a text.
fn read_text(name: &str, value: &Value) -> Result<Option<String>, ScimError> {
    let Some(attribute) = GROUP.attribute(name) else { return Ok(None) };
    match read_single(attribute, value)? {
        Some(Value::String(text)) => Ok(Some(text)),
        _ => Ok(None),
    }
}

fn check_display_name(name: Option<String>) -> Result<String, ScimError> {
    let filled = name.filter(|name| !name.trim().is_empty());
    filled.ok_or_else(|| ScimError::invalid_value("`displayName` is required"))
}

/// Reads identifiers of members, and counts them over the whole request.
struct MemberReader {
    limit: usize,
    count: usize,
}

impl MemberReader {
    fn new(limit: usize) -> Self {
        Self { limit, count: 0 }
    }

    /// Reads `[{"value": "…"}]`, and also plain texts and a single object.
    fn read(&mut self, value: &Value) -> Result<Vec<String>, ScimError> {
        let given = super::attribute_path::values(value);
        // Before anything is copied.
        self.check(given.len())?;
        let ids: Result<Vec<Option<String>>, ScimError> = given.iter().map(read_id).collect();
        self.take(ids?.into_iter().flatten().collect())
    }

    /// Takes each identifier once.
    fn take(&mut self, mut ids: Vec<String>) -> Result<Vec<String>, ScimError> {
        self.check(ids.len())?;
        self.count += ids.len();
        let mut known = HashSet::new();
        ids.retain(|id| known.insert(id.clone()));
        Ok(ids)
    }

    fn check(&self, more: usize) -> Result<(), ScimError> {
        if self.count.saturating_add(more) > self.limit {
            let detail = format!("a request names at most {} members", self.limit);
            return Err(ScimError::too_large(detail));
        }
        Ok(())
    }
}

/// Reads the identifier of one member; `null` is none.
fn read_id(value: &Value) -> Result<Option<String>, ScimError> {
    let refuse = || ScimError::invalid_value("a member is an object with a `value`");
    let id = match value {
        Value::Null => return Ok(None),
        Value::String(id) => id,
        Value::Object(members) => match find_member(members, "value")? {
            Some(Value::String(id)) => id,
            _ => return Err(refuse()),
        },
        _ => return Err(refuse()),
    };
    let fits = !id.is_empty() && id.len() <= MAX_IDENTIFIER && !id.contains(char::is_control);
    if fits { Ok(Some(id.clone())) } else { Err(refuse()) }
}
