//! An identity of another provider is linked, by a person who is signed in or who makes an account.

use super::*;
use crate::domain::{
    account::SealedSecret,
    connection::Connection,
    external_identity::{self, ExternalIdentity},
    membership::Membership,
    organization::Organization,
};

const SSO: [&str; 2] = ["sso/options", "sso"];

/// The rules, with single sign-on and the steps of a sign-up served.
fn rules() -> Arc<Rules> {
    let step = |name, worth, roles| ProofStep { name, preparing: &[], worth, roles };
    let proofs = [
        step("password", Worth::PASSWORD, &[Role::First]),
        step("email_code", Worth::EMAIL_CODE, &[Role::First, Role::Address]),
        step("totp", Worth::TOTP, &[Role::Second]),
        step("sso", Worth::SINGLE_SIGN_ON, &[]),
    ];
    Arc::new(Rules::new(proofs).serving(SSO).serving(["new_password", "skip"]))
}

fn take_at(flow: &mut Flow, seed: &Seed, step: Step, now: Timestamp) -> Decision<Flow> {
    let sign_on = SignOnOffer::Beside;
    let decision = flow.decide(&Command { rules: rules(), seed: seed.clone(), step, sign_on }, now);
    decision.events.iter().for_each(|event| flow.apply(event));
    decision
}

fn take(flow: &mut Flow, seed: &Seed, step: Step) -> Decision<Flow> {
    take_at(flow, seed, step, NOW)
}

fn offers(flow: &Flow, seed: &Seed) -> Vec<&'static str> {
    match flow.or_begun(seed) {
        Flow::Open(open) => open.offers(&rules(), SignOnOffer::Beside),
        _ => Vec::new(),
    }
}

fn pending() -> PendingProof {
    let sign_on = PendingSignOn {
        state: Fingerprint::of(b"state"),
        attempt: SealedSecret::new(*b"sealed"),
        connection: "c".to_owned(),
        epoch: 0,
    };
    PendingProof {
        step: "sso".to_owned(),
        content: PendingProofContent::SignOn(sign_on),
        expires_at: LATER,
        wrong: 0,
        account: None,
        sent_to: None,
    }
}

fn hold() -> Step {
    Step::Hold { step: "sso/options", held: Box::new(pending()), message: None }
}

fn identity(member: Option<LinkedMember>) -> Box<PendingLink> {
    Box::new(PendingLink {
        identity: "i".to_owned(),
        connection: "c".to_owned(),
        version: 5,
        subject: "00u1".to_owned(),
        email: None,
        member,
    })
}

fn at_acme() -> LinkedMember {
    LinkedMember { organization: "acme".to_owned(), membership: "m".to_owned() }
}

fn link(member: Option<LinkedMember>) -> Step {
    let (spends, link) = (pending().mark(), identity(member));
    Step::Link { step: "sso", spends, link, material: material(None) }
}

fn confirm(allow: bool) -> Step {
    Step::Decide { step: "confirm", allow, material: material(None) }
}

fn linked(decision: &Decision<Flow>) -> Vec<(&str, &str)> {
    let links = commanded::<ExternalIdentity>(decision).into_iter();
    links
        .filter_map(|(id, command)| match command {
            external_identity::Command::Link { linked, .. } => Some((id, &*linked.account)),
            external_identity::Command::Unlink { .. } => None,
        })
        .collect()
}

fn begun(stage: Stage) -> Seed {
    let mut seed = in_session("link", stage, None);
    seed.connection = Some("c".to_owned());
    seed.signed_in.as_mut().unwrap().methods = vec![Method::Password];
    seed
}

