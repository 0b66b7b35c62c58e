use super::*;
use crate::domain::{
    Device, Fingerprint, Record, Requirement, SubCommand,
    account::{self, Account},
    assurance::{Acr, AuthenticatorId, Authenticators, Evidence, Level, Worth},
    authority::Audience,
    authorization::{
        AuthorizationFacts, ConsentRule, MembershipChoice, ReplyTo, Request, RequestedGrant,
        ResponseMode,
    },
    consent::{self, Consent},
    grant::Grant,
    installation::SignOuts,
    session::{self, Session},
    token_family::{CodeLifetimes, TokenFamily},
};
use std::{sync::Arc, time::Duration};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const LATER: Timestamp = Timestamp::from_millis(1_800_000_900_000);

fn request() -> Request {
    Request {
        wanted: RequestedGrant::plain("app", "openid", Audience::Issuer),
        reply_to: ReplyTo {
            redirect_uri: "https://app.example/cb".to_owned(),
            state: Some("s".to_owned()),
            mode: ResponseMode::Query,
        },
        nonce: Some("n".to_owned()),
        challenge: Fingerprint::of(b"verifier"),
        key: None,
        login_hint: None,
        ui_locales: None,
        pushed: None,
    }
}

fn seed(request: Option<Request>) -> Seed {
    let (kind, channel) = ("sign_in".to_owned(), Channel::Program);
    let stage = Stage::Identify;
    Seed {
        kind,
        channel,
        expires_at: LATER,
        request,
        later: None,
        stage,
        signed_in: None,
        invited: None,
        user_code: None,
        operator_link: None,
        organization: None,
        connection: None,
        approval: None,
        report: None,
        selects: false,
        back: None,
    }
}

fn person() -> Person {
    let evidence = Evidence::of(Worth::PASSWORD.given(NOW));
    Person { account: "ana".to_owned(), epoch: 0, evidence }
}

fn place(slug: &str) -> MembershipChoice {
    MembershipChoice {
        required_connections: Vec::new(),
        membership: Some(format!("{slug}-m")),
        organization: slug.to_owned(),
        name: slug.to_owned(),
        enabled: true,
        epoch: 0,
        signed_out: 0,
        roles: vec![],
        permissions: [].into_iter().collect(),
        required: Acr::Aal1,
        requirements: vec![Requirement::unchanged::<crate::domain::organization::Organization>(
            slug, 7,
        )],
    }
}

fn rules() -> Arc<Rules> {
    let step = |name, worth, roles| ProofStep { name, preparing: &[], worth, roles };
    let email = ProofStep {
        preparing: &["email_code/send"],
        ..step("email_code", Worth::EMAIL_CODE, &[Role::First, Role::Address])
    };
    let passkey = ProofStep {
        preparing: &["passkey/options"],
        ..step("passkey", Worth::PASSKEY, &[Role::Unnamed, Role::Second])
    };
    let password = step("password", Worth::PASSWORD, &[Role::First]);
    let totp = step("totp", Worth::TOTP, &[Role::Second]);
    Arc::new(Rules::new([password, totp, email, passkey]))
}

fn facts(slugs: &[&str], consent: ConsentRule) -> AuthorizationFacts {
    let memberships = slugs.iter().map(|slug| place(slug)).collect();
    let (ceiling, resource, offered, requirements) = (None, None, vec![], vec![]);
    let hears_of_logout = false;
    AuthorizationFacts {
        ceiling,
        resource,
        offered,
        types: Vec::new(),
        memberships,
        members_of: None,
        consent,
        consent_epoch: 0,
        remembers: None,
        hears_of_logout,
        requirements,
    }
}

fn fresh() -> Fresh {
    Fresh {
        session_id: "session".to_owned(),
        session_token: Fingerprint::of(b"session"),
        session_idle: Duration::from_hours(1),
        session_ceiling: Duration::from_hours(2),
        device: Device::default(),
        remembered: false,
        offers_passkey: false,
        family_id: "family".to_owned(),
        code: Fingerprint::of(b"code"),
        lives: CodeLifetimes { code: Duration::from_mins(1), access_token: Duration::from_mins(5) },
        present: None,
    }
}

/// An account that has an authenticator for each method.
fn account_seen(version: i64, epoch: u64) -> AccountSeen {
    let methods =
        [Method::Password, Method::Totp, Method::EmailCode, Method::Passkey, Method::RecoveryCode];
    let id = |method| AuthenticatorId::credential(method, NOW);
    let authenticators = methods
        .into_iter()
        .fold(Authenticators::default(), |all, method| all.with(method, Some(id(method))));
    AccountSeen { version, epoch, sign_outs: 0, deleting: false, authenticators }
}

