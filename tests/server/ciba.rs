//! CIBA: a client asks, the person decides where they are signed in, the client polls.

use crate::{
    http::Answer,
    me::{delete_in, get_in, records},
    outside::Outside,
    person::{claims, text},
    races::Pair,
    support::{INVOICES, TestOptions, TestServer},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

pub const ANA: &str = "ana@acme.test";
pub const BRUNO: &str = "bruno@acme.test";
pub const CLARA: &str = "clara@nowhere.test";
pub const GRANT: &str = "urn:openid:params:grant-type:ciba";
pub const TRANSFER: &str = r#"[{"type":"transfer","amount":50}]"#;

/// A type of details that cannot be taken back.
pub const TYPES: &str = r#"
[[resource]]
identifier = "https://api.example.com/invoices"
[[resource.authorization_details]]
type = "transfer"
schema = { required = ["amount"] }
permission = "invoices:approve"
irreversible = true
text.en = "Transfer {amount} EUR"
text.pt = "Transferir {amount} EUR"
"#;

/// Clients that may ask anyone, and one that may ask members of Acme.
pub const AGENTS: &str = r#"
[[client]]
client_id = "agent"
client_name = "Agent"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["urn:openid:params:grant-type:ciba", "refresh_token"]

[[client]]
client_id = "rival"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["urn:openid:params:grant-type:ciba"]
trusted = true

[[client]]
client_id = "clerk"
client_secret = "a-secret-of-more-than-thirty-two-characters"
organization = "acme"
grant_types = ["urn:openid:params:grant-type:ciba"]
"#;

pub async fn open() -> TestServer {
    open_in(TestOptions::default()).await
}

pub async fn open_in(options: TestOptions) -> TestServer {
    let server = TestServer::open_in(options).await;
    server.apply(&format!("{TYPES}{AGENTS}")).await;
    server
}

/// Asks for an approval; `openid` where no scope is given.
pub async fn ask(server: Outside, client: &str, email: &str, more: &[(&str, &str)]) -> Answer {
    let mut fields = vec![("login_hint", email)];
    if !more.iter().any(|(name, _)| *name == "scope") {
        fields.push(("scope", "openid"));
    }
    server.post_as(client, "/connect/ciba", &[&fields, more].concat()).await
}

pub async fn start(server: Outside, client: &str, email: &str, more: &[(&str, &str)]) -> String {
    let answer = ask(server, client, email, more).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    text(&answer.json()["auth_req_id"]).to_owned()
}

pub async fn poll(server: Outside, client: &str, id: &str) -> Answer {
    let fields = [("grant_type", GRANT), ("auth_req_id", id)];
    server.post_as(client, "/connect/token", &fields).await
}

pub async fn waiting(server: &TestServer, session: &str) -> Vec<Value> {
    let answer = get_in(server, session, "/me/approvals").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["items"].as_array().unwrap().clone()
}

pub async fn decide(server: Outside, session: &str, id: &str, body: Value) -> Answer {
    let path = format!("/me/approvals/{id}");
    server.post_json(&path, &body, &[("x-session-token", session)]).await
}

/// Decides the one request that waits.
pub async fn say(server: &TestServer, session: &str, decision: &str) {
    let items = waiting(server, session).await;
    let [item] = &items[..] else { panic!("{items:?}") };
    let said = decide(**server, session, text(&item["id"]), json!({ "decision": decision })).await;
    assert_eq!(said.status, 204, "{said:?}");
}

#[tokio::test]
async fn a_person_approves_what_they_are_shown_and_the_client_gets_tokens() {
    let server = open().await;
    let asked = [("scope", "openid invoices:read"), ("binding_message", "Fatura 7 – José")];
    let answer = ask(*server, "agent", ANA, &asked).await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, Some("no-store")));
    let said = answer.json();
    let id = text(&said["auth_req_id"]);
    assert!(id.starts_with("pbr_"), "{said}");
    assert_eq!((&said["expires_in"], &said["interval"]), (&json!(300), &json!(5)));
    poll(*server, "agent", id).await.refused(400, "authorization_pending");
    let session = server.sign_in(ANA).await;
    let items = waiting(&server, &session).await;
    let [item] = &items[..] else { panic!("{items:?}") };
    assert_eq!(item["client"]["client_id"], "agent");
    assert_eq!(item["client"]["client_name"], "Agent");
    assert_eq!(item["binding_message"], "Fatura 7 – José");
    assert_eq!(item["scopes"], json!(["openid", "invoices:read"]));
    assert_eq!((&item["organization"], &item["resource"]), (&json!("acme"), &json!(INVOICES)));
    assert_eq!(item["authorization_details"], json!([]));
    assert!(item["expires_at"].is_string());
    let approve = json!({ "decision": "approve" });
    assert_eq!(decide(*server, &session, text(&item["id"]), approve).await.status, 204);
    assert!(waiting(&server, &session).await.is_empty());
    let tokens = poll(*server, "agent", id).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    let tokens = tokens.json();
    let access = claims(&tokens["access_token"]);
    assert_eq!((&access["org"], &access["role"]), (&json!("acme"), &json!("manager")));
    let id_token = claims(&tokens["id_token"]);
    assert_eq!(id_token["aud"], "agent");
    let of_push = "urn:openid:params:jwt:claim:auth_req_id";
    assert_eq!(id_token.get(of_push), None, "it is for push alone");
    assert_eq!(server.refresh("agent", text(&tokens["refresh_token"])).await.status, 200);
    let [given] = &records(&server, "approval.given").await[..] else { panic!("one") };
    assert_eq!((text(&given["shown"]).len(), &given["asserted"]), (43, &json!(false)));
    // It is good for once; that it comes again ends what came of it.
    poll(*server, "rival", id).await.refused(400, "invalid_grant");
    assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
    poll(*server, "agent", id).await.refused(400, "invalid_grant");
    server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn a_denial_is_heard_and_blocks_the_client_only_where_the_person_says_so() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &[]).await;
    say(&server, &session, "deny").await;
    for _ in 0..3 {
        poll(*server, "agent", &id).await.refused(400, "access_denied");
    }
    let id = start(*server, "agent", ANA, &[]).await;
    let items = waiting(&server, &session).await;
    let approval = text(&items[0]["id"]);
    let both = json!({ "decision": "approve", "block": true });
    decide(*server, &session, approval, both).await.problem(400, "invalid_request");
    let blocking = json!({ "decision": "deny", "block": true });
    assert_eq!(decide(*server, &session, approval, blocking).await.status, 204);
    poll(*server, "agent", &id).await.refused(400, "access_denied");
    ask(*server, "agent", ANA, &[]).await.refused(403, "access_denied");
    assert!(waiting(&server, &session).await.is_empty());
    // Another client and another person are not meant.
    start(*server, "rival", ANA, &[]).await;
    start(*server, "agent", CLARA, &[]).await;
    let blocked = get_in(&server, &session, "/me/blocked-clients").await.json();
    let [one] = &blocked["items"].as_array().unwrap()[..] else { panic!("{blocked}") };
    assert_eq!(one["client"]["client_id"], "agent");
    let other = server.sign_in(CLARA).await;
    let path = format!("/me/blocked-clients/{}", text(&one["id"]));
    delete_in(&server, &other, &path).await.problem(404, "not_found");
    assert_eq!(delete_in(&server, &session, &path).await.status, 204);
    delete_in(&server, &session, &path).await.problem(404, "not_found");
    start(*server, "agent", ANA, &[]).await;
    server.stop().await;
}

