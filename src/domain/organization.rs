//! An organization: its condition, and the roles its members and machines may hold.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | enabled, or suspended if the draft says so | slug, role name or permission is malformed |
//! | enabled | provision | what was given replaced; suspended if the draft says so | likewise |
//! | suspended | provision | enabled, with the rest of the draft | the draft changes anything without enabling it |
//! | enabled, suspended | widen administrators | their role has what was newly reserved, if it is as we made it (adr/0132) | |
//! | unborn, erased | widen administrators | the same | |
//! | enabled | request deletion | suspended, to be erased after thirty days | |
//! | to be erased | request deletion | the same | |
//! | suspended | request deletion | the same | always |
//! | suspended | enable | enabled | |
//! | to be erased | enable | enabled; the deletion is cancelled | its time has come |
//! | to be erased | provision | the same | the draft changes anything |
//! | to be erased | begin erasure | leased to one node for some minutes | its time has not come; another node has the lease |
//! | to be erased | continue erasure | the lease is longer | its time has not come |
//! | enabled, suspended, to be erased | end sessions | its people are signed out of it (adr/0140) | |
//! | to be erased | erase | **erased** | its time has not come |
//! | erased | any other | the same | always |
//!
//! It may require how sure we are of a person before tokens speak for it (adr/0060), and its pages may
//! look as it does (adr/0076).
//!
//! A suspended organization confers no authority and accepts no change. Enabling it again begins another
//! epoch, and what rested on the one before stays ended (adr/0038). Of an erased one the slug is left, which is
//! never used again (adr/0136).

mod administrators;
mod deletion;
mod sign_out;

pub use administrators::{ADMINISTRATOR, administration};
pub use deletion::{Deletion, GRACE_PERIOD, LEASE, ORGANIZATION_DELETIONS};

use super::{
    Decision, Listing, Machine, Provisioned, Record, Redrawn, Timestamp,
    assurance::Acr,
    authority::{Permission, Permissions},
    brand::{self, Brand},
    epoch::{is_first, next_epoch},
};
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// The list of all organizations.
pub const ORGANIZATIONS: &str = "organizations";

/// What the security log says of the end of what an organization owned, where it was erased.
pub const ORGANIZATION_DELETED: &str = "organization_deleted";

#[expect(clippy::large_enum_variant, reason = "an erasure is rare")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Organization {
    #[default]
    Unborn,
    Known(Known),
    /// It was deleted; its slug is not used again.
    Erased {
        slug: String,
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub slug: String,
    pub name: String,
    pub enabled: bool,
    pub roles: Vec<Role>,
    /// What a person must have proved before tokens of theirs speak for it.
    #[serde(default, skip_serializing_if = "Acr::is_least")]
    pub required_acr: Acr,
    /// The ids of the connections of which a member must have come by one (adr/0135); none where it requires none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_connections: Vec<String>,
    /// Whether its administrators may act as its members (adr/0089).
    #[serde(default, skip_serializing_if = "Not::not")]
    pub impersonation: bool,
    /// How often it was enabled again; what was granted before belongs to an earlier epoch.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The number of the last sign-out of its people: what they proved or granted before counts for it no more
    /// (adr/0140).
    #[serde(default, skip_serializing_if = "is_first")]
    pub signed_out: u64,
    /// How its pages look.
    #[serde(default, skip_serializing_if = "Brand::is_plain")]
    pub brand: Brand,
    /// It is to be erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<Deletion>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    pub name: String,
    pub permissions: Vec<Permission>,
    /// What a directory says of it, which knows it as a Group (adr/0133).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Box<Group>>,
}

/// What a directory says of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The directory made the role: it may give it another `displayName`, and delete it.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub made: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default)]
    pub created_at: Timestamp,
    #[serde(default)]
    pub changed_at: Timestamp,
}

impl Role {
    /// Tells whether a directory made it.
    pub fn is_made_by_directory(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.made)
    }

    /// What a directory knows it by.
    pub fn display_name(&self) -> &str {
        let given = self.group.as_ref().and_then(|group| group.display_name.as_deref());
        given.unwrap_or(&self.name)
    }
}

/// What a provisioning file says; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub slug: String,
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub roles: Option<Vec<Role>>,
    /// Roles that a directory made stay though `roles` does not name them, and stay the directory's where it does.
    pub keeps_groups: bool,
    /// A directory changes it.
    pub by_directory: bool,
    /// `aal1` requires nothing.
    pub required_acr: Option<Acr>,
    pub required_connections: Option<Vec<String>>,
    pub impersonation: Option<bool>,
    /// Replaces the whole of it.
    pub brand: Option<brand::Draft>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Provision(Draft),
    /// Reading and writing what these names stand for has become a part of administering.
    WidenAdministrators(Vec<String>),
    /// One of its administrators deletes it.
    RequestDeletion,
    /// The operator enables it again.
    Enable,
    /// A node is about to erase what the organization owns.
    BeginErasure,
    /// The node has not finished.
    ContinueErasure,
    /// Nothing is left of it but this.
    Erase,
    /// An operator signs its people out of it. This is the number of the sign-out.
    EndSessions {
        number: u64,
    },
}

