use super::*;
use crate::domain::{
    Fingerprint,
    assurance::{Evidence, Method},
    authority::{Audience, Scopes},
    authorization::{ConsentRule, MembershipChoice, Prompt, Request},
};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const LATER: Timestamp = Timestamp::from_millis(1_800_000_900_000);

fn request() -> Request {
    Request {
        client_id: "app".to_owned(),
        redirect_uri: "https://app.example/cb".to_owned(),
        state: Some("s".to_owned()),
        nonce: Some("n".to_owned()),
        challenge: Fingerprint::of(b"verifier"),
        scopes: Scopes::parse("openid").unwrap(),
        audience: Audience::Issuer,
        organization: None,
        prompt: Prompt::default(),
        max_age: None,
        hint: None,
    }
}

fn seed(request: Option<Request>) -> Seed {
    let (kind, channel) = (Kind::SignIn, Channel::Program);
    Seed { kind, channel, expires_at: LATER, request, signed_in: None }
}

fn person() -> Person {
    Person { account: "ana".to_owned(), evidence: Evidence::of(Method::Password, NOW) }
}

fn place(slug: &str) -> MembershipChoice {
    MembershipChoice {
        membership: format!("{slug}-m"),
        organization: slug.to_owned(),
        name: slug.to_owned(),
        enabled: true,
        roles: vec![],
        permissions: [].into_iter().collect(),
        requirements: vec![Requirement::unchanged::<crate::domain::organization::Organization>(
            slug, 7,
        )],
    }
}

fn facts(slugs: &[&str], consent: ConsentRule) -> Box<AuthorizationFacts> {
    let memberships = slugs.iter().map(|slug| place(slug)).collect();
    let (resource, offered, requirements) = (None, vec![], vec![]);
    let ceiling = None;
    Box::new(AuthorizationFacts { ceiling, resource, offered, memberships, consent, requirements })
}

fn fresh() -> Box<Fresh> {
    Box::new(Fresh {
        session_id: "session".to_owned(),
        session_token: Fingerprint::of(b"session"),
        session_idle: Duration::from_hours(1),
        session_ceiling: Duration::from_hours(2),
        family_id: "family".to_owned(),
        code: Fingerprint::of(b"code"),
        code_lives: Duration::from_mins(1),
        present: None,
    })
}

fn prove(facts: Option<Box<AuthorizationFacts>>) -> Step {
    Step::Prove { person: person(), second_factor: false, facts, fresh: fresh() }
}

fn identify() -> Step {
    Step::Identify { identifier: "ana@acme.test".to_owned() }
}

/// Takes a step and returns all that was decided.
fn take(flow: &mut Flow, seed: &Seed, step: Step) -> Decision<Flow> {
    let decision = flow.decide(&Command { seed: seed.clone(), step }, NOW);
    for event in &decision.events {
        flow.apply(event);
    }
    decision
}

fn stage(flow: &Flow) -> Option<Stage> {
    match flow {
        Flow::Open(open) => Some(open.stage),
        _ => None,
    }
}

fn births(decision: &Decision<Flow>) -> Vec<&'static str> {
    decision.effects.births.iter().map(|birth| birth.kind).collect()
}

#[test]
fn signing_in_bears_a_session_and_nothing_else() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    assert_eq!(stage(&flow), Some(Stage::Credential));
    let done = take(&mut flow, &seed, prove(None));
    assert_eq!(births(&done), ["session"]);
    assert!(done.outcome.unwrap().finished.unwrap().new_session);
    assert_eq!(done.effects.records[0].event, "sign_in.succeeded");
    assert_eq!(take(&mut flow, &seed, prove(None)).outcome, Err(Refusal::Over));
}

#[test]
fn signing_in_for_a_first_party_bears_session_and_family_at_once() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify());
    let done = take(&mut flow, &seed, prove(Some(facts(&["acme"], ConsentRule::FirstParty))));
    assert_eq!(births(&done), ["session", "token_family"]);
    let requirements = &done.effects.requirements;
    assert!(requirements.contains(&place("acme").requirements[0]), "as they were read");
    assert!(requirements.contains(&Requirement::live::<Account>("ana")));
    assert!(done.outcome.unwrap().finished.unwrap().granted.is_some());
}

#[test]
fn organization_and_consent_are_asked_in_that_order() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    let unknown = || facts(&["acme", "other"], ConsentRule::Remembered(None));
    take(&mut flow, &seed, identify());
    take(&mut flow, &seed, prove(Some(unknown())));
    assert_eq!(stage(&flow), Some(Stage::Organization));
    let choose = |slug: &str| Step::Choose {
        organization: slug.to_owned(),
        facts: unknown(),
        fresh: fresh(),
    };
    assert_eq!(take(&mut flow, &seed, choose("evil")).outcome, Err(Refusal::NotAChoice));
    take(&mut flow, &seed, choose("other"));
    assert_eq!(stage(&flow), Some(Stage::Consent));
    let allow = Step::Decide { allow: true, facts: unknown(), fresh: fresh() };
    let done = take(&mut flow, &seed, allow);
    assert_eq!(births(&done), ["session", "token_family"]);
    assert!(done.effects.births[1].state.contains("\"organization\":\"other\""));
}

