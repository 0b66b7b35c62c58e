//! Permissions: `resource:action`, where `invoices:*` covers the actions of `invoices`.

use crate::domain::reserved_names::ReservedNames;
use serde::{Deserialize, Serialize};

/// Resource names that are Porteiro's own; no API may declare scopes under them.
pub const RESERVED_RESOURCES: [&str; 11] = [
    "accounts",
    "organizations",
    "memberships",
    "roles",
    "clients",
    "apikeys",
    "scim",
    "audit",
    "connections",
    "domains",
    INSTALLATION,
];

/// What belongs to no organization: no role, key or wildcard opens it.
pub const INSTALLATION: &str = "installation";

/// The one permission that no wildcard covers and no role may contain.
pub const ADMINISTER: &str = "organizations:administer";

/// What can be done to each of Porteiro's own resources.
const OWN_ACTIONS: [&str; 2] = ["read", "write"];

/// Provisioning by SCIM, which hands out roles.
pub const PROVISION: &str = "scim:provision";

/// Lists what an administrator of one organization holds: everything of our own API but what reaches
/// beyond that organization.
pub fn own_permissions() -> impl Iterator<Item = Permission> {
    let of_organizations = RESERVED_RESOURCES.iter().filter(|resource| **resource != INSTALLATION);
    let pairs = of_organizations.flat_map(|resource| actions_of(resource));
    pairs.chain([Permission(PROVISION.to_owned())])
}

/// Tells whether a text is a scope of our own API, or of the SCIM of organizations.
pub fn is_own_scope(scope: &str) -> bool {
    scope == ADMINISTER || own_permissions().any(|own| own.as_str() == scope)
}

/// Lists what can be done to one of Porteiro's own resources.
pub(in crate::domain) fn actions_of(resource: &str) -> impl Iterator<Item = Permission> {
    OWN_ACTIONS.iter().map(move |action| Permission(format!("{resource}:{action}")))
}

const LONGEST: usize = 128;

/// A statement of what may be done, or of everything that may be done to one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Permission(String);

/// Why a text is not a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedPermission {
    #[error("a permission has the form resource:action, or resource:* for all its actions")]
    Form,
    #[error("nothing wider than resource:* exists")]
    TooWide,
    #[error("a permission has at most 128 characters")]
    TooLong,
}

