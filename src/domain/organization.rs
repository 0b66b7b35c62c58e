//! An organization: its condition, and the roles its members and machines may hold.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | enabled, or suspended if the draft says so | slug, role name or permission is malformed |
//! | enabled | provision | what was given replaced; suspended if the draft says so | likewise |
//! | suspended | provision | enabled, with the rest of the draft | the draft changes anything without enabling it |
//!
//! It may require how sure we are of a person before tokens speak for it (adr/0060), and its pages may
//! look as it does (adr/0076).
//!
//! A suspended organization confers no authority and accepts no change; it is never deleted, and its
//! slug is never used again. Enabling it again begins another epoch, and what rested on the one before
//! stays ended (adr/0038).

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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Organization {
    #[default]
    Unborn,
    Known(Known),
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
    /// Whether its administrators may act as its members (adr/0089).
    #[serde(default, skip_serializing_if = "Not::not")]
    pub impersonation: bool,
    /// How often it was enabled again; what was granted before belongs to an earlier epoch.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// How its pages look.
    #[serde(default, skip_serializing_if = "Brand::is_plain")]
    pub brand: Brand,
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
    pub impersonation: Option<bool>,
    /// Replaces the whole of it.
    pub brand: Option<brand::Draft>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Provision(Draft),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Provisioned(Known),
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
}

/// Tells whether this may name an organization for ever.
pub fn is_slug(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

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
}

impl Organization {
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Unborn => None,
            Self::Known(known) => Some(known),
        }
    }

    fn redraw(&self, draft: &Draft) -> Result<Redrawn<Known>, Refusal> {
        draft.check()?;
        let existed = self.known().is_some();
        let held = self.known().cloned().unwrap_or_else(|| Known {
            slug: draft.slug.clone(),
            name: draft.slug.clone(),
            enabled: true,
            roles: Vec::new(),
            required_acr: Acr::default(),
            impersonation: false,
            epoch: 0,
            brand: Brand::default(),
        });
        let enabled = draft.enabled.unwrap_or(held.enabled);
        let next = Known {
            slug: held.slug.clone(),
            name: draft.name.clone().unwrap_or(held.name.clone()),
            enabled,
            roles: draft.roles_after(&held.roles),
            required_acr: draft.required_acr.unwrap_or(held.required_acr),
            impersonation: draft.impersonation.unwrap_or(held.impersonation),
            epoch: next_epoch(held.epoch, (held.enabled, enabled)),
            brand: draft.brand.as_ref().map_or_else(|| held.brand.clone(), Brand::from),
        };
        let differs = [
            ("name", next.name != held.name),
            ("enabled", next.enabled != held.enabled),
            ("role", next.roles != held.roles),
            ("required_acr", next.required_acr != held.required_acr),
            ("impersonation", next.impersonation != held.impersonation),
            ("brand", next.brand != held.brand),
        ];
        let outcome = Provisioned::of(existed, &differs);
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

    fn check(&self) -> Result<(), Refusal> {
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
            let forbidden = role.permissions.iter().find(|one| !one.may_stand_in_a_role());
            if let Some(permission) = forbidden {
                return Err(Refusal::ForbiddenPermission(permission.clone()));
            }
        }
        Ok(())
    }
}

