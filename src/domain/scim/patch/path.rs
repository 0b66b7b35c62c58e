//! The path of an operation: an attribute, an extension, or values that fulfil a condition.

use crate::domain::scim::{
    attribute_path::{Place, Target},
    error::{ScimError, excerpt},
    filter::{MAX_FILTER_LENGTH, Node, Parser},
    schema::{Attribute, ResourceType, Schema},
};

#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// All attributes of an extension.
    Extension(&'static Schema),
    Attribute(Target),
    Values(Values),
    /// `password`: a client that sends one must not fail, and it is forgotten at once.
    Password,
}

/// `emails[type eq "work"]`, and the sub-attribute of those values if one is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    pub(in crate::domain::scim) target: Target,
    pub(in crate::domain::scim) condition: Node,
    pub(in crate::domain::scim) sub_attribute: Option<&'static Attribute>,
}

impl Path {
    /// Reads a path to an attribute that the schema has.
    pub fn parse(text: &str, resource_type: &'static ResourceType) -> Result<Self, ScimError> {
        let found = Self::find(text, resource_type)?;
        found.ok_or_else(|| ScimError::invalid_path(format!("no attribute {}", excerpt(text))))
    }

    /// Reads a path; one to an attribute that the schema does not have is `None`.
    fn find(text: &str, resource_type: &'static ResourceType) -> Result<Option<Self>, ScimError> {
        let malformed = || ScimError::invalid_path(format!("{} is no path", excerpt(text)));
        let mut parser = Parser::new(text, resource_type);
        if text.len() > MAX_FILTER_LENGTH {
            return Err(malformed());
        }
        let path = parser.read_path().map_err(|_| malformed())?;
        let place = path.resolve(resource_type);
        if !parser.take(b'[') {
            let is_password = path.urn.is_none() && path.name.eq_ignore_ascii_case("password");
            return match place {
                _ if !parser.rest().is_empty() => Err(malformed()),
                Some(Place::Attribute(target)) => Ok(Some(Self::Attribute(target))),
                Some(Place::Extension(schema)) => Ok(Some(Self::Extension(schema))),
                None => Ok(is_password.then_some(Self::Password)),
            };
        }
        let target = match place {
            Some(Place::Attribute(target)) => Some(target),
            Some(Place::Extension(_)) | None => None,
        };
        let condition = parser.read_condition(target)?;
        let part = if parser.take(b'.') {
            Some(parser.read_path().map_err(|_| malformed())?)
        } else {
            None
        };
        if !parser.rest().trim().is_empty() {
            return Err(malformed());
        }
        let Some(target) = target else { return Ok(None) };
        let attribute = target.attribute;
        if !attribute.multi_valued || !attribute.is_complex() || target.sub_attribute.is_some() {
            let detail = format!("`{}` has not several complex values", attribute.name);
            return Err(ScimError::invalid_path(detail));
        }
        let sub_attribute = match part {
            None => None,
            Some(part) if part.urn.is_some() || part.sub_attribute.is_some() => {
                return Err(malformed());
            }
            Some(part) => match attribute.sub_attribute(&part.name) {
                Some(found) => Some(found),
                None => return Ok(None),
            },
        };
        Ok(Some(Self::Values(Values { target, condition, sub_attribute })))
    }

    /// Reads the name of a member as a path; what the schema does not have or a client cannot write is
    /// `None`.
    pub(super) fn of_member(
        name: &str,
        resource_type: &'static ResourceType,
    ) -> Result<Option<Self>, ScimError> {
        match Self::find(name, resource_type) {
            Ok(found) => {
                Ok(found.filter(|path| *path != Self::Password && path.check_mutability().is_ok()))
            }
            // With a bracket it was meant as a path; without one it is an unknown name.
            Err(why) if name.contains('[') => Err(why),
            Err(_) => Ok(None),
        }
    }

    /// Names the required attribute that it leads to, if it does.
    pub(super) fn required(&self) -> Option<&'static str> {
        let attribute = match self {
            Self::Attribute(target) => target.sub_attribute.unwrap_or(target.attribute),
            Self::Values(values) => values.sub_attribute?,
            Self::Extension(_) | Self::Password => return None,
        };
        attribute.required.then_some(attribute.name)
    }

    /// Refuses a path to what only the server writes.
    pub(super) fn check_mutability(&self) -> Result<(), ScimError> {
        let target = match self {
            Self::Attribute(target) => *target,
            Self::Values(values) => Target { sub_attribute: values.sub_attribute, ..values.target },
            Self::Extension(_) | Self::Password => return Ok(()),
        };
        if target.is_read_only() {
            return Err(ScimError::mutability(format!("`{target}` is read-only")));
        }
        Ok(())
    }
}