impl Permission {
    pub fn parse(text: &str) -> Result<Self, MalformedPermission> {
        if text.len() > LONGEST {
            return Err(MalformedPermission::TooLong);
        }
        let (resource, action) = text.split_once(':').ok_or(match text {
            "*" => MalformedPermission::TooWide,
            _ => MalformedPermission::Form,
        })?;
        if resource.contains('*') {
            return Err(MalformedPermission::TooWide);
        }
        if is_word(resource) && (action == "*" || is_word(action)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(MalformedPermission::Form)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn resource(&self) -> &str {
        self.0.split_once(':').map_or("", |(resource, _)| resource)
    }

    pub fn is_wildcard(&self) -> bool {
        self.0.ends_with(":*")
    }

    /// Tells whether this may stand in a role of an organization.
    pub fn may_stand_in_a_role(&self) -> bool {
        !self.0.eq_ignore_ascii_case(ADMINISTER) && !self.is_of_installation()
    }

    /// Tells whether it is about what belongs to no organization.
    pub fn is_of_installation(&self) -> bool {
        self.resource().eq_ignore_ascii_case(INSTALLATION)
    }

    /// Tells whether it names something that is Porteiro's own.
    pub fn is_reserved(&self) -> bool {
        // In any case: names that people cannot tell apart must not differ in what they grant.
        RESERVED_RESOURCES.iter().any(|name| name.eq_ignore_ascii_case(self.resource()))
    }

    /// Tells whether holding this is holding `other`.
    pub fn covers(&self, other: &str) -> bool {
        if self.0 == other {
            return true;
        }
        let Some(resource) = self.0.strip_suffix(":*") else { return false };
        !other.eq_ignore_ascii_case(ADMINISTER)
            && other.split_once(':').is_some_and(|(of, _)| of == resource)
    }
}

fn is_word(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(inner)
}

impl TryFrom<String> for Permission {
    type Error = MalformedPermission;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<Permission> for String {
    fn from(permission: Permission) -> Self {
        permission.0
    }
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything a person or a client holds in one organization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(Vec<Permission>);

impl Permissions {
    pub fn covers(&self, permission: &str) -> bool {
        self.0.iter().any(|held| held.covers(permission))
    }

    /// Returns what a holder of `organizations:administer` holds in any organization: our own API, and
    /// nothing of others.
    pub fn of_administrator(names: &ReservedNames) -> Self {
        let own = own_permissions().filter(|one| names.reserve(one));
        Self(own.chain([Permission(ADMINISTER.to_owned())]).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Permission> {
        self.0.iter()
    }

    /// Returns the first of these that is not held, if there is one.
    pub fn missing<'a>(
        &self,
        others: impl IntoIterator<Item = &'a Permission>,
    ) -> Option<&'a Permission> {
        others.into_iter().find(|other| !self.covers(other.as_str()))
    }
}

impl<'a> FromIterator<&'a Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = &'a Permission>>(held: I) -> Self {
        Self(held.into_iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(text: &str) -> Permission {
        Permission::parse(text).unwrap()
    }

    #[test]
    fn a_wildcard_covers_the_actions_of_its_resource_and_nothing_else() {
        let all = permission("invoices:*");
        for covered in ["invoices:read", "invoices:approve", "invoices:*"] {
            assert!(all.covers(covered), "{covered}");
        }
        for other in ["invoice:read", "invoicesx:read", "orders:read", "invoices", "openid", ""] {
            assert!(!all.covers(other), "{other}");
        }
        assert!(!permission("invoices:read").covers("invoices:*"), "wildcards act one way only");
        assert!(!permission("invoices:read").covers("invoices:readx"));
    }

    #[test]
    fn no_wildcard_covers_the_administration_of_organizations() {
        assert!(permission("organizations:*").covers("organizations:read"));
        assert!(!permission("organizations:*").covers("organizations:administer"));
        assert!(permission("organizations:administer").covers("organizations:administer"));
        assert!(!permission("organizations:administer").may_stand_in_a_role());
        assert!(!permission("Organizations:Administer").may_stand_in_a_role(), "in no case");
        assert!(!permission("Organizations:*").covers("Organizations:Administer"));
        assert!(permission("Accounts:read").is_reserved() && permission("SCIM:x").is_reserved());
        assert!(!permission("invoices:read").is_reserved());
    }

    #[test]
    fn what_belongs_to_the_installation_stands_in_no_role_and_is_nothing_of_an_administrator() {
        for text in ["installation:read", "installation:write", "installation:*", "Installation:x"]
        {
            let one = permission(text);
            assert!(one.is_reserved() && !one.may_stand_in_a_role(), "{text}");
            let held = Permissions::of_administrator(&ReservedNames::all_open());
            assert!(!held.covers(text), "{text}");
        }
        assert!(permission("installations:read").may_stand_in_a_role());
    }

    #[test]
    fn nothing_wider_than_one_resource_can_be_written() {
        for wide in ["*", "*:*", "*:read", "inv*:read"] {
            assert_eq!(Permission::parse(wide), Err(MalformedPermission::TooWide), "{wide}");
        }
        for bad in [
            "", ":", "a:", ":a", "a", "a:b:c", "a b:c", "a:b c", "a:*b", "a:**", "-a:b", "ä:b",
            "a:b\0",
        ] {
            assert_eq!(Permission::parse(bad), Err(MalformedPermission::Form), "{bad:?}");
        }
        let long = format!("a:{}", "b".repeat(127));
        assert_eq!(Permission::parse(&long), Err(MalformedPermission::TooLong));
    }

    #[test]
    fn what_an_administrator_holds_is_our_own_and_its_wildcards_cover_no_administration() {
        let names = ReservedNames::all_open();
        let held = Permissions::of_administrator(&names);
        assert!(held.covers("accounts:read") && held.covers("domains:write"));
        assert!(held.covers("accounts:read") && held.covers(ADMINISTER));
        assert!(!held.covers("invoices:read") && !held.covers("accounts:*"));
        assert!(own_permissions().all(|one| one.is_reserved() && one.may_stand_in_a_role()));
        let asked = [permission("roles:write"), permission("roles:*")];
        assert_eq!(held.missing(&asked), Some(&asked[1]), "a wildcard is more than what it covers");
    }

    #[test]
    fn what_was_stored_is_read_with_the_same_rules() {
        let text = serde_json::to_string(&permission("invoices:*")).unwrap();
        assert_eq!(text, "\"invoices:*\"");
        assert!(serde_json::from_str::<Permission>("\"*:*\"").is_err());
    }
}
