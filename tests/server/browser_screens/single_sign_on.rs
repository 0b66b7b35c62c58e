//! People sign in with the provider of their organization: another Porteiro, and oidc-provider of npm.

use super::visitor::{
    Look::{Dark, Light, Narrow},
    Visitor,
};
use crate::{
    person::PASSWORD,
    sso_oidc_provider::{OidcProvider, SECRET, client, people},
    sso_scene::{connect, draft, options, prove},
    support::{TestOptions, TestServer},
    zone_server::ZoneServer,
};
use porteiro::{
    crypto::{SystemDice, draw_uuid},
    domain::connection::Draft,
};
use serde_json::json;

const NOVA: &str = "nova@acme.test";

impl Visitor {
    /// Waits until a page of this origin is shown.
    async fn is_on(&self, origin: &str) {
        self.until("location.origin", origin).await;
    }

    /// Presses the button of a connection.
    async fn chooses(&self, connection: &str) {
        self.browser.press(&format!("form:has([value='{connection}']) button")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_with_the_provider_of_their_organization() {
    let zone = ZoneServer::open().await;
    let Some(visitor) = Visitor::arrive_in(options(&zone)).await else { return };
    let Visitor { browser, server, .. } = &visitor;
    server.apply(crate::api_caller::DIRECTORY).await;
    prove(server, &zone, ("acme", "acme.test")).await;
    // Another Porteiro, with pages of its own.
    let upstream = TestOptions { screens: true, ..TestOptions::default() };
    let upstream = TestServer::open_in(upstream).await;
    let other = connect(server, draft(upstream.issuer()), Some(SECRET)).await;
    let callback = format!("{}/connect/sso/{other}/callback", server.issuer());
    upstream
        .apply(&format!(
            "[[client]]\nclient_id = \"porteiro\"\nclient_secret = \"{SECRET}\"\n\
             redirect_uris = [\"{callback}\"]\ntrusted = true\nclaims_in_id_token = true\n\n\
             [[account]]\nemail = \"{NOVA}\"\nemail_verified = true\npassword = \"{PASSWORD}\"\n"
        ))
        .await;
    visitor.open("/sign-in").await;
    visitor.sees("Sign in").await;
    browser.fill("#identifier", NOVA).await;
    browser.press("main form .primary").await;
    visitor
        .until("String(document.querySelector('[value=\"sso/options\"]') !== null)", "true")
        .await;
    visitor.look("sign-on", &[Light, Dark, Narrow]).await;
    visitor.chooses(&other).await;
    visitor.is_on(upstream.issuer()).await;
    // It was told who the person says they are.
    visitor.until("document.querySelector('#identifier')?.value", NOVA).await;
    visitor.sign_in(NOVA, PASSWORD).await;
    visitor.is_on(server.issuer()).await;
    visitor.is_at("/account").await;
    // The sign-out goes on there.
    visitor.open("/sign-out").await;
    browser.press("main form .primary").await;
    visitor.is_on(upstream.issuer()).await;

    // oidc-provider, by a link.
    let connection = draw_uuid(&SystemDice);
    let known = client(server, &connection, true);
    let Some(provider) = OidcProvider::start(server, known, people()).await else { return };
    let named = Some("Acme People".to_owned());
    let made = Draft { id: connection.clone(), name: named, ..draft(&provider.issuer) };
    connect(server, made, Some(SECRET)).await;
    let sign_in = async |login: &str| {
        visitor.is_on(&provider.issuer).await;
        browser.fill("[name=login]", login).await;
        browser.fill("[name=password]", "x").await;
        browser.press("[type=submit]").await;
        visitor.is_on(server.issuer()).await;
    };
    visitor.open(&format!("/sign-in?connection={connection}")).await;
    sign_in("stranger").await;
    visitor.until("String(document.querySelector('.note.bad') !== null)", "true").await;
    // What is judged is the page, and not the way to it.
    let at = browser.evaluate("return location.pathname + location.search").await;
    browser.log("performance").await;
    browser.log("browser").await;
    visitor.open(at.as_str().unwrap()).await;
    visitor.look("sign-on-refused", &[Light, Narrow]).await;
    // Two to choose from, and one that is required.
    visitor.open("/sign-in?organization=acme").await;
    visitor.look("sign-on-organization", &[Light]).await;
    let required =
        Draft { id: connection.clone(), required: Some(true), ..draft(&provider.issuer) };
    let required = Draft { name: None, ..required };
    connect(server, required, Some(SECRET)).await;
    visitor.open("/sign-in?organization=acme").await;
    visitor.look("sign-on-required", &[Light, Dark, Narrow]).await;
    // It still knows the stranger: the person signs out there first.
    browser.order("Network.clearBrowserCookies", json!({})).await;
    visitor.open("/sign-in?organization=acme").await;
    visitor.chooses(&connection).await;
    sign_in("ana").await;
    visitor.until("String(document.querySelector('.note.bad') !== null)", "true").await;
    browser.order("Network.clearBrowserCookies", json!({})).await;
    visitor.open(&format!("/sign-in?connection={connection}&login_hint=nova")).await;
    let made = crate::sso_scene::account_of(server, NOVA).await.unwrap();
    crate::sso_scene::link(server, &connection, "nova", NOVA).await;
    sign_in("nova").await;
    visitor.is_at("/account").await;
    assert!(!made.is_empty());
    visitor.leave().await;
}