#[test]
fn a_refused_consent_fails_the_flow_and_bears_nothing() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify());
    let asked = || facts(&[], ConsentRule::Always);
    take(&mut flow, &seed, prove(Some(asked())));
    let deny = Step::Decide { allow: false, facts: asked(), fresh: fresh() };
    let denied = take(&mut flow, &seed, deny);
    assert!(births(&denied).is_empty());
    let Flow::Over(over) = flow else { panic!("it is over") };
    assert_eq!(over.denial, Some(Denial::ConsentRefused));
}

#[test]
fn ten_wrong_credentials_end_a_flow() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify());
    for _ in 0..MOST_ATTEMPTS {
        assert_eq!(stage(&flow), Some(Stage::Credential));
        let wrong = take(&mut flow, &seed, Step::Disprove { account: None });
        assert_eq!(wrong.effects.records[0].event, "sign_in.failed");
    }
    let Flow::Over(over) = &flow else { panic!("it is over") };
    assert_eq!(over.denial, Some(Denial::TooManyAttempts));
    assert_eq!(take(&mut flow, &seed, prove(None)).outcome, Err(Refusal::Over));
}

#[test]
fn every_step_has_its_stage() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    let facts = || facts(&[], ConsentRule::Always);
    let early = [
        prove(Some(facts())),
        Step::Disprove { account: None },
        Step::Choose { organization: "acme".to_owned(), facts: facts(), fresh: fresh() },
        Step::Decide { allow: true, facts: facts(), fresh: fresh() },
    ];
    for step in early {
        assert_eq!(take(&mut flow, &seed, step).outcome, Err(Refusal::NotNow));
    }
    take(&mut flow, &seed, identify());
    take(&mut flow, &seed, prove(Some(facts())));
    for late in [identify(), prove(Some(facts())), Step::Disprove { account: None }] {
        assert_eq!(take(&mut flow, &seed, late).outcome, Err(Refusal::NotNow), "it is consent now");
    }
}

#[test]
fn an_expired_seed_begins_nothing() {
    let flow = Flow::default();
    let command = Command { seed: seed(None), step: identify() };
    assert_eq!(flow.decide(&command, LATER).outcome, Err(Refusal::Expired));
    let mut begun = Flow::default();
    take(&mut begun, &seed(None), identify());
    assert!(begun.forget_at().unwrap() > LATER, "the row outlives its seed");
}

#[test]
fn somebody_who_is_signed_in_goes_on_in_their_session() {
    let signed_in = SignedIn {
        person: person(),
        session: "old".to_owned(),
        stage: Stage::Consent,
        consent_for: None,
    };
    let seed = Seed { signed_in: Some(signed_in), ..seed(Some(request())) };
    let mut flow = Flow::default();
    let facts = facts(&[], ConsentRule::Always);
    let done = take(&mut flow, &seed, Step::Decide { allow: true, facts, fresh: fresh() });
    assert_eq!(births(&done), ["token_family"]);
    assert_eq!(done.effects.requirements[0], Requirement::live::<Session>("old"));
    assert!(!done.outcome.unwrap().finished.unwrap().proved_here);
}

#[test]
fn whoever_signs_in_again_keeps_their_session() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    let fresh = Box::new(Fresh { present: Some("old".to_owned()), ..*fresh() });
    let step = Step::Prove { person: person(), second_factor: false, facts: None, fresh };
    let done = take(&mut flow, &seed, step);
    assert!(births(&done).is_empty());
    let finished = done.outcome.unwrap().finished.unwrap();
    assert_eq!((finished.session.as_str(), finished.proved_here), ("old", true));
}

#[test]
fn an_enrolled_second_factor_is_always_asked_for() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    let confirm = || Step::Confirm { method: Method::Totp, facts: None, fresh: fresh() };
    assert_eq!(take(&mut flow, &seed, confirm()).outcome, Err(Refusal::NotNow), "not first");
    let prove = Step::Prove { person: person(), second_factor: true, facts: None, fresh: fresh() };
    let first = take(&mut flow, &seed, prove);
    assert!(births(&first).is_empty(), "one proof bears nothing");
    assert_eq!(stage(&flow), Some(Stage::SecondFactor));
    let again = take(&mut flow, &seed, identify());
    assert_eq!(again.outcome, Err(Refusal::NotNow), "nobody else may take it from here");
    take(&mut flow, &seed, Step::Disprove { account: Some("ana".to_owned()) });
    let done = take(&mut flow, &seed, confirm());
    assert_eq!(births(&done), ["session"]);
    assert!(done.effects.births[0].state.contains("otp"));
}

#[test]
fn looking_changes_nothing() {
    let mut flow = Flow::default();
    let look = take(&mut flow, &seed(None), Step::Look);
    assert!(look.events.is_empty() && flow == Flow::Unborn);
    assert_eq!(stage(&look.outcome.unwrap().flow), Some(Stage::Identify));
}
