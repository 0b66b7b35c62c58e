//! Members whom a directory looks after (adr/0133).

use super::{
    tests::{NOW, acme, draft, ending, suspended},
    *,
};
use crate::domain::scim::{resource::User, schema::USER};
use serde_json::json;

fn entry() -> DirectoryEntry {
    let body = json!({
        "schemas": [USER.schema.id], "userName": "Eva@Acme.test", "externalId": "E1",
    });
    DirectoryEntry {
        user: User::read(body.as_object().unwrap()).unwrap(),
        active: true,
        changed_at: NOW,
        came_with: None,
        invitations: Invitations::default(),
    }
}

fn proposal() -> Proposal {
    Proposal {
        id: "m".to_owned(),
        organization: "acme".to_owned(),
        roles: None,
        address: Some("Eva@Acme.test".to_owned()),
        entry: entry(),
    }
}

fn decide(membership: &mut Membership, command: &Command) -> Result<Provisioned, Refusal> {
    let decision = membership.decide(command, NOW);
    decision.events.iter().for_each(|event| membership.apply(event));
    let text = serde_json::to_string(membership).unwrap();
    assert_eq!(serde_json::from_str::<Membership>(&text).unwrap(), *membership);
    decision.outcome
}

fn propose(
    membership: &mut Membership,
    proposal: Proposal,
    home: organization::Known,
) -> Result<Provisioned, Refusal> {
    decide(membership, &Command::Propose { proposal: Box::new(proposal), home: Some(home) })
}

fn provision(membership: &mut Membership, draft: Draft) -> Result<Provisioned, Refusal> {
    decide(membership, &Command::Provision { draft, home: Some(acme()) })
}

fn pending() -> Membership {
    let mut membership = Membership::default();
    let with_role = Proposal { roles: Some(vec!["clerk".to_owned()]), ..proposal() };
    assert_eq!(propose(&mut membership, with_role, acme()), Ok(Provisioned::Created));
    membership
}

/// A member whom the directory has named and who has accepted.
fn accepted() -> Membership {
    let mut membership = pending();
    let accept = Draft { word: Word::Person, ..draft(&["clerk"]) };
    assert_eq!(provision(&mut membership, accept), Ok(Provisioned::Created));
    membership
}

fn names(membership: &Membership) -> Vec<(&'static str, String)> {
    membership.names().into_iter().map(|name| (name.space, name.name)).collect()
}

fn lists(membership: &Membership) -> Vec<&'static str> {
    membership.listings().into_iter().map(|listing| listing.list).collect()
}

#[test]
fn a_pending_member_confers_nothing_and_holds_its_names() {
    let membership = pending();
    assert_eq!(membership.live_until(), Timestamp::NEVER);
    assert!(membership.known().is_none());
    let held = [
        (SCIM_USER_NAMES, "acme eva@acme.test".to_owned()),
        (SCIM_EXTERNAL_IDS, "acme E1".to_owned()),
        (PENDING_ADDRESSES, "acme eva@acme.test".to_owned()),
    ];
    assert_eq!(names(&membership), held);
    assert_eq!(lists(&membership), [MEMBERS, ROLE_MEMBERS, DUE_INVITATIONS]);
}

#[test]
fn only_the_person_makes_a_member_of_a_pending_one() {
    for word in [Word::Managers, Word::Operator, Word::Directory] {
        let refused = provision(&mut pending(), Draft { word, ..draft(&["clerk"]) });
        assert_eq!(refused, Err(Refusal::OtherState), "{word:?}");
    }
    let membership = accepted();
    let known = membership.known().unwrap();
    assert_eq!((&*known.id, &*known.account, known.enabled), ("m", "a", true));
    assert_eq!(known.roles, ["clerk"]);
    assert_eq!(known.entry.as_deref().unwrap().user.user_name(), "Eva@Acme.test");
    assert_eq!(names(&membership).len(), 3, "the pair, the userName, the externalId");
    assert_eq!(lists(&membership), [MEMBERSHIPS, MEMBERS, ROLE_HOLDERS, ROLE_MEMBERS]);
}

#[test]
fn one_that_the_directory_has_deactivated_or_that_has_no_address_is_accepted_by_none() {
    let inactive = DirectoryEntry { active: false, ..entry() };
    for changed in
        [Proposal { entry: inactive, ..proposal() }, Proposal { address: None, ..proposal() }]
    {
        let mut membership = pending();
        let outcome = propose(&mut membership, changed, acme());
        assert_eq!(outcome, Ok(Provisioned::Changed(vec!["entry"])));
        assert!(!lists(&membership).contains(&DUE_INVITATIONS));
        let accept = Draft { word: Word::Person, ..draft(&["clerk"]) };
        assert_eq!(provision(&mut membership, accept), Err(Refusal::OtherState));
    }
}

