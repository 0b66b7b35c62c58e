//! Kinds that make an account, give one back, or let a person into an organization.

use super::*;
use crate::domain::{
    DeliveryClass, DeliveryKey, Dispatch, Secret, account,
    assurance::Method,
    invitation::{self, Invitation},
    membership::{self, Membership},
    organization::Organization,
};

const PASSWORD: &str = "$argon2id$new";

/// The rules, with every step of a credential served.
fn rules() -> Arc<Rules> {
    let step = |name, worth, roles| ProofStep { name, preparing: &[], worth, roles };
    let proofs = [
        step("password", Worth::PASSWORD, &[Role::First]),
        step("passkey", Worth::PASSKEY, &[Role::Unnamed, Role::Second]),
        step("email_code", Worth::EMAIL_CODE, &[Role::First, Role::Address]),
        step("totp", Worth::TOTP, &[Role::Second]),
        step("recovery_code", Worth::RECOVERY_CODE, &[Role::Second]),
    ];
    let served = ["passkey/create_options", "passkey/create", "new_password", "skip"];
    Arc::new(Rules::new(proofs).serving(served).serving(["recovery_code"]))
}

fn begin(kind: &str, stage: Stage) -> Seed {
    Seed { kind: kind.to_owned(), stage, ..seed(None) }
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

fn offers(flow: &Flow) -> Vec<&'static str> {
    match flow {
        Flow::Open(open) => open.offers(&rules(), SignOnOffer::None),
        _ => Vec::new(),
    }
}

fn held(account: &str) -> Step {
    let held = PendingProof {
        step: "email_code".to_owned(),
        content: PendingProofContent::Code(Fingerprint::of(b"code")),
        expires_at: LATER,
        wrong: 0,
        account: Some(account.to_owned()),
        sent_to: None,
    };
    Step::Hold { step: "email_code", held: Box::new(held), message: None }
}

/// The material of a step, and what people are told.
fn telling(version: i64, epoch: u64) -> Box<Material> {
    let notice = |when, text: &str| {
        let (payload, expires_at) = (Secret::new(text), LATER);
        let (class, key) = (DeliveryClass::Notice, DeliveryKey::installation());
        let message = Dispatch { topic: "mail", class, key, payload, expires_at };
        Notice { when, message: NoticeMessage::Dispatch(message) }
    };
    let notices = vec![notice(Moment::Proved, "started"), notice(Moment::Ended, "recovered")];
    let account = account_seen(version, epoch);
    Box::new(Material { account, notices, ..*material(None) })
}

fn present(account: &str, version: Option<i64>, methods: &[Method]) -> Step {
    let (code, step) = (Fingerprint::of(b"code"), "email_code");
    let account = account.to_owned();
    let proved = Some(AccountProof { account, version, ..proved(step, methods) });
    Step::Present { step, code, proved, material: telling(version.unwrap_or(0), 0) }
}

fn enrol(step: &'static str, changes: Vec<account::Command>) -> Step {
    Step::Enrol { step, spends: None, changes, material: telling(3, 0) }
}

fn set_password() -> account::Command {
    account::Command::SetPassword(account::PasswordHash::new(PASSWORD))
}

fn applicant(email: &str) -> Step {
    Step::Describe {
        sign_outs: SignOuts::default(),
        applicant: Box::new(Applicant {
            account: "drawn".to_owned(),
            email: email.to_owned(),
            given_name: Some("Eva".to_owned()),
            family_name: None,
            locale: None,
        }),
    }
}

#[test]
fn a_sign_up_makes_its_account_with_the_first_credential_or_without_one() {
    for (step, changes) in [("new_password", vec![set_password()]), ("skip", vec![])] {
        let (mut flow, seed) = (Flow::default(), begin("sign_up", Stage::Profile));
        assert!(take(&mut flow, &seed, held("drawn")).outcome.is_err(), "no address was said");
        take(&mut flow, &seed, applicant("eva@acme.test")).outcome.unwrap();
        assert_eq!(offers(&flow), ["email_code", "profile"]);
        assert!(
            take(&mut flow, &seed, enrol(step, changes.clone())).outcome.is_err(),
            "not proved"
        );
        take(&mut flow, &seed, held("drawn")).outcome.unwrap();
        // Another address: what was sent to the former is void.
        take(&mut flow, &seed, applicant("ida@acme.test")).outcome.unwrap();
        let former = take(&mut flow, &seed, present("drawn", None, &[]));
        assert_eq!(former.outcome.unwrap_err(), Refusal::Wrong);
        take(&mut flow, &seed, held("drawn")).outcome.unwrap();
        let proved = take(&mut flow, &seed, present("drawn", None, &[]));
        assert!(births(&proved).is_empty() && proved.commands.is_empty());
        proved.outcome.unwrap();
        let credential = ["passkey/create_options", "passkey/create", "new_password", "skip"];
        assert_eq!(offers(&flow), credential);
        assert!(take(&mut flow, &seed, applicant("eva@acme.test")).outcome.is_err());

        let expected = changes.len();
        let done = take(&mut flow, &seed, enrol(step, changes));
        assert_eq!(births(&done), [Session::KIND]);
        let made = commanded::<Account>(&done);
        assert_eq!(made.len(), 1 + expected);
        assert!(made.iter().all(|(id, _)| *id == "drawn"));
        let account::Command::Create(draft) = made[0].1 else { panic!("{made:?}") };
        assert_eq!((draft.email.as_str(), draft.email_verified), ("ida@acme.test", Some(true)));
        let again = take(&mut flow, &seed, enrol("skip", vec![]));
        assert_eq!(again.outcome.unwrap_err(), Refusal::Over);
    }
}

