//! Choosing an account that is signed in already.

use super::*;
use crate::domain::authorization::Prompt;

fn selecting(request: Option<Request>) -> Seed {
    Seed { selects: true, ..seed(request) }
}

fn select(person: Person, methods: &[Method], facts: Option<AuthorizationFacts>) -> Step {
    let selected =
        Selected { person, session: "chosen".to_owned(), identifier: "ana@acme.test".to_owned() };
    let material = Material { methods: methods.to_vec(), ..*material(facts) };
    Step::Select { selected: Box::new(selected), material: Box::new(material) }
}

fn first_party() -> AuthorizationFacts {
    facts(&["acme"], ConsentRule::FirstParty)
}

#[test]
fn the_account_of_a_session_is_chosen_where_the_flow_asks_for_one_and_nowhere_else() {
    let mut flow = Flow::default();
    let plain = seed(Some(request()));
    let refused = take(&mut flow, &plain, select(person(), &[], Some(first_party())));
    assert_eq!(refused.outcome, Err(Refusal::NotNow));
    let asks = selecting(Some(request()));
    assert_eq!(
        asks.clone().open().offers(&rules(), SignOnOffer::None)[..2],
        ["account", "identifier"]
    );
    let done = take(&mut flow, &asks, select(person(), &[], Some(first_party())));
    assert_eq!(births(&done), ["token_family"], "no session begins");
    let kept = FinishedSession { id: "chosen".to_owned(), change: SessionChange::Kept };
    assert_eq!(session(&flow), Some(kept));
    assert!(done.effects.requirements.contains(&Requirement::live::<Session>("chosen")));
    assert!(done.effects.requirements.contains(&Requirement::live::<Account>("ana")));
}

#[test]
fn what_was_chosen_stays_the_session_of_the_flow_whatever_the_caller_holds_later() {
    let (mut flow, seed) = (Flow::default(), selecting(Some(request())));
    let several = || facts(&["acme", "other"], ConsentRule::FirstParty);
    take(&mut flow, &seed, select(person(), &[], Some(several())));
    assert_eq!(stage(&flow), Some(Stage::Organization));
    let Flow::Open(open) = &flow else { panic!("it goes on") };
    assert!(!open.offers(&rules(), SignOnOffer::None).contains(&"account"), "one account a flow");
    // The caller holds no session of that person any more, and the flow begins none.
    let done = take(&mut flow, &seed, choose("acme", several()));
    assert_eq!(births(&done), ["token_family"]);
    assert!(done.effects.requirements.contains(&Requirement::live::<Session>("chosen")));
}

#[test]
fn what_is_too_old_is_proved_again_by_that_account() {
    let login = Prompt { login: true, select_account: true, ..Prompt::default() };
    let mut asked = request();
    asked.wanted.prompt = login;
    let (mut flow, seed) = (Flow::default(), selecting(Some(asked)));
    take(&mut flow, &seed, select(person(), &[], Some(first_party())));
    let Flow::Open(open) = &flow else { panic!("it goes on") };
    assert_eq!(
        (open.stage, open.identifier.as_deref()),
        (Stage::Credential, Some("ana@acme.test"))
    );
    assert!(open.person.is_none() && open.session.is_none(), "nothing is proved yet");
    // Another may be chosen yet.
    assert!(open.offers(&rules(), SignOnOffer::None).contains(&"account"));
    let done = take(&mut flow, &seed, prove(Some(first_party())));
    assert!(granted(&done).is_some());
}

#[test]
fn what_the_client_would_like_more_is_proved_in_the_session_that_was_chosen() {
    let mut asked = request();
    asked.wanted.acr_values = vec![Acr::Aal2];
    let (mut flow, seed) = (Flow::default(), selecting(Some(asked)));
    take(
        &mut flow,
        &seed,
        select(person(), &[Method::Password, Method::Totp], Some(first_party())),
    );
    assert_eq!(stage(&flow), Some(Stage::SecondFactor));
    let eve = AccountProof { account: "eve".to_owned(), ..proved("totp", &[Method::Totp]) };
    let mixed = Step::Prove { proved: eve, material: material(Some(first_party())) };
    assert_eq!(take(&mut flow, &seed, mixed).outcome, Err(Refusal::NotNow));
    let totp = Step::Prove {
        proved: proved("totp", &[Method::Totp]),
        material: material(Some(first_party())),
    };
    take(&mut flow, &seed, totp);
    let renewed = FinishedSession { id: "chosen".to_owned(), change: SessionChange::Renewed };
    assert_eq!(session(&flow), Some(renewed));
}

#[test]
fn a_session_of_a_former_epoch_is_worth_nothing() {
    let (mut flow, seed) = (Flow::default(), selecting(Some(request())));
    let former = Person { epoch: 1, ..person() };
    let refused = take(&mut flow, &seed, select(former, &[], Some(first_party())));
    assert_eq!(refused.outcome, Err(Refusal::Superseded));
    assert!(births(&refused).is_empty());
}

#[test]
fn without_a_client_the_session_goes_on_and_nothing_is_born() {
    let (mut flow, seed) = (Flow::default(), selecting(None));
    let done = take(&mut flow, &seed, select(person(), &[], None));
    assert!(births(&done).is_empty() && done.effects.records.is_empty());
    assert_eq!(session(&flow).unwrap().change, SessionChange::Kept);
}
