//! Claims that a client asks for one by one (OIDC Core §5.5).

use crate::{
    person::{claims, parameter, redirect, text},
    support::TestServer,
};
use serde_json::{Value, json};

const ANA: &str = "ana@acme.test";

async fn tokens(server: &TestServer, session: &str, asked: &Value) -> Value {
    let asked = asked.to_string();
    let answer = server.authorize_in(session, "web", &[("claims", &asked)]).await;
    let code = parameter(&redirect(&answer), "code").unwrap_or_else(|| panic!("{answer:?}"));
    server.redeem("web", &code).await.json()
}

#[tokio::test]
async fn a_claim_is_told_where_it_was_asked_for_and_nowhere_else() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let asked = json!({
        "userinfo": { "given_name": { "essential": true }, "nickname": null, "unheard_of": null },
        "id_token": { "email": null, "iss": { "value": "https://evil.example" } },
    });
    let first = tokens(&server, &session, &asked).await;
    let said = claims(&first["id_token"]);
    assert_eq!((&said["email"], &said["iss"]), (&json!(ANA), &json!(server.issuer())));
    assert!(said.get("given_name").is_none());
    let told = server.userinfo(text(&first["access_token"])).await.json();
    assert_eq!((&told["given_name"], told.get("email")), (&json!("Ana"), None));
    assert!(told.get("nickname").is_none() && told.get("unheard_of").is_none());
    // What was granted stays granted when it is refreshed, and no more.
    let next = server.refresh("web", text(&first["refresh_token"])).await.json();
    assert_eq!(claims(&next["id_token"])["email"], ANA);
    let told = server.userinfo(text(&next["access_token"])).await.json();
    assert_eq!((&told["given_name"], told.get("email")), (&json!("Ana"), None));
    server.stop().await;
}

#[tokio::test]
async fn a_person_is_asked_before_a_client_learns_more() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let ask = async |asked: &Value| {
        let asked = asked.to_string();
        server.authorize_in(&session, "app", &[("claims", &asked)]).await.json()
    };
    let (name, both) = (
        json!({ "userinfo": { "given_name": null } }),
        json!({ "userinfo": { "given_name": null }, "id_token": { "phone_number": null } }),
    );
    let flow = ask(&name).await;
    assert_eq!((&flow["state"], &flow["claims"]), (&json!("consent"), &json!(["given_name"])));
    let header = [("x-session-token", session.as_str())];
    let path = format!("/flows/{}/consent", text(&flow["id"]));
    let done = server.post_json(&path, &json!({ "decision": "allow" }), &header).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(ask(&name).await["state"], "done");
    let flow = ask(&both).await;
    assert_eq!(
        (&flow["state"], &flow["claims"]),
        (&json!("consent"), &json!(["given_name", "phone_number"]))
    );
    server.stop().await;
}

#[tokio::test]
async fn an_essential_acr_is_reached_or_nothing_is_granted() {
    let server = TestServer::open().await;
    let acr = |acr: Value| json!({ "id_token": { "acr": acr } }).to_string();
    let essential = acr(json!({ "essential": true, "values": ["aal2"] }));
    // Dora has an authenticator application: she is asked for it.
    let dora = server.authorize("web", &[("claims", &essential)]).await.json();
    assert_eq!(dora["assurance"]["required"], "aal2");
    let now = server.prove(&dora, "dora@acme.test").await.json();
    assert_eq!(now["state"], "second_factor");
    // Ana has nothing to reach it by.
    let ana = server.authorize("web", &[("claims", &essential)]).await.json();
    let refused = server.prove(&ana, ANA).await;
    assert_eq!(parameter(&redirect(&refused), "error").as_deref(), Some("access_denied"));
    // What is only a wish signs in all the same; what is not offered is refused at once.
    let wish = acr(json!({ "values": ["aal2"] }));
    let flow = server.authorize("web", &[("claims", &wish)]).await.json();
    assert_eq!(server.prove(&flow, ANA).await.json()["state"], "done");
    let unknown = acr(json!({ "essential": true, "value": "urn:x" }));
    let refused = server.authorize("web", &[("claims", &unknown)]).await;
    let error = parameter(&redirect(&refused), "error");
    assert_eq!(error.as_deref(), Some("unmet_authentication_requirements"));
    server.stop().await;
}

#[tokio::test]
async fn a_subject_that_is_asked_for_is_the_only_one() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let sub = claims(&tokens(&server, &session, &json!({})).await["id_token"])["sub"].clone();
    let asked = |value: &Value| json!({ "id_token": { "sub": { "value": value } } }).to_string();
    let silent = async |claims: &str| {
        let asked = [("prompt", "none"), ("claims", claims)];
        let answer = server.authorize_in(&session, "web", &asked).await;
        parameter(&redirect(&answer), "error")
    };
    assert_eq!(silent(&asked(&sub)).await, None);
    let other = json!("00000000-0000-4000-8000-000000000000");
    assert_eq!(silent(&asked(&other)).await.as_deref(), Some("login_required"));
    for bad in ["x", "[]", "{\"userinfo\":1}", "{\"id_token\":{\"email\":\"x\"}}"] {
        assert_eq!(silent(bad).await.as_deref(), Some("invalid_request"), "{bad}");
    }
    server.stop().await;
}
