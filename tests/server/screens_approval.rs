//! The page on which people decide what a client asks of them by a back channel (CIBA, adr/0090).

use crate::{
    ciba::{AGENTS, ANA, TRANSFER, ask, poll, start},
    mails::{link, wait_for},
    me::records,
    page_forms::{LANGUAGES, Visitor},
    passkeys::device_of,
    support::{TestOptions, TestServer, sealed},
};
use hyper::Method;
use porteiro::http::limits::pace::Rates;
use serde_json::json;
use std::time::Duration;

const BRUNO: &str = "bruno@acme.test";

/// Letters that would be markup.
const HOSTILE: &str = "<script>alert(1)</script>\"'&<b>";

/// A payment, and a transfer that cannot be taken back.
const TYPES: &str = r#"
[[resource]]
identifier = "https://api.example.com/invoices"
[[resource.authorization_details]]
type = "payment"
schema = { required = ["amount", "payee"] }
text.en = "Pay {amount} EUR to {payee}"
text.pt = "Pagar {amount} EUR a {payee}"
[[resource.authorization_details]]
type = "transfer"
schema = { required = ["amount"] }
permission = "invoices:approve"
irreversible = true
text.en = "Transfer {amount} EUR"
text.pt = "Transferir {amount} EUR"
"#;

const PAYMENT: &str = r#"[{"type":"payment","amount":40,"payee":"Padaria Central"}]"#;

async fn open() -> TestServer {
    let rates = None::<Rates>;
    let options = TestOptions { screens: true, mailbox: true, rates, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    server.apply(&format!("{TYPES}{AGENTS}")).await;
    server
}

/// Has the agent ask a person; returns the `auth_req_id` and the path of the mailed link.
async fn asked(server: &TestServer, email: &str, more: &[(&str, &str)]) -> (String, String) {
    server.quiet().await;
    let before = crate::mails::mails(server).await.len();
    let id = start(**server, "agent", email, more).await;
    let mail = wait_for(server, before + 1).await.swap_remove(0);
    let link = link(&mail);
    assert_eq!(
        (link.path(), link.origin().ascii_serialization()),
        ("/approve", server.issuer().to_owned())
    );
    (id, format!("/approve?{}", link.query().unwrap()))
}

async fn signed_in<'a>(
    server: &'a TestServer,
    language: &'static str,
    email: &str,
    path: &str,
) -> Visitor<'a> {
    Visitor::signed_in(server, language, email, ("/sign-in", path)).await
}

#[track_caller]
fn asks(visitor: &Visitor<'_>) {
    visitor.shows_either("Agent asks for your approval", "Agent pede a sua aprovação");
}

#[track_caller]
fn nothing_waits(visitor: &Visitor<'_>) {
    assert_eq!(visitor.answer.status, 200);
    visitor.shows_either("No request waits for you", "Nenhum pedido espera por si");
    assert!(!visitor.says("Agent") && !visitor.has_form("confirm"), "{}", visitor.html());
}

