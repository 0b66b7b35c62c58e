//! Pages on which people decide: what a client may do, for which organization, and which device.

use crate::{
    device::DEVICES,
    http::Answer,
    page_forms::{LANGUAGES, Visitor, open},
    person::{asking, parameter, text},
    support::{TestServer, sealed},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const BRUNO: &str = "bruno@acme.test";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Letters that would be markup.
const HOSTILE: &str = "<script>alert(1)</script>\"'&<b>";

/// The longest name that a client can register.
const LONGEST_NAME: usize = 2_000;

/// Registers a client as a stranger does.
async fn register(server: &TestServer, members: &Value) -> Answer {
    let request = server
        .request(Method::POST, "/connect/register")
        .header("content-type", "application/json");
    server.send(request.body(Full::new(Bytes::from(members.to_string()))).unwrap()).await
}

/// Opens what a client asks a browser.
async fn ask<'a>(
    server: &'a TestServer,
    language: &'static str,
    client: &str,
    otherwise: &[(&str, &str)],
) -> Visitor<'a> {
    let path = format!("/connect/authorize?{}", asking(client, otherwise));
    Visitor::open(server, language, &path).await
}

#[tokio::test]
async fn a_person_allows_a_client_what_they_are_shown() {
    let server = open().await;
    for language in LANGUAGES {
        let scope = "openid email offline_access invoices:read invoices:write";
        let scope = [("scope", scope), ("prompt", "consent")];
        let mut visitor = ask(&server, language, "app", &scope).await;
        visitor.sign_in(ANA).await;
        visitor.shows_either("Let app use your account?", "Autorizar app a usar a sua conta?");
        assert!(visitor.at.starts_with("/consent?flow="), "{}", visitor.at);
        for said in ["app.example.com", "Acme Lda", "manager", "Invoices", "invoices:read"] {
            assert!(visitor.says(said), "{said}: {}", visitor.html());
        }
        assert!(visitor.says(visitor.in_words("See invoices", "Ver invoices")));
        assert!(visitor.says(visitor.in_words("Create and change", "Criar e alterar")));
        assert!(
            visitor.says(visitor.in_words("Know your e-mail address", "Conhecer o seu e-mail"))
        );
        assert!(visitor.says(visitor.in_words("Verified", "Verificada")));
        assert!(!visitor.says(visitor.in_words("Registered itself", "Inscreveu-se sozinha")));
        let html = visitor.html();
        assert!(!html.contains("autofocus"), "neither answer is suggested: {html}");
        let form = visitor.form("consent");
        let answers = ["deny", "allow"].map(|one| ("decision".to_owned(), one.to_owned()));
        assert_eq!(form.buttons, answers, "the same two buttons, side by side");
        sealed(&visitor.answer.headers);
        visitor.send("consent", &[("decision", "allow")]).await;
        let to = visitor.moves_on_to();
        assert_eq!((to.host_str(), to.path()), (Some("app.example.com"), "/cb"));
        assert_eq!(parameter(&to, "state").as_deref(), Some("af0ifjsldkj"));
        assert_eq!(parameter(&to, "iss").as_deref(), Some(server.issuer()));
        let code = parameter(&to, "code").unwrap();
        assert_eq!(server.redeem("app", &code).await.status, 200);
        server.clock.advance(Duration::from_secs(2));
        // What was allowed is remembered: the next tab would not be asked.
        let again = format!("/connect/authorize?{}", asking("app", &[("prompt", "consent")]));
        visitor.go(&again).await;
        visitor.shows_either("Let app use your account?", "Autorizar app a usar a sua conta?");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_person_says_no_and_the_client_is_told() {
    let server = open().await;
    for language in LANGUAGES {
        let mut visitor = ask(&server, language, "app", &[]).await;
        visitor.sign_in(ANA).await;
        visitor.send("consent", &[("decision", "deny")]).await;
        visitor.shows_either("You said no", "Pedido recusado");
        let to = visitor.moves_on_to();
        assert_eq!(to.host_str(), Some("app.example.com"));
        assert_eq!(parameter(&to, "error").as_deref(), Some("access_denied"));
        assert_eq!(parameter(&to, "code"), None);
    }
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_decided_by_a_link_twice_or_for_another_tab() {
    let server = open().await;
    let mut visitor = ask(&server, "en", "app", &[]).await;
    visitor.sign_in(ANA).await;
    let flow = visitor.flow();
    for path in ["/consent", "/sign-in", "/account"] {
        for decision in ["allow", "deny"] {
            let path = format!("{path}?flow={flow}&step=consent&decision={decision}");
            visitor.go(&path).await;
            visitor.shows("Let app use your account?");
        }
    }
    // A page that only looks.
    let request = server.request(Method::HEAD, &format!("/consent?flow={flow}"));
    let request = request.header("cookie", visitor.cookie_line());
    let looked = server.send(request.body(Full::default()).unwrap()).await;
    assert!(looked.body.is_empty(), "{looked:?}");
    // Another browser has no part in it.
    let stranger = Visitor::open(&server, "en", &format!("/consent?flow={flow}")).await;
    assert_eq!(stranger.answer.status, 403);
    assert!(!stranger.has_form("consent"));

    let mut second = visitor.tab(&format!("/consent?flow={flow}")).await;
    second.send("consent", &[("decision", "deny")]).await;
    assert_eq!(parameter(&second.moves_on_to(), "error").as_deref(), Some("access_denied"));
    visitor.send("consent", &[("decision", "allow")]).await;
    assert_eq!(visitor.answer.status, 200, "{}", visitor.html());
    assert!(!visitor.html().contains("code="), "it was decided: {}", visitor.html());
    visitor.link("https://app.example.com/cb?error=access_denied");

    let mut visitor = ask(&server, "en", "app", &[]).await;
    visitor.sign_in(ANA).await;
    let mut second = visitor.tab(&visitor.at.clone()).await;
    visitor.send("consent", &[("decision", "allow")]).await;
    let code = parameter(&visitor.moves_on_to(), "code").unwrap();
    second.send("consent", &[("decision", "allow")]).await;
    assert_eq!(second.answer.status, 200, "a double press is harmless: {}", second.html());
    assert!(!second.html().contains("code="), "{}", second.html());
    assert_eq!(server.redeem("app", &code).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_decision_that_is_none_or_comes_from_elsewhere_is_not_taken() {
    let server = open().await;
    let mut visitor = ask(&server, "en", "app", &[]).await;
    visitor.sign_in(ANA).await;
    let flow = visitor.flow();
    for decision in ["", "yes", "ALLOW", "<script>", &"x".repeat(5_000)] {
        visitor
            .submit("/consent", &[("flow", &flow), ("step", "consent"), ("decision", decision)])
            .await;
        assert_eq!(visitor.answer.status, 303, "{decision}");
        visitor.follow().await;
        visitor.shows("Let app use your account?");
        assert!(visitor.html().contains("id=\"error\"") && !visitor.html().contains("<script>"));
    }
    for (step, status) in [("confirm", 303), ("password", 303), ("no such step", 303)] {
        visitor.submit("/consent", &[("flow", &flow), ("step", step), ("decision", "allow")]).await;
        assert_eq!(visitor.answer.status, status, "{step}");
        visitor.follow().await;
        visitor.shows("Let app use your account?");
    }
    for headers in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let request = server
            .request(Method::POST, "/consent")
            .header("cookie", visitor.cookie_line())
            .header(headers.0, headers.1)
            .header("content-type", "application/x-www-form-urlencoded");
        let body = format!("flow={flow}&step=consent&decision=allow");
        let answer = server.send(request.body(body.into()).unwrap()).await;
        assert_eq!(answer.status, 403);
        assert!(answer.text().contains("This form came from another site"), "{}", answer.text());
        sealed(&answer.headers);
    }
    visitor.go(&format!("/consent?flow={flow}")).await;
    visitor.shows("Let app use your account?");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_registered_itself_is_shown_as_such_and_its_words_as_text() {
    let server = open().await;
    let to = "https://strange.example.net/cb";
    let client = |name: &str| json!({ "client_name": name, "redirect_uris": [to] });
    // What would turn the page around, or fill it, is not registered at all.
    for name in ["\u{202e}evil", "a\u{200b}", &"W".repeat(50_000)] {
        let refused = register(&server, &client(name)).await;
        assert!([400, 413].contains(&refused.status.as_u16()), "{refused:?}");
    }
    let long = "W".repeat(LONGEST_NAME);
    for (language, name) in [("en", HOSTILE), ("pt", HOSTILE), ("en", &*long)] {
        let members = json!({
            "client_name": name,
            "redirect_uris": ["https://strange.example.net/cb"],
            "token_endpoint_auth_method": "none",
        });
        let registered = register(&server, &members).await;
        assert_eq!(registered.status, 201, "{registered:?}");
        let registered = registered.json();
        let client = text(&registered["client_id"]);
        let to = [("redirect_uri", "https://strange.example.net/cb")];
        let mut visitor = ask(&server, language, client, &to).await;
        visitor.sign_in(ANA).await;
        let warning = visitor
            .in_words("This application registered itself", "Esta aplicação inscreveu-se sozinha");
        assert!(visitor.says(warning) && visitor.says("strange.example.net"), "{}", visitor.html());
        let html = visitor.html();
        assert!(!html.contains("<script>alert") && !html.contains('\u{202e}'), "{html}");
        assert!(!html.contains(&"W".repeat(100)), "it is cut: {html}");
        visitor.send("consent", &[("decision", "deny")]).await;
        visitor.moves_on_to();
    }
    // A link that is no page is none that can be registered.
    for member in ["logo_uri", "policy_uri", "tos_uri", "client_uri"] {
        let members = json!({
            "redirect_uris": ["https://strange.example.net/cb"],
            member: "javascript:alert(1)",
        });
        let refused = register(&server, &members).await;
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    let members = json!({
        "redirect_uris": ["https://strange.example.net/cb"],
        "token_endpoint_auth_method": "none",
        "policy_uri": "https://strange.example.net/\"><script>alert(1)</script>",
        "tos_uri": "https://strange.example.net/terms",
    });
    let registered = register(&server, &members).await;
    if registered.status == 201 {
        let registered = registered.json();
        let to = [("redirect_uri", "https://strange.example.net/cb")];
        let mut visitor = ask(&server, "en", text(&registered["client_id"]), &to).await;
        visitor.sign_in(ANA).await;
        assert!(!visitor.html().contains("<script>alert"), "{}", visitor.html());
    }
    server.stop().await;
}

/// Names that an operator chose, and which a page must still show as text.
const NAMES: &str = r#"
[[resource]]
identifier = "https://api.example.com/odd"
name = "<i>Odd\u202E</i>"
scopes = ["odd:read", "odd<script>"]

[[organization]]
slug = "odd"
name = "<script>alert(2)</script>\u202E&\""
  [[organization.role]]
  name = "clerk"
  permissions = ["odd:*"]

[[organization]]
slug = "closed"
name = "Closed SA"
enabled = false

[[organization]]
slug = "long"
name = "LONG"

[[account]]
email = "fred@acme.test"
password = "correct horse battery staple"
memberships = [
    { organization = "odd", roles = ["clerk"] },
    { organization = "long", roles = [] },
]
"#;

#[tokio::test]
async fn a_person_chooses_an_organization_and_a_suspended_one_cannot_be_chosen() {
    let server = open().await;
    let names = NAMES.replace("LONG", &"Longo ".repeat(33));
    let names = names.replace(", \"odd<script>\"", "");
    server.apply(&names).await;
    for language in LANGUAGES {
        let scope = [("scope", "openid odd:read")];
        let mut visitor = ask(&server, language, "app", &scope).await;
        visitor.sign_in("fred@acme.test").await;
        visitor.shows_either("Which organization is this for?", "Para qual organização?");
        let html = visitor.html();
        assert!(!html.contains("<script>alert") && !html.contains('\u{202e}'), "{html}");
        assert!(!html.contains(&"Longo ".repeat(15)), "{html}");
        assert!(html.contains("value=\"odd\"") && html.contains("value=\"long\""), "{html}");
        for wrong in ["acme", "nowhere", "<script>", ""] {
            let flow = visitor.flow();
            let fields = [("flow", &*flow), ("step", "organization"), ("organization", wrong)];
            visitor.submit("/sign-in", &fields).await;
            visitor.follow().await;
            visitor.shows_either("Which organization is this for?", "Para qual organização?");
        }
        visitor.send("organization", &[("organization", "odd")]).await;
        visitor.shows_either("Let app use your account?", "Autorizar app a usar a sua conta?");
        let html = visitor.html();
        assert!(!html.contains("<script>alert") && !html.contains('\u{202e}'), "{html}");
        assert!(!html.contains("<i>Odd"), "{html}");
        visitor.send("consent", &[("decision", "deny")]).await;
        visitor.moves_on_to();
    }
    // A member of a suspended organization sees it, and cannot choose it.
    server.apply("[[organization]]\nslug = \"closed\"\nenabled = true\n").await;
    server
        .apply(
            "[[account]]\nemail = \"fred@acme.test\"\nmemberships = [\
             { organization = \"odd\", roles = [\"clerk\"] }, { organization = \"long\", roles = [] }, \
             { organization = \"closed\", roles = [] }]\n",
        )
        .await;
    server.apply("[[organization]]\nslug = \"closed\"\nenabled = false\n").await;
    server.clock.advance(Duration::from_secs(5));
    for language in LANGUAGES {
        let mut visitor = ask(&server, language, "app", &[]).await;
        visitor.sign_in("fred@acme.test").await;
        assert!(visitor.says("Closed SA"), "{}", visitor.html());
        assert!(visitor.says(visitor.in_words("Suspended", "Suspensa")), "{}", visitor.html());
        assert!(!visitor.html().contains("value=\"closed\""), "{}", visitor.html());
        let flow = visitor.flow();
        let fields = [("flow", &*flow), ("step", "organization"), ("organization", "closed")];
        visitor.submit("/sign-in", &fields).await;
        visitor.follow().await;
        visitor.shows_either("Which organization is this for?", "Para qual organização?");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_person_goes_on_as_another_person() {
    let server = open().await;
    for language in LANGUAGES {
        let mut visitor = Visitor::open(&server, language, "/account").await;
        visitor.sign_in(BRUNO).await;
        let path = format!(
            "/connect/authorize?{}",
            asking("app", &[("organization", "acme"), ("prompt", "consent")])
        );
        visitor.go(&path).await;
        visitor.shows_either("Let app use your account?", "Autorizar app a usar a sua conta?");
        assert!(visitor.says(BRUNO), "{}", visitor.html());
        visitor.go(&visitor.link("/sign-in?from=")).await;
        visitor.shows_either("Sign in", "Entrar");
        visitor.sign_in(ANA).await;
        visitor.shows_either("Let app use your account?", "Autorizar app a usar a sua conta?");
        visitor.send("consent", &[("decision", "allow")]).await;
        let code = parameter(&visitor.moves_on_to(), "code").unwrap();
        let tokens = server.redeem("app", &code).await.json();
        let info = server.userinfo(text(&tokens["access_token"])).await.json();
        visitor.go("/account").await;
        visitor.shows("Ana");
        assert!(info["sub"].is_string(), "{info}");
        server.clock.advance(Duration::from_secs(5));
    }
    server.stop().await;
}

/// What a device was told.
async fn start(server: &TestServer, client: &str) -> (String, String) {
    let fields = [("client_id", client), ("scope", "openid invoices:read")];
    let answer = server.post("/connect/device", &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let said = answer.json();
    (text(&said["device_code"]).to_owned(), text(&said["user_code"]).to_owned())
}

async fn poll(server: &TestServer, code: &str) -> Answer {
    let fields = [("grant_type", GRANT), ("device_code", code), ("client_id", "tv")];
    server.post("/connect/token", &fields).await
}

#[tokio::test]
async fn a_device_is_connected_by_a_person_who_compares_its_code() {
    let server = open().await;
    server.apply(DEVICES).await;
    for language in LANGUAGES {
        let (device, user) = start(&server, "tv").await;
        let mut visitor = Visitor::open(&server, language, "/device").await;
        visitor.shows_either("Sign in", "Entrar");
        visitor.sign_in(ANA).await;
        visitor.shows_either("Connect a device", "Ligar um dispositivo");
        for wrong in ["BBBB-BBBB", "<script>", "x"] {
            visitor.send("user_code", &[("user_code", wrong)]).await;
            visitor.shows_either("Connect a device", "Ligar um dispositivo");
            let html = visitor.html();
            assert!(html.contains("aria-invalid=\"true\"") && !html.contains("<script>"), "{html}");
        }
        visitor.send("user_code", &[("user_code", &user.to_lowercase())]).await;
        visitor.shows_either("Connect Television?", "Ligar Television?");
        let warning = visitor.in_words("in front of you", "à sua frente");
        for said in [user.as_str(), "127.0.0.0/24", "Acme Lda", "invoices:read", warning] {
            assert!(visitor.says(said), "{said}: {}", visitor.html());
        }
        assert!(!visitor.html().contains("autofocus"), "{}", visitor.html());
        poll(&server, &device).await.refused(400, "authorization_pending");
        visitor.send("confirm", &[("decision", "allow")]).await;
        visitor.shows_either("Your device is connected", "O seu dispositivo está ligado");
        assert_eq!(poll(&server, &device).await.status, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_link_with_the_code_of_a_device_still_asks() {
    let server = open().await;
    server.apply(DEVICES).await;
    for language in LANGUAGES {
        // Without a session: the person signs in, and is asked.
        let (device, user) = start(&server, "tv").await;
        let path = format!("/device?user_code={user}");
        let mut visitor = Visitor::open(&server, language, &path).await;
        visitor.shows_either("Sign in", "Entrar");
        visitor.sign_in(ANA).await;
        visitor.shows_either("Connect Television?", "Ligar Television?");
        assert!(visitor.says(&user), "{}", visitor.html());
        poll(&server, &device).await.refused(400, "authorization_pending");
        visitor.send("confirm", &[("decision", "deny")]).await;
        visitor.shows_either("The device was not connected", "O dispositivo não foi ligado");
        poll(&server, &device).await.refused(400, "access_denied");

        // In a session: the code is filled in, and nothing is entered by the link.
        let (device, user) = start(&server, "tv").await;
        visitor.go("/account").await;
        visitor.sign_in(ANA).await;
        for _ in 0..12 {
            visitor.go("/device?user_code=BBBB-BBBB").await;
            visitor.shows_either("Connect a device", "Ligar um dispositivo");
        }
        visitor.go(&format!("/device?user_code={}", user.to_lowercase())).await;
        assert_eq!(visitor.form("user_code").field("user_code"), Some(&*user));
        let again = visitor.link("?flow=");
        assert!(again.contains("user_code="), "in another language as well: {again}");
        visitor.go("/device?user_code=%3Cscript%3E").await;
        assert!(!visitor.html().contains("<script>"), "{}", visitor.html());
        visitor.go(&format!("/device?user_code={user}")).await;
        visitor.send("user_code", &[]).await;
        visitor.shows_either("Connect Television?", "Ligar Television?");
        visitor.send("confirm", &[("decision", "allow")]).await;
        visitor.shows_either("Your device is connected", "O seu dispositivo está ligado");
        assert_eq!(poll(&server, &device).await.status, 200);
        visitor.go(&format!("/device?user_code={user}")).await;
        visitor.send("user_code", &[]).await;
        visitor.shows_either("Connect a device", "Ligar um dispositivo");
        assert!(
            visitor.html().contains("aria-invalid=\"true\""),
            "it was used: {}",
            visitor.html()
        );
    }

    server.stop().await;
}
