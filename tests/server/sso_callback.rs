//! A provider sends a browser back: the answer is a step of the flow that asked, in the browser that began it, and in no
//! other (adr/0138).

use crate::{
    http::Answer,
    person::{asking, text},
    sso_scene::{Scene, connect, draft, link, moves_on_to, options, parameters, session_of},
    support::{TestOptions, TestServer},
    tab::Tab,
    upstream_provider::Provider,
    zone_server::ZoneServer,
};
use hyper::Method;
use porteiro::http::Links;
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const SUBJECT: &str = crate::sso_scene::SUBJECT;

/// Insists on a refusal that says nothing of what came, and leaves nothing with the browser.
#[track_caller]
fn is_refused(answer: &Answer, query: &str) {
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert!(answer.headers.get("set-cookie").is_none(), "{answer:?}");
    let said = answer.text();
    for part in query.split(['&', '=', '?']).filter(|part| part.len() > 8) {
        assert!(!said.contains(part), "{said} has {part}");
    }
}

/// Posts an answer as a page of another site does: without cookies.
async fn post(server: &TestServer, path: &str, body: &str) -> Answer {
    let request = server
        .request(Method::POST, path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", "https://login.acme.test")
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate");
    server.send(request.body(body.to_owned().into()).unwrap()).await
}

#[tokio::test]
async fn a_browser_that_comes_back_goes_on_in_its_flow_and_the_client_gets_its_code_once() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    // Without a client it ends at the account.
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    let back = scene.come_back(tab, &query).await;
    assert_eq!(back.status, 303, "{back:?}");
    let to = format!("{}/sign-in?flow={}", server.issuer(), page.flow());
    assert_eq!(back.header("location"), Some(&*to), "the page of the very flow");
    assert_eq!(back.header("cache-control"), Some("no-store"));
    assert_eq!(back.header("referrer-policy"), Some("no-referrer"));
    assert!(tab.has("porteiro") && tab.has("porteiro-callback"), "{:?}", tab.cookies);
    let done = tab.open(&format!("/sign-in?flow={}", page.flow())).await;
    // What another organization's evidence opens is little: the page says who signed in.
    assert!(done.address.starts_with("/account"), "{done:?}");
    assert!(!tab.has("porteiro-callback"), "it is told once");
    tab.open(&format!("/sign-in?flow={}", page.flow())).await.is(200, "You are done here");
    // A client that asked for acme gets a code, by a page that moves on.
    let tab = &mut Tab::new(server);
    let asked = asking("web", &[("organization", "acme"), ("scope", "openid invoices:read")]);
    let page = tab.open(&format!("/connect/authorize?{asked}")).await;
    let query = scene.leave(tab, &page).await;
    let back = scene.come_back(tab, &query).await;
    let to = back.header("location").unwrap().strip_prefix(server.issuer()).unwrap().to_owned();
    assert!(!to.contains("web.example.com") && !to.contains("code="), "{to}");
    let done = tab.open(&to).await;
    let to = moves_on_to(done.is(200, "Taking you back"));
    assert!(to.starts_with("https://web.example.com/cb?"), "{to}");
    let tokens = server.redeem("web", &parameters(&to)["code"]).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    tab.open(&format!("/sign-in?flow={}", page.flow())).await.is(200, "You are done here");
}