fn material(facts: Option<AuthorizationFacts>) -> Box<Material> {
    let account = account_seen(3, 0);
    let (methods, notices, identities) = (Vec::new(), Vec::new(), Vec::new());
    let (approval, fresh, joining) = (None, fresh(), None);
    Box::new(Material {
        facts,
        approval,
        fresh,
        account,
        methods,
        notices,
        identities,
        joining,
        sign_in: None,
    })
}

fn proved(step: &'static str, methods: &[Method]) -> AccountProof {
    let (account, version, methods) = ("ana".to_owned(), Some(3), methods.to_vec());
    AccountProof {
        step,
        account,
        version,
        methods,
        spends: None,
        worth: None,
        by: None,
        uses: None,
        sign_on: None,
    }
}

fn prove(facts: Option<AuthorizationFacts>) -> Step {
    Step::Prove { proved: proved("password", &[]), material: material(facts) }
}

fn wrong() -> Step {
    Step::Disprove { step: "password", account: Some("ana".to_owned()) }
}

fn choose(slug: &str, facts: AuthorizationFacts) -> Step {
    Step::Choose { organization: slug.to_owned(), material: material(Some(facts)) }
}

fn decide(allow: bool, facts: AuthorizationFacts) -> Step {
    Step::Decide { step: "consent", allow, material: material(Some(facts)) }
}

fn identify() -> Step {
    Step::Identify { identifier: "ana@acme.test".to_owned() }
}

/// Takes a step and returns all that was decided.
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

fn stage(flow: &Flow) -> Option<Stage> {
    match flow {
        Flow::Open(open) => Some(open.stage),
        _ => None,
    }
}

fn births(decision: &Decision<Flow>) -> Vec<&'static str> {
    decision.effects.births.iter().map(|birth| birth.kind).collect()
}

/// Lists the commands for entities of one kind, with their ids.
fn commanded<N: Machine>(decision: &Decision<Flow>) -> Vec<(&str, &N::Command)> {
    let of_kind = |one: &'_ SubCommand<Flow>| one.command::<N>().is_some();
    let commands = decision.commands.iter().filter(|one| of_kind(one));
    commands.map(|one| (&*one.id, one.command::<N>().unwrap())).collect()
}

/// Returns what the family stands for that is born with the decision.
fn granted(decision: &Decision<Flow>) -> Option<Grant> {
    let births = &decision.effects.births;
    let family = births.iter().find(|birth| birth.kind == TokenFamily::KIND)?;
    let family: TokenFamily = serde_json::from_str(&family.state).unwrap();
    family.grant().cloned()
}

fn session(flow: &Flow) -> Option<FinishedSession> {
    match flow {
        Flow::Over(over) => over.finished.clone()?.session,
        Flow::Open(_) | Flow::Unborn => None,
    }
}

#[test]
fn signing_in_bears_a_session_and_nothing_else() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    assert_eq!(stage(&flow), Some(Stage::Credential));
    let done = take(&mut flow, &seed, prove(None));
    assert_eq!(births(&done), ["session"]);
    assert_eq!(session(&flow).unwrap().change, SessionChange::Begun);
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
    assert!(granted(&done).is_some());
}

#[test]
fn every_proof_requires_the_version_of_the_account_it_was_judged_on() {
    let judged = Requirement::unchanged::<Account>("ana", 3);
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    let material = || material(None);
    let first = proved("password", &[Method::Totp]);
    let first = take(&mut flow, &seed, Step::Prove { proved: first, material: material() });
    assert_eq!(first.effects.requirements, std::slice::from_ref(&judged), "the first");
    let second = proved("totp", &[Method::Totp]);
    let second = take(&mut flow, &seed, Step::Prove { proved: second, material: material() });
    assert!(second.effects.requirements.contains(&judged), "and the second");
}

#[test]
fn the_second_proof_is_of_the_account_of_the_first() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    let first = proved("password", &[Method::Totp]);
    take(&mut flow, &seed, Step::Prove { proved: first, material: material(None) });
    let eve = AccountProof { account: "eve".to_owned(), ..proved("totp", &[Method::Totp]) };
    let mixed = take(&mut flow, &seed, Step::Prove { proved: eve, material: material(None) });
    assert_eq!(mixed.outcome, Err(Refusal::NotNow));
}

