//! Impersonation: delegation by an administrator, and nothing else (adr/0089).

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    exchange::{AGENTS, token_of},
    http::Answer,
    me::{delete_in, get_in, records},
    person::{PASSWORD, claims, parameter, redirect, text},
    step_up::code,
    support::TestServer,
};
use hyper::Method;
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;

/// Sofia holds everything that clerks hold, and a second factor.
const MORE: &str = r#"
[[organization]]
slug = "acme"
impersonation = true

[[account]]
email = "sofia@acme.test"
password = "correct horse battery staple"
totp_secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
memberships = [{ organization = "acme", roles = ["administrator", "clerk"] }]

[[account]]
email = "carla@acme.test"
password = "correct horse battery staple"
memberships = [{ organization = "acme", roles = ["clerk"] }]
"#;

pub async fn scene() -> TestServer {
    let server = directory().await;
    server.apply(MORE).await;
    server
}

/// Signs Sofia in with both factors; returns the session and a caller of the management API.
pub async fn sofia(server: &TestServer) -> (String, Api<'_>) {
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": "sofia@acme.test" })).await;
    server.step(&flow, "password", json!({ "password": PASSWORD })).await;
    let done = server.step(&flow, "totp", json!({ "code": code(server.clock.now()) })).await;
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    let scope = format!("{EVERYTHING} accounts:write");
    let asked = [("scope", scope.as_str()), ("organization", "acme")];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let given = parameter(&redirect(&answer), "code").expect("a code");
    let tokens = server.redeem("web", &given).await.json();
    let token = text(&tokens["access_token"]).to_owned();
    (session, Api { server, token, reason: None })
}

pub async fn membership_of(api: &Api<'_>, email: &str) -> String {
    let found = api.get(&format!("/api/organizations/acme/members?email={email}")).await.json();
    text(&found["items"][0]["id"]).to_owned()
}

pub async fn act_as(api: &Api<'_>, membership: &str, body: &Value) -> Answer {
    let path = format!("/api/organizations/acme/members/{membership}/impersonation");
    api.post(&path, body).await
}

pub fn wanted() -> Value {
    json!({ "reason": "ticket 4711", "scope": "invoices:read", "expires_in": 120 })
}

