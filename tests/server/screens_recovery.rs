//! Pages on which people recover their accounts, as a browser without script sees them.

use crate::{
    mails::{link, mails, wait_for},
    operator_recovery::issued,
    page_forms::{LANGUAGES, Visitor, open},
    passkey_device::Device,
    person::{parameter, text},
    screens_account::{ANA, NEW},
    shared::eventually,
};
use porteiro::domain::Clock as _;

#[tokio::test]
async fn a_person_recovers_their_account_and_is_signed_out_everywhere() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, "bruno@acme.test"]) {
        let session = server.sign_in(email).await;
        let mut visitor = Visitor::open(&server, language, "/reset-password").await;
        visitor.shows_either("Recover your account", "Recupere a sua conta");
        let before = visitor.mails().await;
        visitor.send("identifier", &[("identifier", email)]).await;
        visitor.shows_either("Check your e-mail", "Veja o seu e-mail");
        let code = visitor.mailed_code(before).await;
        visitor.send("email_code", &[("code", &code)]).await;
        let ends = visitor.in_words("you are signed out everywhere", "as outras sessões terminam");
        assert!(visitor.says(ends), "it is said beforehand: {}", visitor.html());
        visitor.go(&visitor.link("/reset-password?flow=")).await;
        visitor.send("new_password", &[("password", NEW)]).await;
        visitor.shows_either("Your account is yours again", "A conta é sua outra vez");
        assert!(!visitor.has_session(), "no session begins");
        let looked = server.authorize_in(&session, "web", &[("prompt", "none")]).await;
        assert!(looked.text().contains("login_required"), "{looked:?}");
        visitor.go(&visitor.link("/sign-in")).await;
        visitor.send("identifier", &[("identifier", email)]).await;
        visitor.send("password", &[("password", NEW)]).await;
        assert_eq!(visitor.at, "/account");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_account_with_a_second_factor_recovers_its_password_or_shows_a_saved_code() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let (_, enrolled) = server.enrol_totp(&session, server.clock.now()).await;
    let saved = crate::authenticator::recovery_codes(&enrolled);
    let mut visitor = Visitor::open(&server, "en", "/reset-password").await;
    let before = visitor.mails().await;
    visitor.send("identifier", &[("identifier", ANA)]).await;
    let code = visitor.mailed_code(before).await;
    visitor.send("email_code", &[("code", &code)]).await;
    visitor.shows("Choose a password");
    assert!(visitor.says("authenticator app stay"), "{}", visitor.html());
    let way = visitor.link("/reset-password?flow=");
    assert!(way.ends_with("way=recovery_code"), "{way}");
    visitor.go(&way).await;
    visitor.shows("Enter a recovery code");
    visitor.send("recovery_code", &[("code", "aaaaa-aaaaa")]).await;
    visitor.shows("Enter a recovery code");
    visitor.send("recovery_code", &[("code", &saved[0])]).await;
    visitor.shows("Make a passkey");
    server.stop().await;
}

#[tokio::test]
async fn the_holder_of_the_address_stops_a_recovery_by_a_button_and_by_no_link() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, "bruno@acme.test"]) {
        let mut attacker = Visitor::open(&server, language, "/reset-password").await;
        let before = attacker.mails().await;
        attacker.send("identifier", &[("identifier", email)]).await;
        let code = attacker.mailed_code(before).await;
        attacker.send("email_code", &[("code", &code)]).await;
        let told = wait_for(&server, before + 2).await;
        let to = link(&told[0]);
        assert_eq!(to.path(), "/reset-password");
        let path = format!("{}?{}", to.path(), to.query().unwrap());
        let mut owner = Visitor::open(&server, language, &path).await;
        owner.shows_either(
            "Stop the recovery of your account?",
            "Parar a recuperação da sua conta?",
        );
        // A page that was opened has stopped nothing.
        attacker.go(&attacker.at.clone()).await;
        assert!(attacker.has_form("passkey/create"), "{}", attacker.html());
        let again = owner.tab(&path).await;
        owner.send("stop", &[]).await;
        owner.shows_either("The recovery was stopped", "A recuperação foi parada");
        attacker.go(&attacker.at.clone()).await;
        assert!(!attacker.has_form("passkey/create"), "{}", attacker.html());
        // A second press says that it is over.
        let mut again = again;
        again.send("stop", &[]).await;
        assert_eq!(again.answer.status, 200);
        assert!(again.html().contains("id=\"error\""), "{}", again.html());
    }
    let mut visitor = Visitor::open(&server, "en", "/reset-password?stop=%3Cscript%3E").await;
    assert!(!visitor.html().contains("<script>"), "{}", visitor.html());
    visitor.send("stop", &[]).await;
    assert!(visitor.html().contains("id=\"error\""), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn a_link_of_an_operator_leads_to_a_new_credential_and_can_be_stopped() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, "dora@acme.test"]) {
        let token = issued(&server, email).await;
        let path = format!("/reset-password?token={token}");
        let mut visitor = Visitor::open(&server, language, &path).await;
        visitor.shows_either("Make a passkey", "Crie uma chave de acesso");
        assert!(!visitor.says(email), "the page says nothing of the account");
        visitor.make_passkey(&mut Device::new(server.issuer())).await;
        visitor.shows_either("Keep these recovery codes", "Guarde estes códigos de recuperação");
        visitor.go(&path).await;
        visitor.shows_either("This link cannot be used", "Este link não pode ser usado");
        assert_eq!(visitor.answer.status, 400);
    }
    // The third mail of this kind is about the link that waits.
    let token = issued(&server, ANA).await;
    let mut told = Vec::new();
    eventually("the mail", async || {
        told = mails(&server).await;
        told.retain(|mail| text(&mail["text"]).contains("stop="));
        told.len() == 3
    })
    .await;
    let stop = parameter(&link(&told[0]), "stop");
    let mut owner =
        Visitor::open(&server, "en", &format!("/reset-password?stop={}", stop.unwrap())).await;
    owner.send("stop", &[]).await;
    owner.shows("The recovery was stopped");
    let late = Visitor::open(&server, "en", &format!("/reset-password?token={token}")).await;
    late.shows("This link cannot be used");
    server.stop().await;
}
