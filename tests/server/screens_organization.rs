//! `/organization`: what members see and change of their organization, in a browser without script.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    page_forms::{LANGUAGES, Visitor, open},
    person::text,
    shared::eventually,
    support::TestServer,
};
use hyper::Method;
use serde_json::Value;
use std::time::Duration;

pub const RITA: &str = "rita@acme.test";
pub const AT: &str = "/organization?organization=acme&section=";

/// An auditor of acme, and a person who belongs to two organizations.
const MORE: &str = r#"
[[account]]
email = "aldo@acme.test"
password = "correct horse battery staple"
memberships = [{ organization = "acme", roles = ["auditor"] }]

[[account]]
email = "duda@acme.test"
password = "correct horse battery staple"
memberships = [{ organization = "acme", roles = ["administrator"] }, { organization = "other", roles = ["administrator"] }]
"#;

pub async fn directory() -> TestServer {
    let server = open().await;
    server.apply(DIRECTORY).await;
    server.apply(MORE).await;
    server
}

pub async fn signed_in<'a>(
    server: &'a TestServer,
    language: &'static str,
    email: &str,
    path: &str,
) -> Visitor<'a> {
    Visitor::signed_in(server, language, email, ("/organization", path)).await
}

/// Sends the form of an operation with its hidden fields, and these.
pub async fn send(visitor: &mut Visitor<'_>, step: &str, filled: &[(&str, &str)]) {
    let form = visitor.form(step);
    let given = |name: &str| filled.iter().any(|(known, _)| *known == name);
    let kept = form.fields.iter().filter(|(name, _)| !name.starts_with("role.") && !given(name));
    let mut fields: Vec<(&str, &str)> =
        kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.extend(filled);
    visitor.submit(&form.action, &fields).await;
    visitor.follow().await;
}

