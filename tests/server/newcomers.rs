//! What people meet who connect their first application: refusals that say what to mend, and claims that
//! frameworks look for.

use crate::{
    http::{Answer, raw},
    person::{asking, claims, parameter, redirect, text},
    support::{TestOptions, TestServer, form},
};
use hyper::Method;
use serde_json::{Value, json};

fn description(answer: &Answer) -> String {
    parameter(&redirect(answer), "error_description").unwrap()
}

/// Asks as a browser does.
async fn browse(server: &TestServer, client: &str, asked: &[(&str, &str)]) -> Answer {
    let path = format!("/connect/authorize?{}", asking(client, asked));
    let request = server.request(Method::GET, &path).header("accept", "text/html");
    server.send(request.body(form(&[])).unwrap()).await
}

#[tokio::test]
async fn a_request_without_pkce_hears_what_to_switch_on() {
    let server = TestServer::open().await;
    let refused = server.authorize("web", &[("-code_challenge", "")]).await;
    let why = description(&refused);
    assert!(why.contains("PKCE") && why.contains("S256"), "{why}");
    let plain = server.authorize("web", &[("code_challenge_method", "plain")]).await;
    assert!(description(&plain).contains("PKCE"));
    server.stop().await;
}

#[tokio::test]
async fn a_scope_that_is_refused_is_named() {
    let server = TestServer::open().await;
    let unknown = server.authorize("web", &[("scope", "openid unheard:of")]).await;
    assert_eq!(description(&unknown), "a scope is not known: unheard:of");
    let machine = server.ask("billing", &[("scope", "invoices:approve")]).await;
    machine.refused(400, "invalid_scope");
    let why = text(&machine.json()["error_description"]).to_owned();
    assert!(why.ends_with(": invoices:approve"), "{why}");
    // What the person lacks is named at the end of the flow.
    let session = server.sign_in("ana@acme.test").await;
    let answer = server.authorize_in(&session, "web", &[("scope", "openid orders:read")]).await;
    let why = description(&answer);
    assert!(why.ends_with(": orders:read"), "{why}");
    let long = format!("a:{}", "b".repeat(400));
    let told = server.ask("billing", &[("scope", &long)]).await.json();
    assert!(text(&told["error_description"]).len() < 300, "it is not repeated without end");
    server.stop().await;
}

#[tokio::test]
async fn markup_in_a_scope_or_an_address_does_not_become_markup_of_a_page() {
    for screens in [false, true] {
        let options = TestOptions { screens, ..TestOptions::default() };
        let server = TestServer::open_in(options).await;
        let asked = json!({ "redirect_uris": ["https://own.example/cb"],
                            "token_endpoint_auth_method": "none" });
        let client = server.post_json("/connect/register", &asked, &[]).await.json();
        let own = ("client_id", text(&client["client_id"]));
        let to = ("redirect_uri", "https://own.example/cb");
        let scope = ("scope", "openid <img/src=x>:y");
        let page = browse(&server, "web", &[own, to, scope]).await;
        assert_eq!(page.status, 400, "{page:?}");
        assert!(!page.text().contains("<img/src"), "{}", page.text());
        let elsewhere = ("redirect_uri", "https://other.example/<b>cb</b>");
        let page = browse(&server, "web", &[elsewhere]).await;
        assert_eq!(page.status, 400);
        let shown = page.text();
        assert!(!shown.contains("<b>cb") && shown.contains("https://other.example/"), "{shown}");
        server.stop().await;
    }
}

