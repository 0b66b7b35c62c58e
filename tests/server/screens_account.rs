//! Pages on which people make, recover and look at their accounts, as a browser without script sees them.

use crate::{
    authenticator::Authenticator,
    invitations::invited,
    page_forms::{LANGUAGES, Visitor, open, open_in},
    passkey_device::Device,
    person::{PASSWORD, parameter},
    support::TestOptions,
};
use hyper::Method;
use porteiro::{domain::Clock as _, http::SignUp};
use sha2::{Digest as _, Sha256};
use std::time::Duration;

pub const ANA: &str = "ana@acme.test";
const EVA: &str = "eva@acme.test";
pub const NEW: &str = "a long enough new password";

/// Goes as far as a first credential is asked for.
async fn describe(visitor: &mut Visitor<'_>, email: &str) {
    let before = visitor.mails().await;
    visitor
        .send("profile", &[("email", email), ("given_name", "Eva"), ("family_name", "Reis")])
        .await;
    visitor.shows_either("Check your e-mail", "Veja o seu e-mail");
    let code = visitor.mailed_code(before).await;
    visitor.send("email_code", &[("code", &code)]).await;
    visitor.shows_either("Make a passkey", "Crie uma chave de acesso");
}

#[tokio::test]
async fn a_person_makes_an_account_with_a_password_and_sees_it() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip(["eva@acme.test", "ida@acme.test"]) {
        let mut visitor = Visitor::open(&server, language, "/sign-up").await;
        visitor.shows_either("Create an account", "Criar uma conta");
        visitor.send("profile", &[("email", "nobody")]).await;
        visitor.shows_either("Create an account", "Criar uma conta");
        assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
        describe(&mut visitor, email).await;
        let other = visitor.link("/sign-up?flow=");
        assert!(other.ends_with("&way=new_password"), "{other}");
        visitor.go(&other).await;
        visitor.shows_either("Choose a password", "Escolha uma senha");
        visitor.send("new_password", &[("password", "short")]).await;
        visitor.shows_either("Choose a password", "Escolha uma senha");
        assert!(visitor.html().contains("id=\"error\""), "{}", visitor.html());
        visitor.send("new_password", &[("password", NEW)]).await;
        assert_eq!((&*visitor.at, visitor.has_session()), ("/account", true));
        visitor.shows("Eva Reis");
        assert!(visitor.says(email) && visitor.says(visitor.in_words("Confirmed", "Confirmado")));
    }
    server.stop().await;
}

