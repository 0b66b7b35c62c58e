//! Sign-out across providers: theirs ends what rests on it here (Back-Channel Logout), ours leads on to theirs
//! (RP-Initiated Logout).

use crate::{
    bounds::Copies,
    database::Database,
    http::Answer,
    me::get_in,
    person::{asking, text},
    sso_scene::{SUBJECT, Scene, link, moves_on_to, options, parameters, session_of},
    support::TestServer,
    tab::Tab,
    upstream_provider::{METADATA, new_signer},
};
use porteiro::domain::Clock as _;
use serde_json::{Map, Value, json};

const BRUNO: &str = "bruno@acme.test";

impl Scene {
    /// What a logout token of the provider says; `null` leaves a claim out.
    fn notice(&self, jti: &str, otherwise: &Value) -> Value {
        let now = self.server.clock.now().seconds();
        let mut claims: Map<String, Value> = serde_json::from_value(json!({
            "iss": self.provider.issuer, "aud": "porteiro", "iat": now, "exp": now + 120,
            "jti": jti, "sub": SUBJECT,
            "events": { "http://schemas.openid.net/event/backchannel-logout": {} },
        }))
        .unwrap();
        claims.extend(otherwise.as_object().unwrap().clone());
        claims.retain(|_, value| !value.is_null());
        claims.into()
    }

    fn sign(&self, claims: &Value) -> String {
        self.provider.state().signer.sign("logout+jwt", claims).unwrap()
    }

    async fn tell(&self, node: &TestServer, token: &str) -> Answer {
        let path = format!("/connect/sso/{}/logout", self.connection);
        let answer = node.post(&path, &[("logout_token", token)]).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
        answer
    }
}

async fn is_open(node: &TestServer, session: &str) -> bool {
    get_in(node, session, "/me/organizations").await.status == 200
}

#[tokio::test]
async fn a_logout_there_ends_what_rests_on_it_here_on_every_node_and_nothing_else() {
    let scene = Scene::open().await;
    let server = &scene.server;
    let second = server.beside(options(&scene.zone)).await;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let own = server.sign_in(BRUNO).await;
    let mut sessions = Vec::new();
    for sid in ["s1", "s2", "s3"] {
        scene.provider.claim("sid", json!(sid));
        sessions.push(session_of(&scene.sign_on().await));
    }
    scene.provider.claim("sid", json!("s1"));
    let tokens = scene.tokens("openid invoices:read").await;
    let access = text(&tokens["access_token"]).to_owned();
    for session in &sessions {
        assert!(is_open(server, session).await && is_open(&second, session).await);
    }
    // One session by its name, told to one node and seen by the other at the next request.
    let token = scene.sign(&scene.notice("one", &json!({ "sid": "s1" })));
    assert_eq!(scene.tell(&second, &token).await.status, 200);
    assert!(!is_open(server, &sessions[0]).await && !is_open(&second, &sessions[0]).await);
    assert!(is_open(server, &sessions[1]).await, "another session there is another one here");
    let introspected = server.introspect("invoices-api", &access).await;
    assert_eq!(introspected["active"], false, "the family rested on it");
    assert_eq!(server.refresh("web", text(&tokens["refresh_token"])).await.status, 400);
    // Told again it is refused, on every node, and ends nothing that began since.
    scene.provider.claim("sid", json!("s1"));
    let since = session_of(&scene.sign_on().await);
    for node in [server, &second] {
        scene.tell(node, &token).await.refused(400, "invalid_request");
    }
    assert!(is_open(server, &since).await);
    // A session of another person under that name ends nothing.
    let other = scene.notice("two", &json!({ "sid": "s2", "sub": "another" }));
    assert_eq!(scene.tell(server, &scene.sign(&other)).await.status, 200);
    assert!(is_open(server, &sessions[1]).await);
    // Without a name it is every session of the subject at this connection.
    let all = scene.sign(&scene.notice("three", &json!({})));
    assert_eq!(scene.tell(server, &all).await.status, 200);
    for session in sessions.iter().chain([&since]) {
        assert!(!is_open(server, session).await && !is_open(&second, session).await);
    }
    assert!(is_open(server, &own).await, "what the account proved itself stays");
    let elsewhere = [("organization", "other"), ("scope", "openid")];
    assert_eq!(server.authorize_in(&own, "web", &elsewhere).await.json()["state"], "done");
    // The person may come again.
    assert!(is_open(server, &session_of(&scene.sign_on().await)).await);
}

