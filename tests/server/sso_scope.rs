//! What a sign-in by one organization's provider alone does not do (adr/0148): the organization may be hostile, and the person
//! belongs to others.

use crate::{
    authenticator::Authenticator,
    bounds::Copies,
    ciba::{AGENTS, BRUNO, decide, start, waiting},
    database::Database,
    http::Answer,
    mails::{begin, mails, names},
    me::{ask, get_in},
    person::{PASSWORD, parameter, redirect, text},
    shared::eventually,
    sso_attacks::{DORA, DORA_EVERYWHERE},
    sso_scene::{SUBJECT, Scene, connect, draft, link, link_in, options, session_of},
    support::TestOptions,
    tab::Tab,
    zone_server::ZoneServer,
};
use hyper::Method;
use porteiro::{
    domain::{Clock as _, connection::Draft, session::MOST_SESSIONS},
    http::limits::pace::Rates,
};
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";

/// Where guesses are limited as they usually are.
async fn limiting() -> Scene {
    let zone = ZoneServer::open().await;
    let options = TestOptions { rates: Some(Rates::default()), ..options(&zone) };
    Scene::open_in(zone, options).await
}

/// Tries a password in a flow of its own.
async fn try_password(scene: &Scene, email: &str, password: &str) -> Answer {
    let flow = begin(&scene.server, "sign_in").await;
    scene.server.step(&flow, "identifier", json!({ "identifier": email })).await;
    scene.server.step(&flow, "password", json!({ "password": password })).await
}

/// Uses up what may be guessed of a password.
async fn guess_passwords(scene: &Scene, email: &str) {
    for _ in 0..10 {
        let refused = try_password(scene, email, "a guess of some length").await;
        refused.problem(401, "invalid_credentials");
    }
    try_password(scene, email, PASSWORD).await.problem(429, "too_many_requests");
}

/// The state that a flow has come to.
fn state(answer: &Answer) -> Value {
    answer.json()["state"].clone()
}

/// Of each entry of a list one member.
async fn members(scene: &Scene, session: &str, path: &str, member: &str) -> Vec<Value> {
    let answer = get_in(&scene.server, session, path).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    let items = answer.json()["items"].clone();
    items.as_array().unwrap().iter().map(|item| item[member].clone()).collect()
}

#[tokio::test]
async fn a_provider_of_an_organization_forgives_no_guesses() {
    let scene = limiting().await;
    link(&scene.server, &scene.connection, SUBJECT, BRUNO).await;
    guess_passwords(&scene, BRUNO).await;
    session_of(&scene.sign_on().await);
    scene.server.quiet().await;
    try_password(&scene, BRUNO, PASSWORD).await.problem(429, "too_many_requests");
    // Nor does it with a second factor after it, which is right.
    scene.server.apply(DORA_EVERYWHERE).await;
    link(&scene.server, &scene.connection, "dora", DORA).await;
    scene.provider.claim("sub", json!("dora"));
    scene.server.clock.advance(Duration::from_secs(20));
    guess_passwords(&scene, DORA).await;
    let flow = scene.begin().await;
    let query = scene.answer_to(&flow).await;
    assert_eq!(state(&scene.bring(&flow, &query).await), "second_factor");
    let code = Authenticator::of_dora().code(scene.server.clock.now());
    session_of(&scene.server.step(&flow, "totp", json!({ "code": code })).await);
    scene.server.quiet().await;
    try_password(&scene, DORA, PASSWORD).await.problem(429, "too_many_requests");
}

#[tokio::test]
async fn guesses_of_a_second_factor_after_a_provider_close_it_for_that_organization_alone() {
    let scene = Scene::open().await;
    let server = &scene.server;
    server.apply(DORA_EVERYWHERE).await;
    link(server, &scene.connection, SUBJECT, DORA).await;
    let right = || Authenticator::of_dora().code(server.clock.now());
    // As many as are borne of one authenticator.
    for _ in 0..10 {
        let flow = scene.begin().await;
        let query = scene.answer_to(&flow).await;
        assert_eq!(state(&scene.bring(&flow, &query).await), "second_factor");
        let wrong = (0..).map(|number| format!("{number:06}")).filter(|one| *one != right());
        for code in wrong.take(10) {
            let refused = server.step(&flow, "totp", json!({ "code": code })).await;
            refused.problem(401, "invalid_credentials");
        }
    }
    let flow = scene.begin().await;
    let query = scene.answer_to(&flow).await;
    scene.bring(&flow, &query).await;
    let closed = server.step(&flow, "totp", json!({ "code": right() })).await;
    closed.problem(429, "too_many_requests");
    // Dora is not locked out of her account, nor of the other organization.
    let own = server.asks_second_factor(DORA).await;
    let done = server.step(&own, "totp", json!({ "code": right() })).await;
    assert_eq!(state(&done), "done", "{done:?}");
    // What she proves herself opens nothing for those who guess.
    server.clock.advance(Duration::from_mins(1));
    server.quiet().await;
    let closed = server.step(&flow, "totp", json!({ "code": right() })).await;
    closed.problem(429, "too_many_requests");
}

