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
    assert_eq!(provision(&mut acme, suspend.clone()), Ok(Provisioned::Changed(vec!["enabled"])));
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

/// The role as releases before had it.
fn former_administrator() -> Role {
    let names = [
        "accounts",
        "organizations",
        "memberships",
        "roles",
        "clients",
        "apikeys",
        "scim",
        "audit",
    ];
    let texts: Vec<String> =
        names.iter().flat_map(|name| [format!("{name}:read"), format!("{name}:write")]).collect();
    role(ADMINISTRATOR, &texts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn widen(organization: &mut Organization) -> (Provisioned, Vec<crate::domain::Record>) {
    let names = ["connections", "domains", "installation"].map(str::to_owned);
    let decision = organization.decide(&Command::widen_administrators(&names), NOW);
    decision.events.iter().for_each(|event| organization.apply(event));
    (decision.outcome.unwrap(), decision.effects.records)
}

#[test]
fn the_role_of_administrators_as_we_made_it_gains_new_names_once_and_says_so() {
    let mut acme = acme();
    let roles = vec![role("clerk", &["domains:read"]), former_administrator()];
    provision(&mut acme, Draft { roles: Some(roles), enabled: Some(false), ..draft() }).unwrap();
    let (outcome, records) = widen(&mut acme);
    assert_eq!(outcome, Provisioned::Changed(vec!["role"]), "be it suspended");
    assert_eq!(records[0].event, "organization.role_widened");
    assert_eq!(records[0].organization.as_deref(), Some("acme"));
    let gained = "connections:read connections:write domains:read domains:write";
    assert_eq!(records[0].detail["permissions"], gained);
    let known = acme.known().unwrap();
    let held: Vec<&str> = known.roles[1].permissions.iter().map(Permission::as_str).collect();
    assert_eq!(held[16..].join(" "), gained, "and nothing of the installation");
    assert_eq!(known.roles[0], role("clerk", &["domains:read"]));
    let (outcome, records) = widen(&mut acme);
    assert_eq!((outcome, records.len()), (Provisioned::Unchanged, 0));
}

#[test]
fn a_role_of_administrators_that_an_operator_wrote_stays_as_it_is() {
    let mut fewer = former_administrator();
    fewer.permissions.pop();
    let mut named_otherwise = former_administrator();
    named_otherwise.name = "owner".to_owned();
    for roles in [vec![fewer], vec![named_otherwise], vec![role(ADMINISTRATOR, &["audit:*"])]] {
        let mut acme = acme();
        provision(&mut acme, Draft { roles: Some(roles.clone()), ..draft() }).unwrap();
        assert_eq!(widen(&mut acme).0, Provisioned::Unchanged);
        assert_eq!(acme.known().unwrap().roles, roles);
    }
    assert_eq!(widen(&mut Organization::default()).0, Provisioned::Unchanged);
}

#[test]
fn no_role_gains_a_permission_of_the_installation_and_one_that_had_it_keeps_it() {
    for text in ["installation:read", "installation:*", "Installation:write"] {
        let boss = Draft { roles: Some(vec![role("boss", &[text])]), ..draft() };
        let refused = provision(&mut acme(), boss.clone());
        assert!(matches!(refused, Err(Refusal::ForbiddenPermission(_))), "{text}");
        let mut acme = acme();
        let Organization::Known(known) = &mut acme else { unreachable!("it is known") };
        known.roles.push(role("boss", &[text]));
        assert!(provision(&mut acme, boss).is_ok(), "{text}");
        let other = Draft { roles: Some(vec![role("chief", &[text])]), ..draft() };
        assert!(provision(&mut acme, other).is_err(), "{text}");
    }
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
