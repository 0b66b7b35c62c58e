//! People sign in on our pages, by every way that there is.

use crate::{
    authenticator::{Authenticator, recovery_codes},
    mails::{code, link, wait_for},
    passkey_device::Device,
    passkeys::ANA,
    person::{PASSWORD, asking, parameter, text},
    support::{TestOptions, TestServer},
    tab::{Page, Tab},
};
use hyper::Method;
use porteiro::domain::Clock as _;
use std::time::Duration;
use url::Url;

pub const DORA: &str = "dora@acme.test";

pub async fn open() -> TestServer {
    // What looks after the keys commits, and would be counted.
    let keys_every = Duration::from_hours(1);
    let options =
        TestOptions { screens: true, mailbox: true, keys_every, ..TestOptions::default() };
    TestServer::open_in(options).await
}

/// Goes to the page that asks for the password.
pub async fn named(tab: &mut Tab<'_>, email: &str) -> Page {
    let page = tab.open("/sign-in").await;
    tab.step(&page, "identifier", &[("identifier", email)]).await
}

/// Signs in by a password alone, and stays at the account.
pub async fn signed_in(tab: &mut Tab<'_>, email: &str) {
    let page = named(tab, email).await;
    let done = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    assert_eq!(done.address, "/account", "{done:?}");
}

/// Where the page leads that moves on by itself; its link leads there as well.
#[track_caller]
pub fn moves_on_to(page: &Page) -> Url {
    page.is(200, "Taking you back");
    let (_, rest) = page.text.split_once("content=\"0;url=").unwrap();
    let to = rest.split_once('"').unwrap().0.replace("&#38;", "&").replace("&amp;", "&");
    assert_eq!(page.link(&to), to);
    to.parse().unwrap()
}

/// What differs between two pages that say the same: ids, and what the person typed.
fn plain(page: &Page, typed: &str) -> String {
    let nonce = page.text.split_once("nonce=\"").unwrap().1.split_once('"').unwrap().0;
    let text = page.text.replace(nonce, "NONCE").replace(typed, "TYPED");
    text.replace(&page.flow(), "FLOW")
}

#[tokio::test]
async fn a_person_signs_in_with_a_password_and_comes_to_their_account() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = tab.open("/sign-in").await;
    page.is(200, "Sign in");
    assert!(page.text.contains("autocomplete=\"username webauthn\""), "{page:?}");
    let page = tab.step(&page, "identifier", &[("identifier", ANA)]).await;
    page.is(200, "Enter your password");
    assert!(page.text.contains(ANA), "{page:?}");
    let done = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    assert_eq!(done.address, "/account");
    assert!(tab.has("porteiro") && tab.has("porteiro-known"), "{:?}", tab.cookies);
    // The back button: the flow is over, and the page says where to go.
    let again = tab.open(&page.address).await;
    again.is(200, "You are done here").link("/account");
    server.stop().await;
}

