//! What the logout endpoint refuses, and what nobody can end by it.

use crate::{
    key_rotation::{is_published, kid_of, rotate},
    logout::{
        BYE, PATH, SHOP, Scene, browser_cookie, can_leave, confirm, flow_of, is_question,
        is_signed_in, link, post, send, tokens,
    },
    person::text,
    shared::eventually,
    support::form,
};
use hyper::Method;
use porteiro::{
    actors::INSTALLATION,
    domain::{Context, signing_keys::Command},
};
use serde_json::json;
use std::time::Duration;

const PAGE: (&str, &str) = ("accept", "text/html");

#[tokio::test]
async fn the_token_of_another_client_proves_nothing() {
    let scene = Scene::open().await;
    let shop = can_leave("shop", "http://127.0.0.1/bye");
    scene.server.apply(&format!("{shop}{SHOP}")).await;
    let shop = tokens(&scene.server, &scene.session, "shop").await;
    let hint = text(&shop["id_token"]);
    // It is for another client than the one that is named, and the URI is not its own.
    for asked in [
        &[("id_token_hint", hint), ("post_logout_redirect_uri", BYE), ("client_id", "web")][..],
        &[("id_token_hint", hint), ("post_logout_redirect_uri", BYE)],
        &[
            ("id_token_hint", hint),
            ("post_logout_redirect_uri", "http://127.0.0.1/bye"),
            ("client_id", "web"),
        ],
        // The port is free where codes go, and not here.
        &[("id_token_hint", hint), ("post_logout_redirect_uri", "http://127.0.0.1:7/bye")],
    ] {
        is_question(&scene.link(asked).await);
    }
    let page = scene.link(&[("id_token_hint", hint), ("post_logout_redirect_uri", BYE)]).await;
    let page = scene.confirms(&page).await;
    assert!(!page.text().contains("bye"), "{page:?}");
    scene.server.stop().await;
}

#[tokio::test]
async fn a_token_that_a_retired_key_signed_counts_and_one_that_a_revoked_key_signed_does_not() {
    let scene = Scene::open().await;
    let kid = kid_of(scene.hint());
    rotate(&scene.server).await;
    scene.server.clock.advance(Duration::from_mins(30));
    eventually("the end", async || !is_published(&scene.server, &kid)).await;
    let second = scene.server.sign_in("ana@acme.test").await;
    let asked = [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE)];
    let revoke = Command::Revoke { kid: kid.clone(), held: Vec::new() };
    let system = scene.server.running().system();
    let cookie = format!("porteiro={second}");
    let elsewhere = [PAGE, ("cookie", cookie.as_str())];
    is_question(&link(&scene.server, &asked, &elsewhere).await);
    // Retired and gone from the key set, but never revoked.
    let left = scene.link(&asked).await;
    assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(BYE)), "{left:?}");
    let tokens = tokens(&scene.server, &second, "web").await;
    let fresh = kid_of(text(&tokens["id_token"]));
    assert_ne!(fresh, kid);
    let mut keys = system.keys();
    keys.mark_unchanged();
    system.signing_keys().ask(&Context::node(), INSTALLATION, revoke).await.unwrap();
    system.reload_keys();
    keys.changed().await.unwrap();
    // The hint of the revoked key names the person of this session, and still leads nowhere.
    let page = link(&scene.server, &asked, &elsewhere).await;
    is_question(&page);
    let done = confirm(&scene.server, &page, &second).await;
    assert!(done.status == 200 && !done.text().contains("bye"), "{done:?}");
    scene.server.stop().await;
}

#[tokio::test]
async fn nobody_ends_the_session_of_another_person() {
    let scene = Scene::open().await;
    let clara = scene.server.sign_in("clara@nowhere.test").await;
    let cookie = format!("porteiro={clara}");
    let asked = [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE)];
    // A link with a token of another person: a question, and nothing of that person ends.
    let page = link(&scene.server, &asked, &[PAGE, ("cookie", cookie.as_str())]).await;
    is_question(&page);
    assert!(scene.is_signed_in().await && is_signed_in(&scene.server, &clara).await);
    let done = confirm(&scene.server, &page, &clara).await;
    assert!(done.status == 200 && !done.text().contains("bye"), "it leads nowhere: {done:?}");
    assert!(scene.is_signed_in().await && !is_signed_in(&scene.server, &clara).await);
    // A link without a session ends nothing either, and is no redirect.
    let nothing = link(&scene.server, &asked, &[PAGE]).await;
    assert_eq!((nothing.status.as_u16(), nothing.header("location")), (200, None));
    assert!(nothing.text().contains("You are signed out") && !nothing.text().contains("refresh"));
    assert!(scene.is_signed_in().await);
    scene.server.stop().await;
}

#[tokio::test]
async fn only_the_browser_that_was_asked_confirms_and_only_from_our_own_page() {
    let scene = Scene::open().await;
    let page = scene.link(&[]).await;
    is_question(&page);
    let (flow, cookie) = (flow_of(&page), scene.cookie());
    let own = format!("{}; {cookie}", browser_cookie(&page));
    let fields = [("flow", flow.as_str())];
    for headers in [
        &[PAGE, ("cookie", own.as_str()), ("origin", "https://evil.example")][..],
        &[PAGE, ("cookie", own.as_str()), ("origin", "null")],
        &[PAGE, ("cookie", own.as_str()), ("sec-fetch-site", "cross-site")],
        // Another browser, though it holds the session.
        &[PAGE, ("cookie", cookie.as_str())],
        &[PAGE],
    ] {
        let refused = post(&scene.server, &fields, headers).await;
        assert_eq!((refused.status.as_u16(), refused.header("location")), (403, None));
        assert!(scene.is_signed_in().await, "{headers:?}");
    }
    // A link confirms nothing.
    is_question(&link(&scene.server, &fields, &[PAGE, ("cookie", own.as_str())]).await);
    // Nor does a flow of another kind, or no flow at all.
    let begun = scene.server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    for other in [text(&begun["id"]), "flw_x", &flow[..flow.len() - 1]] {
        let headers = [PAGE, ("cookie", own.as_str())];
        let refused = post(&scene.server, &[("flow", other)], &headers).await;
        assert_eq!(refused.status, 404, "{refused:?}");
    }
    assert!(scene.is_signed_in().await);
    // Nor after the flow has expired.
    scene.server.clock.advance(Duration::from_mins(16));
    let refused = post(&scene.server, &fields, &[PAGE, ("cookie", own.as_str())]).await;
    assert_eq!(refused.status, 410, "{refused:?}");
    assert!(scene.is_signed_in().await);
    scene.server.stop().await;
}

