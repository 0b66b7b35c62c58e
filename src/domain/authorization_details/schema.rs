//! The JSON Schema of a type, as far as it is understood here (adr/0070).
//!
//! A schema with a keyword that is not understood is refused when it is declared: to ignore it would
//! admit what it forbids. Nothing is fetched, and no part refers to another.

use super::{TEXT, number, pattern::Pattern};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// Schemas inside each other.
const DEEPEST: usize = 16;
/// Schemas in one.
const MOST: usize = 500;

/// Say something to readers, and nothing of what is admitted. `format` is one of them, as JSON Schema
/// 2020-12 has it.
const ANNOTATIONS: [&str; 12] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentMediaType",
];

/// A schema that was understood.
#[derive(Clone, Debug)]
pub struct Schema(Vec<Rule>);

#[derive(Clone, Debug)]
enum Rule {
    Nothing,
    Kinds(Vec<Kind>),
    Values(Vec<Value>),
    Required(Vec<String>),
    Members { named: Vec<(String, Schema)>, others: Option<Schema> },
    MemberCount { least: bool, bound: u64 },
    Items(Schema),
    ItemCount { least: bool, bound: u64 },
    Unique,
    Bound { order: Ordering, or_equal: bool, bound: Number },
    MultipleOf(Number),
    Length { least: bool, bound: u64 },
    Pattern(Pattern),
    All(Vec<Schema>),
    Any(Vec<Schema>),
    One(Vec<Schema>),
    Not(Schema),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    Integer,
    String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSchema {
    #[error("the keyword `{0}` is not understood")]
    Unknown(String),
    #[error("the value of the keyword `{0}` is not what it takes")]
    Wrong(String),
    #[error("it is too large, or nested too deeply")]
    TooLarge,
    #[error("a detail has no member `text`: people are told there how it reads")]
    Text,
}

impl Schema {
    pub fn compile(schema: &Value) -> Result<Self, BadSchema> {
        let named = schema.get("properties").and_then(|named| named.get(TEXT));
        if named.is_some() {
            return Err(BadSchema::Text);
        }
        Compiler { left: MOST }.schema(schema, DEEPEST)
    }

    pub fn admits(&self, value: &Value) -> bool {
        self.0.iter().all(|rule| rule.admits(value))
    }
}

struct Compiler {
    /// How many schemas more there may be.
    left: usize,
}

impl Compiler {
    fn schema(&mut self, schema: &Value, deeper: usize) -> Result<Schema, BadSchema> {
        self.left = self.left.checked_sub(1).ok_or(BadSchema::TooLarge)?;
        let deeper = deeper.checked_sub(1).ok_or(BadSchema::TooLarge)?;
        let keywords = match schema {
            Value::Bool(true) => return Ok(Schema(Vec::new())),
            Value::Bool(false) => return Ok(Schema(vec![Rule::Nothing])),
            Value::Object(keywords) => keywords,
            _ => return Err(BadSchema::Wrong("schema".to_owned())),
        };
        let mut rules = Vec::new();
        for (keyword, value) in keywords {
            if ANNOTATIONS.contains(&keyword.as_str()) {
                continue;
            }
            let wrong = || BadSchema::Wrong(keyword.clone());
            rules.push(match keyword.as_str() {
                "properties" | "additionalProperties" => continue,
                "items" => Rule::Items(self.schema(value, deeper)?),
                "not" => Rule::Not(self.schema(value, deeper)?),
                "allOf" => Rule::All(self.schemas(value, deeper).ok_or_else(wrong)??),
                "anyOf" => Rule::Any(self.schemas(value, deeper).ok_or_else(wrong)??),
                "oneOf" => Rule::One(self.schemas(value, deeper).ok_or_else(wrong)??),
                _ => plain(keyword, value).map_err(|bad| match bad {
                    Plain::Wrong => wrong(),
                    Plain::Unknown => BadSchema::Unknown(keyword.clone()),
                })?,
            });
        }
        rules.extend(self.members(keywords, deeper)?);
        Ok(Schema(rules))
    }

    fn members(
        &mut self,
        keywords: &Map<String, Value>,
        deeper: usize,
    ) -> Result<Option<Rule>, BadSchema> {
        let (named, others) = (keywords.get("properties"), keywords.get("additionalProperties"));
        if named.is_none() && others.is_none() {
            return Ok(None);
        }
        let wrong = || BadSchema::Wrong("properties".to_owned());
        let members = match named {
            None => Map::new(),
            Some(named) => named.as_object().cloned().ok_or_else(wrong)?,
        };
        let mut named = Vec::new();
        for (name, schema) in &members {
            named.push((name.clone(), self.schema(schema, deeper)?));
        }
        let others = others.map(|schema| self.schema(schema, deeper)).transpose()?;
        Ok(Some(Rule::Members { named, others }))
    }

