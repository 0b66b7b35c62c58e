//! An administrator tries a connection: sees each message and what the sign-in would have become, and signs in no person.

use crate::{
    api_caller::Api,
    http::Answer,
    me::ask,
    person::{PASSWORD, parameter, redirect, text},
    scim_caller::Scim,
    sso_scene::{SECRET, SUBJECT, Scene, account_of, link, moves_on_to, parameters},
    tab::Tab,
};
use hyper::Method;
use porteiro::domain::{connection::Draft, upstream::RoleMapping};
use serde_json::json;
use std::time::Duration;

const RITA: &str = "rita@acme.test";

/// Rita in a session, with a token of it.
async fn rita(scene: &Scene) -> (String, Api<'_>) {
    let server = &scene.server;
    let session = server.sign_in(RITA).await;
    let scope = "connections:read connections:write audit:read";
    let answer = server.authorize_in(&session, "web", &[("scope", scope)]).await;
    let code = parameter(&redirect(&answer), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let token = text(&tokens["access_token"]).to_owned();
    (session, Api { server, token, reason: None })
}

fn path(scene: &Scene) -> String {
    format!("/api/organizations/acme/connections/{}/test", scene.connection)
}

/// Begins a trial, signs in at the provider, and returns what the browser is sent back with.
async fn tried(scene: &Scene, api: &Api<'_>) -> String {
    let begun = api.call(Method::POST, &path(scene), None, &[]).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    scene.provider.authorize(&parameters(text(&begun.json()["redirect_to"])))
}

async fn brought(scene: &Scene, session: &str, query: &str) -> Answer {
    let headers = [("x-session-token", session), ("accept", "application/json")];
    ask(&scene.server, Method::GET, &scene.callback(query), &headers).await
}

#[tokio::test]
async fn a_trial_shows_each_message_and_what_it_would_have_become_and_changes_nothing() {
    let scene = Scene::proved().await;
    let mapping = |value: &str, role: &str| RoleMapping {
        claim: "groups".to_owned(),
        value: value.to_owned(),
        role: role.to_owned(),
    };
    let roles = Some(vec![mapping("finance", "manager"), mapping("other", "clerk")]);
    scene.change(Draft { roles, believe_acr: Some(true), ..Draft::default() }).await;
    scene.provider.claim("groups", json!(["finance"]));
    scene.provider.claim("email", json!("new@acme.test"));
    scene.provider.claim("amr", json!(["mfa"]));
    let (session, api) = rita(&scene).await;
    api.get(&path(&scene)).await.problem(404, "not_found");

    let query = tried(&scene, &api).await;
    assert_eq!(api.get(&path(&scene)).await.json()["state"], "pending");
    let report = brought(&scene, &session, &query).await;
    assert_eq!(report.status, 200, "{report:?}");
    let report = report.json();
    let outcome = &report["outcome"];
    assert_eq!(outcome["result"], "account_created", "{report}");
    assert_eq!((&outcome["subject"], &outcome["acr"]), (&json!(SUBJECT), &json!("aal2")));
    assert_eq!(
        (&outcome["email"], &outcome["roles"]),
        (&json!("new@acme.test"), &json!(["manager"]))
    );
    assert_eq!(account_of(&scene.server, "new@acme.test").await, None, "and none is made");
    let shown = api.get(&path(&scene)).await;
    assert_eq!(shown.json(), report);
    let messages = report["messages"].as_array().unwrap();
    let kinds: Vec<&str> = messages.iter().map(|message| text(&message["kind"])).collect();
    for kind in ["authorization", "callback", "token"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let code = parameters(&format!("https://x.test/?{query}"))["code"].clone();
    for secret in [code.as_str(), SECRET, "eyJ"] {
        assert!(!shown.text().contains(secret), "{secret}: {shown:?}");
    }

    // What is linked would have been signed in; the trial before is shown no more.
    link(&scene.server, &scene.connection, SUBJECT, "ana@acme.test").await;
    let query = tried(&scene, &api).await;
    let report = brought(&scene, &session, &query).await.json();
    assert_eq!(report["outcome"]["result"], "signed_in");
    brought(&scene, &session, &query).await.problem(400, "callback_refused");
    // The address of an account, and one under another domain.
    scene.provider.claim("sub", json!("another"));
    for (email, result) in
        [("ana@acme.test", "identity_not_linked"), ("eva@evil.test", "account_not_vouched")]
    {
        scene.provider.claim("email", json!(email));
        let query = tried(&scene, &api).await;
        let report = brought(&scene, &session, &query).await.json();
        assert_eq!(report["outcome"]["result"], result, "{report}");
    }
    // What the provider refuses is a result, too.
    let query = tried(&scene, &api).await;
    let state = &parameters(&format!("https://x.test/?{query}"))["state"];
    let refused = brought(&scene, &session, &format!("error=access_denied&state={state}")).await;
    assert_eq!(refused.json()["outcome"]["result"], "sso_refused", "{refused:?}");
    let trail = api.get("/api/organizations/acme/audit?limit=100").await.text();
    assert!(
        trail.contains("connection.trial_begun") && trail.contains("connection.trial_completed")
    );
    scene.server.stop().await;
}

#[tokio::test]
async fn a_trial_is_begun_by_a_person_and_completed_by_their_session_alone_in_time() {
    let scene = Scene::proved().await;
    let (session, api) = rita(&scene).await;
    let query = tried(&scene, &api).await;
    // Another session, none, another person, and a flow of a program.
    let other = scene.server.sign_in(RITA).await;
    let stranger = scene.server.sign_in("otto@other.test").await;
    for wrong in [other.as_str(), &stranger, "x"] {
        brought(&scene, wrong, &query).await.problem(400, "callback_refused");
    }
    let flow = scene.begin().await;
    scene.answer_to(&flow).await;
    let taken = scene.bring(&flow, &query).await;
    taken.problem(401, "sso_refused");
    assert_eq!(scene.provider.calls("/token"), 0, "nothing of it was spent");
    scene.server.clock.advance(Duration::from_mins(10));
    brought(&scene, &session, &query).await.problem(400, "callback_refused");

    let key = Scim::with(&scene.server, "acme", "connections:*").await.key;
    let key = Api { server: &scene.server, token: key, reason: None };
    key.call(Method::POST, &path(&scene), None, &[]).await.problem(403, "person_required");
    let otto = Api::of(&scene.server, "otto@other.test", "connections:write").await;
    otto.call(Method::POST, &path(&scene), None, &[]).await.problem(403, "other_organization");
    let theirs = path(&scene).replace("acme", "other");
    otto.call(Method::POST, &theirs, None, &[]).await.problem(404, "not_found");
    let ana = Api::of(&scene.server, RITA, "connections:read").await;
    ana.get(&path(&scene)).await.problem(403, "permission_required");
    scene.server.stop().await;
}

#[tokio::test]
async fn a_browser_tries_a_connection_on_the_page_of_the_organization() {
    let scene = Scene::proved().await;
    scene.provider.claim("email", json!("new@acme.test"));
    let tab = &mut Tab::new(&scene.server);
    let page = tab.open("/sign-in").await;
    let page = tab.step(&page, "identifier", &[("identifier", RITA)]).await;
    let page = tab.open(&format!("/sign-in?flow={}&way=password", page.flow())).await;
    tab.step(&page, "password", &[("password", PASSWORD)]).await;
    let at = format!("/organization?organization=acme&section=connections&id={}", scene.connection);
    let page = tab.open(&at).await;
    let left = tab.step(&page, "testConnection", &[]).await;
    let query = scene.provider.authorize(&parameters(&moves_on_to(&left)));
    let back = scene.come_back(tab, &query).await;
    assert_eq!(back.status, 303, "{back:?}");
    let to =
        back.header("location").unwrap().strip_prefix(scene.server.issuer()).unwrap().to_owned();
    assert_eq!(to, at);
    let page = tab.open(&to).await;
    assert!(page.text.contains("an account would have been made"), "{page:?}");
    assert_eq!(account_of(&scene.server, "new@acme.test").await, None);
    scene.server.stop().await;
}
