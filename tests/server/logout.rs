//! RP-initiated logout: what the modules of `tests/conformance` leave out, and how programs do the same.

use crate::{
    http::Answer,
    person::{claims, parameter, redirect, text},
    support::{TestOptions, TestServer, form, sealed},
};
use hyper::Method;
use serde_json::{Value, json};

pub const BYE: &str = "https://web.example.com/bye";
/// What makes a client one of the operator's own.
pub const SHOP: &str = "client_secret = \"a-secret-of-more-than-thirty-two-characters\"\n\
                        redirect_uris = [\"https://shop.example.com/cb\"]\ntrusted = true\n";
pub const PATH: &str = "/connect/logout";
const PAGE: (&str, &str) = ("accept", "text/html");
const JSON: (&str, &str) = ("accept", "application/json");

/// A person who is signed in at a browser, and a client that holds an ID token of that session.
pub struct Scene {
    pub server: TestServer,
    pub session: String,
    pub tokens: Value,
}

impl Scene {
    pub async fn open() -> Self {
        Self::at(TestServer::open().await).await
    }

    /// The same without hosted screens, as the plans of certification are run.
    pub async fn plain() -> Self {
        let options = TestOptions { screens: false, ..TestOptions::default() };
        Self::at(TestServer::open_in(options).await).await
    }

    async fn at(server: TestServer) -> Self {
        server.apply(&can_leave("web", BYE)).await;
        let session = server.sign_in("ana@acme.test").await;
        let tokens = tokens(&server, &session, "web").await;
        Self { server, session, tokens }
    }

    pub fn hint(&self) -> &str {
        text(&self.tokens["id_token"])
    }

    pub fn cookie(&self) -> String {
        format!("porteiro={}", self.session)
    }

    /// Follows a link of the client in the browser.
    pub async fn link(&self, asked: &[(&str, &str)]) -> Answer {
        link(&self.server, asked, &[PAGE, ("cookie", &self.cookie())]).await
    }

    pub async fn is_signed_in(&self) -> bool {
        is_signed_in(&self.server, &self.session).await
    }

    /// Insists on a question, to which the person then says yes; returns the page after it.
    pub async fn confirms(&self, asked: &Answer) -> Answer {
        is_question(asked);
        assert!(self.is_signed_in().await, "nothing has ended yet");
        let done = confirm(&self.server, asked, &self.session).await;
        assert_eq!((done.status.as_u16(), done.header("location")), (200, None), "{done:?}");
        assert!(done.text().contains("You are signed out"), "{done:?}");
        assert!(!self.is_signed_in().await);
        done
    }
}

pub fn can_leave(client: &str, uri: &str) -> String {
    format!("[[client]]\nclient_id = \"{client}\"\npost_logout_redirect_uris = [\"{uri}\"]\n")
}

