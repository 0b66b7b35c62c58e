//! A person hears of a new device and of an impossible journey, and says that it was not them: in a real browser, with mails
//! that are read in the mailbox of the provider, or in that of a real SMTP server (`bin/python-for-tests smtp`).

use super::{
    ANA,
    visitor::{Look::Light, Visitor},
};
use crate::{
    alerts::{me, places},
    mails::{self, code, link},
    person::{PASSWORD, text},
    recovery::NEW,
    shared::eventually,
    smtp_server::{SmtpServer, taken, text_of},
    support::TestOptions,
};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

const LISBON: &str = "192.0.2.9";
const SYDNEY: &str = "198.51.100.7";

/// Where mails are read.
enum Mailbox {
    Provider,
    /// The folder in which a real SMTP server keeps them.
    Smtp(PathBuf),
}

impl Mailbox {
    /// Every mail to Ana so far, the newest first.
    async fn mails(&self, visitor: &Visitor) -> Vec<Value> {
        match self {
            Self::Provider => mails::mails(&visitor.server).await,
            Self::Smtp(folder) => {
                let taken = taken(folder).into_iter().rev().filter(|mail| mail["to"][0] == ANA);
                let told = |mail: Value| {
                    let content = text(&mail["content"]);
                    let subject = content.lines().find_map(|line| line.strip_prefix("Subject: "));
                    json!({ "subject": subject, "text": text_of(&mail) })
                };
                taken.map(told).collect()
            }
        }
    }

    /// Waits for the mail after so many, and returns it.
    async fn after(&self, count: usize, visitor: &Visitor) -> Value {
        let mut newest = Value::Null;
        eventually("the mail", async || {
            let mut all = self.mails(visitor).await;
            let is_there = all.len() > count;
            if is_there {
                newest = all.swap_remove(0);
            }
            is_there
        })
        .await;
        newest
    }
}

/// Has the browser come from an address, as a proxy says it.
async fn from_address(visitor: &Visitor, address: &str) {
    let headers = json!({ "headers": { "X-Forwarded-For": address } });
    visitor.browser.order("Network.setExtraHTTPHeaders", headers).await;
}

/// Signs in, in a browser that keeps nothing of before.
async fn sign_in_anew(visitor: &Visitor) {
    visitor.browser.order("Network.clearBrowserCookies", json!({})).await;
    visitor.open("/sign-in").await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.is_at("/account").await;
}

async fn hears_and_reports(visitor: &Visitor, mailbox: &Mailbox) {
    let Visitor { browser, server, .. } = visitor;
    from_address(visitor, LISBON).await;
    sign_in_anew(visitor).await;
    server.quiet().await;
    assert_eq!(mailbox.mails(visitor).await.len(), 0, "the first sign-in alerts no one");
    sign_in_anew(visitor).await;
    let mail = mailbox.after(0, visitor).await;
    assert!(text(&mail["subject"]).starts_with("A new device"), "{mail}");
    assert!(text(&mail["text"]).contains("Place: Lisbon, Portugal"), "{mail}");
    visitor.open("/account/history").await;
    for told in ["new device", "Lisbon, Portugal"] {
        let shows = format!("String(document.body.innerText.includes('{told}'))");
        visitor.until(&shows, "true").await;
    }

    // Twenty minutes later in Sydney, in a browser that is known, and from there the thief goes on.
    server.clock.advance(Duration::from_mins(20));
    from_address(visitor, SYDNEY).await;
    let thief = crate::alerts::from(server, "a thief", SYDNEY).await;
    let mail = mailbox.after(1, visitor).await;
    assert!(text(&mail["subject"]).starts_with("A sign-in from far away"), "{mail}");
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
    let before = mailbox.mails(visitor).await.len();
    browser.press(sends).await;
    visitor.sees("Check your e-mail").await;
    browser.fill("#code", &code(&mailbox.after(before, visitor).await)).await;
    browser.press("main form .primary").await;
    visitor.sees("Make a passkey").await;
    browser.press("main a[href*='way=new_password']").await;
    visitor.sees("Choose a password").await;
    browser.fill("#password", NEW).await;
    browser.press("main form .primary").await;
    visitor.sees("Your account is yours again").await;
}

fn options() -> TestOptions {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    TestOptions { geo: places(), proxies, ..TestOptions::default() }
}

#[tokio::test]
async fn a_new_device_and_an_impossible_journey_are_mailed_and_reported_in_a_browser() {
    let Some(visitor) = Visitor::arrive_in(options()).await else { return };
    hears_and_reports(&visitor, &Mailbox::Provider).await;
    visitor.leave().await;
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn alerts_come_through_a_real_smtp_server_and_are_reported_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let smtp = SmtpServer::start(folder.path(), &[]);
    let options = TestOptions { smtp: Some(smtp.port), ..options() };
    let Some(visitor) = Visitor::arrive_in(options).await else { return };
    let mailbox = Mailbox::Smtp(folder.path().to_owned());
    hears_and_reports(&visitor, &mailbox).await;
    let taken = taken(folder.path());
    assert!(taken.len() >= 5, "{} mails came through the server", taken.len());
    assert!(taken.iter().all(|mail| mail["from"] == "id@example.com"), "{taken:?}");
    visitor.leave().await;
}