#[tokio::test]
async fn a_browser_that_comes_by_a_provider_is_no_device_of_the_account() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    let own = server.sign_in(ANA).await;
    let devices = async || get_in(server, &own, "/me/export").await.json()["known_devices"].clone();
    assert_eq!(devices().await, 1);
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    assert_eq!(scene.come_back(tab, &query).await.status, 303);
    assert!(tab.has("porteiro") && !tab.has("porteiro-known"), "{:?}", tab.cookies);
    server.quiet().await;
    assert_eq!(devices().await, 1, "it is none of them");
    assert_eq!(mails(server).await, Vec::<Value>::new(), "and alerts no one");
    // A device of the person's own is one, and is told of.
    let tab = &mut Tab::new(server);
    crate::screens_sign_in::signed_in(tab, ANA).await;
    assert!(tab.has("porteiro-known"));
    assert_eq!(devices().await, 2);
    crate::mails::wait_for(server, 1).await;
}

#[tokio::test]
async fn what_the_account_proved_in_a_session_stays_when_a_provider_is_added() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let own = server.sign_in(BRUNO).await;
    let headers = [("x-session-token", &*own)];
    let wish = json!({ "kind": "sign_in", "organization": "acme" });
    let flow = server.post_json("/flows", &wish, &headers).await.json();
    let query = scene.answer_to(&flow).await;
    let callback = format!("{}{}", server.issuer(), scene.callback(&query));
    let done = server.step_in(&own, &flow, "sso", json!({ "callback": callback })).await;
    let both = session_of(&done);
    let [current] = &members(&scene, &both, "/me/sessions", "current").await[..] else {
        panic!("the session goes on: {done:?}")
    };
    assert_eq!(*current, json!(true));
    // What it proved itself opens the other organization, and changes the account.
    let elsewhere = [("organization", "other"), ("scope", "openid")];
    let granted = server.authorize_in(&both, "web", &elsewhere).await;
    assert_eq!(state(&granted), "done", "{granted:?}");
    let renamed = ask(server, Method::GET, "/me/export", &[("x-session-token", &both)]).await;
    assert_eq!(renamed.status, 200, "the password is fresh: {renamed:?}");
    // What the provider said counts beside it, where that is required.
    scene.change(Draft { required: Some(true), ..Draft::default() }).await;
    let there = [("organization", "acme"), ("scope", "openid")];
    assert_eq!(state(&server.authorize_in(&both, "web", &there).await), "done");
}

/// Bruno, who has dealings with two organizations.
struct Both {
    scene: Scene,
    own: String,
    /// By acme's provider alone.
    scoped: String,
}

impl Both {
    async fn open() -> Self {
        let scene = Scene::open().await;
        let server = &scene.server;
        server.apply(AGENTS).await;
        link(server, &scene.connection, SUBJECT, BRUNO).await;
        let named = Some("Other Okta".to_owned());
        let theirs =
            Draft { organization: Some("other".to_owned()), name: named, ..draft(server.issuer()) };
        let other = connect(server, theirs, Some("a secret of some length")).await;
        link_in(server, ("other", &other), "bruno", BRUNO).await;
        let own = server.sign_in(BRUNO).await;
        for slug in ["acme", "other"] {
            let asked = [("organization", slug), ("scope", "openid")];
            let granted = server.authorize_in(&own, "web", &asked).await;
            let code = parameter(&redirect(&granted), "code").unwrap();
            assert_eq!(server.redeem("web", &code).await.status, 200);
            start(**server, "agent", BRUNO, &[("organization", slug)]).await;
        }
        let scoped = session_of(&scene.sign_on().await);
        Self { scene, own, scoped }
    }

    /// The id of the request that waits for an organization.
    async fn asked_by(&self, slug: &str) -> String {
        let items = waiting(&self.scene.server, &self.own).await;
        let found = items.iter().find(|item| item["organization"] == slug);
        text(&found.unwrap_or_else(|| panic!("{items:?}"))["id"]).to_owned()
    }
}

