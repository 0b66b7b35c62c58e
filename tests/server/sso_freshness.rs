//! How lately a person must have proved who they are is asked of their provider as a client asks it of us, and its word is
//! checked; a connection that changes while it answers is believed no more (adr/0149).

use crate::{
    http::Answer,
    other_provider::speaking,
    person::{claims, parameter, redirect, text},
    shared::eventually,
    sso_scene::{SECRET, SUBJECT, Scene, account_of, connect, draft, link, parameters, session_of},
    support::TestServer,
};
use porteiro::domain::{
    Clock as _,
    connection::Draft,
    upstream::{Kind, RoleMapping},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;

const BRUNO: &str = "bruno@acme.test";
const NOVA: &str = "nova@acme.test";

impl Scene {
    /// A client asks for authorization in acme with this beside; returns the flow, and what the provider is asked.
    async fn asks(&self, beside: &[(&str, &str)]) -> (Value, String) {
        let asked = [&[("organization", "acme"), ("scope", "openid")], beside].concat();
        let flow = self.server.authorize("web", &asked).await.json();
        let left = self.server.step(&flow, "sso/options", json!({})).await;
        assert_eq!(left.status, 200, "{left:?}");
        (flow, text(&left.json()["redirect_to"]).to_owned())
    }

    /// The person signs in at the provider, which says when they proved it, and comes back.
    async fn comes_back(&self, (flow, asked): &(Value, String), auth_time: Value) -> Answer {
        self.provider.claim("auth_time", auth_time);
        let query = self.provider.authorize(&parameters(asked));
        self.bring(flow, &query).await
    }

    async fn id_token(&self, done: &Answer) -> Value {
        let code = parameter(&redirect(done), "code").unwrap();
        claims(&self.server.redeem("web", &code).await.json()["id_token"])
    }

    fn ago(&self, seconds: i64) -> i64 {
        self.server.clock.now().seconds() - seconds
    }
}

#[tokio::test]
async fn an_age_that_a_client_asks_is_asked_of_the_provider_and_its_word_is_checked() {
    let scene = Scene::open().await;
    link(&scene.server, &scene.connection, SUBJECT, BRUNO).await;
    let asked = scene.asks(&[("max_age", "600")]).await;
    let there = parameters(&asked.1);
    assert_eq!((there["max_age"].as_str(), there.get("prompt")), ("600", None));
    for (why, auth_time) in [
        ("too long ago", json!(scene.ago(700))),
        ("not said", Value::Null),
        ("no time", json!("yesterday")),
        ("in the future", json!(scene.ago(-700))),
    ] {
        let asked = scene.asks(&[("max_age", "600")]).await;
        let refused = scene.comes_back(&asked, auth_time).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["code"]),
            (401, &json!("sso_refused")),
            "{why}"
        );
    }
    let at = scene.ago(300);
    let done = scene.comes_back(&asked, json!(at)).await;
    assert_eq!(scene.id_token(&done).await["auth_time"], at, "it is when they proved it there");
    // A client that asks nothing has nothing asked.
    let asked = scene.asks(&[]).await;
    let there = parameters(&asked.1);
    assert!(!there.contains_key("max_age") && !there.contains_key("prompt"));
    let done = scene.comes_back(&asked, Value::Null).await;
    assert_eq!(scene.id_token(&done).await["auth_time"], scene.ago(0));
}

#[tokio::test]
async fn a_client_that_wants_a_sign_in_anew_has_the_provider_ask_for_one() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    for beside in [
        &[("prompt", "login")][..],
        &[("max_age", "0")],
        &[("prompt", "login"), ("max_age", "600")],
    ] {
        let asked = scene.asks(beside).await;
        let there = parameters(&asked.1);
        assert_eq!((there["prompt"].as_str(), there["max_age"].as_str()), ("login", "0"));
        // Its session of before is not enough.
        let refused = scene.comes_back(&asked, json!(scene.ago(300))).await;
        refused.problem(401, "sso_refused");
    }
    // The time that they take there is given to them.
    let asked = scene.asks(&[("prompt", "login")]).await;
    let at = scene.ago(-5);
    server.clock.advance(Duration::from_mins(9));
    let done = scene.comes_back(&asked, json!(at)).await;
    assert_eq!(scene.id_token(&done).await["auth_time"], at);
}

