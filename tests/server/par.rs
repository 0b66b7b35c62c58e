//! Pushed authorization requests (RFC 9126), and answers that are posted to the client.

use crate::{
    http::Answer,
    outside::Outside,
    person::{asking, parameter, redirect, text},
    races::Pair,
    support::{SECRET, TestServer, form, sealed},
};
use hyper::Method;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";

/// What a client of the scene asks, as fields of a form.
fn fields(client: &str, otherwise: &[(&str, &str)]) -> Vec<(String, String)> {
    url::form_urlencoded::parse(asking(client, otherwise).as_bytes()).into_owned().collect()
}

pub async fn push(server: Outside, client: &str, otherwise: &[(&str, &str)]) -> Answer {
    let fields = fields(client, otherwise);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    match client {
        "app" | "native" => server.post("/connect/par", &fields).await,
        _ => server.post_as(client, "/connect/par", &fields).await,
    }
}

pub async fn pushed(server: Outside, client: &str, otherwise: &[(&str, &str)]) -> String {
    let answer = push(server, client, otherwise).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    text(&answer.json()["request_uri"]).to_owned()
}

/// Presents a pushed request as a program, in a session or without.
pub async fn present(server: Outside, client: &str, uri: &str, session: Option<&str>) -> Answer {
    let query = [("client_id", client), ("request_uri", uri)];
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let path = format!("/connect/authorize?{query}");
    let mut request = server.request(Method::GET, &path).header("accept", "application/json");
    if let Some(session) = session {
        request = request.header("x-session-token", session);
    }
    server.send(request.body(form(&[])).unwrap()).await
}

#[tokio::test]
async fn a_pushed_request_leads_to_a_code_and_is_used_up_by_it() {
    let server = TestServer::open().await;
    let answer = push(*server, "web", &[("login_hint", ANA)]).await;
    assert_eq!((answer.status.as_u16(), answer.json()["expires_in"].as_u64()), (201, Some(60)));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let uri = text(&answer.json()["request_uri"]).to_owned();
    assert!(uri.starts_with("urn:ietf:params:oauth:request_uri:"), "{uri}");
    // To load the page uses up nothing.
    for _ in 0..3 {
        let flow = present(*server, "web", &uri, None).await;
        assert_eq!((flow.status.as_u16(), &flow.json()["state"]), (200, &json!("identify")));
    }
    let flow = present(*server, "web", &uri, None).await.json();
    assert_eq!(flow["login_hint"], ANA);
    // The flow goes on when the time to present it is long over.
    let late = present(*server, "web", &uri, None).await.json();
    server.clock.advance(Duration::from_mins(5));
    let done = server.prove(&flow, ANA).await;
    let to = redirect(&done);
    assert_eq!(parameter(&to, "state").as_deref(), Some("af0ifjsldkj"));
    let tokens = server.redeem("web", &parameter(&to, "code").unwrap()).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    // Another flow that began with it comes to nothing, and neither does the address.
    server.prove(&late, ANA).await.problem(409, "request_used");
    present(*server, "web", &uri, None).await.refused(400, "invalid_request_uri");
    server.stop().await;
}

#[tokio::test]
async fn a_person_with_a_session_uses_it_up_at_once() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let uri = pushed(*server, "web", &[]).await;
    let done = present(*server, "web", &uri, Some(&session)).await;
    assert!(parameter(&redirect(&done), "code").is_some());
    present(*server, "web", &uri, Some(&session)).await.refused(400, "invalid_request_uri");
    server.stop().await;
}

#[tokio::test]
async fn a_denied_request_is_used_up_as_well() {
    let server = TestServer::open().await;
    let uri = pushed(*server, "app", &[]).await;
    let flow = present(*server, "app", &uri, None).await.json();
    let asked = server.prove(&flow, ANA).await;
    assert_eq!(asked.json()["state"], "consent", "{asked:?}");
    let denied = server.step(&flow, "consent", json!({ "decision": "deny" })).await;
    assert_eq!(parameter(&redirect(&denied), "error").as_deref(), Some("access_denied"));
    present(*server, "app", &uri, None).await.refused(400, "invalid_request_uri");
    server.stop().await;
}

