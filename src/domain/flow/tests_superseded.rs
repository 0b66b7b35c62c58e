//! A proof is worth something only while its authenticator is what it was.

use super::*;

const LATER_SET: Timestamp = Timestamp::from_millis(1_800_000_000_001);

/// The account after one authenticator was replaced.
fn replaced(method: Method) -> AccountSeen {
    let other = Some(AuthenticatorId::credential(method, LATER_SET));
    let methods = [Method::Password, Method::Totp, Method::EmailCode, Method::Passkey];
    let kept = methods.into_iter().filter(|one| *one != method);
    let kept = kept.fold(Authenticators::default(), |all, one| {
        all.with(one, account_seen(0, 0).authenticators.of(one))
    });
    AccountSeen { authenticators: kept.with(method, other), ..account_seen(4, 0) }
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step is given")]
fn third_party() -> Option<AuthorizationFacts> {
    Some(facts(&[], ConsentRule::Always))
}

fn material_of(account: AccountSeen) -> Box<Material> {
    Box::new(Material { account, ..*material(third_party()) })
}

fn consent(allow: bool, account: AccountSeen) -> Step {
    Step::Decide { step: "consent", allow, material: material_of(account) }
}

/// A flow that waits at the question of consent, after these proofs.
fn waiting(proofs: &[&'static str], methods: &[Method]) -> (Flow, Seed) {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify()).outcome.unwrap();
    for step in proofs {
        let proved = proved(step, methods);
        let step = Step::Prove { proved, material: material(third_party()) };
        take(&mut flow, &seed, step).outcome.unwrap();
    }
    assert_eq!(stage(&flow), Some(Stage::Consent));
    (flow, seed)
}

fn events(decision: &Decision<Flow>) -> Vec<&'static str> {
    decision.effects.records.iter().map(|record| record.event).collect()
}

#[test]
fn a_flow_fails_when_an_authenticator_that_proved_it_is_another() {
    let both = [Method::Password, Method::Totp];
    for gone in both {
        for allow in [true, false] {
            let (mut flow, seed) = waiting(&["password", "totp"], &both);
            let late = take(&mut flow, &seed, consent(allow, replaced(gone)));
            assert_eq!(events(&late), ["sign_in.superseded"], "{gone:?}");
            assert!(births(&late).is_empty());
            assert_eq!(late.outcome, Err(Refusal::Superseded));
            let over = matches!(&flow, Flow::Over(over) if over.denial == Some(Denial::Superseded));
            assert!(over, "{gone:?}");
            let again = take(&mut flow, &seed, consent(true, account_seen(3, 0)));
            assert_eq!(again.outcome, Err(Refusal::Over), "it does not come back");
        }
    }
}

#[test]
fn another_authenticator_of_the_account_may_change() {
    let (mut flow, seed) = waiting(&["password"], &[]);
    let done = take(&mut flow, &seed, consent(true, replaced(Method::EmailCode)));
    assert!(granted(&done).is_some());
    let judged = Requirement::unchanged::<Account>("ana", 4);
    assert!(done.effects.requirements.contains(&judged), "nothing comes between");
}

#[test]
fn a_second_proof_does_not_mend_a_first_whose_authenticator_is_gone() {
    let methods = [Method::Password, Method::Totp];
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify()).outcome.unwrap();
    let first = Step::Prove { proved: proved("password", &methods), material: material(None) };
    let shown = take(&mut flow, &seed, first);
    assert_eq!(stage(&flow), Some(Stage::SecondFactor));
    assert_eq!(events(&shown), ["credential.proved"], "it is seen, whatever becomes of the flow");
    let totp = proved("totp", &methods);
    let late = Step::Prove { proved: totp, material: material_of(replaced(Method::Password)) };
    assert_eq!(take(&mut flow, &seed, late).outcome, Err(Refusal::Superseded));
    assert!(matches!(flow, Flow::Over(_)));
}

#[test]
fn a_first_proof_is_written_down_once() {
    let (mut flow, seed_) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed_, identify()).outcome.unwrap();
    let parked = take(&mut flow, &seed_, prove(third_party()));
    assert_eq!(events(&parked), ["credential.proved"]);
    let named = Record::new("credential.proved").with("account", "ana");
    assert_eq!(parked.effects.records, [named.with("step", "password").with("flow", "sign_in")]);
    let done = take(&mut flow, &seed_, consent(true, account_seen(3, 0)));
    assert_eq!(events(&done), ["sign_in.succeeded", "authorization.granted"]);
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify()).outcome.unwrap();
    let at_once = take(&mut flow, &seed, prove(None));
    assert_eq!(events(&at_once), ["sign_in.succeeded"], "which says it already");
}

