//! A person links an identity of another provider to their account, sees it, and unlinks it (adr/0139).

use crate::{
    http::Answer,
    mails::{names, wait_for},
    me::{delete_in, get_in, records},
    other_provider::{OtherProvider, options, speaking},
    person::{PASSWORD, text},
    shared::eventually,
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    actors::JanitorOptions,
    domain::{
        Context,
        account::EMAIL_ADDRESSES,
        connection::{self, Connection},
        external_identity::{ACCOUNT_IDENTITIES, CONNECTION_IDENTITIES},
        membership::{self, MEMBERSHIP_PAIRS, Membership, Word, pair},
        organization::Organization,
    },
};
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";

async fn begin(server: &TestServer, session: &str, connection: &str) -> Answer {
    let wish = json!({ "kind": "link", "connection": connection });
    server.post_json("/flows", &wish, &[("x-session-token", session)]).await
}

async fn confirm(server: &TestServer, flow: &Value, decision: &str) -> Answer {
    server.step(flow, "confirm", json!({ "decision": decision })).await
}

/// Links what a person is at the other provider to the account of a session.
async fn link(
    (ours, other): (&TestServer, &OtherProvider),
    (session, connection): (&str, &str),
    email: &str,
) {
    let flow = begin(ours, session, connection).await.json();
    other.sign_on(ours, &flow, email).await;
    let done = confirm(ours, &flow, "allow").await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
}

async fn identities(server: &TestServer, session: &str) -> Vec<Value> {
    let listed = get_in(server, session, "/me/identities").await.json();
    listed["items"].as_array().unwrap().clone()
}

/// Signs in by the connection of an organization.
async fn sign_on(ours: &TestServer, other: &OtherProvider, email: &str) -> Answer {
    let wish = json!({ "kind": "sign_in", "organization": "acme" });
    let flow = ours.post_json("/flows", &wish, &[]).await.json();
    other.sign_on(ours, &flow, email).await
}

#[tokio::test]
async fn a_person_links_an_identity_comes_by_it_and_unlinks_it() {
    let (ours, other) = (TestServer::open_in(speaking()).await, OtherProvider::open().await);
    let connection = other.connect(&ours, Some("acme")).await;
    let session = ours.sign_in(ANA).await;
    let begun = begin(&ours, &session, &connection).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    assert_eq!((text(&flow["state"]), names(&flow)), ("credential", vec!["sso/options", "sso"]));
    let choice = json!([{ "id": connection, "name": "Other", "kind": "oidc" }]);
    assert_eq!(flow["connections"], choice);
    // Whoever they are there: the address that the provider asserts plays no part.
    let callback = other.answer("clara@nowhere.test", &options(&ours, &flow).await).await;
    let answered = ours.step(&flow, "sso", json!({ "callback": callback })).await.json();
    assert_eq!((text(&answered["state"]), names(&answered)), ("confirm", vec!["confirm"]));
    let identity = &answered["identity"];
    assert_eq!(identity["connection"], json!({ "id": connection, "name": "Other" }));
    assert_eq!(identity["email"], "clara@nowhere.test");
    assert_eq!(identities(&ours, &session).await, [] as [Value; 0], "it is not linked yet");
    ours.step(&flow, "sso", json!({ "callback": callback }))
        .await
        .problem(409, "step_not_available");
    let done = confirm(&ours, &flow, "allow").await.json();
    assert_eq!(done["state"], "done", "{done}");
    confirm(&ours, &flow, "allow").await.problem(409, "flow_over");

    let listed = identities(&ours, &session).await;
    let [one] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(one["connection"], json!({ "id": connection, "name": "Other" }));
    assert_eq!(one["subject"], identity["subject"]);
    assert!(text(&one["linked_at"]).ends_with('Z'));
    let mails = wait_for(&ours, 1).await;
    assert!(text(&mails[0]["text"]).contains("“Other”"), "{mails:?}");
    let logged = records(&ours, "identity.linked").await;
    assert_eq!((logged.len(), &logged[0]["cause"]), (1, &json!("person")));
    assert!(!logged[0].to_string().contains(text(&one["subject"])), "{logged:?}");
    let export = get_in(&ours, &session, "/me/export").await.json();
    assert_eq!(export["identities"], json!(listed));

    let came = sign_on(&ours, &other, "clara@nowhere.test").await.json();
    assert_eq!(came["state"], "done", "{came}");
    let by_sign_on = text(&came["result"]["session_token"]).to_owned();
    // It counts for its organization, and unlinks nothing.
    let path = format!("/me/identities/{}", text(&one["id"]));
    let refused = delete_in(&ours, &by_sign_on, &path).await;
    refused.problem(403, "step_up_required");
    assert!(!names(&refused.json()["flow"]).contains(&"sso"), "{refused:?}");
    let stranger = ours.sign_in("bruno@acme.test").await;
    assert_eq!(identities(&ours, &stranger).await, [] as [Value; 0]);
    for (session, path) in [
        (&stranger, &*path),
        (&session, "/me/identities/00000000-0000-0000-0000-000000000000"),
        (&session, "/me/identities/%00"),
    ] {
        delete_in(&ours, session, path).await.problem(404, "not_found");
    }
    assert_eq!(delete_in(&ours, &session, &path).await.status, 204);
    assert_eq!(identities(&ours, &session).await, [] as [Value; 0]);
    get_in(&ours, &by_sign_on, "/me").await.problem(401, "session_required");
    assert_eq!(records(&ours, "identity.unlinked").await.len(), 1);
    assert!(text(&wait_for(&ours, 2).await[0]["subject"]).contains("unlinked"));
    delete_in(&ours, &session, &path).await.problem(404, "not_found");
    other.server.stop().await;
    ours.stop().await;
}