#[tokio::test]
async fn a_client_gets_its_code_by_a_page_that_moves_on() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let asked = asking("web", &[("login_hint", ANA)]);
    let page = tab.open(&format!("/connect/authorize?{asked}")).await;
    page.is(200, "Sign in");
    assert!(page.text.contains("<b><bdi>Web</bdi></b>") && page.text.contains("web.example.com"));
    assert_eq!(page.form("identifier").field("identifier"), Some(ANA), "the hint is filled in");
    let page = tab.step(&page, "identifier", &[]).await;
    let done = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    let to = moves_on_to(&done);
    assert_eq!(to.host_str(), Some("web.example.com"));
    let code = parameter(&to, "code").unwrap();
    assert_eq!(server.redeem("web", &code).await.status, 200);
    // It is shown once.
    let again = tab.open(&page.address).await;
    again.is(200, "You are done here");
    assert!(!again.text.contains("pac_"), "{again:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_wants_a_form_gets_one_from_the_page_that_names_it() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let state = "<b>\"'&;form-action *";
    let asked = asking("web", &[("response_mode", "form_post"), ("state", state)]);
    let page = tab.open(&format!("/connect/authorize?{asked}")).await;
    let page = tab.step(&page, "identifier", &[("identifier", ANA)]).await;
    let done = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    let to = moves_on_to(&done);
    assert_eq!(to.path(), "/connect/form_post");
    let posting = tab.open(&format!("{}?{}", to.path(), to.query().unwrap())).await;
    assert_eq!((posting.status.as_u16(), &*posting.heading()), (200, "Taking you back"));
    assert!(posting.text.contains("<bdi>web.example.com</bdi>"), "{posting:?}");
    let policy = posting.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("form-action https://web.example.com;"), "{policy}");
    assert!(!policy.contains('*') && !policy.contains("unsafe"), "{policy}");
    let form = &posting.forms()[0];
    assert_eq!(form.action, "https://web.example.com/cb");
    assert!(posting.text.contains("data-posts"), "it goes on by itself: {posting:?}");
    assert!(posting.text.contains("<button class=\"button primary wide\">Continue</button>"));
    assert_eq!(form.field("state"), Some(state), "{posting:?}");
    assert_eq!(server.redeem("web", form.field("code").unwrap()).await.status, 200);

    // Signed in, the endpoint itself answers with the page; a program gets the plain one.
    let again = format!("/connect/authorize?{asked}");
    let posting = tab.open(&again).await;
    assert_eq!(posting.heading(), "Taking you back");
    assert_eq!(posting.forms()[0].action, "https://web.example.com/cb");
    let request = server.request(Method::GET, &again).header("cookie", tab.cookies.join("; "));
    let plain = server.send(request.body(String::new().into()).unwrap()).await;
    assert!(plain.text().contains("document.forms[0].submit()"), "{plain:?}");
    assert!(!plain.text().contains("/assets/"), "{plain:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_account_get_the_same_page() {
    let server = open().await;
    let mut pages = Vec::new();
    for email in [ANA, "eve@acme.test"] {
        let tab = &mut Tab::new(&server);
        let page = named(tab, email).await;
        let before = plain(&page, email);
        let form = page.form("password");
        let answer = tab.post(&form.action, &form.filled(&[("password", "wrong")])).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let page = tab.open(answer.header("location").unwrap()).await;
        page.is(200, "Enter your password");
        assert!(page.text.contains("That did not match."), "{page:?}");
        assert!(page.text.contains("aria-invalid=\"true\" aria-describedby=\"error\""));
        pages.push((before, plain(&page, email)));
    }
    assert_eq!(pages[0], pages[1]);
    server.stop().await;
}

#[tokio::test]
async fn looking_at_pages_writes_nothing_and_consumes_nothing() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    server.quiet().await;
    let commits = || server.running().system().store().report().commits;
    let before = commits();
    for path in ["/sign-in", "/sign-up", "/reset-password", "/device", "/approve", "/verify-email"]
    {
        let page = tab.open(path).await;
        assert_eq!(page.status, 200, "{page:?}");
        let again = tab.open(&format!("/sign-in?flow={}&way=password", page.flow())).await;
        assert_eq!(again.status, 200, "{again:?}");
    }
    tab.open(&format!("/connect/authorize?{}", asking("web", &[]))).await.is(200, "Sign in");
    tab.open("/sign-out").await.is(200, "You are signed out");
    server.quiet().await;
    assert_eq!(commits(), before, "a look writes no row");
    server.stop().await;
}

#[tokio::test]
async fn a_mailed_link_is_consumed_by_a_button_and_in_its_own_browser() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    let page = tab.step(&page, "magic_link/send", &[]).await;
    page.is(200, "Check your e-mail");
    assert!(page.text.contains("Open the link in this browser."), "{page:?}");
    let link = link(&wait_for(&server, 1).await[0]);
    let path = format!("{}?{}", link.path(), link.query().unwrap());
    // Another browser, with cookies or without, is told calmly, and spoils nothing.
    for cookies in [vec![], vec!["porteiro-browser=x".to_owned()]] {
        let other = &mut Tab { cookies, ..Tab::new(&server) };
        other.open(&path).await.is(403, "This belongs to another browser");
    }
    server.quiet().await;
    let commits = server.running().system().store().report().commits;
    let landed = tab.open(&path).await;
    landed.is(200, "One click to go");
    tab.open(&path).await.is(200, "One click to go");
    assert_eq!(server.running().system().store().report().commits, commits);
    let done = tab.step(&landed, "magic_link", &[]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    // The link again: it was used.
    tab.open(&path).await.is(200, "You are done here");
    server.stop().await;
}