#[test]
fn organization_and_consent_are_asked_in_that_order() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    let unknown = || facts(&["acme", "other"], ConsentRule::Remembered(None));
    take(&mut flow, &seed, identify());
    take(&mut flow, &seed, prove(Some(unknown())));
    assert_eq!(stage(&flow), Some(Stage::Organization));
    let refused = take(&mut flow, &seed, choose("evil", unknown()));
    assert_eq!(refused.outcome, Err(Refusal::NotAChoice));
    take(&mut flow, &seed, choose("other", unknown()));
    assert_eq!(stage(&flow), Some(Stage::Consent));
    let done = take(&mut flow, &seed, decide(true, unknown()));
    assert_eq!(births(&done), ["session", "token_family"]);
    assert!(done.effects.births[1].state.contains("\"organization\":\"other\""));
}

#[test]
fn a_refused_consent_fails_the_flow_and_bears_nothing() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify());
    let asked = || facts(&[], ConsentRule::Always);
    take(&mut flow, &seed, prove(Some(asked())));
    let denied = take(&mut flow, &seed, decide(false, asked()));
    assert!(births(&denied).is_empty());
    let Flow::Over(over) = flow else { panic!("it is over") };
    assert_eq!((over.denial, over.finished), (Some(Denial::ConsentRefused), None));
}

#[test]
fn a_wrong_credential_of_no_account_is_counted_and_not_kept() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify());
    let unknown = Step::Disprove { step: "password", account: None };
    let records = take(&mut flow, &seed, unknown).effects.records;
    assert_eq!(records, [Record::counted("sign_in.failed").with("step", "password")]);
}

#[test]
fn ten_wrong_credentials_end_a_flow() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    take(&mut flow, &seed, identify());
    for _ in 0..MOST_ATTEMPTS {
        assert_eq!(stage(&flow), Some(Stage::Credential));
        let wrong = take(&mut flow, &seed, wrong());
        assert_eq!(wrong.effects.records[0].event, "sign_in.failed");
        assert!(wrong.effects.records[0].kept);
    }
    let Flow::Over(over) = &flow else { panic!("it is over") };
    assert_eq!(over.denial, Some(Denial::TooManyAttempts));
    assert_eq!(take(&mut flow, &seed, prove(None)).outcome, Err(Refusal::Over));
}

#[test]
fn a_step_is_taken_only_where_it_is_offered() {
    let (mut flow, seed) = (Flow::default(), seed(Some(request())));
    let facts = || facts(&[], ConsentRule::Always);
    let totp = || Step::Prove { proved: proved("totp", &[]), material: material(None) };
    let early =
        [prove(Some(facts())), wrong(), totp(), choose("acme", facts()), decide(true, facts())];
    for step in early {
        assert_eq!(take(&mut flow, &seed, step).outcome, Err(Refusal::NotNow));
    }
    take(&mut flow, &seed, identify());
    assert_eq!(take(&mut flow, &seed, totp()).outcome, Err(Refusal::NotNow), "not first");
    take(&mut flow, &seed, prove(Some(facts())));
    let Flow::Open(open) = &flow else { panic!("it is open") };
    assert_eq!(open.offers(&rules(), SignOnOffer::None), ["consent"]);
    let confirm = Step::Decide { step: "confirm", allow: true, material: material(Some(facts())) };
    for late in [identify(), prove(Some(facts())), wrong(), confirm] {
        assert_eq!(take(&mut flow, &seed, late).outcome, Err(Refusal::NotNow), "it is consent now");
    }
}

#[test]
fn an_expired_seed_begins_nothing() {
    let flow = Flow::default();
    let command =
        Command { rules: rules(), seed: seed(None), step: identify(), sign_on: SignOnOffer::None };
    assert_eq!(flow.decide(&command, LATER).outcome, Err(Refusal::Expired));
    let mut begun = Flow::default();
    take(&mut begun, &seed(None), identify());
    assert!(begun.forget_at().unwrap() > LATER, "the row outlives its seed");
}

fn in_session(kind: &str, stage: Stage, request: Option<Request>) -> Seed {
    let signed_in = SignedIn {
        sign_on: None,
        person: person(),
        session: "old".to_owned(),
        stage,
        question: Some(Box::default()),
        methods: vec![Method::Totp],
        wanted: None,
    };
    Seed { kind: kind.to_owned(), signed_in: Some(signed_in), ..seed(request) }
}

