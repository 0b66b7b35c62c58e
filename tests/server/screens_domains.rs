//! Domains on `/organization`: added, proved and removed in a browser without script.

use crate::{
    api_caller::DIRECTORY,
    domains::options,
    page_forms::{LANGUAGES, Visitor, open_in},
    zone_server::{Zone, ZoneServer},
};

const AT: &str = "/organization?organization=acme&section=domains";

/// Sends the form of an operation with its hidden fields, and these.
async fn send(visitor: &mut Visitor<'_>, step: &str, filled: &[(&str, &str)]) {
    let form = visitor.form(step);
    let given = |name: &str| filled.iter().any(|(known, _)| *known == name);
    let kept = form.fields.iter().filter(|(name, _)| !given(name));
    let mut fields: Vec<(&str, &str)> =
        kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.extend(filled);
    visitor.submit(&form.action, &fields).await;
    visitor.follow().await;
}

/// The value of the record that the page shows.
fn value(html: &str) -> String {
    let begin = html.find("porteiro-domain-verification=").expect("a value");
    html[begin..].chars().take_while(|one| *one != '<').collect()
}

#[tokio::test]
async fn a_person_adds_proves_and_removes_a_domain() {
    let zone = ZoneServer::open().await;
    let server = open_in(options(&zone)).await;
    server.apply(DIRECTORY).await;
    for language in LANGUAGES {
        let begin = ("/organization", AT);
        let mut visitor = Visitor::signed_in(&server, language, "rita@acme.test", begin).await;
        send(&mut visitor, "addDomain", &[("domain", "co.uk")]).await;
        let wrong = "Check this field: Domain";
        assert!(visitor.says(visitor.in_words(wrong, "Confirme este campo: Domínio")));
        send(&mut visitor, "addDomain", &[("domain", " Acme.test ")]).await;
        assert!(visitor.says("_porteiro-challenge.acme.test"), "{}", visitor.html());
        assert!(visitor.says(visitor.in_words("Not proved yet", "Ainda por provar")));
        let value = value(&visitor.html());

        send(&mut visitor, "verifyDomain", &[]).await;
        let missing = visitor.in_words("The record is not there", "O registo não está lá");
        assert!(visitor.says(missing), "{}", visitor.html());
        zone.put("_porteiro-challenge.acme.test", Zone::Silent);
        send(&mut visitor, "verifyDomain", &[]).await;
        assert!(visitor.says(visitor.in_words("DNS does not say", "O DNS não diz")));
        zone.put("_porteiro-challenge.acme.test", Zone::txt(&value));
        send(&mut visitor, "verifyDomain", &[]).await;
        assert!(visitor.says(visitor.in_words("Proved", "Provado")), "{}", visitor.html());
        assert!(visitor.says(&value), "the record must stay, and is shown");

        send(&mut visitor, "removeDomain", &[]).await;
        assert!(!visitor.says("acme.test</bdi></b>"), "{}", visitor.html());
        assert!(!visitor.html().contains(&value));
        zone.take_away("_porteiro-challenge.acme.test");
    }
    server.stop().await;
}
