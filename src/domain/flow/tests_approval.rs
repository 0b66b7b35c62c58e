//! A person decides what a client has asked of them by a back channel.

use super::*;
use crate::domain::{
    approval_block::ApprovalBlock,
    authorization_details::{SubsetRules, Texts},
    backchannel_request::{self, ApprovalRequest, BackchannelRequest},
    resource::DetailType,
};

fn asked(account: &str) -> Box<ApprovalAsked> {
    let request = ApprovalRequest {
        account: account.to_owned(),
        wanted: RequestedGrant::plain("app", "openid", Audience::Issuer),
        binding_message: Some("7".to_owned()),
        from: Device::default(),
        asked_at: NOW,
        expires_at: LATER,
    };
    Box::new(ApprovalAsked { id: "r".to_owned(), request })
}

fn with(facts: AuthorizationFacts, account: &str) -> Box<Material> {
    let approval = Some(asked(account));
    Box::new(Material { approval, ..*material(Some(facts)) })
}

/// The operator's own client is asked about all the same.
fn plain() -> AuthorizationFacts {
    facts(&["acme"], ConsentRule::FirstParty)
}

fn irreversible() -> AuthorizationFacts {
    let kind = DetailType {
        name: "transfer".to_owned(),
        schema: true.into(),
        permission: None,
        irreversible: true,
        subset: SubsetRules::default(),
        text: Texts::default(),
    };
    AuthorizationFacts { types: vec![kind], ..plain() }
}

fn begun() -> Seed {
    let sought = ApprovalSought { id: Some("r".to_owned()), said: None };
    Seed { kind: APPROVAL.to_owned(), approval: Some(sought), ..seed(None) }
}

/// Ana signs in by her password, with these methods.
fn signed_in(facts: AuthorizationFacts, methods: &[Method]) -> (Seed, Flow, Decision<Flow>) {
    let (seed, mut flow) = (begun(), Flow::default());
    take(&mut flow, &seed, Step::Identify { identifier: "ana@acme.test".to_owned() });
    let proved = proved("password", methods);
    let shown = take(&mut flow, &seed, Step::Prove { proved, material: with(facts, "ana") });
    (seed, flow, shown)
}

fn confirm(allow: bool, facts: AuthorizationFacts) -> Step {
    Step::Decide { step: "confirm", allow, material: with(facts, "ana") }
}

fn decided(decision: &Decision<Flow>) -> Vec<(&str, &backchannel_request::Command)> {
    commanded::<BackchannelRequest>(decision)
}

#[test]
fn a_person_is_always_asked_and_the_request_is_approved_with_the_end() {
    let (seed, mut flow, shown) = signed_in(plain(), &[]);
    assert_eq!(stage(&shown.outcome.unwrap().flow), Some(Stage::Confirm));
    let done = take(&mut flow, &seed, confirm(true, plain()));
    let account = Requirement::live::<Account>("ana");
    assert!(done.effects.requirements.contains(&account));
    let [("r", backchannel_request::Command::Approve(yes))] = decided(&done)[..] else {
        panic!("a yes")
    };
    assert_eq!((&*yes.id, yes.in_flow, yes.asserted), ("r", true, false));
    assert_eq!(yes.grant.organization(), Some("acme"));
}

#[test]
fn what_has_changed_since_it_was_shown_is_shown_again() {
    let (seed, mut flow, _) = signed_in(plain(), &[]);
    let other = || facts(&["other"], ConsentRule::FirstParty);
    let again = take(&mut flow, &seed, confirm(true, other()));
    assert_eq!((stage(&flow), decided(&again)), (Some(Stage::Confirm), vec![]));
    let done = take(&mut flow, &seed, confirm(true, other()));
    assert_eq!(decided(&done).len(), 1);
}

#[test]
fn a_no_denies_and_blocks_only_where_the_person_says_so() {
    let block = Step::Block { step: "confirm", material: material(None) };
    for (step, block) in [(confirm(false, plain()), false), (block, true)] {
        let (seed, mut flow, _) = signed_in(plain(), &[]);
        let done = take(&mut flow, &seed, step);
        let (account, why) = ("ana".to_owned(), Denial::ConsentRefused);
        // A commanded entity commands no other: the flow blocks the client itself.
        let deny = backchannel_request::Command::Deny { account, why, block: false };
        assert_eq!(decided(&done), [("r", &deny)]);
        assert_eq!(commanded::<ApprovalBlock>(&done).len(), usize::from(block));
    }
}

#[test]
fn another_person_decides_nothing() {
    let (seed, mut flow) = (begun(), Flow::default());
    take(&mut flow, &seed, Step::Identify { identifier: "ana@acme.test".to_owned() });
    let material = with(plain(), "bruno");
    let failed = take(&mut flow, &seed, Step::Prove { proved: proved("password", &[]), material });
    assert_eq!(decided(&failed), []);
    assert!(matches!(flow, Flow::Over(over) if over.denial == Some(Denial::OtherPerson)));
}

#[test]
fn what_cannot_be_taken_back_is_signed_by_a_passkey_after_the_yes() {
    let methods = [Method::Password, Method::Passkey];
    let (seed, mut flow, _) = signed_in(irreversible(), &methods);
    let asked = take(&mut flow, &seed, confirm(true, irreversible()));
    assert_eq!((stage(&flow), decided(&asked)), (Some(Stage::Credential), vec![]));
    // What they said yes to stays in sight.
    assert!(matches!(&flow, Flow::Open(open) if open.question.is_some()));
    let again =
        Step::Prove { proved: proved("password", &methods), material: with(irreversible(), "ana") };
    let again = take(&mut flow, &seed, again);
    assert_eq!((stage(&flow), decided(&again)), (Some(Stage::Credential), vec![]));
    let signed =
        Step::Prove { proved: proved("passkey", &methods), material: with(irreversible(), "ana") };
    let done = take(&mut flow, &seed, signed);
    let [("r", backchannel_request::Command::Approve(yes))] = decided(&done)[..] else {
        panic!("a yes")
    };
    assert!(yes.asserted);
}
