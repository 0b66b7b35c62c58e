//! The part of `/account/security` that shows what is linked, as a browser without script sees it.

use crate::{
    other_provider::{OtherProvider, speaking},
    page_forms::{LANGUAGES, Visitor, open_in},
    person::text,
};
use serde_json::json;

const ANA: &str = "ana@acme.test";
const SECURITY: &str = "/account/security";

#[tokio::test]
async fn a_person_links_and_unlinks_a_sign_in_on_their_page() {
    let (ours, other) = (open_in(speaking()).await, OtherProvider::open().await);
    let connection = other.connect(&ours, Some("acme")).await;
    for language in LANGUAGES {
        let begins = ("/account", SECURITY);
        let mut visitor = Visitor::signed_in(&ours, language, ANA, begins).await;
        assert!(visitor.says(visitor.in_words("Sign-ins at other", "Acessos de outros")));
        assert!(!visitor.html().contains("do=unlink"), "{}", visitor.html());
        visitor.submit(SECURITY, &[("begin", "link"), ("connection", &connection)]).await;
        let to = visitor.answer.header("location").unwrap().to_owned();
        let flow = to.strip_prefix("/account?flow=").unwrap().to_owned();
        visitor.go(&to).await;
        visitor.shows_either("Link a sign-in", "Ligar um acesso");
        assert!(visitor.has_form("sso/options"), "{}", visitor.html());
        let path = |step: &str| format!("/flows/{flow}/{step}");
        let options = visitor.script(&path("sso/options"), &json!({})).await;
        let callback = other.answer(ANA, text(&options["redirect_to"])).await;
        let callback = json!({ "callback": callback });
        assert_eq!(visitor.script(&path("sso"), &callback).await["state"], "confirm");
        visitor.go(&to).await;
        visitor.shows_either("Link this sign-in?", "Ligar este acesso?");
        assert!(visitor.says("Other") && visitor.says(ANA), "{}", visitor.html());
        visitor.send("confirm", &[("decision", "allow")]).await;
        assert_eq!(visitor.at, SECURITY);
        let offer = format!("value=\"{connection}\"");
        assert!(!visitor.html().contains(&offer), "it is linked: {}", visitor.html());
        visitor.go(&visitor.link("/account/security?do=unlink")).await;
        visitor.shows_either("Unlink it?", "Desligar?");
        visitor.send("unlink", &[]).await;
        assert!(visitor.html().contains(&offer), "{}", visitor.html());
        assert!(!visitor.html().contains("do=unlink"), "{}", visitor.html());
    }
    // A person who may link none sees nothing of it.
    let begins = ("/account", SECURITY);
    let visitor = Visitor::signed_in(&ours, "en", "clara@nowhere.test", begins).await;
    assert!(!visitor.says("Sign-ins at other"), "{}", visitor.html());
    other.server.stop().await;
    ours.stop().await;
}
