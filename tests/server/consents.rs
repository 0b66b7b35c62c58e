//! What a person is shown before they consent, and that what they saw is what they allowed.

use crate::{
    person::{PASSWORD, VERIFIER, challenge, claims, parameter, redirect, text},
    support::TestServer,
};
use serde_json::{Value, json};

const API: &str = "https://api.example.com/invoices";
const CALLBACK: &str = "https://client.example.net:8443/cb";

/// Registers a public client that could ask for anything.
async fn register(server: &TestServer) -> String {
    let body = json!({
        "client_name": "Acme Billing",
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
    });
    let registered = server.post_json("/connect/register", &body, &[]).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    text(&registered.json()["client_id"]).to_owned()
}

/// Goes as far as the question of consent for what the client asks.
async fn asked(server: &TestServer, client_id: &str, more: &[(&str, &str)]) -> Value {
    let challenge = challenge(VERIFIER);
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs([
        ("client_id", client_id),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    query.extend_pairs(more);
    let path = format!("/connect/authorize?{}", query.finish());
    let request = server.request(hyper::Method::GET, &path).header("accept", "application/json");
    let flow = server.send(request.body(crate::support::form(&[])).unwrap()).await.json();
    server.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
    let asked = server.step(&flow, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(asked.json()["state"], "consent", "{asked:?}");
    asked.json()
}

async fn allow(server: &TestServer, flow: &Value) -> crate::http::Answer {
    server.step(flow, "consent", json!({ "decision": "allow" })).await
}

#[tokio::test]
async fn a_consent_document_names_the_api_the_organization_the_roles_and_where_it_leads() {
    let server = TestServer::open().await;
    let client_id = register(&server).await;
    let more = [("scope", "openid invoices:read")];
    let document = asked(&server, &client_id, &more).await;
    assert_eq!(document["resource"], API);
    assert_eq!(document["organization"], "acme");
    assert_eq!(document["roles"], json!(["manager"]));
    assert_eq!(document["client"]["self_registered"], true);
    assert_eq!(document["client"]["redirect_host"], "client.example.net");
    // It is shown again to a caller that looks again.
    let shown = server.get(&format!("/flows/{}", text(&document["id"]))).await.json();
    assert_eq!((&shown["resource"], &shown["roles"]), (&document["resource"], &document["roles"]));
    server.stop().await;
}

#[tokio::test]
async fn an_api_that_is_asked_for_without_a_scope_is_shown_and_its_token_names_no_role() {
    let server = TestServer::open().await;
    let client_id = register(&server).await;
    let document = asked(&server, &client_id, &[("scope", "openid"), ("resource", API)]).await;
    assert_eq!((&document["resource"], &document["roles"]), (&json!(API), &json!([])));
    assert_eq!(document["organization"], "acme");
    let done = allow(&server, &document).await;
    let code = parameter(&redirect(&done), "code").unwrap_or_else(|| panic!("{done:?}"));
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("code_verifier", VERIFIER),
        ("client_id", &client_id),
        ("redirect_uri", CALLBACK),
    ];
    let tokens = server.post("/connect/token", &fields).await.json();
    let token = claims(&tokens["access_token"]);
    assert_eq!(
        (&token["aud"], &token["org"], &token["scope"]),
        (&json!(API), &json!("acme"), &json!("openid"))
    );
    assert!(token.get("role").is_none() && token.get("membership").is_none(), "{token}");
    server.stop().await;
}

#[tokio::test]
async fn a_person_whose_roles_have_changed_since_they_were_shown_is_asked_again() {
    let server = TestServer::open().await;
    let client_id = register(&server).await;
    let more = [("scope", "openid invoices:read")];
    let document = asked(&server, &client_id, &more).await;
    server
        .apply(
            "[[account]]\nemail = \"ana@acme.test\"\n\
             memberships = [{ organization = \"acme\", roles = [\"manager\", \"clerk\"] }]\n",
        )
        .await;
    let again = allow(&server, &document).await.json();
    assert_eq!(again["state"], "consent", "{again}");
    assert_eq!(again["roles"].as_array().unwrap().len(), 2, "{again}");
    let done = allow(&server, &document).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}
