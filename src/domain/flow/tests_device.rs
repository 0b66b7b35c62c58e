//! A person lets a device act for them.

use super::*;
use crate::domain::device_grant::{self, DeviceGrant, DeviceRequest};

fn asked(acr_values: Vec<Acr>) -> Box<EnteredDevice> {
    let wanted = RequestedGrant { acr_values, ..request().wanted };
    let request = DeviceRequest { wanted, from: Device::default(), expires_at: LATER };
    Box::new(EnteredDevice { grant: "g".to_owned(), request, code: None })
}

fn enter(device: Option<Box<EnteredDevice>>, facts: AuthorizationFacts) -> Step {
    Step::Enter { device, material: material(Some(facts)) }
}

fn begun() -> Seed {
    Seed { kind: DEVICE.to_owned(), user_code: Some("sealed".to_owned()), ..seed(None) }
}

fn confirm(allow: bool, facts: AuthorizationFacts) -> Step {
    Step::Decide { step: "confirm", allow, material: material(Some(facts)) }
}

/// What the operator's own client would be asked: nothing.
fn first_party(slugs: &[&str]) -> AuthorizationFacts {
    facts(slugs, ConsentRule::FirstParty)
}

fn offers(flow: &Flow) -> Vec<&'static str> {
    match flow {
        Flow::Open(open) => open.offers(&rules(), SignOnOffer::None),
        _ => Vec::new(),
    }
}

fn decided(decision: &Decision<Flow>) -> Vec<(&str, &device_grant::Command)> {
    commanded::<DeviceGrant>(decision)
}

fn signed_in() -> (Seed, Flow) {
    let (seed, mut flow) = (begun(), Flow::default());
    take(&mut flow, &seed, Step::Identify { identifier: "ana@acme.test".to_owned() });
    let proved = take(&mut flow, &seed, prove(None));
    assert_eq!(decided(&proved), []);
    proved.outcome.unwrap();
    (seed, flow)
}

#[test]
fn nothing_is_asked_of_a_device_before_the_person_has_signed_in() {
    let (seed, mut flow) = (begun(), Flow::default());
    let early = take(&mut flow, &seed, enter(Some(asked(vec![])), first_party(&[])));
    assert_eq!(early.outcome, Err(Refusal::NotNow));
    take(&mut flow, &seed, Step::Identify { identifier: "ana@acme.test".to_owned() });
    let early = take(&mut flow, &seed, enter(Some(asked(vec![])), first_party(&[])));
    assert_eq!(early.outcome, Err(Refusal::NotNow));
    let (seed, mut flow) = signed_in();
    assert_eq!(offers(&flow), ["user_code"]);
    let early = take(&mut flow, &seed, confirm(true, first_party(&[])));
    assert_eq!(early.outcome, Err(Refusal::NotNow), "there is nothing to say yes to");
}

#[test]
fn a_person_always_confirms_what_they_are_shown_and_the_device_is_approved_with_it() {
    let (seed, mut flow) = signed_in();
    let shown = take(&mut flow, &seed, enter(Some(asked(vec![])), first_party(&["acme"])));
    assert_eq!(stage(&shown.outcome.unwrap().flow), Some(Stage::Confirm), "trusted or not");
    assert_eq!(offers(&flow), ["confirm"]);
    // What has changed since is shown again.
    let changed = take(&mut flow, &seed, confirm(true, first_party(&["other"])));
    assert_eq!(stage(&changed.outcome.unwrap().flow), Some(Stage::Confirm));
    let done = take(&mut flow, &seed, confirm(true, first_party(&["other"])));
    assert_eq!(births(&done), ["session"], "the device's grant bears the family");
    let live = Requirement::live::<Account>("ana");
    assert!(done.effects.requirements.contains(&live));
    let [("g", device_grant::Command::Approve { id, grant })] = decided(&done)[..] else {
        panic!("a yes")
    };
    assert_eq!(id, "g");
    assert_eq!(grant.session.as_deref(), Some("session"));
    assert_eq!(grant.organization(), Some("other"));
}

