//! What a caller gives to others: of our own permissions as much as its token names, of other APIs what its
//! person holds, and nothing with a token that is held for another (contract, Permissions; adr/0111).

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING, directory},
    http::Answer,
    nodes::views_agree,
    page_forms::{LANGUAGES, Visitor, open},
    person::{asking, text},
    support::TestServer,
};
use hyper::Method;
use serde_json::{Value, json};

const ACME: &str = "/api/organizations/acme";

const AGENT: &str = r#"
[[client]]
client_id = "agent"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["token-exchange"]

[[account]]
email = "rita@acme.test"
memberships = [{ organization = "acme", roles = ["administrator", "clerk", "auditor"] }]
"#;

async fn scene() -> TestServer {
    let server = directory().await;
    server.apply(AGENT).await;
    server
}

async fn rita<'a>(server: &'a TestServer, scope: &str) -> Api<'a> {
    Api::of(server, "rita@acme.test", scope).await
}

async fn key(api: &Api<'_>, permissions: Value) -> Answer {
    let body = json!({ "name": "k", "permissions": permissions });
    api.post(&format!("{ACME}/apikeys"), &body).await
}

async fn invite(api: &Api<'_>, roles: Value) -> Answer {
    let body = json!({ "email": "new@acme.test", "roles": roles });
    api.post(&format!("{ACME}/invitations"), &body).await
}

/// Gives a member these roles.
async fn give(api: &Api<'_>, member: &str, roles: Value) -> Answer {
    let path = format!("{ACME}/members/{member}");
    let body = json!({ "roles": roles });
    api.call(Method::PATCH, &path, Some(&body), &[("if-match", "*")]).await
}

async fn put_role(api: &Api<'_>, permissions: Value) -> Answer {
    let body = json!({ "permissions": permissions });
    let path = format!("{ACME}/roles/made");
    api.call(Method::PUT, &path, Some(&body), &[("if-match", "*")]).await
}

async fn bruno(server: &TestServer) -> String {
    let api = rita(server, "memberships:read accounts:read").await;
    let found = api.get(&format!("{ACME}/members?email=bruno@acme.test")).await.json();
    text(&found["items"][0]["id"]).to_owned()
}

