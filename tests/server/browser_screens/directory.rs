//! People who look after their account, and administrators who look after their organization.

use super::{
    ANA,
    visitor::{
        Look::{Dark, Light, Narrow},
        Visitor,
    },
};
use crate::{
    api_caller::DIRECTORY,
    me_connected::consented,
    person::{PASSWORD, text},
    scim_caller::{Scim, USER, refused},
    support::TestServer,
};
use porteiro::domain::{
    Clock as _, Context, DomainName,
    account::EMAIL_ADDRESSES,
    connection::{CONNECTION_NAMES, within},
    domain_claim::{
        self, CLAIMED_DOMAINS, DomainClaim, Finding, LOST_AFTER_MISSING, Order, claimed_name,
    },
    external_identity::{Cause, Command, ExternalIdentity, Linked},
    organization::Organization,
};
use serde_json::{Value, json};

const RITA: &str = "rita@acme.test";

/// A person in two organizations.
const MEMBERSHIPS: &str = r#"
[[account]]
email = "ana@acme.test"
memberships = [{ organization = "acme", roles = ["manager"] }, { organization = "other", roles = [] }]
"#;

/// Other providers, of their organization and of none.
const PROVIDERS: &str = r#"
[[organization]]
slug = "acme"
  [[organization.connection]]
  name = "Acme Entra"
  kind = "oidc"
  issuer = "https://login.acme.test"
  client_id = "porteiro"

[[connection]]
name = "GitHub"
kind = "github"
issuer = "https://github.com"
client_id = "porteiro"
"#;

/// Has Ana linked with what she is at the provider of her organization.
async fn link(server: &TestServer) {
    server.apply(PROVIDERS).await;
    let store = server.running().system().store();
    let found = async |space, name: &str| store.find(space, name).await.unwrap().unwrap().1;
    let linked = Linked {
        id: "00000000-0000-4000-8000-000000000001".to_owned(),
        account: found(EMAIL_ADDRESSES, ANA).await,
        organization: Some("acme".to_owned()),
        connection: found(CONNECTION_NAMES, &within(Some("acme"), "Acme Entra")).await,
        subject: "00u1a2b3c4".to_owned(),
        linked_at: server.clock.now(),
    };
    let mut commit = server.running().system().multi_commit(&Context::operator());
    let (id, linked) = (linked.id.clone(), Box::new(linked));
    let link = Command::Link { linked, cause: Cause::Person };
    commit.decide::<ExternalIdentity>(&id, &link).await.unwrap().unwrap();
    commit.commit().await.unwrap();
}

/// What the page of this address says, asked for by the browser.
const FETCHED: &str = "
    const [address, done] = arguments;
    fetch(address).then(async (answer) => done([
        answer.status, answer.headers.get('content-disposition'), await answer.text(),
    ]), (error) => done([0, String(error), '']));";

impl Visitor {
    /// Presses what stands in the main part of a page, and waits for the page of this path.
    async fn presses(&self, css: &str, path: &str) {
        let marked = "document.documentElement.dataset.left = 'no'";
        self.browser.evaluate(marked).await;
        self.browser.press(css).await;
        self.until("document.documentElement.dataset.left ?? 'yes'", "yes").await;
        self.is_at(path).await;
    }

    /// Waits until the page says that it is done.
    async fn is_done(&self) {
        self.until("String(document.querySelector('.note[role=status]') !== null)", "true").await;
    }
}