/// What a client gets in a session.
pub async fn tokens(server: &TestServer, session: &str, client: &str) -> Value {
    let code = server.code(session, client, "openid").await;
    let answer = server.redeem(client, &code).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

pub async fn link(server: &TestServer, asked: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
    send(server, Method::GET, asked, headers).await
}

pub async fn send(
    server: &TestServer,
    method: Method,
    asked: &[(&str, &str)],
    headers: &[(&str, &str)],
) -> Answer {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(asked).finish();
    let mut request = server.request(method, &format!("{PATH}?{query}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(form(&[])).unwrap()).await
}

pub async fn post(
    server: &TestServer,
    fields: &[(&str, &str)],
    headers: &[(&str, &str)],
) -> Answer {
    let kind = "application/x-www-form-urlencoded";
    let mut request = server.request(Method::POST, PATH).header("content-type", kind);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(form(fields)).unwrap()).await
}

/// Insists on a page with a question, and no redirect.
#[track_caller]
pub fn is_question(page: &Answer) {
    assert_eq!((page.status.as_u16(), page.header("location")), (200, None), "{page:?}");
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(page.text().contains("<button") && !page.text().contains("refresh"), "{page:?}");
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
    sealed(&page.headers);
}

/// The cookie of the browser that a question was shown to.
pub fn browser_cookie(page: &Answer) -> String {
    let cookies = page.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
    let mut cookies = cookies.filter(|set| set.starts_with("porteiro-browser="));
    cookies.next().unwrap().split(';').next().unwrap().to_owned()
}

/// The flow that the form of a page names.
pub fn flow_of(page: &Answer) -> String {
    let text = page.text();
    let (_, after) = text.split_once("name=\"flow\" value=\"").unwrap();
    after.split_once('"').unwrap().0.to_owned()
}

/// Sends the form of a page as the browser would that shows it.
pub async fn confirm(server: &TestServer, page: &Answer, session: &str) -> Answer {
    let cookies = format!("{}; porteiro={session}", browser_cookie(page));
    let headers = [
        PAGE,
        ("cookie", cookies.as_str()),
        ("origin", server.issuer()),
        ("sec-fetch-site", "same-origin"),
    ];
    post(server, &[("flow", &flow_of(page))], &headers).await
}

/// Tells whether a client gets a code at once (`prompt=none`).
pub async fn is_signed_in(server: &TestServer, session: &str) -> bool {
    let answer = server.authorize_in(session, "web", &[("prompt", "none")]).await;
    match parameter(&redirect(&answer), "error").as_deref() {
        None => true,
        Some("login_required") => false,
        Some(other) => panic!("{other}"),
    }
}

pub fn forgets_its_session(answer: &Answer) -> bool {
    let mut cookies = answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
    cookies.any(|set| set.starts_with("porteiro=;") && set.contains("Max-Age=0"))
}

#[tokio::test]
async fn a_form_of_another_site_is_answered_with_a_link_so_that_the_cookie_comes() {
    let scene = Scene::open().await;
    let fields = [
        ("id_token_hint", scene.hint()),
        ("post_logout_redirect_uri", BYE),
        ("state", "a b&c"),
        ("ui_locales", "pt"),
        ("logout_hint", "ana"),
    ];
    let foreign = [PAGE, ("origin", "https://web.example.com"), ("sec-fetch-site", "cross-site")];
    for headers in [&foreign[..], &foreign[..2]] {
        let answer = post(&scene.server, &fields, headers).await;
        let to = answer.header("location").unwrap().to_owned();
        assert!(answer.status == 303 && to.starts_with("/connect/logout?"), "{answer:?}");
        assert!(scene.is_signed_in().await, "it came without the cookie");
        let request = scene.server.request(Method::GET, &to).header("accept", "text/html");
        let request = request.header("cookie", scene.cookie());
        if headers.len() == 3 {
            let left = scene.server.send(request.body(form(&[])).unwrap()).await;
            let bye = format!("{BYE}?state=a+b%26c");
            assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(&*bye)));
            break;
        }
    }
    let long = "x".repeat(17_000);
    let refused = post(&scene.server, &[("logout_hint", &long)], &foreign).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    scene.server.stop().await;
}

#[tokio::test]
async fn a_form_of_our_own_site_does_what_the_link_does() {
    let scene = Scene::open().await;
    let fields = [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE)];
    let cookie = scene.cookie();
    let left = post(&scene.server, &fields, &[PAGE, ("cookie", cookie.as_str())]).await;
    assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(BYE)), "{left:?}");
    assert!(!scene.is_signed_in().await);
    scene.server.stop().await;
}

#[tokio::test]
async fn programs_get_the_flow_and_where_it_leads() {
    let scene = Scene::open().await;
    let session = ("x-session-token", scene.session.as_str());
    let asked =
        [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE), ("state", "s")];
    let flow = link(&scene.server, &asked[..1], &[JSON, session]).await;
    assert_eq!((flow.status.as_u16(), text(&flow.json()["kind"])), (200, "sign_out"));
    assert_eq!((text(&flow.json()["state"]), &flow.json()["result"]), ("confirm", &Value::Null));
    assert_eq!(flow.json()["steps"][0]["name"], "confirm");
    assert!(scene.is_signed_in().await);
    let done = link(&scene.server, &asked, &[JSON, session]).await;
    assert_eq!((done.status.as_u16(), text(&done.json()["kind"])), (200, "sign_out"));
    assert_eq!(text(&done.json()["state"]), "done", "{done:?}");
    assert_eq!(done.json()["client"]["client_id"], "web");
    assert_eq!(done.json()["result"]["redirect_to"], format!("{BYE}?state=s"));
    assert!(!scene.is_signed_in().await);
    // What was asked before that has nothing left to end.
    let late = scene.server.step_in(&scene.session, &flow.json(), "confirm", allow()).await.json();
    assert_eq!((text(&late["state"]), &late["result"]), ("done", &json!({})), "{late}");
    // And without a session it is done, and leads nowhere.
    for headers in [&[JSON][..], &[JSON, session]] {
        let nothing = link(&scene.server, &asked, headers).await;
        assert_eq!((nothing.status.as_u16(), text(&nothing.json()["state"])), (200, "done"));
        assert_eq!(nothing.json()["result"], Value::Null);
    }
    scene.server.stop().await;
}

