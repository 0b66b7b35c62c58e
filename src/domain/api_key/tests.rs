//! The rules of API keys, one by one.

use super::*;
use crate::domain::{
    authority::{Grantor, Permission, Permissions, Scopes},
    client::{self, KnownClient},
    membership,
    organization::{Organization, Role},
};
use serde_json::json;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const DAY: Duration = Duration::from_hours(24);

fn permissions(texts: &[&str]) -> Vec<Permission> {
    texts.iter().map(|text| Permission::parse(text).unwrap()).collect()
}

fn role(name: &str, held: &[&str]) -> Role {
    Role { name: name.to_owned(), permissions: permissions(held), group: None }
}

fn home() -> organization::Known {
    let roles = vec![
        role("clerk", &["invoices:read"]),
        role("manager", &["invoices:*", "scim:*"]),
        role("owner", &["invoices:*", "scim:*", "accounts:write"]),
    ];
    let mut acme = Organization::default();
    let draft = organization::Draft {
        slug: "acme".to_owned(),
        roles: Some(roles),
        ..organization::Draft::default()
    };
    let made = acme.decide(&organization::Command::Provision(draft), NOW);
    made.events.iter().for_each(|event| acme.apply(event));
    acme.known().unwrap().clone()
}

fn member(roles: &[&str]) -> membership::Known {
    membership::Known {
        id: "m".to_owned(),
        account: "ana".to_owned(),
        organization: "acme".to_owned(),
        roles: roles.iter().map(|&role| role.to_owned()).collect(),
        enabled: true,
        created_at: NOW,
        epoch: 0,
        left: false,
        mapped: Vec::new(),
        entry: None,
    }
}

fn of(member: membership::Known) -> Backing {
    Backing::Membership { member: Box::new(member), account_epoch: 0 }
}

fn service(roles: &[&str], scope: Option<&str>) -> KnownClient {
    let metadata = match scope {
        None => json!({}),
        Some(scope) => json!({ "scope": scope }),
    };
    let draft = client::Draft {
        client_id: "billing".to_owned(),
        metadata: metadata.as_object().unwrap().clone(),
        secret: Some(Fingerprint::of(b"of the client")),
        organization: Some("acme".to_owned()),
        roles: Some(roles.iter().map(|&role| role.to_owned()).collect()),
        ..client::Draft::default()
    };
    let provision = client::Command::Provision { draft: Box::new(draft), home: Some(home()) };
    let mut billing = client::Client::default();
    let made = billing.decide(&provision, NOW);
    assert!(made.outcome.is_ok());
    made.events.iter().for_each(|event| billing.apply(event));
    billing.known().unwrap().clone()
}

fn secret(n: u8) -> Fingerprint {
    Fingerprint::of(&[n])
}

fn issue(held: &[&str], backing: Backing) -> Issue {
    Issue {
        id: "k".to_owned(),
        name: " Payroll ".to_owned(),
        permissions: permissions(held),
        expires_at: None,
        secret: secret(1),
        home: home(),
        backing,
        grantor: None,
        parents: Vec::new(),
    }
}

fn ask(key: &mut ApiKey, command: &Command, now: Timestamp) -> Result<Reply, Refusal> {
    let decision = key.decide(command, now);
    let wrote = decision.effects.records.len();
    // A change has its record; a use has none.
    let changes = decision.events.iter().filter(|event| !matches!(event, Event::Used { .. }));
    assert_eq!(changes.count(), wrote);
    decision.events.iter().for_each(|event| key.apply(event));
    decision.outcome
}

fn try_issuing(issue: Issue) -> Result<ApiKey, Refusal> {
    let mut key = ApiKey::default();
    ask(&mut key, &Command::Issue(Box::new(issue)), NOW)?;
    Ok(key)
}

fn issued(held: &[&str], backing: Backing) -> ApiKey {
    try_issuing(issue(held, backing)).unwrap()
}