#[test]
fn the_same_again_changes_nothing_though_it_is_later() {
    let mut membership = pending();
    let later = DirectoryEntry { changed_at: NOW + KEPT_AFTER_REMOVAL, ..entry() };
    let again = Proposal { entry: later.clone(), ..proposal() };
    assert_eq!(propose(&mut membership, again, acme()), Ok(Provisioned::Unchanged));
    let mut membership = accepted();
    let again =
        Draft { roles: None, entry: Some(Box::new(later)), word: Word::Directory, ..draft(&[]) };
    assert_eq!(provision(&mut membership, again), Ok(Provisioned::Unchanged));
}

#[test]
fn a_removed_member_frees_its_names_and_comes_back_by_no_word() {
    for mut membership in [pending(), accepted()] {
        let remove = |home| Command::Remove { home: Some(home) };
        let refused = decide(&mut membership.clone(), &remove(suspended()));
        assert!(matches!(refused, Err(Refusal::Suspended(_))));
        assert!(decide(&mut membership, &remove(acme())).is_ok());
        assert!(membership.names().is_empty() && membership.listings().is_empty());
        assert_eq!(membership.live_until(), Timestamp::NEVER);
        assert_eq!(membership.forget_at(), Some(NOW + KEPT_AFTER_REMOVAL));
        let text = serde_json::to_string(&membership).unwrap();
        assert!(!text.contains("eva"), "nothing of the person is kept: {text}");
        assert_eq!(decide(&mut membership, &remove(acme())), Err(Refusal::OtherState));
        for word in [Word::Managers, Word::Person, Word::Operator, Word::Directory] {
            let back = provision(&mut membership, Draft { word, ..draft(&[]) });
            assert_eq!(back, Err(Refusal::OtherState));
        }
        assert_eq!(propose(&mut membership, proposal(), acme()), Err(Refusal::OtherState));
    }
}

#[test]
fn a_person_who_has_left_is_asked_back_and_does_not_come_unasked() {
    let mut membership = accepted();
    let leave = Draft { word: Word::Person, ..ending() };
    assert!(provision(&mut membership, leave).is_ok());
    assert!(!membership.known().unwrap().is_active());
    assert!(!lists(&membership).contains(&DUE_INVITATIONS), "who has just left is not invited");
    let wanted = Draft {
        roles: None,
        enabled: Some(true),
        entry: Some(Box::new(entry())),
        word: Word::Directory,
        ..draft(&[])
    };
    assert!(provision(&mut membership, wanted).is_ok());
    let known = membership.known().unwrap();
    assert!(known.is_active() && !known.enabled, "it reads back as it was sent");
    assert_eq!(membership.live_until(), Timestamp::NEVER);
    assert!(lists(&membership).contains(&DUE_INVITATIONS));
    assert!(decide(&mut membership, &Command::NoteInvited).is_ok());
    assert!(!membership.wants_invitation(NOW));
    assert_eq!(decide(&mut membership, &Command::NoteInvited), Err(Refusal::OtherState));
    let accept = Draft { word: Word::Person, ..draft(&["clerk"]) };
    assert!(provision(&mut membership, accept).is_ok());
    assert_eq!(membership.live_until(), Timestamp::FOREVER);
}

#[test]
fn what_the_directory_does_is_recorded_with_its_cause() {
    let causes = |membership: &Membership, command: &Command| -> Vec<(&'static str, String)> {
        let decision = membership.decide(command, NOW);
        assert!(decision.outcome.is_ok());
        let records = decision.effects.records.into_iter();
        records
            .map(|record| (record.event, record.detail["cause"].as_str().unwrap().to_owned()))
            .collect()
    };
    let scim = |event: &'static str| vec![(event, "scim".to_owned())];
    let end = Draft { word: Word::Directory, ..ending() };
    let end = Command::Provision { draft: end, home: Some(acme()) };
    assert_eq!(causes(&accepted(), &end), scim("membership.ended"));
    let remove = Command::Remove { home: Some(acme()) };
    assert_eq!(causes(&accepted(), &remove), scim("membership.removed"));
    let propose = Command::Propose { proposal: Box::new(proposal()), home: Some(acme()) };
    assert_eq!(causes(&Membership::default(), &propose), scim("membership.proposed"));
}

#[test]
fn a_person_who_does_not_accept_is_invited_a_few_times_and_far_apart() {
    let mut membership = pending();
    for count in 0..MOST_INVITATIONS {
        let due = NOW + INVITED_AGAIN_AFTER * count;
        assert!(!membership.wants_invitation(due - Duration::from_millis(1)), "{count}");
        assert!(membership.wants_invitation(due), "{count}");
        let decision = membership.decide(&Command::NoteInvited, due);
        assert!(decision.outcome.is_ok());
        decision.events.iter().for_each(|event| membership.apply(event));
    }
    assert!(!membership.wants_invitation(Timestamp::FOREVER));
    assert!(!lists(&membership).contains(&DUE_INVITATIONS), "there is an end");
    // Another address is another wish.
    let moved = Proposal { address: Some("eva@far.test".to_owned()), ..proposal() };
    assert!(propose(&mut membership, moved, acme()).is_ok());
    assert!(membership.wants_invitation(NOW));
}
