//! People hear of sign-ins from another device or place, and say that it was not them (adr/0141, adr/0142).

use crate::{
    account_states::try_to,
    http::Answer,
    mails::{code, link, mails, names, wait_for},
    person::{PASSWORD, parameter, text},
    place_database::{LISBON, SYDNEY, place_database},
    recovery::{NEW, sign_in_with},
    shared::eventually,
    support::{TestOptions, TestServer},
    tab::Tab,
};
use hyper::Method;
use porteiro::{domain::Clock as _, geo::GeoDatabase, provisioning::SuspensionChange};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub const ANA: &str = "ana@acme.test";
pub const LAPTOP: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0";
const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5) Safari/604.1";

pub fn usual() -> TestOptions {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let keys_every = Duration::from_hours(1);
    TestOptions { mailbox: true, screens: true, proxies, keys_every, ..TestOptions::default() }
}

/// A database that knows Lisbon and Sydney, at the time of a test.
pub fn places() -> Arc<GeoDatabase> {
    let now = crate::shared::TestClock::new().now();
    let file = tempfile::NamedTempFile::new().unwrap();
    let built = u64::try_from(now.seconds()).unwrap();
    std::fs::write(file.path(), place_database(built, &[LISBON, SYDNEY])).unwrap();
    Arc::new(GeoDatabase::open(file.path(), now))
}

/// Signs a program in that calls itself so, from this address.
pub async fn from(server: &TestServer, agent: &str, address: &str) -> String {
    let headers = [("user-agent", agent), ("x-forwarded-for", address)];
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &headers).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    let named = json!({ "identifier": ANA });
    server.post_json(&path("identifier"), &named, &headers).await;
    let password = json!({ "password": PASSWORD });
    let done = server.post_json(&path("password"), &password, &headers).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    text(&done.json()["result"]["session_token"]).to_owned()
}

pub async fn me(server: &TestServer, session: &str, path: &str) -> Answer {
    let request = server.request(Method::GET, path).header("x-session-token", session);
    server.send(request.body(bytes::Bytes::new().into()).unwrap()).await
}

/// The token of an alert's link.
pub fn token(mail: &Value) -> String {
    let link = link(mail);
    assert_eq!(link.path(), "/report", "{link}");
    parameter(&link, "token").expect("a token")
}

pub async fn report(server: &TestServer, token: &str) -> Answer {
    server.post_json("/flows", &json!({ "kind": "report", "token": token }), &[]).await
}

pub async fn decide(server: &TestServer, flow: &Value, decision: &str) -> Answer {
    server.step(flow, "confirm", json!({ "decision": decision })).await
}

/// Signs in from two devices, and returns both sessions and the alert.
async fn alerted(server: &TestServer) -> (String, String, Value) {
    let first = from(server, LAPTOP, "192.0.2.9").await;
    server.quiet().await;
    assert_eq!(mails(server).await.len(), 0, "the first sign-in alerts no one");
    let second = from(server, PHONE, "192.0.2.9").await;
    let mail = wait_for(server, 1).await.swap_remove(0);
    (first, second, mail)
}