fn rotate(n: u8, backing: Backing) -> Rotate {
    Rotate { secret: secret(n), overlap: DAY, home: home(), backing, grantor: None }
}

fn rotated(key: &mut ApiKey, rotate: Rotate) -> Result<Reply, Refusal> {
    ask(key, &Command::Rotate(Box::new(rotate)), NOW)
}

fn revoke(home: organization::Known) -> Command {
    Command::Revoke { home: Box::new(home) }
}

#[test]
fn a_key_of_the_operator_is_bounded_by_its_permissions_alone() {
    let key = issued(&["scim:*", "orders:read", "scim:*"], Backing::Operator);
    let known = key.opened_by(secret(1), NOW).unwrap();
    assert_eq!((known.name.as_str(), known.permissions.len()), ("Payroll", 2));
    let confers = known.confers(&home(), &Backing::Operator).unwrap();
    assert!(confers.covers("scim:provision") && confers.covers("orders:read"));
    assert!(!confers.covers("orders:write") && !confers.covers("organizations:administer"));
    assert_eq!(key.opened_by(secret(2), NOW), None);
    assert_eq!(key.live_until(), Timestamp::FOREVER);
    assert_eq!(key.forget_at(), None);
    let text = serde_json::to_string(&key).unwrap();
    assert_eq!(serde_json::from_str::<ApiKey>(&text).unwrap(), key);
}

#[test]
fn no_issuer_passes_on_what_it_does_not_hold() {
    let refused = |held: &[&str], backing: Backing| try_issuing(issue(held, backing)).unwrap_err();
    let not_held = |name: &str| Refusal::NotHeld(name.to_owned());
    assert_eq!(refused(&["invoices:write"], of(member(&["clerk"]))), not_held("invoices:write"));
    let both = refused(&["invoices:read", "invoices:*"], of(member(&["clerk"])));
    assert_eq!(both, not_held("invoices:*"), "a wildcard is more than one of its actions");
    assert_eq!(refused(&["invoices:read"], of(member(&[]))), not_held("invoices:read"));
    let gone = membership::Known { enabled: false, ..member(&["manager"]) };
    assert_eq!(refused(&["invoices:read"], of(gone)), Refusal::NoIssuer);
    let elsewhere = membership::Known { organization: "other".to_owned(), ..member(&["manager"]) };
    assert_eq!(refused(&["invoices:read"], of(elsewhere)), Refusal::NoIssuer);
    let client = |client: KnownClient| Backing::Client(Box::new(client));
    let clerk = service(&["clerk"], None);
    assert_eq!(refused(&["invoices:write"], client(clerk)), not_held("invoices:write"));
    let bounded = service(&["manager"], Some("invoices:read"));
    assert_eq!(refused(&["invoices:write"], client(bounded.clone())), not_held("invoices:write"));
    let homeless = KnownClient { organization: None, roles: Vec::new(), ..bounded.clone() };
    assert_eq!(refused(&["invoices:read"], client(homeless)), Refusal::NoIssuer);
    assert!(try_issuing(issue(&["invoices:read"], client(bounded))).is_ok());
    assert!(try_issuing(issue(&["invoices:*"], of(member(&["manager"])))).is_ok());
}

#[test]
fn the_caller_who_may_do_less_than_its_issuer_is_held_to_that() {
    let grantor = |held: &[&str]| Some(Grantor::of_all(permissions(held).iter().collect()));
    let backing = of(member(&["manager"]));
    let wide = issue(&["invoices:write"], backing.clone());
    let narrow = Issue { grantor: grantor(&["invoices:read"]), ..wide.clone() };
    let refused = Refusal::NotHeld("invoices:write".to_owned());
    assert_eq!(try_issuing(narrow), Err(refused.clone()));
    let mut key = try_issuing(wide).unwrap();
    let narrow = Rotate { grantor: grantor(&["invoices:read"]), ..rotate(2, backing.clone()) };
    assert_eq!(rotated(&mut key, narrow), Err(refused));
    assert!(key.opened_by(secret(1), NOW).is_some() && key.opened_by(secret(2), NOW).is_none());
    let enough = Rotate { grantor: grantor(&["invoices:*"]), ..rotate(2, backing) };
    assert!(rotated(&mut key, enough).is_ok());
}

