//! The body of a PATCH (RFC 7644 §3.5.2), read against the schema and applied to a User.
//!
//! An operation without a path is taken as one operation for each member of its value. The name of
//! such a member may be a path itself, as Entra and Okta send it. There read-only and unknown
//! attributes are ignored as in a PUT; in a path they are refused. A required attribute is never left
//! without a value, and what is between two operations is as small as a User that is kept: no patch
//! works on more.

mod edit;
mod path;
#[cfg(test)]
mod tests;

pub use path::Path;

use super::{
    error::{ScimError, excerpt},
    message::{check_size, find_member, find_text, require_schema},
    resource::{User, check_document},
    schema::ResourceType,
};
use serde_json::{Map, Value};

/// The schema of the body.
pub const PATCH_OP: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// The most changes in one request. An operation without a path counts once for each attribute.
pub const MAX_OPERATIONS: usize = 1000;

/// The most comparisons in the paths of one request.
pub const MAX_COMPARISONS: usize = 1000;

/// Operations in the order in which they are applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    pub(super) operations: Vec<Operation>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operation {
    pub(super) verb: Verb,
    pub(super) path: Path,
    pub(super) value: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Add,
    Replace,
    Remove,
}

impl Patch {
    /// Reads the body of a PATCH of a resource of this type.
    pub fn read(
        body: &Map<String, Value>,
        resource_type: &'static ResourceType,
    ) -> Result<Self, ScimError> {
        require_schema(body, PATCH_OP)?;
        let Some(Value::Array(given)) = find_member(body, "Operations")? else {
            return Err(ScimError::invalid_syntax("`Operations` is an array"));
        };
        let (mut operations, mut comparisons, mut counted) = (Vec::new(), 0, 0);
        for one in given {
            let Value::Object(one) = one else {
                return Err(ScimError::invalid_syntax("an operation is an object"));
            };
            read_operation(one, resource_type, &mut operations)?;
            if operations.len() > MAX_OPERATIONS {
                let detail = format!("a patch has at most {MAX_OPERATIONS} changes");
                return Err(ScimError::too_large(detail));
            }
            let more = operations.iter().skip(counted).map(Operation::comparisons);
            comparisons += more.sum::<usize>();
            counted = operations.len();
            if comparisons > MAX_COMPARISONS {
                let detail = format!("a patch has at most {MAX_COMPARISONS} comparisons");
                return Err(ScimError::too_large(detail));
            }
        }
        Ok(Self { operations })
    }

    /// Applies all of it or nothing, and tells whether anything changed.
    pub fn apply(&self, user: &mut User) -> Result<bool, ScimError> {
        let mut attributes = user.attributes().clone();
        for operation in &self.operations {
            operation.edit(&mut attributes)?;
            check_document(&attributes)?;
        }
        let next = User::check(&attributes)?;
        let changed = next != *user;
        *user = next;
        Ok(changed)
    }
}

fn read_operation(
    given: &Map<String, Value>,
    resource_type: &'static ResourceType,
    operations: &mut Vec<Operation>,
) -> Result<(), ScimError> {
    let verb = Verb::read(find_text(given, "op")?.unwrap_or(""))?;
    let value = find_member(given, "value")?;
    // Replacing with `null` is removing, but a value that was forgotten is a mistake.
    let has_value = given.keys().any(|name| name.eq_ignore_ascii_case("value"));
    if let Some(path) = find_text(given, "path")?.filter(|path| !path.is_empty()) {
        if verb != Verb::Remove && !has_value {
            return Err(ScimError::invalid_value("`value` is required"));
        }
        let path = Path::parse(path, resource_type)?;
        path.check_mutability()?;
        if path != Path::Password {
            operations.push(Operation::new(verb, path, value.cloned())?);
        }
        return Ok(());
    }
    match (verb, value) {
        // RFC 7644 §3.5.2.2
        (Verb::Remove, _) => Err(ScimError::no_target("`remove` wants a path")),
        (_, Some(Value::Object(members))) => {
            check_size(members)?;
            for (name, member) in members {
                let Some(path) = Path::of_member(name, resource_type)? else { continue };
                let value = Some(member.clone()).filter(|value| !value.is_null());
                operations.push(Operation::new(verb, path, value)?);
            }
            Ok(())
        }
        _ => Err(ScimError::invalid_value("without a path `value` is an object")),
    }
}

impl Operation {
    /// Refuses one that leaves a required attribute without a value (RFC 7644 §3.5.2.2).
    fn new(verb: Verb, path: Path, value: Option<Value>) -> Result<Self, ScimError> {
        let unassigns = match verb {
            Verb::Add => false,
            Verb::Replace => value.is_none(),
            Verb::Remove => true,
        };
        match path.required() {
            Some(name) if unassigns => Err(ScimError::mutability(format!("`{name}` is required"))),
            _ => Ok(Self { verb, path, value }),
        }
    }

    /// Counts the comparisons that find its values.
    fn comparisons(&self) -> usize {
        match &self.path {
            Path::Values(values) => values.condition.comparisons(),
            Path::Extension(_) | Path::Attribute(_) | Path::Password => 0,
        }
    }
}

impl Verb {
    /// Entra writes `Add`, the RFC `add`.
    fn read(word: &str) -> Result<Self, ScimError> {
        let verbs = [("add", Self::Add), ("replace", Self::Replace), ("remove", Self::Remove)];
        let found = verbs.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let refuse = || {
            let found = excerpt(word);
            ScimError::invalid_syntax(format!("`op` is add, replace or remove, not {found}"))
        };
        found.map(|(_, verb)| verb).ok_or_else(refuse)
    }
}