#[tokio::test]
async fn what_is_no_logout_token_of_the_connection_ends_nothing() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    scene.provider.claim("sid", json!("s1"));
    let session = session_of(&scene.sign_on().await);
    let now = server.clock.now().seconds();
    for (why, otherwise) in [
        ("an ID token has a nonce", json!({ "nonce": "n" })),
        ("no event", json!({ "events": {} })),
        ("another client", json!({ "aud": "another" })),
        ("another issuer", json!({ "iss": "https://evil.test" })),
        ("expired", json!({ "exp": now - 600, "iat": now - 900 })),
        ("no jti", json!({ "jti": null })),
        ("neither a subject nor a session", json!({ "sub": null })),
    ] {
        let token = scene.sign(&scene.notice(why, &otherwise));
        let answer = scene.tell(server, &token).await;
        assert_eq!(answer.status, 400, "{why}: {answer:?}");
        assert!(!answer.text().contains(&token), "{why}");
    }
    let forged = new_signer().sign("logout+jwt", &scene.notice("forged", &json!({}))).unwrap();
    let id_token = scene.provider.tokens().first().unwrap().clone();
    for token in [&*forged, &*id_token, "", "x", "a.b.c", &"x".repeat(20_000)] {
        assert_eq!(scene.tell(server, token).await.status, 400);
    }
    let good = scene.sign(&scene.notice("good", &json!({})));
    let elsewhere = "/connect/sso/7d444840-9dc0-11d1-b245-5ffdce74fad2/logout";
    assert_eq!(server.post(elsewhere, &[("logout_token", &good)]).await.status, 400);
    let path = format!("/connect/sso/{}/logout", scene.connection);
    let twice = [("logout_token", &*good), ("logout_token", &*good)];
    assert_eq!(server.post(&path, &twice).await.status, 400);
    assert!(is_open(server, &session).await);
    assert_eq!(scene.tell(server, &good).await.status, 200, "none of that has spent it");
    assert!(!is_open(server, &session).await);
}

#[tokio::test]
async fn a_sign_out_here_goes_on_at_the_provider_by_which_the_person_came() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let sign_on = async || {
        let mut tab = Tab::new(server);
        let page = tab.open("/sign-in?organization=acme").await;
        let query = scene.leave(&mut tab, &page).await;
        assert_eq!(scene.come_back(&mut tab, &query).await.status, 303);
        assert!(tab.has("porteiro"));
        tab
    };
    let tab = &mut sign_on().await;
    let id_token = scene.provider.tokens().first().unwrap().clone();
    let page = tab.open("/sign-out").await;
    let out = tab.step(&page, "confirm", &[("decision", "allow")]).await;
    let to = moves_on_to(out.is(200, "You are signed out"));
    assert!(to.starts_with(&format!("{}/logout?", scene.provider.issuer)), "{to}");
    let asked = parameters(&to);
    assert_eq!((&*asked["client_id"], &asked["id_token_hint"]), ("porteiro", &id_token));
    assert!(!tab.has("porteiro"), "here it is over already");
    // A client that wants the person back comes first.
    let tab = &mut sign_on().await;
    let asked = asking("web", &[("organization", "acme")]);
    let granted = tab.get(&format!("/connect/authorize?{asked}")).await;
    let code = parameters(granted.header("location").unwrap())["code"].clone();
    let tokens = server.redeem("web", &code).await.json();
    server.apply(&crate::logout::can_leave("web", crate::logout::BYE)).await;
    server.clock.expire_views();
    let hint = text(&tokens["id_token"]);
    let bye = crate::logout::BYE;
    let out = tab
        .get(&format!("/connect/logout?id_token_hint={hint}&post_logout_redirect_uri={bye}"))
        .await;
    assert_eq!((out.status.as_u16(), out.header("location")), (303, Some(bye)), "{out:?}");
    // A provider without such an endpoint, or that is gone, keeps no person signed in.
    let tab = &mut sign_on().await;
    scene.provider.member("end_session_endpoint", Value::Null);
    server.clock.advance(std::time::Duration::from_mins(11));
    let page = tab.open("/sign-out").await;
    let out = tab.step(&page, "confirm", &[("decision", "allow")]).await;
    out.is(200, "You are signed out");
    assert!(!out.text.contains("http-equiv=\"refresh\"") && !tab.has("porteiro"), "{out:?}");
    assert!(scene.provider.calls(METADATA) >= 2);
    // Who came by a password goes nowhere.
    let tab = &mut Tab::new(server);
    crate::screens_sign_in::signed_in(tab, BRUNO).await;
    let page = tab.open("/sign-out").await;
    let out = tab.step(&page, "confirm", &[("decision", "allow")]).await;
    out.is(200, "You are signed out");
}

#[tokio::test]
async fn a_logout_by_subject_ends_every_session_of_it_however_many_there_are() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    scene.provider.claim("sid", json!("s1"));
    let session = session_of(&scene.sign_on().await);
    let mut database = Database::at(&server.url).await;
    let newest = "SELECT id FROM listings WHERE list = 'upstream_sessions'";
    let [[of]] = &database.texts::<1>(newest).await[..] else { panic!("an upstream session") };
    let count = 1_300;
    let (words, rank) = (("~", "~"), "rank");
    let copies = Copies { kind: "upstream_session", of, name: "other-", count, words, rank };
    copies.make(&mut database).await;
    let open = "SELECT CAST(COUNT(*) AS TEXT) FROM listings WHERE list = 'upstream_sessions'";
    assert_eq!(database.texts::<1>(open).await, [["1301".to_owned()]]);
    // Others of that name are not ended, and keep none of them from being ended.
    let other = scene.sign(&scene.notice("other", &json!({ "sid": "s1", "sub": "another" })));
    assert_eq!(scene.tell(server, &other).await.status, 200);
    assert_eq!(database.texts::<1>(open).await, [["1301".to_owned()]]);
    let all = scene.sign(&scene.notice("all", &json!({})));
    assert_eq!(scene.tell(server, &all).await.status, 200);
    assert_eq!(database.texts::<1>(open).await, [["0".to_owned()]]);
    assert!(!is_open(server, &session).await);
    scene.tell(server, &all).await.refused(400, "invalid_request");
}