#[test]
fn only_an_issuer_that_holds_all_that_roles_confer_hands_out_roles() {
    let manager = try_issuing(issue(&["scim:*"], of(member(&["manager"]))));
    assert_eq!(manager, Err(Refusal::NotHeld("accounts:write".to_owned())));
    assert!(try_issuing(issue(&["scim:read"], of(member(&["manager"])))).is_ok());
    let owner = of(member(&["owner"]));
    let key = issued(&["scim:provision"], owner.clone());
    let known = key.known().unwrap();
    assert!(known.confers(&home(), &owner).is_ok());
    let mut more = home();
    more.roles.push(role("banker", &["payments:write"]));
    let refused = known.confers(&more, &owner);
    assert_eq!(refused, Err(Refusal::NotHeld("payments:write".to_owned())));
    let parent = Issue {
        grantor: Some(Grantor::of_all(permissions(&["scim:*"]).iter().collect())),
        ..issue(&["scim:*"], Backing::Operator)
    };
    assert!(try_issuing(parent).is_err(), "a key of the operator is not the operator");
    // Of a person it is what they hold that counts, whatever their token names.
    let by_token = |held: &[&str]| {
        let held: Permissions = permissions(held).iter().collect();
        let names = crate::domain::reserved_names::ReservedNames::all_open();
        Some(Grantor::by_token(held, &Scopes::parse("apikeys:write").unwrap(), &names))
    };
    let wide = ["invoices:*", "scim:*", "accounts:write"];
    let wide = Issue { grantor: by_token(&wide), ..issue(&["scim:provision"], owner.clone()) };
    assert!(try_issuing(wide).is_ok());
    let little = Issue { grantor: by_token(&["scim:*"]), ..issue(&["scim:provision"], owner) };
    assert!(try_issuing(little).is_err());
}

