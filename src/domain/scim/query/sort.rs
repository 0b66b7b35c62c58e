//! The order of a list (RFC 7644 §3.4.2.3).

use crate::domain::scim::{
    attribute_path::{AttributePath, Target, values},
    date_time::DateTime,
    error::{ScimError, excerpt},
    filter::fold_case,
    schema::{AttributeType, ResourceType},
    value::is_primary,
};
use serde_json::{Map, Value};
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    target: Target,
    is_descending: bool,
}

/// What a resource is sorted by. Those without a value come last, and first in descending order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    Boolean(bool),
    Moment(DateTime),
    /// The letters are small unless the attribute tells upper from lower case.
    Text(String),
    Absent,
}

impl Sort {
    /// Reads `sortBy` and `sortOrder`. A path that cannot be sorted by is refused, so that no client
    /// takes another order for the one it asked for.
    pub fn read(
        path: &str,
        order: Option<&str>,
        resource_type: &'static ResourceType,
    ) -> Result<Self, ScimError> {
        let found = AttributePath::parse(path).and_then(|path| path.target(resource_type));
        // A complex attribute is sorted by its `value`, if it has one.
        let sortable = found.and_then(|target| match target.sub_attribute {
            None if target.attribute.is_complex() => {
                let sub_attribute = Some(target.attribute.sub_attribute("value")?);
                Some(Target { sub_attribute, ..target })
            }
            _ => Some(target),
        });
        let Some(target) = sortable else {
            let detail = format!("`sortBy` cannot be {}", excerpt(path));
            return Err(ScimError::invalid_path(detail));
        };
        let is = |word: &str| order.is_some_and(|order| order.eq_ignore_ascii_case(word));
        if order.is_some() && !is("ascending") && !is("descending") {
            return Err(ScimError::invalid_value("`sortOrder` is ascending or descending"));
        }
        Ok(Self { target, is_descending: is("descending") })
    }

    /// Returns what a complete document is sorted by.
    pub fn key(&self, document: &Map<String, Value>) -> SortKey {
        let found = self.target.find(document).map(values).unwrap_or_default();
        let part = self.target.sub_attribute;
        let read =
            |value: &Value| part.map_or(Some(value.clone()), |part| value.get(part.name).cloned());
        // The primary value, else the first.
        let chosen = found.iter().find(|value| is_primary(value)).or_else(|| found.first());
        let attribute = part.unwrap_or(self.target.attribute);
        match chosen.and_then(read) {
            Some(Value::Bool(truth)) => SortKey::Boolean(truth),
            Some(Value::String(text)) if attribute.kind == AttributeType::DateTime => {
                DateTime::parse(&text).map_or(SortKey::Absent, SortKey::Moment)
            }
            Some(Value::String(text)) if attribute.case_exact => SortKey::Text(text),
            Some(Value::String(text)) => SortKey::Text(fold_case(&text)),
            _ => SortKey::Absent,
        }
    }

    /// Compares two keys in the order that was asked for.
    pub fn compare(&self, one: &SortKey, other: &SortKey) -> Ordering {
        if self.is_descending { other.cmp(one) } else { one.cmp(other) }
    }
}
