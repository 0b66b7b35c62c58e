//! A client that registered itself replaces and deletes its registration (RFC 7592 §2.2, §2.3).

use crate::{
    http::Answer,
    nodes::{EACH_LIMITS, views_agree},
    outside::Outside,
    person::{VERIFIER, callback, parameter, redirect, text},
    support::{TestServer, basic, form},
};
use hyper::Method;
use porteiro::domain::{Machine as _, client::Client};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const SCOPE: &str = "openid offline_access";

fn plain() -> Value {
    json!({ "redirect_uris": [callback("web")], "client_name": "First", "tos_uri": "https://web.example.com/tos" })
}

pub async fn registered(server: &TestServer, members: &Value) -> Value {
    let answer = server.post_json("/connect/register", members, &[]).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

async fn manage(node: Outside, method: Method, told: &Value, body: Option<&Value>) -> Answer {
    let path = format!("/connect/register/{}", text(&told["client_id"]));
    let token = text(&told["registration_access_token"]);
    let mut request =
        node.request(method, &path).header("authorization", format!("Bearer {token}"));
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body.map(ToString::to_string).unwrap_or_default();
    node.send(request.body(body.into()).unwrap()).await
}

fn outside(server: &TestServer) -> Outside {
    Outside { address: server.address }
}

pub async fn put(server: &TestServer, told: &Value, body: &Value) -> Answer {
    manage(outside(server), Method::PUT, told, Some(body)).await
}

async fn delete(server: &TestServer, told: &Value) -> Answer {
    manage(outside(server), Method::DELETE, told, None).await
}

async fn read(server: &TestServer, told: &Value) -> Answer {
    manage(outside(server), Method::GET, told, None).await
}

/// What a client would be registered with, and its id.
pub fn with_id(told: &Value, mut members: Value) -> Value {
    members["client_id"] = told["client_id"].clone();
    members
}

/// Has the client ask the token endpoint with its secret.
async fn ask(server: &TestServer, told: &Value, fields: &[(&str, &str)]) -> Answer {
    let (id, secret) = (text(&told["client_id"]), text(&told["client_secret"]));
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic(id, secret))
        .header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(form(fields)).unwrap()).await
}

/// Has a person allow the client what it asks, and returns its code.
async fn code(server: &TestServer, told: &Value) -> String {
    let asked = [("client_id", text(&told["client_id"])), ("scope", SCOPE)];
    let begun = server.authorize("web", &asked).await.json();
    let answer = server.prove(&begun, "clara@nowhere.test").await;
    let done = match text(&answer.json()["state"]) {
        "consent" => server.step(&answer.json(), "consent", json!({ "decision": "allow" })).await,
        _ => answer,
    };
    parameter(&redirect(&done), "code").unwrap()
}

async fn redeem(server: &TestServer, told: &Value, code: &str) -> Answer {
    let grant = ("grant_type", "authorization_code");
    ask(server, told, &[grant, ("code", code), ("code_verifier", VERIFIER)]).await
}