#[test]
fn a_no_and_what_the_person_may_not_grant_are_denials() {
    let (seed, mut flow) = signed_in();
    take(&mut flow, &seed, enter(Some(asked(vec![])), first_party(&[])));
    let denied = take(&mut flow, &seed, confirm(false, first_party(&[])));
    assert!(births(&denied).is_empty());
    let deny = |why| device_grant::Command::Deny { account: "ana".to_owned(), why };
    assert_eq!(decided(&denied), [("g", &deny(Denial::ConsentRefused))]);
    let (seed, mut flow) = signed_in();
    let mut suspended = first_party(&["acme"]);
    suspended.memberships[0].enabled = false;
    let failed = take(&mut flow, &seed, enter(Some(asked(vec![])), suspended));
    assert_eq!(decided(&failed), [("g", &deny(Denial::NotAMember))]);
}

#[test]
fn a_wrong_code_can_be_entered_again_ten_times_and_denies_no_device() {
    let (seed, mut flow) = signed_in();
    for _ in 1..MOST_ATTEMPTS {
        let wrong = take(&mut flow, &seed, enter(None, first_party(&[])));
        assert_eq!(wrong.outcome, Err(Refusal::WrongUserCode));
        assert_eq!(wrong.effects.records[0].event, "device.user_code_wrong");
        assert_eq!(offers(&flow), ["user_code"]);
    }
    take(&mut flow, &seed, enter(None, first_party(&[])));
    assert!(matches!(&flow, Flow::Over(over) if over.denial == Some(Denial::TooManyAttempts)));
}

#[test]
fn a_person_with_several_organizations_chooses_first() {
    let (seed, mut flow) = signed_in();
    let both = || first_party(&["acme", "other"]);
    let asked = take(&mut flow, &seed, enter(Some(asked(vec![])), both()));
    assert_eq!(stage(&asked.outcome.unwrap().flow), Some(Stage::Organization));
    let chosen = take(&mut flow, &seed, choose("acme", both()));
    assert_eq!(stage(&chosen.outcome.unwrap().flow), Some(Stage::Confirm));
    let done = take(&mut flow, &seed, confirm(true, both()));
    assert_eq!(decided(&done).len(), 1);
}

#[test]
fn in_a_session_a_wish_for_two_factors_is_asked_for_where_it_can_be_met() {
    let signed_in = SignedIn {
        sign_on: None,
        person: person(),
        session: "old".to_owned(),
        stage: Stage::Confirm,
        question: None,
        methods: vec![Method::Password, Method::Totp],
        wanted: None,
    };
    let seed = Seed { signed_in: Some(signed_in), ..begun() };
    let mut flow = Flow::default();
    let more = take(&mut flow, &seed, enter(Some(asked(vec![Acr::Aal2])), first_party(&[])));
    assert_eq!(stage(&more.outcome.unwrap().flow), Some(Stage::SecondFactor));
    let proof = AccountProof { step: "totp", ..proved("totp", &[Method::Password, Method::Totp]) };
    let step = Step::Prove { proved: proof, material: material(Some(first_party(&[]))) };
    let proved = take(&mut flow, &seed, step);
    assert_eq!(stage(&proved.outcome.unwrap().flow), Some(Stage::Confirm));
    assert_eq!(offers(&flow), ["confirm"]);
    // A wish that cannot be met is let go.
    let mut flow = Flow::default();
    let shown = take(&mut flow, &seed, enter(Some(asked(vec![Acr::Phr])), first_party(&[])));
    assert_eq!(stage(&shown.outcome.unwrap().flow), Some(Stage::Confirm));
    let done = take(&mut flow, &seed, confirm(true, first_party(&[])));
    let old = Requirement::live::<Session>("old");
    assert!(births(&done).is_empty() && done.effects.requirements.contains(&old));
}