#[tokio::test]
async fn what_was_decided_is_decided_once_and_by_the_person_alone() {
    let server = open().await;
    let (ana, bruno) = (server.sign_in(ANA).await, server.sign_in(BRUNO).await);
    let id = start(*server, "agent", ANA, &[]).await;
    let items = waiting(&server, &ana).await;
    let approval = text(&items[0]["id"]);
    assert!(waiting(&server, &bruno).await.is_empty());
    for decision in ["approve", "deny"] {
        let body = json!({ "decision": decision });
        decide(*server, &bruno, approval, body.clone()).await.problem(404, "approval_not_waiting");
        let path = format!("/me/approvals/{approval}");
        server.post_json(&path, &body, &[]).await.problem(401, "session_required");
    }
    for bad in [json!({}), json!({ "decision": "allow" }), json!({ "decision": true })] {
        assert_eq!(decide(*server, &ana, approval, bad).await.status, 400);
    }
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    let said = decide(*server, &ana, approval, json!({ "decision": "approve" })).await;
    assert_eq!(said.status, 204, "{said:?}");
    for decision in ["approve", "deny"] {
        let body = json!({ "decision": decision });
        decide(*server, &ana, approval, body).await.problem(409, "already_decided");
    }
    let long = "x".repeat(500);
    for unknown in ["x", "AAAAAAAAAAAAAAAAAAAAAA", long.as_str()] {
        let body = json!({ "decision": "approve" });
        decide(*server, &ana, unknown, body).await.problem(404, "approval_not_waiting");
    }
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_decisions_raced_on_two_nodes_one_wins_and_the_others_learn_of_it() {
    let pair = Pair::start_with(AGENTS).await;
    let [one, other] = [pair.nodes[0].sign_in(ANA).await, pair.nodes[1].sign_in(ANA).await];
    let id = start(pair.nodes[0], "agent", ANA, &[]).await;
    let headers = [("x-session-token", one.as_str())];
    let mut listed = pair.nodes[0].request(hyper::Method::GET, "/me/approvals");
    for (name, value) in headers {
        listed = listed.header(name, value);
    }
    let listed = pair.nodes[0].send(listed.body(http_body_util::Full::default()).unwrap()).await;
    let approval = text(&listed.json()["items"][0]["id"]).to_owned();
    let mut racers = JoinSet::new();
    for number in 0..8 {
        let (node, approval) = (pair.nodes[number % 2], approval.clone());
        let session = [&one, &other][number % 2].clone();
        let decision = ["approve", "deny"][number / 2 % 2];
        racers.spawn(async move {
            let body = json!({ "decision": decision });
            (decision, decide(node, &session, &approval, body).await)
        });
    }
    let mut won = Vec::new();
    for (decision, answer) in racers.join_all().await {
        match answer.status.as_u16() {
            204 => won.push(decision),
            503 => {}
            _ => answer.problem(409, "already_decided"),
        }
    }
    let [decision] = won[..] else { panic!("{won:?}") };
    let polled = poll(pair.nodes[1], "agent", &id).await;
    match decision {
        "approve" => assert_eq!(polled.status, 200, "{polled:?}"),
        _ => drop(polled.refused(400, "access_denied")),
    }
}

#[tokio::test]
async fn what_is_suspended_in_mid_flight_gives_no_tokens() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let approved = start(*server, "agent", ANA, &[("scope", "openid invoices:read")]).await;
    say(&server, &session, "approve").await;
    let pending = start(*server, "agent", ANA, &[("scope", "openid invoices:read")]).await;
    let items = waiting(&server, &session).await;
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    poll(*server, "agent", &approved).await.refused(400, "access_denied");
    let approve = json!({ "decision": "approve" });
    let said = decide(*server, &session, text(&items[0]["id"]), approve).await;
    said.problem(403, "not_grantable");
    poll(*server, "agent", &pending).await.refused(400, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn a_request_ends_when_it_said_and_a_client_that_polls_too_fast_is_slowed_down() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    for (asked, lives) in [("30", 30), ("100000", 300)] {
        let said = ask(*server, "agent", ANA, &[("requested_expiry", asked)]).await.json();
        assert_eq!(said["expires_in"], lives);
    }
    for bad in ["0", "-1", "soon", "1.5"] {
        let refused = ask(*server, "agent", ANA, &[("requested_expiry", bad)]).await;
        refused.refused(400, "invalid_request");
    }
    let id = start(*server, "agent", ANA, &[("requested_expiry", "60")]).await;
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    server.quiet().await;
    let before = server.running().system().store().report().commits;
    poll(*server, "agent", &id).await.refused(400, "slow_down");
    server.clock.advance(Duration::from_secs(10));
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    poll(*server, "rival", &id).await.refused(400, "invalid_grant");
    server.quiet().await;
    let after = server.running().system().store().report().commits;
    assert_eq!(after, before, "a pending poll commits nothing");
    server.clock.advance(Duration::from_secs(50));
    poll(*server, "agent", &id).await.refused(400, "expired_token");
    let items = waiting(&server, &session).await;
    assert_eq!(items.len(), 1, "what lives for five minutes");
    server.clock.advance(Duration::from_mins(5));
    let late = decide(*server, &session, text(&items[0]["id"]), json!({ "decision": "approve" }));
    late.await.problem(404, "approval_not_waiting");
    server.stop().await;
}