#[test]
fn an_identity_is_linked_when_the_person_has_confirmed_and_not_before() {
    for (member, facts) in [(None, 1), (Some(at_acme()), 3)] {
        let (seed, mut flow) = (begun(Stage::Enrol), Flow::Unborn);
        assert_eq!(offers(&flow, &seed), SSO);
        take(&mut flow, &seed, hold());
        let answered = take(&mut flow, &seed, link(member.clone()));
        assert!(linked(&answered).is_empty());
        assert_eq!((stage(&flow), offers(&flow, &seed)), (Some(Stage::Confirm), vec!["confirm"]));
        let again = take(&mut flow, &seed, link(member));
        assert_eq!(again.outcome.unwrap_err(), Refusal::NotNow, "an answer is taken once");
        let done = take(&mut flow, &seed, confirm(true));
        assert_eq!(linked(&done), [("i", "ana")]);
        let required = &done.effects.requirements;
        let of = |kind| required.iter().filter(|one| one.kind() == kind).count();
        let of_link = [Connection::KIND, Organization::KIND, Membership::KIND].map(of);
        assert_eq!(of_link.iter().sum::<usize>(), facts);
        assert!(required.contains(&Requirement::unchanged::<Connection>("c", 5)));
        assert!(required.contains(&Requirement::live::<Session>("old")), "of their session");
        assert!(required.contains(&Requirement::unchanged::<Account>("ana", 3)));
    }
}

#[test]
fn a_person_who_says_no_links_nothing() {
    let (seed, mut flow) = (begun(Stage::Enrol), Flow::Unborn);
    take(&mut flow, &seed, hold());
    take(&mut flow, &seed, link(None));
    let denied = take(&mut flow, &seed, confirm(false));
    assert!(denied.commands.is_empty() && denied.effects.births.is_empty());
    assert!(matches!(&flow, Flow::Over(over) if over.denial.is_some()));
    assert_eq!(take(&mut flow, &seed, confirm(true)).outcome.unwrap_err(), Refusal::Over);
}

#[test]
fn a_proof_that_is_no_longer_fresh_is_asked_for_before_the_end() {
    let stale = NOW + FRESH + Duration::from_millis(1);
    let (mut seed, mut flow) = (begun(Stage::Enrol), Flow::Unborn);
    seed.expires_at = stale + FRESH;
    take(&mut flow, &seed, hold());
    take(&mut flow, &seed, link(None));
    let late = take_at(&mut flow, &seed, confirm(true), stale);
    assert!(linked(&late).is_empty());
    assert_eq!(stage(&flow), Some(Stage::Credential));
    assert!(!offers(&flow, &seed).contains(&"sso"), "no provider proves it");
    let password =
        Step::Prove { proved: proved("password", &[Method::Password]), material: material(None) };
    take_at(&mut flow, &seed, password, stale);
    assert_eq!(stage(&flow), Some(Stage::Confirm));
    assert_eq!(linked(&take_at(&mut flow, &seed, confirm(true), stale)), [("i", "ana")]);
}

#[test]
fn a_session_by_single_sign_on_alone_proves_more_first() {
    let (mut seed, flow) = (begun(Stage::Credential), Flow::Unborn);
    let signed_in = seed.signed_in.as_mut().unwrap();
    let by = |organization: Option<&str>| crate::domain::assurance::SingleSignOn {
        organization: organization.map(str::to_owned),
        connection: "c".to_owned(),
        session: "s".to_owned(),
        identity: "i".to_owned(),
        epoch: 0,
    };
    for organization in [None, Some("acme")] {
        let proof = Worth::BELIEVED_SIGN_ON.given(NOW).through(by(organization));
        let (person, methods) = (Person { evidence: Evidence::of(proof), ..person() }, []);
        let present = InSession { person: &person, methods: &methods, now: NOW };
        let goal = rules().goal("link").unwrap();
        assert_eq!(goal.first_in_session(&present), Stage::Credential, "{organization:?}");
        signed_in.person = person;
    }
    assert!(!offers(&flow, &seed).contains(&"sso"));
}

#[test]
fn a_credential_that_is_changed_while_the_flow_waits_ends_it() {
    let (seed, mut flow) = (begun(Stage::Enrol), Flow::Unborn);
    take(&mut flow, &seed, hold());
    take(&mut flow, &seed, link(None));
    let account = account_seen(4, 1);
    let material = Box::new(Material { account, ..*material(None) });
    let recovered = Step::Decide { step: "confirm", allow: true, material };
    let refused = take(&mut flow, &seed, recovered);
    assert_eq!(refused.outcome.as_ref().unwrap_err(), &Refusal::Superseded);
    assert!(linked(&refused).is_empty());
}

