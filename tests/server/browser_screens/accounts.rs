//! People who make an account, recover one, or add to it.

use super::{
    ANA, TAB,
    relying_party::{Credentials, RelyingParty},
    visitor::{
        Look::{Dark, Light, Narrow, NarrowDark},
        Visitor,
    },
};
use crate::{
    authenticator::Authenticator,
    person::{PASSWORD, text},
};
use porteiro::domain::Clock as _;
use serde_json::json;
use std::time::Duration;

const EVA: &str = "eva@acme.test";

#[tokio::test]
async fn a_person_signs_up_with_a_passkey_and_signs_in_to_a_client_by_autofill() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    browser.add_authenticator().await;
    visitor.open("/sign-in").await;
    visitor.sees("Sign in").await;
    visitor.look("sign-in", &[Light, Dark, Narrow, NarrowDark]).await;
    visitor.open("/sign-up").await;
    visitor.sees("Create an account").await;
    visitor.look("sign-up", &[Light, Narrow]).await;
    browser.fill("#given_name", "Eva").await;
    browser.fill("#family_name", "Martins").await;
    browser.fill("#email", EVA).await;
    let before = visitor.mails().await;
    browser.press("main form .primary").await;
    visitor.sees("Check your e-mail").await;
    visitor.look("email-code", &[Light]).await;
    browser.fill("#code", &visitor.code(before).await).await;
    browser.press("main form .primary").await;
    visitor.sees("Make a passkey").await;
    visitor.look("passkey", &[Light]).await;
    browser.press("main form .primary").await;
    visitor.sees("Keep these recovery codes").await;
    visitor.look("recovery-codes", &[Light]).await;
    browser.press("main .primary").await;
    visitor.is_at("/account").await;
    visitor.look("account", &[Light, Dark, Narrow]).await;

    visitor.open("/sign-out").await;
    visitor.sees("Sign out?").await;
    visitor.look("sign-out", &[]).await;
    browser.press("main form .primary").await;
    visitor.sees("You are signed out").await;
    visitor.look("signed-out", &[Light]).await;

    // This browser knows the person; in the field for an address the first sign of a person begins the
    // autofill.
    visitor.open("/sign-in").await;
    let other = "main a[href*='way=identifier']";
    if browser.evaluate(&format!("return document.querySelector(\"{other}\") !== null")).await
        == true
    {
        visitor.look("welcome-back", &[Light, NarrowDark]).await;
        browser.press(other).await;
    }
    visitor.sees("Sign in").await;
    browser.keys(TAB).await;
    visitor.is_at("/account").await;

    // What was aal2 has lapsed, and the client wants it.
    server.clock.advance(Duration::from_hours(2));
    let ledger = RelyingParty::open(**server, server.issuer(), Credentials::ledger()).await;
    browser.open(&ledger.request("openid profile email", &[("acr_values", "aal2")])).await;
    visitor.sees("Confirm that it is you").await;
    visitor.look("step-up", &[Light]).await;
    browser.press("form[data-passkey=get] button").await;
    visitor.sees("Let Ledger Notes use your account?").await;
    visitor.look("consent-personal", &[]).await;
    browser.press("button[value=allow]").await;
    visitor.sees("Your notes").await;
    let person = ledger.person();
    assert_eq!(person["acr"], "aal2", "{person}");
    visitor.leave().await;
}

#[tokio::test]
async fn a_person_recovers_an_account_and_signs_in_with_the_new_password() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, .. } = &visitor;
    visitor.open("/reset-password").await;
    visitor.sees("Recover your account").await;
    visitor.look("reset-password", &[Light]).await;
    browser.fill("#identifier", ANA).await;
    let before = visitor.mails().await;
    browser.press("main form .primary").await;
    visitor.sees("Check your e-mail").await;
    browser.fill("#code", "000000").await;
    browser.press("main form .primary").await;
    visitor.is_told_at("code").await;
    browser.fill("#code", &visitor.code(before).await).await;
    browser.press("main form .primary").await;
    visitor.sees("Make a passkey").await;
    browser.press("main a[href*='way=new_password']").await;
    visitor.sees("Choose a password").await;
    visitor.look("new-password", &[Light]).await;
    browser.fill("#password", "short").await;
    browser.press("main form .primary").await;
    visitor.is_told_at("password").await;
    visitor.look("new-password-refused", &[]).await;
    browser.fill("#password", "a long enough new password").await;
    browser.press("main form .primary").await;
    visitor.sees("Your account is yours again").await;
    visitor.look("recovered", &[]).await;
    browser.press("main .primary").await;
    visitor.sees("Sign in").await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.is_told_at("password").await;
    visitor.look("wrong-password", &[Light]).await;
    browser.fill("#password", "a long enough new password").await;
    browser.press("main form .primary").await;
    visitor.declines().await;
    visitor.is_at("/account").await;
    visitor.leave().await;
}

#[tokio::test]
async fn an_authenticator_application_is_added_in_portuguese_and_its_codes_can_be_printed() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    visitor.open("/sign-in?ui_locales=pt").await;
    visitor.sees("Entrar").await;
    visitor.picture("sign-in.pt", Light).await;
    visitor.sign_in("clara@nowhere.test", PASSWORD).await;
    visitor.is_at("/account").await;
    visitor.look("account.pt", &[]).await;
    visitor.open("/account/security").await;
    visitor.is_at("/account/security").await;
    browser.press("form:has(input[value=enroll_totp]) button").await;
    if browser.evaluate("return document.querySelector('#code') === null").await == true {
        browser.press("main form .primary").await;
    }
    visitor.until("String(document.querySelector('.qr') !== null)", "true").await;
    visitor.look("authenticator-app", &[Light, Dark]).await;
    let key = browser.evaluate("return document.querySelector('.key').innerText").await;
    let application = Authenticator::new(&text(&key).replace(' ', ""));
    browser.fill("#code", &application.code(server.clock.now())).await;
    browser.press("main form .primary").await;
    visitor.sees("Guarde estes códigos de recuperação").await;
    visitor.look("recovery-codes.pt", &[Light]).await;
    // On paper there are the codes and whose they are, and nothing to press.
    browser.order("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
    let printed = text(&browser.evaluate("return document.body.innerText").await).to_owned();
    let codes = browser.evaluate("return document.querySelector('#codes').innerText").await;
    assert!(printed.contains(text(&codes)) && printed.contains("clara@nowhere.test"), "{printed}");
    assert!(!printed.contains("Copiar") && !printed.contains("Porteiro"), "{printed}");
    visitor.take_picture("recovery-codes.print", (640, 480, 1.0)).await;
    visitor.leave().await;
}