#[tokio::test]
async fn an_answer_that_is_not_for_this_browser_comes_to_nothing_and_spends_nothing() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    let second = Provider::start(server.clock.clone()).await;
    let named = |name: &str| Some(name.to_owned());
    let other =
        porteiro::domain::connection::Draft { name: named("Other"), ..draft(&second.issuer) };
    let other = connect(server, other, Some("secret")).await;
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    let tokens = || scene.provider.calls("/token");
    // Login CSRF: the answer of another browser's flow, in one without a flow and in one with a flow of its own.
    is_refused(&scene.come_back(&mut Tab::new(server), &query).await, &query);
    let victim = &mut Tab::new(server);
    let own = victim.open("/sign-in?organization=acme").await;
    let own_query = scene.leave(victim, &own).await;
    is_refused(&scene.come_back(victim, &query).await, &query);
    // A program has no cookie, and its own flow is for no browser.
    is_refused(&server.get(&scene.callback(&query)).await, &query);
    let program = scene.begin().await;
    let of_program = scene.answer_to(&program).await;
    is_refused(&scene.come_back(tab, &of_program).await, &of_program);
    // Mix-up: the answer at the address of another connection, in this browser.
    let elsewhere = format!("/connect/sso/{other}/callback?{query}");
    let headers = [("sec-fetch-site", "cross-site")];
    let mixed = tab.request((Method::GET, &elsewhere), &headers, String::new()).await;
    is_refused(&mixed, &query);
    for path in ["none", "%FF", "a%2Fb"] {
        let path = format!("/connect/sso/{path}/callback?{query}");
        let status = tab.request((Method::GET, &path), &headers, String::new()).await.status;
        assert!(status == 400 || status == 404, "{path}: {status}");
    }
    // What is no answer, or is to no flow.
    let state = query.split('&').find(|part| part.starts_with("state=")).unwrap().to_owned();
    let other_state = query.replace(&state, "state=anything-that-is-as-long-as-a-state-would-be");
    let long = format!("{state}&code={}", "c".repeat(9_000));
    let twice = format!("{query}&{state}");
    for bad in ["", "x", "code=c", &*state, &other_state, &long, &twice, "posted=x", "posted="] {
        is_refused(&scene.come_back(tab, bad).await, bad);
    }
    // A caller that only looks at the link.
    let looked =
        tab.request((Method::HEAD, &scene.callback(&query)), &headers, String::new()).await;
    assert_eq!(looked.status, 200);
    // An answer of another provider to the right state: it is named on the page, and the right one may still come.
    let forged = format!("{query}&iss=https://evil.test");
    let back = scene.come_back(tab, &forged).await;
    assert_eq!(back.status, 303);
    assert!(back.header("location").unwrap().contains("problem=sso_refused"), "{back:?}");
    assert_eq!(tokens(), 0, "no code was sent to any provider");
    assert_eq!(scene.come_back(tab, &query).await.status, 303);
    assert!(tab.has("porteiro"), "nothing was spent: {:?}", tab.cookies);
    // Replayed, the answer is to no flow.
    is_refused(&scene.come_back(tab, &query).await, &query);
    assert_eq!(tokens(), 1);
    // The victim's own flow went on all the while.
    assert_eq!(scene.come_back(victim, &own_query).await.status, 303);
    assert!(victim.has("porteiro"));
    // A flow that has expired waits for nothing.
    let page = tab.open("/sign-in?organization=acme&prompt=select_account").await;
    let page = tab.open(&format!("/sign-in?flow={}&way=identifier", page.flow())).await;
    let late = scene.leave(tab, &page).await;
    server.clock.advance(Duration::from_mins(16));
    is_refused(&scene.come_back(tab, &late).await, &late);
}

#[tokio::test]
async fn a_code_of_another_sign_in_is_refused_by_nonce_and_verifier() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    // Code injection: a code that was issued to another flow, under the state of this one.
    let stolen = scene.answer_to(&scene.begin().await).await;
    let stolen = stolen.split('&').find(|part| part.starts_with("code=")).unwrap().to_owned();
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    let code = query.split('&').find(|part| part.starts_with("code=")).unwrap().to_owned();
    let back = scene.come_back(tab, &query.replace(&code, &stolen)).await;
    assert!(back.header("location").unwrap().contains("problem=sso_refused"), "{back:?}");
    assert!(!tab.has("porteiro"));
    // The code was sent: the attempt is over, the flow is not.
    is_refused(&scene.come_back(tab, &query).await, &query);
    let page = tab.open(&format!("/sign-in?flow={}", page.flow())).await;
    let query = scene.leave(tab, &page).await;
    assert_eq!(scene.come_back(tab, &query).await.status, 303);
    assert!(tab.has("porteiro"));
}

#[tokio::test]
async fn an_answer_that_is_posted_goes_on_by_a_link_that_is_good_once_on_every_node() {
    let scene = Scene::open().await;
    let server = &scene.server;
    let second = server.beside(options(&scene.zone)).await;
    link(server, &scene.connection, SUBJECT, ANA).await;
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    let path = scene.callback("").trim_end_matches('?').to_owned();
    // It is passed on by whichever node it comes to, while the flow waits for it at this address.
    let posted = post(&second, &path, &query).await;
    assert_eq!(posted.status, 303, "{posted:?}");
    assert_eq!(posted.header("cache-control"), Some("no-store"));
    assert!(posted.headers.get("set-cookie").is_none());
    let to = posted.header("location").unwrap().to_owned();
    let code = &parameters(&format!("http://x/?{query}"))["code"];
    assert!(to.starts_with(&format!("{path}?posted=")) && !to.contains(code.as_str()), "{to}");
    let other = Tab::new(server);
    for bad in ["", "state=x&code=y", "code=y", &query.replace("state=", "state=x")] {
        is_refused(&post(server, &path, bad).await, bad);
    }
    drop(other);
    let elsewhere = path.replace(&scene.connection, "7d444840-9dc0-11d1-b245-5ffdce74fad2");
    is_refused(&post(server, &elsewhere, &query).await, &query);
    let json = server.post_json(&path, &json!({ "state": "x" }), &[]).await;
    assert_eq!(json.status, 400);
    // The link is for the browser of the flow, at this address, unaltered, for a minute.
    let link = to.strip_prefix(&format!("{path}?")).unwrap();
    is_refused(&scene.come_back(&mut Tab::new(server), link).await, link);
    let moved = to.replace(&scene.connection, "7d444840-9dc0-11d1-b245-5ffdce74fad2");
    is_refused(&tab.get(&moved).await, link);
    let mut altered = link.to_owned();
    altered.truncate(altered.len() - 4);
    is_refused(&scene.come_back(tab, &altered).await, &altered);
    assert_eq!(scene.come_back(tab, link).await.status, 303);
    assert!(tab.has("porteiro"));
    is_refused(&scene.come_back(tab, link).await, link);
    let page = Tab::new(server).open("/sign-in?organization=acme").await;
    drop(page);
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    let posted = post(server, &path, &query).await;
    let late = posted.header("location").unwrap().split_once('?').unwrap().1.to_owned();
    server.clock.advance(Duration::from_secs(61));
    is_refused(&scene.come_back(tab, &late).await, &late);
    assert_eq!(scene.come_back(tab, &query).await.status, 303, "the answer itself is good yet");
}