#[tokio::test]
async fn only_the_client_that_pushed_it_presents_it_in_time() {
    let server = TestServer::open().await;
    let uri = pushed(*server, "web", &[]).await;
    let mut altered = uri.clone();
    altered.pop();
    let last = if uri.ends_with('A') { "B" } else { "A" };
    let long = format!("{uri}{}", "A".repeat(12_000));
    let prefix = "urn:ietf:params:oauth:request_uri:";
    for (client, uri) in [
        ("app", uri.as_str()),
        ("web", &altered),
        ("web", &format!("{altered}{last}")),
        ("web", prefix),
        ("web", &format!("{prefix}é")),
        ("web", &format!("{prefix}{}", "x".repeat(100))),
        ("web", &long),
    ] {
        let refused = present(*server, client, uri, None).await;
        refused.refused(400, "invalid_request_uri");
    }
    // A browser stays here: what is in it is not to be believed.
    let path = format!("/connect/authorize?client_id=web&request_uri={altered}");
    let request = server.request(Method::GET, &path).header("accept", "text/html");
    let page = server.send(request.body(form(&[])).unwrap()).await;
    assert_eq!((page.status.as_u16(), page.header("location")), (400, None));
    server.clock.advance(Duration::from_secs(59));
    assert_eq!(present(*server, "web", &uri, None).await.status, 200);
    server.clock.advance(Duration::from_secs(1));
    present(*server, "web", &uri, None).await.refused(400, "invalid_request_uri");
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_when_it_is_pushed() {
    let server = TestServer::open().await;
    for (otherwise, code) in [
        (("-code_challenge", ""), "invalid_request"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("redirect_uri", "https://evil.example/cb"), "invalid_request"),
        (("response_type", "token"), "unsupported_response_type"),
        (("response_mode", "fragment"), "invalid_request"),
        (("scope", "unheard:of"), "invalid_scope"),
        (("request_uri", "urn:ietf:params:oauth:request_uri:x"), "invalid_request"),
        (("prompt", "none login"), "invalid_request"),
        (("id_token_hint", "x.y.z"), "invalid_request"),
        (("resource", "https://nowhere.example"), "invalid_target"),
    ] {
        push(*server, "web", &[otherwise]).await.refused(400, code);
    }
    // It is authenticated as at the token endpoint.
    let fields = fields("web", &[]);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    server.post("/connect/par", &fields).await.refused(401, "invalid_client");
    let wrong = [&fields[..], &[("client_secret", "wrong")]].concat();
    server.post("/connect/par", &wrong).await.refused(401, "invalid_client");
    server.post("/connect/par", &[]).await.refused(401, "invalid_client");
    let large = "x".repeat(20_000);
    push(*server, "web", &[("extra", &large)]).await.refused(400, "invalid_request");
    let got = server.get("/connect/par").await;
    assert_eq!(got.status, 405);
    sealed(&got.headers);
    server.stop().await;
}

#[tokio::test]
async fn the_secret_of_the_client_is_no_part_of_what_it_pushes() {
    let server = TestServer::open().await;
    server.apply(POSTING).await;
    let fields = fields("posting", &[]);
    let mut fields: Vec<(&str, &str)> =
        fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let without = pushed(*server, "web", &[]).await.len();
    fields.push(("client_secret", SECRET));
    let answer = server.post("/connect/par", &fields).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let with = text(&answer.json()["request_uri"]).len();
    assert!(with < without + SECRET.len(), "{with} {without}");
    server.stop().await;
}

const POSTING: &str = r#"
[[client]]
client_id = "posting"
client_secret = "a-secret-of-more-than-thirty-two-characters"
redirect_uris = ["https://posting.example.com/cb"]
token_endpoint_auth_method = "client_secret_post"
trusted = true

[[client]]
client_id = "pushing"
client_secret = "a-secret-of-more-than-thirty-two-characters"
redirect_uris = ["https://pushing.example.com/cb"]
require_pushed_authorization_requests = true
trusted = true
"#;

#[tokio::test]
async fn a_client_that_pushes_its_requests_makes_no_others() {
    let server = TestServer::open().await;
    server.apply(POSTING).await;
    let refused = server.authorize("pushing", &[]).await;
    assert_eq!(parameter(&redirect(&refused), "error").as_deref(), Some("invalid_request"));
    let uri = pushed(*server, "pushing", &[]).await;
    assert_eq!(present(*server, "pushing", &uri, None).await.json()["state"], "identify");
    server.stop().await;
}

#[tokio::test]
async fn to_push_writes_nothing() {
    let server = TestServer::open().await;
    pushed(*server, "web", &[]).await;
    server.quiet().await;
    let before = server.running().system().store().report().commits;
    for _ in 0..20 {
        let uri = pushed(*server, "web", &[]).await;
        present(*server, "web", &uri, None).await;
    }
    server.quiet().await;
    assert_eq!(server.running().system().store().report().commits, before);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_uses_on_two_nodes_one_gets_a_code() {
    let pair = Pair::start().await;
    let session = pair.nodes[0].sign_in(ANA).await;
    let uri = pushed(pair.nodes[0], "web", &[]).await;
    let mut racers = JoinSet::new();
    for number in 0..50 {
        let (node, uri, session) = (pair.nodes[number % 2], uri.clone(), session.clone());
        racers.spawn(async move { present(node, "web", &uri, Some(&session)).await });
    }
    let codes: Vec<String> = racers
        .join_all()
        .await
        .iter()
        .filter(|answer| answer.status == 200)
        .filter_map(|answer| parameter(&redirect(answer), "code"))
        .collect();
    assert_eq!(codes.len(), 1);
    let tokens = pair.nodes[1].redeem("web", &codes[0]).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
}

/// The hidden fields of a page that posts a form.
pub fn posted(page: &Answer) -> Vec<(String, String)> {
    let text = page.text();
    text.split("<input type=\"hidden\" name=\"")
        .skip(1)
        .map(|field| {
            let (name, rest) = field.split_once("\" value=\"").unwrap();
            (name.to_owned(), rest.split_once('"').unwrap().0.to_owned())
        })
        .collect()
}

#[tokio::test]
async fn an_answer_can_be_posted_to_the_client() {
    let server = TestServer::open().await;
    let asked = [("response_mode", "form_post"), ("state", "<\"&>")];
    let flow = server.authorize("web", &asked).await.json();
    let done = server.prove(&flow, ANA).await;
    // A page of ours posts it: the address holds no code that can be read.
    let to = redirect(&done);
    assert_eq!(to.path(), "/connect/form_post");
    assert!(!to.as_str().contains("pac_"), "{to}");
    let path = format!("{}?{}", to.path(), to.query().unwrap());
    let page = server.get(&path).await;
    assert_eq!(page.status, 200, "{page:?}");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action https://web.example.com;"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert!(page.text().contains("action=\"https://web.example.com/cb\""), "{page:?}");
    let fields = posted(&page);
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["code", "state", "iss"]);
    assert_eq!(fields[1].1, "&lt;&quot;&amp;&gt;");
    let tokens = server.redeem("web", &fields[0].1).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    // It is shown for as long as the code is good.
    server.clock.advance(Duration::from_mins(1));
    server.get(&path).await.refused(400, "invalid_request");
    for bad in ["", "?", "?response=", "?response=x", "?response=é", "?other=1"] {
        let refused =
            server.get(&format!("/connect/form_post{}", bad.replace('é', "%C3%A9"))).await;
        refused.refused(400, "invalid_request");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_browser_gets_the_form_at_once_and_errors_in_it_too() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let cookie = format!("porteiro={session}");
    let headers = [("accept", "text/html"), ("cookie", cookie.as_str())];
    let page = server.authorize_with("web", &[("response_mode", "form_post")], &headers).await;
    assert_eq!((page.status.as_u16(), page.header("location")), (200, None), "{page:?}");
    assert_eq!(posted(&page)[0].0, "code");
    let asked = [("response_mode", "form_post"), ("prompt", "none"), ("max_age", "0")];
    let page = server.authorize_with("web", &asked, &headers).await;
    assert_eq!(posted(&page)[0], ("error".to_owned(), "login_required".to_owned()));
    server.stop().await;
}
