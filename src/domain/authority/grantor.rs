//! A caller that gives authority to others, and how much of its own it may give (adr/0111).
//!
//! A token for our own API carries scopes of that API alone. Of what that API owns it passes on no more than
//! its scopes; of other APIs, whose scopes it cannot carry, what its person holds. A token that is held for
//! another party passes on nothing.

use super::{PROVISION, Permission, Permissions, RESERVED_RESOURCES, Scopes, own_permissions};
use crate::domain::reserved_names::ReservedNames;

/// Scopes of our own API by which a client gives authority to others in a person's name.
pub const GRANTING_SCOPES: [&str; 6] = [
    "roles:write",
    "memberships:write",
    "clients:write",
    "apikeys:write",
    "connections:write",
    PROVISION,
];

/// Permissions that fill every role of an organization, whatever it confers: through a directory, or by the mappings
/// of a connection (contract §7).
pub const FILLING_ROLES: [&str; 2] = [PROVISION, "connections:write"];

/// What a caller holds in one organization, and what of that it may give to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grantor {
    pub held: Permissions,
    pub grantable: Permissions,
}

impl Grantor {
    /// A key, or a person on a page: all that it holds.
    pub fn of_all(held: Permissions) -> Self {
        Self { grantable: held.clone(), held }
    }

    /// A token in the hands of the client that it was issued to.
    pub fn by_token(held: Permissions, scopes: &Scopes, names: &ReservedNames) -> Self {
        let carries = |one: &Permission| one.as_str() == PROVISION || scopes.contains(one.as_str());
        let own = own_permissions().filter(|one| names.reserve(one));
        let own: Vec<Permission> =
            own.filter(|one| held.covers(one.as_str()) && carries(one)).collect();
        // A wildcard stands for the actions of its name: who may give all of them may give it.
        let all_of = |resource: &str| {
            let mut actions = own_permissions().filter(|one| one.resource() == resource).peekable();
            actions.peek().is_some() && actions.all(|one| own.contains(&one))
        };
        let wildcards = RESERVED_RESOURCES.iter().filter(|resource| all_of(resource));
        let wildcards =
            wildcards.filter_map(|resource| Permission::parse(&format!("{resource}:*")).ok());
        let wildcards: Vec<Permission> =
            wildcards.filter(|one| held.covers(one.as_str())).collect();
        let of_others = held.iter().filter(|one| !names.reserve(one));
        let grantable = of_others.chain(&own).chain(&wildcards).collect();
        Self { held, grantable }
    }

    /// A token that is held for another party.
    pub fn by_delegate(held: Permissions) -> Self {
        Self { held, grantable: Permissions::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(texts: &[&str]) -> Permissions {
        let parsed: Vec<Permission> =
            texts.iter().map(|text| Permission::parse(text).unwrap()).collect();
        parsed.iter().collect()
    }

    fn grantable(held_texts: &[&str], scopes: &str) -> Permissions {
        let scopes = Scopes::parse(scopes).unwrap();
        Grantor::by_token(held(held_texts), &scopes, &ReservedNames::all_open()).grantable
    }

    #[test]
    fn a_name_that_an_api_of_the_operators_has_is_given_as_any_other_of_its() {
        let (held, scopes) = (held(&["domains:*"]), Scopes::parse("roles:write").unwrap());
        let given = Grantor::by_token(held.clone(), &scopes, &ReservedNames::default()).grantable;
        assert!(given.covers("domains:*"));
        let given = Grantor::by_token(held, &scopes, &ReservedNames::all_open()).grantable;
        assert!(!given.covers("domains:read"), "it is ours, and the token does not carry it");
    }

    #[test]
    fn of_our_own_permissions_a_token_gives_those_of_its_scopes_alone() {
        let given = grantable(
            &["apikeys:*", "audit:read", "roles:write"],
            "openid apikeys:write audit:read",
        );
        assert!(given.covers("apikeys:write") && given.covers("audit:read"));
        for more in ["apikeys:read", "apikeys:*", "roles:write", "audit:*", "accounts:read"] {
            assert!(!given.covers(more), "{more}");
        }
        assert!(!grantable(&["audit:read"], "roles:write").covers("roles:write"), "it is not held");
    }

    #[test]
    fn a_wildcard_of_ours_is_given_by_who_carries_all_of_it() {
        let both = "audit:read audit:write";
        assert!(grantable(&["audit:*"], both).covers("audit:*"));
        assert!(!grantable(&["audit:*"], "audit:write").covers("audit:*"));
        assert!(
            !grantable(&["audit:read", "audit:write"], both).covers("audit:*"),
            "more than held"
        );
        assert!(!grantable(&["scim:*"], "").covers("scim:*"));
        assert!(grantable(&["scim:*"], "scim:read scim:write").covers("scim:*"));
    }

    #[test]
    fn of_other_apis_and_of_provisioning_it_gives_what_is_held() {
        let given = grantable(&["invoices:*", "scim:provision"], "apikeys:write");
        assert!(given.covers("invoices:*") && given.covers("scim:provision"));
        assert!(!given.covers("orders:read"));
        for text in ["Audit:read", "organizations:administer", "installation:*"] {
            assert!(!grantable(&[text], text).covers(text), "{text}");
        }
    }

    #[test]
    fn a_delegate_gives_nothing_and_a_key_all_that_it_holds() {
        let all = held(&["invoices:*", "audit:read"]);
        assert_eq!(Grantor::by_delegate(all.clone()).grantable, Permissions::default());
        assert_eq!(Grantor::of_all(all.clone()).grantable, all);
    }
}