#[tokio::test]
async fn each_section_is_there_for_an_administrator_in_both_languages() {
    let server = directory().await;
    for language in LANGUAGES {
        let mut visitor = signed_in(&server, language, RITA, "/organization").await;
        for (section, english, portuguese, says) in [
            ("members", "Members", "Membros", RITA),
            ("invitations", "Invitations", "Convites", ""),
            ("roles", "Roles", "Funções", "invoices:*"),
            ("keys", "API keys", "Chaves de API", ""),
            ("scim", "Directory", "Diretório", "/scim/v2/acme"),
            ("clients", "Applications", "Aplicações", "robot"),
            ("domains", "Domains", "Domínios", ""),
            ("trail", "Trail", "Histórico", "membership"),
            ("data", "Data", "Dados", ""),
        ] {
            visitor.go(&visitor.link(&format!("{AT}{section}"))).await;
            assert_eq!(visitor.answer.status, 200);
            visitor.shows("Acme Lda");
            let title = visitor.in_words(english, portuguese);
            let heading = format!("<h2 id=\"section-title\">{title}</h2>");
            assert!(visitor.html().contains(&heading), "{}", visitor.html());
            assert!(visitor.says(says), "{section}: {}", visitor.html());
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_section_and_its_forms_are_there_only_with_the_permission() {
    let server = directory().await;
    let mut visitor = signed_in(&server, "en", "aldo@acme.test", "/organization").await;
    assert!(visitor.html().contains("section=trail"), "{}", visitor.html());
    for section in ["members", "invitations", "roles", "keys", "clients", "domains", "data"] {
        visitor.go(&format!("{AT}trail")).await;
        assert!(!visitor.html().contains(&format!("section={section}")), "{section}");
        visitor.go(&format!("{AT}{section}")).await;
        assert_eq!(visitor.answer.status, 403, "{section}");
        assert!(visitor.says("You do not hold the permission for this."), "{}", visitor.html());
        assert!(!visitor.says(RITA), "{}", visitor.html());
    }
    // A form that is made by hand meets the same guard.
    for (step, field) in [
        ("createInvitation", ("email", "eva@acme.test")),
        ("putRole", ("permissions", "audit:read")),
        ("createApiKey", ("permissions", "audit:read")),
        ("deleteRole", ("tag", "*")),
        ("addDomain", ("domain", "acme.test")),
        ("verifyDomain", ("tag", "*")),
        ("removeDomain", ("tag", "*")),
    ] {
        let fields =
            [("organization", "acme"), ("section", "trail"), ("step", step), ("id", "auditor")];
        let fields: Vec<(&str, &str)> = fields.into_iter().chain([field]).collect();
        visitor.submit("/organization", &fields).await;
        visitor.follow().await;
        assert_eq!(visitor.answer.status, 200);
        assert!(visitor.says("You do not hold the permission for this."), "{step}");
    }
    visitor.go(&format!("{AT}trail&event=api.refused")).await;
    assert!(visitor.says("createInvitation"), "it is in the trail: {}", visitor.html());
    for step in ["changeOrganization", "listMembers", "nothing", ""] {
        let fields = [("organization", "acme"), ("section", "trail"), ("step", step)];
        visitor.submit("/organization", &fields).await;
        visitor.follow().await;
        assert!(visitor.html().contains("id=\"error\""), "{step}: {}", visitor.html());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_person_without_permission_or_organization_is_told_so() {
    let server = directory().await;
    let visitor = signed_in(&server, "en", "ana@acme.test", "/organization").await;
    visitor.shows("Acme Lda");
    assert!(visitor.says("You hold no permission to look after this organization."));
    assert!(!visitor.html().contains("section="), "{}", visitor.html());
    let mut visitor = signed_in(&server, "pt", "clara@nowhere.test", "/organization").await;
    visitor.shows("As suas organizações");
    let mut pages = Vec::new();
    for slug in ["acme", "other", "no-such", "a%22%3E%3Cscript%3E"] {
        visitor.go(&format!("/organization?organization={slug}")).await;
        assert_eq!(visitor.answer.status, 404, "{slug}");
        pages.push(visitor.title());
        let fields = [("organization", slug), ("step", "listMembers")];
        visitor.submit("/organization", &fields).await;
        assert_eq!(visitor.answer.status, 404, "{slug}");
    }
    assert!(pages.iter().all(|title| *title == pages[0]), "{pages:?}");
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_changes_roles_and_ends_a_membership() {
    let server = directory().await;
    let api = Api::of(&server, RITA, EVERYTHING).await;
    let path = "/api/organizations/acme/members?email=bruno@acme.test";
    let bruno = async || api.get(path).await.json()["items"][0].clone();
    let id = text(&bruno().await["id"]).to_owned();
    let one = format!("{AT}members&id={id}");
    let mut visitor = signed_in(&server, "en", RITA, &one).await;
    let old = visitor.form("changeMember");
    send(&mut visitor, "changeMember", &[("role.auditor", "on"), ("role.clerk", "on")]).await;
    // An auditor reads the trail, which Rita may.
    assert!(visitor.says("Done."), "{}", visitor.html());
    assert_eq!(bruno().await["roles"], serde_json::json!(["auditor", "clerk"]));
    // The page that was opened before shows what was.
    let stale: Vec<(&str, &str)> = old.fields.iter().map(|(n, v)| (&**n, &**v)).collect();
    visitor.submit("/organization", &stale).await;
    visitor.follow().await;
    assert!(visitor.says("It has changed since"), "{}", visitor.html());
    visitor.go(&one).await;
    send(&mut visitor, "changeMember", &[("role.clerk", "on"), ("role.manager", "on")]).await;
    assert!(visitor.says("Only what you hold yourself can be given."), "{}", visitor.html());
    send(&mut visitor, "changeMember", &[("roles", "clerk no-such")]).await;
    assert!(visitor.says("Check this field: Roles."), "{}", visitor.html());
    send(&mut visitor, "changeMember", &[("enabled", "false")]).await;
    assert_eq!(bruno().await["enabled"], false);
    assert!(visitor.says("Ended"), "{}", visitor.html());
    visitor.go(&one).await;
    send(&mut visitor, "changeMember", &[("enabled", "true")]).await;
    assert_eq!(bruno().await["enabled"], true);
    visitor.go(&format!("{AT}members&id=no-such")).await;
    assert_eq!(visitor.answer.status, 404);
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_invites_and_withdraws() {
    let server = directory().await;
    let mut visitor = signed_in(&server, "en", RITA, &format!("{AT}invitations")).await;
    let eva = ("email", "eva@acme.test");
    send(&mut visitor, "createInvitation", &[eva, ("role.manager", "on")]).await;
    assert!(visitor.says("Only what you hold yourself can be given."), "{}", visitor.html());
    send(&mut visitor, "createInvitation", &[("email", "nowhere")]).await;
    assert!(visitor.says("Check this field: E-mail."), "{}", visitor.html());
    let before = visitor.mails().await;
    send(&mut visitor, "createInvitation", &[eva, ("role.clerk", "on")]).await;
    assert!(visitor.says("Done.") && visitor.says("eva@acme.test"), "{}", visitor.html());
    assert_eq!(visitor.mails().await, before + 1);
    send(&mut visitor, "withdrawInvitation", &[]).await;
    assert!(visitor.says("Done.") && !visitor.says("eva@acme.test"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn on_the_page_a_person_passes_on_what_they_hold() {
    let server = directory().await;
    let mut visitor = signed_in(&server, "en", RITA, &format!("{AT}invitations")).await;
    let eva = ("email", "eva@acme.test");
    send(&mut visitor, "createInvitation", &[eva, ("role.administrator", "on")]).await;
    assert!(visitor.says("Done.") && visitor.says("eva@acme.test"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_makes_changes_and_removes_a_role() {
    let server = directory().await;
    let mut visitor = signed_in(&server, "en", RITA, &format!("{AT}roles")).await;
    let reader = ("id", "reader");
    for (fields, says) in [
        ([reader, ("permissions", "payments:read")], "Only what you hold yourself"),
        ([reader, ("permissions", "*")], "Check this field: Permissions."),
        ([("id", "A role"), ("permissions", "audit:read")], "Check this field: Name."),
        ([("id", "clerk"), ("permissions", "audit:read")], "There is one of that name already."),
    ] {
        send(&mut visitor, "putRole", &fields).await;
        assert!(visitor.says(says), "{says}: {}", visitor.html());
    }
    let both = ("permissions", "audit:read\r\ninvoices:read");
    send(&mut visitor, "putRole", &[reader, both]).await;
    assert!(visitor.says("Done."), "{}", visitor.html());
    visitor.go(&visitor.link(&format!("{AT}roles&id=reader"))).await;
    assert!(visitor.html().contains("audit:read\ninvoices:read</textarea>"), "{}", visitor.html());
    send(&mut visitor, "putRole", &[("permissions", "audit:read")]).await;
    visitor.go(&visitor.link(&format!("{AT}roles&id=reader"))).await;
    assert!(!visitor.html().contains("invoices:read</textarea>"), "{}", visitor.html());
    send(&mut visitor, "deleteRole", &[]).await;
    assert!(visitor.says("Done.") && !visitor.html().contains("id=reader"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn a_key_is_shown_once_works_is_replaced_and_revoked() {
    let server = directory().await;
    let mut visitor = signed_in(&server, "en", RITA, &format!("{AT}keys")).await;
    let name = ("name", "<b>Nightly</b>");
    send(&mut visitor, "createApiKey", &[name, ("permissions", "scim:provision")]).await;
    assert!(visitor.says("Only what you hold yourself can be given."), "{}", visitor.html());
    let ends = ("expires_at", "never");
    send(&mut visitor, "createApiKey", &[name, ("permissions", "audit:read"), ends]).await;
    assert!(visitor.says("Check this field: Good until (optional)."), "{}", visitor.html());
    let shown = |visitor: &Visitor<'_>| {
        visitor.shows("Keep this key");
        let html = visitor.html();
        html.split_once("id=\"key\">").unwrap().1.split('<').next().unwrap().to_owned()
    };
    send(&mut visitor, "createApiKey", &[name, ("permissions", "audit:read")]).await;
    let first = shown(&visitor);
    assert!(!visitor.html().contains("<b>Nightly"), "{}", visitor.html());
    let works = async |key: &str| {
        let api = Api { server: &server, token: key.to_owned(), reason: None };
        api.get("/api/organizations/acme/audit").await.status.as_u16()
    };
    assert_eq!(works(&first).await, 200);
    // The use is noted after the answer, and is a change of the key.
    let rita = Api::of(&server, RITA, "apikeys:read").await;
    eventually("the use of the key is noted", async || {
        let keys = rita.get("/api/organizations/acme/apikeys").await.json();
        keys["items"][0]["last_used_at"].is_string()
    })
    .await;
    visitor.go(&visitor.link(&format!("{AT}keys"))).await;
    assert!(!visitor.html().contains(&first) && visitor.says("<b>Nightly</b>"));
    send(&mut visitor, "rotateApiKey", &[("overlap", "0")]).await;
    let second = shown(&visitor);
    assert_eq!((works(&first).await, works(&second).await), (401, 200));
    visitor.go(&format!("{AT}keys")).await;
    send(&mut visitor, "revokeApiKey", &[]).await;
    assert!(visitor.says("Revoked"), "{}", visitor.html());
    assert!(!visitor.has_form("rotateApiKey") && works(&second).await == 401);
    server.stop().await;
}

#[tokio::test]
async fn the_trail_is_filtered_and_downloaded_as_json_lines() {
    let server = directory().await;
    let mut visitor = signed_in(&server, "en", "aldo@acme.test", &format!("{AT}trail")).await;
    let all = visitor.html().matches("<time ").count();
    assert!(all > 0, "{}", visitor.html());
    visitor.go(&format!("{AT}trail&event=no.such")).await;
    assert!(visitor.says("There is nothing here."), "{}", visitor.html());
    visitor.go(&format!("{AT}trail&since=2999-01-01")).await;
    assert!(visitor.says("There is nothing here."), "{}", visitor.html());
    for day in ["soon", "%22%3E%3Cscript%3E"] {
        visitor.go(&format!("{AT}trail&since={day}")).await;
        assert_eq!(visitor.answer.status, 400, "{day}");
        assert!(visitor.says("Check this field: From."), "{}", visitor.html());
    }
    visitor.go(&format!("{AT}trail&until=2999-01-01")).await;
    visitor.go(&visitor.link(&format!("{AT}trail&export="))).await;
    assert_eq!(visitor.answer.header("content-type"), Some("application/jsonl"));
    let saved = visitor.answer.header("content-disposition").unwrap();
    assert_eq!(saved, "attachment; filename=\"audit.jsonl\"");
    let text = visitor.answer.text();
    let lines: Vec<Value> = text.lines().map(|one| serde_json::from_str(one).unwrap()).collect();
    assert!(lines.len() >= all && lines.iter().all(|one| one["event"].is_string()), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn a_person_in_several_organizations_chooses_and_a_suspended_one_offers_nothing() {
    let server = directory().await;
    server.apply("[[organization]]\nslug = \"other\"\nname = \"<i>Other</i> & co\"\n").await;
    let mut visitor = signed_in(&server, "en", "duda@acme.test", "/account").await;
    visitor.go("/account/organizations").await;
    visitor.link("/organization?organization=acme");
    visitor.go("/organization").await;
    visitor.shows("Your organizations");
    assert!(visitor.says("<i>Other</i> & co"), "{}", visitor.html());
    assert!(!visitor.html().contains("<i>"), "{}", visitor.html());
    visitor.go(&visitor.link("/organization?organization=other")).await;
    visitor.shows("<i>Other</i> & co");
    // What is acme's is not there under the name of another.
    let acme = Api::of(&server, RITA, EVERYTHING).await;
    let rita = acme.get(&format!("/api/organizations/acme/members?email={RITA}")).await.json();
    let rita = text(&rita["items"][0]["id"]).to_owned();
    visitor.go(&format!("/organization?organization=other&section=members&id={rita}")).await;
    assert_eq!(visitor.answer.status, 404);
    let fields = [
        ("organization", "other"),
        ("section", "members"),
        ("step", "changeMember"),
        ("id", &rita),
        ("tag", "*"),
        ("enabled", "false"),
    ];
    visitor.submit("/organization", &fields).await;
    visitor.follow().await;
    assert!(visitor.says("It is not there, or no more."), "{}", visitor.html());
    assert_eq!(acme.get("/api/organizations/acme").await.status, 200, "Rita is a member");
    server.apply("[[organization]]\nslug = \"other\"\nenabled = false\n").await;
    visitor.go("/organization?organization=other&section=members").await;
    visitor.shows("This organization is suspended");
    assert!(visitor.forms().is_empty() && !visitor.html().contains("class=\"nav\""));
    visitor.submit("/organization", &fields).await;
    assert_eq!(visitor.answer.status, 403);
    visitor.go("/organization").await;
    assert!(visitor.says("Suspended"), "{}", visitor.html());
    server.stop().await;
}

#[tokio::test]
async fn a_change_needs_a_fresh_proof_and_a_form_of_our_own() {
    let server = directory().await;
    let mut visitor = signed_in(&server, "en", RITA, &format!("{AT}invitations")).await;
    let form = visitor.form("createInvitation");
    let mut fields: Vec<(&str, &str)> = form.fields.iter().map(|(n, v)| (&**n, &**v)).collect();
    fields.retain(|(name, _)| *name != "email" && !name.starts_with("role."));
    fields.push(("email", "eva@acme.test"));
    let request = server
        .request(Method::POST, "/organization")
        .header("origin", "https://evil.test")
        .header("sec-fetch-site", "cross-site")
        .header("cookie", visitor.cookie_line())
        .header("content-type", "application/x-www-form-urlencoded");
    let foreign = server.send(request.body(crate::support::form(&fields)).unwrap()).await;
    assert_eq!(foreign.status, 403);
    server.clock.advance(Duration::from_mins(20));
    visitor.submit(&form.action, &fields).await;
    assert_eq!(visitor.answer.status, 303);
    visitor.follow().await;
    assert!(visitor.at.starts_with("/sign-in?flow="), "{}", visitor.at);
    visitor.go(&format!("{AT}invitations")).await;
    assert!(!visitor.says("eva@acme.test") && !visitor.has_form("createInvitation"));
    // The proof is begun on a page, and comes back to it.
    visitor.go(&format!("{AT}roles&id=clerk")).await;
    send(&mut visitor, "prove", &[]).await;
    visitor.send("password", &[("password", crate::person::PASSWORD)]).await;
    assert_eq!(visitor.at, format!("{AT}roles&id=clerk"));
    assert!(visitor.has_form("putRole"), "{}", visitor.html());
    visitor.go(&format!("{AT}invitations")).await;
    send(&mut visitor, "createInvitation", &[("email", "eva@acme.test")]).await;
    assert!(visitor.says("Done.") && visitor.says("eva@acme.test"), "{}", visitor.html());
    // Without a session the page is a sign-in.
    let mut stranger = Visitor::open(&server, "en", &format!("{AT}members")).await;
    stranger.shows("Sign in");
    stranger.submit(&form.action, &fields).await;
    stranger.follow().await;
    stranger.shows("Sign in");
    server.stop().await;
}
