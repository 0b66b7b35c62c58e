//! The role of those who administer one organization.

use super::{Command, Event, Known, Organization, Role};
use crate::domain::{
    Decision, Provisioned, Record,
    authority::{PROVISION, Permission, actions_of, own_permissions},
    reserved_names::{RESERVED_LATE, ReservedNames},
};

/// What `account invite --administrator` calls the role.
pub const ADMINISTRATOR: &str = "administrator";

/// Lists what it confers: reading and writing what is our own in this installation.
pub fn administration(names: &ReservedNames) -> Vec<Permission> {
    let own = own_permissions().filter(|one| one.as_str() != PROVISION);
    own.filter(|one| names.reserve(one)).collect()
}

/// Tells whether a role is as earlier releases made it, or has that and more.
fn is_as_we_made_it(role: &Role) -> bool {
    let mut first = own_permissions()
        .filter(|one| one.as_str() != PROVISION && !RESERVED_LATE.contains(&one.resource()));
    role.name == ADMINISTRATOR && first.all(|one| role.permissions.contains(&one))
}

impl Organization {
    /// Gives the role of administrators what these names stand for. It is no change that a caller makes: a
    /// suspended organization has it, too.
    pub(super) fn widen_administrators(&self, names: &[String]) -> Decision<Self> {
        let nothing = || Decision::accept(Vec::new(), Provisioned::Unchanged);
        let Some(held) = self.known() else { return nothing() };
        let Some(place) = held.roles.iter().position(is_as_we_made_it) else { return nothing() };
        let mut next: Known = held.clone();
        let permissions = &mut next.roles[place].permissions;
        let wanted = names.iter().flat_map(|name| actions_of(name));
        let added: Vec<Permission> =
            wanted.filter(|one| one.may_stand_in_a_role() && !permissions.contains(one)).collect();
        if added.is_empty() {
            return nothing();
        }
        let texts: Vec<&str> = added.iter().map(Permission::as_str).collect();
        let record = Record::new("organization.role_widened")
            .in_organization(&*held.slug)
            .with("role", ADMINISTRATOR)
            .with("permissions", texts.join(" "));
        permissions.extend(added.iter().cloned());
        let changed = Provisioned::Changed(vec!["role"]);
        Decision::accept(vec![Event::Provisioned(next)], changed).recording(record)
    }
}

impl Command {
    /// Widens the role of administrators by these names.
    pub fn widen_administrators<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        Self::WidenAdministrators(names.into_iter().cloned().collect())
    }
}
