//! Pages by which people sign in with the provider of their organization, and links that begin there.

use crate::{
    sso_scene::{SUBJECT, Scene, connect, draft, link, moves_on_to, parameters},
    tab::Tab,
    upstream_provider::{METADATA, Provider, Reply},
};
use porteiro::domain::connection::Draft;
use serde_json::json;
use std::time::Duration;

const ANA: &str = "ana@acme.test";

#[tokio::test]
async fn the_domain_of_what_was_typed_leads_to_the_providers_of_its_organization() {
    let scene = Scene::proved().await;
    let server = &scene.server;
    let second = Provider::start(server.clock.clone()).await;
    let partner = Draft { name: Some("Partner <b>& Co".to_owned()), ..draft(&second.issuer) };
    connect(server, partner, Some("secret")).await;
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in").await;
    assert!(!page.text.contains("sso/options"), "before an address is typed none is offered");
    // Whether there is such an account plays no part.
    for email in [ANA, "nobody@acme.test"] {
        let page = tab.open("/sign-in").await;
        let page = tab.step(&page, "identifier", &[("identifier", email)]).await;
        page.is(200, "Sign in");
        assert!(
            page.text.contains("Acme Entra") && page.text.contains("Partner &lt;b&gt;&amp; Co"),
            "{page:?}"
        );
        assert!(page.text.contains(email) && page.text.contains("way=password"), "{page:?}");
        // The account's own credential is a way beside it, and leads back.
        let own = tab.open(&page.link("/sign-in?flow=")).await;
        assert!(own.text.contains("sso/options"), "{own:?}");
        let hinted = tab.step(&page, "sso/options", &[("connection", &scene.connection)]).await;
        assert_eq!(parameters(&moves_on_to(&hinted))["login_hint"], email);
    }
    let page = tab.open("/sign-in").await;
    let page = tab.step(&page, "identifier", &[("identifier", "clara@nowhere.test")]).await;
    page.is(200, "Enter your password");
    assert!(!page.text.contains("sso/options"), "{page:?}");
    // Portuguese.
    tab.language = "pt";
    let page = tab.open("/sign-in?organization=acme").await;
    assert!(page.is(200, "Entrar").text.contains("Entrar com"), "{page:?}");
    let left = tab.step(&page, "sso/options", &[("connection", &scene.connection)]).await;
    left.is(200, "A seguir para Acme Entra");
    tab.language = "en";
    // A provider that does not answer is named on the page.
    scene.provider.reply(METADATA, Reply::Json(503, json!({})));
    server.clock.advance(Duration::from_hours(2));
    let page = tab.open("/sign-in?organization=acme").await;
    let page = tab.step(&page, "sso/options", &[("connection", &scene.connection)]).await;
    assert!(page.is(200, "Sign in").text.contains("does not answer now"), "{page:?}");
    let foreign = tab.step(&page, "sso/options", &[("connection", "another")]).await;
    assert_eq!(foreign.status, 200);
    assert!(!foreign.text.contains("http-equiv=\"refresh\""), "{foreign:?}");
}

#[tokio::test]
async fn an_organization_that_requires_it_is_offered_nothing_else() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    scene.change(Draft { required: Some(true), ..Draft::default() }).await;
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    page.is(200, "Sign in");
    assert!(
        page.text.contains("Your organization signs you in with its own provider."),
        "{page:?}"
    );
    for other in ["password", "passkey", "identifier", "type=\"email\""] {
        assert!(!page.text.contains(&format!("value=\"{other}\"")), "{other}: {page:?}");
    }
    let query = scene.leave(tab, &page).await;
    let back = scene.come_back(tab, &query).await;
    assert_eq!(back.status, 303, "{back:?}");
    assert!(tab.has("porteiro"));
    // A person whom the browser knows is not asked for a password either.
    let page = tab.open("/sign-in?organization=acme").await;
    assert!(!page.text.contains("current-password"), "{page:?}");
    // Who proved themself by a password before is led to the provider.
    let asked = crate::person::asking("web", &[("scope", "openid invoices:read")]);
    let tab = &mut Tab::new(server);
    let page = tab.open(&format!("/connect/authorize?{asked}")).await;
    let page = tab.step(&page, "identifier", &[("identifier", ANA)]).await;
    let page = tab.step(&page, "password", &[("password", crate::person::PASSWORD)]).await;
    page.is(200, "Sign in").form("sso/options");
    let query = scene.leave(tab, &page).await;
    let back = scene.come_back(tab, &query).await;
    let to = back.header("location").unwrap().strip_prefix(server.issuer()).unwrap().to_owned();
    let to = moves_on_to(&tab.open(&to).await);
    assert_eq!(server.redeem("web", &parameters(&to)["code"]).await.status, 200);
}

