//! Mails about roles, keys, agents and credentials: a flood of them is one, each way to let an agent in is told, and what
//! the history says is what the mail says (adr/0153).

use crate::{
    alerts::{ANA, LAPTOP, decide, from, me, places, report, token, usual},
    api_caller::{Api, DIRECTORY, EVERYTHING},
    browser::Browser,
    ciba, device,
    mails::{code, mails, prove_by_mail, wait_for},
    operator_recovery::{self, issued},
    person::{PASSWORD, text},
    recovery::{NEW, choose},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    provisioning::{SignOutScope, sign_out},
    system::Workbench,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const BRUNO: &str = "bruno@acme.test";

/// An agent that comes in every way there is.
const AGENT: &str = r#"
[[client]]
client_id = "helper"
client_name = "Helper"
client_secret = "a-secret-of-more-than-thirty-two-characters"
redirect_uris = ["https://helper.example.com/cb"]
grant_types = ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code", "urn:openid:params:grant-type:ciba"]
[client.agent]
purpose = "Pays invoices"
expires_at = "2100-01-01T00:00:00Z"
"#;

/// The mails to one address, the newest first.
async fn mails_to(server: &TestServer, address: &str) -> Vec<Value> {
    server.quiet().await;
    let all = mails(server).await.into_iter();
    all.filter(|mail| mail["to"] == address).collect()
}

fn subjects(mails: &[Value]) -> Vec<&str> {
    mails.iter().map(|mail| text(&mail["subject"])).collect()
}

/// The path of a member of acme.
async fn member(rita: &Api<'_>, email: &str) -> String {
    let listed = rita.get("/api/organizations/acme/members").await.json();
    let items = listed["items"].as_array().unwrap().iter();
    let one = items.into_iter().find(|one| one["email"] == email).unwrap();
    format!("/api/organizations/acme/members/{}", text(&one["id"]))
}

#[tokio::test]
async fn an_administrator_who_gives_and_takes_roles_fills_no_mailbox() {
    let every = Duration::from_millis(50);
    let options = TestOptions { inviter_every: every, rates: None, geo: places(), ..usual() };
    let server = TestServer::open_in(options).await;
    server.apply(DIRECTORY).await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let bruno = member(&rita, BRUNO).await;
    for _ in 0..10 {
        for roles in [json!(["clerk", "auditor"]), json!(["clerk"])] {
            let set = rita.change(Method::PATCH, &bruno, Some(&json!({ "roles": roles }))).await;
            assert_eq!(set.status, 200, "{set:?}");
        }
    }
    let told = mails_to(&server, BRUNO).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(subjects(&told)[0].starts_with("You have a new role at localhost"), "{told:?}");
    let said = text(&told[0]["text"]);
    assert!(said.contains("By: the administrators of the organization"), "{said}");
    assert!(!said.contains("Network:") && !said.contains("Place:"), "where Rita is: {said}");
    server.clock.advance(Duration::from_mins(61));
    let digest = wait_for(&server, 2).await.swap_remove(0);
    assert_eq!(digest["to"], BRUNO, "{digest}");
    assert!(text(&digest["text"]).contains("9 more changes of your account"), "{digest}");
    token(&digest);
    server.stop().await;
}

#[tokio::test]
async fn a_stolen_session_that_makes_keys_fills_no_mailbox_and_hides_no_other_change() {
    let server = TestServer::open_in(TestOptions { rates: None, ..usual() }).await;
    server.apply(DIRECTORY).await;
    let rita = Api::of(&server, "rita@acme.test", "apikeys:write apikeys:read audit:read").await;
    for number in 0..12 {
        let asked = json!({ "name": number.to_string(), "permissions": ["audit:read"] });
        let made = rita.post("/api/organizations/acme/apikeys", &asked).await;
        assert_eq!(made.status, 201, "{made:?}");
    }
    let told = mails_to(&server, "rita@acme.test").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(subjects(&told)[0].starts_with("An API key was made in your name at localhost"));
    // What is worse is told at once.
    let session = server.sign_in("rita@acme.test").await;
    let request = server.request(Method::PUT, "/me/password").header("x-session-token", &session);
    let request = request.header("content-type", "application/json");
    let set =
        server.send(request.body(json!({ "password": NEW }).to_string().into()).unwrap()).await;
    assert_eq!(set.status, 200, "{set:?}");
    let told = mails_to(&server, "rita@acme.test").await;
    assert!(subjects(&told)[0].contains("password"), "{told:?}");
    assert_eq!(told.len(), 2, "{told:?}");
    server.stop().await;
}

#[tokio::test]
async fn an_agent_is_told_of_whichever_way_it_is_let_in() {
    let server = TestServer::open_in(TestOptions { rates: None, ..usual() }).await;
    server.apply(&format!("{}{AGENT}", ciba::TYPES)).await;
    let (mut told, expected) = (0, "An agent may act for you at localhost");
    let mut hears = async |way: &str| {
        told += 1;
        let mut mails = mails_to(&server, ANA).await;
        mails.retain(|mail| text(&mail["subject"]).starts_with(expected));
        assert_eq!(mails.len(), told, "{way}: {mails:?}");
        let said = text(&mails[0]["text"]);
        assert!(said.contains("“Helper”"), "{way}: {said}");
        token(&mails[0]);
        server.clock.advance(Duration::from_mins(61));
    };
    // With their consent.
    let session = server.sign_in(ANA).await;
    let flow = server.authorize_in(&session, "helper", &[("scope", "openid")]).await.json();
    assert_eq!(flow["state"], "consent", "{flow}");
    let allow = json!({ "decision": "allow" });
    let done = server.step_in(&session, &flow, "consent", allow.clone()).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    hears("consent").await;
    // By the code of a device.
    let codes = device::start(*server, "helper", &[("scope", "openid")]).await;
    device::allow(*server, &codes.user, ANA).await;
    hears("device").await;
    // By approving what it asks by a back channel: in a session, and in a flow.
    ciba::start(*server, "helper", ANA, &[]).await;
    let session = server.sign_in(ANA).await;
    ciba::say(&server, &session, "approve").await;
    hears("approval").await;
    let headers = [("x-session-token", session.as_str())];
    ciba::start(*server, "helper", ANA, &[]).await;
    let flow = server.post_json("/flows", &json!({ "kind": "approval" }), &headers).await.json();
    assert_eq!(flow["state"], "confirm", "{flow}");
    let done = server.step_in(&session, &flow, "confirm", allow).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    hears("approval in a flow").await;
    // A no lets no agent in.
    ciba::start(*server, "helper", ANA, &[]).await;
    ciba::say(&server, &session, "deny").await;
    let mails = mails_to(&server, ANA).await;
    let agents = subjects(&mails).into_iter().filter(|subject| subject.starts_with(expected));
    assert_eq!(agents.count(), told, "{mails:?}");
    server.stop().await;
}

async fn end_sessions(server: &TestServer, scope: SignOutScope<'_>) {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    let workbench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
    sign_out(&workbench, scope, "ticket 4711").await.unwrap();
    workbench.close().await;
}

#[tokio::test]
async fn a_device_that_was_known_is_new_after_a_report_a_recovery_and_the_end_of_all_sessions() {
    let server = TestServer::open_in(TestOptions { rates: None, ..usual() }).await;
    let mut thief = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(thief.password(ANA, PASSWORD).await.json()["state"], "done");
    let mut told = 0;
    for end in ["account", "everyone", "recovery", "report"] {
        let mut alert = Value::Null;
        match end {
            "account" => end_sessions(&server, SignOutScope::Account(ANA)).await,
            "everyone" => end_sessions(&server, SignOutScope::Everyone).await,
            "recovery" => {
                let token = issued(&server, ANA).await;
                let begun = operator_recovery::begun(&server, &token).await;
                let body = json!({ "password": PASSWORD });
                let done = server.step(&begun, "new_password", body).await;
                assert_eq!(done.json()["state"], "done", "{done:?}");
            }
            _ => {
                let all = mails_to(&server, ANA).await.into_iter();
                let is_alert = |mail: &Value| text(&mail["subject"]).starts_with("A new device");
                alert = all.into_iter().find(is_alert).unwrap();
                let flow = report(&server, &token(&alert)).await.json();
                assert_eq!(decide(&server, &flow, "allow").await.json()["state"], "proof");
            }
        }
        // More than an hour later, so that nothing is folded.
        server.clock.advance(Duration::from_mins(61));
        thief.forget_session();
        assert_eq!(thief.password(ANA, PASSWORD).await.json()["state"], "done", "{end} {alert}");
        told += 1;
        let all = mails_to(&server, ANA).await;
        let alerts = subjects(&all).iter().filter(|one| one.starts_with("A new device")).count();
        assert_eq!(alerts, told, "{end}: {all:?}");
        thief.forget_session();
        assert_eq!(thief.password(ANA, PASSWORD).await.json()["state"], "done");
        server.quiet().await;
    }
    let all = mails_to(&server, ANA).await;
    let alerts = subjects(&all).iter().filter(|one| one.starts_with("A new device")).count();
    assert_eq!(alerts, told, "and known once it has signed in again");
    server.stop().await;
}

#[tokio::test]
async fn the_link_of_an_operator_outlives_a_report_that_a_thief_decides() {
    let server = TestServer::open_in(TestOptions { rates: None, ..usual() }).await;
    from(&server, LAPTOP, "192.0.2.9").await;
    from(&server, "another agent", "192.0.2.9").await;
    let old = token(&wait_for(&server, 1).await[0]);
    let link = issued(&server, ANA).await;
    // The person has begun with it when the holder of an old mail says that it was not them.
    let begun = operator_recovery::begun(&server, &link).await;
    let flow = report(&server, &old).await.json();
    assert_eq!(decide(&server, &flow, "allow").await.status, 200);
    choose(&server, &begun).await.problem(409, "account_changed");
    let again = operator_recovery::begun(&server, &link).await;
    assert_eq!(choose(&server, &again).await.json()["state"], "done");
    crate::recovery::sign_in_with(&server, ANA, PASSWORD).await.problem(401, "invalid_credentials");
    let done = crate::recovery::sign_in_with(&server, ANA, NEW).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_report_takes_yes_and_no_and_nothing_else() {
    let server = TestServer::open_in(usual()).await;
    let session = from(&server, LAPTOP, "192.0.2.9").await;
    from(&server, "another agent", "192.0.2.9").await;
    let token = token(&wait_for(&server, 1).await[0]);
    let flow = report(&server, &token).await.json();
    for wrong in ["block", "approve", "", "ALLOW"] {
        decide(&server, &flow, wrong).await.problem(400, "invalid_request");
    }
    let body = json!({ "identifier": ANA, "decision": "allow" });
    for step in ["block", "deny", "skip", "consent", "email_code/send", "identifier"] {
        let refused = server.step(&flow, step, body.clone()).await;
        assert!([404, 409].contains(&refused.status.as_u16()), "{step}: {refused:?}");
    }
    assert_eq!(me(&server, &session, "/me").await.status, 200);
    assert_eq!(report(&server, &token).await.status, 201, "the link is not spent");
    assert_eq!(decide(&server, &flow, "deny").await.json()["state"], "done");
    server.stop().await;
}

#[tokio::test]
async fn the_history_names_device_and_place_of_every_row_as_the_mail_does() {
    let server = TestServer::open_in(TestOptions { geo: places(), ..usual() }).await;
    let session = from(&server, LAPTOP, "192.0.2.9").await;
    let headers = [
        ("x-session-token", session.as_str()),
        ("user-agent", LAPTOP),
        ("x-forwarded-for", "198.51.100.7"),
    ];
    let begun = server.post_json("/flows", &json!({ "kind": "enroll_totp" }), &headers).await;
    let flow = begun.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    let options = server.post_json(&path("totp/options"), &json!({}), &headers).await.json();
    let secret = text(&options["secret"]).to_owned();
    let now = porteiro::domain::Clock::now(&*server.clock);
    let body = json!({ "code": crate::authenticator::Authenticator::new(&secret).code(now) });
    let done = server.post_json(&path("totp"), &body, &headers).await;
    assert_eq!(done.status, 200, "{done:?}");
    let mail = wait_for(&server, 1).await.swap_remove(0);
    let said = text(&mail["text"]);
    let history = me(&server, &session, "/me/history").await.json();
    let rows = history["items"].as_array().unwrap();
    let row = rows.iter().find(|row| row["event"] == "credential.totp_enrolled").unwrap();
    for (line, member) in
        [("Place: Sydney, Australia", "place"), ("Device: Firefox on Linux", "device")]
    {
        assert!(said.contains(line), "{line}: {said}");
        assert!(row["detail"][member].is_string(), "{row}");
    }
    assert_eq!(row["detail"]["place"], "Sydney, Australia");
    assert_eq!(row["detail"]["device"], "Firefox, Linux");
    assert_eq!(row["address"], "198.51.100.7");
    // A recovery names it as well.
    let flow =
        server.post_json("/flows", &json!({ "kind": "recovery" }), &headers[1..]).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    server.post_json(&path("identifier"), &json!({ "identifier": ANA }), &headers[1..]).await;
    server.post_json(&path("email_code/send"), &json!({}), &headers[1..]).await;
    let right = json!({ "code": code(&wait_for(&server, 2).await[0]) });
    server.post_json(&path("email_code"), &right, &headers[1..]).await;
    let mail = wait_for(&server, 3).await.swap_remove(0);
    assert!(text(&mail["text"]).contains("Place: Sydney, Australia"), "{mail}");
    server.stop().await;
}

#[tokio::test]
async fn a_hundred_recoveries_send_few_mails_and_the_person_recovers_all_the_same() {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let options = TestOptions { mailbox: true, proxies, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let mut answered = 0;
    for number in 0..100 {
        let address = format!("198.51.100.{number}");
        let headers = [("x-forwarded-for", address.as_str())];
        let begun = server.post_json("/flows", &json!({ "kind": "recovery" }), &headers).await;
        assert!([201, 429].contains(&begun.status.as_u16()), "{begun:?}");
        if begun.status == 429 {
            continue;
        }
        let flow = begun.json();
        let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
        let named = json!({ "identifier": ANA });
        server.post_json(&path("identifier"), &named, &headers).await;
        let sent = server.post_json(&path("email_code/send"), &json!({}), &headers).await;
        assert!([200, 429].contains(&sent.status.as_u16()), "{sent:?}");
        answered += usize::from(sent.status == 200);
    }
    let all = mails_to(&server, ANA).await;
    assert_eq!(all.len(), answered, "a code each, and nothing before one was right: {all:?}");
    assert!(answered <= 20, "{answered} mails to one address");
    // No one was signed out, and none of the hundred is in the way.
    server.clock.advance(Duration::from_hours(24));
    let flow = crate::mails::begin(&server, "recovery").await;
    server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
    let proved = prove_by_mail(&server, &flow).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");
    assert_eq!(choose(&server, &proved).await.json()["state"], "done");
    server.stop().await;
}

/// An account whose address is about to be changed by a thief: their session, and the code that went to them.
async fn proposed(server: &TestServer, to: &str) -> (String, String) {
    let session = from(server, LAPTOP, "192.0.2.9").await;
    let headers = [("x-session-token", session.as_str())];
    let asked = server.post_json("/me/email", &json!({ "email": to }), &headers).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    server.quiet().await;
    let mails = mails_to(server, to).await;
    (session, code(&mails[0]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_changes_while_it_is_reported_is_changed_before_or_not_at_all() {
    let server = TestServer::open_in(TestOptions { rates: None, ..usual() }).await;
    let mut address = ANA.to_owned();
    let (mut changed, mut kept) = (0, 0);
    for number in 0..6 {
        let thief = format!("thief{number}@evil.test");
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let done = server.prove(&flow, &address).await.json();
        let session = text(&done["result"]["session_token"]).to_owned();
        let headers = [("x-session-token", session.as_str())];
        let asked = server.post_json("/me/email", &json!({ "email": thief }), &headers).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        let right = json!({ "code": code(&mails_to(&server, &thief).await[0]) });
        let alert = mails_to(&server, &address).await.into_iter();
        let alert = alert.into_iter().find(|mail| text(&mail["text"]).contains("/report?token="));
        let flow = report(&server, &token(&alert.unwrap())).await.json();
        let (confirmed, reported) = tokio::join!(
            server.post_json("/me/email/confirm", &right, &headers),
            decide(&server, &flow, "allow"),
        );
        assert_eq!(reported.status, 200, "{reported:?}");
        // Whichever was first, the session is over and the code is void.
        assert_eq!(me(&server, &session, "/me").await.status, 401);
        match confirmed.status.as_u16() {
            204 => {
                changed += 1;
                address = thief;
            }
            401 | 409 | 422 | 503 => kept += 1,
            _ => panic!("{confirmed:?}"),
        }
        let again = server.post_json("/me/email/confirm", &right, &headers).await;
        assert_eq!(again.status, 401, "{again:?}");
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let done = server.prove(&flow, &address).await;
        assert_eq!(done.json()["state"], "done", "{address}: {done:?}");
        server.clock.advance(Duration::from_mins(61));
    }
    assert_eq!(changed + kept, 6);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_changes_while_the_account_is_recovered_is_changed_before_or_not_at_all() {
    for number in 0..4 {
        let server = TestServer::open_in(TestOptions { rates: None, ..usual() }).await;
        let thief = "thief@evil.test";
        let (session, right) = proposed(&server, thief).await;
        let headers = [("x-session-token", session.as_str())];
        let flow = crate::mails::begin(&server, "recovery").await;
        server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
        let proved = prove_by_mail(&server, &flow).await.json();
        assert_eq!(proved["state"], "credential", "{proved}");
        let right = json!({ "code": right });
        let (confirmed, recovered) = tokio::join!(
            server.post_json("/me/email/confirm", &right, &headers),
            choose(&server, &proved),
        );
        // The person who has proved the former address loses to a change that was first, and wins otherwise.
        let is_changed = confirmed.status == 204;
        let is_recovered = recovered.status == 200;
        assert!(is_changed != is_recovered, "{number}: {confirmed:?} {recovered:?}");
        if is_recovered {
            assert_eq!(me(&server, &session, "/me").await.status, 401);
            let done = crate::recovery::sign_in_with(&server, ANA, NEW).await;
            assert_eq!(done.json()["state"], "done", "{done:?}");
        } else {
            recovered.problem(409, "account_changed");
        }
        let again = server.post_json("/me/email/confirm", &right, &headers).await;
        assert!([401, 422].contains(&again.status.as_u16()), "{again:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn the_link_of_an_alert_that_another_person_opens_is_about_its_own_account() {
    let server = TestServer::open_in(usual()).await;
    from(&server, LAPTOP, "192.0.2.9").await;
    from(&server, "another agent", "192.0.2.9").await;
    let token = token(&wait_for(&server, 1).await[0]);
    // Another person opens it where they are signed in: it is about Ana, and about no session of theirs.
    let bruno = server.sign_in(BRUNO).await;
    let headers = [("x-session-token", bruno.as_str())];
    let body = json!({ "kind": "report", "token": token });
    let begun = server.post_json("/flows", &body, &headers).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    assert!(!flow.to_string().contains(ANA) && !flow.to_string().contains(BRUNO), "{flow}");
    let path = format!("/flows/{}/confirm", text(&flow["id"]));
    let said = server.post_json(&path, &json!({ "decision": "allow" }), &headers).await;
    assert_eq!(said.json()["state"], "proof", "{said:?}");
    assert_eq!(me(&server, &bruno, "/me").await.status, 200, "their own session goes on");
    // And they get nothing of it: what goes on needs a code from Ana's mailbox.
    let refused = server.step(&flow, "new_password", json!({ "password": NEW })).await;
    refused.problem(409, "step_not_available");
    server.stop().await;
}