impl Machine for Organization {
    const KIND: &'static str = "organization";
    // 2: `epoch`; 3: `required_acr`, which an older binary would not ask for; 4: `brand`; 5: `group` of a role
    const REVISION: u32 = 5;
    type Command = Command;
    type Event = Event;
    type Reply = Provisioned;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        let Command::Provision(draft) = command;
        match self.redraw(draft) {
            Ok(redrawn) => redrawn.decide(Event::Provisioned, |outcome| outcome),
            Err(why) => Decision::refuse(why),
        }
    }

    fn apply(&mut self, event: &Event) {
        let Event::Provisioned(known) = event;
        *self = Self::Known(known.clone());
    }

    /// A suspended organization confers nothing.
    fn live_until(&self) -> Timestamp {
        match self {
            Self::Known(known) if known.enabled => Timestamp::FOREVER,
            Self::Known(_) | Self::Unborn => Timestamp::NEVER,
        }
    }

    fn listings(&self) -> Vec<Listing> {
        let listing = |known: &Known| Listing::new(ORGANIZATIONS, "", &*known.slug);
        self.known().map(listing).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn role(name: &str, permissions: &[&str]) -> Role {
        let parse = |text: &&str| Permission::parse(text).unwrap();
        let permissions = permissions.iter().map(parse).collect();
        Role { name: name.to_owned(), permissions, ..Role::default() }
    }

    fn draft() -> Draft {
        Draft { slug: "acme".to_owned(), ..Draft::default() }
    }

    fn provision(organization: &mut Organization, draft: Draft) -> Result<Provisioned, Refusal> {
        let decision = organization.decide(&Command::Provision(draft), NOW);
        for event in &decision.events {
            organization.apply(event);
        }
        decision.outcome
    }

    fn acme() -> Organization {
        let mut organization = Organization::default();
        let roles = vec![role("clerk", &["invoices:read"]), role("manager", &["invoices:*"])];
        let first = Draft { roles: Some(roles), ..draft() };
        assert_eq!(provision(&mut organization, first), Ok(Provisioned::Created));
        organization
    }

    #[test]
    fn roles_confer_what_they_list_and_unknown_ones_nothing() {
        let acme = acme();
        let acme = acme.known().unwrap();
        assert!(acme.confers(&["manager".to_owned()]).covers("invoices:approve"));
        assert!(!acme.confers(&["clerk".to_owned()]).covers("invoices:approve"));
        assert!(!acme.confers(&["owner".to_owned()]).covers("invoices:read"));
        assert!(!acme.confers(&[]).covers("invoices:read"));
    }

    #[test]
    fn a_suspended_organization_confers_nothing_and_accepts_no_change() {
        let mut acme = acme();
        assert_eq!(acme.live_until(), Timestamp::FOREVER);
        let suspend = Draft { enabled: Some(false), ..draft() };
        assert_eq!(
            provision(&mut acme, suspend.clone()),
            Ok(Provisioned::Changed(vec!["enabled"]))
        );
        assert_eq!(acme.live_until(), Timestamp::NEVER);
        assert_eq!(provision(&mut acme, suspend), Ok(Provisioned::Unchanged));
        let rename = Draft { name: Some("Acme".to_owned()), ..draft() };
        assert_eq!(provision(&mut acme, rename.clone()), Err(Refusal::Suspended));
        let still = Draft { enabled: Some(false), ..rename.clone() };
        assert_eq!(provision(&mut acme, still), Err(Refusal::Suspended));
        assert_eq!(acme.known().unwrap().epoch, 0);
        let resume = Draft { enabled: Some(true), ..rename };
        assert_eq!(provision(&mut acme, resume), Ok(Provisioned::Changed(vec!["name", "enabled"])));
    }

    #[test]
    fn each_time_it_is_enabled_again_an_epoch_begins_and_at_no_other_time() {
        let mut acme = acme();
        let mut epoch_after = |enabled: bool, name: &str| {
            let (name, enabled) = (Some(name.to_owned()), Some(enabled));
            provision(&mut acme, Draft { name, enabled, ..draft() }).unwrap();
            acme.known().unwrap().epoch
        };
        assert_eq!(epoch_after(true, "a"), 0);
        assert_eq!(epoch_after(false, "b"), 0);
        assert_eq!(epoch_after(true, "c"), 1);
        assert_eq!(epoch_after(true, "d"), 1);
        assert_eq!(epoch_after(false, "e"), 1);
        assert_eq!(epoch_after(true, "f"), 2);
        let text = serde_json::to_string(&acme).unwrap();
        assert_eq!(serde_json::from_str::<Organization>(&text).unwrap(), acme);
    }

    #[test]
    fn what_it_requires_of_people_is_kept_until_it_is_said_anew() {
        let mut acme = acme();
        let required = |acme: &Organization| acme.known().unwrap().required_acr;
        assert_eq!(required(&acme), Acr::Aal1);
        let text = serde_json::to_string(&acme).unwrap();
        assert!(!text.contains("required_acr"), "rows of before are as they were: {text}");
        let more = Draft { required_acr: Some(Acr::Phr), ..draft() };
        let changed = Ok(Provisioned::Changed(vec!["required_acr"]));
        assert_eq!(provision(&mut acme, more.clone()), changed);
        assert_eq!(provision(&mut acme, more), Ok(Provisioned::Unchanged));
        provision(&mut acme, Draft { name: Some("Acme".to_owned()), ..draft() }).unwrap();
        assert_eq!(required(&acme), Acr::Phr, "a file that does not say it changes nothing");
        let text = serde_json::to_string(&acme).unwrap();
        assert_eq!(serde_json::from_str::<Organization>(&text).unwrap(), acme);
        let none = Draft { required_acr: Some(Acr::Aal1), ..draft() };
        assert_eq!(provision(&mut acme, none), changed);
        assert_eq!(required(&acme), Acr::Aal1);
    }

    #[test]
    fn a_brand_is_replaced_whole_and_kept_where_a_file_says_nothing_of_it() {
        let mut acme = acme();
        let text = serde_json::to_string(&acme).unwrap();
        assert!(!text.contains("brand"), "rows of before are as they were: {text}");
        let svg = b"<svg viewBox=\"0 0 4 1\"></svg>".to_vec();
        let logo = Some(crate::domain::picture::Picture::of_any(svg).unwrap());
        let colour = Some(brand::Colour::WHITE);
        let with = |brand: brand::Draft| Draft { brand: Some(brand), ..draft() };
        let both = with(brand::Draft { colour, logo, text: None });
        let changed = Ok(Provisioned::Changed(vec!["brand"]));
        assert_eq!(provision(&mut acme, both.clone()), changed);
        assert_eq!(provision(&mut acme, both), Ok(Provisioned::Unchanged));
        provision(&mut acme, Draft { name: Some("A".to_owned()), ..draft() }).unwrap();
        let text = serde_json::to_string(&acme).unwrap();
        assert!(text.len() < 600, "a row of an organization is small: {text}");
        assert_eq!(serde_json::from_str::<Organization>(&text).unwrap(), acme);
        let held = |acme: &Organization| acme.known().unwrap().brand.clone();
        assert!(held(&acme).logo.is_some());
        let colour_alone = with(brand::Draft { colour, ..brand::Draft::default() });
        assert_eq!(provision(&mut acme, colour_alone), changed);
        assert_eq!((held(&acme).colour, held(&acme).logo), (colour, None));
        let suspend = Draft { enabled: Some(false), ..draft() };
        provision(&mut acme, suspend).unwrap();
        let plain = with(brand::Draft::default());
        assert_eq!(provision(&mut acme, plain.clone()), Err(Refusal::Suspended));
        provision(&mut acme, Draft { enabled: Some(true), ..plain }).unwrap();
        assert!(held(&acme).is_plain());
    }

    #[test]
    fn a_file_leaves_the_groups_of_a_directory_alone() {
        let mut acme = acme();
        let group = Group { made: true, ..Group::default() };
        let finance = Role { group: Some(Box::new(group)), ..role("finance", &[]) };
        let held = acme.known().unwrap().roles.clone();
        let with_group = held.iter().cloned().chain([finance]).collect();
        let by_scim = Draft { roles: Some(with_group), by_directory: true, ..draft() };
        assert_eq!(provision(&mut acme, by_scim), Ok(Provisioned::Changed(vec!["role"])));
        let file = |roles| Draft { roles: Some(roles), keeps_groups: true, ..draft() };
        assert_eq!(provision(&mut acme, file(held)), Ok(Provisioned::Unchanged));
        let named = vec![role("finance", &["invoices:read"])];
        provision(&mut acme, file(named)).unwrap();
        let finance = &acme.known().unwrap().roles[0];
        assert!(finance.is_made_by_directory() && finance.permissions.len() == 1);
        provision(&mut acme, Draft { roles: Some(Vec::new()), ..draft() }).unwrap();
        assert!(acme.known().unwrap().roles.is_empty(), "an administrator takes any away");
    }

    #[test]
    fn no_role_may_contain_the_administration_of_organizations() {
        let role = role("boss", &["organizations:administer"]);
        let refused = provision(&mut acme(), Draft { roles: Some(vec![role]), ..draft() });
        assert!(matches!(refused, Err(Refusal::ForbiddenPermission(_))));
    }

    #[test]
    fn slugs_and_role_names_have_one_form() {
        for bad in ["", "Acme", "-a", "a-", "a_b", "a.b", "á", &"a".repeat(64)] {
            let refused =
                provision(&mut Organization::default(), Draft { slug: bad.into(), ..draft() });
            assert_eq!(refused, Err(Refusal::Slug), "{bad}");
        }
        for bad in ["", "Clerk", "_a", "-a", "a b", "a.b", &"a".repeat(64)] {
            let draft = Draft { roles: Some(vec![role(bad, &[])]), ..draft() };
            assert!(matches!(provision(&mut acme(), draft), Err(Refusal::RoleName(_))), "{bad}");
        }
        let twice = Draft { roles: Some(vec![role("a", &[]), role("a", &[])]), ..draft() };
        assert_eq!(provision(&mut acme(), twice), Err(Refusal::RepeatedRole("a".to_owned())));
    }
}
