//! Browsers that are not as most are: without scripts, without cookies, late, or asking for more
//! contrast and less motion.

use super::{
    ANA,
    relying_party::{Credentials, RelyingParty},
    visitor::{
        Look::{Dark, Light, Narrow},
        Visitor,
    },
};
use crate::{
    person::{PASSWORD, text},
    playground::CLIENT as PLAYGROUND,
};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn without_scripts_a_person_signs_in_and_consents() {
    let Some(mut visitor) = Visitor::arrive().await else { return };
    visitor.without_scripts().await;
    let Visitor { browser, server, .. } = &visitor;
    let ledger = RelyingParty::open(**server, server.issuer(), Credentials::ledger()).await;
    browser.open(&ledger.request("openid profile invoices:read", &[])).await;
    visitor.sees("Sign in").await;
    let shown = "return [...document.querySelectorAll('.needs-script')].filter((one) => one.offsetParent).length";
    assert_eq!(browser.evaluate(shown).await, 0, "what needs a script is hidden");
    visitor.picture("sign-in.noscript", Light).await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.sees("Let Ledger Notes use your account?").await;
    assert_eq!(browser.evaluate(shown).await, 0, "what needs a script is hidden");
    browser.press("button[value=allow]").await;
    visitor.sees("Your notes").await;
    assert_eq!(ledger.person()["org"], "acme");
    // A client that takes its answer by a form gets it by a button.
    let posted = [("response_mode", "form_post")];
    browser.open(&ledger.request("openid profile invoices:read", &posted)).await;
    visitor.sees("Taking you back").await;
    visitor.picture("form-post", Light).await;
    browser.press("main form .primary").await;
    visitor.sees("Your notes").await;
    assert_eq!(ledger.times(), 2);
    assert_eq!(ledger.person()["org"], "acme");
    visitor.leave().await;
}

#[tokio::test]
async fn what_cannot_go_on_says_what_to_do() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    visitor.open("/sign-in?flow=flw_AAAAAAAAAAAAAAAAAAAAAAAAAAA").await;
    visitor.sees("There is nothing here").await;
    visitor.look("unknown", &[]).await;
    // Half an hour passes while the page is open.
    visitor.open("/sign-in").await;
    visitor.sees("Sign in").await;
    browser.fill("#identifier", ANA).await;
    let begun =
        "performance.getEntriesByType('resource').some(({ name }) => name.includes('/options'))";
    visitor.until(&format!("String({begun})"), "true").await;
    server.clock.advance(Duration::from_mins(30));
    browser.press("main form .primary").await;
    visitor.sees("This took a little too long").await;
    visitor.look("expired", &[Light, Dark, Narrow]).await;
    browser.press("main .primary").await;
    visitor.sees("Sign in").await;
    // Another browser has the address of a flow.
    let flow = browser.evaluate("return document.querySelector('[name=flow]').value").await;
    browser.order("Network.clearBrowserCookies", json!({})).await;
    visitor.open(&format!("/sign-in?flow={}", text(&flow))).await;
    visitor.sees("Cookies are blocked here").await;
    visitor.look("cookies-blocked", &[]).await;
    visitor.leave().await;
}

#[tokio::test]
async fn pages_of_a_development_server_are_judged_as_the_others() {
    let Some(visitor) = Visitor::arrive().await else { return };
    visitor.server.sign_in(ANA).await;
    visitor.open("/mailbox").await;
    visitor.sees("Mailbox").await;
    visitor.look("mailbox", &[]).await;
    visitor.server.apply(PLAYGROUND).await;
    visitor.open("/playground").await;
    visitor.sees("Playground").await;
    visitor.look("playground", &[]).await;
    visitor.open("/there-is-no-such-page").await;
    visitor.sees("There is no such page").await;
    visitor.look("missing", &[Light]).await;
    visitor.leave().await;
}

#[tokio::test]
async fn wishes_of_the_device_are_followed() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, .. } = &visitor;
    visitor.open("/sign-in").await;
    visitor.sees("Sign in").await;
    let moves = "return [...document.querySelectorAll('*')]
        .filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length";
    visitor.media(&[]).await;
    assert!(browser.evaluate(moves).await.as_u64().unwrap() > 0, "a button changes its colour");
    visitor.media(&[("prefers-reduced-motion", "reduce")]).await;
    assert_eq!(browser.evaluate(moves).await, 0, "nothing moves");
    visitor.media(&[("forced-colors", "active")]).await;
    let edges = "return [...document.querySelectorAll('.button, input:not([type=hidden])')]
        .every((one) => parseFloat(getComputedStyle(one).borderTopWidth) >= 1)";
    assert_eq!(browser.evaluate(edges).await, true, "what is pressed has an edge");
    visitor.take_picture("sign-in.contrast", (1120, 760, 1.0)).await;
    // The theme of a person's choice is kept, whatever the device has.
    visitor.media(&[("prefers-color-scheme", "light")]).await;
    let page = "return getComputedStyle(document.body).backgroundColor";
    let light = browser.evaluate(page).await;
    browser.press(".themes a:last-child").await;
    visitor.until("document.documentElement.dataset.theme ?? ''", "dark").await;
    let dark = browser.evaluate(page).await;
    assert_ne!(light, dark);
    visitor.open("/reset-password").await;
    visitor.until("document.documentElement.dataset.theme ?? ''", "dark").await;
    assert_eq!(browser.evaluate(page).await, dark);
    visitor.leave().await;
}