#[tokio::test]
async fn a_mailed_code_signs_in_and_ten_wrong_ones_end_the_flow() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    let page = tab.step(&page, "email_code/send", &[]).await;
    page.is(200, "Check your e-mail");
    let right = code(&wait_for(&server, 1).await[0]);
    let wrong = tab.step(&page, "email_code", &[("code", "000000")]).await;
    wrong.is(200, "Check your e-mail");
    assert!(wrong.text.contains("That code did not match. Check the newest e-mail."), "{wrong:?}");
    let none = tab.step(&page, "email_code", &[("code", "")]).await;
    none.is(200, "Check your e-mail");
    let done = tab.step(&none, "email_code", &[("code", &right)]).await;
    assert_eq!(done.address, "/account", "{done:?}");

    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    let page = tab.step(&page, "email_code/send", &[]).await;
    for _ in 0..9 {
        let wrong = tab.step(&page, "email_code", &[("code", "000000")]).await;
        wrong.is(200, "Check your e-mail");
    }
    let last = tab.step(&page, "email_code", &[("code", "000000")]).await;
    last.is(200, "This did not work out").link("/sign-in");
    let dead = tab.step(&page, "email_code", &[("code", "000000")]).await;
    dead.is(200, "This did not work out");
    server.stop().await;
}

#[tokio::test]
async fn a_code_by_sms_signs_in() {
    let server = open().await;
    let rui = "[[account]]\nemail = \"rui@acme.test\"\nphone_number = \"+351911111111\"\n\
               phone_number_verified = true\n";
    server.apply(rui).await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, "rui@acme.test").await;
    let page = tab.step(&page, "sms_code/send", &[]).await;
    page.is(200, "Check your phone");
    let message = wait_for(&server, 1).await.swap_remove(0);
    let mut digits = text(&message["text"]).split(|one: char| !one.is_ascii_digit());
    let code = digits.rfind(|word| word.len() == 6).unwrap();
    let wrong = tab.step(&page, "sms_code", &[("code", "000000")]).await;
    wrong.is(200, "Check your phone");
    assert!(wrong.text.contains("Check the newest message."), "{wrong:?}");
    let done = tab.step(&wrong, "sms_code", &[("code", code)]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_second_factor_is_asked_for_on_a_page_of_its_own() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, DORA).await;
    let second = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    second.is(200, "Enter the code from your app");
    assert!(second.text.contains("autocomplete=\"one-time-code\""), "{second:?}");
    let wrong = tab.step(&second, "totp", &[("code", "000000")]).await;
    wrong.is(200, "Enter the code from your app");
    assert!(wrong.text.contains("That code did not match. Wait for the next one"), "{wrong:?}");
    let right = Authenticator::of_dora().code(server.clock.now());
    let done = tab.step(&wrong, "totp", &[("code", &right)]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    // A code works once: the same one again is wrong.
    let tab = &mut Tab::new(&server);
    let page = named(tab, DORA).await;
    let second = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    tab.step(&second, "totp", &[("code", &right)]).await.is(200, "Enter the code from your app");
    server.stop().await;
}