#[tokio::test]
async fn another_address_can_be_said_until_one_is_proved() {
    let server = open().await;
    let mut visitor = Visitor::open(&server, "en", "/sign-up").await;
    visitor.send("profile", &[("email", "evaa@acme.test")]).await;
    visitor.go(&visitor.link("/sign-up?flow=")).await;
    visitor.shows("Create an account");
    assert_eq!(visitor.form("profile").field("email"), Some("evaa@acme.test"));
    describe(&mut visitor, EVA).await;
    visitor.send("skip", &[]).await;
    assert_eq!(visitor.at, "/account");
    assert!(visitor.says(EVA), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_made_in_a_sign_up_shows_recovery_codes_once() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip(["eva@acme.test", "ida@acme.test"]) {
        let mut visitor = Visitor::open(&server, language, "/sign-up").await;
        describe(&mut visitor, email).await;
        let flow = visitor.flow();
        visitor.make_passkey(&mut Device::new(server.issuer())).await;
        visitor.shows_either("Keep these recovery codes", "Guarde estes códigos de recuperação");
        let html = visitor.html();
        let codes: Vec<&str> =
            html.split("<li>").filter(|part| part.get(5..6) == Some("-")).collect();
        assert_eq!(codes.len(), 10, "{html}");
        assert!(html.contains("print-only") && visitor.says(email), "{html}");
        let code = codes[0].split('<').next().unwrap().to_owned();
        for path in
            [visitor.link("/account"), format!("/sign-up?flow={flow}"), "/account".to_owned()]
        {
            visitor.go(&path).await;
            assert!(!visitor.html().contains(&code), "{}", visitor.html());
        }
        visitor.go("/account/security").await;
        assert!(visitor.says(visitor.in_words("10 are left", "Restam 10")), "{}", visitor.html());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_person_makes_an_account_on_the_way_to_a_client() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip(["eva@acme.test", "ida@acme.test"]) {
        let asked = format!("/connect/authorize?{}", crate::person::asking("app", &[]));
        let mut visitor = Visitor::open(&server, language, &asked).await;
        visitor.shows_either("Sign in", "Entrar");
        visitor.go(&visitor.link("/sign-up?from=")).await;
        visitor.shows_either("Create an account", "Criar uma conta");
        assert!(visitor.says("app"), "the client is named: {}", visitor.html());
        // There and back again.
        visitor.go(&visitor.link("/sign-in?from=")).await;
        visitor.go(&visitor.link("/sign-up?from=")).await;
        describe(&mut visitor, email).await;
        visitor.send("skip", &[]).await;
        visitor.shows_either("Let app use your account?", "Autorizar app a usar a sua conta?");
        visitor.send("consent", &[("decision", "allow")]).await;
        let to = visitor.moves_on_to();
        assert_eq!(to.host_str(), Some("app.example.com"));
        let code = parameter(&to, "code").unwrap();
        let tokens = server.redeem("app", &code).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_a_client_asks_goes_on_for_its_own_browser_alone() {
    let server = open().await;
    let asked = format!("/connect/authorize?{}", crate::person::asking("app", &[]));
    let visitor = Visitor::open(&server, "en", &asked).await;
    let from = visitor.link("/sign-up?from=");
    let other = Visitor::open(&server, "en", &from).await;
    assert_eq!(other.answer.status, 403, "{}", other.html());
    assert!(!other.has_form("profile"));
    for bad in ["flw_x", "flw_", &"a".repeat(20_000), "%3Cscript%3E"] {
        let other = Visitor::open(&server, "en", &format!("/sign-up?from={bad}")).await;
        assert!(other.answer.status.is_client_error(), "{bad}: {}", other.html());
    }
    server.clock.advance(Duration::from_mins(16));
    let late = visitor.tab(&from).await;
    assert_eq!(late.answer.status, 410);
    late.shows("This took a little too long");
    server.stop().await;
}

#[tokio::test]
async fn a_person_without_an_account_accepts_an_invitation() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip(["eva@acme.test", "ida@acme.test"]) {
        let token = invited(&server, email, &["clerk"]).await;
        let mut visitor =
            Visitor::open(&server, language, &format!("/sign-up?token={token}")).await;
        visitor.shows_either("Join Acme Lda", "Aderir a Acme Lda");
        assert!(visitor.says(email), "{}", visitor.html());
        visitor.send("profile", &[("given_name", "Eva")]).await;
        visitor.shows_either("Make a passkey", "Crie uma chave de acesso");
        visitor.go(&visitor.link("/sign-up?flow=")).await;
        visitor.send("new_password", &[("password", NEW)]).await;
        assert_eq!(visitor.at, "/account");
        visitor.go(&format!("/sign-up?token={token}")).await;
        visitor.shows_either("This invitation cannot be used", "Este convite não pode ser usado");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_invitation_of_an_account_asks_for_its_own_sign_in() {
    let server = open().await;
    let token = invited(&server, "clara@nowhere.test", &["clerk"]).await;
    for (language, number) in LANGUAGES.into_iter().zip(0..) {
        let path = format!("/sign-up?token={token}");
        let mut visitor = Visitor::open(&server, language, &path).await;
        let joins = visitor.in_words("to join Acme Lda", "para aderir a Acme Lda");
        assert!(visitor.says(joins) && visitor.says("clara@nowhere.test"), "{}", visitor.html());
        assert!(!visitor.has_form("profile") && !visitor.has_form("new_password"));
        if number == 0 {
            continue;
        }
        visitor.send("password", &[("password", "not the password")]).await;
        assert!(visitor.html().contains("id=\"error\""), "{}", visitor.html());
        visitor.send("password", &[("password", PASSWORD)]).await;
        assert_eq!(visitor.at, "/account");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_account_is_shown_in_a_session_and_is_a_sign_in_without_one() {
    let server = open().await;
    for language in LANGUAGES {
        let mut visitor = Visitor::open(&server, language, "/account").await;
        assert_eq!(visitor.answer.status, 200);
        visitor.shows_either("Sign in", "Entrar");
        visitor.sign_in("bruno@acme.test").await;
        assert_eq!(visitor.at, "/account");
        visitor.shows("bruno@acme.test");
        assert!(visitor.says(visitor.in_words("Not confirmed", "Por confirmar")));
        visitor.go("/account/security").await;
        assert!(visitor.says(visitor.in_words("Password", "Senha")));
        for form in ["enroll_passkey", "enroll_totp"] {
            assert_eq!(visitor.form(form).action, "/account/security");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn an_address_is_confirmed_from_the_account() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip(["bruno@acme.test", "clara@nowhere.test"]) {
        let mut visitor = Visitor::open(&server, language, "/account").await;
        visitor.sign_in(email).await;
        let before = visitor.mails().await;
        visitor.go(&visitor.link("/verify-email")).await;
        visitor.shows_either("Confirm your e-mail", "Confirme o seu e-mail");
        assert_eq!(visitor.mails().await, before, "a page that is opened sends nothing");
        visitor.send("email_code/send", &[]).await;
        let code = visitor.mailed_code(before).await;
        let wrong = if code == "000000" { "000001" } else { "000000" };
        visitor.send("email_code", &[("code", wrong)]).await;
        assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
        visitor.send("email_code", &[("code", &code)]).await;
        assert_eq!(visitor.at, "/account");
        assert!(visitor.says(visitor.in_words("Confirmed", "Confirmado")), "{}", visitor.html());
    }
    // Without a session it is a sign-in.
    let visitor = Visitor::open(&server, "en", "/verify-email").await;
    visitor.shows("Sign in");
    server.stop().await;
}

#[tokio::test]
async fn an_application_is_enrolled_and_its_codes_are_shown_once() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, "bruno@acme.test"]) {
        let mut visitor = Visitor::open(&server, language, "/account").await;
        visitor.sign_in(email).await;
        visitor.go("/account/security").await;
        visitor.send("enroll_totp", &[]).await;
        visitor.shows_either("Add an authenticator app", "Junte uma aplicação de códigos");
        let page = visitor.at.clone();
        assert!(visitor.html().contains("<div class=\"qr\""), "{}", visitor.html());
        let key = |visitor: &Visitor<'_>| {
            let html = visitor.html();
            let code = html.split_once("class=\"key\"><code").unwrap().1;
            code.split_once('>').unwrap().1.split('<').next().unwrap().replace(' ', "")
        };
        let secret = key(&visitor);
        visitor.send("totp", &[("code", "000000")]).await;
        assert!(visitor.html().contains("aria-invalid=\"true\""), "{}", visitor.html());
        assert_eq!(key(&visitor), secret, "the application has it already");
        let code = Authenticator::new(&secret).code(server.clock.now());
        visitor.send("totp", &[("code", &code)]).await;
        visitor.shows_either("Keep these recovery codes", "Guarde estes códigos de recuperação");
        assert!(visitor.says(email), "{}", visitor.html());
        assert_eq!(visitor.answer.header("cache-control"), Some("no-store"));
        visitor.go(&page).await;
        assert!(!visitor.html().contains("class=\"codes\"") && !visitor.html().contains(&secret));
        visitor.go("/account/security").await;
        let app = visitor.in_words("Authenticator app", "Aplicação de códigos");
        assert!(visitor.says(app) && visitor.says(visitor.in_words("10 are left", "Restam 10")));
        let replace =
            visitor.in_words("Replace the authenticator app", "Trocar a aplicação de códigos");
        assert!(visitor.says(replace), "{}", visitor.html());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_passkey_is_added_from_the_account_and_listed_there() {
    let server = open().await;
    for (language, email) in LANGUAGES.into_iter().zip([ANA, "bruno@acme.test"]) {
        let mut visitor = Visitor::open(&server, language, "/account").await;
        visitor.sign_in(email).await;
        visitor.go("/account/security").await;
        visitor.send("enroll_passkey", &[]).await;
        visitor.shows_either("Make a passkey", "Crie uma chave de acesso");
        assert!(visitor.at.starts_with("/account?flow="), "{}", visitor.at);
        visitor.make_passkey(&mut Device::new(server.issuer())).await;
        visitor.shows_either("Keep these recovery codes", "Guarde estes códigos de recuperação");
        visitor.go(&visitor.link("/account/security")).await;
        assert!(visitor.says(visitor.in_words("Added on", "Desde")), "{}", visitor.html());
    }
    // A session that was left open proves too little.
    let mut visitor = Visitor::open(&server, "en", "/account").await;
    visitor.sign_in("clara@nowhere.test").await;
    server.clock.advance(Duration::from_hours(2));
    visitor.go("/account/security").await;
    visitor.send("enroll_passkey", &[]).await;
    assert!(visitor.at.starts_with("/account?flow="), "{}", visitor.at);
    visitor.send("password", &[("password", PASSWORD)]).await;
    visitor.shows("Make a passkey");
    server.stop().await;
}

#[tokio::test]
async fn a_form_of_the_account_begins_what_it_offers_and_nothing_else() {
    let server = open().await;
    let mut visitor = Visitor::open(&server, "en", "/account").await;
    // Without a session it is a sign-in.
    visitor.submit("/account", &[("begin", "enroll_totp")]).await;
    assert_eq!(
        (visitor.answer.status.as_u16(), visitor.answer.header("location")),
        (303, Some("/account"))
    );
    visitor.go("/account").await;
    visitor.sign_in(ANA).await;
    for kind in ["sign_in", "sign_out", "recovery", "<script>", &"x".repeat(5_000)] {
        visitor.submit("/account", &[("begin", kind)]).await;
        assert_eq!(visitor.answer.status, 404, "{kind}");
        assert!(!visitor.html().contains("<script>"));
    }
    visitor.submit("/account", &[("begin", "enroll_totp"), ("then", "totp")]).await;
    visitor.follow().await;
    visitor.shows("Add an authenticator app");
    assert!(visitor.has_form("totp/options"), "no other step was taken: {}", visitor.html());
    visitor.send("totp/options", &[]).await;
    assert!(visitor.has_form("totp"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn a_person_signs_out_from_the_account_or_on_a_page_that_asks() {
    let server = open().await;
    for language in LANGUAGES {
        let mut visitor = Visitor::open(&server, language, "/account").await;
        visitor.sign_in(ANA).await;
        visitor.send("confirm", &[]).await;
        visitor.shows_either("You are signed out", "A sessão terminou");
        assert!(!visitor.has_session());
        visitor.go("/account").await;
        visitor.sign_in(ANA).await;
        visitor.go("/sign-out").await;
        visitor.shows_either("Sign out?", "Terminar a sessão?");
        assert!(visitor.has_session(), "a page that is opened ends nothing");
        let twice = visitor.form("confirm");
        visitor.send("confirm", &[("decision", "allow")]).await;
        visitor.shows_either("You are signed out", "A sessão terminou");
        let fields: Vec<(&str, &str)> =
            twice.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        visitor.submit("/sign-out", &[&fields[..], &[("decision", "allow")]].concat()).await;
        visitor.follow().await;
        visitor.shows_either("You are signed out", "A sessão terminou");
        visitor.go("/sign-out").await;
        assert_eq!(visitor.answer.status, 200);
        visitor.shows_either("You are signed out", "A sessão terminou");
        visitor.link("/sign-in");
    }
    server.stop().await;
}

#[tokio::test]
async fn work_is_asked_for_and_a_browser_without_script_is_told_so() {
    let sign_up = SignUp { open: true, proof_of_work_bits: 8 };
    let server = open_in(TestOptions { sign_up, ..TestOptions::default() }).await;
    for (language, email) in LANGUAGES.into_iter().zip(["eva@acme.test", "ida@acme.test"]) {
        let mut visitor = Visitor::open(&server, language, "/sign-up").await;
        let form = visitor.form("profile");
        assert!(
            form.tag.contains("data-work=") && form.tag.contains("data-bits=\"8\""),
            "{form:?}"
        );
        visitor.send("profile", &[("email", email)]).await;
        visitor.shows_either("Create an account", "Criar uma conta");
        assert!(visitor.says("JavaScript"), "{}", visitor.html());
        let form = visitor.form("profile");
        let challenge = form.tag.split_once("data-work=\"").unwrap().1.split('"').next().unwrap();
        let solves = |answer: &u32| Sha256::digest(format!("{challenge}:{email}:{answer}"))[0] == 0;
        let answer = (0..1 << 20).find(solves).unwrap().to_string();
        let mut fields: Vec<(&str, &str)> =
            form.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        fields.retain(|(name, _)| *name != "email");
        fields.extend([("email", email), ("proof_of_work", answer.as_str())]);
        visitor.submit("/sign-up", &fields).await;
        visitor.follow().await;
        visitor.shows_either("Check your e-mail", "Veja o seu e-mail");
    }
    server.stop().await;
}

#[tokio::test]
async fn forms_from_other_sites_change_nothing() {
    let server = open().await;
    let mut visitor = Visitor::open(&server, "en", "/account").await;
    visitor.sign_in(ANA).await;
    let sign_out = visitor.form("confirm");
    let flow = sign_out.field("flow").unwrap();
    let forms = [
        ("/sign-out", format!("flow={flow}&step=confirm&decision=allow")),
        ("/account", "begin=enroll_totp".to_owned()),
        ("/reset-password", "stop=x".to_owned()),
        ("/sign-up", format!("flow={flow}&step=profile&email=eva%40acme.test")),
    ];
    for (path, body) in &forms {
        for headers in [
            vec![("origin", "https://evil.example")],
            vec![("origin", "null")],
            vec![("sec-fetch-site", "cross-site")],
            vec![("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")],
        ] {
            let mut request = server
                .request(Method::POST, path)
                .header("cookie", visitor.cookie_line())
                .header("content-type", "application/x-www-form-urlencoded");
            for (name, value) in &headers {
                request = request.header(*name, *value);
            }
            let answer = server.send(request.body(body.clone().into()).unwrap()).await;
            assert_eq!(answer.status, 403, "{path} {headers:?}: {}", answer.text());
        }
    }
    visitor.go("/account").await;
    visitor.shows("Ana");
    server.stop().await;
}

#[tokio::test]
async fn names_that_people_chose_are_shown_as_text() {
    let server = open().await;
    let hostile = "<img src=x onerror=alert(1)>'\"&";
    let mut visitor = Visitor::open(&server, "en", "/sign-up").await;
    let before = visitor.mails().await;
    visitor.send("profile", &[("email", EVA), ("given_name", hostile)]).await;
    let code = visitor.mailed_code(before).await;
    visitor.send("email_code", &[("code", &code)]).await;
    visitor.send("skip", &[]).await;
    assert_eq!(visitor.at, "/account");
    assert!(!visitor.html().contains("<img"));
    // What turns text around is no name at all.
    let mut visitor = Visitor::open(&server, "en", "/sign-up").await;
    visitor.send("profile", &[("email", "ida@acme.test"), ("given_name", "Ida\u{202e}lif")]).await;
    assert!(visitor.has_form("profile") && !visitor.has_form("email_code"));
    // What is too long is refused, and not by a broken page.
    let mut visitor = Visitor::open(&server, "en", "/sign-up").await;
    let long = "x".repeat(5_000);
    visitor.send("profile", &[("email", "ida@acme.test"), ("given_name", &long)]).await;
    assert_eq!(visitor.answer.status, 200);
    server.stop().await;
}