fn apply(member: Option<LinkedMember>) -> Step {
    Step::Apply { step: "sso", spends: pending().mark(), link: identity(member) }
}

#[test]
fn a_person_whom_no_account_knows_goes_on_with_a_sign_up_and_is_linked_with_the_account() {
    let (seed, mut flow) = (seed(None), Flow::Unborn);
    take(&mut flow, &seed, hold());
    let applied = take(&mut flow, &seed, apply(None));
    assert!(applied.outcome.is_ok() && applied.commands.is_empty());
    assert_eq!(flow.seed().map(|seed| &*seed.kind), Some("sign_up"));
    assert_eq!(offers(&flow, &seed), ["profile"]);
    let applicant = Applicant {
        account: "new".to_owned(),
        email: "ana@acme.test".to_owned(),
        given_name: None,
        family_name: None,
        locale: None,
    };
    take(
        &mut flow,
        &seed,
        Step::Describe { applicant: Box::new(applicant), sign_outs: SignOuts::default() },
    );
    let no_account = || Material { account: AccountSeen::default(), ..*material(None) };
    let enrol = || Step::Enrol {
        step: "skip",
        spends: None,
        changes: Vec::new(),
        material: Box::new(no_account()),
    };
    let early = take(&mut flow, &seed, enrol());
    assert_eq!(early.outcome.unwrap_err(), Refusal::NotNow, "the address is not proved");
    let code = PendingProof {
        step: "email_code".to_owned(),
        content: PendingProofContent::Code(Fingerprint::of(b"code")),
        account: Some("new".to_owned()),
        ..pending()
    };
    take(&mut flow, &seed, Step::Hold { step: "email_code", held: Box::new(code), message: None });
    let account = "new".to_owned();
    let proved = AccountProof { account, version: None, ..proved("email_code", &[]) };
    let (step, code, material) = ("email_code", Fingerprint::of(b"code"), Box::new(no_account()));
    take(&mut flow, &seed, Step::Present { step, code, proved: Some(proved), material });
    assert_eq!(stage(&flow), Some(Stage::Enrol));
    let done = take(&mut flow, &seed, enrol());
    assert_eq!(linked(&done), [("i", "new")]);
    assert!(matches!(commanded::<Account>(&done)[..], [("new", account::Command::Create(_))]));
    assert!(done.effects.requirements.contains(&Requirement::unchanged::<Connection>("c", 5)));
}

#[test]
fn a_sign_up_begins_so_in_a_sign_in_alone_and_for_no_organization() {
    let mut device = seed(None);
    device.kind = "device".to_owned();
    let named = seed(None);
    for (seed, member) in [(device, None), (named, Some(at_acme()))] {
        let mut flow = Flow::Unborn;
        take(&mut flow, &seed, hold());
        let refused = take(&mut flow, &seed, apply(member));
        assert_eq!(refused.outcome.unwrap_err(), Refusal::NotNow, "{}", seed.kind);
    }
    let (seed, mut flow) = (seed(None), Flow::Unborn);
    assert_eq!(take(&mut flow, &seed, apply(None)).outcome.unwrap_err(), Refusal::NotNow);
}

#[test]
fn a_recovery_that_replaces_credentials_unlinks_what_is_the_accounts_own() {
    for (methods, unlinked) in [
        (&[Method::Password][..], 1),
        (&[Method::Password, Method::Totp], 0),
        (&[Method::Passkey], 0),
    ] {
        let mut open = Seed { kind: "recovery".to_owned(), ..seed(None) }.open();
        (open.person, open.stage) = (Some(person()), Stage::Enrol);
        open.methods = methods.to_vec();
        let mut flow = Flow::Open(Box::new(open));
        let material = Material { identities: vec!["i".to_owned()], ..*material(None) };
        let (step, changes) = ("new_password", vec![]);
        let enrol = Step::Enrol { step, spends: None, changes, material: Box::new(material) };
        let done = take(&mut flow, &seed(None), enrol);
        assert!(done.outcome.is_ok(), "{methods:?}");
        let commands = commanded::<ExternalIdentity>(&done);
        assert_eq!(commands.len(), unlinked, "mail alone replaces no second factor: {methods:?}");
    }
}
