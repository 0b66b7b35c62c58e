//! Clients that send people: what is asked for in words, for which organization, and the way back.

use super::{
    ANA,
    relying_party::{Credentials, RelyingParty},
    visitor::{
        Look::{Dark, Light, Narrow},
        Visitor,
    },
};
use crate::{
    authenticator::Authenticator,
    person::{PASSWORD, text},
};
use porteiro::domain::Clock as _;
use serde_json::json;

const SCOPE: &str = "openid profile email offline_access invoices:read invoices:write";

#[tokio::test]
async fn a_client_that_registered_itself_is_allowed_or_denied() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    let registration = json!({
        "client_name": "Ledger Notes",
        "redirect_uris": ["http://127.0.0.1/cb"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        "policy_uri": "https://ledger.example.com/privacy",
        "tos_uri": "https://ledger.example.com/terms",
    });
    let registered = server.post_json("/connect/register", &registration, &[]).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    let id = text(&registered.json()["client_id"]).to_owned();
    let who = Credentials { id, secret: None };
    let ledger = RelyingParty::open(**server, server.issuer(), who).await;
    browser.open(&ledger.request(SCOPE, &[])).await;
    visitor.sees("Sign in").await;
    visitor.look("sign-in-to-client", &[Light]).await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.sees("Let Ledger Notes use your account?").await;
    visitor.look("consent", &[Light, Dark, Narrow]).await;
    let widths = "const form = document.querySelector('form.pair').getBoundingClientRect();
        return [...document.querySelectorAll('.pair > .button')]
            .map((one) => Math.round(100 * one.getBoundingClientRect().width / form.width))";
    let widths = browser.evaluate(widths).await;
    let both = widths.as_array().unwrap();
    assert!(both.len() == 2 && both.iter().all(|one| one.as_u64() >= Some(45)), "{widths}");
    browser.press("button[value=deny]").await;
    visitor.sees("Your notes").await;
    assert_eq!(ledger.last().unwrap()["error"], "access_denied");

    // The sign-in was for the client, which was denied: it begins anew.
    browser.open(&ledger.request(SCOPE, &[])).await;
    visitor.sees("Sign in").await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.sees("Let Ledger Notes use your account?").await;
    browser.press("button[value=allow]").await;
    visitor.sees("Your notes").await;
    let tokens = ledger.last().unwrap();
    assert!(tokens["refresh_token"].is_string(), "{tokens}");
    // The way back is used: the page of the flow says so, and leads nowhere twice.
    browser.back().await;
    visitor.leave().await;
}

#[tokio::test]
async fn a_person_chooses_an_organization_in_portuguese() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    let ledger = RelyingParty::open(**server, server.issuer(), Credentials::ledger()).await;
    browser.open(&ledger.request("openid invoices:read", &[("ui_locales", "pt")])).await;
    visitor.sees("Entrar").await;
    visitor.sign_in("bruno@acme.test", PASSWORD).await;
    visitor.sees("Para qual organização?").await;
    visitor.look("organization.pt", &[Light]).await;
    browser.press("button[value=acme]").await;
    visitor.sees("Autorizar Ledger Notes a usar a sua conta?").await;
    visitor.look("consent.pt", &[Light]).await;
    browser.press("button[value=allow]").await;
    visitor.sees("Your notes").await;
    assert_eq!(ledger.person()["org"], "acme");
    visitor.leave().await;
}

#[tokio::test]
async fn a_second_factor_is_asked_for_and_a_wrong_code_is_told() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    let ledger = RelyingParty::open(**server, server.issuer(), Credentials::ledger()).await;
    browser.open(&ledger.request("openid", &[])).await;
    visitor.sees("Sign in").await;
    browser.fill("#identifier", "dora@acme.test").await;
    browser.press("main form .primary").await;
    visitor.sees("Enter your password").await;
    visitor.look("password", &[Light]).await;
    browser.fill("#password", PASSWORD).await;
    browser.press("main form .primary").await;
    visitor.sees("Enter the code from your app").await;
    visitor.look("totp", &[Light, Narrow]).await;
    browser.fill("#code", "000000").await;
    browser.press("main form .primary").await;
    visitor.is_told_at("code").await;
    visitor.look("totp-wrong", &[]).await;
    browser.fill("#code", &Authenticator::of_dora().code(server.clock.now())).await;
    browser.press("main form .primary").await;
    visitor.sees("Let Ledger Notes use your account?").await;
    browser.press("button[value=allow]").await;
    visitor.sees("Your notes").await;
    assert_eq!(ledger.person()["acr"], "aal2");
    visitor.leave().await;
}

#[tokio::test]
async fn a_client_that_takes_its_answer_by_a_form_gets_it_without_a_press() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    let ledger = RelyingParty::open(**server, server.issuer(), Credentials::ledger()).await;
    let posted = [("response_mode", "form_post")];
    browser.open(&ledger.request("openid invoices:read", &posted)).await;
    visitor.sees("Sign in").await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.sees("Let Ledger Notes use your account?").await;
    browser.press("button[value=allow]").await;
    visitor.sees("Your notes").await;
    assert_eq!(ledger.person()["org"], "acme");
    let console = browser.log("browser").await;
    assert!(console.is_empty(), "no policy is violated on the way: {console:?}");

    // Where our script does not arrive the page stays, and is like the others.
    let blocked = json!({ "urls": ["*.js"] });
    browser.order("Network.setBlockedURLs", blocked).await;
    browser.open(&ledger.request("openid invoices:read", &posted)).await;
    visitor.sees("Taking you back").await;
    visitor.judge_shown("form-post").await;
    browser.press("main form .primary").await;
    visitor.sees("Your notes").await;
    assert_eq!(ledger.times(), 2);
    visitor.leave().await;
}
