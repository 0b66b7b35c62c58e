//! Pages of the account, as a browser without script sees them: what they show and do is what `/me` does.

use crate::{
    mails::{code, wait_for},
    me::{get_in, records},
    me_account::message_to,
    me_connected::consented,
    page_forms::{LANGUAGES, Visitor, open},
    person::{PASSWORD, text},
    step_up::add_passkey,
    support::TestServer,
};
use hyper::Method;
use porteiro::domain::Clock as _;
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const BRUNO: &str = "bruno@acme.test";
const NEW: &str = "another long and quiet sentence";

/// Every page, and what it is called.
const PAGES: [(&str, &str, &str); 7] = [
    ("/account", "Profile", "Perfil"),
    ("/account/security", "Ways in", "Formas de entrar"),
    ("/account/sessions", "Where you are signed in", "Sessões abertas"),
    ("/account/applications", "Connected applications", "Aplicações ligadas"),
    ("/account/organizations", "Organizations", "Organizações"),
    ("/account/history", "History", "Histórico"),
    ("/account/data", "Download your data", "Guardar os seus dados"),
];

async fn signed_in<'a>(
    server: &'a TestServer,
    language: &'static str,
    email: &str,
    path: &str,
) -> Visitor<'a> {
    Visitor::signed_in(server, language, email, ("/account", path)).await
}

/// Proves once more who the person is, where a page asks for it.
async fn prove(visitor: &mut Visitor<'_>) {
    assert!(visitor.at.starts_with("/sign-in?flow="), "{}", visitor.at);
    visitor.send("password", &[("password", PASSWORD)]).await;
}