#[tokio::test]
async fn a_person_follows_the_link_signs_in_reads_what_is_asked_and_approves() {
    let server = open().await;
    for language in LANGUAGES {
        let more = [
            ("scope", "openid email invoices:read"),
            ("binding_message", "Fatura 7 – José"),
            ("authorization_details", PAYMENT),
        ];
        let (id, path) = asked(&server, ANA, &more).await;
        let mut visitor = Visitor::open(&server, language, &path).await;
        // Who has not signed in is told nothing of it.
        visitor.shows_either("Sign in", "Entrar");
        for hidden in ["Agent", "Fatura", "Padaria", ANA, "Acme"] {
            assert!(!visitor.says(hidden), "{hidden}: {}", visitor.html());
        }
        visitor.sign_in(ANA).await;
        asks(&visitor);
        assert!(visitor.at.starts_with("/approve?flow="), "{}", visitor.at);
        let words = visitor.in_words("Pay 40 EUR to", "Pagar 40 EUR a");
        for said in
            [ANA, "Acme Lda", "manager", "Invoices", "Fatura 7 – José", words, "Padaria Central"]
        {
            assert!(visitor.says(said), "{said}: {}", visitor.html());
        }
        for (english, portuguese) in [
            ("See invoices", "Ver invoices"),
            ("Know your e-mail address", "Conhecer o seu e-mail"),
            ("Waits until", "Espera até"),
            ("At the latest when you sign out", "O mais tardar quando sair"),
            ("Approve only what you expect", "Aprove apenas o que espera"),
        ] {
            assert!(visitor.says(visitor.in_words(english, portuguese)), "{}", visitor.html());
        }
        let other = if language == "en" { "Pagar 40" } else { "Pay 40" };
        assert!(!visitor.says(other), "{}", visitor.html());
        assert!(!visitor.html().contains("autofocus"), "neither answer is suggested");
        let answers = ["deny", "allow"].map(|one| ("decision".to_owned(), one.to_owned()));
        assert_eq!(visitor.form("confirm").buttons, answers);
        poll(*server, "agent", &id).await.refused(400, "authorization_pending");
        visitor.send("confirm", &[("decision", "allow")]).await;
        visitor.shows_either("The request is approved", "O pedido foi aprovado");
        assert!(visitor.has_session());
        let tokens = poll(*server, "agent", &id).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
        assert_eq!(tokens.json()["authorization_details"][0]["payee"], "Padaria Central");
        // The link is used up, in this browser as in any.
        visitor.go(&path).await;
        nothing_waits(&visitor);
    }
    server.stop().await;
}