#[tokio::test]
async fn every_refusal_is_named_on_the_page_of_the_flow_which_goes_on() {
    let scene = Scene::proved().await;
    let server = &scene.server;
    let said = [
        ("sso_refused", "did not work", "não resultou"),
        ("account_not_vouched", "no account here is linked", "nenhuma conta aqui"),
        ("identity_not_linked", "has this address already", "já tem este endereço"),
        ("membership_disabled", "is disabled", "está desativada"),
    ];
    for (code, english, portuguese) in said {
        match code {
            "sso_refused" => scene.provider.claim("aud", json!("another")),
            "account_not_vouched" => {
                scene.provider.claim("aud", json!("porteiro"));
                scene.provider.claim("email", json!("eve@elsewhere.test"));
            }
            "identity_not_linked" => scene.provider.claim("email", json!(ANA)),
            _ => {
                // Of acme's people dora is none.
                link(server, &scene.connection, SUBJECT, "dora@acme.test").await;
            }
        }
        let tab = &mut Tab::new(server);
        let page = tab.open("/sign-in?organization=acme").await;
        let query = scene.leave(tab, &page).await;
        let back = scene.come_back(tab, &query).await;
        assert_eq!(back.status, 303, "{back:?}");
        let to = back.header("location").unwrap().strip_prefix(server.issuer()).unwrap().to_owned();
        assert!(to.contains(&format!("problem={code}")), "{to}");
        let page = tab.open(&to).await;
        assert!(page.is(200, "Sign in").text.contains(english), "{page:?}");
        page.form("sso/options");
        tab.language = "pt";
        assert!(tab.open(&to).await.is(200, "Entrar").text.contains(portuguese));
        assert!(!tab.has("porteiro"));
    }
    // What the provider itself refuses.
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    let state = query.split('&').find(|part| part.starts_with("state=")).unwrap();
    let denied = format!("error=access_denied&error_description=no+%3Cb%3E&{state}");
    let back = scene.come_back(tab, &denied).await;
    assert!(back.header("location").unwrap().contains("problem=sso_refused"), "{back:?}");
}

