//! How a value is compared with a literal.

use super::{Literal, Operator, Subject, Test};
use crate::domain::scim::{
    attribute_path::values,
    date_time::DateTime,
    error::ScimError,
    schema::{Attribute, AttributeType},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, cmp::Ordering};

/// A literal in the form in which it is compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Comparand {
    Absent,
    Boolean(bool),
    Number(f64),
    Exact(String),
    /// The letters are small on both sides.
    Folded(String),
    DateTime(DateTime),
}

/// What `active` is where it is absent.
static ACTIVE: Value = Value::Bool(true);

/// Makes all letters small, each by itself, so that a part of a text folds as the whole does.
pub fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).collect()
}

impl Comparand {
    /// Checks that the operator fits the attribute and the literal.
    pub(super) fn new(
        subject: Subject,
        operator: Operator,
        literal: &Literal,
    ) -> Result<Self, ScimError> {
        let attribute = subject.compared();
        let kind = attribute.map_or(AttributeType::String, |attribute| attribute.kind);
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let is_part = operator.looks_at_parts();
        match (kind, literal) {
            _ if operator == Operator::Present => Ok(Self::Absent),
            // RFC 7644 §3.4.2.2: a boolean has no order and no parts.
            (AttributeType::Boolean, _) | (_, Literal::Boolean(_) | Literal::Null)
                if !is_equality =>
            {
                Err(refuse(operator, "does not compare booleans or null"))
            }
            (_, Literal::Null) => Ok(Self::Absent),
            (_, Literal::Boolean(truth)) => Ok(Self::Boolean(*truth)),
            (_, Literal::Number(_)) if is_part => Err(refuse(operator, "does not compare numbers")),
            (_, Literal::Number(number)) => Ok(Self::Number(number.as_f64().unwrap_or(f64::NAN))),
            // Entra writes `active eq "False"`.
            (AttributeType::Boolean, Literal::Text(text)) => match read_boolean(text) {
                Some(truth) => Ok(Self::Boolean(truth)),
                None => Err(refuse(operator, "wants true or false here")),
            },
            (AttributeType::DateTime, Literal::Text(text)) if !is_part => {
                match DateTime::parse(text) {
                    Some(moment) => Ok(Self::DateTime(moment)),
                    None => Err(refuse(operator, "wants a date and time here")),
                }
            }
            (_, Literal::Text(text)) => {
                let is_exact = attribute.is_some_and(|attribute| attribute.case_exact);
                Ok(if is_exact { Self::Exact(text.clone()) } else { Self::Folded(fold_case(text)) })
            }
        }
    }

    /// Returns how the value stands to it; a value of another type does not.
    fn order(&self, value: &Value) -> Option<Ordering> {
        match (value, self) {
            (Value::Bool(truth), Self::Boolean(other)) => Some(truth.cmp(other)),
            (Value::Number(number), Self::Number(other)) => number.as_f64()?.partial_cmp(other),
            (Value::String(text), Self::Exact(other)) => Some(text.as_str().cmp(other)),
            (Value::String(text), Self::Folded(other)) => {
                // Letter by letter: most texts differ early.
                Some(text.chars().flat_map(char::to_lowercase).cmp(other.chars()))
            }
            (Value::String(text), Self::DateTime(other)) => {
                DateTime::parse(text).map(|moment| moment.cmp(other))
            }
            _ => None,
        }
    }

    /// Returns both texts in the form in which parts of them are compared.
    fn texts<'a>(&'a self, value: &'a Value) -> Option<(Cow<'a, str>, &'a str)> {
        match (value, self) {
            (Value::String(text), Self::Exact(other)) => Some((Cow::Borrowed(text), other)),
            (Value::String(text), Self::Folded(other)) => Some((fold_case(text).into(), other)),
            _ => None,
        }
    }
}

impl Test {
    pub(super) fn matches(&self, document: &Map<String, Value>) -> bool {
        let found = match self.subject {
            Subject::Unknown => None,
            Subject::Attribute(target) => target.find(document),
            Subject::Part(attribute) => document.get(attribute.name),
        };
        let part = self.part();
        let present = found
            .map(values)
            .unwrap_or_default()
            .iter()
            .filter_map(|value| part.map_or(Some(value), |part| value.get(part.name)))
            .filter(|value| !value.is_null());
        let is_active = matches!(self.subject, Subject::Attribute(target)
            if target.attribute.name == "active" && target.extension.is_none());
        let assumed = (is_active && found.is_none()).then_some(&ACTIVE);
        let mut compared = present.clone().chain(assumed);
        let is_absent = compared.clone().next().is_none();
        match (self.operator, &self.comparand) {
            (Operator::Present, _) => present.clone().any(is_filled),
            (Operator::Equal, Comparand::Absent) => is_absent,
            (Operator::NotEqual, Comparand::Absent) => !is_absent,
            (Operator::NotEqual, _) if is_absent => true,
            _ => compared.any(|value| self.holds(value)),
        }
    }

    /// Returns the sub-attribute that is looked at. Without one in the path a comparison looks at
    /// `value`, and `pr` at the attribute itself.
    fn part(&self) -> Option<&'static Attribute> {
        match self.subject {
            Subject::Attribute(target) if self.operator == Operator::Present => {
                target.sub_attribute
            }
            Subject::Attribute(target) => {
                target.sub_attribute.or_else(|| target.attribute.sub_attribute("value"))
            }
            Subject::Unknown | Subject::Part(_) => None,
        }
    }

    fn holds(&self, value: &Value) -> bool {
        let order = || self.comparand.order(value);
        let parts = |holds: fn(&str, &str) -> bool| {
            self.comparand.texts(value).is_some_and(|(text, other)| holds(&text, other))
        };
        match self.operator {
            Operator::Equal => order() == Some(Ordering::Equal),
            Operator::NotEqual => order() != Some(Ordering::Equal),
            Operator::Greater => order() == Some(Ordering::Greater),
            Operator::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
            Operator::Less => order() == Some(Ordering::Less),
            Operator::LessOrEqual => order().is_some_and(Ordering::is_le),
            Operator::Contains => parts(|text, other| text.contains(other)),
            Operator::StartsWith => parts(|text, other| text.starts_with(other)),
            Operator::EndsWith => parts(|text, other| text.ends_with(other)),
            Operator::Present => is_filled(value),
        }
    }
}

impl Subject {
    /// Returns the attribute whose values are compared.
    fn compared(self) -> Option<&'static Attribute> {
        match self {
            Self::Unknown => None,
            Self::Part(attribute) => Some(attribute),
            Self::Attribute(target) => {
                let value = || target.attribute.sub_attribute("value");
                Some(target.sub_attribute.or_else(value).unwrap_or(target.attribute))
            }
        }
    }
}

impl Operator {
    fn looks_at_parts(self) -> bool {
        matches!(self, Self::Contains | Self::StartsWith | Self::EndsWith)
    }
}

fn refuse(operator: Operator, why: &str) -> ScimError {
    ScimError::invalid_filter(format!("`{}` {why}", operator.word()))
}

/// Tells whether there is anything in a value or in a part of it.
fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => values.iter().any(is_filled),
        Value::Object(members) => members.values().any(is_filled),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Reads a boolean that was sent as a text, as Entra does.
pub(in crate::domain::scim) fn read_boolean(text: &str) -> Option<bool> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("true") { Some(true) } else { is("false").then_some(false) }
}