async fn tokens(server: &TestServer, told: &Value) -> Value {
    let answer = redeem(server, told, &code(server, told).await).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn a_replacement_replaces_everything_and_only_it_gives_another_token() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    let same = read(&server, &told).await.json();
    assert_eq!(same["registration_access_token"], told["registration_access_token"]);
    let body = json!({ "redirect_uris": [callback("web"), "https://web.example.com/other"],
                       "client_name": "Second", "client_secret": told["client_secret"] });
    let answer = put(&server, &told, &with_id(&told, body)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let next = answer.json();
    for name in ["client_id", "client_id_issued_at", "registration_client_uri", "client_secret"] {
        assert_eq!(next[name], told[name], "{name}");
    }
    assert_eq!((&next["client_name"], next.get("tos_uri")), (&json!("Second"), None));
    assert_eq!(next["grant_types"], json!(["authorization_code", "refresh_token"]));
    let token = text(&next["registration_access_token"]);
    assert!(token.starts_with("prt_") && token != text(&told["registration_access_token"]));
    read(&server, &told).await.refused(401, "invalid_token");
    put(&server, &told, &with_id(&told, plain())).await.refused(401, "invalid_token");
    delete(&server, &told).await.refused(401, "invalid_token");
    let read = read(&server, &next).await.json();
    assert_eq!(read["redirect_uris"], next["redirect_uris"]);
    assert_eq!(read["registration_access_token"], next["registration_access_token"]);
    assert!(read.get("client_secret").is_none());
    let used =
        ask(&server, &told, &[("grant_type", "refresh_token"), ("refresh_token", "x")]).await;
    used.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn a_secret_goes_and_comes_with_the_method() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    let mut public = with_id(&told, plain());
    public["token_endpoint_auth_method"] = "none".into();
    public["client_secret"] = told["client_secret"].clone();
    let next = put(&server, &told, &public).await.json();
    assert_eq!(next["token_endpoint_auth_method"], "none", "{next}");
    assert!(next.get("client_secret").is_none());
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", "x")];
    ask(&server, &told, &refresh).await.refused(401, "invalid_client");
    let again = put(&server, &next, &with_id(&told, plain())).await.json();
    assert!(text(&again["client_secret"]).starts_with("pcs_"), "{again}");
    assert_ne!(again["client_secret"], told["client_secret"]);
    ask(&server, &told, &refresh).await.refused(401, "invalid_client");
    ask(&server, &again, &refresh).await.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn a_replacement_that_cannot_stand_changes_nothing() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    let other = registered(&server, &plain()).await;
    let with = |name: &str, value: Value| {
        let mut body = with_id(&told, plain());
        body[name] = value;
        body
    };
    for (body, code) in [
        (plain(), "invalid_request"),
        (with("client_id", other["client_id"].clone()), "invalid_request"),
        (with("client_id", json!("web")), "invalid_request"),
        (with("client_id", json!(null)), "invalid_request"),
        (with("client_secret", other["client_secret"].clone()), "invalid_request"),
        (with("client_secret", json!("")), "invalid_request"),
        (with("client_secret", json!(7)), "invalid_request"),
        (with("registration_access_token", json!("prt_x")), "invalid_request"),
        (with("registration_client_uri", json!("https://a.example/")), "invalid_request"),
        (with("client_secret_expires_at", json!(0)), "invalid_request"),
        (with("client_id_issued_at", json!(0)), "invalid_request"),
        (with("redirect_uris", json!(["http://a.example/"])), "invalid_redirect_uri"),
        (with("redirect_uris", json!(null)), "invalid_redirect_uri"),
        (with("grant_types", json!(["password"])), "invalid_client_metadata"),
        (with("scope", json!("unheard-of")), "invalid_client_metadata"),
        (with("token_endpoint_auth_method", json!("client_secret_jwt")), "invalid_client_metadata"),
        (with("sector_identifier_uri", json!("https://127.0.0.1/")), "invalid_client_metadata"),
    ] {
        put(&server, &told, &body).await.refused(400, code);
    }
    let path = format!("/connect/register/{}", text(&told["client_id"]));
    let token = format!("Bearer {}", text(&told["registration_access_token"]));
    for (kind, body, status) in [
        ("application/x-www-form-urlencoded", "a=b", 415),
        ("application/json", "[]", 400),
        ("application/json", r#"{"client_id":"a","client_id":"b"}"#, 400),
    ] {
        let request = server.request(Method::PUT, &path).header("content-type", kind);
        let request = request.header("authorization", &token).body(body.to_owned().into());
        assert_eq!(server.send(request.unwrap()).await.status, status, "{body}");
    }
    let read = read(&server, &told).await;
    assert_eq!(read.json()["client_name"], "First", "{read:?}");
    server.stop().await;
}

#[tokio::test]
async fn nothing_but_the_clients_own_token_changes_or_deletes_it() {
    let server = TestServer::open().await;
    server.on_one_node(EACH_LIMITS);
    let told = registered(&server, &plain()).await;
    let other = registered(&server, &plain()).await;
    let foreign =
        |id: &Value, token: &str| json!({ "client_id": id, "registration_access_token": token });
    let own = text(&told["registration_access_token"]);
    for told in [
        foreign(&told["client_id"], text(&other["registration_access_token"])),
        foreign(&told["client_id"], "prt_x"),
        foreign(&told["client_id"], ""),
        foreign(&told["client_id"], text(&told["client_secret"])),
        foreign(&json!("web"), own),
        foreign(&json!("no-such"), own),
        foreign(&json!("a".repeat(300)), own),
    ] {
        put(&server, &told, &with_id(&told, plain())).await.refused(401, "invalid_token");
        let answer = delete(&server, &told).await;
        answer.refused(401, "invalid_token");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer "));
    }
    assert_eq!(read(&server, &told).await.status, 200);
    // Wrong ones are counted, and the right one is taken all the same.
    let wrong = foreign(&told["client_id"], "prt_x");
    let mut limited = false;
    for _ in 0..110 {
        limited |= delete(&server, &wrong).await.status == 429;
    }
    assert!(limited);
    assert_eq!(delete(&server, &told).await.status, 204);
    server.stop().await;
}

#[tokio::test]
async fn of_many_replacements_with_one_token_one_wins() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    let mut racers = JoinSet::new();
    for number in 0..10 {
        let (node, told) = (outside(&server), told.clone());
        let mut body = with_id(&told, plain());
        body["client_name"] = format!("Number {number}").into();
        racers.spawn(async move { manage(node, Method::PUT, &told, Some(&body)).await });
    }
    let answers = racers.join_all().await;
    let won: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    for lost in answers.iter().filter(|answer| answer.status != 200) {
        lost.refused(401, "invalid_token");
    }
    let won = won[0].json();
    assert_eq!(read(&server, &won).await.json()["client_name"], won["client_name"]);
    server.stop().await;
}

#[tokio::test]
async fn of_a_deleted_client_nothing_is_good_any_more() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    let tokens = tokens(&server, &told).await;
    let (access, refresh) = (text(&tokens["access_token"]), text(&tokens["refresh_token"]));
    assert_eq!(server.userinfo(access).await.status, 200);
    let code = code(&server, &told).await;
    let id = text(&told["client_id"]);
    let begun = server.authorize("web", &[("client_id", id), ("scope", "openid email")]).await;
    let question = server.prove(&begun.json(), "ana@acme.test").await.json();
    assert_eq!(question["state"], "consent");
    let answer = delete(&server, &told).await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (204, 0));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    server.userinfo(access).await.refused(401, "invalid_token");
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    assert!(ask(&server, &told, &fields).await.status.is_client_error());
    // Another node may know the client for a moment, and refuses what it presents.
    views_agree().await;
    ask(&server, &told, &fields).await.refused(401, "invalid_client");
    redeem(&server, &told, &code).await.refused(401, "invalid_client");
    let consented = server.step(&question, "consent", json!({ "decision": "allow" })).await;
    assert!(consented.status.is_client_error(), "{consented:?}");
    let begun = server.authorize("web", &[("client_id", id)]).await;
    begun.refused(400, "invalid_request");
    read(&server, &told).await.refused(401, "invalid_token");
    delete(&server, &told).await.refused(401, "invalid_token");
    put(&server, &told, &with_id(&told, plain())).await.refused(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn an_api_that_introspects_a_token_of_a_deleted_client_hears_that_it_is_over() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    let id = text(&told["client_id"]);
    let asked = [("client_id", id), ("scope", "openid invoices:read")];
    let begun = server.authorize("web", &asked).await.json();
    let question = server.prove(&begun, "ana@acme.test").await.json();
    let done = server.step(&question, "consent", json!({ "decision": "allow" })).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let tokens = redeem(&server, &told, &code).await.json();
    let access = text(&tokens["access_token"]);
    assert_eq!(server.introspect("invoices-api", access).await["active"], true);
    assert_eq!(delete(&server, &told).await.status, 204);
    assert_eq!(server.introspect("invoices-api", access).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn a_deleted_clients_id_is_not_given_again_and_its_row_is_forgotten_in_time() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    assert_eq!(delete(&server, &told).await.status, 204);
    let store = server.running().system().store();
    let id = text(&told["client_id"]);
    let row = store.load(Client::KIND, id).await.unwrap().unwrap();
    assert!(row.state.contains("Deleted") && !row.state.contains("example.com"), "{}", row.state);
    let file = format!("[[client]]\nclient_id = \"{id}\"\n");
    let refused = crate::support::apply(&server.url, &server.keys(), &file).await;
    assert!(format!("{:?}", refused.err().unwrap()).contains("has deleted itself"));
    server.clock.advance(std::time::Duration::from_hours(100 * 24));
    let now = porteiro::domain::Clock::now(&*server.clock);
    store.forget_expired(now, 1_000).await.unwrap();
    assert!(store.load(Client::KIND, id).await.unwrap().is_none());
    server.stop().await;
}

#[tokio::test]
async fn a_code_does_not_outlive_the_redirect_uri_it_was_sent_to() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    let code = code(&server, &told).await;
    let moved = with_id(&told, json!({ "redirect_uris": ["https://web.example.com/moved"] }));
    assert_eq!(put(&server, &told, &moved).await.status, 200);
    redeem(&server, &told, &code).await.refused(400, "invalid_grant");
    let id = text(&told["client_id"]);
    server.authorize("web", &[("client_id", id)]).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_an_operator_has_provisioned_is_read_and_not_changed() {
    let server = TestServer::open().await;
    let told = registered(&server, &plain()).await;
    server.apply(&format!("[[client]]\nclient_id = \"{}\"\n", text(&told["client_id"]))).await;
    assert_eq!(read(&server, &told).await.status, 200);
    put(&server, &told, &with_id(&told, plain())).await.refused(403, "access_denied");
    delete(&server, &told).await.refused(403, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn a_program_in_a_browser_may_manage_its_registration() {
    let server = TestServer::open().await;
    let preflight = server
        .request(Method::OPTIONS, "/connect/register/abc")
        .header("origin", "https://app.example.com")
        .header("access-control-request-method", "PUT");
    let answer = server.send(preflight.body(form(&[])).unwrap()).await;
    assert_eq!(answer.status, 204);
    let methods = answer.header("access-control-allow-methods").unwrap();
    assert!(methods.contains("PUT") && methods.contains("DELETE"), "{methods}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_its_secret_out_gets_another_and_the_former_stays_a_day() {
    let server = TestServer::open().await;
    let mut members = plain();
    members["grant_types"] = json!(["authorization_code", "client_credentials"]);
    let told = registered(&server, &members).await;
    let with = |secret: &Value| json!({ "client_id": told["client_id"], "client_secret": secret });
    let asked = [("grant_type", "client_credentials")];
    let good = async |secret: &Value| ask(&server, &with(secret), &asked).await.status == 200;
    let first = told["client_secret"].clone();
    let mut repeated = with_id(&told, members.clone());
    repeated["client_secret"] = first.clone();
    let told = put(&server, &told, &repeated).await.json();
    assert_eq!(told["client_secret"], first, "what is repeated stays");
    let told = put(&server, &told, &with_id(&told, members.clone())).await.json();
    let second = told["client_secret"].clone();
    assert_ne!(second, first);
    assert!(good(&first).await && good(&second).await);
    let mut nulled = with_id(&told, members.clone());
    nulled["client_secret"] = Value::Null;
    let told = put(&server, &told, &nulled).await.json();
    let third = told["client_secret"].clone();
    assert!(!good(&first).await, "a third ends the oldest");
    assert!(good(&second).await && good(&third).await);
    server.clock.advance(std::time::Duration::from_hours(24));
    assert!(!good(&second).await && good(&third).await);
    // Another method ends the former at once.
    let mut posted = with_id(&told, members);
    posted["token_endpoint_auth_method"] = json!("client_secret_basic");
    let told = put(&server, &told, &posted).await.json();
    assert!(!good(&third).await && good(&told["client_secret"]).await);
    server.stop().await;
}
