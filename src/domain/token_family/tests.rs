use super::*;
use crate::domain::{
    Fingerprint, Requirement,
    account::Account,
    assurance::{Acr, Level, Method},
    authority::{Audience, Permission, Permissions, Scopes, Widening},
    authorization_details::Details,
    grant::{HeldPermissions, Limits, MembershipRef},
    possession::Possession,
    requested_claims::RequestedClaims,
    session::Session,
};
use std::time::Duration;

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const DAY: Duration = Duration::from_hours(24);

fn scopes(text: &str) -> Scopes {
    Scopes::parse(text).unwrap()
}

pub(super) fn fingerprint(secret: &str) -> Fingerprint {
    Fingerprint::of(secret.as_bytes())
}

fn grant(scope: &str) -> Grant {
    Grant {
        sign_on: None,
        client_id: "app".to_owned(),
        account: Some("ana".to_owned()),
        epoch: 0,
        session: Some("session".to_owned()),
        parents: Vec::new(),
        membership: Some(MembershipRef {
            id: Some("m1".to_owned()),
            organization: "acme".to_owned(),
            epoch: 0,
        }),
        audience: Audience::Resource("api:invoices".to_owned()),
        scopes: scopes(scope),
        claims: RequestedClaims::default(),
        details: Details::default(),
        authenticated_at: NOW,
        level: Level::Aal1,
        methods: vec![Method::Password],
        delegation: None,
    }
}

/// What a clerk of Acme holds.
fn limits(permissions: &[&str]) -> Limits {
    let held: Vec<Permission> = permissions.iter().map(|p| Permission::parse(p).unwrap()).collect();
    let permissions: Permissions = held.iter().collect();
    Limits {
        required_connections: Vec::new(),
        ceilings: Vec::new(),
        within: Vec::new(),
        held: Some(HeldPermissions { organization: "acme".to_owned(), permissions }),
        offered: vec!["invoices:read".to_owned(), "invoices:write".to_owned()],
        types: Vec::new(),
        required: Acr::Aal1,
        over: false,
    }
}

const LIFETIMES: Lifetimes = Lifetimes {
    access_token: Duration::from_mins(5),
    refresh_idle: Duration::from_hours(14 * 24),
    refresh_ceiling: Duration::from_hours(30 * 24),
};

pub(super) fn begin(scope: &str) -> Begin {
    Begin {
        grant: grant(scope),
        code: fingerprint("code"),
        lives: CodeLifetimes { code: Duration::from_mins(1), access_token: LIFETIMES.access_token },
        redirect_uri: "https://app.example/cb".to_owned(),
        challenge: fingerprint("verifier"),
        key: None,
        nonce: Some("n".to_owned()),
        pushed: None,
        noted_in: None,
        requirements: Vec::new(),
    }
}

fn issuing(next: &str) -> Issuing {
    Issuing {
        client_id: "app".to_owned(),
        narrowing: Narrowing::default(),
        next: fingerprint(next),
        limits: limits(&["invoices:*"]),
        requirements: Vec::new(),
        lifetimes: LIFETIMES,
        possession: Possession::default(),
    }
}

pub(super) fn redeem() -> Redeem {
    Redeem {
        code: fingerprint("code"),
        redirect_uri: Some("https://app.example/cb".to_owned()),
        verifier: Some(fingerprint("verifier")),
        refreshable: true,
        longest: None,
        issuing: issuing("r1"),
    }
}

/// The same code once more, in another request.
fn redeem_again() -> Redeem {
    Redeem { issuing: issuing("other"), ..redeem() }
}

pub(super) fn refresh(token: &str, next: &str) -> Refresh {
    Refresh { token: fingerprint(token), rotates: true, issuing: issuing(next) }
}

impl Issuing {
    fn by(self, client_id: &str) -> Self {
        Self { client_id: client_id.to_owned(), ..self }
    }

    fn asking(self, narrowing: Narrowing) -> Self {
        Self { narrowing, ..self }
    }

    fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }
}

impl Refresh {
    fn by(self, client_id: &str) -> Self {
        Self { issuing: self.issuing.by(client_id), ..self }
    }

    fn asking(self, narrowing: Narrowing) -> Self {
        Self { issuing: self.issuing.asking(narrowing), ..self }
    }

