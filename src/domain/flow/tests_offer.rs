//! A passkey that is offered on the way of a sign-in.

use super::*;
use crate::domain::account::{self, RecoveryCodes};

fn rules() -> Arc<Rules> {
    let step = |name, worth, roles| ProofStep { name, preparing: &[], worth, roles };
    let password = step("password", Worth::PASSWORD, &[Role::First]);
    let totp = step("totp", Worth::TOTP, &[Role::Second]);
    let served = ["passkey/create_options", "passkey/create", "skip"];
    Arc::new(Rules::new([password, totp]).serving(served))
}

fn take(flow: &mut Flow, seed: &Seed, step: Step) -> Decision<Flow> {
    let decision = flow.decide(
        &Command { rules: rules(), seed: seed.clone(), step, sign_on: SignOnOffer::None },
        NOW,
    );
    for event in &decision.events {
        flow.apply(event);
    }
    decision
}

/// The material of a step whose caller can show the offer.
fn offering(facts: Option<AuthorizationFacts>) -> Box<Material> {
    let fresh = Fresh { offers_passkey: true, ..fresh() };
    Box::new(Material { fresh, ..*material(facts) })
}

fn prove(step: &'static str, methods: &[Method], facts: Option<AuthorizationFacts>) -> Step {
    Step::Prove { proved: proved(step, methods), material: offering(facts) }
}

fn enrol(
    step: &'static str,
    changes: Vec<account::Command>,
    facts: Option<AuthorizationFacts>,
) -> Step {
    Step::Enrol { step, spends: None, changes, material: material(facts) }
}

fn codes() -> account::Command {
    account::Command::IssueRecoveryCodes(RecoveryCodes { salt: "s".to_owned(), hashes: vec![] })
}

fn offers(flow: &Flow) -> Vec<&'static str> {
    match flow {
        Flow::Open(open) => open.offers(&rules(), SignOnOffer::None),
        _ => Vec::new(),
    }
}

#[test]
fn it_is_offered_where_the_caller_can_show_it_and_the_person_has_none() {
    let seed = seed(None);
    for (methods, offered) in [
        (&[Method::Password][..], true),
        (&[Method::Password, Method::Passkey], false),
        (&[Method::Password, Method::RecoveryCode], true),
    ] {
        let mut flow = Flow::default();
        take(&mut flow, &seed, identify());
        let decided = take(&mut flow, &seed, prove("password", methods, None));
        assert_eq!(stage(&flow) == Some(Stage::Enrol), offered, "{methods:?}");
        assert_eq!(births(&decided).is_empty(), offered, "the flow is not over: {methods:?}");
    }
    let mut flow = Flow::default();
    take(&mut flow, &seed, identify());
    let silent = Step::Prove { proved: proved("password", &[]), material: material(None) };
    assert_eq!(births(&take(&mut flow, &seed, silent)), ["session"], "programs are not asked");
}

#[test]
fn a_person_makes_one_or_does_not_and_is_signed_in() {
    let seed = seed(None);
    for step in ["passkey/create", "skip"] {
        let mut flow = Flow::default();
        take(&mut flow, &seed, identify());
        take(&mut flow, &seed, prove("password", &[Method::Password], None));
        assert_eq!(offers(&flow), ["passkey/create_options", "passkey/create", "skip"]);
        let done = take(&mut flow, &seed, enrol(step, vec![codes()], None));
        assert_eq!(births(&done), ["session"], "{step}");
        assert_eq!(done.commands.len(), 1, "{step}");
    }
}

#[test]
fn a_second_factor_comes_first_and_a_browser_that_is_remembered_is_no_factor() {
    let seed = seed(None);
    let both = [Method::Password, Method::Totp];
    let mut flow = Flow::default();
    take(&mut flow, &seed, identify());
    take(&mut flow, &seed, prove("password", &both, None));
    assert_eq!(stage(&flow), Some(Stage::SecondFactor));
    take(&mut flow, &seed, prove("totp", &both, None));
    assert_eq!(stage(&flow), Some(Stage::Enrol));

    let mut flow = Flow::default();
    take(&mut flow, &seed, identify());
    let fresh = Fresh { offers_passkey: true, remembered: true, ..fresh() };
    let material = Box::new(Material { fresh, ..*material(None) });
    let remembered = Step::Prove { proved: proved("password", &both), material };
    let done = take(&mut flow, &seed, remembered);
    assert_eq!(births(&done), ["session"], "one factor changes no credential");
}

#[test]
fn a_person_who_is_refused_is_offered_nothing() {
    let mut asked = request();
    asked.wanted.organization = Some("elsewhere".to_owned());
    let seed = seed(Some(asked));
    let mut flow = Flow::default();
    take(&mut flow, &seed, identify());
    let facts = facts(&["acme"], ConsentRule::FirstParty);
    take(&mut flow, &seed, prove("password", &[Method::Password], Some(facts)));
    assert!(matches!(&flow, Flow::Over(over) if over.denial.is_some()), "{flow:?}");
}

#[test]
fn a_client_waits_until_the_recovery_codes_are_kept() {
    let seed = seed(Some(request()));
    let facts = || Some(facts(&[], ConsentRule::FirstParty));
    let mut flow = Flow::default();
    take(&mut flow, &seed, identify());
    take(&mut flow, &seed, prove("password", &[Method::Password], facts()));
    let made = take(&mut flow, &seed, enrol("passkey/create", vec![codes()], facts()));
    assert_eq!((births(&made), offers(&flow)), (vec![], vec!["skip"]), "no code is drawn yet");
    assert_eq!(made.commands.len(), 1);
    let again = take(&mut flow, &seed, enrol("passkey/create", vec![codes()], facts()));
    assert_eq!(again.outcome, Err(Refusal::NotNow));
    let done = take(&mut flow, &seed, enrol("skip", vec![], facts()));
    assert_eq!(births(&done), ["session", "token_family"]);
    assert!(done.commands.is_empty(), "the account changed once");
}
