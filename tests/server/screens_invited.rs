//! Administrators who accept an invitation: they are led to their organization, and their proof is fresh.

use crate::{
    api_caller::DIRECTORY,
    invitations::invited,
    mails::{begin, prove_by_mail, wait_for},
    me_account::send,
    page_forms::{LANGUAGES, Visitor, open},
    passkey_device::Device,
    person::text,
    support::TestServer,
};
use hyper::Method;
use serde_json::json;
use std::time::Duration;

const INVITATIONS: &str = "/organization?organization=acme&section=invitations";

#[tokio::test]
async fn an_administrator_who_accepts_is_led_to_the_organization_and_not_asked_again() {
    let server = open().await;
    server.apply(DIRECTORY).await;
    for (language, email) in LANGUAGES.into_iter().zip(["eva@acme.test", "ida@acme.test"]) {
        let token = invited(&server, email, &["administrator"]).await;
        let mut visitor =
            Visitor::open(&server, language, &format!("/sign-up?token={token}")).await;
        visitor.send("profile", &[("given_name", "Eva")]).await;
        visitor.make_passkey(&mut Device::new(server.issuer())).await;
        visitor.go("/account").await;
        let manage = visitor.in_words("Manage organization", "Gerir organização");
        assert!(visitor.says(manage), "{}", visitor.html());
        visitor.go(&visitor.link("/organization")).await;
        visitor.shows("Acme Lda");
        visitor.go(INVITATIONS).await;
        assert!(visitor.has_form("createInvitation"), "{}", visitor.html());
        // The proof of the address is fresh for a quarter of an hour.
        server.clock.advance(Duration::from_mins(16));
        visitor.go(INVITATIONS).await;
        assert!(visitor.has_form("prove") && !visitor.has_form("createInvitation"));
    }
    // Of a member who looks after nothing there is no such link.
    let member = Visitor::signed_in(&server, "en", "ana@acme.test", ("/account", "/account")).await;
    assert!(!member.says("Manage organization"), "{}", member.html());
    server.stop().await;
}

/// Tries to set a password in a session.
async fn set_password(server: &TestServer, session: &str) -> crate::http::Answer {
    let body = json!({ "password": "another long and quiet sentence" });
    send(server, Method::PUT, (session, "/me/password"), &body).await
}

#[tokio::test]
async fn another_session_of_a_new_account_proves_two_factors() {
    let server = open().await;
    let token = invited(&server, "eva@acme.test", &["clerk"]).await;
    wait_for(&server, 1).await;
    let asked = json!({ "kind": "invitation", "token": token });
    let flow = server.post_json("/flows", &asked, &[]).await.json();
    server.step(&flow, "profile", json!({ "email": "eva@acme.test" })).await;
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let made = Device::new(server.issuer()).create(&options).await;
    let done = server.step(&flow, "passkey/create", json!({ "credential": made })).await.json();
    server.clock.advance(Duration::from_secs(1));
    let other = begin(&server, "sign_in").await;
    server.step(&other, "identifier", json!({ "identifier": "eva@acme.test" })).await;
    let other = prove_by_mail(&server, &other).await.json();
    let refused = set_password(&server, text(&other["result"]["session_token"])).await;
    refused.problem(403, "step_up_required");
    let set = set_password(&server, text(&done["result"]["session_token"])).await;
    assert_eq!(set.status, 200, "the one that made the account: {set:?}");
    server.stop().await;
}