#[test]
fn what_is_wider_than_a_resource_or_administers_is_in_no_key() {
    for wide in ["organizations:administer", "Organizations:Administer"] {
        let refused = try_issuing(issue(&["scim:read", wide], Backing::Operator));
        assert!(matches!(refused, Err(Refusal::Forbidden(_))), "{wide}");
    }
    assert_eq!(try_issuing(issue(&[], Backing::Operator)), Err(Refusal::Permissions));
    let many: Vec<String> = (0..=MOST_PERMISSIONS).map(|n| format!("a:b{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(try_issuing(issue(&many, Backing::Operator)), Err(Refusal::Permissions));
    assert!(try_issuing(issue(&many[1..], Backing::Operator)).is_ok());
    let key = issued(&["organizations:*"], Backing::Operator);
    let confers = key.known().unwrap().confers(&home(), &Backing::Operator).unwrap();
    assert!(confers.covers("organizations:read"));
    assert!(!confers.covers("organizations:administer"));
}

#[test]
fn names_can_be_read_and_ends_lie_ahead() {
    let usual = || issue(&["scim:*"], Backing::Operator);
    let long = "x".repeat(LONGEST_NAME + 1);
    for name in ["", "  ", "a\nb", "a\0", "\u{1b}[31mred", "a\u{202e}b", "\u{200b}", &long] {
        let named = Issue { name: name.to_owned(), ..usual() };
        assert_eq!(try_issuing(named), Err(Refusal::Name), "{name:?}");
    }
    for name in ["é", "株式会社", &long[1..]] {
        assert!(try_issuing(Issue { name: name.to_owned(), ..usual() }).is_ok(), "{name}");
    }
    for end in [NOW, NOW - DAY, Timestamp::NEVER] {
        let over = Issue { expires_at: Some(end), ..usual() };
        assert_eq!(try_issuing(over), Err(Refusal::Expiry));
    }
    let mut key = try_issuing(Issue { expires_at: Some(NOW + DAY), ..usual() }).unwrap();
    assert_eq!(key.live_until(), NOW + DAY);
    assert_eq!(key.forget_at(), Some(NOW + DAY + KEPT_AFTER_END + CLOCK_SKEW));
    assert!(key.opened_by(secret(1), NOW + DAY - Duration::from_millis(1)).is_some());
    assert!(key.opened_by(secret(1), NOW + DAY).is_none());
    let late = Command::Rotate(Box::new(rotate(2, Backing::Operator)));
    assert_eq!(ask(&mut key, &late, NOW + DAY), Err(Refusal::Expired));
    let deep = Issue { parents: vec!["p".to_owned(); MOST_PARENTS + 1], ..usual() };
    assert_eq!(try_issuing(deep), Err(Refusal::TooDeep));
}

#[test]
fn a_key_confers_nothing_while_one_of_its_permissions_is_not_held() {
    let key = issued(&["invoices:read", "invoices:write"], of(member(&["manager"])));
    let known = key.known().unwrap();
    assert!(known.confers(&home(), &of(member(&["manager"]))).is_ok());
    let less = known.confers(&home(), &of(member(&["clerk"])));
    assert_eq!(less, Err(Refusal::NotHeld("invoices:write".to_owned())), "it is not trimmed");
    let mut poorer = home();
    poorer.roles[1] = role("manager", &["invoices:read"]);
    assert!(known.confers(&poorer, &of(member(&["manager"]))).is_err());
    let other = membership::Known { id: "n".to_owned(), ..member(&["manager"]) };
    assert_eq!(known.confers(&home(), &of(other)), Err(Refusal::NoIssuer));
    assert_eq!(known.confers(&home(), &Backing::Operator), Err(Refusal::NoIssuer));
    let elsewhere = organization::Known { slug: "other".to_owned(), ..home() };
    assert!(known.confers(&elsewhere, &of(member(&["manager"]))).is_err());
}

#[test]
fn what_ended_with_an_organization_or_a_membership_comes_back_by_rotation_alone() {
    let suspended = organization::Known { enabled: false, ..home() };
    let again = organization::Known { epoch: 1, ..home() };
    for backing in [Backing::Operator, of(member(&["manager"]))] {
        let mut key = issued(&["invoices:read"], backing.clone());
        let known = key.known().unwrap().clone();
        let asleep = Err(Refusal::Suspended("acme".to_owned()));
        assert_eq!(known.confers(&suspended, &backing), asleep);
        assert_eq!(known.confers(&again, &backing), Err(Refusal::EarlierEpoch));
        let here = Rotate { home: suspended.clone(), ..rotate(2, backing.clone()) };
        let refused = Refusal::Suspended("acme".to_owned());
        assert_eq!(rotated(&mut key, here), Err(refused.clone()));
        assert_eq!(ask(&mut key, &revoke(suspended.clone()), NOW), Err(refused));
        let here = Rotate { home: again.clone(), ..rotate(2, backing.clone()) };
        assert_eq!(rotated(&mut key, here), Ok(Reply::Rotated { former_until: None }));
        assert!(key.opened_by(secret(1), NOW).is_none(), "the former secret is not revived");
        assert!(key.opened_by(secret(2), NOW).unwrap().confers(&again, &backing).is_ok());
    }
    let key = issued(&["invoices:read"], of(member(&["manager"])));
    let back = of(membership::Known { epoch: 1, ..member(&["manager"]) });
    assert_eq!(key.known().unwrap().confers(&home(), &back), Err(Refusal::EarlierEpoch));
    let recovered =
        Backing::Membership { member: Box::new(member(&["manager"])), account_epoch: 1 };
    assert_eq!(key.known().unwrap().confers(&home(), &recovered), Err(Refusal::EarlierEpoch));
}

#[test]
fn after_a_rotation_the_former_secret_is_good_for_as_long_as_was_said() {
    let mut key = issued(&["scim:*"], Backing::Operator);
    let until = NOW + DAY;
    let first = rotated(&mut key, rotate(2, Backing::Operator));
    assert_eq!(first, Ok(Reply::Rotated { former_until: Some(until) }));
    assert!(key.opened_by(secret(1), until - Duration::from_millis(1)).is_some());
    assert!(key.opened_by(secret(1), until).is_none());
    assert!(key.opened_by(secret(2), until).is_some());
    let text = serde_json::to_string(&key).unwrap();
    assert_eq!(serde_json::from_str::<ApiKey>(&text).unwrap(), key);
    rotated(&mut key, rotate(3, Backing::Operator)).unwrap();
    assert!(key.opened_by(secret(1), NOW).is_none(), "two at most are good");
    assert!(key.opened_by(secret(2), NOW).is_some());
    let at_once = Rotate { overlap: Duration::ZERO, ..rotate(4, Backing::Operator) };
    assert_eq!(rotated(&mut key, at_once), Ok(Reply::Rotated { former_until: None }));
    assert!(key.opened_by(secret(3), NOW).is_none());
    let long = Rotate {
        overlap: LONGEST_OVERLAP + Duration::from_millis(1),
        ..rotate(5, Backing::Operator)
    };
    assert_eq!(rotated(&mut key, long), Err(Refusal::Overlap));
}

#[test]
fn a_revoked_key_is_over_for_good_and_is_listed_for_a_while() {
    let mut key = issued(&["scim:*"], Backing::Operator);
    rotated(&mut key, rotate(2, Backing::Operator)).unwrap();
    let listed = key.listings();
    assert_eq!(listed[0].owner, "acme");
    assert_eq!(ask(&mut key, &revoke(home()), NOW), Ok(Reply::Revoked));
    assert_eq!((key.revoked_at(), key.live_until()), (Some(NOW), Timestamp::NEVER));
    assert_eq!(key.forget_at(), Some(NOW + KEPT_AFTER_END + CLOCK_SKEW));
    assert_eq!(key.listings(), listed);
    assert!(key.opened_by(secret(1), NOW).is_none() && key.opened_by(secret(2), NOW).is_none());
    assert_eq!(ask(&mut key, &revoke(home()), NOW), Ok(Reply::Revoked), "once more is no fault");
    assert_eq!(rotated(&mut key, rotate(3, Backing::Operator)), Err(Refusal::NotActive));
    assert_eq!(ask(&mut key, &Command::Use, NOW), Err(Refusal::NotActive));
    let again = Command::Issue(Box::new(issue(&["scim:*"], Backing::Operator)));
    assert_eq!(ask(&mut key, &again, NOW), Err(Refusal::Exists));
    let text = serde_json::to_string(&key).unwrap();
    assert!(!text.contains("current"), "nothing is left of its secrets: {text}");
    assert_eq!(ask(&mut ApiKey::default(), &revoke(home()), NOW), Err(Refusal::NotActive));
}

#[test]
fn a_use_is_noted_once_in_a_while() {
    let mut key = issued(&["scim:*"], Backing::Operator);
    let noted = |key: &ApiKey| key.known().unwrap().last_used_at;
    assert_eq!(noted(&key), None);
    ask(&mut key, &Command::Use, NOW).unwrap();
    assert_eq!(noted(&key), Some(NOW));
    let soon = NOW + USE_NOTED_EVERY - Duration::from_millis(1);
    assert!(!key.known().unwrap().use_is_due(soon));
    ask(&mut key, &Command::Use, soon).unwrap();
    assert_eq!(noted(&key), Some(NOW));
    ask(&mut key, &Command::Use, NOW + USE_NOTED_EVERY).unwrap();
    assert_eq!(noted(&key), Some(NOW + USE_NOTED_EVERY));
    let child = Issue {
        parents: key.known().unwrap().descent(),
        ..issue(&["scim:read"], Backing::Operator)
    };
    assert_eq!(try_issuing(child).unwrap().known().unwrap().parents, ["k"]);
}
