//! Random lattices: whatever is asked and whatever bounds it, authority never grows.

use super::super::Permission;
use super::*;
use proptest::prelude::*;

fn asked(organization: Option<&str>, scopes: &str) -> RequestedAuthority {
    RequestedAuthority {
        organization: organization.map(str::to_owned),
        audience: Audience::Issuer,
        offered: Vec::new(),
        scopes: Scopes::parse(scopes).unwrap(),
        details: Details::default(),
    }
}

fn permissions(held: &[&str]) -> Permissions {
    let held: Vec<Permission> = held.iter().map(|text| Permission::parse(text).unwrap()).collect();
    held.iter().collect()
}

#[test]
fn what_the_roles_confer_is_granted_as_asked() {
    let held = permissions(&["invoices:*", "orders:read"]);
    let roles = Bound::Roles { organization: "acme", permissions: &held };
    let granted = narrow(asked(Some("acme"), "invoices:read orders:read"), &[roles]).unwrap();
    assert_eq!(granted.scopes().to_string(), "invoices:read orders:read");
    assert_eq!(granted.organization(), Some("acme"));
}

#[test]
fn one_scope_too_many_refuses_all_of_them() {
    let held = permissions(&["invoices:read"]);
    let roles = Bound::Roles { organization: "acme", permissions: &held };
    let refused = narrow(asked(Some("acme"), "invoices:read invoices:approve"), &[roles]);
    assert_eq!(refused.unwrap_err().scope(), Some("invoices:approve"));
}

#[test]
fn every_bound_must_cover_what_is_asked() {
    let held = permissions(&["invoices:*"]);
    let roles = Bound::Roles { organization: "acme", permissions: &held };
    let registered = Scopes::parse("invoices:read").unwrap();
    let ceiling = Bound::Registered(&registered);
    assert!(narrow(asked(Some("acme"), "invoices:read"), &[ceiling, roles]).is_ok());
    let beyond = narrow(asked(Some("acme"), "invoices:write"), &[ceiling, roles]).unwrap_err();
    assert_eq!(beyond, Widening::BeyondRegistration { scope: "invoices:write".to_owned() });
}

#[test]
fn another_organization_is_refused_however_little_is_asked() {
    let held = permissions(&["invoices:*"]);
    let roles = Bound::Roles { organization: "acme", permissions: &held };
    for other in [Some("other"), None] {
        let refused = narrow(asked(other, ""), &[roles]);
        assert_eq!(refused, Err(Widening::OtherOrganization), "{other:?}");
    }
    let refused = narrow(asked(Some("acme"), ""), &[Bound::NoMembership]);
    assert_eq!(refused, Err(Widening::OtherOrganization));
}

#[test]
fn an_api_scope_needs_a_membership_and_a_person_for_the_others() {
    let lacking = narrow(asked(None, "openid invoices:read"), &[Bound::NoMembership]).unwrap_err();
    assert_eq!(lacking, Widening::NeedsMembership { scope: "invoices:read".to_owned() });
    assert!(narrow(asked(None, "openid"), &[Bound::NoMembership]).is_ok());
    let no_person = narrow(asked(None, "openid"), &[Bound::NoPerson, Bound::NoMembership]);
    assert_eq!(no_person, Err(Widening::NeedsPerson { scope: "openid".to_owned() }));
}

#[test]
fn without_roles_nothing_of_an_api_is_granted() {
    let registered = Scopes::parse("invoices:read").unwrap();
    let ceiling = Bound::Registered(&registered);
    for bounds in [&[][..], &[ceiling], &[Bound::NoPerson]] {
        assert!(narrow(asked(None, "invoices:read"), bounds).is_err());
    }
}

#[test]
fn nobody_is_let_in_where_nothing_is_held() {
    let held = permissions(&["invoices:read"]);
    let roles = Bound::Roles { organization: "acme", permissions: &held };
    let to = |offered: &[&str]| RequestedAuthority {
        audience: Audience::Resource("https://api.example.com".to_owned()),
        offered: offered.iter().map(|scope| (*scope).to_owned()).collect(),
        ..asked(Some("acme"), "")
    };
    assert!(narrow(to(&["invoices:write", "invoices:read"]), &[roles]).is_ok());
    for offered in [&["orders:read"][..], &["invoices:write"], &[]] {
        assert_eq!(narrow(to(offered), &[roles]), Err(Widening::OutOfReach), "{offered:?}");
    }
    let registered = Scopes::parse("orders:read").unwrap();
    let ceiling = Bound::Registered(&registered);
    let refused = narrow(to(&["invoices:read", "orders:read"]), &[roles, ceiling]);
    assert_eq!(refused, Err(Widening::OutOfReach), "one alone is not enough");
}

fn held() -> impl Strategy<Value = Vec<Permission>> {
    let action = prop_oneof!["[a-c]", Just("*".to_owned())];
    let permission = ("[x-z]", action)
        .prop_map(|(resource, action)| Permission::parse(&format!("{resource}:{action}")).unwrap());
    prop::collection::vec(permission, 0..5)
}

fn scopes() -> impl Strategy<Value = Scopes> {
    let scope = prop_oneof!["[x-z]:[a-c]", Just("openid".to_owned()), Just("email".to_owned())];
    prop::collection::vec(scope, 0..6).prop_map(|words| Scopes::parse(&words.join(" ")).unwrap())
}

fn organization() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), "[ab]".prop_map(Some)]
}

proptest! {
    #[test]
    fn authority_never_grows_along_a_chain(
        asks in prop::collection::vec((organization(), scopes()), 1..5),
        first in (held(), "[ab]"),
        ceilings in prop::collection::vec(scopes(), 1..5),
    ) {
        let held: Permissions = first.0.iter().collect();
        let roles = Bound::Roles { organization: &first.1, permissions: &held };
        let mut parent: Option<GrantedAuthority> = None;
        for ((organization, scopes), ceiling) in asks.into_iter().zip(ceilings.iter().cycle()) {
            let (audience, offered) = (Audience::Issuer, Vec::new());
            let details = Details::default();
            let asked = RequestedAuthority { organization, audience, offered, scopes, details };
            let above = parent.as_ref().map(|granted| granted.scopes().clone());
            let mut bounds = vec![roles];
            bounds.push(Bound::Registered(ceiling));
            if let Some(above) = &above {
                bounds.push(Bound::Registered(above));
            }
            let covered = asked.organization.as_deref() == Some(first.1.as_str())
                && asked.scopes.iter().all(|scope| {
                    let conferred = OIDC_SCOPES.contains(&scope)
                        || first.0.iter().any(|one| {
                            let action = scope.split_once(':').unwrap().1;
                            let resource = scope.split_once(':').unwrap().0;
                            one.resource() == resource
                                && [action, "*"].contains(&one.as_str().split_once(':').unwrap().1)
                        });
                    conferred
                        && ceiling.contains(scope)
                        && above.as_ref().is_none_or(|above| above.contains(scope))
                });
            match narrow(asked.clone(), &bounds) {
                Ok(granted) => {
                    prop_assert!(covered, "more than is held was granted");
                    prop_assert_eq!(granted.scopes(), &asked.scopes, "nothing is trimmed");
                    prop_assert_eq!(granted.organization(), asked.organization.as_deref());
                    parent = Some(granted);
                }
                Err(_) => prop_assert!(!covered, "what is held was refused"),
            }
        }
    }
}