/// Goes as far as the proof by mail of an account that has these methods.
fn recovering(methods: &[Method]) -> (Flow, Seed) {
    let (mut flow, seed) = (Flow::default(), begin(RECOVERY, Stage::Identify));
    assert_eq!(offers(&seed_flow(&seed)), ["identifier"], "no passkey: it is lost");
    take(&mut flow, &seed, identify()).outcome.unwrap();
    assert_eq!(offers(&flow), ["email_code", "identifier"]);
    take(&mut flow, &seed, held("ana")).outcome.unwrap();
    let proved = take(&mut flow, &seed, present("ana", Some(3), methods));
    assert_eq!(proved.effects.dispatches.len(), 1, "the address is told at once");
    assert!(proved.effects.records.contains(&started()));
    proved.outcome.unwrap();
    (flow, seed)
}

fn started() -> Record {
    Record::new("recovery.started").with("account", "ana")
}

fn seed_flow(seed: &Seed) -> Flow {
    Flow::default().or_begun(seed)
}

fn recover(done: &Decision<Flow>) -> &account::Command {
    commanded::<Account>(done)[0].1
}

#[test]
fn mail_alone_recovers_an_account_without_a_second_factor() {
    let (mut flow, seed) = recovering(&[Method::Password]);
    assert_eq!(offers(&flow), ["passkey/create_options", "passkey/create", "new_password"]);
    let done = take(&mut flow, &seed, enrol("new_password", vec![set_password()]));
    let by = account::RecoveredBy::Mail;
    let expected = account::Command::Recover { by, password_only: true };
    assert_eq!(*recover(&done), expected);
    assert!(births(&done).is_empty(), "no session begins");
    assert_eq!(done.effects.dispatches.len(), 1, "the address is told");
    done.outcome.unwrap();
    assert!(session(&flow).is_none());
}

#[test]
fn a_second_factor_is_replaced_by_mail_and_a_saved_code_together() {
    for strong in [Method::Totp, Method::Passkey] {
        let (mut flow, seed) = recovering(&[strong]);
        assert_eq!(offers(&flow), ["new_password"], "there is no saved code");
        let refused = take(&mut flow, &seed, enrol("passkey/create", vec![]));
        assert_eq!(refused.outcome.unwrap_err(), Refusal::NotNow);

        let methods = [strong, Method::RecoveryCode];
        let (mut flow, seed) = recovering(&methods);
        assert_eq!(offers(&flow), ["recovery_code", "new_password"]);
        let (proved, material) = (proved("recovery_code", &[strong]), telling(3, 0));
        let second = take(&mut flow, &seed, Step::Prove { proved, material });
        assert!(second.effects.dispatches.is_empty(), "it was told before");
        second.outcome.unwrap();
        assert_eq!(offers(&flow), ["passkey/create_options", "passkey/create", "new_password"]);
        let done =
            take(&mut flow, &seed, enrol("passkey/create", vec![account::Command::RemoveTotp]));
        let by = account::RecoveredBy::MailAndCode;
        let expected = account::Command::Recover { by, password_only: false };
        assert_eq!(*recover(&done), expected);
    }
}

#[test]
fn a_recovery_can_be_stopped_and_other_kinds_cannot() {
    let (mut flow, seed) = recovering(&[]);
    let stopped = take(&mut flow, &seed, Step::Stop);
    assert_eq!(stopped.effects.records.len(), 1);
    assert!(matches!(&flow, Flow::Over(over) if over.denial == Some(Denial::Stopped)));
    let late = take(&mut flow, &seed, enrol("new_password", vec![set_password()]));
    assert_eq!(late.outcome.unwrap_err(), Refusal::Over);
    let mut other = Flow::default();
    let refused = take(&mut other, &begin("sign_in", Stage::Identify), Step::Stop);
    assert_eq!(refused.outcome.unwrap_err(), Refusal::NotNow);
}

