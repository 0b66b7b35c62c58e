//! A browser that is not asked for the second factor again: a policy that is off by default.

use crate::{
    authenticator::Authenticator,
    browser::Browser,
    me::ask,
    person::{PASSWORD, text},
    support::{LIFETIMES, TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{domain::Clock as _, http::Lifetimes};
use serde_json::{Value, json};
use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);

async fn open(remember_device: Option<Duration>) -> TestServer {
    let lifetimes = Lifetimes { remember_device, ..LIFETIMES };
    TestServer::open_in(TestOptions { lifetimes, ..TestOptions::default() }).await
}

impl Browser<'_> {
    /// Goes as far as a password leads, without a session, and returns the flow's document.
    async fn password_of(&mut self, email: &str) -> Value {
        self.forget_session();
        self.password(email, PASSWORD).await.json()
    }

    async fn totp(&mut self, flow: &Value) {
        let body = json!({ "code": Authenticator::of_dora().code(self.server.clock.now()) });
        let path = format!("/flows/{}/totp", text(&flow["id"]));
        let done = self.post(&path, &body).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
    }

    async fn reached(&self) -> String {
        let cookies = self.cookies.join("; ");
        let me = ask(self.server, Method::GET, "/me", &[("cookie", &cookies)]).await;
        text(&me.json()["assurance"]["reached"]).to_owned()
    }
}

fn is_asked(flow: &Value) -> bool {
    text(&flow["state"]) == "second_factor"
}

#[tokio::test]
async fn by_default_every_sign_in_asks_for_the_second_factor() {
    let server = open(None).await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let flow = browser.password_of("dora@acme.test").await;
    browser.totp(&flow).await;
    assert!(is_asked(&browser.password_of("dora@acme.test").await));
    server.stop().await;
}

#[tokio::test]
async fn a_remembered_browser_skips_the_question_and_the_session_stays_at_one_factor() {
    let server = open(Some(30 * DAY)).await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let flow = browser.password_of("dora@acme.test").await;
    assert!(is_asked(&flow), "it is not remembered yet: {flow}");
    browser.totp(&flow).await;
    assert_eq!(browser.reached().await, "aal2");
    server.clock.advance(29 * DAY);
    let done = browser.password_of("dora@acme.test").await;
    assert_eq!((text(&done["state"]), text(&done["assurance"]["reached"])), ("done", "aal1"));
    assert_eq!(browser.reached().await, "aal1");
    // Another browser, a program and another account are asked.
    let mut other = Browser { server: &server, cookies: Vec::new() };
    assert!(is_asked(&other.password_of("dora@acme.test").await));
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    assert!(is_asked(&server.prove(&flow, "dora@acme.test").await.json()));
    // What was skipped renews nothing.
    server.clock.advance(DAY);
    assert!(is_asked(&browser.password_of("dora@acme.test").await), "thirty days are over");
    server.stop().await;
}

#[tokio::test]
async fn a_remembered_browser_is_asked_where_two_factors_are_wanted() {
    let server = open(Some(30 * DAY)).await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let flow = browser.password_of("dora@acme.test").await;
    browser.totp(&flow).await;
    let cookies = browser.cookies.join("; ");
    let headers = [
        ("accept", "application/json"),
        ("cookie", cookies.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let wanted = [("acr_values", "aal2"), ("prompt", "login")];
    let flow = server.authorize_with("web", &wanted, &headers).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    browser.post(&path("identifier"), &json!({ "identifier": "dora@acme.test" })).await;
    let asked = browser.post(&path("password"), &json!({ "password": PASSWORD })).await;
    // The session that the browser holds has two factors; a new one has none of them.
    assert!(is_asked(&asked.json()), "{asked:?}");
    // Nor is a step-up spared: the session is as good as what was proved in it.
    browser.password_of("dora@acme.test").await;
    assert_eq!(browser.reached().await, "aal1");
    let flow = browser.post("/flows", &json!({ "kind": "step_up" })).await.json();
    assert!(is_asked(&flow), "{flow}");
    server.stop().await;
}