#[tokio::test]
async fn how_long_it_lasts_is_said_where_it_outlives_the_session() {
    let server = open().await;
    let (_, path) = asked(&server, ANA, &[("scope", "openid offline_access")]).await;
    for language in LANGUAGES {
        let visitor = signed_in(&server, language, ANA, &path).await;
        asks(&visitor);
        let days = "When you end it in your account, or after 30 days";
        let dias = "Quando o terminar na sua conta, ou após 30 dias";
        assert!(visitor.says(visitor.in_words(days, dias)), "{}", visitor.html());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_person_denies_or_denies_and_blocks() {
    let server = open().await;
    for language in LANGUAGES {
        let (id, path) = asked(&server, ANA, &[]).await;
        let mut visitor = signed_in(&server, language, ANA, &path).await;
        visitor.send("confirm", &[("decision", "deny")]).await;
        visitor.shows_either("The request was not approved", "O pedido não foi aprovado");
        poll(*server, "agent", &id).await.refused(400, "access_denied");
    }
    // Without a link: what waits is shown, what ends first first.
    let (id, _) = asked(&server, ANA, &[]).await;
    let mut visitor = signed_in(&server, "pt", ANA, "/approve").await;
    asks(&visitor);
    let blocks = ("decision".to_owned(), "block".to_owned());
    let form = visitor.forms().into_iter().find(|form| form.buttons.contains(&blocks)).unwrap();
    assert!(visitor.says("Recusar e bloquear a aplicação"));
    let mut fields: Vec<(&str, &str)> =
        form.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    fields.push(("decision", "block"));
    visitor.submit(&form.action, &fields).await;
    visitor.follow().await;
    visitor.shows("O pedido não foi aprovado");
    poll(*server, "agent", &id).await.refused(400, "access_denied");
    ask(*server, "agent", ANA, &[]).await.refused(403, "access_denied");
    start(*server, "rival", ANA, &[]).await;
    // What is blocked can be seen, and lifted.
    visitor.go("/account/applications").await;
    assert!(visitor.says("Aplicações que não lhe podem pedir nada"), "{}", visitor.html());
    visitor.send("unblock", &[]).await;
    assert!(!visitor.says("Aplicações que não lhe podem"), "{}", visitor.html());
    start(*server, "agent", ANA, &[]).await;
    visitor.submit("/account/applications", &[("step", "unblock"), ("id", "AAAA")]).await;
    visitor.follow().await;
    assert_eq!(visitor.answer.status, 200, "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn what_waits_is_listed_with_the_applications_of_the_person() {
    let server = open().await;
    let (_, path) = asked(&server, ANA, &[("binding_message", "Fatura 7 <b>")]).await;
    for language in LANGUAGES {
        let mut visitor = signed_in(&server, language, ANA, "/account/applications").await;
        let title =
            visitor.in_words("What waits for your decision", "O que espera pela sua decisão");
        assert!(visitor.says(title) && visitor.says("Fatura 7 <b>"), "{}", visitor.html());
        visitor.go(&visitor.link("/approve?approval=")).await;
        asks(&visitor);
        assert_eq!(visitor.at, path);
        visitor.go("/account/history").await;
        let happened = visitor
            .in_words("An application asked for an approval", "Uma aplicação pediu uma aprovação");
        assert!(visitor.says(happened), "{}", visitor.html());
        assert!(!visitor.says("approval.asked"), "{}", visitor.html());
    }
    let visitor = signed_in(&server, "en", BRUNO, "/account/applications").await;
    assert!(!visitor.says("What waits") && !visitor.says("Fatura"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn what_is_decided_in_one_tab_stays_decided_in_the_other() {
    let server = open().await;
    for (first, second) in [("allow", "deny"), ("deny", "allow"), ("allow", "allow")] {
        let (id, path) = asked(&server, ANA, &[]).await;
        let mut visitor = signed_in(&server, "en", ANA, &path).await;
        let mut same = visitor.tab(&format!("/approve?flow={}", visitor.flow())).await;
        let mut other = visitor.tab(&path).await;
        let mut elsewhere = signed_in(&server, "pt", ANA, &path).await;
        for one in [&same, &other, &elsewhere] {
            asks(one);
        }
        visitor.send("confirm", &[("decision", first)]).await;
        let approved = first == "allow";
        let told =
            if approved { "The request is approved" } else { "The request was not approved" };
        visitor.shows(told);
        same.send("confirm", &[("decision", second)]).await;
        same.shows(told);
        for one in [&mut other, &mut elsewhere] {
            one.send("confirm", &[("decision", second)]).await;
            nothing_waits(one);
        }
        let polled = poll(*server, "agent", &id).await;
        if approved {
            assert_eq!(polled.status, 200, "{polled:?}");
        } else {
            polled.refused(400, "access_denied");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn another_person_is_shown_nothing_of_it() {
    let server = open().await;
    let message = [("binding_message", "Fatura 7"), ("scope", "openid")];
    let (id, path) = asked(&server, ANA, &message).await;
    for language in LANGUAGES {
        let visitor = signed_in(&server, language, BRUNO, &path).await;
        nothing_waits(&visitor);
        assert!(!visitor.says("Fatura") && !visitor.says(ANA), "{}", visitor.html());
        // The same where they sign in on the way.
        let mut visitor = Visitor::open(&server, language, &path).await;
        visitor.sign_in(BRUNO).await;
        nothing_waits(&visitor);
        assert!(!visitor.says("Fatura") && !visitor.says(ANA), "{}", visitor.html());
    }
    // The flow of the one whom it is for is nothing for another browser.
    let ana = signed_in(&server, "en", ANA, &path).await;
    let its_flow = format!("/approve?flow={}", ana.flow());
    let stranger = Visitor::open(&server, "en", &its_flow).await;
    assert!(!stranger.says("Agent") && !stranger.has_form("confirm"), "{}", stranger.html());
    let flow = ana.flow();
    let mut bruno = signed_in(&server, "en", BRUNO, "/account").await;
    let fields = [("flow", &*flow), ("step", "confirm"), ("decision", "allow")];
    bruno.submit("/approve", &fields).await;
    bruno.follow().await;
    assert!(!bruno.says("Agent"), "{}", bruno.html());
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_decided_by_a_link_by_another_site_or_by_what_is_no_decision() {
    let server = open().await;
    let (id, path) = asked(&server, ANA, &[]).await;
    let mut visitor = signed_in(&server, "en", ANA, &path).await;
    let flow = visitor.flow();
    for decision in ["allow", "deny", "block"] {
        let by_link = format!("&step=confirm&decision={decision}");
        visitor.go(&format!("{path}{by_link}")).await;
        asks(&visitor);
        visitor.go(&format!("/approve?flow={flow}{by_link}")).await;
        asks(&visitor);
    }
    for decision in ["", "approve", "ALLOW", "<script>", &"x".repeat(5_000)] {
        let fields = [("flow", &*flow), ("step", "confirm"), ("decision", decision)];
        visitor.submit("/approve", &fields).await;
        assert_eq!(visitor.answer.status, 303, "{decision}");
        visitor.follow().await;
        asks(&visitor);
        assert!(!visitor.html().contains("<script>"), "{}", visitor.html());
    }
    for headers in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let request = server
            .request(Method::POST, "/approve")
            .header("cookie", visitor.cookie_line())
            .header(headers.0, headers.1)
            .header("content-type", "application/x-www-form-urlencoded");
        let body = format!("flow={flow}&step=confirm&decision=allow");
        let answer = server.send(request.body(body.into()).unwrap()).await;
        assert_eq!(answer.status, 403);
        sealed(&answer.headers);
    }
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    for unknown in ["x", "AAAAAAAAAAAAAAAAAAAAAA", "%2E%2E%2F", "%C3%A9", &"y".repeat(2_000)] {
        visitor.go(&format!("/approve?approval={unknown}")).await;
        nothing_waits(&visitor);
    }
    // A page that was open for too long.
    visitor.go(&path).await;
    asks(&visitor);
    server.clock.advance(Duration::from_mins(5));
    visitor.send("confirm", &[("decision", "allow")]).await;
    nothing_waits(&visitor);
    poll(*server, "agent", &id).await.refused(400, "expired_token");
    visitor.go("/approve").await;
    nothing_waits(&visitor);
    server.stop().await;
}

#[tokio::test]
async fn words_of_others_are_text_on_the_page() {
    let server = open().await;
    server
        .apply(&format!("[[client]]\nclient_id = \"agent\"\nclient_name = '''{HOSTILE}'''\n"))
        .await;
    let payee = json!([{ "type": "payment", "amount": 1, "payee": HOSTILE }]).to_string();
    let more = [("binding_message", HOSTILE), ("authorization_details", &*payee)];
    let (_, path) = asked(&server, ANA, &more).await;
    let visitor = signed_in(&server, "en", ANA, &path).await;
    assert!(visitor.title().contains(HOSTILE), "{}", visitor.html());
    let html = visitor.html();
    assert!(!html.contains("<script>alert") && !html.contains("&<b>"), "{html}");
    let escaped = ["&#60;script&#62;alert(1)", "&lt;script&gt;alert(1)"];
    let shown: usize = escaped.iter().map(|one| html.matches(one).count()).sum();
    assert!(shown >= 3, "the name, the message and the payee: {html}");
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_signed_by_the_passkey_after_the_yes() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    for language in LANGUAGES {
        let (id, path) = asked(&server, ANA, &[("authorization_details", TRANSFER)]).await;
        let mut visitor = signed_in(&server, language, ANA, &path).await;
        asks(&visitor);
        assert!(visitor.says(visitor.in_words("Transfer 50 EUR", "Transferir 50 EUR")));
        visitor.send("confirm", &[("decision", "allow")]).await;
        assert!(visitor.at.starts_with("/approve?flow="), "{}", visitor.at);
        // What is signed is still to be read there.
        assert!(
            visitor.says(visitor.in_words("Transfer 50 EUR", "Transferir 50 EUR")),
            "{}",
            visitor.html()
        );
        poll(*server, "agent", &id).await.refused(400, "authorization_pending");
        visitor.use_passkey(&mut device).await;
        visitor.shows_either("The request is approved", "O pedido foi aprovado");
        assert_eq!(poll(*server, "agent", &id).await.status, 200);
    }
    let given = records(&server, "approval.given").await;
    assert!(given.len() == 2 && given.iter().all(|one| one["asserted"] == true), "{given:?}");
    server.stop().await;
}

#[tokio::test]
async fn one_who_has_no_second_factor_is_told_so_and_the_request_waits() {
    let server = open().await;
    for language in LANGUAGES {
        let (id, path) = asked(&server, ANA, &[("authorization_details", TRANSFER)]).await;
        let mut visitor = signed_in(&server, language, ANA, &path).await;
        visitor.send("confirm", &[("decision", "allow")]).await;
        visitor.shows_either("This needs a second factor", "Falta um segundo fator");
        visitor.link("/account/security");
        poll(*server, "agent", &id).await.refused(400, "authorization_pending");
        visitor.go(&path).await;
        asks(&visitor);
        visitor.send("confirm", &[("decision", "deny")]).await;
        poll(*server, "agent", &id).await.refused(400, "access_denied");
    }
    server.stop().await;
}