#[tokio::test]
async fn what_is_malformed_is_refused_and_ends_nothing() {
    let scene = Scene::open().await;
    let long = "s".repeat(2_049);
    let hint = ("id_token_hint", scene.hint());
    let json = ("accept", "application/json");
    for asked in [
        &[hint, ("post_logout_redirect_uri", BYE), ("post_logout_redirect_uri", BYE)][..],
        &[hint, hint, ("post_logout_redirect_uri", BYE)],
        &[hint, ("post_logout_redirect_uri", BYE), ("state", "a"), ("state", "b")],
        &[hint, ("post_logout_redirect_uri", BYE), ("client_id", "web"), ("client_id", "web")],
        &[hint, ("post_logout_redirect_uri", BYE), ("state", &long)],
    ] {
        let page = scene.link(asked).await;
        assert_eq!((page.status.as_u16(), page.header("location")), (400, None), "{page:?}");
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        let session = ("x-session-token", scene.session.as_str());
        link(&scene.server, asked, &[json, session]).await.refused(400, "invalid_request");
    }
    for hostile in ["<script>", "\u{202e}", "a.b.c", &"x".repeat(9_000)] {
        let page = scene.link(&[("id_token_hint", hostile), ("client_id", hostile)]).await;
        is_question(&page);
        assert!(!page.text().contains(hostile), "nothing of the request is on the page");
    }
    let request = scene.server.request(Method::GET, &format!("{PATH}?a=%zz"));
    let broken = scene.server.send(request.body(form(&[])).unwrap()).await;
    assert_eq!(broken.status, 400);
    assert!(scene.is_signed_in().await);
    scene.server.stop().await;
}

#[tokio::test]
async fn a_caller_that_only_looks_ends_nothing_and_no_page_of_another_site_may_ask() {
    let scene = Scene::open().await;
    let asked = [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE)];
    let cookie = scene.cookie();
    let headers = [PAGE, ("cookie", cookie.as_str())];
    let looked = send(&scene.server, Method::HEAD, &asked, &headers).await;
    assert_eq!((looked.status.as_u16(), looked.header("location")), (200, None));
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        assert_eq!(send(&scene.server, method, &asked, &headers).await.status, 405);
    }
    assert!(scene.is_signed_in().await);
    let origin = ("origin", "https://web.example.com");
    for path in [PATH, "/connect/authorize"] {
        let ask = |method: Method| {
            let request = scene.server.request(method, path).header(origin.0, origin.1);
            request.header("access-control-request-method", "GET").body(form(&[])).unwrap()
        };
        for method in [Method::OPTIONS, Method::GET] {
            let answer = scene.server.send(ask(method)).await;
            assert!(answer.header("access-control-allow-origin").is_none(), "{answer:?}");
        }
    }
    scene.server.stop().await;
}

/// Contract §4: programs in browsers use these endpoints, without credentials.
#[tokio::test]
async fn pages_of_any_site_may_call_what_clients_in_browsers_need() {
    let scene = Scene::open().await;
    for (path, method) in [
        ("/.well-known/openid-configuration", "GET"),
        ("/.well-known/oauth-authorization-server", "GET"),
        ("/connect/jwks", "GET"),
        ("/connect/token", "POST"),
        ("/connect/userinfo", "GET"),
        ("/connect/userinfo", "POST"),
        ("/connect/register", "POST"),
        ("/connect/register/web", "GET"),
        ("/connect/revoke", "POST"),
    ] {
        let ask = |sent: Method| {
            let request = scene.server.request(sent, path).header("origin", "https://spa.example");
            let request = request.header("access-control-request-method", method);
            request.header("access-control-request-headers", "authorization, dpop").body(form(&[]))
        };
        let may = scene.server.send(ask(Method::OPTIONS).unwrap()).await;
        assert_eq!(may.header("access-control-allow-origin"), Some("*"), "{path}: {may:?}");
        assert!(may.header("access-control-allow-methods").unwrap().contains(method), "{path}");
        let headers = may.header("access-control-allow-headers").unwrap();
        assert!(headers.contains("authorization") && headers.contains("dpop"), "{headers}");
        let answer = scene.server.send(ask(method.parse().unwrap()).unwrap()).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}: {answer:?}");
        assert!(answer.header("access-control-allow-credentials").is_none());
        let exposed = answer.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("www-authenticate"), "{exposed}");
    }
    let request = scene.server.request(Method::OPTIONS, "/connect/introspect");
    let request = request.header("origin", "https://spa.example");
    let request = request.header("access-control-request-method", "POST");
    let refused = scene.server.send(request.body(form(&[])).unwrap()).await;
    assert!(refused.header("access-control-allow-origin").is_none(), "it takes a secret");
    scene.server.stop().await;
}
