//! What applying a file does, or would do, to each entity it names.

use crate::domain::Provisioned;
use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use std::fmt;

/// The entities of a file in the order in which they are decided on: resources, organizations,
/// accounts, clients, and among them as the file has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
}

/// What becomes of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: &'static str,
    /// The name by which the file knows it: `identifier`, `slug`, `email`, `client_id`.
    pub id: String,
    pub outcome: Provisioned,
}

impl Plan {
    /// Tells whether everything is already as the file says.
    pub fn changes_nothing(&self) -> bool {
        self.steps.iter().all(|step| step.outcome == Provisioned::Unchanged)
    }
}

impl Step {
    fn change(&self) -> &'static str {
        match self.outcome {
            Provisioned::Created => "created",
            Provisioned::Changed(_) => "changed",
            Provisioned::Unchanged => "unchanged",
        }
    }

    fn fields(&self) -> &[&'static str] {
        match &self.outcome {
            Provisioned::Changed(fields) => fields,
            Provisioned::Created | Provisioned::Unchanged => &[],
        }
    }
}

/// One line for people: `~ changed organization acme (name, role)`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.outcome {
            Provisioned::Created => '+',
            Provisioned::Changed(_) => '~',
            Provisioned::Unchanged => '=',
        };
        write!(f, "{sign} {} {} {}", self.change(), self.kind, self.id)?;
        match self.fields() {
            [] => Ok(()),
            fields => write!(f, " ({})", fields.join(", ")),
        }
    }
}

/// One object for programs; `fields` is empty unless something changed.
impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut step = serializer.serialize_struct("Step", 4)?;
        step.serialize_field("change", self.change())?;
        step.serialize_field("kind", self.kind)?;
        step.serialize_field("id", &self.id)?;
        step.serialize_field("fields", self.fields())?;
        step.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_is_one_line_for_people_and_one_object_for_programs() {
        let step = |kind, id: &str, outcome| Step { kind, id: id.to_owned(), outcome };
        let created = step("client", "billing", Provisioned::Created);
        assert_eq!(created.to_string(), "+ created client billing");
        let fields = vec!["name", "role"];
        let changed = step("organization", "acme", Provisioned::Changed(fields));
        assert_eq!(changed.to_string(), "~ changed organization acme (name, role)");
        let unchanged = step("resource", "https://a.example/", Provisioned::Unchanged);
        assert_eq!(unchanged.to_string(), "= unchanged resource https://a.example/");
        let said = serde_json::to_value(&changed).unwrap();
        let expected = json!({ "change": "changed", "kind": "organization", "id": "acme",
                               "fields": ["name", "role"] });
        assert_eq!(said, expected);
        let said = serde_json::to_value(&created).unwrap();
        assert_eq!((&said["change"], &said["fields"]), (&json!("created"), &json!([])));
        assert!(Plan { steps: vec![unchanged.clone()] }.changes_nothing());
        assert!(!Plan { steps: vec![unchanged, changed] }.changes_nothing());
    }
}