fn allow() -> Value {
    json!({ "decision": "allow" })
}

#[tokio::test]
async fn a_confirmed_flow_leads_to_the_client_if_the_token_was_this_persons() {
    let scene = Scene::open().await;
    // Another sign-in of the same person: the token is of a session that is not this one.
    let other = scene.server.sign_in("ana@acme.test").await;
    let asked =
        [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE), ("state", "s")];
    let headers = [JSON, ("x-session-token", other.as_str())];
    let flow = link(&scene.server, &asked, &headers).await.json();
    assert_eq!((text(&flow["state"]), text(&flow["client"]["client_id"])), ("confirm", "web"));
    let path = format!("/flows/{}", text(&flow["id"]));
    assert_eq!(scene.server.get(&path).await.json()["client"]["client_id"], "web");
    let done = scene.server.step_in(&other, &flow, "confirm", allow()).await.json();
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(done["result"]["redirect_to"], format!("{BYE}?state=s"));
    assert!(!is_signed_in(&scene.server, &other).await);
    assert!(scene.is_signed_in().await, "the other session goes on");
    // A person who says no stays, and goes nowhere.
    let again = scene.server.sign_in("ana@acme.test").await;
    let headers = [JSON, ("x-session-token", again.as_str())];
    let flow = link(&scene.server, &asked, &headers).await.json();
    let no = json!({ "decision": "deny" });
    let stayed = scene.server.step_in(&again, &flow, "confirm", no).await.json();
    assert_eq!((text(&stayed["state"]), &stayed["result"]), ("failed", &Value::Null));
    assert!(is_signed_in(&scene.server, &again).await);
    // In a browser, by a page that moves on by itself: browsers hold redirects after a form.
    let third = scene.server.sign_in("ana@acme.test").await;
    let cookie = format!("porteiro={third}");
    let page = link(&scene.server, &asked, &[PAGE, ("cookie", cookie.as_str())]).await;
    is_question(&page);
    let done = confirm(&scene.server, &page, &third).await;
    assert_eq!((done.status.as_u16(), done.header("location")), (200, None), "{done:?}");
    assert!(done.text().contains(&format!("content=\"0;url={BYE}?state=s\"")), "{done:?}");
    assert!(forgets_its_session(&done));
    // To send the form twice is no mistake.
    let twice = confirm(&scene.server, &page, &third).await;
    assert!(twice.status == 200 && twice.text().contains("You are signed out"), "{twice:?}");
    scene.server.stop().await;
}

#[tokio::test]
async fn every_id_token_names_its_session_and_one_that_has_expired_still_counts() {
    let scene = Scene::open().await;
    let sid = claims(&scene.tokens["id_token"])["sid"].clone();
    let mine = scene.server.request(Method::GET, "/me/sessions");
    let mine = mine.header("x-session-token", &scene.session).body(form(&[])).unwrap();
    assert_eq!(scene.server.send(mine).await.json()["items"][0]["id"], sid);
    let refreshed = scene.server.refresh("web", text(&scene.tokens["refresh_token"])).await.json();
    assert_eq!(claims(&refreshed["id_token"])["sid"], sid);
    scene.server.clock.advance(std::time::Duration::from_hours(24));
    let asked = [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE)];
    let left = scene.link(&asked).await;
    assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(BYE)), "{left:?}");
    scene.server.stop().await;
}