#[tokio::test]
async fn a_recovery_code_takes_the_place_of_the_application() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let (_, document) = server.enrol_totp(&session, server.clock.now()).await;
    let saved = recovery_codes(&document).swap_remove(0);
    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    let second = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    let way = second.link("/sign-in?flow=");
    let page = tab.open(&way).await;
    page.is(200, "Enter a recovery code");
    let wrong = tab.step(&page, "recovery_code", &[("code", "nothing-like-it")]).await;
    wrong.is(200, "Enter a recovery code");
    assert!(wrong.text.contains("or was used before."), "{wrong:?}");
    let done = tab.step(&wrong, "recovery_code", &[("code", &saved)]).await;
    assert_eq!(done.address, "/account", "{done:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_wants_more_has_the_person_step_up() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, DORA).await;
    let second = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    let right = Authenticator::of_dora().code(server.clock.now());
    tab.step(&second, "totp", &[("code", &right)]).await;
    server.clock.advance(Duration::from_hours(2));
    let asked = asking("web", &[("acr_values", "aal2")]);
    let page = tab.open(&format!("/connect/authorize?{asked}")).await;
    // The session has the password; what it lacks by now is asked for.
    page.is(200, "Enter the code from your app");
    let right = Authenticator::of_dora().code(server.clock.now());
    let done = tab.step(&page, "totp", &[("code", &right)]).await;
    assert!(parameter(&moves_on_to(&done), "code").is_some());
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_is_asked_too_often_is_told_how_long_to_wait() {
    let server = open().await;
    let mut last = None;
    for _ in 0..12 {
        let tab = &mut Tab::new(&server);
        let page = named(tab, ANA).await;
        let page = tab.step(&page, "password", &[("password", "wrong")]).await;
        page.is(200, "Enter your password");
        last = Some(page);
    }
    let last = last.unwrap();
    assert!(last.text.contains("Too many tries. Wait"), "{last:?}");
    assert!(last.text.contains("minute"), "{last:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_new_person_goes_on_to_the_client_that_sent_them() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = tab.open(&format!("/connect/authorize?{}", asking("web", &[]))).await;
    let page = tab.open(&page.link("/sign-up?from=")).await;
    page.is(200, "Create an account");
    assert!(page.text.contains("<b><bdi>Web</bdi></b>"), "{page:?}");
    let page = tab.step(&page, "profile", &[("email", "eva@acme.test")]).await;
    page.is(200, "Check your e-mail");
    let code = code(&wait_for(&server, 1).await[0]);
    let page = tab.step(&page, "email_code", &[("code", &code)]).await;
    page.is(200, "Make a passkey");
    let mut device = Device::new(server.issuer());
    let options = tab.fetch(&format!("/flows/{}/passkey/create_options", page.flow())).await;
    let made = device.create(&options).await.to_string();
    let codes = tab.step(&page, "passkey/create", &[("credential", &made)]).await;
    codes.is(200, "Keep these recovery codes");
    server.clock.advance(Duration::from_mins(5));
    let ready = tab.open(&codes.link("/sign-up?flow=")).await;
    let done = tab.step(&ready, "skip", &[]).await;
    let code = parameter(&moves_on_to(&done), "code").unwrap();
    assert_eq!(server.redeem("web", &code).await.status, 200);

    // The sign-in of another browser, of a program, or none at all, lends nothing.
    let other = tab.open(&format!("/connect/authorize?{}", asking("app", &[]))).await.flow();
    let stranger = &mut Tab::new(&server);
    let page = stranger.open(&format!("/sign-up?from={other}")).await;
    page.is(403, "Cookies are blocked here");
    stranger.open("/sign-up?from=flw_x").await.is(404, "There is nothing here");
    server.clock.advance(Duration::from_mins(16));
    let page = tab.open(&format!("/sign-up?from={other}")).await;
    page.is(410, "This took a little too long");
    server.stop().await;
}

#[tokio::test]
async fn every_page_is_in_portuguese_for_those_who_read_it() {
    let server = open().await;
    let tab = &mut Tab { language: "pt-BR,pt;q=0.9,en;q=0.8", ..Tab::new(&server) };
    let page = tab.open("/sign-in").await;
    page.is(200, "Entrar");
    let page = tab.step(&page, "identifier", &[("identifier", ANA)]).await;
    page.is(200, "Escreva a sua senha");
    let wrong = tab.step(&page, "password", &[("password", "x")]).await;
    assert!(wrong.text.contains("Não corresponde."), "{wrong:?}");
    let asked = asking("web", &[("ui_locales", "en")]);
    let page = tab.open(&format!("/connect/authorize?{asked}")).await;
    page.is(200, "Sign in");
    tab.open("/never-existed").await.is(404, "Esta página não existe");
    server.stop().await;
}
