//! CIBA under hostile hands: decisions raced from several devices, what is suspended on the way, ids of
//! others, and messages that would show another thing than they say.

use crate::{
    account_states::try_to,
    ciba::{ANA, GRANT, TRANSFER, ask, decide, open_in, poll, say, start, waiting},
    http::Answer,
    me::records,
    passkeys::device_of,
    person::text,
    shared::eventually,
    support::{TestOptions, TestServer},
};
use porteiro::{
    domain::{
        Context,
        client::{self, Client},
    },
    http::limits::pace::Rates,
    provisioning::SuspensionChange,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const SCOPE: [(&str, &str); 1] = [("scope", "openid offline_access invoices:read")];

async fn open() -> TestServer {
    open_in(TestOptions { rates: None::<Rates>, ..TestOptions::default() }).await
}

/// Begins a flow in a session in which the person decides about a request.
async fn flow_of(server: &TestServer, session: &str, approval: &str) -> Value {
    let body = json!({ "kind": "approval", "approval": approval });
    let flow = server.post_json("/flows", &body, &[("x-session-token", session)]).await;
    assert_eq!(flow.status, 201, "{flow:?}");
    flow.json()
}

#[track_caller]
fn lost(answer: &Answer) {
    if answer.status != 503 {
        answer.problem(409, "already_decided");
    }
}

/// How often the log says that a request was decided.
async fn decisions(server: &TestServer) -> usize {
    records(server, "approval.given").await.len() + records(server, "approval.denied").await.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_decisions_raced_from_pages_and_lists_of_several_devices_one_counts() {
    let server = open().await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(server.sign_in(ANA).await);
    }
    for round in 1..=6 {
        let id = start(*server, "agent", ANA, &SCOPE).await;
        let approval = text(&waiting(&server, &sessions[0]).await[0]["id"]).to_owned();
        let mut flows = Vec::new();
        for session in &sessions {
            flows.push(flow_of(&server, session, &approval).await);
        }
        let mut racers = JoinSet::new();
        for (number, (session, flow)) in sessions.iter().zip(&flows).enumerate() {
            let approves = (number + round) % 2 == 0;
            let (node, by) = (*server, session.clone());
            let path = format!("/flows/{}/confirm", text(&flow["id"]));
            racers.spawn(async move {
                let body = json!({ "decision": if approves { "allow" } else { "deny" } });
                let answer = node.post_json(&path, &body, &[("x-session-token", &*by)]).await;
                ((number, true, approves), answer)
            });
            let (by, approval) = (session.clone(), approval.clone());
            racers.spawn(async move {
                let body = json!({ "decision": if approves { "approve" } else { "deny" } });
                ((number, false, approves), decide(node, &by, &approval, body).await)
            });
        }
        let mut won = Vec::new();
        for (racer, answer) in racers.join_all().await {
            match answer.status.as_u16() {
                200 | 204 => won.push(racer),
                _ => lost(&answer),
            }
        }
        // The list says yes as well where a flow of the same session has approved.
        let by_flow = won.clone();
        won.retain(|&(number, in_flow, approves)| {
            in_flow || !approves || !by_flow.contains(&(number, true, true))
        });
        let [(_, _, approved)] = won[..] else { panic!("{won:?}") };
        assert_eq!(decisions(&server).await, round);
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
async fn of_two_passkeys_that_sign_the_same_request_one_counts() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    let (one, other) = (server.sign_in(ANA).await, server.sign_in(ANA).await);
    let details = [("authorization_details", TRANSFER)];
    let id = start(*server, "agent", ANA, &details).await;
    let approval = text(&waiting(&server, &one).await[0]["id"]).to_owned();
    let mut proofs = Vec::new();
    for session in [&one, &other] {
        let flow = flow_of(&server, session, &approval).await;
        let allow = json!({ "decision": "allow" });
        let asked = server.step_in(session, &flow, "confirm", allow).await.json();
        assert_eq!(asked["state"], "credential", "{asked}");
        let options = server.step_in(session, &flow, "passkey/options", json!({})).await.json();
        let credential = device.get(&options).await;
        proofs.push((flow, session, json!({ "credential": credential })));
    }
    // A proof for one flow is none for the other, though both show the same.
    let (flow, session, _) = &proofs[0];
    let swapped = server.step_in(session, flow, "passkey", proofs[1].2.clone()).await;
    swapped.problem(401, "invalid_credentials");
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    let (first, second) = (&proofs[0], &proofs[1]);
    let (first, second) = tokio::join!(
        server.step_in(first.1, &first.0, "passkey", first.2.clone()),
        server.step_in(second.1, &second.0, "passkey", second.2.clone()),
    );
    let done = |answer: &&Answer| answer.status == 200 && answer.json()["state"] == "done";
    let answers = [first, second];
    assert_eq!(answers.iter().filter(done).count(), 1, "{answers:?}");
    assert_eq!(decisions(&server).await, 1);
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    server.stop().await;
}

/// What can be suspended between a request and its tokens.
#[derive(Clone, Copy, Debug)]
enum Ended {
    Organization,
    Account,
    Client,
    Role,
    Session,
}

const ALL: [Ended; 5] =
    [Ended::Organization, Ended::Account, Ended::Client, Ended::Role, Ended::Session];

async fn turn(server: &TestServer, command: client::Command) {
    let mut commit = server.running().system().multi_commit(&Context::operator());
    commit.decide::<Client>("agent", &command).await.unwrap().unwrap();
    commit.commit().await.unwrap();
}

impl Ended {
    async fn end(self, server: &TestServer, session: &str) {
        match self {
            Self::Organization => {
                server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
            }
            Self::Account => drop(try_to(server, SuspensionChange::Suspend, ANA).await.unwrap()),
            Self::Client => {
                turn(server, client::Command::Suspend).await;
                eventually("its suspension is seen", async || {
                    poll(**server, "agent", "pbr_").await.status == 401
                })
                .await;
            }
            Self::Role => self.roles(server, "").await,
            Self::Session => {
                let flow = json!({ "kind": "sign_out" });
                let headers = [("x-session-token", session)];
                let flow = server.post_json("/flows", &flow, &headers).await.json();
                let out = json!({ "decision": "allow" });
                assert_eq!(server.step_in(session, &flow, "confirm", out).await.status, 200);
            }
        }
    }

    async fn undo(self, server: &TestServer) {
        match self {
            Self::Organization => {
                server.apply("[[organization]]\nslug = \"acme\"\nenabled = true\n").await;
            }
            Self::Account => drop(try_to(server, SuspensionChange::Enable, ANA).await.unwrap()),
            Self::Client => turn(server, client::Command::Enable).await,
            Self::Role => self.roles(server, "\"manager\"").await,
            Self::Session => {}
        }
    }

    async fn roles(self, server: &TestServer, roles: &str) {
        server
            .apply(&format!(
                "[[account]]\nemail = \"{ANA}\"\n\
                 memberships = [{{ organization = \"acme\", roles = [{roles}] }}]\n"
            ))
            .await;
    }
}

#[tokio::test]
async fn what_ends_between_the_request_and_the_approval_lets_no_approval_through() {
    for ended in ALL {
        let server = open().await;
        let session = server.sign_in(ANA).await;
        let id = start(*server, "agent", ANA, &SCOPE).await;
        let approval = text(&waiting(&server, &session).await[0]["id"]).to_owned();
        let flow = flow_of(&server, &session, &approval).await;
        ended.end(&server, &session).await;
        let allow = json!({ "decision": "allow" });
        let in_flow = server.step_in(&session, &flow, "confirm", allow).await;
        let document = in_flow.json();
        assert_ne!(document["state"], "done", "{ended:?}: {document}");
        let approve = json!({ "decision": "approve" });
        let said = decide(*server, &session, &approval, approve).await;
        assert!([401, 403, 404, 409].contains(&said.status.as_u16()), "{ended:?}: {said:?}");
        assert!(records(&server, "approval.given").await.is_empty(), "{ended:?}");
        let polled = poll(*server, "agent", &id).await;
        match ended {
            // Its own secret is good for nothing.
            Ended::Client => drop(polled.refused(401, "invalid_client")),
            // What the person could not grant any more is denied, and said.
            Ended::Organization => drop(polled.refused(400, "access_denied")),
            Ended::Role => drop(polled.refused(400, "invalid_scope")),
            Ended::Account | Ended::Session => {
                drop(polled.refused(400, "authorization_pending"));
            }
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn what_ends_between_the_approval_and_the_poll_gives_no_tokens_then_or_later() {
    for ended in ALL {
        let server = open().await;
        let session = server.sign_in(ANA).await;
        // Without `offline_access` what was approved rests on the session.
        let scope = [("scope", "openid invoices:read")];
        let id = start(*server, "agent", ANA, &scope).await;
        say(&server, &session, "approve").await;
        ended.end(&server, &session).await;
        let polled = poll(*server, "agent", &id).await;
        match ended {
            Ended::Client => drop(polled.refused(401, "invalid_client")),
            _ => assert_eq!(polled.status, 400, "{ended:?}: {polled:?}"),
        }
        let error = polled.json()["error"].clone();
        assert_ne!(error, "authorization_pending", "{ended:?}");
        ended.undo(&server).await;
        eventually("it is enabled", async || poll(*server, "agent", &id).await.status != 401).await;
        let later = poll(*server, "agent", &id).await;
        assert_eq!(later.status, 400, "{ended:?}: {later:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn an_id_of_another_client_is_worth_nothing_and_does_no_harm() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &SCOPE).await;
    poll(*server, "rival", &id).await.refused(400, "invalid_grant");
    // The pace of another client is not this one's.
    poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    say(&server, &session, "approve").await;
    for _ in 0..3 {
        poll(*server, "rival", &id).await.refused(400, "invalid_grant");
    }
    let half = &id[..id.len() / 2];
    let last = if id.ends_with('A') { "B" } else { "A" };
    let other = format!("{}{last}", &id[..id.len() - 1]);
    let (doubled, long) = (format!("{id}{id}"), "x".repeat(50_000));
    for wrong in [half, &other, &doubled, "pbr_\0", "pbr_é", "../pbr_", &long] {
        let refused = poll(*server, "agent", wrong).await;
        assert!([400, 413].contains(&refused.status.as_u16()), "{refused:?}");
    }
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    for fields in [
        &[("grant_type", device), ("device_code", &*id)][..],
        &[("grant_type", "refresh_token"), ("refresh_token", &id)],
        &[("grant_type", "authorization_code"), ("code", &id)],
        &[("grant_type", GRANT), ("auth_req_id", &id), ("auth_req_id", &id)],
    ] {
        assert_eq!(server.post_as("agent", "/connect/token", fields).await.status, 400);
    }
    let tokens = poll(*server, "agent", &id).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    // Denied it is no other's to hear of.
    let id = start(*server, "agent", ANA, &SCOPE).await;
    say(&server, &session, "deny").await;
    poll(*server, "rival", &id).await.refused(400, "invalid_grant");
    poll(*server, "agent", &id).await.refused(400, "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn a_message_shows_what_it_says_or_is_refused() {
    let server = open().await;
    // A NUL is in no parameter at all.
    let hidden = ('\u{1}'..='\u{1f}')
        .chain('\u{7f}'..='\u{9f}')
        .chain('\u{200b}'..='\u{200f}')
        .chain('\u{2028}'..='\u{202e}')
        .chain('\u{2060}'..='\u{206f}')
        .chain("\u{ad}\u{34f}\u{61c}\u{115f}\u{180e}\u{2800}\u{3164}\u{fe0f}\u{feff}".chars())
        .chain("\u{e000}\u{fff9}\u{e0001}\u{e0041}\u{f0000}".chars());
    for character in hidden {
        for message in [format!("a{character}b"), format!("{character}a"), format!("a{character}")]
        {
            let refused = ask(*server, "agent", ANA, &[("binding_message", &message)]).await;
            refused.refused(400, "invalid_binding_message");
        }
    }
    let (longest, longer) = ("ã".repeat(200), "ã".repeat(201));
    for bad in [&*longer, "\u{a0}", "\u{3000} ", " "] {
        let refused = ask(*server, "agent", ANA, &[("binding_message", bad)]).await;
        refused.refused(400, "invalid_binding_message");
    }
    let session = server.sign_in(ANA).await;
    for good in [&*longest, "W4SCT", "Ελλάδα 株式会社 שלום", "½ № 🎉", "<b>\"'&"]
    {
        start(*server, "agent", ANA, &[("binding_message", good)]).await;
        let items = waiting(&server, &session).await;
        assert_eq!(items[0]["binding_message"], good);
        say(&server, &session, "deny").await;
    }
    // What stands in a detail cannot turn its sentence around, either.
    let details = json!([{ "type": "transfer", "amount": "1\u{202e}000\n\u{200b}" }]).to_string();
    let asked = ask(*server, "agent", ANA, &[("authorization_details", &details)]).await;
    if asked.status == 200 {
        let items = waiting(&server, &session).await;
        let words = text(&items[0]["authorization_details"][0]["text"]["en"]);
        assert!(!words.contains(['\u{202e}', '\u{200b}', '\n']), "{words:?}");
    } else {
        asked.refused(400, "invalid_authorization_details");
    }
    server.stop().await;
}
