use super::*;
use crate::domain::{
    assurance::{Level, Method},
    authority::{Audience, Permission, Permissions, Scopes, Widening},
    grant::{Held, Limits, Seat},
};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const DAY: Duration = Duration::from_hours(24);

fn scopes(text: &str) -> Scopes {
    Scopes::parse(text).unwrap()
}

fn fingerprint(secret: &str) -> Fingerprint {
    Fingerprint::of(secret.as_bytes())
}

fn grant(scope: &str) -> Grant {
    Grant {
        client_id: "app".to_owned(),
        account: "ana".to_owned(),
        session: "session".to_owned(),
        seat: Some(Seat { membership: "m1".to_owned(), organization: "acme".to_owned(), epoch: 0 }),
        audience: Audience::Resource("api:invoices".to_owned()),
        scopes: scopes(scope),
        authenticated_at: NOW,
        level: Level::Aal1,
        methods: vec![Method::Password],
    }
}

/// What a clerk of Acme holds.
fn limits(permissions: &[&str]) -> Limits {
    let held: Vec<Permission> = permissions.iter().map(|p| Permission::parse(p).unwrap()).collect();
    let permissions: Permissions = held.iter().collect();
    Limits {
        ceiling: None,
        held: Some(Held { organization: "acme".to_owned(), permissions }),
        offered: vec!["invoices:read".to_owned(), "invoices:write".to_owned()],
    }
}

const LIFETIMES: Lifetimes = Lifetimes {
    access_token: Duration::from_mins(5),
    refresh_idle: Duration::from_hours(14 * 24),
    refresh_ceiling: Duration::from_hours(30 * 24),
};

fn begin(scope: &str) -> Begin {
    Begin {
        grant: grant(scope),
        code: fingerprint("code"),
        code_lives: Duration::from_mins(1),
        redirect_uri: "https://app.example/cb".to_owned(),
        challenge: fingerprint("verifier"),
        nonce: Some("n".to_owned()),
        requirements: Vec::new(),
    }
}

fn redeem() -> Redeem {
    Redeem {
        code: fingerprint("code"),
        client_id: "app".to_owned(),
        redirect_uri: Some("https://app.example/cb".to_owned()),
        verifier: Some(fingerprint("verifier")),
        said: Repeated::default(),
        refresh: Some(fingerprint("r1")),
        limits: limits(&["invoices:*"]),
        requirements: Vec::new(),
        lifetimes: LIFETIMES,
    }
}

fn refresh(token: &str, next: &str) -> Refresh {
    Refresh {
        token: fingerprint(token),
        client_id: "app".to_owned(),
        said: Repeated::default(),
        next: fingerprint(next),
        limits: limits(&["invoices:*"]),
        requirements: Vec::new(),
        lifetimes: LIFETIMES,
    }
}

fn only(scopes: Scopes) -> Repeated {
    Repeated { scopes: Some(scopes), ..Repeated::default() }
}

const SCOPE: &str = "openid invoices:read invoices:write";

fn pending() -> TokenFamily {
    let mut family = TokenFamily::default();
    assert_eq!(ask(&mut family, &Command::Begin(Box::new(begin(SCOPE))), NOW), Ok(Reply::Begun));
    family
}

fn ask(family: &mut TokenFamily, command: &Command, now: Timestamp) -> Result<Reply, Refusal> {
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
    assert_eq!((issue.nonce.as_deref(), issue.granted.organization()), (Some("n"), Some("acme")));
    assert_eq!(redeemed(&mut family, redeem()), Err(Refusal::Replayed));
    assert_eq!(family.live_until(), Timestamp::NEVER);
    assert_eq!(refreshed(&mut family, refresh("r1", "r2"), NOW), Err(Refusal::Ended));
    assert_eq!(redeemed(&mut family, redeem()), Err(Refusal::Ended));
}

