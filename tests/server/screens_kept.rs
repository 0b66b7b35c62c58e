//! What pages keep: what was typed into a form that was refused, and an invitation that another person
//! than the invited one has opened.

use crate::{
    invitations::invited,
    page_forms::{LANGUAGES, Visitor, open},
    passkeys::{ANA, device_of},
    person::{PASSWORD, parameter},
};
use std::time::Duration;
use url::Url;

const CLARA: &str = "clara@nowhere.test";
const HOSTILE: &str = "\"><script>alert(1)</script>";

#[tokio::test]
async fn a_profile_that_was_refused_is_filled_in_again() {
    let server = open().await;
    for (language, number) in LANGUAGES.into_iter().zip(0..) {
        let mut visitor = Visitor::open(&server, language, "/sign-up").await;
        let typed = [("email", "no address"), ("given_name", HOSTILE), ("family_name", "de São")];
        visitor.post("profile", &typed).await;
        let to = visitor.answer.header("location").unwrap().to_owned();
        assert!(!to.contains("address") && !to.contains("script"), "sealed: {to}");
        visitor.follow().await;
        assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
        assert!(!visitor.html().contains("<script>alert"), "{}", visitor.html());
        let form = visitor.form("profile");
        for (name, value) in typed {
            assert_eq!(form.field(name), Some(value), "{}", visitor.html());
        }
        if language == "en" {
            // The page that is asked for again, as its links do.
            visitor.go(&visitor.link("?")).await;
            assert_eq!(visitor.form("profile").field("family_name"), Some("de São"));
        }
        let other = format!("eva{number}@acme.test");
        visitor.send("profile", &[("email", &other), ("given_name", "Eva")]).await;
        // Until the address is proved another can be said; the names stay.
        visitor.go(&visitor.link("/sign-up?flow=")).await;
        let form = visitor.form("profile");
        let kept = ["given_name", "family_name", "email"].map(|name| form.field(name).unwrap());
        assert_eq!(kept, ["Eva", "de São", &other]);
    }
    server.stop().await;
}

#[tokio::test]
async fn what_was_typed_is_filled_in_for_its_own_flow_alone() {
    let server = open().await;
    let mut visitor = Visitor::open(&server, "en", "/sign-up").await;
    visitor.send("profile", &[("email", "no address"), ("given_name", "Eva")]).await;
    let page = Url::parse(&format!("{}{}", server.issuer(), visitor.at)).unwrap();
    let typed = parameter(&page, "typed").unwrap();
    let other = visitor.tab("/sign-up").await.flow();
    for (flow, typed) in [(&*other, &*typed), (&visitor.flow(), "x"), (&visitor.flow(), "%ff")] {
        let page = visitor.tab(&format!("/sign-up?flow={flow}&typed={typed}")).await;
        assert_eq!(page.answer.status, 200);
        assert_eq!(page.form("profile").field("given_name"), Some(""), "{typed}");
    }
    // What is too long for an address is not kept, and nothing else is wrong.
    let long = "x".repeat(10_000);
    visitor.send("profile", &[("email", "no address"), ("given_name", &long)]).await;
    assert_eq!(visitor.answer.status, 200, "{}", visitor.html());
    assert_eq!(visitor.form("profile").field("given_name"), Some(""));
    server.stop().await;
}

#[tokio::test]
async fn a_password_that_was_refused_is_not_kept() {
    let server = open().await;
    let mut visitor = Visitor::open(&server, "en", "/sign-in").await;
    visitor.send("identifier", &[("identifier", ANA)]).await;
    visitor.post("password", &[("password", "not the password")]).await;
    let to = visitor.answer.header("location").unwrap();
    assert!(!to.contains("typed="), "{to}");
    server.stop().await;
}

#[tokio::test]
async fn an_invitation_that_another_person_opens_goes_on_for_the_invited_one() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    for (language, number) in LANGUAGES.into_iter().zip(0..) {
        let token = invited(&server, CLARA, &["clerk"]).await;
        let mut visitor = Visitor::open(&server, language, "/sign-in").await;
        if number == 0 {
            visitor.sign_in(ANA).await;
            assert_eq!(visitor.at, "/account");
        }
        visitor.go(&format!("/sign-up?token={token}")).await;
        visitor.use_passkey(&mut device).await;
        visitor.shows_either(
            "This invitation is for another account",
            "Este convite é para outra conta",
        );
        assert!(visitor.says(CLARA) && visitor.says("Acme Lda"), "{}", visitor.html());
        assert_eq!(visitor.has_session(), number == 0, "the session is as it was");
        if number == 0 {
            visitor.send("confirm", &[]).await;
            assert!(!visitor.has_session(), "signed out");
        } else {
            visitor.go(&visitor.link("/sign-up?invitation=")).await;
        }
        assert!(visitor.says(CLARA), "{}", visitor.html());
        visitor.send("password", &[("password", PASSWORD)]).await;
        assert_eq!(visitor.at, "/account", "{}", visitor.html());
    }
    server.stop().await;
}

#[tokio::test]
async fn an_invitation_goes_on_in_its_own_browser_and_while_it_is_good() {
    let server = open().await;
    let token = invited(&server, CLARA, &["clerk"]).await;
    let visitor = Visitor::open(&server, "en", &format!("/sign-up?token={token}")).await;
    let again = format!("/sign-up?invitation={}", visitor.flow());
    let other = Visitor::open(&server, "en", &again).await;
    assert_eq!(other.answer.status, 403, "{}", other.html());
    for bad in ["flw_x", "%3Cscript%3E"] {
        let page = visitor.tab(&format!("/sign-up?invitation={bad}")).await;
        assert!(page.answer.status.is_client_error(), "{bad}: {}", page.html());
    }
    // A flow that began with no invitation lends none.
    let plain = visitor.tab("/sign-in").await.flow();
    let page = visitor.tab(&format!("/sign-up?invitation={plain}")).await;
    assert_eq!(page.answer.status, 400, "{}", page.html());
    let mut accepting = visitor.tab(&again).await;
    accepting.send("password", &[("password", PASSWORD)]).await;
    assert_eq!(accepting.at, "/account");
    let late = visitor.tab(&again).await;
    late.shows("This invitation cannot be used");
    server.clock.advance(Duration::from_mins(16));
    assert_eq!(visitor.tab(&again).await.answer.status, 410);
    server.stop().await;
}