#[tokio::test]
async fn no_answer_of_another_flow_is_linked_and_no_identity_twice() {
    let (ours, other) = (TestServer::open_in(speaking()).await, OtherProvider::open().await);
    let connection = other.connect(&ours, None).await;
    let (ana, bruno) = (ours.sign_in(ANA).await, ours.sign_in("bruno@acme.test").await);
    let victim = begin(&ours, &ana, &connection).await.json();
    let attacker = begin(&ours, &bruno, &connection).await.json();
    // What the attacker has signed in for does not complete the victim's flow, nor the other way round.
    let of_attacker = other.answer("clara@nowhere.test", &options(&ours, &attacker).await).await;
    let of_victim = other.answer(ANA, &options(&ours, &victim).await).await;
    for (flow, callback) in [(&victim, &of_attacker), (&attacker, &of_victim)] {
        let refused = ours.step(flow, "sso", json!({ "callback": callback })).await;
        refused.problem(401, "sso_refused");
        confirm(&ours, flow, "allow").await.problem(409, "step_not_available");
    }
    // A person who says no links nothing.
    assert_eq!(other.sign_on(&ours, &attacker, ANA).await.json()["state"], "confirm");
    assert_eq!(confirm(&ours, &attacker, "deny").await.json()["state"], "failed");
    assert_eq!(identities(&ours, &bruno).await, [] as [Value; 0]);
    confirm(&ours, &attacker, "allow").await.problem(409, "flow_over");

    // Of two who link one identity, one has it.
    let attacker = begin(&ours, &bruno, &connection).await.json();
    for flow in [&victim, &attacker] {
        assert_eq!(other.sign_on(&ours, flow, ANA).await.json()["state"], "confirm");
    }
    let (one, two) =
        tokio::join!(confirm(&ours, &victim, "allow"), confirm(&ours, &attacker, "allow"));
    let mut answers = [one.status.as_u16(), two.status.as_u16()];
    answers.sort_unstable();
    assert_eq!(answers, [200, 409], "{one:?} {two:?}");
    let refused = if one.status == 409 { one } else { two };
    refused.problem(409, "identity_already_linked");
    let linked = identities(&ours, &ana).await.len() + identities(&ours, &bruno).await.len();
    assert_eq!(linked, 1);
    let late = begin(&ours, &bruno, &connection).await.json();
    other.sign_on(&ours, &late, ANA).await.problem(409, "identity_already_linked");
    other.server.stop().await;
    ours.stop().await;
}