#[tokio::test]
async fn each_page_is_there_in_a_session_and_is_a_sign_in_without_one() {
    let server = open().await;
    for language in LANGUAGES {
        let mut visitor = signed_in(&server, language, ANA, "/account").await;
        for (path, english, portuguese) in PAGES {
            visitor.go(&visitor.link(path)).await;
            assert_eq!(visitor.answer.status, 200, "{path}");
            let title = visitor.in_words(english, portuguese);
            assert!(visitor.html().contains(&format!(">{title}</h2>")), "{}", visitor.html());
            let here = format!("href=\"{path}\" aria-current=\"page\"");
            assert!(visitor.html().contains(&here), "{}", visitor.html());
            let stranger = Visitor::open(&server, language, path).await;
            stranger.shows_either("Sign in", "Entrar");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_profile_is_changed_and_a_refused_one_keeps_what_was_typed() {
    let server = open().await;
    let mut visitor = signed_in(&server, "en", ANA, "/account").await;
    let names = [("given_name", "Ana"), ("family_name", "Sá & <b>Dias</b>")];
    visitor.send("describe", &names).await;
    assert!(visitor.says("Done."), "{}", visitor.html());
    visitor.shows("Ana Sá & <b>Dias</b>");
    assert!(!visitor.html().contains("<b>Dias"), "{}", visitor.html());
    // One field is wrong: nothing is taken, and all of it is there again.
    visitor.send("describe", &[("given_name", "Anna"), ("birthdate", "1990-13-01")]).await;
    assert_eq!(visitor.answer.status, 200);
    visitor.shows("Ana Sá & <b>Dias</b>");
    let form = visitor.form("describe");
    assert_eq!(form.field("given_name"), Some("Anna"));
    assert_eq!(form.field("birthdate"), Some("1990-13-01"));
    assert!(visitor.html().contains("id=\"birthdate\"") && visitor.html().contains("id=\"error\""));
    assert!(!visitor.at.contains("Anna"), "no name is in an address: {}", visitor.at);
    // What was typed is for this person alone.
    let at = visitor.at.clone();
    let other = signed_in(&server, "en", BRUNO, &at).await;
    assert!(!other.html().contains("Anna"), "{}", other.html());
    for bad in ["x", "%3Cscript%3E", &"A".repeat(1_500)] {
        visitor.go(&format!("/account?typed={bad}&problem={bad}&field={bad}&do={bad}")).await;
        assert_eq!(visitor.answer.status, 200);
        assert!(!visitor.html().contains("<script>"), "{}", visitor.html());
    }
    // An emptied field is taken away, and a claim that no field has stays.
    visitor.send("describe", &[("family_name", "")]).await;
    visitor.shows("Ana");
    let session = server.sign_in(ANA).await;
    let me = get_in(&server, &session, "/me").await.json();
    assert_eq!(text(&me["phone_number"]), "+351910000000");
    assert!(me.get("family_name").is_none(), "{me}");
    server.stop().await;
}

#[tokio::test]
async fn an_e_mail_address_is_changed_by_proof_and_a_step_up_comes_back() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, BRUNO]) {
        let new = format!("new.{email}");
        let mut visitor = signed_in(&server, language, email, "/account").await;
        server.clock.advance(Duration::from_mins(20));
        visitor.go(&visitor.link("/account?do=new_email")).await;
        prove(&mut visitor).await;
        assert_eq!(visitor.at, "/account?do=new_email");
        visitor.shows_either("Use another e-mail address", "Usar outro e-mail");
        visitor.send("new_email", &[("email", "no address")]).await;
        assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
        assert_eq!(visitor.form("new_email").field("email"), Some("no address"));
        // The page was open for long: what was typed is there after the proof.
        server.clock.advance(Duration::from_mins(20));
        visitor.send("new_email", &[("email", &new)]).await;
        prove(&mut visitor).await;
        assert!(visitor.at.starts_with("/account?do=new_email&"), "{}", visitor.at);
        assert_eq!(visitor.form("new_email").field("email"), Some(&*new));
        visitor.send("new_email", &[]).await;
        assert_eq!(visitor.at, "/account?do=confirm_email");
        let sent = code(&message_to(&server, &new, "").await);
        let wrong = if sent == "000000" { "000001" } else { "000000" };
        visitor.send("confirm_email", &[("code", wrong)]).await;
        assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
        assert_eq!(visitor.form("confirm_email").field("code"), Some(""));
        visitor.send("confirm_email", &[("code", &sent)]).await;
        assert!(visitor.says(&new) && visitor.says(visitor.in_words("Done.", "Feito.")));
        // Nothing waits any more.
        visitor.go("/account?do=confirm_email").await;
        assert_eq!(visitor.at, "/account");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_phone_number_is_added_by_proof_and_removed() {
    let server = open().await;
    let mut visitor = signed_in(&server, "en", BRUNO, "/account?do=new_phone").await;
    visitor.send("new_phone", &[("phone_number", "910 000 000")]).await;
    assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
    let before = visitor.mails().await;
    visitor.send("new_phone", &[("phone_number", "+351930000000")]).await;
    visitor.go("/account").await;
    assert!(visitor.says("Waits for its code"), "{}", visitor.html());
    visitor.go(&visitor.link("/account?do=confirm_phone")).await;
    let sent = wait_for(&server, before + 1).await;
    let digits = |one: &str| one.len() == 6 && one.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<String> = text(&sent[0]["text"])
        .split(|one: char| !one.is_ascii_digit())
        .map(str::to_owned)
        .collect();
    let sent = words.iter().find(|one| digits(one)).unwrap();
    visitor.send("confirm_phone", &[("code", sent)]).await;
    assert!(visitor.says("+351930000000") && visitor.says("Done."), "{}", visitor.html());
    visitor.go(&visitor.link("/account?do=remove_phone")).await;
    visitor.send("remove_phone", &[]).await;
    assert!(visitor.says("No phone number"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn passkeys_are_named_and_removed_by_their_owner_alone() {
    let server = open().await;
    let mut visitor = signed_in(&server, "en", BRUNO, "/account").await;
    // A passkey that is there already: the session has proved too little for it by now.
    add_passkey(&server, BRUNO, "cGFzc2tleQ").await;
    add_passkey(&server, ANA, "b3RoZXI").await;
    visitor.go("/account/security").await;
    assert!(visitor.says("Phone"), "{}", visitor.html());
    visitor.go(&visitor.link("/account/security?do=rename_passkey")).await;
    assert!(visitor.at.starts_with("/sign-in?flow="), "two factors are asked for: {}", visitor.at);
    for act in ["rename_passkey", "remove_passkey"] {
        visitor.go(&format!("/account/security?do={act}&id=b3RoZXI")).await;
        assert_eq!(visitor.answer.status, 404, "{act}");
        for id in ["b3RoZXI", "", "%00", "../sessions", "<script>"] {
            let fields = [("step", act), ("id", id), ("name", "Mine")];
            visitor.submit("/account/security", &fields).await;
            visitor.follow().await;
            assert!(!visitor.html().contains("<script>"), "{}", visitor.html());
        }
    }
    assert!(records(&server, "credential.passkey_removed").await.is_empty());
    assert!(records(&server, "credential.passkey_renamed").await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_password_is_changed_and_removed() {
    let server = open().await;
    let mut visitor = signed_in(&server, "en", ANA, "/account/security").await;
    let other = server.sign_in(ANA).await;
    visitor.go(&visitor.link("/account/security?do=set_password")).await;
    visitor.send("set_password", &[("password", "short"), ("keep_sessions", "")]).await;
    assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
    assert!(!visitor.html().contains("short\""), "no password is filled in: {}", visitor.html());
    let fields = [("step", "set_password"), ("password", NEW)];
    visitor.submit("/account/security", &fields).await;
    visitor.follow().await;
    assert!(visitor.says("Done."), "{}", visitor.html());
    get_in(&server, &other, "/me").await.problem(401, "session_required");
    visitor.go(&visitor.link("/account/security?do=remove_password")).await;
    visitor.send("remove_password", &[]).await;
    assert!(visitor.says("None is set"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn recovery_codes_are_made_anew_and_the_application_is_removed() {
    let server = open().await;
    let session = server.sign_in(BRUNO).await;
    let (application, _) = server.enrol_totp(&session, server.clock.now()).await;
    server.clock.advance(Duration::from_mins(1));
    let mut visitor = Visitor::open(&server, "en", "/account/security").await;
    visitor.sign_in(BRUNO).await;
    visitor.send("totp", &[("code", &application.code(server.clock.now()))]).await;
    visitor.go("/account/security").await;
    visitor.go(&visitor.link("/account/security?do=new_codes")).await;
    assert!(
        records(&server, "credential.recovery_codes_set").await.len() == 1,
        "a link makes none"
    );
    visitor.send("new_codes", &[]).await;
    visitor.shows("Keep these recovery codes");
    assert!(visitor.says(BRUNO), "{}", visitor.html());
    let html = visitor.html();
    let shown = html.split("<li>").filter(|part| part.get(5..6) == Some("-")).count();
    assert_eq!(shown, 10, "{html}");
    visitor.go(&visitor.link("/account/security")).await;
    assert!(visitor.says("10 are left"), "{}", visitor.html());
    visitor.go(&visitor.link("/account/security?do=remove_totp")).await;
    visitor.shows("Remove the authenticator app?");
    visitor.send("remove_totp", &[]).await;
    assert!(visitor.says("Done.") && !visitor.html().contains("do=remove_totp"));
    // With nothing to stand in for, no codes are made.
    visitor.submit("/account/security", &[("step", "new_codes")]).await;
    visitor.follow().await;
    assert!(visitor.says("Add one first."), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn sessions_are_ended_one_by_one_and_all_at_once() {
    let server = open().await;
    let other = server.sign_in(ANA).await;
    let stranger = server.sign_in(BRUNO).await;
    let mut visitor = signed_in(&server, "en", ANA, "/account/sessions").await;
    assert!(visitor.says("This session") && visitor.says("127.0.0.0/24"), "{}", visitor.html());
    let ids: Vec<String> = visitor
        .forms()
        .iter()
        .filter(|form| form.field("step") == Some("end_session"))
        .map(|form| form.field("id").unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    let fields = [("step", "end_session"), ("id", &*ids[1])];
    visitor.submit("/account/sessions", &fields).await;
    visitor.follow().await;
    assert!(visitor.says("Done.") && visitor.has_session(), "{}", visitor.html());
    get_in(&server, &other, "/me").await.problem(401, "session_required");
    // Of another person is as good as none.
    let sid = get_in(&server, &stranger, "/me/sessions").await.json();
    let sid = text(&sid["items"][0]["id"]).to_owned();
    for id in [&*sid, &*ids[1], "", "%00"] {
        visitor.submit("/account/sessions", &[("step", "end_session"), ("id", id)]).await;
        visitor.follow().await;
        assert!(visitor.says("It is not there, or no more."), "{id}: {}", visitor.html());
    }
    assert_eq!(get_in(&server, &stranger, "/me").await.status, 200);
    visitor.go(&visitor.link("/account/sessions?do=end_sessions")).await;
    visitor.shows("Sign out everywhere?");
    visitor.send("end_sessions", &[]).await;
    visitor.shows("You are signed out");
    assert!(!visitor.has_session());
    server.stop().await;
}

#[tokio::test]
async fn an_application_is_disconnected_and_an_organization_is_left() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let tokens = consented(&server, &session).await;
    let suspended =
        "[[organization]]\nslug = \"other\"\nname = \"<i>Other</i>\"\nenabled = false\n";
    server.apply(suspended).await;
    let mut visitor = signed_in(&server, "en", ANA, "/account/applications").await;
    assert!(visitor.says("See invoices") && visitor.says("acme"), "{}", visitor.html());
    visitor.send("withdraw", &[]).await;
    assert!(visitor.says("Done.") && visitor.says("Applications that you sign in to"));
    server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    let mut visitor = signed_in(&server, "en", BRUNO, "/account/organizations").await;
    assert!(visitor.says("<i>Other</i>") && visitor.says("Suspended"), "{}", visitor.html());
    assert!(!visitor.html().contains("id=other"), "a suspended one is not left");
    visitor.submit("/account/organizations", &[("step", "leave"), ("id", "other")]).await;
    visitor.follow().await;
    assert!(visitor.says("The organization is suspended"), "{}", visitor.html());
    visitor.go("/account/organizations?do=leave&id=no-such").await;
    assert_eq!(visitor.answer.status, 404);
    visitor.go("/account/organizations").await;
    visitor.go(&visitor.link("/account/organizations?do=leave&id=acme")).await;
    assert!(visitor.says("Acme Lda"), "{}", visitor.html());
    visitor.send("leave", &[]).await;
    assert!(visitor.says("Done.") && !visitor.says("Acme Lda"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn a_history_is_read_by_pages_and_data_are_downloaded_after_a_fresh_proof() {
    let server = open().await;
    for _ in 0..20 {
        server.sign_in(ANA).await;
        server.clock.advance(Duration::from_mins(1));
    }
    let mut visitor = signed_in(&server, "en", ANA, "/account/history").await;
    let first = visitor.html().matches("<time ").count();
    assert!(first == 30 || !visitor.html().contains("cursor="), "{first}");
    assert!(visitor.says("Signed in"), "{}", visitor.html());
    for bad in ["x", "%3Cscript%3E"] {
        visitor.go(&format!("/account/history?cursor={bad}")).await;
        assert_eq!(visitor.answer.status, 400, "{bad}");
        assert!(!visitor.html().contains("<script>"));
    }
    visitor.go("/account/data").await;
    let export = visitor.link("/account/data?export=");
    visitor.go(&export).await;
    let attached = visitor.answer.header("content-disposition").unwrap();
    assert_eq!(attached, "attachment; filename=\"account.json\"");
    assert_eq!(text(&visitor.answer.json()["account"]["email"]), ANA);
    server.clock.advance(Duration::from_mins(20));
    visitor.go(&export).await;
    prove(&mut visitor).await;
    assert_eq!(visitor.at, "/account/data");
    visitor.go(&export).await;
    assert_eq!(visitor.answer.header("content-type"), Some("application/json"));
    server.stop().await;
}

#[tokio::test]
async fn an_account_is_deleted_after_a_while_and_kept_by_signing_in() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, BRUNO]) {
        let mut visitor = signed_in(&server, language, email, "/account/data").await;
        visitor.go(&visitor.link("/account/data?do=delete")).await;
        visitor.shows_either("Delete your account?", "Eliminar a sua conta?");
        assert!(visitor.says("30"), "{}", visitor.html());
        assert!(records(&server, "account.deletion_requested").await.len() <= 1);
        visitor.send("delete", &[]).await;
        visitor
            .shows_either("Your account is about to be deleted", "A sua conta vai ser eliminada");
        assert!(!visitor.has_session());
        visitor.go(&visitor.link("/sign-in")).await;
        visitor.sign_in(email).await;
        assert_eq!(visitor.at, "/account");
        visitor.go("/account/history").await;
        let kept = "The deletion of the account was taken back";
        let kept = visitor.in_words(kept, "A eliminação da conta foi anulada");
        assert!(visitor.says(kept), "{}", visitor.html());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_form_does_what_its_page_offers_and_comes_from_our_own_pages() {
    let server = open().await;
    let mut visitor = signed_in(&server, "en", ANA, "/account").await;
    for (path, step) in [
        ("/account", "delete"),
        ("/account/data", "describe"),
        ("/account/history", "end_sessions"),
        ("/account/security", ""),
        ("/account/security", "<script>"),
    ] {
        visitor.submit(path, &[("step", step)]).await;
        assert_eq!(visitor.answer.status, 404, "{path} {step}");
        assert!(!visitor.html().contains("<script>"));
    }
    for (path, step) in [("/account/data", "delete"), ("/account/sessions", "end_sessions")] {
        let request = server
            .request(Method::POST, path)
            .header("origin", "https://evil.test")
            .header("sec-fetch-site", "cross-site")
            .header("cookie", visitor.cookie_line())
            .header("content-type", "application/x-www-form-urlencoded");
        let body = crate::support::form(&[("step", step)]);
        let foreign = server.send(request.body(body).unwrap()).await;
        assert_eq!(foreign.status, 403, "{path}");
        // No link does anything.
        visitor.go(&format!("{path}?step={step}&do={step}")).await;
    }
    assert!(records(&server, "account.sessions_ended").await.is_empty());
    assert!(records(&server, "account.deletion_requested").await.is_empty());
    // Without a session a form leads to a sign-in.
    let mut stranger = Visitor::open(&server, "en", "/account/data").await;
    stranger.submit("/account/data", &[("step", "delete")]).await;
    assert_eq!(stranger.answer.header("location"), Some("/account/data"));
    server.stop().await;
}
