//! Filters of lists (RFC 7644 §3.4.2.2).
//!
//! A filter is read once against the schema and then asked of each document. How a test is answered:
//!
//! - A multi-valued attribute matches if any of its values does. Without a sub-attribute the `value`
//!   of each is compared.
//! - `ne` matches where a value differs, and where there is no value at all.
//! - `null` means absent: `eq null` matches where there is no value, `ne null` where there is one.
//! - An attribute that the schema does not know is absent everywhere (RFC 7644 §3.4.2.1).
//! - `active` is true where it is absent, for that is how we take it.

mod compare;
mod lookup;
mod parser;
#[cfg(test)]
mod tests;

pub use compare::fold_case;
pub(super) use compare::read_boolean;
pub use lookup::{Lookup, MemberNeed};
pub(super) use parser::Parser;

use super::{
    attribute_path::{AttributePath, Target},
    error::ScimError,
    schema::{Attribute, ResourceType},
};
use compare::Comparand;
use serde_json::{Map, Number, Value};
use std::fmt;

/// The longest filter, in bytes.
pub const MAX_FILTER_LENGTH: usize = 4096;
/// How deep groups, `not` and value paths may be nested.
pub const MAX_FILTER_DEPTH: usize = 32;
/// The most comparisons in one filter.
pub const MAX_FILTER_TERMS: usize = 200;

#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    root: Node,
    resource_type: &'static ResourceType,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Test(Test),
    Values(ValuePath),
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Test {
    path: AttributePath,
    pub(super) subject: Subject,
    pub(super) operator: Operator,
    pub(super) literal: Literal,
    /// The literal as it is compared.
    comparand: Comparand,
}

/// What a test looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Subject {
    Unknown,
    Attribute(Target),
    /// Within brackets: a sub-attribute of the value at hand.
    Part(&'static Attribute),
}

/// `emails[type eq "work"]`: matches if one value fulfils the whole condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValuePath {
    path: AttributePath,
    target: Option<Target>,
    condition: Box<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Contains,
    StartsWith,
    EndsWith,
    Present,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Boolean(bool),
    Number(Number),
    Text(String),
}

impl Filter {
    /// Reads a filter on resources of this type.
    pub fn parse(text: &str, resource_type: &'static ResourceType) -> Result<Self, ScimError> {
        let root = Parser::new(text, resource_type).read_filter()?;
        Ok(Self { root, resource_type })
    }

    /// Tells whether a complete document, with its `id` and `meta`, matches.
    pub fn matches(&self, document: &Map<String, Value>) -> bool {
        self.root.matches(document)
    }

    /// Counts its comparisons: so often a document is looked at.
    pub fn comparisons(&self) -> usize {
        self.root.comparisons()
    }
}

impl Node {
    /// Asks it of a document, or within brackets of one value.
    pub(super) fn matches(&self, document: &Map<String, Value>) -> bool {
        match self {
            Self::And(nodes) => nodes.iter().all(|node| node.matches(document)),
            Self::Or(nodes) => nodes.iter().any(|node| node.matches(document)),
            Self::Not(node) => !node.matches(document),
            Self::Test(test) => test.matches(document),
            Self::Values(path) => path.matches(document),
        }
    }

    pub(super) fn comparisons(&self) -> usize {
        match self {
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().map(Self::comparisons).sum(),
            Self::Not(node) => node.comparisons(),
            Self::Test(_) => 1,
            Self::Values(path) => path.condition.comparisons(),
        }
    }
}

impl ValuePath {
    fn matches(&self, document: &Map<String, Value>) -> bool {
        let found = self.target.and_then(|target| target.find(document));
        let mut values = found.map(super::attribute_path::values).unwrap_or_default().iter();
        values.any(|value| value.as_object().is_some_and(|value| self.condition.matches(value)))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(out)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(nodes) => write_joined(out, nodes, " and "),
            Self::Or(nodes) => write_joined(out, nodes, " or "),
            Self::Not(node) => write!(out, "not ({node})"),
            Self::Test(test) if test.operator == Operator::Present => {
                write!(out, "{} pr", test.path)
            }
            Self::Test(test) => {
                write!(out, "{} {} {}", test.path, test.operator.word(), test.literal)
            }
            Self::Values(path) => write!(out, "{}[{}]", path.path, path.condition),
        }
    }
}

fn write_joined(out: &mut fmt::Formatter<'_>, nodes: &[Node], word: &str) -> fmt::Result {
    for (place, node) in nodes.iter().enumerate() {
        if place > 0 {
            out.write_str(word)?;
        }
        match node {
            Node::And(_) | Node::Or(_) => write!(out, "({node})")?,
            _ => write!(out, "{node}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Literal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Boolean(truth) => write!(out, "{truth}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::Text(text) => write!(out, "{}", Value::String(text.clone())),
        }
    }
}

const OPERATORS: [(&str, Operator); 10] = [
    ("eq", Operator::Equal),
    ("ne", Operator::NotEqual),
    ("co", Operator::Contains),
    ("sw", Operator::StartsWith),
    ("ew", Operator::EndsWith),
    ("pr", Operator::Present),
    ("gt", Operator::Greater),
    ("ge", Operator::GreaterOrEqual),
    ("lt", Operator::Less),
    ("le", Operator::LessOrEqual),
];

impl Operator {
    fn parse(word: &str) -> Option<Self> {
        let found = OPERATORS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        found.map(|(_, operator)| *operator)
    }

    fn word(self) -> &'static str {
        OPERATORS.iter().find(|(_, operator)| *operator == self).map_or("", |(name, _)| name)
    }
}
