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

/// Where a resource stands in a sorted list: of those with one key the smaller `id` is first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortPlace {
    key: SortKey,
    pub id: String,
    is_descending: bool,
}

impl SortPlace {
    /// How many bytes are kept of it.
    pub fn bytes(&self) -> usize {
        let text = match &self.key {
            SortKey::Text(text) => text.len(),
            SortKey::Boolean(_) | SortKey::Moment(_) | SortKey::Absent => 0,
        };
        size_of::<Self>() + self.id.len() + text
    }
}

impl Ord for SortPlace {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = self.key.cmp(&other.key);
        let by_key = if self.is_descending { by_key.reverse() } else { by_key };
        by_key.then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for SortPlace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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

    /// Returns where a complete document stands.
    pub fn place(&self, document: &Map<String, Value>, id: String) -> SortPlace {
        SortPlace { key: self.key(document), id, is_descending: self.is_descending }
    }
}