#[tokio::test]
async fn a_token_makes_no_key_with_more_of_ours_than_its_scopes() {
    let server = scene().await;
    let keys = rita(&server, "apikeys:write").await;
    for more in ["audit:read", "roles:write", "apikeys:*", "memberships:*", "apikeys:read"] {
        key(&keys, json!(["apikeys:write", more])).await.problem(403, "permission_not_held");
    }
    // What it names, and what its person holds at other APIs, it passes on.
    let made = key(&keys, json!(["apikeys:write", "invoices:read"])).await;
    assert_eq!(made.status, 201, "{made:?}");
    key(&keys, json!(["invoices:write"])).await.problem(403, "permission_not_held");
    let more = rita(&server, "apikeys:write audit:read audit:write").await;
    let made = key(&more, json!(["audit:*"])).await;
    assert_eq!(made.status, 201, "all that the wildcard stands for: {made:?}");
    // To rotate a key is to learn it.
    let path = format!("{ACME}/apikeys/{}/rotate", text(&made.json()["id"]));
    keys.post(&path, &json!({})).await.problem(403, "permission_not_held");
    assert_eq!(more.post(&path, &json!({})).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_token_gives_no_role_with_more_of_ours_than_its_scopes() {
    let server = scene().await;
    let bruno = bruno(&server).await;
    let members = rita(&server, "memberships:write").await;
    for role in ["administrator", "auditor"] {
        invite(&members, json!([role])).await.problem(403, "permission_not_held");
        give(&members, &bruno, json!(["clerk", role])).await.problem(403, "permission_not_held");
    }
    assert_eq!(invite(&members, json!(["clerk"])).await.status, 201, "a clerk of other APIs");
    let audit = rita(&server, "memberships:write audit:read").await;
    assert_eq!(invite(&audit, json!(["auditor"])).await.status, 201);
    let all = rita(&server, &format!("{EVERYTHING} accounts:write")).await;
    assert_eq!(invite(&all, json!(["administrator"])).await.status, 201, "with all of its scopes");
    let roles = rita(&server, "roles:write").await;
    put_role(&roles, json!(["audit:read"])).await.problem(403, "permission_not_held");
    assert_eq!(put_role(&roles, json!(["invoices:read", "roles:write"])).await.status, 201);
    let clients = rita(&server, "clients:write").await;
    let path = format!("{ACME}/clients");
    let body =
        |role: &str| json!({ "redirect_uris": ["https://a.example.com/cb"], "roles": [role] });
    clients.post(&path, &body("auditor")).await.problem(403, "permission_not_held");
    assert_eq!(clients.post(&path, &body("clerk")).await.status, 201);
    server.stop().await;
}

#[tokio::test]
async fn a_token_that_is_held_for_another_passes_on_nothing() {
    let server = scene().await;
    let bruno = bruno(&server).await;
    let scope = "memberships:write roles:write audit:read audit:write apikeys:write clients:write";
    let all = rita(&server, &format!("{EVERYTHING} accounts:write")).await;
    let held = server.exchanged("agent", &all.token, scope).await;
    let agent = Api { server: &server, token: held, reason: None };
    put_role(&all, json!([])).await;
    for roles in [json!(["clerk", "auditor"]), json!(["clerk", "made"])] {
        give(&agent, &bruno, roles.clone()).await.problem(403, "permission_not_held");
    }
    for permissions in [json!(["audit:read"]), json!(["invoices:read"])] {
        put_role(&agent, permissions).await.problem(403, "permission_not_held");
    }
    // To take away is no gift.
    assert_eq!(give(&agent, &bruno, json!([])).await.status, 200);
    let path = format!("{ACME}/members/{bruno}");
    for (api, enabled, status) in [(&agent, false, 200), (&agent, true, 403), (&all, true, 200)] {
        let body = json!({ "enabled": enabled });
        let answer = api.call(Method::PATCH, &path, Some(&body), &[("if-match", "*")]).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_token_that_is_held_for_another_makes_no_invitation_and_no_webhook() {
    let server = scene().await;
    let all = rita(&server, EVERYTHING).await;
    let hooks = format!("{ACME}/webhooks");
    let made = all.post(&hooks, &json!({ "url": "https://hook.example.com/in" })).await;
    assert_eq!(made.status, 201, "{made:?}");
    let hook = format!("{hooks}/{}", text(&made.json()["id"]));
    views_agree().await;
    let scope = "memberships:read memberships:write audit:read audit:write";
    let held = server.exchanged("agent", &all.token, scope).await;
    let agent = Api { server: &server, token: held, reason: None };
    for roles in [json!(["clerk"]), json!([])] {
        invite(&agent, roles).await.problem(403, "delegation_refused");
    }
    let elsewhere = json!({ "url": "https://thief.example.com/in" });
    agent.post(&hooks, &elsewhere).await.problem(403, "delegation_refused");
    let moved = agent.change(Method::PATCH, &hook, Some(&elsewhere)).await;
    moved.problem(403, "delegation_refused");
    let rotated = agent.post(&format!("{hook}/rotate"), &json!({})).await;
    rotated.problem(403, "delegation_refused");
    assert_eq!(all.get(&hook).await.json()["url"], "https://hook.example.com/in");
    assert_eq!(
        agent.change(Method::DELETE, &hook, None).await.status,
        204,
        "to end one is no gift"
    );
    server.stop().await;
}

#[tokio::test]
async fn the_consent_page_says_that_a_client_could_hand_out_roles_and_keys() {
    let server = open().await;
    server.apply(DIRECTORY).await;
    for language in LANGUAGES {
        for (scope, hands_out) in [("memberships:write", true), ("audit:read", false)] {
            let asked = [("scope", scope), ("prompt", "consent")];
            let path = format!("/connect/authorize?{}", asking("app", &asked));
            let at = ("/account", path.as_str());
            let visitor = Visitor::signed_in(&server, language, "rita@acme.test", at).await;
            let words = visitor.in_words(
                "hand out roles and keys in your name",
                "atribuir funções e chaves em seu nome",
            );
            assert_eq!(visitor.says(words), hands_out, "{scope}: {}", visitor.html());
        }
    }
    server.stop().await;
}
