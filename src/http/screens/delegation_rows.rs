//! A delegation tree as pages draw it: a row for each link, as deep as it hangs.

use super::{pages::scope_words, shell::Shell};
use crate::wording::quotable;
use serde::Deserialize;
use serde_json::Value;

/// A link of the tree, as operations answer it.
#[derive(Deserialize)]
pub struct Branch {
    kind: String,
    id: String,
    client_id: Option<String>,
    client_name: Option<String>,
    #[serde(default)]
    act: Vec<String>,
    organization: Option<String>,
    resource: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    authorization_details: Vec<Value>,
    expires_at: Option<String>,
    holds: Vec<Branch>,
}

/// What is drawn of a link.
pub struct Row {
    /// From 0; as deep as the page can show it.
    pub depth: usize,
    pub id: String,
    /// A client holds it; otherwise a tree begins with it.
    pub is_held: bool,
    /// It is held for another party.
    pub is_delegation: bool,
    pub client_id: String,
    /// What it is, in words.
    pub kind: String,
    pub name: String,
    /// What it may be used for, in words.
    pub may: String,
    pub resource: Option<String>,
    pub organization: Option<String>,
    /// Those who act one after another.
    pub act: String,
    pub details: Vec<String>,
    pub expires_at: Option<String>,
}

/// No row is drawn deeper.
const DEEPEST: usize = 9;

/// Lists the rows of a tree from the top.
pub fn rows(page: &Shell<'_>, branches: &[Branch]) -> Vec<Row> {
    let mut rows = Vec::new();
    // What is still to be drawn, the next one last.
    let mut left: Vec<(usize, &Branch)> = branches.iter().rev().map(|one| (0, one)).collect();
    while let Some((depth, branch)) = left.pop() {
        rows.push(row(page, branch, depth));
        left.extend(branch.holds.iter().rev().map(|one| (depth + 1, one)));
    }
    rows
}

fn row(page: &Shell<'_>, branch: &Branch, depth: usize) -> Row {
    let client_id = branch.client_id.clone().unwrap_or_default();
    let named = branch.client_name.as_deref().map(quotable).filter(|name| !name.is_empty());
    let (label, name) = match &*branch.kind {
        "session" => ("tree-session", String::new()),
        "api_key" => ("tree-key", branch.id.clone()),
        "client" => ("tree-client", branch.id.clone()),
        "grant" => ("tree-grant", named.unwrap_or_else(|| client_id.clone())),
        _ => ("tree-delegation", named.unwrap_or_else(|| client_id.clone())),
    };
    let words = branch.scopes.iter().filter_map(|scope| scope_words(page, scope));
    let is_delegation = branch.kind == "delegation";
    Row {
        depth: depth.min(DEEPEST),
        id: branch.id.clone(),
        is_held: is_delegation || branch.kind == "grant",
        is_delegation,
        client_id,
        kind: page.t(label),
        name,
        may: words.collect::<Vec<_>>().join(" · "),
        resource: branch.resource.clone(),
        organization: branch.organization.clone(),
        act: branch.act.join(" → "),
        details: branch.authorization_details.iter().map(Value::to_string).collect(),
        expires_at: branch.expires_at.clone(),
    }
}
