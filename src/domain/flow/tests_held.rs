//! What waits in a flow: codes that were sent, ceremonies that were begun.

use super::*;
use crate::domain::{DeliveryClass, DeliveryKey, Dispatch, Fingerprint, Secret};

fn held(step: &str, content: PendingProofContent, account: Option<&str>) -> PendingProof {
    let (step, account) = (step.to_owned(), account.map(str::to_owned));
    PendingProof { step, content, expires_at: LATER, wrong: 0, account, sent_to: None }
}

fn send(code: &[u8], account: Option<&str>) -> Step {
    let held = held("email_code", PendingProofContent::Code(Fingerprint::of(code)), account);
    let message = Dispatch {
        topic: "mail",
        class: DeliveryClass::Code,
        key: DeliveryKey::installation(),
        payload: Secret::new("code"),
        expires_at: held.expires_at,
    };
    Step::Hold { step: "email_code/send", held: Box::new(held), message: Some(message) }
}

fn present(code: &[u8], account: Option<&str>) -> Step {
    let proved = account
        .map(|account| AccountProof { account: account.to_owned(), ..proved("email_code", &[]) });
    let code = Fingerprint::of(code);
    Step::Present { step: "email_code", code, proved, material: material(None) }
}

fn begun() -> (Flow, Seed) {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify()).outcome.unwrap();
    (flow, seed)
}

#[test]
fn a_code_that_was_sent_is_good_once() {
    let (mut flow, seed) = begun();
    let sent = take(&mut flow, &seed, send(b"123456", Some("ana")));
    assert_eq!(sent.effects.dispatches.len(), 1);
    let wrong = take(&mut flow, &seed, present(b"000000", Some("ana")));
    assert_eq!(wrong.outcome.unwrap_err(), Refusal::Wrong);
    assert_eq!(wrong.effects.records.len(), 1, "a wrong code is written down");
    let other = take(&mut flow, &seed, present(b"123456", Some("eve")));
    assert_eq!(other.outcome.unwrap_err(), Refusal::Wrong, "it was sent to another account");
    let right = take(&mut flow, &seed, present(b"123456", Some("ana")));
    assert!(right.outcome.is_ok());
    assert!(matches!(&flow, Flow::Over(over) if over.denial.is_none()));
    let again = take(&mut flow, &seed, present(b"123456", Some("ana")));
    assert_eq!(again.outcome.unwrap_err(), Refusal::Over);
}

#[test]
fn a_new_code_ends_the_former_and_an_old_one_is_late() {
    let (mut flow, seed) = begun();
    take(&mut flow, &seed, send(b"111111", Some("ana"))).outcome.unwrap();
    take(&mut flow, &seed, send(b"222222", Some("ana"))).outcome.unwrap();
    let former = take(&mut flow, &seed, present(b"111111", Some("ana")));
    assert_eq!(former.outcome.unwrap_err(), Refusal::Wrong);
    take(&mut flow, &seed, identify()).outcome.unwrap();
    let renamed = take(&mut flow, &seed, present(b"222222", Some("ana")));
    assert_eq!(renamed.outcome.unwrap_err(), Refusal::Wrong, "it was sent for another name");
}

#[test]
fn no_account_is_proved_by_a_code_that_was_sent_to_none() {
    let (mut flow, seed) = begun();
    take(&mut flow, &seed, send(b"123456", None)).outcome.unwrap();
    let guessed = take(&mut flow, &seed, present(b"123456", None));
    assert_eq!(guessed.outcome.unwrap_err(), Refusal::Wrong);
}

#[test]
fn a_flow_sends_ten_messages_at_most() {
    let (mut flow, seed) = begun();
    for number in 0..MOST_MESSAGES {
        assert!(take(&mut flow, &seed, send(b"123456", None)).outcome.is_ok(), "{number}");
    }
    let more = take(&mut flow, &seed, send(b"123456", None));
    assert_eq!(more.outcome.unwrap_err(), Refusal::TooManyMessages);
    assert!(more.effects.dispatches.is_empty());
}

#[test]
fn ten_wrong_codes_end_the_flow_whatever_comes_after() {
    let (mut flow, seed) = begun();
    take(&mut flow, &seed, send(b"123456", Some("ana"))).outcome.unwrap();
    for _ in 0..MOST_ATTEMPTS {
        let wrong = take(&mut flow, &seed, present(b"000000", Some("ana")));
        assert_eq!(wrong.outcome.unwrap_err(), Refusal::Wrong);
    }
    let right = take(&mut flow, &seed, present(b"123456", Some("ana")));
    assert_eq!(right.outcome.unwrap_err(), Refusal::Over);
}

#[test]
fn a_ceremony_is_spent_by_the_answer_to_it_right_or_wrong() {
    let ceremony = || held("passkey", PendingProofContent::Ceremony("state".into()), None);
    let begin =
        || Step::Hold { step: "passkey/options", held: Box::new(ceremony()), message: None };
    let answer = |spends| {
        let proved = AccountProof { spends, ..proved("passkey", &[Method::Passkey]) };
        Step::Prove { proved, material: material(None) }
    };
    let mark = Some(ceremony().mark());
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, begin()).outcome.unwrap();
    for other in [None, Some(Fingerprint::of(b"other"))] {
        assert_eq!(take(&mut flow, &seed, answer(other)).outcome.unwrap_err(), Refusal::NotNow);
    }
    let wrong = Step::Disprove { step: "passkey", account: None };
    take(&mut flow, &seed, wrong).outcome.unwrap();
    let replayed = take(&mut flow, &seed, answer(mark));
    assert_eq!(replayed.outcome.unwrap_err(), Refusal::NotNow);
    take(&mut flow, &seed, begin()).outcome.unwrap();
    let right = take(&mut flow, &seed, answer(mark));
    assert!(right.outcome.is_ok());
    assert!(matches!(&flow, Flow::Over(_)), "two factors in one: no second one is asked for");
}

#[test]
fn mail_and_an_authenticator_application_are_asked_for_once_each() {
    let (mut flow, seed) = begun();
    take(&mut flow, &seed, send(b"123456", Some("ana"))).outcome.unwrap();
    let Step::Present { step, code, proved: Some(of_mail), material: with } =
        present(b"123456", Some("ana"))
    else {
        unreachable!("it is made above")
    };
    let of_mail = AccountProof { methods: vec![Method::Totp], ..of_mail };
    let right = Step::Present { step, code, proved: Some(of_mail), material: with };
    take(&mut flow, &seed, right).outcome.unwrap();
    assert_eq!(stage(&flow), Some(Stage::SecondFactor));
    let totp = Step::Prove { proved: proved("totp", &[Method::Totp]), material: material(None) };
    take(&mut flow, &seed, totp).outcome.unwrap();
    let Flow::Over(over) = &flow else { panic!("it is asked for again") };
    let level = over.person.as_ref().and_then(|person| person.evidence.level(NOW));
    assert_eq!(level, Some(Level::Aal1), "mail is no factor");
}
