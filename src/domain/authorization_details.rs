//! What a client asks for in detail (RFC 9396 §2): a list of objects, each of a type that an API has
//! declared.
//!
//! A list is bounded, and no object in it has a member twice: two readers of such an object could see
//! two different things in it. What a type adds to that is its [`Schema`], its [`SubsetRules`] and its
//! [`Texts`] (adr/0070).

mod fixed;
mod number;
mod pattern;
mod schema;
mod strict;
mod subset;
mod text;

pub use fixed::Fixed;
pub use schema::{BadSchema, Schema};
pub use subset::{BadRule, Shrinks, SubsetRules};
pub use text::{BadText, Rendered, Texts};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// No list holds more.
pub const MOST: usize = 10;
/// Bytes of the parameter: it travels in addresses, in the id of a flow and in tokens.
pub const LONGEST: usize = 4_096;
/// Objects and lists inside each other, the outer list among them.
pub const DEEPEST: usize = 8;

/// The member that names the type.
const TYPE: &str = "type";
/// The member under which people are told how a detail reads: no detail brings it.
pub const TEXT: &str = "text";

/// A list of details that was read from a request, and may be empty where none was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Details(Vec<Detail>);

/// One of them: an object with a `type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Detail(Map<String, Value>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedDetails {
    #[error("authorization_details has more than 4096 bytes")]
    TooLong,
    #[error("authorization_details is no JSON, repeats a member, or is nested too deeply")]
    Unreadable,
    #[error("authorization_details is a list of one to ten objects")]
    NoList,
    #[error("each of the authorization_details has a type")]
    NoType,
    #[error("none of the authorization_details has a member text")]
    Text,
}

impl MalformedDetails {
    /// Says it to the client.
    pub const fn description(self) -> &'static str {
        match self {
            Self::TooLong => "authorization_details has more than 4096 bytes",
            Self::Unreadable => {
                "authorization_details is no JSON, repeats a member, or is nested too deeply"
            }
            Self::NoList => "authorization_details is a list of one to ten objects",
            Self::NoType => "each of the authorization_details has a type",
            Self::Text => "none of the authorization_details has a member text",
        }
    }
}

impl Details {
    /// Reads the parameter; a list of nothing asks for nothing, and is refused.
    pub fn parse(text: &str) -> Result<Self, MalformedDetails> {
        if text.len() > LONGEST {
            return Err(MalformedDetails::TooLong);
        }
        let whole = strict::parse(text, DEEPEST).ok_or(MalformedDetails::Unreadable)?;
        let Value::Array(list) = whole else { return Err(MalformedDetails::NoList) };
        if list.is_empty() || list.len() > MOST {
            return Err(MalformedDetails::NoList);
        }
        list.into_iter().map(Detail::read).collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Detail> {
        self.0.iter()
    }

    /// Lists the types that are asked for, each once.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.iter().map(Detail::kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Tells whether this confers nothing that `whole` does not.
    ///
    /// Each detail needs one of its own there: two payments are more than one of the same amount.
    pub fn is_part_of<'a>(
        &self,
        whole: &Self,
        rules: impl Fn(&str) -> Option<&'a SubsetRules>,
    ) -> bool {
        let fits = |part: &Detail, one: &Detail| {
            let kind = part.kind();
            kind == one.kind() && rules(kind).is_some_and(|rules| rules.contains(&one.0, &part.0))
        };
        let fitting = |part: &Detail| -> Vec<usize> {
            let all = whole.iter().enumerate();
            all.filter(|(_, one)| fits(part, one)).map(|(index, _)| index).collect()
        };
        let choices: Vec<Vec<usize>> = self.iter().map(fitting).collect();
        let mut pairs = Pairs { choices: &choices, part_of: vec![None; whole.0.len()] };
        (0..choices.len()).all(|part| pairs.find(part, &mut vec![false; whole.0.len()]))
    }
}

/// Which detail was taken for which part of it.
struct Pairs<'a> {
    /// The details that each part fits into.
    choices: &'a [Vec<usize>],
    part_of: Vec<Option<usize>>,
}

impl Pairs<'_> {
    /// Finds a detail for one more part; those that have one may move to another.
    fn find(&mut self, part: usize, seen: &mut Vec<bool>) -> bool {
        let choices = self.choices;
        for &index in &choices[part] {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            if self.part_of[index].is_none_or(|other| self.find(other, seen)) {
                self.part_of[index] = Some(part);
                return true;
            }
        }
        false
    }
}

impl Detail {
    fn read(value: Value) -> Result<Self, MalformedDetails> {
        let Value::Object(members) = value else { return Err(MalformedDetails::NoList) };
        if members.contains_key(TEXT) {
            return Err(MalformedDetails::Text);
        }
        let kind = members.get(TYPE).and_then(Value::as_str);
        if kind.is_none_or(str::is_empty) {
            return Err(MalformedDetails::NoType);
        }
        Ok(Self(members))
    }

    /// Returns its type.
    pub fn kind(&self) -> &str {
        self.0.get(TYPE).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Tells whether a schema admits it. The type is known already, so a schema that closes its
    /// object need not name it.
    pub fn fits(&self, schema: &Schema) -> bool {
        let mut rest = self.0.clone();
        rest.remove(TYPE);
        schema.admits(&Value::Object(self.0.clone())) || schema.admits(&Value::Object(rest))
    }
}

#[cfg(test)]
mod tests;
