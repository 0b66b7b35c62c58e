//! What applying a file does, or would do, to each entity it names.

use super::warnings::Warning;
use crate::domain::Provisioned;
use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use std::fmt;

/// The entities of a file in the order in which they are decided on: resources, organizations,
/// their domains, connections, accounts, clients, and among them as the file has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// What lists of the file no longer name.
    pub removals: Vec<Removal>,
    /// What the file names and will not work as it reads.
    pub warnings: Vec<Warning>,
}

/// A role that an organization loses, and how many hold it until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The slug.
    pub organization: String,
    pub role: String,
    pub members: usize,
    pub clients: usize,
}

/// One line for people: `- removed role clerk of acme (held by 3 members, 1 client)`.
impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { organization, role, members, clients } = self;
        let plural = |count: &usize| if *count == 1 { "" } else { "s" };
        let (few, some) = (plural(members), plural(clients));
        write!(f, "- removed role {role} of {organization} ")?;
        write!(f, "(held by {members} member{few}, {clients} client{some})")
    }
}

/// One object for programs.
impl Serialize for Removal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut removal = serializer.serialize_struct("Removal", 6)?;
        removal.serialize_field("change", "removed")?;
        removal.serialize_field("kind", "role")?;
        removal.serialize_field("id", &self.role)?;
        removal.serialize_field("organization", &self.organization)?;
        removal.serialize_field("members", &self.members)?;
        removal.serialize_field("clients", &self.clients)?;
        removal.end()
    }
}

/// What becomes of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: &'static str,
    /// The name by which the file knows it: `identifier`, `slug`, `domain`, `name`, `email`, `client_id`.
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
        let plan = |steps| Plan { steps, ..Plan::default() };
        assert!(plan(vec![unchanged.clone()]).changes_nothing());
        assert!(!plan(vec![unchanged, changed]).changes_nothing());
    }

    #[test]
    fn a_removal_says_how_many_hold_the_role() {
        let (organization, role) = ("acme".to_owned(), "clerk".to_owned());
        let removal = Removal { organization, role, members: 3, clients: 1 };
        let line = "- removed role clerk of acme (held by 3 members, 1 client)";
        assert_eq!(removal.to_string(), line);
        let expected = json!({ "change": "removed", "kind": "role", "id": "clerk",
                               "organization": "acme", "members": 3, "clients": 1 });
        assert_eq!(serde_json::to_value(&removal).unwrap(), expected);
    }
}
