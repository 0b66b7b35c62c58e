//! A role as a Group.

use super::{call::ScimCall, version};
use crate::{
    domain::{
        membership::{ROLE_MEMBERS, role_of},
        organization::Role,
        scim::{error::ScimError, group::Group, resource::Meta},
    },
    http::{answer::scim::ScimRefusal, time::rfc3339},
};
use serde_json::{Map, Value, json};
use tokio::task::yield_now;

/// How many are read at once.
const PAGE: u32 = 1_000;

/// Lists the ids of the members of a role, if they are no more than `most`.
pub async fn members(
    call: &ScimCall,
    role: &str,
    most: usize,
) -> Result<Option<Vec<String>>, ScimRefusal> {
    let owner = role_of(call.slug(), role);
    let mut ids: Vec<String> = Vec::new();
    loop {
        let after = ids.last().cloned().unwrap_or_default();
        let list = (ROLE_MEMBERS, owner.as_str());
        let page = call.app.store.list_ids(list, (&after, &after), PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        ids.extend(page.into_iter().map(|(_, id)| id));
        if ids.len() > most {
            return Ok(None);
        }
        if is_last {
            return Ok(Some(ids));
        }
        // Other requests of this thread run between two pages.
        yield_now().await;
    }
}

/// The same, where more than can be shown is refused.
pub async fn all_members(call: &ScimCall, role: &str) -> Result<Vec<String>, ScimRefusal> {
    let found = members(call, role, call.app.limits.scim.shown_members).await?;
    found.ok_or_else(|| too_many(call))
}

/// Refuses an answer with more members than are shown.
pub fn too_many(call: &ScimCall) -> ScimRefusal {
    let most = call.app.limits.scim.shown_members;
    let detail = format!(
        "more than {most} members are not shown in one answer: ask with excludedAttributes=members"
    );
    ScimError::too_many(detail).into()
}

/// Returns the document of a Group, with these members where they are shown; only then it has a version.
pub fn document(base: &str, role: &Role, members: Option<&[String]>) -> Map<String, Value> {
    let group = role.group.as_deref().cloned().unwrap_or_default();
    let location = format!("{base}/Groups/{}", role.name);
    let version = members.map(|members| version(role, members));
    let meta = Meta {
        created: &rfc3339(group.created_at),
        last_modified: &rfc3339(group.changed_at),
        location: &location,
        version: version.as_deref().unwrap_or_default(),
    };
    let external_id = group.external_id.as_deref();
    let mut document = Group::show(role.display_name(), external_id, &role.name, &meta);
    if let Some(Value::Object(meta)) = document.get_mut("meta") {
        if version.is_none() {
            meta.remove("version");
        }
        // Of a role that no directory has touched it is not known when it was made.
        if role.group.is_none() {
            meta.remove("created");
            meta.remove("lastModified");
        }
    }
    if let Some(members) = members.filter(|members| !members.is_empty()) {
        let shown = members.iter().map(|id| member(base, id)).collect();
        document.insert("members".to_owned(), Value::Array(shown));
    }
    document
}

fn member(base: &str, id: &str) -> Value {
    json!({ "value": id, "$ref": format!("{base}/Users/{id}"), "type": "User" })
}

/// A version changes with what is shown: members are no part of the role's row.
pub fn version(role: &Role, members: &[String]) -> String {
    let external_id = role.group.as_ref().and_then(|group| group.external_id.as_deref());
    let said = json!([role.name, role.display_name(), external_id, members]);
    version::of(&said)
}