#[tokio::test]
async fn linking_wants_a_fresh_proof_of_ones_own_and_a_membership() {
    let (ours, other) = (TestServer::open_in(speaking()).await, OtherProvider::open().await);
    let connection = other.connect(&ours, Some("acme")).await;
    let session = ours.sign_in(ANA).await;
    let wish = json!({ "kind": "link", "connection": connection });
    ours.post_json("/flows", &wish, &[]).await.problem(401, "session_required");
    for unknown in ["", "00000000-0000-0000-0000-000000000000", "é", &"a".repeat(4_000)] {
        begin(&ours, &session, unknown).await.problem(400, "invalid_request");
    }
    let unnamed = json!({ "kind": "link" });
    let unnamed = ours.post_json("/flows", &unnamed, &[("x-session-token", &session)]).await;
    unnamed.problem(400, "invalid_request");
    let clara = ours.sign_in("clara@nowhere.test").await;
    begin(&ours, &clara, &connection).await.problem(403, "membership_disabled");

    link((&ours, &other), (&session, &connection), ANA).await;
    let by_sign_on = sign_on(&ours, &other, ANA).await.json();
    let by_sign_on = text(&by_sign_on["result"]["session_token"]).to_owned();
    ours.clock.advance(Duration::from_mins(16));
    other.server.clock.advance(Duration::from_mins(16));
    // A session that was left open, and one by single sign-on however fresh.
    let again = sign_on(&ours, &other, ANA).await.json();
    let fresh = text(&again["result"]["session_token"]).to_owned();
    for session in [&session, &by_sign_on, &fresh] {
        let flow = begin(&ours, session, &connection).await.json();
        assert_eq!(flow["state"], "credential");
        let offered = names(&flow);
        assert!(offered.contains(&"password") && !offered.contains(&"sso"), "{offered:?}");
        ours.step(&flow, "sso/options", json!({})).await.problem(409, "step_not_available");
    }
    let flow = begin(&ours, &fresh, &connection).await.json();
    let proved = ours.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(names(&proved), ["sso/options", "sso"]);
    assert_eq!(other.sign_on(&ours, &flow, "clara@nowhere.test").await.json()["state"], "confirm");

    // What was proved is changed while the flow waits.
    let own = ours.sign_in(ANA).await;
    let body = json!({ "password": "another long password", "keep_sessions": true });
    let request = ours.request(Method::PUT, "/me/password").header("x-session-token", &own);
    let request = request.header("content-type", "application/json");
    let changed = ours.send(request.body(body.to_string().into()).unwrap()).await;
    assert!(changed.status.is_success(), "{changed:?}");
    confirm(&ours, &flow, "allow").await.problem(409, "account_changed");
    other.server.stop().await;
    ours.stop().await;
}

/// Has a connection removed.
pub async fn remove_connection(ours: &TestServer, connection: &str) {
    let mut commit = ours.running().system().multi_commit(&Context::operator());
    let remove = connection::Command::Remove;
    commit.decide::<Connection>(connection, &remove).await.unwrap().unwrap();
    commit.commit().await.unwrap();
}