#[tokio::test]
async fn a_person_looks_after_their_account() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    // Elsewhere the person is signed in as well, and has let an application in.
    let session = server.sign_in(ANA).await;
    consented(server, &session).await;
    server.apply(MEMBERSHIPS).await;
    server
        .apply("[[organization]]\nslug = \"other\"\nname = \"Vale Têxtil\"\nenabled = false\n")
        .await;
    visitor.open("/account").await;
    visitor.sees("Sign in").await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.is_at("/account").await;
    browser.fill("#given_name", "Ana").await;
    browser.fill("#family_name", "Marques").await;
    visitor.presses("form:has([value=describe]) .primary", "/account").await;
    visitor.sees("Ana Marques").await;
    visitor.look("account-profile", &[Light, Narrow]).await;
    link(server).await;
    visitor.open("/account/security").await;
    visitor.look("account-security", &[Light, Narrow]).await;
    visitor.presses("main a[href*='do=set_password']", "/account/security").await;
    visitor.sees("Choose a password").await;
    visitor.look("account-act", &[Light]).await;

    visitor.open("/account/sessions").await;
    visitor.look("account-sessions", &[Light, Dark]).await;
    visitor.presses("main li:last-child form button", "/account/sessions").await;
    visitor.is_done().await;
    let left = "return document.querySelectorAll('main li').length";
    assert_eq!(browser.evaluate(left).await, 1);

    visitor.open("/account/applications").await;
    visitor.look("account-applications", &[Light]).await;
    visitor.presses("main li form button", "/account/applications").await;
    visitor.is_done().await;
    assert_eq!(browser.evaluate(left).await, 0);

    visitor.open("/account/organizations").await;
    visitor.look("account-organizations", &[Light]).await;
    visitor.presses("main a[href*='do=leave']", "/account/organizations").await;
    visitor.sees("Leave the organization?").await;
    visitor.look("account-leave", &[]).await;
    visitor.presses("main form button", "/account/organizations").await;
    visitor.is_done().await;
    assert_eq!(browser.evaluate(left).await, 1, "the suspended one is left");

    visitor.open("/account/history").await;
    visitor.look("account-history", &[Light, Narrow]).await;
    visitor.open("/account/data").await;
    visitor.look("account-data", &[Light]).await;
    let link = browser.evaluate("return document.querySelector('a[href*=export]').href").await;
    let got = browser.run(FETCHED, &link).await;
    assert_eq!((&got[0], text(&got[1])), (&200.into(), "attachment; filename=\"account.json\""));
    let export: Value = serde_json::from_str(text(&got[2])).unwrap();
    assert_eq!(export["account"]["family_name"], "Marques");
    visitor.leave().await;
}

#[tokio::test]
async fn an_administrator_looks_after_an_organization() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    server.apply(DIRECTORY).await;
    let section = |name: &str| format!("/organization?organization=acme&section={name}");
    visitor.open("/sign-in").await;
    visitor.sees("Sign in").await;
    visitor.sign_in(RITA, PASSWORD).await;
    visitor.is_at("/account").await;
    visitor.look("account-administrator", &[Light, Narrow]).await;
    visitor.presses("nav a[href='/organization']", "/organization").await;

    visitor.open(&section("invitations")).await;
    browser.fill("#email", "dinis@acme.test").await;
    browser.press("#role-clerk").await;
    visitor.presses("main form:has(#email) .primary", "/organization").await;
    visitor.is_done().await;
    visitor.look("organization-invitations", &[Light]).await;

    visitor.open(&section("roles")).await;
    browser.fill("#id", "reader").await;
    browser.fill("#permissions", "audit:read").await;
    visitor.presses("main form:has(#id) .primary", "/organization").await;
    visitor.is_done().await;
    visitor.look("organization-roles", &[Light]).await;

    visitor.open(&section("members")).await;
    visitor.look("organization-members", &[Light, Dark, Narrow]).await;
    let one = "return [...document.querySelectorAll('main li')]
        .find((one) => one.innerText.includes('bruno@acme.test')).querySelector('a').getAttribute('href')";
    let one = browser.evaluate(one).await;
    visitor.open(text(&one)).await;
    browser.press("#role-reader").await;
    visitor.look("organization-member", &[]).await;
    browser.press("#role-reader").await;
    visitor.presses("main form:has(#role-reader) .primary", "/organization").await;
    visitor.is_done().await;

    visitor.open(&section("keys")).await;
    browser.fill("#name", "Nightly export").await;
    browser.fill("#permissions", "audit:read").await;
    visitor.presses("main form:has(#name) .primary", "/organization").await;
    visitor.sees("Keep this key").await;
    let key = browser.evaluate("return document.querySelector('#key').innerText").await;
    visitor.presses("main .primary", "/organization").await;
    let again = browser.evaluate("return document.body.innerText").await;
    assert!(text(&again).contains("Nightly export") && !text(&again).contains(text(&key)));
    visitor.look("organization-keys", &[Light, Narrow]).await;

    visitor.open(&section("domains")).await;
    browser.fill("#domain", "acme.test").await;
    visitor.presses("main form:has(#domain) .primary", "/organization").await;
    visitor.is_done().await;
    visitor.look("organization-domains", &[Light, Narrow]).await;

    let connection = "[[organization]]\nslug = \"acme\"\n[[organization.connection]]\nname = \"Acme Entra\"\n\
        kind = \"oidc\"\nissuer = \"https://login.acme.test\"\nclient_id = \"porteiro\"\n";
    visitor.server.apply(connection).await;
    visitor.open(&section("connections")).await;
    visitor.look("organization-connections", &[Light]).await;
    let one = "return document.querySelector('main li a').getAttribute('href')";
    visitor.open(text(&browser.evaluate(one).await)).await;
    visitor.look("organization-connection", &[Light, Narrow]).await;

    visitor.open(&section("data")).await;
    visitor.look("organization-data", &[Light]).await;

    visitor.open(&section("trail")).await;
    browser.fill("#event", "apikey.created").await;
    visitor.presses("main form:has(#event) button", "/organization").await;
    let shown = "return document.querySelectorAll('main li').length";
    assert_eq!(browser.evaluate(shown).await, 1);
    visitor.look("organization-trail", &[Light, Narrow]).await;
    let link = browser.evaluate("return document.querySelector('a[href*=export]').href").await;
    let got = browser.run(FETCHED, &link).await;
    assert_eq!((&got[0], text(&got[1])), (&200.into(), "attachment; filename=\"audit.jsonl\""));
    assert_eq!(text(&got[2]).lines().count(), 1, "{got}");
    visitor.leave().await;
}