#[expect(clippy::large_enum_variant, reason = "an erasure is rare")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Provisioned(Known),
    Erased { at: Timestamp },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a slug is made of a-z, 0-9 and inner hyphens, at most 63 of them")]
    Slug,
    #[error("`{0}` is no role name: a-z, 0-9, then also _ and -, at most 63 of them")]
    RoleName(String),
    #[error("the role `{0}` is given twice")]
    RepeatedRole(String),
    #[error("no role may contain `{0}`")]
    ForbiddenPermission(Permission),
    #[error("it is suspended and accepts no change unless the file also enables it")]
    Suspended,
    #[error("it is to be erased: `porteiro organization enable` takes it back until then")]
    Deleting,
    #[error("its time has come: it is being erased")]
    ErasureDue,
    #[error("an organization of this slug was deleted, and a slug is never used again")]
    Erased,
    #[error("there is no such organization")]
    NotKnown,
    #[error("it is not to be erased now")]
    NotDue,
}

/// Tells whether this may name an organization for ever.
pub fn is_slug(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// No organization has more roles.
pub const MOST_ROLES: usize = 500;

/// Tells whether this may name a role: `[a-z0-9][a-z0-9_-]{0,62}`.
pub fn is_role_name(text: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().next().is_some_and(first)
        && text.bytes().all(|byte| first(byte) || b"_-".contains(&byte))
}

impl Known {
    /// Returns everything that these of its roles confer; a name that is no role confers nothing.
    pub fn confers(&self, roles: &[String]) -> Permissions {
        let held = self.roles.iter().filter(|role| roles.contains(&role.name));
        held.flat_map(|role| &role.permissions).collect()
    }

    pub fn has_role(&self, name: &str) -> bool {
        self.roles.iter().any(|role| role.name == name)
    }

    /// Tells whether a role of this name has this very permission.
    fn lists(&self, role: &str, permission: &Permission) -> bool {
        self.roles.iter().any(|held| held.name == role && held.permissions.contains(permission))
    }
}

impl Known {
    /// Returns what makes it require a connection, or require it no more; nothing where that is so.
    pub fn requiring(&self, connection: &str, required: bool) -> Option<Draft> {
        let mut ids = self.required_connections.clone();
        if ids.iter().any(|id| id == connection) == required {
            return None;
        }
        ids.retain(|id| id != connection);
        ids.extend(required.then(|| connection.to_owned()));
        let slug = self.slug.clone();
        Some(Draft { slug, required_connections: Some(ids), ..Draft::default() })
    }
}

impl Organization {
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Unborn | Self::Erased { .. } => None,
            Self::Known(known) => Some(known),
        }
    }

    fn provision(&self, draft: &Draft) -> Decision<Self> {
        match self.redraw(draft) {
            Ok(redrawn) => redrawn.decide(Event::Provisioned, |outcome| outcome),
            Err(why) => Decision::refuse(why),
        }
    }

    fn redraw(&self, draft: &Draft) -> Result<Redrawn<Known>, Refusal> {
        if matches!(self, Self::Erased { .. }) {
            return Err(Refusal::Erased);
        }
        draft.check(self.known())?;
        let existed = self.known().is_some();
        let held = self.known().cloned().unwrap_or_else(|| Known {
            slug: draft.slug.clone(),
            name: draft.slug.clone(),
            enabled: true,
            roles: Vec::new(),
            required_acr: Acr::default(),
            required_connections: Vec::new(),
            impersonation: false,
            epoch: 0,
            signed_out: 0,
            brand: Brand::default(),
            deletion: None,
        });
        let enabled = draft.enabled.unwrap_or(held.enabled);
        let next = Known {
            slug: held.slug.clone(),
            name: draft.name.clone().unwrap_or(held.name.clone()),
            enabled,
            roles: draft.roles_after(&held.roles),
            required_acr: draft.required_acr.unwrap_or(held.required_acr),
            required_connections: draft
                .required_connections
                .clone()
                .unwrap_or(held.required_connections.clone()),
            impersonation: draft.impersonation.unwrap_or(held.impersonation),
            epoch: next_epoch(held.epoch, (held.enabled, enabled)),
            signed_out: held.signed_out,
            brand: draft.brand.as_ref().map_or_else(|| held.brand.clone(), Brand::from),
            deletion: held.deletion,
        };
        let differs = [
            ("name", next.name != held.name),
            ("enabled", next.enabled != held.enabled),
            ("role", next.roles != held.roles),
            ("required_acr", next.required_acr != held.required_acr),
            ("required_connections", next.required_connections != held.required_connections),
            ("impersonation", next.impersonation != held.impersonation),
            ("brand", next.brand != held.brand),
        ];
        let outcome = Provisioned::of(existed, &differs);
        if held.deletion.is_some() && outcome != Provisioned::Unchanged {
            return Err(Refusal::Deleting);
        }
        if existed && outcome != Provisioned::Unchanged && !held.enabled && !next.enabled {
            return Err(Refusal::Suspended);
        }
        let record = outcome.record("organization.created", "organization.changed");
        let turned = match (held.enabled, next.enabled) {
            (true, false) => Some(Record::new("organization.suspended")),
            (false, true) => Some(Record::new("organization.enabled")),
            _ => None,
        };
        let records = record.into_iter().chain(turned);
        let records = records
            .map(|record| if draft.by_directory { record.with("cause", "scim") } else { record });
        let records = records.map(|record| record.in_organization(&*next.slug)).collect();
        Ok(Redrawn { next, outcome, records })
    }
}