/// Ends the membership of an account, or the connection, while a flow waits.
async fn decide(ours: &TestServer, what: &str, account: &str, connection: &str) {
    if what == "connection" {
        remove_connection(ours, connection).await;
    } else {
        let mut commit = ours.running().system().multi_commit(&Context::operator());
        let store = ours.running().system().store();
        let found = store.find(MEMBERSHIP_PAIRS, &pair(account, "acme")).await.unwrap();
        let (id, organization) = (found.unwrap().1, "acme".to_owned());
        let home = commit.look::<Organization>("acme").await.unwrap().known().cloned();
        let draft = membership::Draft {
            id: id.clone(),
            account: account.to_owned(),
            organization,
            roles: None,
            enabled: Some(false),
            mapped: None,
            entry: None,
            word: Word::Operator,
        };
        let end = membership::Command::Provision { draft, home };
        commit.decide::<Membership>(&id, &end).await.unwrap().unwrap();
        commit.commit().await.unwrap();
    }
}

#[tokio::test]
async fn what_an_identity_was_believed_by_must_stand_until_it_is_linked() {
    let (ours, other) = (TestServer::open_in(speaking()).await, OtherProvider::open().await);
    let connection = other.connect(&ours, Some("acme")).await;
    let store = ours.running().system().store();
    for (email, what) in [(ANA, "membership"), ("bruno@acme.test", "connection")] {
        let session = ours.sign_in(email).await;
        let flow = begin(&ours, &session, &connection).await.json();
        let answered = other.sign_on(&ours, &flow, ANA).await.json();
        assert_eq!(answered["state"], "confirm", "{answered}");
        let account = store.find(EMAIL_ADDRESSES, email).await.unwrap().unwrap().1;
        decide(&ours, what, &account, &connection).await;
        confirm(&ours, &flow, "allow").await.problem(409, "connection_changed");
        assert_eq!(identities(&ours, &session).await, [] as [Value; 0], "{what}");
    }
    other.server.stop().await;
    ours.stop().await;
}

#[tokio::test]
async fn identities_go_with_their_account_and_with_their_connection() {
    let every = Duration::from_millis(20);
    let janitor = JanitorOptions { every, ..TestOptions::default().janitor };
    let ours = TestServer::open_in(TestOptions { janitor, ..speaking() }).await;
    let other = OtherProvider::open().await;
    let connection = other.connect(&ours, None).await;
    let reads = ours.running().system().fresh_reads();
    let store = ours.running().system().store();
    let mut accounts = Vec::new();
    for email in [ANA, "clara@nowhere.test"] {
        let session = ours.sign_in(email).await;
        link((&ours, &other), (&session, &connection), email).await;
        let account = store.find(EMAIL_ADDRESSES, email).await.unwrap().unwrap().1;
        accounts.push((session, account));
    }
    let [(ana, of_ana), (_, of_clara)] = &accounts[..] else { panic!("two accounts") };
    let count = async |list, owner: &str| reads.count(list, owner, 10).await.unwrap();
    assert_eq!(count(CONNECTION_IDENTITIES, &connection).await, 2);
    assert_eq!(delete_in(&ours, ana, "/me").await.status, 202);
    assert_eq!(count(ACCOUNT_IDENTITIES, of_ana).await, 1, "they may come back");
    ours.clock.advance(Duration::from_hours(31 * 24));
    eventually("the identity to be erased", async || count(ACCOUNT_IDENTITIES, of_ana).await == 0)
        .await;
    assert_eq!(count(ACCOUNT_IDENTITIES, of_clara).await, 1);

    decide(&ours, "connection", of_clara, &connection).await;
    let clara = ours.sign_in("clara@nowhere.test").await;
    assert_eq!(identities(&ours, &clara).await, [] as [Value; 0], "it leads nowhere at once");
    eventually("the identity to be forgotten", async || {
        count(CONNECTION_IDENTITIES, &connection).await == 0
    })
    .await;
    let causes: Vec<Value> = records(&ours, "identity.unlinked").await;
    let causes: Vec<&str> = causes.iter().map(|one| text(&one["cause"])).collect();
    assert_eq!(causes.len(), 2, "{causes:?}");
    assert!(causes.contains(&"account_deleted") && causes.contains(&"connection_removed"));
    other.server.stop().await;
    ours.stop().await;
}