/// Has acme prove a domain of each state, as a server with a zone would.
async fn prove(server: &TestServer) {
    let domains = ["verified.test", "missing.test", "lost.example.test"];
    let rows = domains.map(|one| format!("[[organization.domain]]\ndomain = \"{one}\"\n"));
    server.apply(&format!("[[organization]]\nslug = \"acme\"\n{}", rows.concat())).await;
    let system = server.running().system();
    let store = system.store();
    for domain in domains {
        let name = claimed_name("acme", &DomainName::parse(domain).unwrap());
        let (_, id) = store.find(CLAIMED_DOMAINS, &name).await.unwrap().unwrap();
        let mut commit = system.multi_commit(&Context::operator());
        let home = commit.look::<Organization>("acme").await.unwrap().known().unwrap().clone();
        let verify = domain_claim::Command::order(Order::Verify(Finding::Found), &home);
        commit.decide::<DomainClaim>(&id, &verify).await.unwrap().unwrap();
        if domain != "verified.test" {
            let missing = domain_claim::Command::Checked(Finding::Missing);
            commit.decide::<DomainClaim>(&id, &missing).await.unwrap().unwrap();
        }
        commit.commit().await.unwrap();
    }
    server.clock.advance(LOST_AFTER_MISSING);
    let name = claimed_name("acme", &DomainName::parse("lost.example.test").unwrap());
    let (_, id) = store.find(CLAIMED_DOMAINS, &name).await.unwrap().unwrap();
    let mut commit = system.multi_commit(&Context::operator());
    let missing = domain_claim::Command::Checked(Finding::Missing);
    commit.decide::<DomainClaim>(&id, &missing).await.unwrap().unwrap();
    commit.commit().await.unwrap();
}

#[tokio::test]
async fn an_administrator_sees_how_domains_directories_and_providers_stand() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    server.apply(DIRECTORY).await;
    server.apply(PROVIDERS).await;
    prove(server).await;
    let scim = Scim::of(server, "acme").await;
    let user = scim.user("eva@far.test").await;
    let again = json!({ "schemas": [USER], "userName": "EVA@far.test" });
    refused(&scim.post("/Users", &again).await, 409, Some("uniqueness"));
    scim.group("Night Shift", &[]).await;
    assert_eq!(scim.delete(&user).await.status, 204);
    let section = |name: &str| format!("/organization?organization=acme&section={name}");
    visitor.open("/sign-in").await;
    visitor.sees("Sign in").await;
    visitor.sign_in(RITA, PASSWORD).await;
    visitor.is_at("/account").await;
    for (tongue, told) in [("en", "scim/v2/acme"), ("pt", "Endereço a colar no diretório")] {
        visitor.open(&section("scim")).await;
        if tongue == "pt" {
            browser.press("footer a[hreflang=pt]").await;
            visitor.until("document.documentElement.lang", "pt").await;
        }
        let page = browser.evaluate("return document.querySelector('main').innerText").await;
        assert!(text(&page).contains(told) && text(&page).contains("api.refused"), "{page}");
        visitor.look(&format!("organization-directory.{tongue}"), &[Light, Narrow]).await;
        visitor.open(&section("domains")).await;
        visitor.look(&format!("organization-domain-states.{tongue}"), &[Light, Narrow]).await;
        visitor.open(&section("connections")).await;
        visitor.look(&format!("organization-connections.{tongue}"), &[Light, Narrow]).await;
        let one = "return document.querySelector('main li a').getAttribute('href')";
        visitor.open(text(&browser.evaluate(one).await)).await;
        visitor.look(&format!("organization-connection.{tongue}"), &[Light, Narrow]).await;
        visitor.open(&section("data")).await;
        visitor.look(&format!("organization-data.{tongue}"), &[Narrow]).await;
    }
    visitor.leave().await;
}