    fn within(self, limits: Limits) -> Self {
        Self { issuing: self.issuing.within(limits), ..self }
    }
}

fn only(scopes: Scopes) -> Narrowing {
    Narrowing { scopes: Some(scopes), ..Narrowing::default() }
}

const SCOPE: &str = "openid invoices:read invoices:write";

fn pending() -> TokenFamily {
    let mut family = TokenFamily::default();
    assert_eq!(ask(&mut family, &Command::Begin(Box::new(begin(SCOPE))), NOW), Ok(Reply::Begun));
    family
}

pub(super) fn ask(
    family: &mut TokenFamily,
    command: &Command,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    let decision = family.decide(command, now);
    for event in &decision.events {
        family.apply(event);
    }
    decision.outcome
}

fn redeemed(family: &mut TokenFamily, redeem: Redeem) -> Result<Reply, Refusal> {
    ask(family, &Command::Redeem(Box::new(redeem)), NOW)
}

fn refreshed(family: &mut TokenFamily, refresh: Refresh, now: Timestamp) -> Result<Reply, Refusal> {
    ask(family, &Command::Refresh(Box::new(refresh)), now)
}

fn alive() -> TokenFamily {
    let mut family = pending();
    assert!(redeemed(&mut family, redeem()).is_ok());
    family
}

