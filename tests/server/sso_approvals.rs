//! Requests for approvals in an organization that requires its single sign-on.

use crate::{
    ciba::{AGENTS, BRUNO, CLARA, decide, poll, start, waiting},
    person::{PASSWORD, text},
    sso_scene::{SUBJECT, Scene, link, parameters},
    tab::Tab,
};
use porteiro::domain::connection::Draft;
use serde_json::{Value, json};

fn steps(document: &Value) -> Vec<&str> {
    document["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

async fn open() -> Scene {
    let scene = Scene::open().await;
    scene.server.apply(AGENTS).await;
    link(&scene.server, &scene.connection, SUBJECT, BRUNO).await;
    scene.change(Draft { required: Some(true), ..Draft::default() }).await;
    scene
}

/// Signs in by the provider in a flow of a session.
async fn sign_on(scene: &Scene, session: &str, flow: &Value) -> Value {
    let server = &scene.server;
    let asked = json!({ "connection": scene.connection });
    let left = server.step_in(session, flow, "sso/options", asked).await;
    assert_eq!(left.status, 200, "{left:?}");
    let query = scene.provider.authorize(&parameters(text(&left.json()["redirect_to"])));
    let callback = format!("{}{}", server.issuer(), scene.callback(&query));
    server.step_in(session, flow, "sso", json!({ "callback": callback })).await.json()
}

#[tokio::test]
async fn a_yes_leads_to_the_provider_and_counts_after_it() {
    let scene = open().await;
    let server = &scene.server;
    let session = server.sign_in(BRUNO).await;
    let id = start(**server, "clerk", BRUNO, &[]).await;
    let items = waiting(server, &session).await;
    assert_eq!(items[0]["organization"], "acme", "{items:?}");
    let approve = json!({ "decision": "approve" });
    let refused = decide(**server, &session, text(&items[0]["id"]), approve).await;
    refused.problem(403, "step_up_required");
    let flow = refused.json()["flow"].clone();
    assert_eq!((&flow["kind"], &flow["state"]), (&json!("approval"), &json!("credential")));
    assert_eq!(steps(&flow), ["sso/options", "sso"]);
    // What the person is about to approve stays in sight.
    assert_eq!(flow["client"]["client_id"], "clerk", "{flow}");
    poll(**server, "clerk", &id).await.refused(400, "authorization_pending");
    let done = sign_on(&scene, &session, &flow).await;
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(poll(**server, "clerk", &id).await.status, 200);
}

#[tokio::test]
async fn a_flow_of_kind_approval_leads_there_after_the_yes() {
    let scene = open().await;
    let server = &scene.server;
    let id = start(**server, "clerk", BRUNO, &[]).await;
    let flow = server.post_json("/flows", &json!({ "kind": "approval" }), &[]).await.json();
    let shown = server.prove(&flow, BRUNO).await.json();
    assert_eq!(shown["state"], "confirm", "{shown}");
    let more = server.step(&flow, "confirm", json!({ "decision": "allow" })).await.json();
    assert_eq!((&more["state"], steps(&more)), (&json!("credential"), vec!["sso/options", "sso"]));
    poll(**server, "clerk", &id).await.refused(400, "authorization_pending");
    let query = scene.answer_to(&flow).await;
    let done = scene.bring(&flow, &query).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(poll(**server, "clerk", &id).await.status, 200);
}

#[tokio::test]
async fn another_person_at_the_provider_approves_nothing() {
    let scene = open().await;
    let server = &scene.server;
    link(server, &scene.connection, "another subject", CLARA).await;
    let session = server.sign_in(BRUNO).await;
    let id = start(**server, "clerk", BRUNO, &[]).await;
    let items = waiting(server, &session).await;
    let approve = json!({ "decision": "approve" });
    let refused = decide(**server, &session, text(&items[0]["id"]), approve).await;
    let flow = refused.json()["flow"].clone();
    scene.provider.claim("sub", json!("another subject"));
    let other = sign_on(&scene, &session, &flow).await;
    assert_ne!(other["state"], "done", "{other}");
    poll(**server, "clerk", &id).await.refused(400, "authorization_pending");
}

#[tokio::test]
async fn the_page_of_an_approval_leads_to_the_provider_and_back() {
    let scene = open().await;
    let server = &scene.server;
    let id = start(**server, "clerk", BRUNO, &[]).await;
    let tab = &mut Tab::new(server);
    let page = tab.open("/approve").await;
    let page = tab.step(&page, "identifier", &[("identifier", BRUNO)]).await;
    let page = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    let page = tab.step(&page, "confirm", &[("decision", "allow")]).await;
    page.form("sso/options");
    let query = scene.leave(tab, &page).await;
    let back = scene.come_back(tab, &query).await;
    assert_eq!(back.status, 303, "{back:?}");
    assert_eq!(poll(**server, "clerk", &id).await.status, 200);
}