#[tokio::test]
async fn a_session_by_one_provider_sees_nothing_of_other_organizations() {
    let both = Both::open().await;
    let Both { scene, own, scoped } = &both;
    let server = &scene.server;
    for (path, member) in [
        ("/me/organizations", "slug"),
        ("/me/approvals", "organization"),
        ("/me/consents", "organization"),
    ] {
        let mut all = members(scene, own, path, member).await;
        all.sort_by_key(Value::to_string);
        assert_eq!(all, [json!("acme"), json!("other")], "{path}");
        assert_eq!(members(scene, scoped, path, member).await, [json!("acme")], "{path}");
    }
    // What clients hold hangs below the session in which it was granted.
    for (session, sees) in [(own, true), (scoped, false)] {
        let tree = get_in(server, session, "/me/delegations").await.json().to_string();
        let holds = |slug: &str| tree.contains(&format!("\"organization\":\"{slug}\""));
        assert!(holds("acme") && holds("other") == sees, "{tree}");
    }
    assert_eq!(members(scene, own, "/me/identities", "id").await.len(), 2);
    let linked = members(scene, scoped, "/me/identities", "connection").await;
    assert_eq!(linked, [json!({ "id": scene.connection, "name": "Acme Entra" })]);
    assert_eq!(members(scene, own, "/me/connections", "organization").await.len(), 2);
    let linkable = members(scene, scoped, "/me/connections", "organization").await;
    assert_eq!(linkable, [json!("acme")]);
    // Where else the person is signed in.
    assert_eq!(members(scene, own, "/me/sessions", "id").await.len(), 2);
    assert_eq!(members(scene, scoped, "/me/sessions", "current").await, [json!(true)]);
    let everything = members(scene, own, "/me/history", "organization").await;
    assert!(everything.contains(&json!("other")) && everything.contains(&Value::Null));
    let history = members(scene, scoped, "/me/history", "organization").await;
    assert!(!history.is_empty() && history.iter().all(|slug| slug == "acme"), "{history:?}");
    // A client that is blocked is blocked for every organization.
    let id = both.asked_by("other").await;
    let denied = json!({ "decision": "deny", "block": true });
    assert_eq!(decide(**server, own, &id, denied).await.status, 204);
    assert_eq!(members(scene, own, "/me/blocked-clients", "id").await.len(), 1);
    assert_eq!(members(scene, scoped, "/me/blocked-clients", "id").await.len(), 0);
}

#[tokio::test]
async fn a_session_by_one_provider_decides_nothing_of_other_organizations() {
    let both = Both::open().await;
    let Both { scene, own, scoped } = &both;
    let server = &scene.server;
    let id = both.asked_by("other").await;
    for decision in ["approve", "deny"] {
        let refused = decide(**server, scoped, &id, json!({ "decision": decision })).await;
        refused.problem(403, "step_up_required");
        let flow = refused.json()["flow"].clone();
        assert!(!names(&flow).contains(&"sso") && flow["client"].is_null(), "{flow}");
    }
    // In a flow it is shown once the account itself has proved something.
    let wish = json!({ "kind": "approval", "approval": id });
    let begun = server.post_json("/flows", &wish, &[("x-session-token", scoped)]).await.json();
    assert_eq!(begun["state"], "credential", "{begun}");
    assert!(begun["client"].is_null() && begun["approval"].is_null(), "{begun}");
    let confirm = json!({ "decision": "deny" });
    let early = server.step_in(scoped, &begun, "confirm", confirm.clone()).await;
    early.problem(409, "step_not_available");
    assert_eq!(both.asked_by("other").await, id, "it waits");
    let password = json!({ "password": PASSWORD });
    let shown = server.step_in(scoped, &begun, "password", password).await.json();
    assert_eq!(
        (&shown["state"], &shown["client"]["client_id"]),
        (&json!("confirm"), &json!("agent"))
    );
    // What its own organization is asked it decides, and not for all of them.
    let scoped = &session_of(&scene.sign_on().await);
    let of_acme = both.asked_by("acme").await;
    let block = json!({ "decision": "deny", "block": true });
    decide(**server, scoped, &of_acme, block).await.problem(403, "step_up_required");
    let denied = decide(**server, scoped, &of_acme, json!({ "decision": "deny" })).await;
    assert_eq!(denied.status, 204, "{denied:?}");
    // What ends or changes something of the account wants its own credential.
    let grants = get_in(server, own, "/me/consents").await.json();
    let grant = format!("/me/consents/{}", text(&grants["items"][0]["id"]));
    for (method, path, body) in [
        (Method::DELETE, &*grant, json!({})),
        (Method::DELETE, "/me/organizations/other", json!({})),
        (Method::PATCH, "/me", json!({ "given_name": "Mallory" })),
        (Method::POST, "/me/email/confirm", json!({ "code": "123456" })),
        (Method::POST, "/me/phone/confirm", json!({ "code": "123456" })),
    ] {
        let request = server.request(method.clone(), path).header("x-session-token", &**scoped);
        let request = request.header("content-type", "application/json");
        let answer = server.send(request.body(body.to_string().into()).unwrap()).await;
        assert_eq!(answer.json()["code"], "step_up_required", "{method} {path}: {answer:?}");
    }
}