#[test]
fn a_replay_ends_the_family_whoever_presents_the_code_and_is_recorded() {
    let family = alive();
    let thief = Redeem { client_id: "eve".to_owned(), verifier: None, ..redeem() };
    let decision = family.decide(&Command::Redeem(Box::new(thief)), NOW + 20 * DAY);
    assert_eq!(decision.outcome, Err(Refusal::Replayed));
    assert_eq!(decision.effects.records[0].event, "authorization_code.replayed");
    assert_eq!(decision.effects.records[0].organization.as_deref(), Some("acme"));
}

#[test]
fn a_code_is_bound_to_its_client_its_redirect_uri_and_its_challenge() {
    let mut family = pending();
    for (wrong, why) in [
        (Redeem { client_id: "eve".to_owned(), ..redeem() }, Refusal::WrongClient),
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
fn a_refresh_token_works_once_and_its_reuse_ends_the_family() {
    let mut family = alive();
    let issue = issued(refreshed(&mut family, refresh("r1", "r2"), NOW));
    assert_eq!(issue.nonce, None, "only the first ID token repeats it");
    assert!(refreshed(&mut family, refresh("r2", "r3"), NOW).is_ok());
    let decision = family.decide(&Command::Refresh(Box::new(refresh("r1", "x"))), NOW);
    assert_eq!(decision.effects.records[0].event, "refresh_token.reused");
    assert_eq!(refreshed(&mut family, refresh("r1", "x"), NOW), Err(Refusal::Reused));
    assert_eq!(refreshed(&mut family, refresh("r3", "r4"), NOW), Err(Refusal::Ended));
    assert_eq!(family.live_until(), Timestamp::NEVER);
}

#[test]
fn reuse_is_seen_before_anything_else_is_complained_of() {
    let mut family = alive();
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
    let thief = Refresh {
        client_id: "eve".to_owned(),
        said: only(scopes("accounts:write")),
        limits: Limits::default(),
        ..refresh("r1", "x")
    };
    assert_eq!(refreshed(&mut family, thief, NOW + 20 * DAY), Err(Refusal::Reused));
}

#[test]
fn reuse_is_seen_whatever_nonsense_comes_with_it() {
    let said = |said: Repeated| Refresh { said, ..refresh("r1", "x") };
    let target = Some(Audience::Issuer);
    for thief in [
        said(Repeated { nonsense: Some(Nonsense::Scope), ..Repeated::default() }),
        said(Repeated { nonsense: Some(Nonsense::Target), ..Repeated::default() }),
        said(Repeated { audience: target, ..Repeated::default() }),
        said(Repeated { organization: Some("other".to_owned()), ..Repeated::default() }),
    ] {
        let mut family = alive();
        assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
        assert_eq!(refreshed(&mut family, thief, NOW), Err(Refusal::Reused));
    }
}

#[test]
fn nothing_but_the_scopes_of_a_grant_can_be_asked_for_otherwise() {
    let mut family = pending();
    let organization = Some("other".to_owned());
    let other = Repeated { organization, ..Repeated::default() };
    let refused = redeemed(&mut family, Redeem { said: other.clone(), ..redeem() });
    assert_eq!(refused, Err(Refusal::OtherOrganization));
    let mut family = alive();
    let refused = refreshed(&mut family, Refresh { said: other, ..refresh("r1", "r2") }, NOW);
    assert_eq!(refused, Err(Refusal::OtherOrganization));
    let other = Repeated { audience: Some(Audience::Issuer), ..Repeated::default() };
    let refused = refreshed(&mut family, Refresh { said: other, ..refresh("r1", "r2") }, NOW);
    assert_eq!(refused, Err(Refusal::OtherAudience));
    let same = Repeated {
        audience: Some(Audience::Resource("api:invoices".to_owned())),
        organization: Some("acme".to_owned()),
        ..Repeated::default()
    };
    assert!(refreshed(&mut family, Refresh { said: same, ..refresh("r1", "r2") }, NOW).is_ok());
}

#[test]
fn whoever_named_an_api_and_no_scope_of_it_gets_in_with_what_they_hold() {
    let mut family = TokenFamily::default();
    let begun = Begin { grant: grant("openid"), ..begin("openid") };
    assert!(ask(&mut family, &Command::Begin(Box::new(begun)), NOW).is_ok());
    assert!(redeemed(&mut family, redeem()).is_ok());
    let gone = Refresh { limits: limits(&["orders:read"]), ..refresh("r1", "r2") };
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
    let eve = Refresh { client_id: "eve".to_owned(), ..refresh("r1", "r2") };
    assert_eq!(refreshed(&mut family, eve, NOW), Err(Refusal::WrongClient));
    assert!(refreshed(&mut family, refresh("r1", "r2"), NOW).is_ok());
}

#[test]
fn scope_may_shrink_on_request_and_never_grow() {
    let mut family = alive();
    let narrower = Refresh { said: only(scopes("invoices:read")), ..refresh("r1", "r2") };
    let issue = issued(refreshed(&mut family, narrower, NOW));
    assert_eq!(issue.granted.scopes(), &scopes("invoices:read"));
    let wider = Refresh { said: only(scopes("openid email")), ..refresh("r2", "r3") };
    let beyond = Refusal::Widening(Widening::BeyondGrant { scope: "email".to_owned() });
    assert_eq!(refreshed(&mut family, wider, NOW), Err(beyond));
    let all = issued(refreshed(&mut family, refresh("r2", "r3"), NOW));
    assert_eq!(all.granted.scopes(), &scopes(SCOPE), "the grant itself has not shrunk");
}

#[test]
fn what_roles_no_longer_cover_is_refused_and_not_trimmed() {
    let mut family = alive();
    let fewer = Refresh { limits: limits(&["invoices:read"]), ..refresh("r1", "r2") };
    let lost = Refusal::Widening(Widening::NotConferred { scope: "invoices:write".to_owned() });
    assert_eq!(refreshed(&mut family, fewer, NOW), Err(lost));
    let gone = Refresh { limits: Limits { held: None, ..limits(&[]) }, ..refresh("r1", "r2") };
    let outside = Refusal::Widening(Widening::OtherOrganization);
    assert_eq!(refreshed(&mut family, gone, NOW), Err(outside));
    let less = Refresh {
        limits: limits(&["invoices:read"]),
        said: only(scopes("openid invoices:read")),
        ..refresh("r1", "r2")
    };
    assert!(refreshed(&mut family, less, NOW).is_ok(), "nothing was spent");
}

#[test]
fn a_scope_that_the_api_no_longer_has_is_refused() {
    let mut family = alive();
    let mut limits = limits(&["invoices:*"]);
    limits.offered.pop();
    let lost = Refusal::Widening(Widening::NotOffered { scope: "invoices:write".to_owned() });
    let refused = refreshed(&mut family, Refresh { limits, ..refresh("r1", "r2") }, NOW);
    assert_eq!(refused, Err(lost));
}

#[test]
fn a_family_ends_with_its_session_unless_it_is_offline() {
    let session = Requirement::live::<crate::domain::session::Session>("session");
    let account = || Requirement::live::<crate::domain::account::Account>("ana");
    for (scope, expected) in
        [("openid", vec![session, account()]), ("openid offline_access", vec![account()])]
    {
        let mut family = TokenFamily::default();
        let begin =
            Begin { grant: Grant { audience: Audience::Issuer, ..grant(scope) }, ..begin(scope) };
        assert!(ask(&mut family, &Command::Begin(Box::new(begin)), NOW).is_ok());
        let redeem = Redeem { limits: limits(&[]), ..redeem() };
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
    assert!(redeemed(&mut family, Redeem { refresh: None, ..redeem() }).is_ok());
    assert_eq!(family.live_until(), NOW + LIFETIMES.access_token);
    assert_eq!(refreshed(&mut family, refresh("r1", "r2"), NOW), Err(Refusal::Unknown));
}
