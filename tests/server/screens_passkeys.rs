//! People sign in with passkeys on our pages, are offered one, and are known again.

use crate::{
    authenticator::Authenticator,
    passkey_device::Device,
    passkeys::{ANA, device_of, kept},
    person::{PASSWORD, asking, parameter},
    screens_sign_in::{DORA, moves_on_to, named, open, signed_in},
    tab::Tab,
};
use hyper::Method;
use porteiro::domain::Clock as _;
use std::time::Duration;

#[tokio::test]
async fn a_passkey_signs_in_by_the_form_that_the_script_sends() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    let tab = &mut Tab::new(&server);
    let page = tab.open("/sign-in").await;
    let options = tab.fetch(&format!("/flows/{}/passkey/options", page.flow())).await;
    let answer = device.get(&options).await.to_string();
    let done = tab.step(&page, "passkey", &[("credential", &answer)]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    // What is no answer of an authenticator, or of another ceremony, is refused calmly.
    let tab = &mut Tab::new(&server);
    let page = tab.open("/sign-in").await;
    let (no_script, wrong) = ("Passkeys need JavaScript", "That passkey did not work here.");
    for (bad, error) in [
        ("", no_script),
        ("{", no_script),
        ("[]", no_script),
        ("{\"id\":1}", wrong),
        (&answer, wrong),
    ] {
        let refused = tab.step(&page, "passkey", &[("credential", bad)]).await;
        refused.is(200, "Sign in");
        assert!(refused.text.contains(error), "{refused:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_browser_that_knows_a_person_welcomes_them_back() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    signed_in(tab, ANA).await;
    tab.forget("porteiro");
    let page = tab.open("/sign-in").await;
    page.is(200, "Welcome back, Ana");
    assert!(page.text.contains(ANA) && !page.text.contains("name=\"credential\""), "{page:?}");
    // The account may be another's: then the page is the one that everyone gets.
    let other = tab.open(&page.link("/sign-in?flow=")).await;
    other.is(200, "Sign in");
    assert!(!other.text.contains(ANA) && !other.text.contains("Ana"), "{other:?}");
    // The password is asked for at once; a wrong one leads to the page of the password.
    let wrong = tab.step(&page, "identifier", &[("password", "wrong")]).await;
    wrong.is(200, "Enter your password");
    assert!(wrong.text.contains("That did not match."), "{wrong:?}");
    let done = tab.step(&page, "identifier", &[("password", PASSWORD)]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    // By mail, from the same page.
    tab.forget("porteiro");
    let page = tab.open("/sign-in").await;
    let forms = page.forms();
    let by_mail = forms.iter().find(|form| form.field("then") == Some("email_code/send")).unwrap();
    tab.send(by_mail, &[]).await.is(200, "Check your e-mail");
    server.stop().await;
}

#[tokio::test]
async fn a_person_with_a_passkey_is_offered_it_first() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    let tab = &mut Tab::new(&server);
    signed_in(tab, ANA).await;
    tab.forget("porteiro");
    let page = tab.open("/sign-in").await;
    page.is(200, "Welcome back, Ana");
    let options = tab.fetch(&format!("/flows/{}/passkey/options", page.flow())).await;
    let answer = device.get(&options).await.to_string();
    let done = tab.step(&page, "passkey", &[("credential", &answer)]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    tab.forget("porteiro");
    let page = tab.open("/sign-in").await;
    tab.step(&page, "identifier", &[]).await.is(200, "Enter your password");
    server.stop().await;
}

#[tokio::test]
async fn who_is_welcomed_back_depends_on_the_sealed_cookie_alone() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    signed_in(tab, ANA).await;
    tab.forget("porteiro");
    let known = tab.cookies.iter().find(|cookie| cookie.starts_with("porteiro-known=")).unwrap();
    let mut altered = known.clone();
    let last = if altered.pop() == Some('A') { 'B' } else { 'A' };
    altered.push(last);
    let long = format!("porteiro-known={}", "A".repeat(5_000));
    for cookie in [altered, "porteiro-known=".to_owned(), "porteiro-known=ana".to_owned(), long] {
        let other = &mut Tab { cookies: vec![cookie], ..Tab::new(&server) };
        other.open("/sign-in").await.is(200, "Sign in");
        // What is typed changes nothing of it.
        let page = named(other, ANA).await;
        page.is(200, "Enter your password");
        assert!(!page.text.contains(">Ana<"), "{page:?}");
    }
    // A client that thinks of another person gets a page for that person.
    for (hint, heading) in [("bruno@acme.test", "Sign in"), ("Ana@ACME.test", "Welcome back, Ana")]
    {
        let asked = asking("web", &[("login_hint", hint)]);
        tab.open(&format!("/connect/authorize?{asked}")).await.is(200, heading);
    }
    // Recovery and sign-up ask everyone.
    tab.open("/reset-password").await.is(200, "Recover your account");
    tab.open("/sign-up").await.is(200, "Create an account");
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_is_offered_after_a_password_where_one_can_be_made() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    // Without script the field stays empty.
    signed_in(tab, ANA).await;
    tab.forget("porteiro");
    let page = tab.open("/sign-in").await;
    let sent = [("password", PASSWORD), ("passkeys", "yes")];
    let offer = tab.step(&page, "identifier", &sent).await;
    offer.is(200, "Sign in faster next time");
    assert!(!tab.has("porteiro"), "the flow is not over");
    let done = tab.step(&offer, "skip", &[]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    assert!(tab.has("porteiro") && tab.has("porteiro-offered"));
    // Not again for a while.
    tab.forget("porteiro");
    let page = tab.open("/sign-in").await;
    let done = tab.step(&page, "identifier", &sent).await;
    assert_eq!(done.address, "/account", "{done:?}");
    // A person who has one is not asked.
    device_of(&server, "bruno@acme.test").await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, "bruno@acme.test").await;
    let done = tab.step(&page, "password", &sent).await;
    assert_eq!(done.address, "/account", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_that_is_made_on_the_way_costs_no_client_its_code() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = tab.open(&format!("/connect/authorize?{}", asking("web", &[]))).await;
    let page = tab.step(&page, "identifier", &[("identifier", ANA)]).await;
    let sent = [("password", PASSWORD), ("passkeys", "yes")];
    let offer = tab.step(&page, "password", &sent).await;
    offer.is(200, "Sign in faster next time");
    let mut device = Device::new(server.issuer());
    let options = tab.fetch(&format!("/flows/{}/passkey/create_options", offer.flow())).await;
    let made = device.create(&options).await.to_string();
    let form = offer.form("passkey/create");
    let codes = tab.send(&form, &[("credential", &made)]).await;
    codes.is(200, "Keep these recovery codes");
    assert!(!codes.text.contains("pac_"), "the person may take their time: {codes:?}");
    server.clock.advance(Duration::from_mins(5));
    // The form again, from a second tab: the passkey is there once.
    tab.send(&form, &[("credential", &made)]).await.is(200, "Your passkey is ready");
    let ready = tab.open(&codes.link("/sign-in?flow=")).await;
    ready.is(200, "Your passkey is ready");
    let done = tab.step(&ready, "skip", &[]).await;
    let code = parameter(&moves_on_to(&done), "code").unwrap();
    assert_eq!(server.redeem("web", &code).await.status, 200);
    assert_eq!(kept(&server, ANA).await.len(), 1);
    server.sign_in_by_passkey(&mut device).await;
    server.stop().await;
}

#[tokio::test]
async fn an_account_with_recovery_codes_gets_its_passkey_and_its_session_at_once() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, DORA).await;
    let second = tab.step(&page, "password", &[("password", PASSWORD), ("passkeys", "yes")]).await;
    second.is(200, "Enter the code from your app");
    let right = Authenticator::of_dora().code(server.clock.now());
    let offer = tab.step(&second, "totp", &[("code", &right), ("passkeys", "yes")]).await;
    offer.is(200, "Sign in faster next time");
    let mut device = Device::new(server.issuer());
    let options = tab.fetch(&format!("/flows/{}/passkey/create_options", offer.flow())).await;
    let made = device.create(&options).await.to_string();
    let done = tab.step(&offer, "passkey/create", &[("credential", &made)]).await;
    assert!(tab.has("porteiro"), "{done:?}");
    assert_eq!(kept(&server, DORA).await.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn programs_are_offered_nothing() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    assert!(session.starts_with("pss_"));
    let tab = &mut Tab::new(&server);
    let page = tab.open("/sign-in").await;
    let path = format!("/flows/{}", page.flow());
    let body = "{\"password\":\"x\",\"passkeys\":\"yes\"}".to_owned();
    let kind = [("content-type", "application/json"), ("sec-fetch-site", "same-origin")];
    let answer = tab.request((Method::POST, &format!("{path}/skip")), &kind, body).await;
    assert_eq!(answer.status, 409, "{answer:?}");
    server.stop().await;
}