#[test]
fn a_code_that_went_to_a_former_address_is_wrong() {
    let mailbox = AuthenticatorId::mailbox;
    let at = |address: &str| AccountSeen {
        authenticators: Authenticators::default().with(Method::EmailCode, Some(mailbox(address))),
        ..account_seen(3, 0)
    };
    let held = || PendingProof {
        step: "email_code".to_owned(),
        content: PendingProofContent::Code(Fingerprint::of(b"code")),
        expires_at: LATER,
        wrong: 0,
        account: Some("ana".to_owned()),
        sent_to: Some(mailbox("ana@acme.test")),
    };
    let present = |account| Step::Present {
        step: "email_code",
        code: Fingerprint::of(b"code"),
        proved: Some(proved("email_code", &[])),
        material: material_of(account),
    };
    let send = || Step::Hold { step: "email_code/send", held: Box::new(held()), message: None };
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify()).outcome.unwrap();
    take(&mut flow, &seed, send()).outcome.unwrap();
    let moved = take(&mut flow, &seed, present(at("ana@new.test")));
    assert_eq!(moved.outcome, Err(Refusal::Wrong));
    take(&mut flow, &seed, present(at("ana@acme.test"))).outcome.unwrap();
    assert_eq!(stage(&flow), Some(Stage::Consent));
    let late = take(&mut flow, &seed, consent(true, at("ana@new.test")));
    assert_eq!(late.outcome, Err(Refusal::Superseded), "what it has proved goes with the address");
}

#[test]
fn a_proof_by_what_the_account_has_not_is_none() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify()).outcome.unwrap();
    let bare = AccountSeen { authenticators: Authenticators::default(), ..account_seen(3, 0) };
    let step = Step::Prove { proved: proved("password", &[]), material: material_of(bare) };
    assert_eq!(take(&mut flow, &seed, step).outcome, Err(Refusal::NotNow));
}

/// A flow that begins in a session whose evidence this is.
fn in_session(kind: &str, stage: Stage, evidence: Evidence) -> Seed {
    let signed_in = SignedIn {
        sign_on: None,
        person: Person { evidence, ..person() },
        session: "session".to_owned(),
        stage,
        question: None,
        methods: vec![Method::Password, Method::Totp],
        wanted: None,
    };
    Seed { kind: kind.to_owned(), signed_in: Some(signed_in), ..seed(None) }
}

#[test]
fn what_a_session_was_proved_by_holds_a_flow_in_it_as_well() {
    let password = account_seen(0, 0).authenticators.of(Method::Password);
    let evidence = Evidence::of(Worth::PASSWORD.given(NOW).by(password));
    let enrol = |account| Step::Enrol {
        step: "totp",
        spends: None,
        changes: Vec::new(),
        material: material_of(account),
    };
    let seed = in_session("enroll_totp", Stage::Enrol, evidence.clone());
    let offering = |step| {
        let rules = Arc::new(Rules::new([]).serving(["totp/options", "totp"]));
        Command { rules, seed: seed.clone(), step, sign_on: SignOnOffer::None }
    };
    let late = Flow::default().decide(&offering(enrol(replaced(Method::Password))), NOW);
    assert_eq!(late.outcome, Err(Refusal::Superseded));
    let done = Flow::default().decide(&offering(enrol(replaced(Method::EmailCode))), NOW);
    assert!(done.outcome.is_ok());
    // What was gone when the flow began counts for nothing, and keeps no person from a new proof.
    let weighed = evidence.weighed(&replaced(Method::Password).authenticators);
    let seed = in_session("step_up", Stage::Credential, weighed);
    let methods = [Method::Password, Method::Totp];
    let mut flow = Flow::default();
    for (step, over) in [("totp", false), ("password", true)] {
        let proved = AccountProof { version: Some(4), ..proved(step, &methods) };
        let account = replaced(Method::Password);
        let step = Step::Prove { proved, material: material_of(account) };
        take(&mut flow, &seed, step).outcome.unwrap();
        assert_eq!(matches!(flow, Flow::Over(_)), over, "an old password is no factor");
    }
}