#[tokio::test]
async fn the_choice_of_an_organization_names_the_one_whose_provider_said_who_it_is() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let (own, scoped) = (server.sign_in(BRUNO).await, session_of(&scene.sign_on().await));
    let asked = async |session: &str| {
        let asked = server.authorize_in(session, "web", &[("scope", "openid")]).await.json();
        assert_eq!(asked["state"], "organization", "{asked}");
        asked
    };
    let all = asked(&own).await;
    assert_eq!(all["organizations"].as_array().unwrap().len(), 2, "{all}");
    let named = asked(&scoped).await;
    let [only] = &named["organizations"].as_array().unwrap()[..] else { panic!("{named}") };
    assert_eq!(only["slug"], "acme");
    let chosen = |slug: &str| json!({ "organization": slug });
    let (other, unknown) = (chosen("other"), chosen("no-such-organization"));
    let other = server.step_in(&scoped, &named, "organization", other).await;
    let unknown = server.step_in(&scoped, &named, "organization", unknown).await;
    assert_eq!((other.status, &other.json()["code"]), (unknown.status, &unknown.json()["code"]));
    assert!(other.status.is_client_error(), "{other:?}");
    let done = server.step_in(&scoped, &named, "organization", chosen("acme")).await;
    assert_eq!(state(&done), "done", "{done:?}");
    // A client that names one is told nothing of whether the person belongs to it.
    let mut told = Vec::new();
    for slug in ["other", "no-such-organization"] {
        let asked = [("organization", slug), ("scope", "openid")];
        let asked = server.authorize_in(&scoped, "web", &asked).await.json();
        let parts = ["kind", "state", "assurance", "organizations", "consent", "result"];
        told.push(parts.map(|part| asked[part].clone()));
    }
    assert_eq!(told[0], told[1]);
}

#[tokio::test]
async fn pages_lead_a_person_who_came_by_one_provider_to_another_proof_first() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let tab = &mut Tab::new(server);
    let page = tab.open("/sign-in?organization=acme").await;
    let query = scene.leave(tab, &page).await;
    assert_eq!(scene.come_back(tab, &query).await.status, 303);
    let mut headings = Vec::new();
    for slug in ["other", "no-such-organization"] {
        let page = tab.open(&format!("/organization?organization={slug}")).await;
        assert!(!page.address.starts_with("/organization"), "{page:?}");
        headings.push((page.status, page.heading()));
    }
    assert_eq!(headings[0], headings[1], "whether they belong to it is not said");
    for path in ["/organization", "/account", "/account/applications"] {
        let page = tab.open(path).await;
        assert!(!page.text.contains("organization=other"), "{page:?}");
    }
}

#[tokio::test]
async fn a_provider_ends_no_sessions_but_those_that_rest_on_it() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let own = server.sign_in(BRUNO).await;
    server.clock.advance(Duration::from_secs(1));
    let first = session_of(&scene.sign_on().await);
    let mut database = Database::at(&server.url).await;
    let newest = "SELECT id FROM listings WHERE list = 'sessions' ORDER BY id DESC LIMIT 1";
    let [[of]] = &database.texts::<1>(newest).await[..] else { panic!("a session") };
    // They were used later than the others.
    let used = 999_999_999_999_999 - server.clock.now().millis() - 1;
    let rank = format!("SUBSTR(rank, 1, 17) || '{used:015}'");
    let count = MOST_SESSIONS as usize - 1;
    let words = ("~", "~");
    let copies = Copies { kind: "session", of, name: "other-", count, words, rank: &rank };
    copies.make(&mut database).await;
    let is_open = async |session: &str| get_in(server, session, "/me").await.status == 200;
    assert!(is_open(&own).await && is_open(&first).await, "a thousand are kept of each sort");
    // How many there were is used for a minute.
    server.clock.advance(Duration::from_mins(1));
    let last = session_of(&scene.sign_on().await);
    eventually("the longest unused of its sort has ended", async || {
        // What was read is used for less than a second.
        server.clock.advance(Duration::from_secs(1));
        !is_open(&first).await
    })
    .await;
    assert!(is_open(&own).await && is_open(&last).await, "the account's own are none of them");
}
