//! A flow belongs to the channel that began it.

use crate::{
    person::{PASSWORD, asking, parameter, text},
    support::{TestOptions, TestServer, form, sealed},
};
use hyper::Method;
use porteiro::http::Links;
use serde_json::{Value, json};

#[tokio::test]
async fn a_flow_belongs_to_the_browser_that_began_it() {
    let sign_in = Some("https://login.example.com/sign-in?theme=dark".parse().unwrap());
    let links = Links { sign_in, ..Links::default() };
    let options = TestOptions { screens: false, links, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let page = ("accept", "text/html");
    let sent = server.authorize_with("web", &[], &[page]).await;
    assert_eq!(sent.status, 303);
    let to = url::Url::parse(sent.header("location").unwrap()).unwrap();
    assert_eq!((to.host_str(), to.path()), (Some("login.example.com"), "/sign-in"));
    assert_eq!(parameter(&to, "theme").as_deref(), Some("dark"));
    let id = parameter(&to, "flow").unwrap();
    let cookie = sent.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let path = format!("/flows/{id}");

    let look = |headers: Vec<(&'static str, String)>| {
        let mut request = server.request(Method::GET, &path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        server.send(request.body(form(&[])).unwrap())
    };
    look(vec![]).await.problem(403, "wrong_channel");
    let other = server.authorize_with("web", &[], &[page]).await;
    let other = other.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    look(vec![("cookie", other)]).await.problem(403, "wrong_channel");
    assert_eq!(look(vec![("cookie", cookie.clone())]).await.json()["state"], "identify");

    let origin = "https://login.example.com";
    let page = [("cookie", cookie.as_str()), ("origin", origin), ("sec-fetch-site", "same-site")];
    let step = |name: &'static str, body: Value| {
        let path = format!("/flows/{id}/{name}");
        let page = &page;
        let server = &server;
        async move { server.post_json(&path, &body, page).await }
    };
    let identified = step("identifier", json!({ "identifier": "ana@acme.test" })).await;
    assert_eq!(identified.header("access-control-allow-origin"), Some(origin));
    assert_eq!(identified.header("access-control-allow-credentials"), Some("true"));
    let done = step("password", json!({ "password": PASSWORD })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let result = &done.json()["result"];
    assert!(result.get("session_token").is_none(), "a script could read it");
    assert!(text(&result["redirect_to"]).contains("code=pac_"));
    let session = done.header("set-cookie").unwrap();
    assert!(session.starts_with("porteiro=pss_") && session.contains("HttpOnly"), "{session}");
    server.stop().await;
}

#[tokio::test]
async fn what_a_program_began_no_browser_goes_on_with() {
    let server = TestServer::open().await;
    let flow = server.authorize("web", &[]).await.json();
    let path = format!("/flows/{}/identifier", text(&flow["id"]));
    let browser = [("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")];
    let body = json!({ "identifier": "ana@acme.test" });
    server.post_json(&path, &body, &browser).await.problem(403, "wrong_channel");
    server.stop().await;
}

#[tokio::test]
async fn what_another_site_posts_is_asked_again_as_a_link() {
    let sign_in = Some("https://login.example.com/sign-in".parse().unwrap());
    let links = Links { sign_in, ..Links::default() };
    let options = TestOptions { screens: false, links, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let session = server.sign_in("ana@acme.test").await;
    let post = async |asked: &str, headers: &[(&str, &str)]| {
        let mut request = server
            .request(Method::POST, "/connect/authorize")
            .header("content-type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.send(request.body(asked.to_owned().into()).unwrap()).await
    };
    let foreign = ("sec-fetch-site", "cross-site");
    let state = "a b+c&d=e#f\u{e9}";
    let asked = asking("web", &[("state", state), ("x", "//a\r\nset-cookie: b=c")]);
    let sent = post(&asked, &[foreign]).await;
    assert_eq!((sent.status.as_u16(), sent.header("cache-control")), (303, Some("no-store")));
    assert!(sent.header("set-cookie").is_none(), "other tabs rely on the key that is there");
    sealed(&sent.headers);
    let link = sent.header("location").unwrap();
    assert_eq!(link, format!("/connect/authorize?{asked}"));
    // To the link the cookies come.
    let request = server.request(Method::GET, link).header("cookie", format!("porteiro={session}"));
    let done = server.send(request.header(foreign.0, foreign.1).body(form(&[])).unwrap()).await;
    let to = url::Url::parse(done.header("location").unwrap()).unwrap();
    assert!(parameter(&to, "code").unwrap().starts_with("pac_"));
    assert_eq!(parameter(&to, "state").as_deref(), Some(state));

    // What is repeated stays so, and what cannot be read is refused at once.
    let twice = asking("web", &[("nonce", "a"), ("nonce", "b")]);
    let sent = post(&twice, &[foreign]).await;
    assert_eq!(sent.header("location").unwrap(), format!("/connect/authorize?{twice}"));
    assert_eq!(post("client_id=%zz", &[foreign]).await.status, 400);
    // Programs, pages of our own site and what is too long for a link are answered where they are.
    let json = post(&asked, &[foreign, ("accept", "application/json")]).await;
    assert_eq!(json.json()["state"], "identify", "{json:?}");
    let long = asking("web", &[("x", &"x".repeat(17_000))]);
    for (asked, site) in [(&asked, "same-site"), (&asked, "same-origin"), (&long, "cross-site")] {
        let answer = post(asked, &[("sec-fetch-site", site)]).await;
        let to = answer.header("location").unwrap();
        assert!(to.starts_with("https://login.example.com/sign-in?flow="), "{site}: {to}");
    }
    server.stop().await;
}

#[tokio::test]
async fn pages_of_other_sites_write_nothing() {
    let server = TestServer::open().await;
    let flow = server.authorize("web", &[]).await.json();
    let path = format!("/flows/{}/identifier", text(&flow["id"]));
    let body = json!({ "identifier": "ana@acme.test" });
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        server.post_json(&path, &body, &[foreign]).await.problem(403, "foreign_origin");
        let begin = json!({ "kind": "sign_in" });
        server.post_json("/flows", &begin, &[foreign]).await.problem(403, "foreign_origin");
    }
    // An Origin of our own is a browser's: it goes on with what it began, and with nothing else.
    let ours = [("origin", server.issuer())];
    server.post_json(&path, &body, &ours).await.problem(403, "wrong_channel");
    let begun = server.post_json("/flows", &json!({ "kind": "sign_in" }), &ours).await;
    let cookie = begun.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let path = format!("/flows/{}/identifier", text(&begun.json()["id"]));
    let ours = [("origin", server.issuer()), ("cookie", &*cookie)];
    assert_eq!(server.post_json(&path, &body, &ours).await.status, 200);
    server.stop().await;
}
