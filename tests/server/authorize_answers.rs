//! How the authorization endpoint answers: as a page or in JSON, to HEAD, and to browsers that follow a
//! link of a client which registered itself.

use crate::{
    http::Answer,
    person::{asking, parameter, redirect, text},
    support::{TestOptions, TestServer, form, sealed},
};
use hyper::Method;
use porteiro::http::Links;
use serde_json::json;

const PAGE: (&str, &str) = ("accept", "text/html");

async fn ask(
    server: &TestServer,
    method: Method,
    asked: &[(&str, &str)],
    headers: &[(&str, &str)],
) -> Answer {
    let path = format!("/connect/authorize?{}", asking("web", asked));
    let mut request = server.request(method, &path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(form(&[])).unwrap()).await
}

/// Registers a client that leads to these URIs, and returns its id.
async fn register(server: &TestServer, uris: &[&str]) -> String {
    let asked = json!({ "redirect_uris": uris, "token_endpoint_auth_method": "none" });
    let answer = server.post_json("/connect/register", &asked, &[]).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    text(&answer.json()["client_id"]).to_owned()
}

async fn with_page() -> TestServer {
    let sign_in = Some("https://id.example.com/enter?theme=dark".parse().unwrap());
    let links = Links { sign_in, ..Links::default() };
    TestServer::open_in(TestOptions { screens: false, links, ..TestOptions::default() }).await
}

