//! CIBA: a client asks, the person decides where they are signed in, the client polls.

use crate::{
    http::Answer,
    me::{delete_in, get_in, records},
    outside::Outside,
    passkeys::{device_of, id_of},
    person::{claims, text},
    races::Pair,
    signing_client::{self, ClientKey, in_toml, key_set},
    step_up::{code, dora},
    support::{INVOICES, TestOptions, TestServer},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro::{
    domain::Clock as _,
    http::{Links, limits::pace::Rates},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

pub const ANA: &str = "ana@acme.test";
const BRUNO: &str = "bruno@acme.test";
const CLARA: &str = "clara@nowhere.test";
pub const GRANT: &str = "urn:openid:params:grant-type:ciba";

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

async fn open() -> TestServer {
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

fn steps(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
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
async fn nobody_and_one_whom_the_client_must_not_reach_are_answered_alike() {
    let server = open().await;
    server.apply("[[account]]\nemail = \"eva@acme.test\"\n").await;
    let registration = json!({
        "client_name": "Stranger", "grant_types": [GRANT, "authorization_code"],
        "redirect_uris": ["https://stranger.example/cb"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let registered = server.post_json("/connect/register", &registration, &[]).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    let stranger = registered.json();
    let by_stranger = async |email: &str| {
        let fields = [
            ("client_id", text(&stranger["client_id"])),
            ("client_secret", text(&stranger["client_secret"])),
            ("scope", "openid"),
            ("login_hint", email),
        ];
        server.post("/connect/ciba", &fields).await
    };
    // Without a live grant a client that registered itself reaches none.
    let answers = [
        by_stranger(ANA).await,
        by_stranger("nobody@acme.test").await,
        ask(*server, "clerk", CLARA, &[]).await,
        ask(*server, "clerk", "nobody@acme.test", &[]).await,
        ask(*server, "clerk", "no address at all", &[]).await,
        ask(*server, "agent", "nobody@acme.test", &[]).await,
        ask(*server, "clerk", CLARA, &[("organization", "acme")]).await,
    ];
    for answer in &answers {
        answer.refused(400, "unknown_user_id");
        assert_eq!(answer.body, answers[0].body);
    }
    // Its members, and for one that belongs to no organization anyone.
    start(*server, "clerk", ANA, &[]).await;
    start(*server, "agent", CLARA, &[]).await;
    server.stop().await;
}

#[tokio::test]
async fn the_organization_is_named_the_only_one_or_the_clients_own() {
    let server = open().await;
    ask(*server, "agent", BRUNO, &[]).await.refused(400, "invalid_request");
    let session = server.sign_in(BRUNO).await;
    for (client, more, organization) in
        [("agent", &[("organization", "other")][..], json!("other")), ("clerk", &[], json!("acme"))]
    {
        let id = start(*server, client, BRUNO, more).await;
        assert_eq!(waiting(&server, &session).await[0]["organization"], organization);
        say(&server, &session, "approve").await;
        let tokens = poll(*server, client, &id).await.json();
        assert_eq!(claims(&tokens["access_token"])["org"], organization, "{tokens}");
    }
    for (more, status, code) in [
        ([("organization", "other"), ("scope", "openid")], 403, "access_denied"),
        ([("organization", "nowhere"), ("scope", "openid")], 403, "access_denied"),
        ([("organization", "acme"), ("scope", "openid orders:read")], 400, "invalid_scope"),
    ] {
        ask(*server, "agent", ANA, &more).await.refused(status, code);
    }
    ask(*server, "agent", CLARA, &[("scope", "openid invoices:read")])
        .await
        .refused(400, "invalid_scope");
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    crate::shared::eventually("its suspension is seen", async || {
        ask(*server, "clerk", ANA, &[]).await.status == 403
    })
    .await;
    server.stop().await;
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
    let before = server.running.system().store().report().commits;
    poll(*server, "agent", &id).await.refused(400, "slow_down");
    server.clock.advance(Duration::from_secs(10));
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    poll(*server, "rival", &id).await.refused(400, "invalid_grant");
    server.quiet().await;
    let after = server.running.system().store().report().commits;
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

#[tokio::test]
async fn what_is_wrong_is_said_when_a_client_asks() {
    let server = open().await;
    let long = "x".repeat(201);
    for message in ["a\u{202e}b", "\u{200b}", "a\nb", long.as_str(), "\u{2066}x\u{2069}", "  "] {
        let refused = ask(*server, "agent", ANA, &[("binding_message", message)]).await;
        refused.refused(400, "invalid_binding_message");
    }
    let agent =
        async |fields: &[(&str, &str)]| server.post_as("agent", "/connect/ciba", fields).await;
    let hint = ("login_hint", ANA);
    let openid = ("scope", "openid");
    for (fields, code) in [
        (&[openid][..], "invalid_request"),
        (&[openid, hint, ("id_token_hint", "x.y.z")], "invalid_request"),
        (&[openid, ("id_token_hint", "x.y.z")], "invalid_request"),
        (&[openid, ("login_hint_token", "x")], "invalid_request"),
        (&[hint], "invalid_request"),
        (&[hint, ("scope", "email")], "invalid_scope"),
        (&[hint, ("scope", "openid unheard:of")], "invalid_scope"),
        (&[hint, openid, ("resource", "https://nowhere.example")], "invalid_target"),
        (&[hint, openid, ("request_uri", "https://agent.example/r")], "invalid_request"),
        (&[hint, openid, ("request", "x.y.z")], "invalid_request"),
        (&[hint, openid, ("authorization_details", "[")], "invalid_authorization_details"),
        (&[hint, hint, openid], "invalid_request"),
    ] {
        agent(fields).await.refused(400, code);
    }
    server
        .post_as("web", "/connect/ciba", &[openid, hint])
        .await
        .refused(400, "unauthorized_client");
    let public = [("client_id", "app"), openid, hint];
    server.post("/connect/ciba", &public).await.refused(401, "invalid_client");
    server.post("/connect/ciba", &[openid, hint]).await.refused(401, "invalid_client");
    assert_eq!(server.get("/connect/ciba").await.status, 405);
    for bad in ["", "x", "pbr_", "pac_x"] {
        let refused = poll(*server, "agent", bad).await;
        refused.refused(400, if bad.is_empty() { "invalid_request" } else { "invalid_grant" });
    }
    // A user_code is not offered, and does no harm.
    start(*server, "agent", ANA, &[("user_code", "1234")]).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    let endpoint = format!("{}/connect/ciba", server.issuer());
    assert_eq!(metadata["backchannel_authentication_endpoint"], endpoint);
    let modes = &metadata["backchannel_token_delivery_modes_supported"];
    assert_eq!(*modes, json!(["poll", "ping"]));
    assert_eq!(metadata["backchannel_user_code_parameter_supported"], false);
    assert!(metadata["grant_types_supported"].as_array().unwrap().contains(&json!(GRANT)));
    server.stop().await;
}

#[tokio::test]
async fn an_id_token_names_the_person_and_a_signed_request_is_the_whole_request() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &[]).await;
    say(&server, &session, "approve").await;
    let tokens = poll(*server, "agent", &id).await.json();
    let hint = [("scope", "openid"), ("id_token_hint", text(&tokens["id_token"]))];
    assert_eq!(server.post_as("agent", "/connect/ciba", &hint).await.status, 200);
    server.post_as("rival", "/connect/ciba", &hint).await.refused(400, "invalid_request");

    let key = ClientKey::new("k");
    let keys = in_toml(&key_set(&[&key.jwk]));
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"clerk\"\njwks = {keys}\n\
             backchannel_authentication_request_signing_alg = \"ES256\"\n"
        ))
        .await;
    ask(*server, "clerk", ANA, &[]).await.refused(400, "invalid_request");
    let now = server.clock.now().seconds();
    let said = json!({
        "scope": "openid", "login_hint": ANA, "nbf": now, "requested_expiry": 20,
    });
    let signed = |otherwise: Value| {
        let mut said = said.as_object().unwrap().clone();
        said.extend(otherwise.as_object().unwrap().clone());
        key.sign(&signing_client::claims(&server, "clerk", Value::Object(said)))
    };
    let send = async |object: String| {
        // What stands beside it is not the request.
        let fields = [("request", object.as_str()), ("login_hint", "nobody@acme.test")];
        server.post_as("clerk", "/connect/ciba", &fields).await
    };
    let good = send(signed(json!({ "sub": null }))).await;
    assert_eq!(good.status, 200, "{good:?}");
    assert_eq!(good.json()["expires_in"], 20);
    for wrong in [
        json!({ "sub": null, "jti": null }),
        json!({ "sub": null, "nbf": null }),
        json!({ "sub": null, "iat": null }),
        json!({ "sub": null, "exp": now - 100 }),
        json!({ "sub": null, "aud": "https://other.example" }),
        json!({ "sub": null, "iss": "agent" }),
    ] {
        send(signed(wrong)).await.refused(400, "invalid_request");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_asks_one_person_only_so_often() {
    let server = open().await;
    for _ in 0..10 {
        start(*server, "agent", ANA, &[]).await;
    }
    let refused = ask(*server, "agent", ANA, &[]).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after").is_some()), (429, true));
    // Another client, and another person, are not meant.
    start(*server, "rival", ANA, &[]).await;
    start(*server, "agent", CLARA, &[]).await;
    server.clock.advance(Duration::from_mins(6));
    start(*server, "agent", ANA, &[]).await;
    server.stop().await;
    let mut rates = Rates::default();
    rates.approvals.pending = 2;
    let few = open_in(TestOptions { rates: Some(rates), ..TestOptions::default() }).await;
    for status in [200, 200, 429] {
        assert_eq!(ask(*few, "agent", ANA, &[]).await.status, status, "as the operator says");
    }
    few.stop().await;
    let mut rates = Rates::default();
    rates.approvals.rate.burst = 1;
    let slow = open_in(TestOptions { rates: Some(rates), ..TestOptions::default() }).await;
    for status in [200, 429] {
        assert_eq!(ask(*slow, "agent", ANA, &[]).await.status, status, "as the operator says");
    }
    slow.clock.advance(Duration::from_mins(1));
    start(*slow, "agent", ANA, &[]).await;
    slow.stop().await;
    let unlimited = open_in(TestOptions { rates: None, ..TestOptions::default() }).await;
    for _ in 0..12 {
        start(*unlimited, "agent", ANA, &[]).await;
    }
    unlimited.stop().await;
}

pub const TRANSFER: &str = r#"[{"type":"transfer","amount":50}]"#;

/// Dora becomes a manager of Acme.
async fn promote_dora(server: &TestServer) {
    server
        .apply(
            "[[account]]\nemail = \"dora@acme.test\"\n\
             memberships = [{ organization = \"acme\", roles = [\"manager\"] }]\n",
        )
        .await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_needs_two_factors_in_a_flow_that_ends_in_the_approval() {
    let server = open().await;
    promote_dora(&server).await;
    let session = dora(&server).await;
    server.clock.advance(Duration::from_mins(61));
    let details = [("authorization_details", TRANSFER)];
    let id = start(*server, "agent", "dora@acme.test", &details).await;
    let items = waiting(&server, &session).await;
    let shown = &items[0]["authorization_details"][0];
    assert_eq!((&shown["amount"], &shown["text"]["pt"]), (&json!(50), &json!("Transferir 50 EUR")));
    let approval = text(&items[0]["id"]);
    let approve = json!({ "decision": "approve" });
    let refused = decide(*server, &session, approval, approve.clone()).await;
    refused.problem(403, "step_up_required");
    let flow = refused.json()["flow"].clone();
    assert_eq!((&flow["kind"], &flow["state"]), (&json!("approval"), &json!("second_factor")));
    assert_eq!((&flow["client"]["client_id"], steps(&flow)[0]), (&json!("agent"), "totp"));
    assert_eq!(flow["authorization_details"][0]["text"]["en"], "Transfer 50 EUR");
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    let wrong = server.step_in(&session, &flow, "totp", json!({ "code": "000000" })).await;
    wrong.problem(401, "invalid_credentials");
    let proof = json!({ "code": code(server.clock.now()) });
    let done = server.step_in(&session, &flow, "totp", proof).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let renewed = text(&done.json()["result"]["session_token"]).to_owned();
    // The caller may ask again, as it was told, and hears that it is done.
    assert_eq!(decide(*server, &renewed, approval, approve.clone()).await.status, 204);
    let deny = json!({ "decision": "deny" });
    decide(*server, &renewed, approval, deny).await.problem(409, "already_decided");
    let tokens = poll(*server, "agent", &id).await.json();
    assert_eq!(tokens["authorization_details"], json!([{ "type": "transfer", "amount": 50 }]));
    assert_eq!(claims(&tokens["access_token"])["acr"], "aal2");
    // One who has no second factor cannot.
    let ana = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &details).await;
    let items = waiting(&server, &ana).await;
    let refused = decide(*server, &ana, text(&items[0]["id"]), approve).await;
    refused.problem(403, "assurance_out_of_reach");
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_signs_the_hash_of_exactly_what_was_shown() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    let signed_in = server.sign_in_by_passkey(&mut device).await;
    let session = text(&signed_in["result"]["session_token"]).to_owned();
    let id = start(*server, "agent", ANA, &[("authorization_details", TRANSFER)]).await;
    let items = waiting(&server, &session).await;
    // The session has proved two factors a moment ago, and not this.
    let approve = json!({ "decision": "approve" });
    let refused = decide(*server, &session, text(&items[0]["id"]), approve).await;
    refused.problem(403, "step_up_required");
    let flow = refused.json()["flow"].clone();
    assert!(steps(&flow).contains(&"passkey"), "{flow}");
    // A password is not enough.
    let body = json!({ "password": crate::person::PASSWORD });
    let more = server.step_in(&session, &flow, "password", body).await;
    assert_eq!(more.json()["state"], "credential", "{more:?}");
    let options = server.step_in(&session, &flow, "passkey/options", json!({})).await.json();
    let challenge = URL_SAFE_NO_PAD.decode(text(&options["publicKey"]["challenge"])).unwrap();
    assert_eq!(challenge.len(), 64);
    let credential = device.get(&options).await;
    let body = json!({ "credential": credential });
    let done = server.step_in(&session, &flow, "passkey", body).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    let [given] = &records(&server, "approval.given").await[..] else { panic!("one") };
    assert_eq!(given["shown"], URL_SAFE_NO_PAD.encode(&challenge[32..]), "{given}");
    assert_eq!(given["asserted"], true);
    server.stop().await;
}

#[tokio::test]
async fn a_flow_of_kind_approval_signs_in_shows_and_decides() {
    let server = open().await;
    let id = start(*server, "agent", ANA, &[("binding_message", "7")]).await;
    let approval = {
        let session = server.sign_in(ANA).await;
        text(&waiting(&server, &session).await[0]["id"]).to_owned()
    };
    let begin = async |headers: &[(&str, &str)]| {
        let body = json!({ "kind": "approval", "approval": approval });
        server.post_json("/flows", &body, headers).await
    };
    // Another person is not shown it.
    let flow = begin(&[]).await.json();
    assert!(flow.get("client").is_none() && flow.get("approval").is_none(), "{flow}");
    server.prove(&flow, CLARA).await.problem(404, "approval_not_waiting");
    let flow = begin(&[]).await.json();
    let shown = server.prove(&flow, ANA).await.json();
    assert_eq!((&shown["state"], steps(&shown)), (&json!("confirm"), vec!["confirm"]), "{shown}");
    assert_eq!(shown["approval"]["binding_message"], "7");
    assert_eq!(shown["client"]["client_id"], "agent");
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    let done = server.step(&flow, "confirm", json!({ "decision": "allow" })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    begin(&[]).await;
    let session = server.sign_in(ANA).await;
    let headers = [("x-session-token", session.as_str())];
    begin(&headers).await.problem(409, "already_decided");
    // In a session, without an id, and blocked.
    let id = start(*server, "agent", ANA, &[]).await;
    let flow = server.post_json("/flows", &json!({ "kind": "approval" }), &headers).await.json();
    assert_eq!((&flow["state"], &flow["organization"]), (&json!("confirm"), &json!("acme")));
    let denied = server.step_in(&session, &flow, "confirm", json!({ "decision": "block" })).await;
    assert_eq!(denied.json()["state"], "failed", "{denied:?}");
    poll(*server, "agent", &id).await.refused(400, "access_denied");
    ask(*server, "agent", ANA, &[]).await.refused(403, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn the_person_is_written_to_and_the_link_decides_nothing() {
    let approval = Some("https://login.example.com/ok?theme=dark".parse().unwrap());
    let links = Links { approval, ..Links::default() };
    let options = TestOptions { screens: false, links, mailbox: true, ..TestOptions::default() };
    let server = open_in(options).await;
    let id = start(*server, "agent", ANA, &[]).await;
    let mailbox = server.mailbox.clone().unwrap();
    crate::shared::eventually("a mail", async || !mailbox.messages().is_empty()).await;
    let mail = mailbox.messages().remove(0);
    assert_eq!(mail.to, ANA);
    let link = "https://login.example.com/ok?theme=dark&approval=";
    let alone: Vec<&str> = mail.text.lines().filter(|line| line.starts_with("https://")).collect();
    let [line] = alone[..] else { panic!("{}", mail.text) };
    assert!(line.starts_with(link), "{line}");
    assert!(mail.text.contains("Agent"), "{}", mail.text);
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    // It has no page here.
    assert_eq!(server.get("/approve").await.status, 404);
    assert_eq!(id_of(&server, ANA).await.len(), 36);
    server.stop().await;
}