#[tokio::test]
async fn a_session_by_a_provider_is_as_old_as_the_proof_there() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, BRUNO).await;
    let is_done = async |session: &str, age: &str| {
        let asked = [("organization", "acme"), ("scope", "openid"), ("max_age", age)];
        let answer = server.authorize_in(session, "web", &asked).await;
        (answer.json()["state"] == "done").then_some(answer)
    };
    let at = scene.ago(300);
    scene.provider.claim("auth_time", json!(at));
    let session = session_of(&scene.sign_on().await);
    assert!(is_done(&session, "200").await.is_none(), "they proved it there earlier");
    let done = is_done(&session, "600").await.expect("a code");
    assert_eq!(scene.id_token(&done).await["auth_time"], at);
    // Of a proof without a time it is not known how old it is.
    scene.provider.claim("auth_time", Value::Null);
    let session = session_of(&scene.sign_on().await);
    assert!(is_done(&session, "600").await.is_none());
    // A clock that is ahead makes no proof of the future.
    scene.provider.claim("auth_time", json!(scene.ago(-50)));
    let session = session_of(&scene.sign_on().await);
    let done = is_done(&session, "600").await.expect("a code");
    assert_eq!(scene.id_token(&done).await["auth_time"], scene.ago(0));
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_for_an_age_is_not_offered_to_a_client_that_wants_one() {
    let server = TestServer::open_in(speaking()).await;
    let github = Draft {
        name: Some("GitHub".to_owned()),
        kind: Some(Kind::GitHub),
        issuer: Some("https://github.com".to_owned()),
        client_id: Some("porteiro".to_owned()),
        ..Draft::default()
    };
    let connection = connect(&server, github, Some(SECRET)).await;
    for (beside, offered) in
        [(&[][..], true), (&[("max_age", "600")], false), (&[("prompt", "login")], false)]
    {
        let flow = server.authorize("web", beside).await.json();
        let connections = flow["connections"].to_string();
        assert_eq!(connections.contains(&connection), offered, "{beside:?}: {flow}");
        let left = server.step(&flow, "sso/options", json!({ "connection": connection })).await;
        assert_eq!(left.status == 200, offered, "{beside:?}: {left:?}");
    }
}

#[tokio::test]
async fn a_connection_that_changes_while_the_provider_answers_is_believed_no_more() {
    let mapping = RoleMapping {
        claim: "groups".to_owned(),
        value: "staff".to_owned(),
        role: "manager".to_owned(),
    };
    for (what, change) in [
        ("client", Draft { client_id: Some("another".to_owned()), ..Draft::default() }),
        ("belief", Draft { believe_acr: Some(true), ..Draft::default() }),
        ("roles", Draft { roles: Some(vec![mapping]), ..Draft::default() }),
        ("required", Draft { required: Some(true), ..Draft::default() }),
        ("removed", Draft::default()),
    ] {
        let scene = Scene::proved().await;
        let server = &scene.server;
        link(server, &scene.connection, SUBJECT, BRUNO).await;
        // A person who is known, and one who would be made.
        for subject in [SUBJECT, "nova"] {
            scene.provider.claim("sub", json!(subject));
            scene.provider.claim("email", json!(NOVA));
            let flow = scene.begin().await;
            let query = scene.answer_to(&flow).await;
            let answers = Arc::new(Notify::new());
            scene.provider.state().held.insert("/token".to_owned(), answers.clone());
            let before = scene.provider.calls("/token");
            let bringing = scene.bring(&flow, &query);
            let changing = async {
                eventually("the code to be exchanged", async || {
                    scene.provider.calls("/token") > before
                })
                .await;
                if what == "removed" {
                    crate::linking::remove_connection(server, &scene.connection).await;
                } else {
                    scene.change(change.clone()).await;
                }
                answers.notify_one();
            };
            let (refused, ()) = tokio::join!(bringing, changing);
            assert_eq!(refused.json()["code"], "sso_refused", "{what}: {refused:?}");
            assert_eq!(refused.status, 401, "{what}");
            scene.provider.state().held.clear();
            // Back to what it was, by a client of another secret.
            if what == "removed" {
                break;
            }
            connect(
                server,
                Draft {
                    id: scene.connection.clone(),
                    required: Some(false),
                    ..draft(&scene.provider.issuer)
                },
                Some(SECRET),
            )
            .await;
            let back =
                Draft { believe_acr: Some(false), roles: Some(Vec::new()), ..Draft::default() };
            scene.change(back).await;
            let flow = server.get(&format!("/flows/{}", text(&flow["id"]))).await.json();
            assert_eq!(flow["state"], "identify", "the flow goes on: {flow}");
        }
        assert_eq!(account_of(server, NOVA).await, None, "{what}: nothing was made");
    }
}