#[tokio::test]
async fn roles_are_told_as_groups_where_that_is_asked_for() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid groups").await;
    let told = server.userinfo(text(&tokens["access_token"])).await.json();
    assert!(told["groups"].as_array().is_some_and(|groups| !groups.is_empty()), "{told}");
    assert_eq!(claims(&tokens["id_token"])["groups"], told["groups"]);
    assert_eq!(claims(&tokens["access_token"]).get("role"), None, "it confers nothing");
    let without = server.tokens("ana@acme.test", "web", "openid profile").await;
    assert_eq!(claims(&without["id_token"]).get("groups"), None);
    let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await.json();
    assert_eq!(claims(&refreshed["id_token"])["groups"], told["groups"]);
    // A role that is lost shows at once.
    let file = "[[account]]\nemail = \"ana@acme.test\"\n\
                memberships = [{ organization = \"acme\", roles = [] }]\n";
    server.apply(file).await;
    let token = server.tokens("ana@acme.test", "web", "openid groups").await;
    let told = server.userinfo(text(&token["access_token"])).await.json();
    assert_eq!(told["groups"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn a_person_with_parts_of_a_name_has_a_name() {
    let server = TestServer::open().await;
    let tokens = server.tokens("ana@acme.test", "web", "openid profile").await;
    let told = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!((&told["name"], &told["given_name"]), (&json!("Ana"), &json!("Ana")));
    server.stop().await;
}

#[tokio::test]
async fn introspection_names_the_person_only_where_the_token_may_know_their_address() {
    let server = TestServer::open().await;
    for (scope, expected) in [
        ("openid email invoices:read", json!("ana@acme.test")),
        ("openid invoices:read", Value::Null),
    ] {
        let tokens = server.tokens("ana@acme.test", "web", scope).await;
        let seen = server.introspect("invoices-api", text(&tokens["access_token"])).await;
        assert_eq!((&seen["active"], &seen["username"]), (&json!(true), &expected), "{scope}");
    }
    let machine = server.token("billing", "invoices:read").await;
    assert_eq!(server.introspect("billing", &machine).await.get("username"), None);
    server.stop().await;
}

#[tokio::test]
async fn the_address_of_the_server_leads_to_the_account_where_there_are_pages() {
    for screens in [true, false] {
        let server = TestServer::open_in(TestOptions { screens, ..TestOptions::default() }).await;
        let answer = server.get("/").await;
        if screens {
            assert_eq!(answer.status, 303);
            let account = format!("{}/account", server.issuer());
            assert_eq!(answer.header("location"), Some(account.as_str()));
        } else {
            assert_eq!(answer.status, 404);
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn a_load_balancer_may_ask_the_operators_listener_by_http_1_0_without_a_host() {
    let server = TestServer::open().await;
    for (address, request, status) in [
        (server.operator(), "GET /readyz HTTP/1.0\r\n\r\n", "200"),
        (server.operator(), "GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n", "400"),
        (server.running().address, "GET /connect/jwks HTTP/1.0\r\n\r\n", "400"),
    ] {
        let answer = raw(address, request.as_bytes()).await;
        let line = answer.lines().next().unwrap_or_default();
        assert_eq!(line.split(' ').nth(1), Some(status), "{request:?}: {line}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_else_finds_the_claims_of_its_scopes_in_every_id_token() {
    let server = TestServer::open().await;
    let scope = "openid profile email";
    let lean = claims(&server.tokens("ana@acme.test", "web", scope).await["id_token"]);
    assert_eq!((lean.get("email"), lean.get("given_name")), (None, None));
    server.apply("[[client]]\nclient_id = \"web\"\nclaims_in_id_token = true\n").await;
    crate::shared::eventually("the client is seen anew", async || {
        let tokens = server.tokens("ana@acme.test", "web", scope).await;
        claims(&tokens["id_token"])["email"] == "ana@acme.test"
    })
    .await;
    let tokens = server.tokens("ana@acme.test", "web", scope).await;
    let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await.json();
    for id_token in [&tokens["id_token"], &refreshed["id_token"]] {
        let told = claims(id_token);
        assert_eq!(told["email"], "ana@acme.test");
        assert_eq!((&told["given_name"], &told["name"]), (&json!("Ana"), &json!("Ana")));
        assert_eq!(told.get("phone_number"), None, "only what was granted");
    }
    // One that registers itself cannot switch it on.
    let asked = json!({ "redirect_uris": ["https://own.example/cb"], "claims_in_id_token": true });
    let registered = server.post_json("/connect/register", &asked, &[]).await.json();
    assert_eq!(registered.get("claims_in_id_token"), None);
    server.stop().await;
}