fn issued(outcome: Result<Reply, Refusal>) -> Issue {
    match outcome {
        Ok(Reply::Issue(issue)) => *issue,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_code_is_redeemed_once_and_its_replay_ends_the_family() {
    let mut family = pending();
    let issue = issued(redeemed(&mut family, redeem()));
    assert_eq!(issue.granted.scopes(), &scopes(SCOPE));
    assert_eq!(issue.granted.organization(), Some("acme"));
    assert_eq!(redeemed(&mut family, redeem_again()), Err(Refusal::Replayed));
    assert_eq!(family.live_until(), Timestamp::NEVER);
    assert_eq!(refreshed(&mut family, refresh("r1", "r2"), NOW), Err(Refusal::Ended));
    assert_eq!(redeemed(&mut family, redeem_again()), Err(Refusal::Ended));
}

#[test]
fn a_replay_is_recorded_and_ends_the_family_long_after_the_code_was_over() {
    let again = Command::Redeem(Box::new(redeem_again()));
    let decision = alive().decide(&again, NOW + 20 * DAY);
    assert_eq!(decision.outcome, Err(Refusal::Replayed));
    assert_eq!(decision.effects.records[0].event, "authorization_code.replayed");
    assert_eq!(decision.effects.records[0].organization.as_deref(), Some("acme"));
}

#[test]
fn a_spent_code_from_another_client_or_without_its_verifier_ends_nothing() {
    let other = Redeem { issuing: issuing("x").by("eve"), ..redeem() };
    let guess = Redeem { verifier: Some(fingerprint("guess")), ..redeem_again() };
    for (thief, why) in [
        (other, Refusal::WrongClient),
        (Redeem { verifier: None, ..redeem_again() }, Refusal::WrongVerifier),
        (guess, Refusal::WrongVerifier),
    ] {
        let mut family = alive();
        let decision = family.decide(&Command::Redeem(Box::new(thief)), NOW);
        assert_eq!(decision.outcome, Err(why));
        assert!(decision.events.is_empty() && decision.effects.write_nothing());
        assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
    }
}

#[test]
fn a_code_is_bound_to_its_client_its_redirect_uri_and_its_challenge() {
    let mut family = pending();
    for (wrong, why) in [
        (Redeem { issuing: issuing("r1").by("eve"), ..redeem() }, Refusal::WrongClient),
        (
            Redeem { redirect_uri: Some("https://app.example/cb/".to_owned()), ..redeem() },
            Refusal::WrongRedirectUri,
        ),
        (Redeem { verifier: Some(fingerprint("guess")), ..redeem() }, Refusal::WrongVerifier),
        (Redeem { verifier: None, ..redeem() }, Refusal::WrongVerifier),
        (Redeem { code: fingerprint("other"), ..redeem() }, Refusal::Unknown),
    ] {
        assert_eq!(redeemed(&mut family, wrong), Err(why));
    }
    let shorter = Redeem { redirect_uri: None, ..redeem() };
    assert!(redeemed(&mut family, shorter).is_ok(), "what was wrong before has not spent it");
}

#[test]
fn a_code_expires() {
    let mut family = pending();
    let late = NOW + Duration::from_mins(1);
    let outcome = ask(&mut family, &Command::Redeem(Box::new(redeem())), late);
    assert_eq!(outcome, Err(Refusal::Expired));
    assert!(family.live_until() <= late && family.forget_at().unwrap() > late);
}

#[test]
fn a_redemption_leaves_a_family_where_it_is_listed() {
    let mut family = pending();
    let listed = family.listings();
    assert_eq!((listed.len(), redeemed(&mut family, redeem()).is_ok()), (1, true));
    assert_eq!(family.listings(), listed);
}

#[test]
fn refreshes_within_an_hour_do_not_move_when_a_family_is_forgotten() {
    let mut family = pending();
    redeemed(&mut family, redeem()).unwrap();
    let (first, until) = (family.forget_at().unwrap(), family.live_until());
    assert!(first > until && first.since(until) <= Duration::from_mins(65));
    assert_eq!(first, first.end_of_hour() - Duration::from_hours(1), "a whole hour");
    let later = NOW + Duration::from_millis(1);
    refreshed(&mut family, refresh("r1", "r2"), later).unwrap();
    assert!(family.live_until() > until);
    assert_eq!(family.forget_at(), Some(first));
}

#[test]
fn a_nonce_is_shown_while_the_code_is_out() {
    let nonce = |family: &TokenFamily| match family.decide(&Command::Show, NOW).outcome {
        Ok(Reply::Shown(shown)) => shown.nonce,
        other => panic!("{other:?}"),
    };
    assert_eq!(nonce(&pending()).as_deref(), Some("n"));
    assert_eq!(nonce(&alive()), None, "only the first ID token repeats it");
}

#[test]
fn a_refresh_token_works_once_and_its_reuse_ends_the_family() {
    let mut family = alive();
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
    assert!(refreshed(&mut family, refresh("r2", "r3"), NOW).is_ok());
    let decision = family.decide(&Command::Refresh(Box::new(refresh("r1", "x"))), NOW);
    assert_eq!(decision.effects.records[0].event, "refresh_token.reused");
    assert_eq!(refreshed(&mut family, refresh("r1", "x"), NOW), Err(Refusal::Reused));
    assert_eq!(refreshed(&mut family, refresh("r3", "r4"), NOW), Err(Refusal::Ended));
    assert_eq!(family.live_until(), Timestamp::NEVER);
}

#[test]
fn a_former_token_from_another_client_ends_nothing() {
    let mut family = alive();
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
    let decision = family.decide(&Command::Refresh(Box::new(refresh("r1", "x").by("eve"))), NOW);
    assert_eq!(decision.outcome, Err(Refusal::WrongClient));
    assert!(decision.events.is_empty() && decision.effects.write_nothing());
    assert!(refreshed(&mut family, refresh("r2", "r3"), NOW).is_ok());
}

#[test]
fn reuse_is_seen_before_expiry_and_authority_are_judged() {
    let mut family = alive();
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
    let thief = refresh("r1", "x").asking(only(scopes("accounts:write"))).within(Limits::default());
    assert_eq!(refreshed(&mut family, thief, NOW + 20 * DAY), Err(Refusal::Reused));
}

#[test]
fn reuse_is_seen_whatever_comes_with_it() {
    let target = Some(Audience::Issuer);
    for narrowing in [
        Narrowing { malformed: Some(Malformed::Scope), ..Narrowing::default() },
        Narrowing { malformed: Some(Malformed::Target), ..Narrowing::default() },
        Narrowing { audience: target, ..Narrowing::default() },
        Narrowing { organization: Some("other".to_owned()), ..Narrowing::default() },
    ] {
        let mut family = alive();
        assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
        let thief = refresh("r1", "x").asking(narrowing);
        assert_eq!(refreshed(&mut family, thief, NOW), Err(Refusal::Reused));
    }
}

#[test]
fn a_request_that_asks_again_is_answered_as_before_and_changes_nothing() {
    let repeats = |family: &mut TokenFamily, command: Command| {
        let first = ask(family, &command, NOW).unwrap();
        let decision = family.decide(&command, NOW);
        assert!(decision.events.is_empty() && decision.effects.write_nothing());
        assert!(decision.effects.requirements.is_empty(), "they held when it was carried out");
        assert_eq!(decision.outcome, Ok(first));
    };
    let mut family = TokenFamily::default();
    repeats(&mut family, Command::Begin(Box::new(begin(SCOPE))));
    repeats(&mut family, Command::Redeem(Box::new(redeem())));
    repeats(&mut family, Command::Refresh(Box::new(refresh("r1", "r2"))));
    repeats(&mut family, Command::Refresh(Box::new(refresh("r2", "r3"))));
    assert_eq!(refreshed(&mut family, refresh("r2", "x"), NOW), Err(Refusal::Reused));

    let mut once = pending();
    repeats(&mut once, Command::Redeem(Box::new(Redeem { refreshable: false, ..redeem() })));
    let again = Redeem { refreshable: false, ..redeem_again() };
    assert_eq!(redeemed(&mut once, again), Err(Refusal::Replayed), "another request");
}

fn start(refreshable: bool) -> Start {
    Start { grant: grant(SCOPE), refreshable, issuing: issuing("r1") }
}

fn below(parent: &str) -> Start {
    let grant = Grant { session: None, parents: vec![parent.to_owned()], ..grant(SCOPE) };
    Start { grant, ..start(true) }
}

#[test]
fn a_family_born_alive_refreshes_and_ends_with_reuse() {
    let mut family = TokenFamily::default();
    let command = Command::Start(Box::new(start(true)));
    let decision = family.decide(&command, NOW);
    assert_eq!(decision.effects.records[0].event, "authorization.granted");
    assert!(decision.effects.requirements.contains(&Requirement::live::<Account>("ana")));
    assert_eq!(issued(ask(&mut family, &command, NOW)).granted.scopes(), &scopes(SCOPE));
    assert_eq!(ask(&mut family, &command, NOW).map(|_| ()), Ok(()), "its own repeat");
    assert_eq!(redeemed(&mut family, redeem()), Err(Refusal::Unknown), "there is no code");
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
    let other = Start { issuing: issuing("x"), ..start(true) };
    let twice = ask(&mut family, &Command::Start(Box::new(other)), NOW);
    assert_eq!(twice, Err(Refusal::Unknown), "no family begins twice");
    assert_eq!(refreshed(&mut family, refresh("r1", "x"), NOW), Err(Refusal::Reused));
    assert_eq!(family.live_until(), Timestamp::NEVER);
}

#[test]
fn a_family_born_alive_has_no_more_than_is_held() {
    let issuing = issuing("r1").within(limits(&["invoices:read"]));
    let start = Start { issuing, ..start(true) };
    let lost = Refusal::Widening(Widening::NotConferred { scope: "invoices:write".to_owned() });
    let mut family = TokenFamily::default();
    assert_eq!(ask(&mut family, &Command::Start(Box::new(start.clone())), NOW), Err(lost.clone()));
    assert_eq!(family, TokenFamily::Unborn);
    assert_eq!(TokenFamily::birth_alive("f", &start, NOW).map(|_| ()), Err(lost));
}

#[test]
fn a_family_below_another_requires_it_at_birth_and_at_each_refresh() {
    let parent = Requirement::live::<TokenFamily>("parent");
    let mut family = TokenFamily::default();
    let command = Command::Start(Box::new(below("parent")));
    assert!(family.decide(&command, NOW).effects.requirements.contains(&parent));
    assert!(ask(&mut family, &command, NOW).is_ok());
    let refresh = Command::Refresh(Box::new(refresh("r1", "r2")));
    let requirements = family.decide(&refresh, NOW).effects.requirements;
    assert!(requirements.contains(&parent));
    let no_session = |fact: &Requirement| fact.kind() != Session::KIND;
    assert!(requirements.iter().all(no_session), "it was given in none");
}

#[test]
fn the_owner_of_a_grant_bears_a_family_that_is_alive() {
    let born = TokenFamily::birth_alive("family", &below("parent"), NOW).unwrap();
    assert!(born.requirements.contains(&Requirement::live::<TokenFamily>("parent")));
    assert_eq!(born.issue.granted.scopes(), &scopes(SCOPE));
    assert!(born.birth.live_until > NOW);
    let mut family: TokenFamily = serde_json::from_str(&born.birth.state).unwrap();
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
}

#[test]
fn a_family_of_an_older_binary_is_read() {
    let mut stored = serde_json::to_value(alive()).unwrap();
    let alive = stored["Alive"].as_object_mut().unwrap();
    alive.remove("challenge");
    let grant = alive["grant"].as_object_mut().unwrap();
    grant.remove("membership");
    let seat = serde_json::json!({ "membership": "m1", "organization": "acme" });
    grant.insert("seat".to_owned(), seat);
    let mut family: TokenFamily = serde_json::from_value(stored).unwrap();
    assert_eq!(family.grant().unwrap().organization(), Some("acme"));
    let unproved = Redeem { verifier: None, ..redeem_again() };
    assert_eq!(redeemed(&mut family, unproved), Err(Refusal::Replayed));
}

#[test]
fn nothing_but_the_scopes_of_a_grant_can_be_asked_for_otherwise() {
    let mut family = pending();
    let organization = Some("other".to_owned());
    let other = Narrowing { organization, ..Narrowing::default() };
    let issuing = issuing("r1").asking(other.clone());
    let refused = redeemed(&mut family, Redeem { issuing, ..redeem() });
    assert_eq!(refused, Err(Refusal::OtherOrganization));
    let mut family = alive();
    let refused = refreshed(&mut family, refresh("r1", "r2").asking(other), NOW);
    assert_eq!(refused, Err(Refusal::OtherOrganization));
    let other = Narrowing { audience: Some(Audience::Issuer), ..Narrowing::default() };
    let refused = refreshed(&mut family, refresh("r1", "r2").asking(other), NOW);
    assert_eq!(refused, Err(Refusal::OtherAudience));
    let same = Narrowing {
        audience: Some(Audience::Resource("api:invoices".to_owned())),
        organization: Some("acme".to_owned()),
        ..Narrowing::default()
    };
    assert!(refreshed(&mut family, refresh("r1", "r2").asking(same), NOW).is_ok());
}

#[test]
fn a_grant_for_an_api_without_a_scope_of_it_needs_something_held_there() {
    let mut family = TokenFamily::default();
    let begun = Begin { grant: grant("openid"), ..begin("openid") };
    assert!(ask(&mut family, &Command::Begin(Box::new(begun)), NOW).is_ok());
    assert!(redeemed(&mut family, redeem()).is_ok());
    let gone = refresh("r1", "r2").within(limits(&["orders:read"]));
    let out = Refusal::Widening(Widening::OutOfReach);
    assert_eq!(refreshed(&mut family, gone, NOW), Err(out));
}

#[test]
fn a_refresh_token_ends_unused_and_at_its_ceiling() {
    let mut family = alive();
    let idle = NOW + 14 * DAY;
    assert_eq!(refreshed(&mut family, refresh("r1", "r2"), idle), Err(Refusal::Expired));
    let mut token = ("r1".to_owned(), 1);
    for day in [13, 26, 29] {
        let next = format!("r{}", token.1 + 1);
        assert!(refreshed(&mut family, refresh(&token.0, &next), NOW + day * DAY).is_ok());
        token = (next, token.1 + 1);
    }
    let ceiling = NOW + 30 * DAY;
    assert_eq!(refreshed(&mut family, refresh(&token.0, "x"), ceiling), Err(Refusal::Expired));
}

#[test]
fn another_client_cannot_refresh_and_spends_nothing() {
    let mut family = alive();
    let eve = refresh("r1", "r2").by("eve");
    assert_eq!(refreshed(&mut family, eve, NOW), Err(Refusal::WrongClient));
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
}

#[test]
fn scope_may_shrink_on_request_and_never_grow() {
    let mut family = alive();
    let narrower = refresh("r1", "r2").asking(only(scopes("invoices:read")));
    let issue = issued(refreshed(&mut family, narrower, NOW));
    assert_eq!(issue.granted.scopes(), &scopes("invoices:read"));
    let wider = refresh("r2", "r3").asking(only(scopes("openid email")));
    let beyond = Refusal::Widening(Widening::BeyondGrant { scope: "email".to_owned() });
    assert_eq!(refreshed(&mut family, wider, NOW), Err(beyond));
    let all = issued(refreshed(&mut family, refresh("r2", "r3"), NOW));
    assert_eq!(all.granted.scopes(), &scopes(SCOPE), "the grant itself has not shrunk");
}

#[test]
fn what_roles_no_longer_cover_is_refused_and_not_trimmed() {
    let mut family = alive();
    let fewer = refresh("r1", "r2").within(limits(&["invoices:read"]));
    let lost = Refusal::Widening(Widening::NotConferred { scope: "invoices:write".to_owned() });
    assert_eq!(refreshed(&mut family, fewer, NOW), Err(lost));
    let gone = refresh("r1", "r2").within(Limits { held: None, ..limits(&[]) });
    let outside = Refusal::Widening(Widening::OtherOrganization);
    assert_eq!(refreshed(&mut family, gone, NOW), Err(outside));
    let less = refresh("r1", "r2")
        .within(limits(&["invoices:read"]))
        .asking(only(scopes("openid invoices:read")));
    assert!(refreshed(&mut family, less, NOW).is_ok(), "nothing was spent");
}

#[test]
fn what_the_organization_requires_by_now_ends_what_was_granted_with_less() {
    let mut family = alive();
    for required in [Acr::Aal2, Acr::Aal3, Acr::Phr, Acr::Phrh] {
        let more = Limits { required, ..limits(&["invoices:*"]) };
        let refused = refreshed(&mut family, refresh("r1", "r2").within(more), NOW);
        assert_eq!(refused, Err(Refusal::NotSureEnough), "{required:?}");
    }
    let as_before = refresh("r1", "r2").within(limits(&["invoices:*"]));
    assert!(refreshed(&mut family, as_before, NOW).is_ok(), "nothing was spent");
}

#[test]
fn a_scope_that_the_api_no_longer_has_is_refused() {
    let mut family = alive();
    let mut limits = limits(&["invoices:*"]);
    limits.offered.pop();
    let lost = Refusal::Widening(Widening::NotOffered { scope: "invoices:write".to_owned() });
    let refused = refreshed(&mut family, refresh("r1", "r2").within(limits), NOW);
    assert_eq!(refused, Err(lost));
}

#[test]
fn a_family_ends_with_its_session_unless_it_is_offline() {
    let session = Requirement::live::<Session>("session");
    let account = || Requirement::live::<Account>("ana");
    for (scope, expected) in
        [("openid", vec![session, account()]), ("openid offline_access", vec![account()])]
    {
        let mut family = TokenFamily::default();
        let begin =
            Begin { grant: Grant { audience: Audience::Issuer, ..grant(scope) }, ..begin(scope) };
        assert!(ask(&mut family, &Command::Begin(Box::new(begin)), NOW).is_ok());
        let redeem = Redeem { issuing: issuing("r1").within(limits(&[])), ..redeem() };
        let decision = family.decide(&Command::Redeem(Box::new(redeem)), NOW);
        assert_eq!(decision.effects.requirements, expected, "{scope}");
    }
}

#[test]
fn only_its_client_gives_a_family_back() {
    let mut family = alive();
    let revoke = |client_id: &str| Command::Revoke { client_id: client_id.to_owned() };
    assert_eq!(ask(&mut family, &revoke("eve"), NOW), Err(Refusal::WrongClient));
    assert_eq!(ask(&mut family, &revoke("app"), NOW), Ok(Reply::Revoked));
    assert_eq!(ask(&mut family, &revoke("app"), NOW), Ok(Reply::Revoked), "again is no change");
    assert_eq!(refreshed(&mut family, refresh("r1", "r2"), NOW), Err(Refusal::Ended));
}

#[test]
fn without_a_refresh_token_a_family_lives_as_long_as_its_access_token() {
    let mut family = pending();
    assert!(redeemed(&mut family, Redeem { refreshable: false, ..redeem() }).is_ok());
    assert_eq!(family.live_until(), NOW + LIFETIMES.access_token);
    assert_eq!(refreshed(&mut family, refresh("r1", "r2"), NOW), Err(Refusal::Unknown));
}