#[tokio::test]
async fn a_provider_or_a_link_begins_the_sign_in_and_says_nothing_else_by_it() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    let issuer = &scene.provider.issuer;
    let begin = |more: &str| format!("/sign-in?connection={}{more}", scene.connection);
    let tab = &mut Tab::new(server);
    let page = tab.open(&begin(&format!("&iss={issuer}&login_hint=ana%40acme.test"))).await;
    let to = moves_on_to(page.is(200, "Taking you to Acme Entra"));
    assert_eq!(parameters(&to)["login_hint"], ANA);
    let query = scene.provider.authorize(&parameters(&to));
    assert_eq!(scene.come_back(tab, &query).await.status, 303);
    assert!(tab.has("porteiro"), "{:?}", tab.cookies);
    // Another issuer, twice the same, and what is no connection.
    let tab = &mut Tab::new(server);
    for (path, status) in [
        (begin("&iss=https://evil.test"), 400),
        (begin(&format!("&iss={issuer}/")), 400),
        (begin(&format!("&iss={issuer}&iss={issuer}")), 400),
        ("/sign-in?connection=7d444840-9dc0-11d1-b245-5ffdce74fad2".to_owned(), 404),
        (format!("/sign-in?connection={}", "x".repeat(500)), 404),
        ("/sign-in?connection=a%20b".to_owned(), 404),
    ] {
        let page = tab.open(&path).await;
        assert_eq!(page.status, status, "{path}: {page:?}");
        assert!(!page.text.contains("evil.test") && !page.text.contains("http-equiv=\"refresh\""));
    }
    // A hint that cannot be shown is not passed on, and the page says that something was wrong.
    let page = tab.open(&begin(&format!("&login_hint={}", "a".repeat(300)))).await;
    assert!(!page.text.contains("http-equiv=\"refresh\""), "{page:?}");
    // Where the person goes on is a page of ours, and no address that a link names.
    for (target, ends_at) in [
        (format!("{}/account/security", server.issuer()), "/account/security"),
        ("https://evil.test/".to_owned(), "/account"),
        (format!("{}.evil.test/account", server.issuer()), "/account"),
        (format!("{}@evil.test/account", server.issuer()), "/account"),
        (format!("{}//evil.test", server.issuer()), "/account"),
        (format!("{}/connect/logout", server.issuer()), "/account"),
        ("/account/security".to_owned(), "/account"),
    ] {
        let tab = &mut Tab::new(server);
        let target: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
        let page = tab.open(&begin(&format!("&target_link_uri={target}"))).await;
        let query = scene.provider.authorize(&parameters(&moves_on_to(&page)));
        let back = scene.come_back(tab, &query).await;
        let to = back.header("location").unwrap().strip_prefix(server.issuer()).unwrap().to_owned();
        let next = tab.get(&to).await;
        assert_eq!(
            (next.status.as_u16(), next.header("location")),
            (303, Some(ends_at)),
            "{target}"
        );
    }
    // A suspended organization has none.
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    server.clock.expire_views();
    assert_eq!(tab.open(&begin("")).await.status, 404);
}
