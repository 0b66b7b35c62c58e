//! Token exchange: a client acts for another, with less and never with more (RFC 8693, adr/0088).

use crate::{
    api_caller::{Api, directory},
    http::Answer,
    me::{delete_in, get_in, records},
    outside::Outside,
    person::{claims, text},
    support::{INVOICES, TestServer},
};
use hyper::Method;
use serde_json::json;
use std::time::Duration;

const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// Two agents of no organization, one of another, and one that may ask for little.
pub const AGENTS: &str = r#"
[[client]]
client_id = "agent"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["token-exchange", "client_credentials"]

[[client]]
client_id = "second"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["urn:ietf:params:oauth:grant-type:token-exchange"]

[[client]]
client_id = "reader"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["token-exchange"]
scope = "invoices:read"

[[client]]
client_id = "foreign"
client_secret = "a-secret-of-more-than-thirty-two-characters"
organization = "other"
grant_types = ["token-exchange"]
"#;

impl Outside {
    /// Asks as `agent` to act with a token.
    pub async fn exchange(self, agent: &str, token: &str, otherwise: &[(&str, &str)]) -> Answer {
        let mut fields = vec![
            ("grant_type", EXCHANGE),
            ("subject_token", token),
            ("subject_token_type", ACCESS_TOKEN),
        ];
        for (name, value) in otherwise {
            fields.retain(|(known, _)| known != name);
            if !value.is_empty() {
                fields.push((name, value));
            }
        }
        self.post_as(agent, "/connect/token", &fields).await
    }

    /// The same, where it must be granted.
    pub async fn exchanged(self, agent: &str, token: &str, scope: &str) -> String {
        let scope: &[(&str, &str)] = if scope.is_empty() { &[] } else { &[("scope", scope)] };
        let answer = self.exchange(agent, token, scope).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        text(&answer.json()["access_token"]).to_owned()
    }

    pub async fn is_active(self, token: &str) -> bool {
        self.introspect("invoices-api", token).await["active"] == true
    }
}

pub async fn agents() -> TestServer {
    let server = directory().await;
    server.apply(AGENTS).await;
    server
}

pub async fn token_of(server: &TestServer, email: &str, scope: &str) -> String {
    text(&server.tokens(email, "web", scope).await["access_token"]).to_owned()
}

#[tokio::test]
async fn an_agent_acts_for_a_person_with_less_and_the_token_names_it() {
    let server = agents().await;
    let token = token_of(&server, "ana@acme.test", "openid invoices:read invoices:write").await;
    let whole = claims(&json!(token));
    let answer = server.exchange("agent", &token, &[("scope", "invoices:read")]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.json();
    assert_eq!(body["issued_token_type"], ACCESS_TOKEN);
    assert_eq!((&body["token_type"], &body["scope"]), (&json!("Bearer"), &json!("invoices:read")));
    assert!(body.get("refresh_token").is_none() && body.get("id_token").is_none());
    let said = claims(&body["access_token"]);
    for name in ["sub", "org", "role", "membership", "aud", "acr", "auth_time"] {
        assert_eq!(said[name], whole[name], "{name}");
    }
    assert_eq!((&said["client_id"], &said["scope"]), (&json!("agent"), &json!("invoices:read")));
    assert_eq!(said["act"], json!({ "sub": "agent" }));
    let seen = server.introspect("invoices-api", text(&body["access_token"])).await;
    assert_eq!((&seen["active"], &seen["act"]), (&json!(true), &json!({ "sub": "agent" })));
    let records = records(&server, "token.exchanged").await;
    assert_eq!(records.len(), 1);
    assert_eq!((&records[0]["act"], &records[0]["client_id"]), (&json!("agent"), &json!("agent")));
    assert_eq!(records[0]["scope"], "invoices:read");
    server.stop().await;
}

#[tokio::test]
async fn without_a_scope_all_of_the_subject_token_is_asked_for_and_refused_if_any_is_not_covered() {
    let server = agents().await;
    let token = token_of(&server, "ana@acme.test", "openid invoices:read invoices:write").await;
    let all = server.exchanged("agent", &token, "").await;
    assert_eq!(claims(&json!(all))["scope"], "openid invoices:read invoices:write");
    let answer = server.exchange("reader", &token, &[]).await;
    answer.refused(400, "invalid_scope");
    let less = server.exchanged("reader", &token, "invoices:read").await;
    server
        .exchange("reader", &less, &[("scope", "invoices:write")])
        .await
        .refused(400, "invalid_scope");
    server.stop().await;
}

#[tokio::test]
async fn nothing_more_than_the_subject_token_is_ever_issued() {
    let server = agents().await;
    let token = token_of(&server, "ana@acme.test", "invoices:read").await;
    for scope in
        ["invoices:write", "invoices:read invoices:write", "openid invoices:read", "invoices:*"]
    {
        let answer = server.exchange("agent", &token, &[("scope", scope)]).await;
        answer.refused(400, "invalid_scope");
    }
    for (name, value, code) in [
        ("resource", "https://api.example.com/orders", "invalid_target"),
        ("audience", "https://api.example.com/orders", "invalid_target"),
        ("organization", "other", "invalid_target"),
        ("organization", "nowhere", "invalid_target"),
        (
            "authorization_details",
            r#"[{"type":"payment_initiation"}]"#,
            "invalid_authorization_details",
        ),
        ("authorization_details", "[", "invalid_authorization_details"),
        ("scope", "\"", "invalid_scope"),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:refresh_token",
            "invalid_request",
        ),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id_token", "invalid_request"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token", "invalid_request"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:refresh_token", "invalid_request"),
        ("subject_token_type", "", "invalid_request"),
        ("subject_token", "", "invalid_request"),
        ("subject_token", "x", "invalid_request"),
        ("subject_token", "pak_x", "invalid_request"),
        ("actor_token", "x", "invalid_request"),
        ("actor_token_type", ACCESS_TOKEN, "invalid_request"),
    ] {
        let answer = server.exchange("agent", &token, &[(name, value)]).await;
        answer.refused(400, code);
    }
    let same = [("resource", INVOICES), ("audience", INVOICES), ("organization", "acme")];
    assert_eq!(server.exchange("agent", &token, &same).await.status, 200);
    let differ = [("resource", INVOICES), ("audience", "https://api.example.com/orders")];
    server.exchange("agent", &token, &differ).await.refused(400, "invalid_target");
    server.stop().await;
}