    fn schemas(&mut self, value: &Value, deeper: usize) -> Option<Result<Vec<Schema>, BadSchema>> {
        let schemas = value.as_array().filter(|schemas| !schemas.is_empty())?;
        Some(schemas.iter().map(|schema| self.schema(schema, deeper)).collect())
    }
}

enum Plain {
    Unknown,
    Wrong,
}

/// Reads a keyword that holds no schema.
fn plain(keyword: &str, value: &Value) -> Result<Rule, Plain> {
    let rule = match keyword {
        "type" => kinds(value).map(Rule::Kinds),
        "enum" => value.as_array().cloned().map(Rule::Values),
        "const" => Some(Rule::Values(vec![value.clone()])),
        "required" => texts(value).map(Rule::Required),
        "minProperties" | "maxProperties" => value
            .as_u64()
            .map(|bound| Rule::MemberCount { least: keyword.starts_with("min"), bound }),
        "minItems" | "maxItems" => {
            value.as_u64().map(|bound| Rule::ItemCount { least: keyword.starts_with("min"), bound })
        }
        "uniqueItems" => match value {
            Value::Bool(true) => Some(Rule::Unique),
            Value::Bool(false) => Some(Rule::All(Vec::new())),
            _ => None,
        },
        "minLength" | "maxLength" => {
            value.as_u64().map(|bound| Rule::Length { least: keyword.starts_with("min"), bound })
        }
        "minimum" => bound(Ordering::Greater, true, value),
        "exclusiveMinimum" => bound(Ordering::Greater, false, value),
        "maximum" => bound(Ordering::Less, true, value),
        "exclusiveMaximum" => bound(Ordering::Less, false, value),
        "multipleOf" => {
            let positive = value.as_f64().is_some_and(|number| number > 0.0);
            value.as_number().filter(|_| positive).cloned().map(Rule::MultipleOf)
        }
        "pattern" => value.as_str().and_then(Pattern::compile).map(Rule::Pattern),
        _ => return Err(Plain::Unknown),
    };
    rule.ok_or(Plain::Wrong)
}

fn bound(order: Ordering, or_equal: bool, value: &Value) -> Option<Rule> {
    value.as_number().cloned().map(|bound| Rule::Bound { order, or_equal, bound })
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
}

fn kinds(value: &Value) -> Option<Vec<Kind>> {
    let kind = |name: &Value| match name.as_str()? {
        "null" => Some(Kind::Null),
        "boolean" => Some(Kind::Boolean),
        "object" => Some(Kind::Object),
        "array" => Some(Kind::Array),
        "number" => Some(Kind::Number),
        "integer" => Some(Kind::Integer),
        "string" => Some(Kind::String),
        _ => None,
    };
    match value {
        Value::Array(names) if !names.is_empty() => names.iter().map(kind).collect(),
        name => kind(name).map(|kind| vec![kind]),
    }
}

impl Kind {
    fn is_of(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Number => value.is_number(),
            Self::Integer => {
                let whole = |number: f64| number.fract() == 0.0;
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(whole)
            }
            Self::String => value.is_string(),
        }
    }
}

fn is_within(count: usize, least: bool, bound: u64) -> bool {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    if least { count >= bound } else { count <= bound }
}

impl Rule {
    /// A rule for one kind of value says nothing of the others.
    fn admits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Nothing, _) => false,
            (Self::Kinds(kinds), _) => kinds.iter().any(|kind| kind.is_of(value)),
            (Self::Values(values), _) => values.contains(value),
            (Self::All(schemas), _) => schemas.iter().all(|schema| schema.admits(value)),
            (Self::Any(schemas), _) => schemas.iter().any(|schema| schema.admits(value)),
            (Self::One(schemas), _) => {
                schemas.iter().filter(|schema| schema.admits(value)).count() == 1
            }
            (Self::Not(schema), _) => !schema.admits(value),
            (Self::Required(names), Value::Object(members)) => {
                names.iter().all(|name| members.contains_key(name))
            }
            (Self::Members { named, others }, Value::Object(members)) => {
                members.iter().all(|(name, value)| {
                    let own = named.iter().find(|(own, _)| own == name).map(|(_, schema)| schema);
                    own.or(others.as_ref()).is_none_or(|schema| schema.admits(value))
                })
            }
            (Self::MemberCount { least, bound }, Value::Object(members)) => {
                is_within(members.len(), *least, *bound)
            }
            (Self::Items(schema), Value::Array(items)) => {
                items.iter().all(|item| schema.admits(item))
            }
            (Self::ItemCount { least, bound }, Value::Array(items)) => {
                is_within(items.len(), *least, *bound)
            }
            (Self::Unique, Value::Array(items)) => {
                items.iter().enumerate().all(|(index, item)| !items[..index].contains(item))
            }
            (Self::Bound { order, or_equal, bound }, Value::Number(number)) => {
                let found = number::compare(number, bound);
                found == Some(*order) || (*or_equal && found == Some(Ordering::Equal))
            }
            (Self::MultipleOf(unit), Value::Number(number)) => is_multiple(number, unit),
            (Self::Length { least, bound }, Value::String(text)) => {
                is_within(text.chars().count(), *least, *bound)
            }
            (Self::Pattern(pattern), Value::String(text)) => pattern.is_in(text),
            _ => true,
        }
    }
}

fn is_multiple(number: &Number, unit: &Number) -> bool {
    /// Of a hundredth no floating-point number is an exact multiple.
    const SLACK: f64 = 1e-9;
    if let (Some(number), Some(unit)) = (number.as_i128(), unit.as_i128()) {
        return number % unit == 0;
    }
    let (Some(number), Some(unit)) = (number.as_f64(), unit.as_f64()) else { return false };
    let times = number / unit;
    times.is_finite() && (times - times.round()).abs() < SLACK
}
