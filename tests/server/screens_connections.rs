//! Connections on `/organization`: made, changed, required and deleted in a browser without script.

use crate::{
    connections::{ACME, keeper, with_keepers},
    page_forms::{LANGUAGES, Visitor, open},
    step_up::code,
};
use porteiro::domain::Clock as _;
use std::time::Duration;

const AT: &str = "/organization?organization=acme&section=connections";
const SECRET: &str = "a secret of the provider's";

/// Sends the longer of the two forms that change a connection.
async fn change(visitor: &mut Visitor<'_>, filled: &[(&str, &str)]) {
    let form = visitor.form("changeConnection");
    let kept = form.fields.iter().filter(|(name, _)| name != "required");
    let mut fields: Vec<(&str, &str)> =
        kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.extend(filled);
    visitor.submit(&form.action, &fields).await;
    visitor.follow().await;
}

#[tokio::test]
async fn a_person_connects_changes_requires_and_deletes_a_provider() {
    let server = with_keepers(open().await).await;
    for language in LANGUAGES {
        let begin = ("/organization", AT);
        let mut visitor = Visitor::signed_in(&server, language, "rita@acme.test", begin).await;
        let filled = [
            ("name", "Acme Entra"),
            ("issuer", "https://login.acme.test"),
            ("client_id", "porteiro"),
            ("client_secret", SECRET),
        ];
        visitor.send("createConnection", &filled).await;
        let two = visitor.in_words("This needs two factors", "Isto exige dois fatores");
        assert!(visitor.says(two), "{}", visitor.html());

        server.clock.advance(Duration::from_mins(1));
        let mut visitor = Visitor::open(&server, language, "/organization").await;
        visitor.sign_in("dora@acme.test").await;
        visitor.send("totp", &[("code", &code(server.clock.now()))]).await;
        visitor.go(AT).await;
        let bad = [("name", "x"), ("issuer", "http://evil.test"), ("client_id", "y")];
        visitor.send("createConnection", &bad).await;
        let wrong = visitor.in_words("Check this field: Issuer", "Confirme este campo: Emissor");
        assert!(visitor.says(wrong), "{}", visitor.html());
        visitor.send("createConnection", &filled).await;
        assert!(visitor.says("Acme Entra"), "{}", visitor.html());
        let made = keeper(&server).await.get(ACME).await.json()["items"][0].clone();
        visitor.go(&format!("{AT}&id={}", made["id"].as_str().unwrap())).await;
        assert!(visitor.says(made["redirect_uri"].as_str().unwrap()), "{}", visitor.html());
        assert!(!visitor.html().contains(SECRET));

        visitor.send("changeConnection", &[]).await;
        let is_required = visitor.in_words("Do not require it", "Deixar de o exigir");
        assert!(visitor.says(is_required), "{}", visitor.html());
        visitor.send("changeConnection", &[]).await;
        assert!(!visitor.says(is_required), "{}", visitor.html());
        let mapping = "groups all staff manager";
        let other = [("name", "Login"), ("client_id", "other"), ("mappings", mapping)];
        change(&mut visitor, &other).await;
        assert!(visitor.says(mapping) && visitor.says("Login"), "{}", visitor.html());
        visitor.send("deleteConnection", &[]).await;
        assert!(!visitor.says("Login"), "{}", visitor.html());
    }
    server.stop().await;
}
