//! A membership through its life, beside an organization that changes.

use super::*;

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(super) fn acme() -> organization::Known {
    let role =
        |name: &str| organization::Role { name: name.to_owned(), ..organization::Role::default() };
    organization::Known {
        required_connections: Vec::new(),
        deletion: None,
        slug: "acme".to_owned(),
        name: "Acme".to_owned(),
        enabled: true,
        roles: vec![role("clerk"), role("manager")],
        required_acr: crate::domain::assurance::Acr::Aal1,
        impersonation: false,
        brand: crate::domain::brand::Brand::default(),
        epoch: 0,
        signed_out: 0,
    }
}

pub(super) fn suspended() -> organization::Known {
    organization::Known { enabled: false, ..acme() }
}

pub(super) fn draft(roles: &[&str]) -> Draft {
    Draft {
        id: "m".to_owned(),
        account: "a".to_owned(),
        organization: "acme".to_owned(),
        roles: Some(roles.iter().map(|role| (*role).to_owned()).collect()),
        enabled: Some(true),
        mapped: None,
        entry: None,
        word: Word::Managers,
    }
}

pub(super) fn ending() -> Draft {
    Draft { roles: None, enabled: Some(false), ..draft(&[]) }
}

/// Decides, and says what came of it and which events were recorded.
fn provision_at(
    membership: &mut Membership,
    draft: Draft,
    home: Option<organization::Known>,
) -> (Result<Provisioned, Refusal>, Vec<&'static str>) {
    let decision = membership.decide(&Command::Provision { draft, home }, NOW);
    for event in &decision.events {
        membership.apply(event);
    }
    for record in &decision.effects.records {
        assert_eq!(record.organization.as_deref(), Some("acme"));
        assert_eq!(record.detail["account"], "a");
    }
    let recorded = decision.effects.records.iter().map(|record| record.event).collect();
    (decision.outcome, recorded)
}

fn provision(membership: &mut Membership, draft: Draft) -> Result<Provisioned, Refusal> {
    provision_at(membership, draft, Some(acme())).0
}

fn clerk() -> Membership {
    let mut membership = Membership::default();
    let created = provision_at(&mut membership, draft(&["clerk", "clerk"]), Some(acme()));
    assert_eq!(created, (Ok(Provisioned::Created), vec!["membership.created"]));
    membership
}

#[test]
fn a_membership_is_found_from_both_its_sides() {
    let membership = clerk();
    assert_eq!(membership.names(), [Name::new(MEMBERSHIP_PAIRS, "a:acme")]);
    let listings = [
        Listing::new(MEMBERSHIPS, "a", "acme"),
        Listing::new(MEMBERS, "acme", "a"),
        Listing::new(ROLE_HOLDERS, "acme clerk", "a"),
        Listing::new(ROLE_MEMBERS, "acme clerk", "m"),
    ];
    assert_eq!(membership.listings(), listings);
    assert_eq!(membership.known().unwrap().roles, ["clerk"], "what is there twice counts once");
    assert!(Membership::default().names().is_empty());
    assert_eq!(Membership::default().live_until(), Timestamp::NEVER);
}

#[test]
fn an_ended_membership_confers_nothing_and_is_the_same_when_it_begins_again() {
    let mut membership = clerk();
    assert_eq!(membership.live_until(), Timestamp::FOREVER);
    let ended = provision_at(&mut membership, ending(), Some(acme()));
    assert_eq!(ended, (Ok(Provisioned::Changed(vec!["enabled"])), vec!["membership.ended"]));
    assert_eq!(membership.live_until(), Timestamp::NEVER);
    assert_eq!(provision(&mut membership, ending()), Ok(Provisioned::Unchanged));
    let lists: Vec<&str> = membership.listings().iter().map(|listing| listing.list).collect();
    assert_eq!(lists, [MEMBERSHIPS, MEMBERS, FORMER_ROLE_MEMBERS], "it stays");
    assert_eq!(membership.names().len(), 1);
    let again = Draft { id: "other".to_owned(), ..draft(&["manager"]) };
    let resumed = provision_at(&mut membership, again, Some(acme()));
    assert_eq!(resumed.1, ["membership.changed", "membership.resumed"]);
    assert_eq!(membership.known().unwrap().id, "m");
    assert_eq!(membership.live_until(), Timestamp::FOREVER);
    let home = organization::Known { epoch: 2, ..acme() };
    assert_eq!(membership.known().unwrap().epoch_at(&home), 3, "one of its own, two of its home");
}

