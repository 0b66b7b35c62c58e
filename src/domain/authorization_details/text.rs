//! How a detail reads to the person who is asked for it.
//!
//! A template is filled with the members it names in braces. What it does not name is listed after it:
//! a person is never asked for something they are not shown.

use super::{Detail, TYPE};
use crate::domain::visible_text::is_hidden;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// No template is longer.
pub const LONGEST: usize = 1_000;

/// The templates of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub en: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pt: Option<String>,
}

/// A detail in both languages, as plain text: it is no markup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendered {
    pub en: String,
    pub pt: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a text has at most 1000 characters, all of them visible, and the name of a member in each pair \
     of braces"
)]
pub struct BadText;

impl Texts {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn check(&self) -> Result<(), BadText> {
        let bad = |text: &&String| {
            let readable = text.chars().count() <= LONGEST && !text.chars().any(is_hidden);
            !readable || text.trim().is_empty() || parts(text).is_none()
        };
        [&self.en, &self.pt].into_iter().flatten().find(bad).map_or(Ok(()), |_| Err(BadText))
    }

    pub fn render(&self, detail: &Detail) -> Rendered {
        let text = |template: &Option<String>| match template {
            Some(template) => filled(template, detail),
            None => format!("{}: {}", plain(detail.kind()), listed(detail.members(), &[])),
        };
        Rendered { en: text(&self.en), pt: text(&self.pt) }
    }
}

/// A part of a template.
enum Part<'a> {
    Words(&'a str),
    Member(&'a str),
}

/// Takes a template apart; a brace without its other is no template.
fn parts(template: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((words, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        if words.contains('}') || name.is_empty() || name.contains(['{', ' ']) {
            return None;
        }
        parts.extend([Part::Words(words), Part::Member(name)]);
        rest = after;
    }
    parts.push(Part::Words(rest));
    (!rest.contains('}')).then_some(parts)
}

fn filled(template: &str, detail: &Detail) -> String {
    let Some(parts) = parts(template) else { return listed(detail.members(), &[]) };
    let (mut text, mut named) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Words(words) => text.push_str(words),
            Part::Member(path) => {
                named.push(path);
                text.push_str(&find(detail.members(), path).map_or("-".to_owned(), said));
            }
        }
    }
    let rest = listed(detail.members(), &named);
    if rest.is_empty() { text } else { format!("{text} ({rest})") }
}

fn find<'a>(members: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let Some((name, inner)) = path.split_once('.') else { return members.get(path) };
    find(members.get(name)?.as_object()?, inner)
}

/// Lists the members that were not named, the type aside.
fn listed(members: &Map<String, Value>, named: &[&str]) -> String {
    let mut lines = Vec::new();
    for (name, value) in members.iter().filter(|(name, _)| *name != TYPE) {
        list(name, value, named, &mut lines);
    }
    lines.sort_unstable();
    lines.join(", ")
}

fn list(path: &str, value: &Value, named: &[&str], lines: &mut Vec<String>) {
    if named.contains(&path) {
        return;
    }
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                list(&format!("{path}.{name}"), value, named, lines);
            }
        }
        _ => lines.push(format!("{} {}", plain(path), said(value))),
    }
}

fn said(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        Value::Array(values) => values.iter().map(said).collect::<Vec<_>>().join(", "),
        other => plain(&other.to_string()),
    }
}

/// Shows what cannot be seen for what it is.
fn plain(text: &str) -> String {
    text.chars().map(|one| if is_hidden(one) { '\u{fffd}' } else { one }).collect()
}