#[tokio::test]
async fn an_administrator_acts_as_a_member_for_minutes_and_everything_says_so() {
    let server = scene().await;
    let (_, api) = sofia(&server).await;
    let carla = membership_of(&api, "carla@acme.test").await;
    let answer = act_as(&api, &carla, &wanted()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let body = answer.json();
    assert_eq!((&body["expires_in"], &body["scope"]), (&json!(120), &json!("invoices:read")));
    let said = claims(&body["access_token"]);
    let own = claims(&json!(api.token));
    assert_eq!(said["act"], json!({ "sub": own["sub"] }), "the administrator");
    assert_ne!(said["sub"], own["sub"]);
    assert_eq!((&said["membership"], &said["role"]), (&json!(carla), &json!("clerk")));
    assert!(said.get("acr").is_none(), "the person has proved nothing");
    let token = text(&body["access_token"]);
    let seen = server.introspect("invoices-api", token).await;
    assert_eq!((&seen["active"], &seen["act"]), (&json!(true), &said["act"]));
    let rows = records(&server, "impersonation.began").await;
    assert_eq!((rows.len(), &rows[0]["account"]), (1, &said["sub"]));
    assert_eq!(rows[0]["context"]["reason"], "ticket 4711");
    assert_eq!(rows[0]["context"]["actor"]["id"], own["sub"]);
    let trail = api.get("/api/organizations/acme/audit?event=impersonation.began").await.json();
    assert_eq!(trail["items"].as_array().unwrap().len(), 1, "the customer reads it: {trail}");
    server.clock.advance(Duration::from_mins(2));
    assert_eq!(server.introspect("invoices-api", token).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn it_ends_with_the_administrators_session_role_and_the_switch() {
    for end in ["session", "role", "switch", "member"] {
        let server = scene().await;
        let (session, api) = sofia(&server).await;
        let carla = membership_of(&api, "carla@acme.test").await;
        let body = act_as(&api, &carla, &wanted()).await.json();
        let token = text(&body["access_token"]);
        assert_eq!(server.introspect("invoices-api", token).await["active"], true);
        match end {
            "session" => {
                let all = get_in(&server, &session, "/me/sessions").await.json();
                let path = format!("/me/sessions/{}", text(&all["items"][0]["id"]));
                assert_eq!(delete_in(&server, &session, &path).await.status, 204);
            }
            "role" => {
                let file = "[[account]]\nemail = \"sofia@acme.test\"\nmemberships = \
                            [{ organization = \"acme\", roles = [\"administrator\"] }]\n";
                server.apply(file).await;
            }
            "switch" => {
                server.apply("[[organization]]\nslug = \"acme\"\nimpersonation = false\n").await;
            }
            _ => {
                let path = format!("/api/organizations/acme/members/{carla}");
                let off = json!({ "enabled": false });
                assert_eq!(api.change(Method::PATCH, &path, Some(&off)).await.status, 200);
            }
        }
        let seen = server.introspect("invoices-api", token).await;
        assert_eq!(seen, json!({ "active": false }), "{end}");
        server.stop().await;
    }
}

#[tokio::test]
async fn it_is_refused_where_more_would_come_of_it_than_the_administrator_holds() {
    let server = scene().await;
    let (_, api) = sofia(&server).await;
    let carla = membership_of(&api, "carla@acme.test").await;
    let ana = membership_of(&api, "ana@acme.test").await;
    let own = membership_of(&api, "sofia@acme.test").await;
    act_as(&api, &ana, &wanted()).await.problem(403, "permission_not_held");
    act_as(&api, &own, &wanted()).await.problem(409, "oneself");
    act_as(&api, "nobody", &wanted()).await.problem(404, "not_found");
    for (member, value) in [
        ("reason", json!("")),
        ("reason", json!("mail to a@b.c")),
        ("reason", json!("x".repeat(501))),
        ("scope", json!("")),
        ("scope", json!("openid invoices:read")),
        ("scope", json!("invoices:read orders:read")),
        ("scope", json!("accounts:read")),
        ("scope", json!("unknown:scope")),
        ("expires_in", json!(-1)),
        ("more", json!(true)),
    ] {
        let mut body = wanted();
        body[member] = value.clone();
        let answer = act_as(&api, &carla, &body).await;
        assert_eq!(answer.status, 400, "{member} {value}: {answer:?}");
    }
    let mut body = wanted();
    body["scope"] = json!("invoices:write");
    act_as(&api, &carla, &body).await.problem(403, "permission_not_held");
    body.as_object_mut().unwrap().remove("reason");
    assert_eq!(act_as(&api, &carla, &body).await.status, 400, "a reason is required");
    server.administers("carla@acme.test", true).await;
    act_as(&api, &carla, &wanted()).await.problem(403, "permission_not_held");
    server.apply("[[organization]]\nslug = \"acme\"\nimpersonation = false\n").await;
    act_as(&api, &carla, &wanted()).await.problem(403, "impersonation_off");
    server.stop().await;
}

#[tokio::test]
async fn it_takes_two_factors_a_person_and_a_token_of_their_own() {
    let server = scene().await;
    let (_, api) = sofia(&server).await;
    let carla = membership_of(&api, "carla@acme.test").await;
    let rita = Api::of(&server, "rita@acme.test", "accounts:write").await;
    act_as(&rita, &carla, &wanted()).await.problem(401, "insufficient_user_authentication");
    server
        .apply(
            "[[client]]\nclient_id = \"agent\"\n\
             client_secret = \"a-secret-of-more-than-thirty-two-characters\"\n\
             grant_types = [\"token-exchange\"]\n",
        )
        .await;
    let held = server.exchanged("agent", &api.token, "accounts:write apikeys:write").await;
    let agent = Api { server: &server, token: held, reason: None };
    act_as(&agent, &carla, &wanted()).await.problem(403, "delegation_refused");
    let key = json!({ "name": "Mine", "permissions": ["apikeys:write"] });
    let made = agent.post("/api/organizations/acme/apikeys", &key).await;
    made.problem(403, "delegation_refused");
    let token = act_as(&api, &carla, &wanted()).await.json()["access_token"].clone();
    let member = Api { server: &server, token: text(&token).to_owned(), reason: None };
    assert_eq!(member.get("/api/organizations/acme").await.status, 401, "no API of ours");
    server.stop().await;
}

#[tokio::test]
async fn what_an_administrator_holds_as_a_member_is_not_exchanged() {
    let server = scene().await;
    server.apply(AGENTS).await;
    let (_, api) = sofia(&server).await;
    let carla = membership_of(&api, "carla@acme.test").await;
    let body = act_as(&api, &carla, &wanted()).await.json();
    let token = text(&body["access_token"]);
    // By its own client, by an agent, and for as much or less: what came of it would forget the administrator.
    for scope in ["", "invoices:read"] {
        let answer = server.exchange("agent", token, &[("scope", scope)]).await;
        answer.refused(400, "invalid_request");
    }
    let own = token_of(&server, "carla@acme.test", "invoices:read").await;
    assert!(server.is_active(&server.exchanged("agent", &own, "").await).await, "her own is");
    assert!(server.is_active(token).await, "and the administrator goes on");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_must_hold_bound_tokens_gets_none_by_an_older_one_that_is_not() {
    let server = scene().await;
    let (_, api) = sofia(&server).await;
    let carla = membership_of(&api, "carla@acme.test").await;
    assert_eq!(act_as(&api, &carla, &wanted()).await.status, 201);
    for demand in ["dpop_bound_access_tokens", "tls_client_certificate_bound_access_tokens"] {
        let set = |value| format!("[[client]]\nclient_id = \"web\"\n{demand} = {value}\n");
        server.apply(&set(true)).await;
        act_as(&api, &carla, &wanted()).await.problem(403, "binding_required");
        server.apply(&set(false)).await;
    }
    assert_eq!(act_as(&api, &carla, &wanted()).await.status, 201);
    server.stop().await;
}