#[test]
fn roles_must_exist_unless_they_are_held() {
    let mut membership = clerk();
    let no_role = |role: &str| {
        Err(Refusal::NoSuchRole { organization: "acme".to_owned(), role: role.to_owned() })
    };
    assert_eq!(provision(&mut membership, draft(&["clerk", "owner"])), no_role("owner"));
    // The organization drops a role; a member who has it may be given another.
    let mut home = acme();
    home.roles.remove(0);
    assert!(membership.known().unwrap().roles_at(&home).is_empty());
    let both = draft(&["clerk", "manager"]);
    let changed = provision_at(&mut membership, both.clone(), Some(home.clone())).0;
    assert_eq!(changed, Ok(Provisioned::Changed(vec!["roles"])));
    assert_eq!(membership.known().unwrap().roles_at(&home), ["manager"]);
    // A member who comes back is asked again.
    let ended = provision_at(&mut membership, ending(), Some(home.clone())).0;
    assert_eq!(ended, Ok(Provisioned::Changed(vec!["enabled"])));
    assert_eq!(provision_at(&mut membership, both, Some(home)).0, no_role("clerk"));
}

#[test]
fn a_suspended_organization_accepts_no_change_of_its_memberships() {
    let refused = || (Err(Refusal::Suspended("acme".to_owned())), vec![]);
    let mut membership = clerk();
    let before = membership.clone();
    for change in [draft(&["manager"]), draft(&[]), ending()] {
        assert_eq!(provision_at(&mut membership, change, Some(suspended())), refused());
    }
    let newcomer = draft(&[]);
    assert_eq!(provision_at(&mut Membership::default(), newcomer, Some(suspended())), refused());
    let same = provision_at(&mut membership, draft(&["clerk"]), Some(suspended()));
    assert_eq!(same, (Ok(Provisioned::Unchanged), vec![]));
    assert_eq!(membership, before);
}

#[test]
fn a_membership_belongs_to_one_account_and_one_organization_that_exists() {
    let nowhere = || Err(Refusal::NoSuchOrganization("acme".to_owned()));
    assert_eq!(provision_at(&mut Membership::default(), draft(&[]), None).0, nowhere());
    let other = organization::Known { slug: "other".to_owned(), ..acme() };
    assert_eq!(provision_at(&mut Membership::default(), draft(&[]), Some(other)).0, nowhere());
    let stolen = Draft { account: "b".to_owned(), ..draft(&["manager"]) };
    assert_eq!(provision(&mut clerk(), stolen), Err(Refusal::OtherPair));
    let moved = Draft { organization: "other".to_owned(), ..draft(&[]) };
    assert_eq!(provision(&mut clerk(), moved), Err(Refusal::OtherPair));
}

#[test]
fn what_is_not_given_stays() {
    let mut membership = clerk();
    let silent = Draft { roles: None, enabled: None, ..draft(&[]) };
    assert_eq!(provision(&mut membership, silent), Ok(Provisioned::Unchanged));
    assert_eq!(membership, clerk());
    let text = serde_json::to_string(&membership).unwrap();
    assert_eq!(serde_json::from_str::<Membership>(&text).unwrap(), membership);
}

#[test]
fn a_person_who_has_left_comes_back_by_an_invitation_or_the_operator_alone() {
    let leave = Draft { word: Word::Person, ..ending() };
    for word in [Word::Person, Word::Operator] {
        let mut membership = clerk();
        provision(&mut membership, leave.clone()).unwrap();
        assert!(membership.known().unwrap().left);
        assert_eq!(provision(&mut membership, draft(&["clerk"])), Err(Refusal::Left));
        let silent = Draft { enabled: None, ..draft(&["manager"]) };
        provision(&mut membership, silent).unwrap();
        assert_eq!(provision(&mut membership, draft(&["clerk"])), Err(Refusal::Left));
        let text = serde_json::to_string(&membership).unwrap();
        assert_eq!(serde_json::from_str::<Membership>(&text).unwrap(), membership);
        provision(&mut membership, Draft { word, ..draft(&["clerk"]) }).unwrap();
        let known = membership.known().unwrap();
        assert!(known.enabled && !known.left);
    }
    // One whom the managers ended comes back by them.
    let mut membership = clerk();
    provision(&mut membership, ending()).unwrap();
    assert!(!serde_json::to_string(&membership).unwrap().contains("left"));
    assert!(provision(&mut membership, draft(&["clerk"])).is_ok());
}
