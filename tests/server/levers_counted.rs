//! What a lever says that it ends: exactly what was good, neither more nor less, before and after it is pulled (adr/0154).

use crate::{
    api_caller::{Api, DIRECTORY},
    backchannel,
    exchange::AGENTS,
    levers::{WHY, pull, workbench},
    logout::tokens,
    me::delete_in,
    me_connected::consented,
    person::{PASSWORD, parameter, redirect, text},
    support::{TestOptions, TestServer},
};
use porteiro::provisioning::{SignOutCount, SignOutScope, count_sign_out, sign_out};
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const OFFLINE: &str = "openid offline_access invoices:read";
const ONLINE: &str = "openid invoices:read";

async fn open() -> TestServer {
    let options = TestOptions { rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    server.apply(&format!("{DIRECTORY}{AGENTS}")).await;
    server
}

/// Signs in and has a client get tokens in that session.
async fn granted(server: &TestServer, email: &str, scope: &str) -> (String, Value) {
    let session = server.sign_in(email).await;
    let answer = server.redeem("web", &server.code(&session, "web", scope).await).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    (session, answer.json())
}

async fn counted(server: &TestServer, scope: SignOutScope<'_>) -> SignOutCount {
    let workbench = workbench(server).await;
    let count = count_sign_out(&workbench, scope).await.unwrap();
    workbench.close().await;
    count
}

/// Leaves behind much that is over, and returns how much of Ana's is good: sessions and families.
async fn history_of_ana(server: &TestServer) -> SignOutCount {
    // Seven days without use: these sessions have expired, and what was bound to one as well.
    granted(server, ANA, ONLINE).await;
    let (_, outlived) = granted(server, ANA, OFFLINE).await;
    server.clock.advance(Duration::from_hours(8 * 24));
    assert_eq!(server.refresh("web", text(&outlived["refresh_token"])).await.status, 200);
    // Signed out: the offline one lives on.
    let (ended, _) = granted(server, ANA, OFFLINE).await;
    backchannel::end(server, &ended).await;
    let (ended, _) = granted(server, ANA, ONLINE).await;
    backchannel::end(server, &ended).await;
    // Revoked by the client, and by a token that came twice.
    let (revoked, given) = granted(server, ANA, OFFLINE).await;
    let token = [("token", text(&given["refresh_token"]))];
    assert_eq!(server.post_as("web", "/connect/revoke", &token).await.status, 200);
    let (reused, given) = granted(server, ANA, OFFLINE).await;
    for status in [200, 400] {
        let answer = server.refresh("web", text(&given["refresh_token"])).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
    // Withdrawn, and consented to again.
    let (open, given) = granted(server, ANA, ONLINE).await;
    consented(server, &open).await;
    let listed = crate::me::get_in(server, &open, "/me/consents").await.json();
    let of_app = |one: &&Value| one["client"]["client_id"] == "app";
    let app = listed["items"].as_array().unwrap().iter().find(of_app).unwrap().clone();
    let path = format!("/me/consents/{}", text(&app["id"]));
    assert_eq!(delete_in(server, &open, &path).await.status, 204);
    consented(server, &open).await;
    // What was exchanged is held by another client.
    server.exchanged("agent", text(&given["access_token"]), "invoices:read").await;
    for session in [&revoked, &reused, &open] {
        assert_eq!(crate::me::get_in(server, session, "/me").await.status, 200);
    }
    // Open sessions: the three. Families: two offline ones without a session, that of `open`, the second of the app, and
    // what was exchanged.
    SignOutCount { sessions: 3, families: 5 }
}

#[tokio::test]
async fn a_dry_run_of_an_account_counts_what_is_good_among_much_that_is_over() {
    let server = open().await;
    let expected = history_of_ana(&server).await;
    assert_eq!(counted(&server, SignOutScope::Account(ANA)).await, expected);
    assert_eq!(pull(&server, SignOutScope::Account(ANA)).await, expected);
    // What is granted after it counts for the next one alone.
    granted(&server, ANA, OFFLINE).await;
    let next = SignOutCount { sessions: 1, families: 1 };
    assert_eq!(pull(&server, SignOutScope::Account(ANA)).await, next);
    server.stop().await;
}

#[tokio::test]
async fn a_dry_run_of_everyone_counts_what_is_good_among_much_that_is_over() {
    let server = open().await;
    let of_ana = history_of_ana(&server).await;
    granted(&server, "rita@acme.test", OFFLINE).await;
    server.sign_in("clara@nowhere.test").await;
    let expected = SignOutCount { sessions: of_ana.sessions + 2, families: of_ana.families + 1 };
    assert_eq!(counted(&server, SignOutScope::Everyone).await, expected);
    assert_eq!(pull(&server, SignOutScope::Everyone).await, expected);
    server.stop().await;
}

#[tokio::test]
async fn a_dry_run_of_an_organization_counts_members_and_administrators_of_all_organizations() {
    let server = open().await;
    let of_ana = history_of_ana(&server).await;
    // What speaks for another organization, or for none, stays.
    let bruno = server.sign_in("bruno@acme.test").await;
    let scope = "openid offline_access";
    let asked = [("scope", scope), ("prompt", "none"), ("organization", "other")];
    let elsewhere = redirect(&server.authorize_in(&bruno, "web", &asked).await);
    let code = parameter(&elsewhere, "code").unwrap();
    let elsewhere = server.redeem("web", &code).await.json();
    // No member, who may speak for each organization.
    server.administers("olga@operator.test", true).await;
    let scope = "openid offline_access organizations:administer organizations:read";
    let mut olga = Api::of_organization(&server, "olga@operator.test", scope, "acme").await;
    olga.reason = Some(WHY);
    assert_eq!(olga.get("/api/organizations/acme").await.status, 200);
    // Ana's three, Bruno's, and Olga's.
    let expected = SignOutCount { sessions: of_ana.sessions + 2, families: of_ana.families + 1 };
    assert_eq!(counted(&server, SignOutScope::Organization("acme")).await, expected);
    assert_eq!(pull(&server, SignOutScope::Organization("acme")).await, expected);
    assert_eq!(olga.get("/api/organizations/acme").await.status, 401);
    assert_eq!(server.refresh("web", text(&elsewhere["refresh_token"])).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn the_sessions_of_an_account_end_in_one_commit_that_tells_their_clients() {
    let (server, receiver) = backchannel::open().await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let session = server.sign_in(ANA).await;
        tokens(&server, &session, "web").await;
        sessions.push(session);
    }
    let ended_before = server.sign_in(ANA).await;
    tokens(&server, &ended_before, "web").await;
    backchannel::end(&server, &ended_before).await;
    receiver.token(1).await;
    let workbench = workbench(&server).await;
    let before = workbench.store().report().commits;
    let ended = sign_out(&workbench, SignOutScope::Account(ANA), WHY).await.unwrap();
    assert_eq!(workbench.store().report().commits - before, 1, "{ended:?}");
    workbench.close().await;
    assert_eq!(ended, SignOutCount { sessions: 3, families: 3 });
    receiver.token(4).await;
    server.quiet().await;
    assert_eq!(receiver.count(), 4, "each session once, and none that had ended before");
    for session in &sessions {
        assert_eq!(crate::me::get_in(&server, session, "/me").await.status, 401);
    }
    // A session that begins after it is none of those that have ended.
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
    let done = server.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    let session = text(&done["result"]["session_token"]);
    assert_eq!(crate::me::get_in(&server, session, "/me").await.status, 200);
    server.stop().await;
}