#[test]
fn a_person_who_is_signed_in_goes_on_in_their_session() {
    let seed = in_session("sign_in", Stage::Consent, Some(request()));
    let mut flow = Flow::default();
    let done = take(&mut flow, &seed, decide(true, facts(&[], ConsentRule::Always)));
    assert_eq!(births(&done), ["token_family"]);
    assert_eq!(done.effects.requirements[0], Requirement::live::<Session>("old"));
    assert_eq!(session(&flow).unwrap().change, SessionChange::Kept);
}

#[test]
fn a_step_up_ends_with_what_is_wanted_and_not_before() {
    let both = [Method::Password, Method::Totp];
    let prove = |step| Step::Prove { proved: proved(step, &both), material: material(None) };
    let stage = |flow: &Flow| match flow {
        Flow::Open(open) => Some(open.stage),
        _ => None,
    };
    let in_session = |wanted| {
        let mut seed = in_session(STEP_UP, Stage::Credential, None);
        if let Some(signed_in) = &mut seed.signed_in {
            (signed_in.methods, signed_in.wanted) = (both.to_vec(), wanted);
        }
        seed
    };
    // What the session holds counts, unless it must be fresh.
    let seed = in_session(None);
    let mut flow = Flow::default();
    take(&mut flow, &seed, prove("password"));
    assert_eq!(stage(&flow), Some(Stage::SecondFactor), "two proofs of one factor");
    take(&mut flow, &seed, prove("totp"));
    let renewed = FinishedSession { id: "old".to_owned(), change: SessionChange::Renewed };
    assert_eq!(session(&flow), Some(renewed));

    let later = NOW + Duration::from_secs(1);
    let seed = in_session(Some(StepUpRequest { acr: Acr::Aal2, since: Some(later) }));
    let mut flow = Flow::default();
    let mut take_later = |step| {
        let command =
            Command { rules: rules(), seed: seed.clone(), step, sign_on: SignOnOffer::None };
        let decision = flow.decide(&command, later);
        for event in &decision.events {
            flow.apply(event);
        }
        stage(&flow)
    };
    assert_eq!(take_later(prove("totp")), Some(Stage::Credential), "the password is too old");
    assert_eq!(take_later(prove("password")), None, "both were proved here");
}

#[test]
fn a_step_up_asks_for_the_second_factor_alone_where_the_first_one_counts() {
    let wanted = StepUpRequest::default();
    let person = person();
    let day = NOW + Duration::from_hours(24);
    for (methods, now, asked) in [
        (&[Method::Password, Method::Totp][..], NOW, Stage::SecondFactor),
        (&[Method::Password, Method::Totp], day, Stage::Credential),
        (&[Method::Password, Method::Passkey], NOW, Stage::Credential),
        (&[Method::Password], NOW, Stage::Credential),
    ] {
        assert_eq!(wanted.asks(&InSession { person: &person, methods, now }), asked, "{methods:?}");
    }
    let passkey = StepUpRequest { acr: Acr::Phr, since: None };
    let methods = &[Method::Totp, Method::Passkey][..];
    let asked = passkey.asks(&InSession { person: &person, methods, now: NOW });
    assert_eq!(asked, Stage::Credential, "a code does not resist phishing");
}

#[test]
fn a_step_up_in_a_session_adds_to_its_evidence_and_renews_it() {
    let wanted = RequestedGrant { acr_values: vec![Acr::Aal2], ..request().wanted };
    let wanted = Request { wanted, ..request() };
    let seed = in_session(STEP_UP, Stage::SecondFactor, Some(wanted));
    let mut flow = Flow::default();
    let facts = facts(&[], ConsentRule::FirstParty);
    let totp = proved("totp", &[Method::Totp]);
    let done =
        take(&mut flow, &seed, Step::Prove { proved: totp, material: material(Some(facts)) });
    assert_eq!(granted(&done).unwrap().level, Level::Aal2);
    let [("old", session::Command::Renew { token, former: None, .. })] =
        commanded::<Session>(&done)[..]
    else {
        panic!("the session is renewed in the same commit")
    };
    assert_eq!(*token, fresh().session_token);
    let renewed = FinishedSession { id: "old".to_owned(), change: SessionChange::Renewed };
    assert_eq!(session(&flow), Some(renewed));
}

