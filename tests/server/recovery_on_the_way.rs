//! A person whom a client sends, and who has forgotten their password, comes back to that client.

use crate::{
    mails::{link, prove_by_mail, wait_for},
    page_forms::{LANGUAGES, Visitor, open},
    par,
    person::{asking, parameter, text},
    recovery::{NEW, choose},
    support::TestServer,
};
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";

/// Begins a flow with what a client asks for in another.
async fn going_on(server: &TestServer, kind: &str, flow: &Value) -> Value {
    let body = json!({ "kind": kind, "flow": flow["id"] });
    let begun = server.post_json("/flows", &body, &[]).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    begun.json()
}

#[tokio::test]
async fn a_person_who_has_forgotten_their_password_comes_back_to_the_client() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, "clara@nowhere.test"]) {
        let asked = format!("/connect/authorize?{}", asking("web", &[("login_hint", email)]));
        let mut visitor = Visitor::open(&server, language, &asked).await;
        visitor.send("identifier", &[]).await;
        visitor.go(&visitor.link("/reset-password?from=")).await;
        visitor.shows_either("Recover your account", "Recupere a sua conta");
        assert!(visitor.says("web.example.com"), "the client is named: {}", visitor.html());
        assert_eq!(visitor.form("identifier").field("identifier"), Some(email));
        let before = visitor.mails().await;
        visitor.send("identifier", &[]).await;
        let code = visitor.mailed_code(before).await;
        visitor.send("email_code", &[("code", &code)]).await;
        visitor.go(&visitor.link("/reset-password?flow=")).await;
        visitor.send("new_password", &[("password", NEW)]).await;
        visitor.shows_either("Your account is yours again", "A conta é sua outra vez");
        assert!(!visitor.has_session(), "no session begins");
        visitor.go(&visitor.link("/sign-in?from=")).await;
        visitor.send("identifier", &[("identifier", email)]).await;
        visitor.send("password", &[("password", NEW)]).await;
        let to = visitor.moves_on_to();
        assert_eq!(to.host_str(), Some("web.example.com"));
        let tokens = server.redeem("web", &parameter(&to, "code").unwrap()).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_recovery_without_a_client_ends_at_a_sign_in_without_one() {
    let server = open().await;
    let mut visitor = Visitor::open(&server, "en", "/sign-in").await;
    visitor.send("identifier", &[("identifier", ANA)]).await;
    assert_eq!(visitor.link("/reset-password"), "/reset-password");
    server.stop().await;
}

#[tokio::test]
async fn a_recovery_goes_on_from_a_flow_of_its_own_browser_alone() {
    let server = open().await;
    let asked = format!("/connect/authorize?{}", asking("app", &[]));
    let visitor = Visitor::open(&server, "en", &asked).await;
    let from = format!("/reset-password?from={}", visitor.flow());
    let other = Visitor::open(&server, "en", &from).await;
    assert_eq!(other.answer.status, 403, "{}", other.html());
    assert!(!other.has_form("identifier"));
    for bad in ["flw_x", "flw_", "%3Cscript%3E"] {
        let other = Visitor::open(&server, "en", &format!("/reset-password?from={bad}")).await;
        assert!(other.answer.status.is_client_error(), "{bad}: {}", other.html());
    }
    server.clock.advance(Duration::from_mins(16));
    assert_eq!(visitor.tab(&from).await.answer.status, 410);
    server.stop().await;
}

#[tokio::test]
async fn a_recovery_answers_no_client_and_uses_nothing_up() {
    let server = open().await;
    let uri = par::pushed(*server, "web", &[]).await;
    let asked = par::present(*server, "web", &uri, None).await.json();
    let begun = going_on(&server, "recovery", &asked).await;
    assert_eq!(begun["client"]["client_id"], "web", "{begun}");
    assert_eq!(begun["expires_at"], asked["expires_at"], "no request lives longer by it");
    assert_eq!(begun["scopes"], json!([]), "nothing is granted here: {begun}");
    server.step(&begun, "identifier", json!({ "identifier": ANA })).await;
    let proved = prove_by_mail(&server, &begun).await.json();
    assert_eq!(proved["state"], "credential", "{proved}");

    // The holder of the address stops it: the client is told nothing.
    let told = wait_for(&server, 2).await;
    let told = told.iter().find(|mail| text(&mail["text"]).contains("stop=")).unwrap();
    let stop = parameter(&link(told), "stop").unwrap();
    let stopped = server.post_json("/flows/stop", &json!({ "token": stop }), &[]).await;
    assert_eq!(stopped.status, 204, "{stopped:?}");
    let failed = server.get(&format!("/flows/{}", text(&begun["id"]))).await.json();
    assert_eq!((text(&failed["state"]), failed.get("result")), ("failed", None), "{failed}");

    // Another one is finished, and the pushed request still waits for the sign-in.
    let begun = going_on(&server, "recovery", &begun).await;
    server.step(&begun, "identifier", json!({ "identifier": ANA })).await;
    prove_by_mail(&server, &begun).await;
    let done = choose(&server, &begun).await.json();
    assert_eq!((text(&done["state"]), &done["result"]), ("done", &json!({})), "{done}");
    let sign_in = going_on(&server, "sign_in", &begun).await;
    assert_eq!(sign_in["client"]["client_id"], "web", "{sign_in}");
    server.step(&sign_in, "identifier", json!({ "identifier": ANA })).await;
    let done = server.step(&sign_in, "password", json!({ "password": NEW })).await.json();
    let to = text(&done["result"]["redirect_to"]).parse().unwrap();
    let tokens = server.redeem("web", &parameter(&to, "code").unwrap()).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    par::present(*server, "web", &uri, None).await.refused(400, "invalid_request_uri");
    server.stop().await;
}