#[tokio::test]
async fn a_new_device_and_an_impossible_journey_are_told_by_mail_and_in_the_history() {
    let server = TestServer::open_in(TestOptions { geo: places(), ..usual() }).await;
    let (_, session, mail) = alerted(&server).await;
    let said = text(&mail["text"]);
    for part in ["Device: Safari on iPhone", "Place: Lisbon, Portugal", "Network: 192.0.2.0/24"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(mail["to"], ANA);
    token(&mail);
    from(&server, PHONE, "192.0.2.77").await;
    server.clock.advance(Duration::from_mins(30));
    from(&server, PHONE, "198.51.100.7").await;
    let mail = wait_for(&server, 2).await.swap_remove(0);
    assert!(text(&mail["subject"]).starts_with("A sign-in from far away"), "{mail}");
    assert!(text(&mail["text"]).contains("Place: Sydney, Australia"), "{mail}");
    let history = me(&server, &session, "/me/history").await.json();
    let rows = history["items"].as_array().unwrap();
    let row = |event: &str| rows.iter().find(|row| row["event"] == event).unwrap();
    let travel = row("sign_in.impossible_travel");
    assert_eq!(travel["detail"]["place"], "Sydney, Australia");
    assert!(travel["detail"]["kilometres"].as_u64().unwrap() > 17_000, "{travel}");
    assert_eq!(row("sign_in.new_device")["detail"]["device"], "Safari, iPhone");
    server.stop().await;
}

#[tokio::test]
async fn a_flood_is_one_mail_and_a_digest_and_wrong_passwords_alert_no_one() {
    let every = Duration::from_millis(50);
    let server = TestServer::open_in(TestOptions { inviter_every: every, ..usual() }).await;
    from(&server, LAPTOP, "192.0.2.9").await;
    sign_in_with(&server, ANA, "a wrong password of some length").await;
    for number in 0..6 {
        from(&server, &format!("agent/{number}"), "192.0.2.9").await;
    }
    server.quiet().await;
    assert_eq!(mails(&server).await.len(), 1);
    server.clock.advance(Duration::from_mins(61));
    let digest = wait_for(&server, 2).await.swap_remove(0);
    assert!(text(&digest["text"]).contains("5 more sign-ins"), "{digest}");
    token(&digest);
    server.stop().await;
}

#[tokio::test]
async fn a_report_ends_everything_and_goes_on_as_a_recovery() {
    let server = TestServer::open_in(usual()).await;
    let (first, second, mail) = alerted(&server).await;
    let scope = "openid offline_access invoices:read";
    let tokens = server.redeem("web", &server.code(&first, "web", scope).await).await.json();
    let flow = report(&server, &token(&mail)).await;
    assert_eq!(flow.status, 201, "{flow:?}");
    let flow = flow.json();
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("report", "confirm"), "{flow}");
    assert_eq!(names(&flow), ["confirm"]);
    assert_eq!(me(&server, &first, "/me").await.status, 200, "a look ends nothing");
    let asked = decide(&server, &flow, "allow").await;
    assert_eq!(asked.status, 200, "{asked:?}");
    let asked = asked.json();
    assert_eq!((text(&asked["kind"]), text(&asked["state"])), ("report", "proof"), "{asked}");
    assert!(!asked.to_string().contains(ANA), "{asked}");
    for session in [&first, &second] {
        assert_eq!(me(&server, session, "/me").await.status, 401);
    }
    let refused = server.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(refused.json()["error"], "invalid_grant", "{refused:?}");
    // The link is no proof: the address must be shown once more to be the person's.
    for step in ["new_password", "passkey/create_options", "confirm"] {
        let body = match step {
            "new_password" => json!({ "password": NEW }),
            "confirm" => json!({ "decision": "allow" }),
            _ => json!({}),
        };
        server.step(&asked, step, body).await.problem(409, "step_not_available");
    }
    let sent = server.step(&asked, "email_code/send", json!({})).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let mut mail = Value::Null;
    eventually("the code", async || {
        let found = mails(&server).await.into_iter();
        mail = found
            .into_iter()
            .find(|one| text(&one["subject"]).contains("recovery code"))
            .unwrap_or_default();
        !mail.is_null()
    })
    .await;
    let proved = server.step(&asked, "email_code", json!({ "code": code(&mail) })).await.json();
    assert_eq!((text(&proved["kind"]), text(&proved["state"])), ("report", "credential"));
    let done = server.step(&proved, "new_password", json!({ "password": NEW })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    sign_in_with(&server, ANA, PASSWORD).await.problem(401, "invalid_credentials");
    assert_eq!(sign_in_with(&server, ANA, NEW).await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn the_link_of_an_alert_is_spent_by_the_decision_alone_and_serves_for_seven_days() {
    let server = TestServer::open_in(usual()).await;
    let (first, _, mail) = alerted(&server).await;
    let token = token(&mail);
    // A mail scanner opens the link in every way that changes nothing.
    let path = format!("/report?token={token}");
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let request = server.request(method, &path).header("purpose", "prefetch");
        let looked = server.send(request.body(bytes::Bytes::new().into()).unwrap()).await;
        assert_eq!(looked.status, 200, "{looked:?}");
    }
    for broken in ["", "x", &token[..token.len() - 2], &"a".repeat(5_000), &format!("{token}A")] {
        report(&server, broken).await.problem(400, "report_not_valid");
    }
    server
        .post_json("/flows", &json!({ "kind": "report" }), &[])
        .await
        .problem(400, "invalid_request");
    let (one, other) = (report(&server, &token).await.json(), report(&server, &token).await.json());
    assert_eq!(me(&server, &first, "/me").await.status, 200);
    let denied = decide(&server, &one, "deny").await.json();
    assert_eq!((text(&denied["state"]), names(&denied)), ("done", vec![]), "{denied}");
    assert_eq!(me(&server, &first, "/me").await.status, 200, "a no changes nothing");
    decide(&server, &other, "allow").await.problem(400, "report_not_valid");
    report(&server, &token).await.problem(400, "report_not_valid");
    assert_eq!(me(&server, &first, "/me").await.status, 200);
    server.clock.advance(Duration::from_mins(61));
    from(&server, "another agent", "192.0.2.9").await;
    let late = self::token(&wait_for(&server, 2).await[0]);
    server.clock.advance(Duration::from_hours(7 * 24) - Duration::from_secs(2));
    assert_eq!(report(&server, &late).await.status, 201);
    server.clock.advance(Duration::from_secs(3));
    report(&server, &late).await.problem(400, "report_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn a_former_address_ends_everything_and_gets_no_account_and_a_suspended_one_reports_nothing()
{
    let server = TestServer::open_in(usual()).await;
    let session = server.sign_in(ANA).await;
    let headers = [("x-session-token", session.as_str())];
    let asked = json!({ "email": "thief@evil.test" });
    assert_eq!(server.post_json("/me/email", &asked, &headers).await.status, 202);
    let both = wait_for(&server, 2).await;
    let to = |address: &str| both.iter().find(|mail| mail["to"] == address).unwrap();
    let proof = json!({ "code": code(to("thief@evil.test")) });
    assert_eq!(server.post_json("/me/email/confirm", &proof, &headers).await.status, 204);
    let changed = wait_for(&server, 3).await.swap_remove(0);
    assert_eq!(changed["to"], ANA, "the former address is told: {changed}");
    let (before, after) = (token(to(ANA)), token(&changed));
    let flow = report(&server, &after).await.json();
    let ended = decide(&server, &flow, "allow").await.json();
    assert_eq!((text(&ended["state"]), names(&ended)), ("identify", vec!["identifier"]), "{ended}");
    assert_eq!(me(&server, &session, "/me").await.status, 401);
    // The former address names no account any more, and is sent nothing.
    let count = mails(&server).await.len();
    server.step(&ended, "identifier", json!({ "identifier": ANA })).await;
    assert_eq!(server.step(&ended, "email_code/send", json!({})).await.status, 200);
    server.quiet().await;
    assert_eq!(mails(&server).await.len(), count);
    try_to(&server, SuspensionChange::Suspend, "thief@evil.test").await.unwrap();
    report(&server, &before).await.problem(400, "report_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn the_page_of_a_report_asks_before_it_does_anything() {
    let server = TestServer::open_in(usual()).await;
    let mut laptop = Tab::new(&server);
    let page = laptop.open("/sign-in").await;
    let page = laptop.step(&page, "identifier", &[("identifier", ANA)]).await;
    laptop.step(&page, "password", &[("password", PASSWORD)]).await;
    let mut phone = Tab::new(&server);
    let page = phone.open("/sign-in").await;
    let page = phone.step(&page, "identifier", &[("identifier", ANA)]).await;
    phone.step(&page, "password", &[("password", PASSWORD)]).await;
    let mail = wait_for(&server, 1).await.swap_remove(0);
    let path = format!("/report?token={}", token(&mail));
    let mut other = Tab::new(&server);
    let page = other.open(&path).await;
    page.is(200, "Was this not you?");
    let page = other.step(&page, "confirm", &[("decision", "allow")]).await;
    assert!(page.address.starts_with("/report?flow="), "{page:?}");
    assert!(laptop.open("/account").await.text.contains("name=\"identifier\""), "signed out");
    other.open(&path).await.is(400, "This link cannot be used");
    let mut portuguese = Tab { language: "pt", ..Tab::new(&server) };
    portuguese.open(&path).await.is(400, "Este link não pode ser usado");
    assert_eq!(other.open("/report").await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn without_a_page_of_ours_an_alert_leads_to_the_link_that_is_set_or_nowhere() {
    let options = TestOptions { screens: false, ..usual() };
    let server = TestServer::open_in(options).await;
    let (_, _, mail) = alerted(&server).await;
    assert!(!text(&mail["text"]).contains("http"), "{mail}");
    let (missing, never) = (server.get("/report").await, server.get("/never").await);
    assert_eq!((missing.status, missing.body), (never.status, never.body));
    server.stop().await;
    let page = Some("https://app.example.com/not-me".parse().unwrap());
    let links = porteiro::http::Links { report: page, ..porteiro::http::Links::default() };
    let server = TestServer::open_in(TestOptions { screens: false, links, ..usual() }).await;
    let (_, _, mail) = alerted(&server).await;
    let link = link(&mail);
    assert_eq!((link.host_str(), link.path()), (Some("app.example.com"), "/not-me"));
    let token = parameter(&link, "token").unwrap();
    assert_eq!(report(&server, &token).await.status, 201);
    server.stop().await;
}
