//! RP-Initiated Logout OP: `oidcc-rp-initiated-logout-certification-test-plan`. The browser is asked before it
//! is signed out wherever the request does not prove that this very session is meant.

use crate::{
    logout::{BYE, PATH, Scene, forgets_its_session, is_question},
    person::text,
    support::TestServer,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;

#[tokio::test]
async fn oidcc_rp_initiated_logout_discovery_endpoint_verification() {
    let server = TestServer::open().await;
    let document = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(document["end_session_endpoint"], format!("{}{PATH}", server.issuer()));
    server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout() {
    let scene = Scene::plain().await;
    let state = "s".repeat(128);
    let asked = [
        ("id_token_hint", scene.hint()),
        ("post_logout_redirect_uri", BYE),
        ("state", state.as_str()),
    ];
    let left = scene.link(&asked).await;
    let to = format!("{BYE}?state={state}");
    assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(&*to)), "{left:?}");
    assert!(forgets_its_session(&left), "{left:?}");
    assert!(!scene.is_signed_in().await);
    let token = text(&scene.tokens["access_token"]);
    assert_eq!(scene.server.introspect("web", token).await, json!({ "active": false }));
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_state() {
    let scene = Scene::plain().await;
    let asked = [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", BYE)];
    let left = scene.link(&asked).await;
    assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(BYE)));
    assert!(!scene.is_signed_in().await);
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_bad_post_logout_redirect_uri() {
    for bad in [
        "https://evil.example/bye",
        "https://web.example.com/bye/",
        "https://web.example.com/BYE",
        "https://web.example.com:443/bye",
        "https://web.example.com/cb",
        "javascript:alert(1)",
    ] {
        let scene = Scene::plain().await;
        let hint = scene.hint();
        let asked = [("id_token_hint", hint), ("post_logout_redirect_uri", bad), ("state", "s")];
        let page = scene.confirms(&scene.link(&asked).await).await;
        assert!(!page.text().contains("href") && !page.text().contains("refresh"), "{bad}");
        scene.server.stop().await;
    }
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_modified_id_token_hint() {
    let scene = Scene::plain().await;
    let header = URL_SAFE_NO_PAD.encode(json!({ "typ": "JWT", "alg": "none" }).to_string());
    let said = scene.hint().split('.').nth(1).unwrap();
    let unsigned = format!("{header}.{said}.");
    let asked =
        [("id_token_hint", unsigned.as_str()), ("post_logout_redirect_uri", BYE), ("state", "s")];
    let page = scene.confirms(&scene.link(&asked).await).await;
    assert!(!page.text().contains(BYE));
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_bad_id_token_hint() {
    let (scene, foreign) = (Scene::plain().await, Scene::plain().await);
    let (ours, _) = scene.hint().rsplit_once('.').unwrap();
    let (_, theirs) = foreign.hint().rsplit_once('.').unwrap();
    let mixed = format!("{ours}.{theirs}");
    for bad in [foreign.hint(), &mixed] {
        let asked = [("id_token_hint", bad), ("post_logout_redirect_uri", BYE), ("state", "s")];
        is_question(&scene.link(&asked).await);
    }
    let asked = [("id_token_hint", &*mixed), ("post_logout_redirect_uri", BYE)];
    let page = scene.confirms(&scene.link(&asked).await).await;
    assert!(!page.text().contains(BYE));
    foreign.server.stop().await;
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_id_token_hint() {
    let scene = Scene::plain().await;
    let asked = [("post_logout_redirect_uri", BYE), ("state", "s"), ("client_id", "web")];
    is_question(&scene.link(&asked).await);
    let page = scene.confirms(&scene.link(&asked[..2]).await).await;
    assert!(!page.text().contains(BYE));
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_params() {
    let scene = Scene::plain().await;
    scene.confirms(&scene.link(&[]).await).await;
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_no_post_logout_redirect_uri() {
    let scene = Scene::plain().await;
    let asked = [("id_token_hint", scene.hint()), ("state", "s")];
    let page = scene.confirms(&scene.link(&asked).await).await;
    assert!(!page.text().contains("href"));
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_only_state() {
    let scene = Scene::plain().await;
    let page = scene.confirms(&scene.link(&[("state", "s")]).await).await;
    assert!(!page.text().contains("href"));
    scene.server.stop().await;
}

#[tokio::test]
async fn oidcc_rp_initiated_logout_query_added_to_post_logout_redirect_uri() {
    let scene = Scene::plain().await;
    let added = format!("{BYE}?foo=bar");
    let asked =
        [("id_token_hint", scene.hint()), ("post_logout_redirect_uri", &added), ("state", "s")];
    let page = scene.confirms(&scene.link(&asked).await).await;
    assert!(!page.text().contains("href") && !page.text().contains("refresh"));
    scene.server.stop().await;
}
