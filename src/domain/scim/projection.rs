//! Which attributes an answer has (RFC 7644 §3.9).

#[cfg(test)]
mod tests;

use super::{
    attribute_path::{AttributePath, Place, Target},
    error::ScimError,
    message::find_parameter,
    schema::{Attribute, ResourceType, Returned, Schema},
};
use serde_json::{Map, Value};

/// The most attributes that one parameter may name.
pub const MAX_NAMES: usize = 100;

/// What the parameters `attributes` and `excludedAttributes` ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    resource_type: &'static ResourceType,
    choice: Choice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Default,
    Only(Vec<Place>),
    Without(Vec<Place>),
}

impl Projection {
    /// Returns what is shown where a client asks for nothing special.
    pub fn default_of(resource_type: &'static ResourceType) -> Self {
        Self { resource_type, choice: Choice::Default }
    }

    /// Returns the type of the resources that it is for.
    pub fn resource_type(&self) -> &'static ResourceType {
        self.resource_type
    }

    /// Reads the names of both parameters. A name that the schema does not know is ignored.
    ///
    /// RFC 7644 §3.9 lets a client give one of them. Both together are refused, for a client that sends
    /// them is wrong about what it gets.
    pub fn read(
        attributes: &[&str],
        excluded: &[&str],
        resource_type: &'static ResourceType,
    ) -> Result<Self, ScimError> {
        let find = |names: &[&str]| {
            if names.len() > MAX_NAMES {
                let detail = format!("at most {MAX_NAMES} attributes are named");
                return Err(ScimError::invalid_value(detail));
            }
            let paths = names.iter().filter_map(|name| AttributePath::parse(name.trim()));
            Ok(paths.filter_map(|path| path.resolve(resource_type)).collect())
        };
        let choice = match (attributes, excluded) {
            ([], []) => Choice::Default,
            (names, []) => Choice::Only(find(names)?),
            ([], names) => Choice::Without(find(names)?),
            _ => {
                let detail = "`attributes` and `excludedAttributes` exclude each other";
                return Err(ScimError::invalid_value(detail));
            }
        };
        Ok(Self { resource_type, choice })
    }

    /// Reads the decoded parameters of a request for one resource.
    pub fn from_pairs<N: AsRef<str>, V: AsRef<str>>(
        pairs: &[(N, V)],
        resource_type: &'static ResourceType,
    ) -> Result<Self, ScimError> {
        let attributes = split_names(find_parameter(pairs, "attributes")?);
        let excluded = split_names(find_parameter(pairs, "excludedAttributes")?);
        Self::read(&attributes, &excluded, resource_type)
    }

    /// Tells whether an attribute is shown at all, so that a costly one need not be read.
    pub fn wants(&self, path: &str) -> bool {
        let target = AttributePath::parse(path).and_then(|path| path.target(self.resource_type));
        target.is_some_and(|target| match target.sub_attribute {
            None => self.shows(target),
            Some(part) => {
                let whole = Target { sub_attribute: None, ..target };
                self.shows(whole) && self.shows_part(whole, part)
            }
        })
    }

    /// Leaves out of a complete document what is not asked for.
    pub fn apply(&self, document: Map<String, Value>) -> Map<String, Value> {
        let mut shown = Map::new();
        for (name, value) in document {
            let kept = match (self.resource_type.extension(&name), value) {
                (Some(schema), Value::Object(content)) => {
                    let find = |name: &str| schema.attribute(name);
                    let content = self.apply_to(content, Some(schema), find);
                    (!content.is_empty()).then_some(Value::Object(content))
                }
                (_, value) => {
                    let single: Map<String, Value> = [(name.clone(), value)].into_iter().collect();
                    let find = |name: &str| self.resource_type.attribute(name);
                    self.apply_to(single, None, find).remove(&name)
                }
            };
            shown.extend(kept.map(|kept| (name, kept)));
        }
        shown
    }

    fn apply_to(
        &self,
        content: Map<String, Value>,
        extension: Option<&'static Schema>,
        find: impl Fn(&str) -> Option<&'static Attribute>,
    ) -> Map<String, Value> {
        let mut shown = Map::new();
        for (name, value) in content {
            let Some(attribute) = find(&name) else { continue };
            let target = Target { extension, attribute, sub_attribute: None };
            if !self.shows(target) {
                continue;
            }
            let kept = match value {
                Value::Array(values) => values
                    .into_iter()
                    .filter_map(|value| self.apply_to_value(target, value))
                    .collect(),
                single => match self.apply_to_value(target, single) {
                    Some(kept) => kept,
                    None => continue,
                },
            };
            shown.insert(name, kept);
        }
        shown
    }

    /// Leaves sub-attributes out of one value; a value with none of them is not shown.
    fn apply_to_value(&self, target: Target, value: Value) -> Option<Value> {
        let Value::Object(mut members) = value else { return Some(value) };
        members.retain(|name, _| {
            let part = target.attribute.sub_attribute(name);
            part.is_some_and(|part| self.shows_part(target, part))
        });
        (!members.is_empty()).then_some(Value::Object(members))
    }

    /// Tells whether anything of an attribute is shown.
    fn shows(&self, target: Target) -> bool {
        let is_named = |place: &Place| match place {
            Place::Extension(schema) => target.extension == Some(schema),
            Place::Attribute(named) => {
                named.attribute.name == target.attribute.name && named.extension == target.extension
            }
        };
        let is_whole = |place: &&Place| match place {
            Place::Extension(_) => true,
            Place::Attribute(named) => named.sub_attribute.is_none(),
        };
        match (target.attribute.returned, &self.choice) {
            (Returned::Always, _) | (Returned::Default, Choice::Default) => true,
            (Returned::Default, Choice::Without(places)) => {
                !places.iter().filter(is_whole).any(is_named)
            }
            (_, Choice::Only(places)) => places.iter().any(is_named),
            (Returned::Request, Choice::Default | Choice::Without(_)) => false,
        }
    }

    /// Tells whether a sub-attribute is shown where its attribute is.
    fn shows_part(&self, target: Target, part: &Attribute) -> bool {
        let places = match &self.choice {
            Choice::Default => [].as_slice(),
            Choice::Only(places) | Choice::Without(places) => places,
        };
        let parts = places.iter().filter_map(|place| match place {
            Place::Attribute(named)
                if named.attribute.name == target.attribute.name
                    && named.extension == target.extension =>
            {
                Some(named.sub_attribute.map(|part| part.name))
            }
            Place::Extension(schema) if target.extension == Some(schema) => Some(None),
            _ => None,
        });
        let is_named = parts.clone().any(|name| name == Some(part.name));
        let is_whole = parts.clone().any(|name| name.is_none());
        match (part.returned, &self.choice) {
            (Returned::Always, _) | (Returned::Default, Choice::Default) => true,
            (Returned::Default, Choice::Without(_)) => !is_named,
            // An attribute that is always shown is shown whole, whether it is named or not.
            (Returned::Default, Choice::Only(_)) => {
                is_named || is_whole || target.attribute.returned == Returned::Always
            }
            (Returned::Request, Choice::Only(_)) => is_named,
            (Returned::Request, Choice::Default | Choice::Without(_)) => false,
        }
    }
}

/// Splits names that are separated by commas.
pub(super) fn split_names(names: Option<&str>) -> Vec<&str> {
    let each = names.unwrap_or("").split(',').map(str::trim);
    each.filter(|name| !name.is_empty()).collect()
}
