//! A person hears of a new device and of an impossible journey, and says that it was not them.

use super::{
    ANA,
    visitor::{Look::Light, Visitor},
};
use crate::{
    alerts::{LAPTOP, from, me, places},
    mails::{link, wait_for},
    person::{PASSWORD, text},
    recovery::NEW,
    support::TestOptions,
};
use std::time::Duration;

#[tokio::test]
async fn a_new_device_and_an_impossible_journey_are_mailed_and_reported_in_a_browser() {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let options = TestOptions { geo: places(), proxies, ..TestOptions::default() };
    let Some(visitor) = Visitor::arrive_in(options).await else { return };
    let Visitor { browser, server, .. } = &visitor;
    from(server, LAPTOP, "192.0.2.9").await;
    visitor.open("/sign-in").await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.is_at("/account").await;
    let mail = wait_for(server, 1).await.swap_remove(0);
    assert!(text(&mail["subject"]).starts_with("A new device"), "{mail}");
    visitor.open("/account/history").await;
    visitor.until("String(document.body.innerText.includes('new device'))", "true").await;

    server.clock.advance(Duration::from_mins(20));
    let thief = from(server, LAPTOP, "198.51.100.7").await;
    let mail = wait_for(server, 2).await.swap_remove(0);
    assert!(text(&mail["text"]).contains("Place: Sydney, Australia"), "{mail}");
    browser.open(link(&mail).as_str()).await;
    visitor.sees("Was this not you?").await;
    visitor.look("report", &[Light]).await;
    assert_eq!(me(server, &thief, "/me").await.status, 200, "a look ends nothing");
    browser.press("button[value=allow]").await;
    visitor.until("String(location.search.includes('flow='))", "true").await;
    let sends = "form:has(input[name=step][value='email_code/send']) button";
    visitor.until(&format!("String(document.querySelector(\"{sends}\") !== null)"), "true").await;
    assert_eq!(me(server, &thief, "/me").await.status, 401, "the thief is signed out");
    let before = visitor.mails().await;
    browser.press(sends).await;
    visitor.sees("Check your e-mail").await;
    browser.fill("#code", &visitor.code(before).await).await;
    browser.press("main form .primary").await;
    visitor.sees("Make a passkey").await;
    browser.press("main a[href*='way=new_password']").await;
    visitor.sees("Choose a password").await;
    browser.fill("#password", NEW).await;
    browser.press("main form .primary").await;
    visitor.sees("Your account is yours again").await;
    visitor.leave().await;
}