#[tokio::test]
async fn without_screens_the_browser_goes_on_at_the_link_of_the_operator() {
    let zone = ZoneServer::open().await;
    let sign_in = Some("https://app.example.com/sign-in".parse().unwrap());
    let links = Links { sign_in, ..Links::default() };
    let options = TestOptions { screens: false, links, ..options(&zone) };
    let scene = Scene::open_in(zone, options).await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    // The page of the operator begins the flow as a script does.
    let asked = asking("web", &[("organization", "acme")]);
    let tab = &mut Tab::new(server);
    let begun = tab.get(&format!("/connect/authorize?{asked}")).await;
    let link = begun.header("location").unwrap().to_owned();
    let flow = parameters(&link)["flow"].clone();
    let page = [("origin", "https://app.example.com"), ("sec-fetch-site", "same-site")];
    let cookies = tab.cookies.join("; ");
    let headers = [&page[..], &[("cookie", &*cookies)]].concat();
    let step = format!("/flows/{flow}/sso/options");
    let left = server.post_json(&step, &json!({}), &headers).await;
    let query = scene.provider.authorize(&parameters(text(&left.json()["redirect_to"])));
    let back = scene.come_back(tab, &query).await;
    assert_eq!(back.status, 303, "{back:?}");
    assert_eq!(back.header("location"), Some(&*link), "with the id that it knows the flow by");
    // It reads the result once.
    let look = async |tab: &mut Tab<'_>| {
        let path = format!("/flows/{flow}");
        tab.request((Method::GET, &path), &page, String::new()).await.json()
    };
    let done = look(tab).await;
    assert_eq!(done["state"], "done");
    let code = parameters(text(&done["result"]["redirect_to"]))["code"].clone();
    assert_eq!(server.redeem("web", &code).await.status, 200);
    assert!(look(tab).await.get("result").is_none());
    // A refusal is named in the address.
    let begun = tab
        .get(&format!(
            "/connect/authorize?{}",
            asking("web", &[("organization", "acme"), ("prompt", "login")])
        ))
        .await;
    let flow = parameters(begun.header("location").unwrap())["flow"].clone();
    let step = format!("/flows/{flow}/sso/options");
    let cookies = tab.cookies.join("; ");
    let headers = [&page[..], &[("cookie", &*cookies)]].concat();
    let left = server.post_json(&step, &json!({}), &headers).await;
    let query = scene.provider.authorize(&parameters(text(&left.json()["redirect_to"])));
    scene.provider.claim("aud", json!("another"));
    let back = scene.come_back(tab, &query).await;
    let to = parameters(back.header("location").unwrap());
    assert_eq!((&*to["flow"], &*to["problem"]), (&*flow, "sso_refused"), "{back:?}");
    // Without a link there is nowhere to go on, and nothing is spent.
    assert!(server.get("/sign-in").await.status == 404);
}

/// The status and the code of a refusal.
fn refusal(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), text(&answer.json()["code"]).to_owned())
}

#[tokio::test]
async fn what_no_database_takes_is_refused_before_one_is_asked() {
    let scene = Scene::proved().await;
    let server = &scene.server;
    let state = "state=a-state-that-is-as-long-as-ours-would-be&code=c";
    for id in ["%00", "a%00b", &format!("{}%00", scene.connection), "%C3%A9", &"a".repeat(400)] {
        for (method, path) in [
            (Method::GET, format!("/connect/sso/{id}/callback?{state}")),
            (Method::POST, format!("/connect/sso/{id}/callback")),
            (Method::POST, format!("/connect/sso/{id}/logout")),
            (Method::GET, format!("/sign-in?connection={id}")),
            (Method::GET, format!("/sign-in?organization={id}")),
            (Method::DELETE, format!("/me/identities/{id}")),
            (Method::GET, format!("/organization?organization={id}")),
        ] {
            let request = server.request(method.clone(), &path);
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let body = format!("{state}&logout_token=a.b.c");
            let body = if method == Method::POST { body } else { String::new() };
            let answer = server.send(request.body(body.into()).unwrap()).await;
            assert!(answer.status.as_u16() < 500, "{method} {path}: {answer:?}");
        }
    }
    let connection = &scene.connection;
    for query in
        ["state=%00&code=c", "state=s%00&code=%00", "state=s&code=c&iss=%00", "error=%00&state=%00"]
    {
        let flow = scene.begin().await;
        scene.answer_to(&flow).await;
        let answer = scene.bring(&flow, query).await;
        assert_eq!(refusal(&answer), (401, "sso_refused".to_owned()), "{query}");
        let path = format!("/connect/sso/{connection}/callback?{query}");
        assert_eq!(server.get(&path).await.status, 400, "{query}");
    }
    for (step, body) in [
        ("sso/options", json!({ "connection": "\0" })),
        ("sso/options", json!({ "connection": connection, "login_hint": "a\0b" })),
        ("sso", json!({ "callback": "\0" })),
    ] {
        let flow = scene.begin().await;
        let answer = server.step(&flow, step, body.clone()).await;
        assert!(answer.status.is_client_error(), "{step} {body}: {answer:?}");
    }
    let wish = json!({ "kind": "sign_in", "organization": "ac\0me" });
    assert!(server.post_json("/flows", &wish, &[]).await.status.as_u16() < 500);
    // What the provider asserts.
    for (claim, value) in [
        ("sub", json!("a\0b")),
        ("email", json!("no\0va@acme.test")),
        ("sid", json!("a\0b")),
        ("groups", json!(["a\0b"])),
        ("name", json!("\0")),
    ] {
        scene.provider.claim(claim, value);
        let answer = scene.sign_on().await;
        assert_eq!(refusal(&answer), (401, "sso_refused".to_owned()), "{claim}");
        scene.provider.claim(claim, Value::Null);
        scene.provider.claim("sub", json!("nova"));
    }
    scene.provider.claim("email", json!("nova@acme.test"));
    session_of(&scene.sign_on().await);
}