#[tokio::test]
async fn an_id_token_and_a_refresh_token_are_no_subject_tokens() {
    let server = agents().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid invoices:read").await;
    for name in ["id_token", "refresh_token"] {
        let answer = server.exchange("agent", text(&tokens[name]), &[]).await;
        answer.refused(400, "invalid_request");
    }
    server.stop().await;
}

#[tokio::test]
async fn only_an_authenticated_client_with_the_grant_may_exchange() {
    let server = agents().await;
    let token = token_of(&server, "ana@acme.test", "invoices:read").await;
    server.exchange("billing", &token, &[]).await.refused(400, "unauthorized_client");
    let fields = [
        ("grant_type", "token-exchange"),
        ("subject_token", &token),
        ("subject_token_type", ACCESS_TOKEN),
        ("client_id", "agent"),
    ];
    server.post("/connect/token", &fields).await.refused(401, "invalid_client");
    let short = [("grant_type", "token-exchange")];
    assert_eq!(server.exchange("agent", &token, &short).await.status, 200, "the short name");
    server.exchange("foreign", &token, &[]).await.refused(400, "invalid_target");
    server.stop().await;
}

#[tokio::test]
async fn what_is_held_by_administering_is_not_passed_on() {
    let server = agents().await;
    server.administers("olga@operator.test", true).await;
    let scope = "organizations:administer organizations:read";
    let olga = Api::of_organization(&server, "olga@operator.test", scope, "acme").await;
    server.exchange("agent", &olga.token, &[]).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn who_acts_is_nested_up_to_eight_and_no_deeper() {
    let server = agents().await;
    let mut token = token_of(&server, "ana@acme.test", "invoices:read").await;
    for depth in 1..=8 {
        let agent = if depth % 2 == 1 { "agent" } else { "second" };
        token = server.exchanged(agent, &token, "").await;
    }
    let said = claims(&json!(token));
    let mut act = &said["act"];
    let mut parties = Vec::new();
    while !act.is_null() {
        parties.push(text(&act["sub"]));
        act = &act["act"];
    }
    assert_eq!(parties, ["second", "agent"].repeat(4));
    assert!(server.is_active(&token).await);
    server.exchange("agent", &token, &[]).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn no_token_outlives_the_one_it_was_exchanged_for() {
    let server = agents().await;
    let token = token_of(&server, "ana@acme.test", "invoices:read").await;
    server.clock.advance(Duration::from_secs(200));
    let answer = server.exchange("agent", &token, &[]).await.json();
    assert_eq!(answer["expires_in"], 100);
    assert_eq!(claims(&answer["access_token"])["exp"], claims(&json!(token))["exp"]);
    server.clock.advance(Duration::from_secs(100));
    server
        .exchange("second", text(&answer["access_token"]), &[])
        .await
        .refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn whatever_ends_the_subject_ends_what_was_exchanged_for_it() {
    let server = agents().await;
    let chain = async || {
        let session = server.sign_in("ana@acme.test").await;
        let code = server.code(&session, "web", "invoices:read").await;
        let tokens = server.redeem("web", &code).await.json();
        let token = text(&tokens["access_token"]).to_owned();
        let below = server.exchanged("agent", &token, "").await;
        let last = server.exchanged("second", &below, "").await;
        assert!(server.is_active(&last).await);
        (session, tokens, [token, below, last])
    };
    // The root alone is revoked.
    let (_, tokens, [root, below, last]) = chain().await;
    server.post_as("web", "/connect/revoke", &[("token", &root)]).await;
    for token in [&root, &below, &last] {
        assert!(!server.is_active(token).await);
    }
    let renewed = server.refresh("web", text(&tokens["refresh_token"])).await.json();
    assert!(server.is_active(text(&renewed["access_token"])).await, "the family lives on");
    // A link in the middle is given back.
    let (_, _, [root, below, last]) = chain().await;
    server.post_as("agent", "/connect/revoke", &[("token", &below)]).await;
    assert!(server.is_active(&root).await);
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    // The family ends.
    let (_, tokens, [_, below, last]) = chain().await;
    let refresh = text(&tokens["refresh_token"]);
    server.post_as("web", "/connect/revoke", &[("token", refresh)]).await;
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    // The session ends.
    let (session, _, [_, below, last]) = chain().await;
    let sessions = get_in(&server, &session, "/me/sessions").await.json();
    let current = sessions["items"].as_array().unwrap().iter().find(|one| one["current"] == true);
    let path = format!("/me/sessions/{}", text(&current.unwrap()["id"]));
    assert_eq!(delete_in(&server, &session, &path).await.status, 204);
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    // The organization is suspended, and what was issued stays void.
    let (_, _, [root, below, last]) = chain().await;
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    server.exchange("agent", &root, &[]).await.refused(400, "invalid_target");
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = true\n").await;
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    server.stop().await;
}

#[tokio::test]
async fn what_a_link_may_no_longer_ask_for_is_lost_below_it() {
    for (change, lasts) in [
        (
            "[[account]]\nemail = \"ana@acme.test\"\n\
             memberships = [{ organization = \"acme\", roles = [] }]\n",
            false,
        ),
        ("[[client]]\nclient_id = \"agent\"\nscope = \"invoices:write\"\n", false),
        ("[[client]]\nclient_id = \"web\"\nscope = \"invoices:write\"\n", false),
        ("[[client]]\nclient_id = \"second\"\ngrant_types = [\"client_credentials\"]\n", false),
        ("[[client]]\nclient_id = \"reader\"\nscope = \"invoices:write\"\n", true),
    ] {
        let server = agents().await;
        let token = token_of(&server, "ana@acme.test", "invoices:read").await;
        let below = server.exchanged("agent", &token, "").await;
        let last = server.exchanged("second", &below, "").await;
        server.apply(change).await;
        assert_eq!(server.is_active(&last).await, lasts, "{change}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_person_who_ends_what_an_agent_may_do_ends_its_tokens() {
    let server = agents().await;
    let session = server.sign_in("ana@acme.test").await;
    for ended in ["web", "agent"] {
        let code = server.code(&session, "web", "invoices:read").await;
        let token = server.redeem("web", &code).await.json()["access_token"].clone();
        let below = server.exchanged("agent", text(&token), "").await;
        let last = server.exchanged("second", &below, "").await;
        let connected = get_in(&server, &session, "/me/consents").await.json();
        let held = connected["items"].as_array().unwrap().iter();
        let mut named = held.filter(|one| one["client"]["client_id"] == ended);
        let id = text(&named.next().unwrap_or_else(|| panic!("{connected}"))["id"]).to_owned();
        let ended_now = delete_in(&server, &session, &format!("/me/consents/{id}")).await;
        assert_eq!(ended_now.status, 204);
        assert!(!server.is_active(&below).await && !server.is_active(&last).await, "{ended}");
        assert_eq!(server.is_active(text(&token)).await, ended == "agent");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_in_its_own_name_can_be_acted_for_within_its_roles() {
    let server = agents().await;
    let token = server.token("billing", "invoices:read").await;
    let below = server.exchanged("agent", &token, "").await;
    let said = claims(&json!(below));
    assert_eq!((&said["sub"], &said["client_id"]), (&json!("billing"), &json!("agent")));
    assert_eq!((&said["org"], &said["role"]), (&json!("acme"), &json!("clerk")));
    assert!(said.get("acr").is_none() && said.get("auth_time").is_none());
    assert!(server.is_active(&below).await);
    let last = server.exchanged("second", &below, "").await;
    server.apply("[[client]]\nclient_id = \"billing\"\nroles = []\n").await;
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    server.stop().await;
}

#[tokio::test]
async fn an_api_key_becomes_a_short_token_within_what_it_permits() {
    let server = agents().await;
    let rita = Api::of(&server, "rita@acme.test", "apikeys:read apikeys:write").await;
    let made = json!({ "name": "Nightly", "permissions": ["invoices:read"] });
    let key = rita.post("/api/organizations/acme/apikeys", &made).await;
    assert_eq!(key.status, 201, "{key:?}");
    let key = key.json();
    let text_of = text(&key["key"]);
    let answer = server.exchange("agent", text_of, &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let said = claims(&answer.json()["access_token"]);
    assert_eq!((&said["scope"], &said["aud"]), (&json!("invoices:read"), &json!(INVOICES)));
    assert_eq!((&said["org"], &said["act"]), (&json!("acme"), &json!({ "sub": "agent" })));
    assert!(said.get("acr").is_none(), "no person has signed in for it");
    let token = answer.json()["access_token"].clone();
    assert!(server.is_active(text(&token)).await);
    for (scope, code) in [
        ("invoices:write", "invalid_scope"),
        ("orders:read", "invalid_scope"),
        ("openid", "invalid_scope"),
    ] {
        server.exchange("agent", text_of, &[("scope", scope)]).await.refused(400, code);
    }
    let path = format!("/api/organizations/acme/apikeys/{}", text(&key["id"]));
    let gone = rita.change(Method::DELETE, &path, None).await;
    assert_eq!(gone.status, 204, "{gone:?}");
    assert!(!server.is_active(text(&token)).await, "it ends with the key");
    server.exchange("agent", text_of, &[]).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn a_token_that_names_who_may_act_is_good_for_no_other_agent() {
    let server = agents().await;
    server.apply("[[client]]\nclient_id = \"web\"\nmay_act = \"agent\"\n").await;
    let token = token_of(&server, "ana@acme.test", "invoices:read").await;
    assert_eq!(claims(&json!(token))["may_act"], json!({ "sub": "agent" }));
    server.exchange("second", &token, &[]).await.refused(400, "invalid_request");
    let below = server.exchanged("agent", &token, "").await;
    assert_eq!(server.exchange("second", &below, &[]).await.status, 200, "it restricts this token");
    server.stop().await;
}

#[tokio::test]
async fn an_actor_token_must_be_the_clients_own() {
    let server = agents().await;
    let token = token_of(&server, "ana@acme.test", "invoices:read").await;
    let own = server.token("agent", "").await;
    let with = |actor: &str| {
        [("actor_token", actor.to_owned()), ("actor_token_type", ACCESS_TOKEN.to_owned())]
    };
    for (actor, status) in
        [(own.as_str(), 200), (&token, 400), (&server.token("billing", "").await, 400)]
    {
        let fields = with(actor);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(a, b)| (*a, b.as_str())).collect();
        assert_eq!(server.exchange("agent", &token, &fields).await.status, status);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_registered_itself_acts_only_for_people_who_have_let_it() {
    let server = agents().await;
    let body = json!({
        "client_name": "Helper",
        "redirect_uris": ["https://helper.example/cb"],
        "grant_types": ["authorization_code", "token-exchange"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let registered = server.post_json("/connect/register", &body, &[]).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    let registered = registered.json();
    let token = token_of(&server, "ana@acme.test", "invoices:read").await;
    let ask = async |token: &str| {
        let fields = [
            ("grant_type", EXCHANGE),
            ("subject_token", token),
            ("subject_token_type", ACCESS_TOKEN),
            ("client_id", text(&registered["client_id"])),
            ("client_secret", text(&registered["client_secret"])),
        ];
        server.post("/connect/token", &fields).await
    };
    ask(&token).await.refused(400, "invalid_request");
    ask(&server.token("billing", "invoices:read").await).await.refused(400, "invalid_request");
    server.stop().await;
}