#[test]
fn a_person_who_signs_in_again_keeps_their_session() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    let fresh = Fresh { present: Some("old".to_owned()), ..fresh() };
    let material = Box::new(Material { fresh, ..*material(None) });
    let step = Step::Prove { proved: proved("password", &[]), material };
    let done = take(&mut flow, &seed, step);
    assert!(births(&done).is_empty());
    let renewed = FinishedSession { id: "old".to_owned(), change: SessionChange::Renewed };
    assert_eq!(session(&flow), Some(renewed));
}

#[test]
fn signing_out_is_confirmed_and_ends_the_session_alone() {
    let seed = in_session("sign_out", Stage::Confirm, None);
    let confirm = |allow| Step::Decide { step: "confirm", allow, material: material(None) };
    let mut refused = Flow::default();
    take(&mut refused, &seed, confirm(false));
    assert_eq!(session(&refused), None, "a person who says no stays signed in");
    let mut flow = Flow::default();
    let done = take(&mut flow, &seed, confirm(true));
    assert!(births(&done).is_empty() && done.effects.records.is_empty());
    let ended = FinishedSession { id: "old".to_owned(), change: SessionChange::Ended };
    assert_eq!(session(&flow), Some(ended));
}

#[test]
fn an_enrolled_second_factor_is_always_asked_for() {
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    let prove =
        |step| Step::Prove { proved: proved(step, &[Method::Totp]), material: material(None) };
    let first = take(&mut flow, &seed, prove("password"));
    assert!(births(&first).is_empty(), "one proof bears nothing");
    let Flow::Open(open) = &flow else { panic!("it is open") };
    assert_eq!((open.stage, open.required(&rules())), (Stage::SecondFactor, Level::Aal2));
    assert_eq!(open.offers(&rules(), SignOnOffer::None), ["totp"]);
    let again = take(&mut flow, &seed, identify());
    assert_eq!(again.outcome, Err(Refusal::NotNow), "the account cannot be changed any more");
    take(&mut flow, &seed, Step::Disprove { step: "totp", account: Some("ana".to_owned()) });
    let done = take(&mut flow, &seed, prove("totp"));
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

#[path = "tests_approval.rs"]
mod approval;

#[path = "tests_device.rs"]
mod device;

#[path = "tests_held.rs"]
mod held;

#[path = "tests_kinds.rs"]
mod kinds;

#[path = "tests_link.rs"]
mod link;

#[path = "tests_offer.rs"]
mod offer;

#[path = "tests_required.rs"]
mod required;

#[path = "tests_select.rs"]
mod select;

#[path = "tests_sign_on.rs"]
mod sign_on;

#[path = "tests_superseded.rs"]
mod superseded;

#[test]
fn the_use_of_a_proof_is_noted_in_the_commit_of_the_flow() {
    let uses = Some(account::Command::UseTotp { step: 7 });
    let both = [Method::Password, Method::Totp];
    let (mut flow, seed) = (Flow::default(), seed(None));
    take(&mut flow, &seed, identify());
    take(
        &mut flow,
        &seed,
        Step::Prove { proved: proved("password", &both), material: material(None) },
    );
    let totp = AccountProof { uses, ..proved("totp", &both) };
    let done = take(&mut flow, &seed, Step::Prove { proved: totp, material: material(None) });
    let used = account::Command::UseTotp { step: 7 };
    assert_eq!(commanded::<Account>(&done), [("ana", &used)]);
    let judged = Requirement::unchanged::<Account>("ana", 3);
    assert!(done.effects.requirements.contains(&judged));
}

#[test]
fn a_consent_is_remembered_in_the_commit_of_the_flow_where_it_is_at_all() {
    for remembers in [None, Some(4)] {
        let facts = || {
            let asked = facts(&[], ConsentRule::Remembered(None));
            AuthorizationFacts { remembers, ..asked }
        };
        let (mut flow, seed) = (Flow::default(), seed(Some(request())));
        take(&mut flow, &seed, identify());
        let asked = take(&mut flow, &seed, prove(Some(facts())));
        assert!(asked.commands.is_empty());
        assert_eq!(stage(&flow), Some(Stage::Consent));
        let done = take(&mut flow, &seed, decide(true, facts()));
        let given = commanded::<Consent>(&done);
        let Some(redirects) = remembers else {
            assert_eq!(given, []);
            continue;
        };
        let [("ana::app", consent::Command::Give { redirects: noted, .. })] = given[..] else {
            panic!("{given:?}")
        };
        assert_eq!(*noted, redirects);
    }
}