#[tokio::test]
async fn a_link_of_a_self_registered_client_with_an_error_in_it_leads_nowhere() {
    let server = TestServer::open().await;
    let uris = ["https://evil.example/<script>", "https://evil.example/login"];
    let refused = json!({ "redirect_uris": [uris[0]], "token_endpoint_auth_method": "none" });
    server.post_json("/connect/register", &refused, &[]).await.refused(400, "invalid_redirect_uri");
    let id = register(&server, &[uris[1], "com.evil.app:/cb"]).await;
    for (uri, shown) in [(uris[1], "evil.example"), ("com.evil.app:/cb", "com.evil.app")] {
        for wrong in [
            ("-response_type", ""),
            ("scope", "unheard:of"),
            ("response_mode", "fragment"),
            ("-code_challenge", ""),
            ("prompt", "none login"),
            ("prompt", "dance"),
        ] {
            let asked = [("client_id", id.as_str()), ("redirect_uri", uri), wrong];
            for cookie in ["", "porteiro=pss_forged", "porteiro="] {
                let headers = [PAGE, ("cookie", cookie)];
                let page = ask(&server, Method::GET, &asked, &headers).await;
                assert_eq!(page.status, 400, "{page:?}");
                assert_eq!(page.header("location"), None);
                assert!(page.header("content-type").unwrap().starts_with("text/html"));
                assert!(page.text().contains(&format!("<strong>{shown}</strong>")), "{page:?}");
                assert!(!page.text().contains(uri) && !page.text().contains("refresh"));
                sealed(&page.headers);
            }
            // Programs are told as before.
            let json = server.authorize("web", &asked).await;
            assert!(redirect(&json).as_str().starts_with(uri), "{json:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn an_error_of_a_self_registered_client_is_a_redirect_in_a_session_and_without_a_prompt() {
    let server = TestServer::open().await;
    let id = register(&server, &["https://rp.example/cb"]).await;
    let client = [("client_id", id.as_str()), ("redirect_uri", "https://rp.example/cb")];
    let led = |answer: &Answer| {
        let to = url::Url::parse(answer.header("location").unwrap()).unwrap();
        assert_eq!((answer.status.as_u16(), to.host_str()), (303, Some("rp.example")));
        parameter(&to, "error").unwrap()
    };
    let silent = [&client[..], &[("prompt", "none")]].concat();
    assert_eq!(led(&ask(&server, Method::GET, &silent, &[PAGE]).await), "login_required");
    let session = format!("porteiro={}", server.sign_in("ana@acme.test").await);
    let wrong = [&client[..], &[("-response_type", "")]].concat();
    let headers = [PAGE, ("cookie", session.as_str())];
    assert_eq!(led(&ask(&server, Method::GET, &wrong, &headers).await), "invalid_request");
    // A client that an operator made, or made their own, is trusted to lead where it says.
    let wrong = [("-response_type", "")];
    assert_eq!(ask(&server, Method::GET, &wrong, &[PAGE]).await.status, 303);
    server.stop().await;
}

#[tokio::test]
async fn an_error_of_a_self_registered_client_that_an_operator_provisioned_is_a_redirect() {
    let server = TestServer::open().await;
    let id = register(&server, &["https://rp.example/cb"]).await;
    server.apply(&format!("[[client]]\nclient_id = \"{id}\"\n")).await;
    let asked = [
        ("client_id", id.as_str()),
        ("redirect_uri", "https://rp.example/cb"),
        ("-response_type", ""),
    ];
    assert_eq!(ask(&server, Method::GET, &asked, &[PAGE]).await.status, 303);
    server.stop().await;
}

#[tokio::test]
async fn head_is_answered_as_get_and_issues_nothing() {
    let server = with_page().await;
    let session = format!("porteiro={}", server.sign_in("ana@acme.test").await);
    let in_session = [PAGE, ("cookie", session.as_str())];
    let id = register(&server, &["https://rp.example/cb"]).await;
    server.quiet().await;
    let before = server.running().system().store().report().commits;
    let own = [("client_id", id.as_str()), ("redirect_uri", "https://rp.example/cb")];
    let own_wrong = [&own[..], &[("-response_type", "")]].concat();
    for (asked, headers, status) in [
        (&[][..], &in_session[..], 303),
        (&[], &[PAGE], 303),
        (&[], &[("accept", "application/json")], 200),
        (&[("prompt", "none")], &[PAGE], 303),
        (&[("client_id", "unheard-of")], &[PAGE], 400),
        (&[("-response_type", "")], &[PAGE], 303),
        (&[("-response_type", "")], &[("accept", "application/json")], 200),
        (&own_wrong, &[PAGE], 400),
        (&[("x", "%zz")], &[PAGE], 303),
    ] {
        let answer = ask(&server, Method::HEAD, asked, headers).await;
        assert_eq!(answer.status, status, "{asked:?} {answer:?}");
        assert!(answer.body.is_empty() && answer.header("set-cookie").is_none(), "{answer:?}");
        let to = answer.header("location").unwrap_or_default();
        assert!(!to.contains("code=") && !to.contains("flow="), "{to}");
        sealed(&answer.headers);
    }
    assert_eq!(server.running().system().store().report().commits, before);
    let plain = ask(&server, Method::HEAD, &[], &[PAGE]).await;
    assert_eq!(plain.header("location"), Some("https://id.example.com/enter?theme=dark"));
    let kind = ask(&server, Method::HEAD, &[], &[("accept", "application/json")]).await;
    assert_eq!(kind.header("content-type"), Some("application/json"));
    // GET of the same issues a code.
    let got = ask(&server, Method::GET, &[], &in_session).await;
    assert!(got.header("location").unwrap().contains("code=pac_"));
    assert!(server.running().system().store().report().commits > before, "a code is written down");
    server.stop().await;
}

#[tokio::test]
async fn methods_that_are_not_served_are_refused_and_issue_nothing() {
    let server = TestServer::open().await;
    let session = format!("porteiro={}", server.sign_in("ana@acme.test").await);
    server.quiet().await;
    let before = server.running().system().store().report().commits;
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = ask(&server, method, &[], &[("cookie", session.as_str())]).await;
        let allowed = answer.header("allow");
        assert_eq!((answer.status.as_u16(), allowed), (405, Some("GET,HEAD,POST")));
        assert_eq!((answer.header("location"), answer.header("set-cookie")), (None, None));
        sealed(&answer.headers);
    }
    assert_eq!(server.running().system().store().report().commits, before);
    server.stop().await;
}

#[tokio::test]
async fn a_caller_gets_a_page_or_json_as_it_prefers() {
    let server = with_page().await;
    for (accept, status) in [
        ("text/html,application/json;q=0.9", 303),
        ("text/html;q=0.9,application/json", 200),
        ("application/json", 200),
        ("application/json, text/plain, */*", 200),
        ("application/json;q=0", 303),
        ("*/*", 303),
    ] {
        let answer = ask(&server, Method::GET, &[], &[("accept", accept)]).await;
        assert_eq!(answer.status, status, "{accept}");
    }
    server.stop().await;
}