impl Draft {
    /// Returns the roles that there will be where these are held.
    pub fn roles_after(&self, held: &[Role]) -> Vec<Role> {
        let Some(mut roles) = self.roles.clone() else { return held.to_vec() };
        if !self.keeps_groups {
            return roles;
        }
        for group in held.iter().filter(|role| role.group.is_some()) {
            match roles.iter_mut().find(|role| role.name == group.name) {
                Some(role) => role.group.clone_from(&group.group),
                None if group.is_made_by_directory() => roles.push(group.clone()),
                None => {}
            }
        }
        roles
    }

    fn check(&self, held: Option<&Known>) -> Result<(), Refusal> {
        if !is_slug(&self.slug) {
            return Err(Refusal::Slug);
        }
        let roles = self.roles.as_deref().unwrap_or_default();
        for (place, role) in roles.iter().enumerate() {
            if !is_role_name(&role.name) {
                return Err(Refusal::RoleName(role.name.clone()));
            }
            if roles[..place].iter().any(|other| other.name == role.name) {
                return Err(Refusal::RepeatedRole(role.name.clone()));
            }
            // What a role had before the name was reserved it keeps.
            let kept = |one: &Permission| {
                one.is_of_installation() && held.is_some_and(|held| held.lists(&role.name, one))
            };
            let forbidden =
                role.permissions.iter().find(|one| !one.may_stand_in_a_role() && !kept(one));
            if let Some(permission) = forbidden {
                return Err(Refusal::ForbiddenPermission(permission.clone()));
            }
        }
        Ok(())
    }
}

impl Machine for Organization {
    const KIND: &'static str = "organization";
    // 2: `epoch`; 3: `required_acr`, which an older binary would not ask for; 4: `brand`; 5: `group` of a role,
    // `required_connections`; 6: `deletion` and `Erased`; 7: `signed_out`, without which what has ended would be good
    const REVISION: u32 = 7;
    type Command = Command;
    type Event = Event;
    type Reply = Provisioned;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Provision(draft) => self.provision(draft),
            Command::WidenAdministrators(names) => self.widen_administrators(names),
            Command::RequestDeletion => self.request_deletion(now),
            Command::Enable => self.enable(now),
            Command::BeginErasure => self.begin_erasure(now),
            Command::ContinueErasure => self.continue_erasure(now),
            Command::Erase => self.erase(now),
            Command::EndSessions { number } => self.end_sessions(*number),
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event, &*self) {
            (Event::Provisioned(known), _) => *self = Self::Known(known.clone()),
            (Event::Erased { at }, Self::Known(known)) => {
                *self = Self::Erased { slug: known.slug.clone(), at: *at };
            }
            (Event::Erased { .. }, Self::Unborn | Self::Erased { .. }) => {}
        }
    }

    /// A suspended organization confers nothing.
    fn live_until(&self) -> Timestamp {
        match self {
            Self::Known(known) if known.enabled => Timestamp::FOREVER,
            Self::Known(_) | Self::Unborn | Self::Erased { .. } => Timestamp::NEVER,
        }
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(known) = self.known() else { return Vec::new() };
        let own = Listing::new(ORGANIZATIONS, "", &*known.slug);
        [own].into_iter().chain(known.deletion.map(Deletion::listing)).collect()
    }
}

#[cfg(test)]
mod tests;