#[test]
fn what_was_proved_before_a_recovery_signs_in_no_more() {
    let mut waiting = Flow::default();
    let request = Some(request());
    let seed = Seed { request, ..begin("sign_in", Stage::Identify) };
    let facts = || Some(facts(&[], ConsentRule::Always));
    take(&mut waiting, &seed, identify()).outcome.unwrap();
    take(&mut waiting, &seed, super::prove(facts())).outcome.unwrap();
    assert_eq!(stage(&waiting), Some(Stage::Consent));
    let consent = |epoch| {
        let account = account_seen(4, epoch);
        let material = Box::new(Material { account, ..*material(facts()) });
        Step::Decide { step: "consent", allow: true, material }
    };
    let late = take(&mut waiting.clone(), &seed, consent(1));
    assert_eq!(late.outcome.unwrap_err(), Refusal::Superseded);
    let done = take(&mut waiting, &seed, consent(0));
    assert!(done.outcome.is_ok());
    let unchanged = Requirement::unchanged::<Account>("ana", 4);
    assert!(done.effects.requirements.contains(&unchanged), "no recovery comes between");
}

#[test]
fn an_invitation_is_accepted_by_the_account_that_was_invited() {
    let invited = |account: Option<&str>| Invited {
        invitation: "invitation".to_owned(),
        email: "eva@acme.test".to_owned(),
        account: account.map(str::to_owned),
        organization: None,
    };
    let accepted = |decision: &Decision<Flow>, account: &str, email: &str| {
        let (account, email) = (account.to_owned(), email.to_owned());
        let accept = invitation::Command::Accept { account, email };
        assert_eq!(commanded::<Invitation>(decision), [("invitation", &accept)]);
        let members = commanded::<Membership>(decision);
        let [("m", membership::Command::Provision { draft, .. })] = members[..] else {
            panic!("{members:?}")
        };
        assert_eq!(draft.roles.as_deref(), Some(&["clerk".to_owned()][..]));
        let read = Requirement::unchanged::<Invitation>("invitation", 5);
        assert!(decision.effects.requirements.contains(&read));
    };
    let begin =
        |account, stage| Seed { invited: Some(invited(account)), ..begin(INVITATION, stage) };
    let prove = || {
        let material = joining(Some("eva@acme.test"));
        Step::Prove { proved: proved("password", &[]), material }
    };
    let (mut flow, seed) = (Flow::default(), begin(Some("ana"), Stage::Credential));
    assert!(!offers(&seed_flow(&seed)).contains(&"identifier"), "who was invited is known");
    let done = take(&mut flow, &seed, prove());
    accepted(&done, "ana", "eva@acme.test");

    let (mut flow, seed) = (Flow::default(), begin(Some("eva"), Stage::Credential));
    let other = take(&mut flow, &seed, prove());
    assert_eq!((births(&other).len(), other.commands.len()), (0, 0));
    assert!(matches!(&flow, Flow::Over(over) if over.denial == Some(Denial::OtherPerson)));

    let (mut flow, seed) = (Flow::default(), begin(None, Stage::Profile));
    take(&mut flow, &seed, applicant("eva@acme.test")).outcome.unwrap();
    assert_eq!(offers(&flow), ["passkey/create_options", "passkey/create", "new_password", "skip"]);
    let done = take(&mut flow, &seed, enrol_fresh());
    assert_eq!(births(&done), [Session::KIND]);
    assert!(matches!(commanded::<Account>(&done)[0].1, account::Command::Create(_)));
    accepted(&done, "drawn", "eva@acme.test");

    // One that gives nothing any more is refused, and nothing is written.
    let over = Some(Err(Refusal::InvitationOver));
    let material = Box::new(Material { joining: over, ..*joining(Some("eva@acme.test")) });
    let (mut flow, seed) = (Flow::default(), begin(Some("ana"), Stage::Credential));
    let refused = take(&mut flow, &seed, Step::Prove { proved: proved("password", &[]), material });
    assert_eq!(refused.outcome, Err(Refusal::InvitationOver));
    assert!(refused.events.is_empty());
}

/// What the end of an invitation is given, for an account with this address.
fn joining(email: Option<&str>) -> Box<Material> {
    let acme = r#"{"Known":{"slug":"acme","name":"Acme","enabled":true,"roles":[]}}"#;
    let acme: Organization = serde_json::from_str(acme).unwrap();
    let joining = Joining {
        email: email.map(str::to_owned),
        organization: acme.known().unwrap().clone(),
        membership: "m".to_owned(),
        roles: vec!["clerk".to_owned()],
        requirements: vec![Requirement::unchanged::<Invitation>("invitation", 5)],
    };
    let (account, joining) = (AccountSeen::default(), Some(Ok(Box::new(joining))));
    Box::new(Material { account, joining, ..*material(None) })
}

fn enrol_fresh() -> Step {
    let material = joining(None);
    Step::Enrol { step: "skip", spends: None, changes: Vec::new(), material }
}
