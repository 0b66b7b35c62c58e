//! Webhooks: what happens in an organization reaches its endpoints and no others, signed, at least once.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    http::{Answer, get},
    person::text,
    shared::eventually,
    support::{TestOptions, TestServer},
    webhook_receiver::{Manner, Receiver},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

const HOOKS: &str = "/api/organizations/acme/webhooks";
const KEYS: &str = "/api/organizations/acme/apikeys";

async fn open() -> (TestServer, Receiver) {
    let options = TestOptions { private_networks: true, mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    server.apply(DIRECTORY).await;
    (server, Receiver::open().await)
}

/// Makes an endpoint and returns its path and its secret.
async fn make(api: &Api<'_>, body: Value) -> (String, String) {
    let made = api.post(HOOKS, &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    (format!("{HOOKS}/{}", text(&made["id"])), text(&made["secret"]).to_owned())
}

/// Has something happen in acme: an API key is made.
async fn happen(api: &Api<'_>) -> String {
    let body = json!({ "name": "k", "permissions": ["audit:read"] });
    let made = api.post(KEYS, &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    text(&made.json()["id"]).to_owned()
}

async fn metric(server: &TestServer, outcome: &str, count: usize) -> bool {
    let line =
        format!("porteiro_outbox_total{{topic=\"webhook\",outcome=\"{outcome}\"}} {count}\n");
    get(server.operator(), "/metrics").await.text().contains(&line)
}

async fn trail(api: &Api<'_>, event: &str) -> Vec<Value> {
    let path = format!("/api/organizations/acme/audit?event={event}");
    api.get(&path).await.json()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_happens_is_sent_signed_and_is_a_line_of_the_export() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (_, secret) = make(&api, json!({ "url": receiver.url })).await;
    assert!(secret.starts_with("whsec_"));
    let key = happen(&api).await;
    let arrived = async |kind: &'static str| {
        eventually("a message", async || {
            // What finds the endpoint busy is looked at again two seconds later.
            server.clock.advance(Duration::from_millis(200));
            !receiver.of_type(kind).is_empty()
        })
        .await;
        receiver.of_type(kind)
    };
    let [message] = &arrived("apikey.created").await[..] else { panic!("one") };
    assert_eq!(
        (message.path.as_str(), message.header("content-type")),
        ("/in", "application/json")
    );
    assert!(message.is_signed_by(&secret));
    let body = message.json();
    assert_eq!(body["data"]["subject"]["id"], key.as_str());
    let [entry] = &trail(&api, "apikey.created").await[..] else { panic!("one") };
    assert_eq!((&body["data"], &body["timestamp"]), (entry, &entry["at"]));
    let id = message.header("webhook-id");
    assert_eq!(id, text(&entry["id"]).replace('.', "_"));
    assert!(!id.contains('.'));
    for tampered in
        [message.body.replace("apikey", "apikex"), format!("{} ", message.body), String::new()]
    {
        let mut forged = message.clone();
        forged.body = tampered;
        assert!(!forged.is_signed_by(&secret));
    }
    let mut late = message.clone();
    late.headers.insert("webhook-timestamp", "1".parse().unwrap());
    assert!(!late.is_signed_by(&secret), "the time is signed as well");
    // It was told of its own making, too, and of each thing once.
    arrived("webhook.created").await;
    server.quiet().await;
    let mut ids: Vec<String> =
        receiver.got().iter().map(|one| one.header("webhook-id").to_owned()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_is_never_sent_what_happens_in_another_organization_or_is_filtered() {
    let (server, receiver) = open().await;
    let (api, mine) = (Api::of(&server, "rita@acme.test", EVERYTHING).await, &receiver);
    let other = Api::of(&server, "otto@other.test", EVERYTHING).await;
    let theirs = Receiver::open().await;
    make(&api, json!({ "url": mine.url, "events": ["apikey.*"] })).await;
    let path = "/api/organizations/other/webhooks";
    let made = other.post(path, &json!({ "url": theirs.url, "events": ["apikey.created"] })).await;
    assert_eq!(made.status, 201, "{made:?}");
    let key = happen(&api).await;
    let body = json!({ "name": "k", "permissions": ["audit:read"] });
    let foreign = other.post("/api/organizations/other/apikeys", &body).await.json();
    let (here, there) =
        (mine.wait("apikey.created", 1).await, theirs.wait("apikey.created", 1).await);
    assert_eq!(here[0].json()["data"]["subject"]["id"], key.as_str());
    assert_eq!(there[0].json()["data"]["subject"]["id"], foreign["id"]);
    api.call(Method::DELETE, &format!("{KEYS}/{key}"), None, &[]).await;
    mine.wait("apikey.revoked", 1).await;
    server.quiet().await;
    assert_eq!((mine.got().len(), theirs.got().len()), (2, 1));
    // Neither is another organization's endpoint found, shown or changed.
    let hook = format!("{HOOKS}/{}", text(&made.json()["id"]));
    api.get(&hook).await.problem(404, "not_found");
    for path in [format!("{hook}/test"), format!("{hook}/rotate")] {
        let body = path.ends_with("rotate").then(|| json!({}));
        api.call(Method::POST, &path, body.as_ref(), &[]).await.problem(404, "not_found");
    }
    let any = [("if-match", "*")];
    api.call(Method::DELETE, &hook, None, &any).await.problem(404, "not_found");
    let body = json!({ "url": mine.url });
    api.call(Method::PATCH, &hook, Some(&body), &any).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn a_secret_is_shown_once_and_a_rotation_signs_with_both_while_it_overlaps() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (path, first) =
        make(&api, json!({ "url": receiver.url, "events": ["apikey.created"] })).await;
    for shown in [api.get(HOOKS).await, api.get(&path).await] {
        assert!(!shown.text().contains("secret") && !shown.text().contains("whsec"), "{shown:?}");
    }
    let rotate = async |overlap: u32| {
        let body = json!({ "overlap": overlap });
        api.post(&format!("{path}/rotate"), &body).await
    };
    rotate(8 * 24 * 3_600).await.problem(400, "invalid_request");
    let rotated = rotate(60).await.json();
    let second = text(&rotated["secret"]).to_owned();
    assert_ne!(first, second);
    assert!(api.get(&path).await.json()["former_secret_until"].is_string());
    happen(&api).await;
    let message = receiver.wait("apikey.created", 1).await.remove(0);
    assert!(message.is_signed_by(&first) && message.is_signed_by(&second));
    server.clock.advance(Duration::from_mins(1));
    happen(&api).await;
    let message = receiver.wait("apikey.created", 2).await.remove(1);
    assert!(!message.is_signed_by(&first) && message.is_signed_by(&second));
    let log = api.get("/api/organizations/acme/audit/export").await.text();
    assert!(log.contains("webhook.secret_rotated") && !log.contains("whsec_"));
    assert!(!log.contains(&receiver.url), "an address may hold a key");
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_was_down_is_sent_everything_with_the_same_ids() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    receiver.behave(Manner::Answers(503));
    let (path, secret) =
        make(&api, json!({ "url": receiver.url, "events": ["apikey.created"] })).await;
    happen(&api).await;
    let refused = receiver.wait("apikey.created", 1).await.remove(0);
    eventually("the note", async || api.get(&path).await.json()["failing_since"].is_string()).await;
    happen(&api).await;
    receiver.behave(Manner::Answers(200));
    eventually("the rest", async || {
        server.clock.advance(Duration::from_secs(10));
        metric(&server, "delivered", 2).await
    })
    .await;
    let got = receiver.got();
    let again =
        got.iter().skip(1).find(|one| one.header("webhook-id") == refused.header("webhook-id"));
    let again = again.expect("the same id");
    assert_eq!(again.body, refused.body);
    assert_ne!(again.header("webhook-timestamp"), refused.header("webhook-timestamp"));
    assert!(again.is_signed_by(&secret));
    // The clock has moved on, and a token lives for minutes.
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    eventually("the end", async || api.get(&path).await.json()["failing_since"].is_null()).await;
    server.stop().await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_a_flood_and_a_refusal_are_failures() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    receiver.behave(Manner::Redirects);
    let (path, _) = make(&api, json!({ "url": receiver.url, "events": ["apikey.created"] })).await;
    happen(&api).await;
    let failing = async || api.get(&path).await.json()["failing_since"].is_string();
    eventually("the note", async || failing().await).await;
    for manner in [Manner::Floods, Manner::Answers(400), Manner::Answers(401)] {
        receiver.behave(manner);
        let before = receiver.got().len();
        eventually("another try", async || {
            server.clock.advance(Duration::from_secs(30));
            receiver.got().len() > before
        })
        .await;
        server.quiet().await;
        let api = Api::of(&server, "rita@acme.test", "audit:read").await;
        assert!(api.get(&path).await.json()["failing_since"].is_string(), "{manner:?}");
    }
    assert!(receiver.got().iter().all(|one| one.path == "/in"), "it was not followed");
    assert!(metric(&server, "delivered", 0).await);
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_fails_for_days_is_disabled_and_the_trail_says_so() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    receiver.behave(Manner::Answers(500));
    let (path, _) = make(&api, json!({ "url": receiver.url, "events": ["apikey.created"] })).await;
    happen(&api).await;
    receiver.wait("apikey.created", 1).await;
    eventually("the note", async || api.get(&path).await.json()["failing_since"].is_string()).await;
    server.clock.advance(Duration::from_hours(73));
    // Tokens do not live for days.
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    // The pause after the first failure may begin before or after the days.
    eventually("the end", async || {
        server.clock.advance(Duration::from_secs(1));
        api.get(&path).await.json()["enabled"] == false
    })
    .await;
    let shown = api.get(&path).await.json();
    assert_eq!(shown["disabled_because"], "failing");
    let [entry] = &trail(&api, "webhook.disabled").await[..] else { panic!("one") };
    assert_eq!(entry["detail"]["because"], "failing");
    assert_eq!(entry["detail"]["context"]["actor"]["type"], "node");
    api.call(Method::POST, &format!("{path}/test"), None, &[])
        .await
        .problem(409, "webhook_disabled");
    let before = receiver.got().len();
    happen(&api).await;
    server.clock.advance(Duration::from_hours(1));
    server.quiet().await;
    assert_eq!(receiver.got().len(), before, "nothing is sent to it");
    // Enabled again, it is sent what happens from then on.
    receiver.behave(Manner::Answers(200));
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let enabled = api.change(Method::PATCH, &path, Some(&json!({ "enabled": true }))).await.json();
    assert_eq!((&enabled["enabled"], &enabled["disabled_because"]), (&true.into(), &Value::Null));
    let key = happen(&api).await;
    let all = receiver.wait("apikey.created", before + 1).await;
    assert_eq!(all[before].json()["data"]["subject"]["id"], key.as_str());
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled_at_once() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    receiver.behave(Manner::Answers(410));
    let (path, _) = make(&api, json!({ "url": receiver.url })).await;
    eventually("the end", async || api.get(&path).await.json()["disabled_because"] == "gone").await;
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_hangs_holds_up_no_other_and_a_test_reaches_one_endpoint_alone() {
    let (server, receiver) = open().await;
    let (api, slow) =
        (Api::of(&server, "rita@acme.test", EVERYTHING).await, Receiver::open().await);
    slow.behave(Manner::Hangs);
    make(&api, json!({ "url": slow.url })).await;
    for _ in 0..8 {
        happen(&api).await;
    }
    eventually("a try", async || !slow.got().is_empty()).await;
    let (path, secret) =
        make(&api, json!({ "url": receiver.url, "events": ["client.deleted"] })).await;
    let tested = api.call(Method::POST, &format!("{path}/test"), None, &[]).await;
    assert_eq!(tested.status, 204, "{tested:?}");
    let [test] = &receiver.wait("webhook.test", 1).await[..] else { panic!("one") };
    assert!(test.is_signed_by(&secret));
    assert!(slow.of_type("webhook.test").is_empty());
    assert_eq!(trail(&api, "webhook.tested").await.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn a_suspended_organization_is_sent_nothing_and_what_waits_comes_when_it_is_enabled_again() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    receiver.behave(Manner::Answers(503));
    make(&api, json!({ "url": receiver.url, "events": ["apikey.created"] })).await;
    happen(&api).await;
    receiver.wait("apikey.created", 1).await;
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    api.post(HOOKS, &json!({ "url": receiver.url })).await.problem(401, "invalid_token");
    receiver.behave(Manner::Answers(200));
    for _ in 0..3 {
        server.clock.advance(Duration::from_mins(11));
        server.quiet().await;
    }
    assert_eq!(receiver.got().len(), 1, "nothing more");
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = true\n").await;
    for _ in 0..20 {
        // Slowly: a message that waits for days is given up.
        server.clock.advance(Duration::from_mins(11));
        server.quiet().await;
        if receiver.got().len() == 2 {
            break;
        }
    }
    // What waited.
    receiver.wait("apikey.created", 2).await;
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_inside_our_network_is_not_called_unless_configuration_lets_it() {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    server.apply(DIRECTORY).await;
    let receiver = Receiver::open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (path, _) = make(&api, json!({ "url": receiver.url })).await;
    eventually("the note", async || api.get(&path).await.json()["failing_since"].is_string()).await;
    assert!(receiver.got().is_empty());
    server.stop().await;
}

#[tokio::test]
async fn input_that_cannot_stand_is_refused_by_name() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let pointer = |answer: &Answer| {
        let said = answer.json();
        assert_eq!(
            (answer.status.as_u16(), &said["code"]),
            (400, &"invalid_request".into()),
            "{said}"
        );
        text(&said["errors"][0]["pointer"]).to_owned()
    };
    for url in [
        "http://hooks.example.com/",
        "https://a:b@hooks.example.com/",
        "https://hooks.example.com/#x",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "//hooks.example.com",
        "",
        &format!("https://hooks.example.com/{}", "a".repeat(2_000)),
        "https://h\u{00f6}oks.example.com/",
        "https://hooks.example.com/\r\nx: y",
    ] {
        let refused = api.post(HOOKS, &json!({ "url": url })).await;
        assert_eq!(pointer(&refused), "#/url", "{url}");
    }
    for events in [json!(["*"]), json!(["account.created", "x"]), json!(["a.b.c"])] {
        let refused = api.post(HOOKS, &json!({ "url": receiver.url, "events": events })).await;
        assert!(pointer(&refused).starts_with("#/events/"), "{events}");
    }
    let many = vec!["account.created"; 101];
    let refused = api.post(HOOKS, &json!({ "url": receiver.url, "events": many })).await;
    assert_eq!(pointer(&refused), "#/events");
    for body in [
        json!({}),
        json!({ "url": 1 }),
        json!({ "url": receiver.url, "events": "account.created" }),
        json!({ "url": receiver.url, "secret": "whsec_mine" }),
        json!({ "url": receiver.url, "organization": "other" }),
    ] {
        api.post(HOOKS, &body).await.problem(400, "invalid_request");
    }
    let (path, _) = make(&api, json!({ "url": receiver.url })).await;
    let body = json!({ "events": ["client.*"] });
    let bare = api.call(Method::PATCH, &path, Some(&body), &[]).await;
    bare.problem(428, "precondition_required");
    let stale = api.tag(&path).await;
    let changed = api.change(Method::PATCH, &path, Some(&body)).await;
    assert_eq!(changed.json()["events"], json!(["client.*"]));
    let late = api.call(Method::PATCH, &path, Some(&body), &[("if-match", &stale)]).await;
    late.problem(412, "precondition_failed");
    assert_eq!(api.change(Method::DELETE, &path, None).await.status, 204);
    api.get(&path).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn an_organization_has_ten_endpoints_at_most_and_a_deleted_one_makes_room() {
    let (server, receiver) = open().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let body = json!({ "url": receiver.url, "events": ["client.deleted"] });
    let mut last = String::new();
    for _ in 0..10 {
        last = make(&api, body.clone()).await.0;
    }
    api.post(HOOKS, &body).await.problem(409, "too_many_webhooks");
    assert_eq!(api.get(HOOKS).await.json()["items"].as_array().unwrap().len(), 10);
    assert_eq!(api.change(Method::DELETE, &last, None).await.status, 204);
    make(&api, body.clone()).await;
    api.post(HOOKS, &body).await.problem(409, "too_many_webhooks");
    server.stop().await;
}

#[tokio::test]
async fn a_caller_who_may_not_read_the_trail_directs_it_nowhere() {
    let (server, receiver) = open().await;
    let all = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (path, _) = make(&all, json!({ "url": "https://hooks.example.com/" })).await;
    let api = Api::of(&server, "rita@acme.test", "audit:write").await;
    let body = json!({ "url": receiver.url });
    api.post(HOOKS, &body).await.problem(403, "permission_not_held");
    let any = [("if-match", "*")];
    let changed = api.call(Method::PATCH, &path, Some(&body), &any).await;
    changed.problem(403, "permission_not_held");
    let rotated = api.post(&format!("{path}/rotate"), &json!({})).await;
    rotated.problem(403, "permission_not_held");
    let deleted = api.call(Method::DELETE, &path, None, &any).await;
    assert_eq!(deleted.status, 204, "it may be stopped: {deleted:?}");
    server.stop().await;
}
