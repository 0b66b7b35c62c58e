//! What pages keep: what was typed into a form that was refused.

use crate::{
    page_forms::{LANGUAGES, Visitor, open},
    passkeys::ANA,
    person::parameter,
};
use url::Url;

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
