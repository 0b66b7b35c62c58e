//! Commits that are late or of unknown fate: the request is answered all the same, and a client that
//! does as it is told keeps what it holds.

use crate::{
    ciba, device,
    http::Answer,
    me::get_in,
    person::{PASSWORD, claims, parameter, redirect, text},
    support::{TestOptions, TestServer},
};
use porteiro::store::{FaultInjection, Moment};
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

const SCOPE: &str = "openid invoices:read offline_access";

/// What is done at the next moment of a sort.
#[derive(Clone, Copy)]
pub enum Fault {
    Fail,
    /// It takes so long.
    Wait(Duration),
    Pass,
}

/// Faults, planned one by one.
#[derive(Default)]
pub struct Faults(Mutex<Vec<(Moment, Fault)>>);

impl Faults {
    pub fn plan(&self, moment: Moment, faults: &[Fault]) {
        self.0.lock().unwrap().extend(faults.iter().map(|fault| (moment, *fault)));
    }

    fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

impl FaultInjection for Faults {
    fn fails(&self, moment: Moment) -> bool {
        let mut planned = self.0.lock().unwrap();
        let next = planned.iter().position(|(when, _)| *when == moment);
        let fault = next.map(|index| planned.remove(index).1);
        drop(planned);
        if let Some(Fault::Wait(time)) = fault {
            std::thread::sleep(time);
        }
        matches!(fault, Some(Fault::Fail))
    }
}

async fn open() -> (TestServer, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let fault_injection: Option<Arc<dyn FaultInjection>> = Some(faults.clone());
    let server =
        TestServer::open_in(TestOptions { fault_injection, ..TestOptions::default() }).await;
    (server, faults)
}

impl TestServer {
    /// How many commits of a kind were of unknown fate.
    fn unknown(&self, kind: &str) -> u64 {
        let kinds = self.running().system().kinds();
        kinds.iter().find(|(one, _)| *one == kind).unwrap().1.unknown
    }
}

/// Repeats a round until the planned fault has met a family, and not the work of another actor.
async fn until_met(server: &TestServer, round: impl AsyncFnMut()) {
    until_met_by(server, "token_family", round).await;
}

async fn until_met_by(server: &TestServer, kind: &str, mut round: impl AsyncFnMut()) {
    for _ in 0..10 {
        let before = server.unknown(kind);
        round().await;
        if server.unknown(kind) > before {
            return;
        }
    }
    panic!("the fault never met a {kind}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_begins_by_a_commit_of_unknown_fate_begins_once_and_is_answered() {
    let faults = Arc::new(Faults::default());
    let options = || {
        let fault_injection: Option<Arc<dyn FaultInjection>> = Some(faults.clone());
        TestOptions { fault_injection, ..TestOptions::default() }
    };
    let server = device::open_in(options()).await;
    let people = ciba::open_in(options()).await;
    let session = people.sign_in("ana@acme.test").await;
    for moment in [Moment::Commit, Moment::Answer] {
        until_met_by(&server, "device_grant", async || {
            faults.plan(moment, &[Fault::Fail]);
            let codes = device::start(*server, "tv", &[]).await;
            faults.clear();
            device::allow(*server, &codes.user, "ana@acme.test").await;
            assert_eq!(device::poll(*server, "tv", &codes.device).await.status, 200);
        })
        .await;
        until_met_by(&server, "client", async || {
            faults.plan(moment, &[Fault::Fail]);
            let body = json!({ "redirect_uris": ["https://app.example/cb"] });
            let answer = server.post_json("/connect/register", &body, &[]).await;
            faults.clear();
            assert_eq!(answer.status, 201, "{moment:?}: {answer:?}");
        })
        .await;
        until_met_by(&people, "backchannel_request", async || {
            // Of the round before, mails are still under way.
            people.quiet().await;
            // What the client may ask is charged before.
            faults.plan(moment, &[Fault::Pass, Fault::Fail]);
            let asked = ciba::ask(*people, "agent", "ana@acme.test", &[]).await;
            faults.clear();
            if asked.status == 503 {
                // Another commit came first, and the fault met the charge: the client is to ask again.
                return;
            }
            assert_eq!(asked.status, 200, "{moment:?}: {asked:?}");
            // The person is asked once.
            ciba::say(&people, &session, "approve").await;
        })
        .await;
    }
    server.stop().await;
    people.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_of_unknown_fate_is_answered_with_tokens_whether_it_happened_or_not() {
    let (server, faults) = open().await;
    for moment in [Moment::Commit, Moment::Answer] {
        let mut tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
        until_met(&server, async || {
            faults.plan(moment, &[Fault::Fail]);
            let answer = server.refresh("web", text(&tokens["refresh_token"])).await;
            assert_eq!(answer.status, 200, "{moment:?}: {answer:?}");
            tokens = answer.json();
        })
        .await;
        faults.clear();
        assert_eq!(server.introspect("web", text(&tokens["access_token"])).await["active"], true);
        let next = server.refresh("web", text(&tokens["refresh_token"])).await;
        assert_eq!(next.status, 200, "{moment:?}: {next:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_of_unknown_fate_becomes_tokens_all_the_same() {
    let (server, faults) = open().await;
    server
        .apply("[[client]]\nclient_id = \"native\"\ngrant_types = [\"authorization_code\"]\n")
        .await;
    let session = server.sign_in("ana@acme.test").await;
    for client in ["web", "native"] {
        for moment in [Moment::Commit, Moment::Answer] {
            until_met(&server, async || {
                let code = match client {
                    "native" => native_code(&server, &session).await,
                    other => server.code(&session, other, "openid").await,
                };
                faults.plan(moment, &[Fault::Fail]);
                let answer = server.redeem(client, &code).await;
                assert_eq!(answer.status, 200, "{client} {moment:?}: {answer:?}");
                faults.clear();
                let tokens = answer.json();
                assert_eq!(claims(&tokens["id_token"])["nonce"], "n-0S6_WzA2Mj");
                assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
                // It is spent all the same.
                server.redeem(client, &code).await.refused(400, "invalid_grant");
                server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
            })
            .await;
        }
    }
    server.stop().await;
}

/// A code of the client that must ask every time, and gets no refresh tokens here.
async fn native_code(server: &TestServer, session: &str) -> String {
    let flow = server.authorize_in(session, "native", &[]).await.json();
    let path = format!("/flows/{}/consent", text(&flow["id"]));
    let allow = json!({ "decision": "allow" });
    let done = server.post_json(&path, &allow, &[("x-session-token", session)]).await;
    let to = done.json()["result"]["redirect_to"].as_str().unwrap().to_owned();
    parameter(&url::Url::parse(&to).unwrap(), "code").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_is_granted_in_silence_is_good_whatever_its_commit_said() {
    let (server, faults) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    for moment in [Moment::Commit, Moment::Answer] {
        until_met(&server, async || {
            faults.plan(moment, &[Fault::Fail]);
            let code = server.code(&session, "web", "openid").await;
            faults.clear();
            assert_eq!(server.redeem("web", &code).await.status, 200);
        })
        .await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refresh_that_is_late_is_answered_with_tokens() {
    let faults = Arc::new(Faults::default());
    let fault_injection: Option<Arc<dyn FaultInjection>> = Some(faults.clone());
    let ask_timeout = Duration::from_secs(1);
    let options = TestOptions { fault_injection, ask_timeout, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    let began = std::time::Instant::now();
    faults.plan(Moment::Answer, &[Fault::Wait(Duration::from_millis(1_700))]);
    let answer = server.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(began.elapsed() > ask_timeout, "the first ask was late");
    let next = server.refresh("web", text(&answer.json()["refresh_token"])).await;
    assert_eq!(next.status, 200, "{next:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stays_unknown_is_not_to_be_retried_and_what_did_not_happen_is_not_spent() {
    let (server, faults) = open().await;
    let tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    faults.plan(Moment::Commit, &[Fault::Fail; 40]);
    let answer = server.refresh("web", text(&tokens["refresh_token"])).await;
    faults.clear();
    answer.refused(500, "server_error");
    assert!(answer.header("retry-after").is_none(), "{answer:?}");
    let again = server.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(again.status, 200, "it did not happen: {again:?}");
    server.stop().await;
}

/// Refreshes as a client does that comes back when it is told to.
async fn obedient(server: &TestServer, token: &str) -> Answer {
    for _ in 0..20 {
        let answer = server.refresh("web", token).await;
        if answer.header("retry-after").is_none() {
            return answer;
        }
    }
    panic!("it was told to come back for ever");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_obeys_retry_after_never_loses_its_family() {
    let (server, faults) = open().await;
    let mut tokens = server.tokens("ana@acme.test", "web", SCOPE).await;
    let (moments, fates) =
        ([Moment::Write, Moment::Commit, Moment::Answer], [Fault::Fail, Fault::Pass]);
    for first in moments {
        for second in moments {
            for fate in fates {
                faults.plan(first, &[Fault::Fail]);
                faults.plan(second, &[fate, Fault::Fail]);
                let answer = obedient(&server, text(&tokens["refresh_token"])).await;
                faults.clear();
                assert_eq!(answer.status, 200, "{first:?} {second:?}: {answer:?}");
                tokens = answer.json();
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_list_of_approvals_is_whole_or_is_not_given_whichever_read_fails() {
    let (server, faults) = open().await;
    server.apply(&format!("{}{}", ciba::TYPES, ciba::AGENTS)).await;
    let session = server.sign_in(ciba::ANA).await;
    ciba::start(*server, "agent", ciba::ANA, &[]).await;
    let mut refused = 0;
    for reads in 0..16 {
        server.clock.expire_views();
        faults.plan(Moment::Read, &[vec![Fault::Pass; reads], vec![Fault::Fail]].concat());
        let listed = get_in(&server, &session, "/me/approvals").await;
        faults.clear();
        if listed.status == 503 {
            refused += 1;
            continue;
        }
        let items = listed.json()["items"].as_array().unwrap().len();
        assert_eq!((listed.status.as_u16(), items), (200, 1), "read {reads}: {listed:?}");
    }
    assert!(refused > 1, "a failing read was met");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_changes_within_the_second_of_a_view_still_gets_its_code() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    server.code(&session, "web", "openid").await;
    for name in ["One", "Two", "Three"] {
        server.apply(&format!("[[client]]\nclient_id = \"web\"\nclient_name = \"{name}\"\n")).await;
        let answer = server.authorize_in(&session, "web", &[]).await;
        assert!(parameter(&redirect(&answer), "code").is_some(), "{name}: {answer:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consent_and_what_is_granted_on_it_are_one_commit() {
    let (server, faults) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    let flow = server.authorize_in(&session, "app", &[]).await.json();
    assert_eq!(flow["state"], "consent", "{flow}");
    let path = format!("/flows/{}/consent", text(&flow["id"]));
    let allow = json!({ "decision": "allow" });
    let header = [("x-session-token", session.as_str())];
    let silent = async || server.authorize_in(&session, "app", &[("prompt", "none")]).await;
    server.quiet().await;
    faults.plan(Moment::Write, &[Fault::Fail]);
    let failed = server.post_json(&path, &allow, &header).await;
    faults.clear();
    assert_eq!(failed.status, 503, "{failed:?}");
    let error = parameter(&redirect(&silent().await), "error");
    assert_eq!(error.as_deref(), Some("consent_required"), "neither stands");
    let done = server.post_json(&path, &allow, &header).await;
    assert!(parameter(&redirect(&done), "code").is_some(), "{done:?}");
    assert!(parameter(&redirect(&silent().await), "code").is_some(), "both stand");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_whose_end_is_in_doubt_is_answered_with_what_it_came_to() {
    let (server, faults) = open().await;
    let unknown = || {
        let kinds = server.running().system().kinds();
        kinds.iter().find(|(kind, _)| *kind == "flow").unwrap().1.unknown
    };
    // The answer to COMMIT is lost; then COMMIT itself is.
    for moment in [Moment::Answer, Moment::Commit] {
        let mut met = false;
        for _ in 0..10 {
            let flow = server.authorize("web", &[]).await.json();
            let named = json!({ "identifier": "ana@acme.test" });
            server.step(&flow, "identifier", named).await;
            server.quiet().await;
            let before = unknown();
            // The first commit charges the attempt, the second ends the flow.
            faults.plan(moment, &[Fault::Pass, Fault::Fail]);
            let body = json!({ "password": PASSWORD });
            let answer = server.step(&flow, "password", body.clone()).await;
            faults.clear();
            if unknown() == before {
                continue;
            }
            met = true;
            let done = if moment == Moment::Answer {
                answer
            } else {
                assert_eq!(answer.status, 503, "{answer:?}");
                server.step(&flow, "password", body).await
            };
            let code = parameter(&redirect(&done), "code").unwrap_or_else(|| panic!("{done:?}"));
            assert_eq!(server.redeem("web", &code).await.status, 200, "{moment:?}");
            let session = text(&done.json()["result"]["session_token"]).to_owned();
            assert_eq!(server.authorize_in(&session, "web", &[]).await.json()["state"], "done");
            break;
        }
        assert!(met, "the fault never met a flow");
    }
    server.stop().await;
}
