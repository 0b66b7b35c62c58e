//! The authorization endpoint: what is refused, by name, and to whom it is told.

use crate::{
    http::Answer,
    person::{PASSWORD, asking, parameter, redirect, text},
    support::{TestOptions, TestServer, sealed},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use serde_json::json;
use std::time::Duration;

const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn an_unproven_client_or_redirect_uri_is_never_redirected() {
    let server = TestServer::open().await;
    for otherwise in [
        &[("client_id", "unheard-of")][..],
        &[("-client_id", "")],
        &[("client_id", "web"), ("client_id", "app")],
        &[("redirect_uri", "https://evil.example/cb")],
        &[("redirect_uri", "https://web.example.com/cb"), ("redirect_uri", "https://evil.example")],
        &[("client_id", &"a".repeat(300))],
    ] {
        let json = server.authorize("web", otherwise).await;
        json.refused(400, "invalid_request");
        let page = server.authorize_with("web", otherwise, &[("accept", "text/html")]).await;
        assert_eq!((page.status.as_u16(), page.header("location")), (400, None));
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        assert!(!page.text().contains("\"https://evil"), "what was sent is shown as text alone");
        sealed(&page.headers);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_redirect_uri_that_is_nearly_the_clients_is_not_the_clients() {
    let server = TestServer::open().await;
    for near in [
        "https://WEB.example.com/cb",
        "https://web.example.com/CB",
        "https://web.example.com/cb/",
        "https://web.example.com/cb?x=1",
        "https://web.example.com/cb#x",
        "https://user@web.example.com/cb",
        "https://web.example.com:443/cb",
        "https://web.example.com:8443/cb",
        "https://web.example.com/x/../cb",
        "https://web.example.com/./cb",
        "https://web.example.com/%63b",
        "https://web.example.com%2fcb",
        "https://web.example.com/cb%2f",
        "http://web.example.com/cb",
        "https://web.example.com.evil.example/cb",
        "https://web.example.com\\@evil.example/cb",
        "//web.example.com/cb",
        "/cb",
        " https://web.example.com/cb",
        "https://web.example.com/cb\u{0}",
        "http://127.0.0.1:51004/cb",
    ] {
        let answer = server.authorize("web", &[("redirect_uri", near)]).await;
        answer.refused(400, "invalid_request");
    }
    for (near, good) in [
        ("http://127.0.0.1:1/cb", true),
        ("http://127.0.0.1/cb", true),
        ("http://127.0.0.1:1/cb/", false),
        ("http://127.0.0.2:1/cb", false),
        ("http://localhost:1/cb", false),
        ("https://127.0.0.1:1/cb", false),
    ] {
        let answer = server.authorize("native", &[("redirect_uri", near)]).await;
        assert_eq!(answer.status == 200, good, "{near}: {answer:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_with_one_redirect_uri_need_not_name_it() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let answer = server.authorize_in(&session, "web", &[("-redirect_uri", "")]).await;
    assert!(redirect(&answer).as_str().starts_with("https://web.example.com/cb?code="));
    server.stop().await;
}

#[tokio::test]
async fn every_refusal_is_told_to_the_client_by_its_name() {
    let server = TestServer::open().await;
    let long = "x".repeat(3_000);
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    for (otherwise, error) in [
        (&[("-response_type", "")][..], "invalid_request"),
        (&[("response_type", "token")], "unsupported_response_type"),
        (&[("response_type", "code id_token")], "unsupported_response_type"),
        (&[("response_type", "id_token token")], "unsupported_response_type"),
        (&[("response_mode", "fragment")], "invalid_request"),
        (&[("response_mode", "web_message")], "invalid_request"),
        (&[("-code_challenge", "")], "invalid_request"),
        (&[("code_challenge_method", "plain")], "invalid_request"),
        (&[("-code_challenge_method", "")], "invalid_request"),
        (&[("code_challenge", "short")], "invalid_request"),
        (&[("code_challenge", &challenge[1..])], "invalid_request"),
        (&[("code_challenge", "!!Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")], "invalid_request"),
        (&[("scope", "openid unheard:of")], "invalid_scope"),
        (&[("scope", "openid a\"b")], "invalid_scope"),
        (&[("scope", "invoices:*")], "invalid_scope"),
        (&[("scope", "invoices:read orders:read")], "invalid_target"),
        (&[("resource", "https://nowhere.example")], "invalid_target"),
        (&[("prompt", "none login")], "invalid_request"),
        (&[("prompt", "dance")], "invalid_request"),
        (&[("prompt", "none")], "login_required"),
        (&[("max_age", "-1")], "invalid_request"),
        (&[("max_age", "soon")], "invalid_request"),
        (&[("nonce", &long)], "invalid_request"),
        (&[("request", "eyJhbGciOiJub25lIn0.e30.")], "invalid_request_object"),
        (&[("request_uri", "https://rp.example/r")], "invalid_request_uri"),
        (&[("registration", "{}")], "registration_not_supported"),
        (&[("id_token_hint", "eyJhbGciOiJub25lIn0.e30.")], "invalid_request"),
        (&[("nonce", "a"), ("nonce", "b")], "invalid_request"),
        (&[("organization", &long)], "invalid_request"),
    ] {
        let answer = server.authorize("web", otherwise).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["state"]), (200, &json!("failed")));
        let to = redirect(&answer);
        assert!(to.as_str().starts_with("https://web.example.com/cb?"), "{to}");
        assert_eq!(parameter(&to, "error").as_deref(), Some(error), "{otherwise:?}");
        assert_eq!(parameter(&to, "state").as_deref(), Some("af0ifjsldkj"), "{otherwise:?}");
        assert_eq!(parameter(&to, "iss").as_deref(), Some(server.issuer()));
        assert!(parameter(&to, "code").is_none());
        let page = server.authorize_with("web", otherwise, &[("accept", "text/html")]).await;
        assert_eq!((page.status.as_u16(), page.header("location")), (303, Some(to.as_str())));
    }
    // A client that may not ask for codes.
    let never = "[[client]]\nclient_id = \"web\"\ngrant_types = [\"client_credentials\"]\n";
    server.apply(never).await;
    server.clock.expire_views();
    let to = redirect(&server.authorize("web", &[]).await);
    assert_eq!(parameter(&to, "error").as_deref(), Some("unauthorized_client"));
    server.stop().await;
}

#[tokio::test]
async fn a_state_comes_back_as_it_was_and_injects_nothing() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for state in ["a b+c&d=e#f", "é ü 漢字", "%0d%0aset-cookie:x=y", &"s".repeat(2_048)] {
        let answer = server.authorize_in(&session, "web", &[("state", state)]).await;
        assert_eq!(parameter(&redirect(&answer), "state").as_deref(), Some(state));
    }
    for hostile in ["x\r\nset-cookie: a=b", "x\nlocation: https://evil.example", "a\tb"] {
        let cookie = format!("porteiro={session}");
        let page =
            server.authorize_with("web", &[("state", hostile)], &[("cookie", &cookie)]).await;
        assert_eq!(page.status, 303);
        assert!(page.header("set-cookie").is_none());
        let to = url::Url::parse(page.header("location").unwrap()).unwrap();
        assert_eq!(to.host_str(), Some("web.example.com"));
        assert_eq!(parameter(&to, "error").as_deref(), Some("invalid_request"));
        assert_eq!(parameter(&to, "state").as_deref(), Some(hostile), "as it was given");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_state_that_cannot_be_sent_back_is_refused_without_a_redirect() {
    let server = TestServer::open().await;
    let twice = asking("web", &[("state", "a"), ("state", "b")]);
    let long = ["s".repeat(2_049), "\u{e9}".repeat(1_025), "s".repeat(50_000)];
    let long = long.iter().map(|state| asking("web", &[("state", state)]));
    for asked in long.chain([twice]) {
        let page = post(&server, asked.clone(), &[("accept", "text/html")]).await;
        assert_eq!((page.status.as_u16(), page.header("location")), (400, None), "{page:?}");
        assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
        let json = post(&server, asked, &[("accept", "application/json")]).await;
        json.refused(400, "invalid_request");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_request_may_come_as_a_form() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let request = server
        .request(Method::POST, "/connect/authorize")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("cookie", format!("porteiro={session}"));
    let answer = server.send(request.body(asking("web", &[]).into()).unwrap()).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    assert!(answer.header("location").unwrap().contains("code=pac_"));
    server.stop().await;
}

/// Posts a request as a form, with headers of its own.
async fn post(server: &TestServer, body: impl Into<Bytes>, headers: &[(&str, &str)]) -> Answer {
    let mut request = server.request(Method::POST, "/connect/authorize");
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", FORM);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(Full::new(body.into())).unwrap()).await
}

#[tokio::test]
async fn a_form_is_refused_as_a_link_is() {
    let server = TestServer::open().await;
    // What is wrong with one parameter is told to the client.
    for otherwise in [&[("nonce", "a"), ("nonce", "b")][..], &[("response_type", "token")]] {
        let asked = asking("web", otherwise);
        let link = server.authorize_with("web", otherwise, &[("accept", "text/html")]).await;
        let page = post(&server, asked.clone(), &[("accept", "text/html")]).await;
        assert_eq!(page.status, 303, "{page:?}");
        assert_eq!(page.header("location"), link.header("location"), "{otherwise:?}");
        let json = post(&server, asked, &[("accept", "application/json")]).await;
        assert_eq!(json.json()["state"], "failed", "{json:?}");
    }
    // What cannot be read names nobody to tell: people get a page, programs JSON.
    let usual = asking("web", &[]);
    let long = asking("web", &[("state", &"x".repeat(70_000))]);
    for (kind, body, status) in [
        (FORM, format!("{usual}&x=%zz"), 400),
        (FORM, format!("{usual}&x=%ff"), 400),
        (FORM, format!("{usual}&client_id=app"), 400),
        (FORM, String::new(), 400),
        (FORM, long, 413),
        ("text/plain", usual.clone(), 400),
        ("multipart/form-data; boundary=x", usual.clone(), 400),
        ("application/x-www-form-urlencoded; charset=latin1", usual.clone(), 400),
    ] {
        let kind = ("content-type", kind);
        let page = post(&server, body.clone(), &[kind, ("accept", "text/html")]).await;
        assert_eq!((page.status.as_u16(), page.header("location")), (status, None), "{page:?}");
        assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
        assert!(page.header("set-cookie").is_none());
        sealed(&page.headers);
        let json = post(&server, body, &[kind, ("accept", "application/json")]).await;
        json.refused(status, "invalid_request");
    }
    let request = server
        .request(Method::POST, &format!("/connect/authorize?{usual}"))
        .header("content-type", FORM);
    let page = server.send(request.body(usual.into()).unwrap()).await;
    assert_eq!(page.status, 400);
    assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_sign_in_is_asked_for_again_when_it_is_too_old_or_not_enough() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    server.clock.advance(Duration::from_mins(2));
    for (otherwise, state) in [
        (&[("max_age", "120")][..], "done"),
        (&[("max_age", "119")], "identify"),
        (&[("max_age", "0")], "identify"),
        (&[("max_age", "99999999999999")], "done"),
        (&[("prompt", "login")], "identify"),
        (&[("prompt", "select_account")], "identify"),
        (&[("prompt", "none")], "done"),
        (&[("prompt", "none"), ("max_age", "10")], "failed"),
    ] {
        let answer = server.authorize_in(&session, "web", otherwise).await;
        assert_eq!(answer.json()["state"], state, "{otherwise:?}");
    }
    // What was proved again is what the ID token says.
    let flow = server.authorize_in(&session, "web", &[("max_age", "10")]).await.json();
    let done = server.prove(&flow, "ana@acme.test").await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let id = crate::person::claims(&tokens["id_token"]);
    assert_eq!(id["auth_time"], id["iat"]);
    server.stop().await;
}

#[tokio::test]
async fn an_id_token_hint_names_who_is_meant() {
    let server = TestServer::open().await;
    let ana = server.tokens("ana@acme.test", "web", "openid").await;
    let hint = text(&ana["id_token"]);
    server.clock.advance(Duration::from_hours(1));
    let session = server.sign_in("ana@acme.test").await;
    let none = [("prompt", "none"), ("id_token_hint", hint)];
    assert_eq!(server.authorize_in(&session, "web", &none).await.json()["state"], "done");
    let other = server.sign_in("clara@nowhere.test").await;
    let answer = server.authorize_in(&other, "web", &none).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("login_required"));
    let flow = server.authorize_in(&other, "web", &[("id_token_hint", hint)]).await.json();
    assert_eq!(flow["state"], "identify");
    let wrong = server.prove(&flow, "clara@nowhere.test").await;
    assert_eq!(parameter(&redirect(&wrong), "error").as_deref(), Some("login_required"));
    server.stop().await;
}

#[tokio::test]
async fn without_a_page_to_go_to_a_browser_is_told_so() {
    let options = TestOptions { screens: false, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let answer = server.authorize_with("web", &[], &[("accept", "text/html")]).await;
    assert_eq!(answer.status, 400);
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    assert!(answer.text().contains("links.sign_in"));
    // Nor do pages of other sites get anything to read here.
    let headers = [("accept", "application/json"), ("origin", "https://evil.example")];
    let answer = server.authorize_with("web", &[], &headers).await;
    assert!(answer.header("access-control-allow-origin").is_none());
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_written_before_the_first_step() {
    let server = TestServer::open().await;
    let before = server.running().system().store().report().commits;
    for _ in 0..20 {
        assert_eq!(server.authorize("web", &[]).await.status, 200);
    }
    assert_eq!(server.running().system().store().report().commits, before);
    let flow = server.authorize("web", &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
    server.step(&flow, "password", json!({ "password": PASSWORD })).await;
    assert!(server.running().system().store().report().commits > before);
    server.stop().await;
}
