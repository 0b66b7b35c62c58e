//! Accounts that are suspended, enabled again, about to be deleted, and deleted.

use crate::{
    binary::porteiro,
    mails::{mails, wait_for},
    me::{delete_in, get_in, records},
    person::{PASSWORD, text},
    shared::eventually,
    support::{TestOptions, TestServer},
};
use porteiro::{
    actors::JanitorOptions,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::{
        Clock as _, Context,
        account::{AccountStatus, EMAIL_ADDRESSES},
        approval_block::{self, ApprovalBlock, BLOCKED_CLIENTS, Sides},
    },
    provisioning::{AccountChangeError, SuspensionChange, SuspensionOutcome, suspend},
    store::{FaultInjection, Moment},
    system::Workbench,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

const DAY: Duration = Duration::from_hours(24);
const ANA: &str = "ana@acme.test";
const SCOPE: &str = "openid offline_access invoices:read";

/// Does what the command does.
pub async fn try_to(
    server: &TestServer,
    suspending: SuspensionChange,
    email: &str,
) -> Result<SuspensionOutcome, AccountChangeError> {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    let workbench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
    let done = suspend(&workbench, email, suspending, Some("asked for")).await;
    workbench.close().await;
    done
}

async fn account(server: &TestServer, email: &str) -> Option<String> {
    let store = server.running().system().store();
    store.find(EMAIL_ADDRESSES, email).await.unwrap().map(|(_, id)| id)
}

/// Answers of a sign-in, step by step, without what differs by chance.
async fn attempt(server: &TestServer, email: &str, password: &str) -> Vec<(u16, String)> {
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    let id = text(&flow["id"]).to_owned();
    let mut seen = Vec::new();
    for (step, body) in [
        ("identifier", json!({ "identifier": email })),
        ("password", json!({ "password": password })),
        ("email_code/send", json!({})),
        ("email_code", json!({ "code": "000000" })),
    ] {
        let answer = server.step(&flow, step, body).await;
        seen.push((answer.status.as_u16(), answer.text().replace(&id, "ID").replace(email, "E")));
    }
    seen
}

async fn assert_dead(server: &TestServer, session: &str, tokens: &Value) {
    let (access, refresh) = (text(&tokens["access_token"]), text(&tokens["refresh_token"]));
    get_in(server, session, "/me").await.problem(401, "session_required");
    for token in [access, refresh] {
        assert_eq!(server.introspect("web", token).await["active"], false);
    }
    server.userinfo(access).await.refused(401, "invalid_token");
    server.refresh("web", refresh).await.refused(400, "invalid_grant");
}

async fn tokens_in(server: &TestServer, session: &str) -> Value {
    let code = server.code(session, "web", SCOPE).await;
    server.redeem("web", &code).await.json()
}

#[tokio::test]
async fn a_suspended_account_confers_nothing_and_enabling_it_revives_nothing() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let tokens = tokens_in(&server, &session).await;
    assert_eq!(server.introspect("web", text(&tokens["access_token"])).await["active"], true);
    let code = server.code(&session, "web", SCOPE).await;
    let done = try_to(&server, SuspensionChange::Suspend, " Ana@Acme.test").await.unwrap();
    assert_eq!((done.standing, done.changed), (AccountStatus::Suspended, true));
    assert_dead(&server, &session, &tokens).await;
    server.redeem("web", &code).await.refused(400, "invalid_grant");
    let again = try_to(&server, SuspensionChange::Suspend, ANA).await.unwrap();
    assert!(!again.changed, "{again:?}");
    let enabled = try_to(&server, SuspensionChange::Enable, ANA).await.unwrap();
    assert_eq!((enabled.standing, enabled.changed), (AccountStatus::Active, true));
    assert_dead(&server, &session, &tokens).await;
    server.redeem("web", &code).await.refused(400, "invalid_grant");
    // A new sign-in is a new beginning.
    let session = server.sign_in(ANA).await;
    let tokens = tokens_in(&server, &session).await;
    assert_eq!(server.introspect("web", text(&tokens["access_token"])).await["active"], true);
    assert_eq!(server.refresh("web", text(&tokens["refresh_token"])).await.status, 200);
    for (event, count) in [("account.suspended", 1), ("account.enabled", 1)] {
        let written = records(&server, event).await;
        assert_eq!(written.len(), count, "{event}");
        assert_eq!(written[0]["context"]["reason"], "asked for");
        assert_eq!(written[0]["context"]["actor"]["type"], "operator");
    }
    let unknown = try_to(&server, SuspensionChange::Suspend, "eva@acme.test").await;
    assert!(matches!(unknown, Err(AccountChangeError::NoSuchAccount)));
    server.stop().await;
}

#[tokio::test]
async fn a_sign_in_to_a_suspended_account_tells_no_more_than_one_to_none() {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    try_to(&server, SuspensionChange::Suspend, ANA).await.unwrap();
    let suspended = attempt(&server, ANA, PASSWORD).await;
    let unknown = attempt(&server, "eva@acme.test", PASSWORD).await;
    assert_eq!(suspended, unknown);
    assert_eq!(suspended[1].0, 401, "{suspended:?}");
    server.quiet().await;
    assert!(mails(&server).await.is_empty(), "nothing is sent to it");
    // Its address is not free.
    let flow = server.post_json("/flows", &json!({ "kind": "sign_up" }), &[]).await.json();
    server.step(&flow, "profile", json!({ "email": ANA })).await;
    server.step(&flow, "email_code/send", json!({})).await;
    let told = wait_for(&server, 1).await;
    assert!(text(&told[0]["subject"]).contains("already"), "{told:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_flow_that_waits_while_its_account_is_suspended_comes_to_nothing() {
    let server = TestServer::open().await;
    server.clock.advance(Duration::from_mins(1));
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    let proved = server.prove(&flow, "dora@acme.test").await;
    assert_eq!(proved.json()["state"], "second_factor", "{proved:?}");
    try_to(&server, SuspensionChange::Suspend, "dora@acme.test").await.unwrap();
    try_to(&server, SuspensionChange::Enable, "dora@acme.test").await.unwrap();
    let code = json!({ "code": crate::step_up::code(server.clock.now()) });
    server.step(&flow, "totp", code).await.problem(409, "account_changed");
    server.stop().await;
}

#[tokio::test]
async fn a_suspended_account_takes_no_change_from_a_file() {
    let server = TestServer::open().await;
    try_to(&server, SuspensionChange::Suspend, ANA).await.unwrap();
    let file = |name: &str| format!("[[account]]\nemail = \"{ANA}\"\ngiven_name = \"{name}\"\n");
    server.apply(&file("Ana")).await;
    let refused = crate::support::apply(&server.url, &server.keys(), &file("Eva")).await;
    assert!(refused.is_err(), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn the_command_suspends_and_enables_and_says_so() {
    let server = TestServer::open().await;
    let keys = server.keys();
    let session = server.sign_in(ANA).await;
    let id = account(&server, ANA).await.unwrap();
    for (command, state) in [("suspend", "suspended"), ("enable", "active")] {
        let run = porteiro(&keys, &["account", command, ANA, "--reason", "lost device", "--json"])
            .env("PORTEIRO_STORE__URL", &server.url)
            .env("PORTEIRO_KEYS__DIR", &keys)
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
        let said: Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(said, json!({ "email": ANA, "account": id, "state": state }));
    }
    get_in(&server, &session, "/me").await.problem(401, "session_required");
    assert_eq!(records(&server, "account.enabled").await[0]["context"]["reason"], "lost device");
    server.stop().await;
}

fn sweeping() -> TestOptions {
    let janitor = JanitorOptions {
        every: Duration::from_millis(10),
        anchor_every: Duration::from_mins(10),
        keep_log: None,
    };
    TestOptions { janitor, mailbox: true, ..TestOptions::default() }
}

#[tokio::test]
async fn a_deleted_account_is_erased_after_the_grace_period_and_its_address_is_free() {
    let server = TestServer::open_in(sweeping()).await;
    let first = account(&server, ANA).await.unwrap();
    let session = server.sign_in(ANA).await;
    let other = server.sign_in(ANA).await;
    let tokens = tokens_in(&server, &session).await;
    let answer = delete_in(&server, &session, "/me").await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let erased_at = text(&answer.json()["erased_at"]).to_owned();
    assert_dead(&server, &session, &tokens).await;
    get_in(&server, &other, "/me").await.problem(401, "session_required");
    let told = wait_for(&server, 1).await;
    let day = erased_at.split('T').next().unwrap();
    assert_eq!(text(&told[0]["to"]), ANA);
    assert!(text(&told[0]["text"]).contains(day), "{told:?}");
    server.clock.advance(DAY * 29);
    server.quiet().await;
    assert_eq!(account(&server, ANA).await.as_deref(), Some(&*first), "not yet");
    server.clock.advance(DAY * 2);
    // From now on it cannot be signed in to, erased or not.
    assert_eq!(attempt(&server, ANA, PASSWORD).await[1].0, 401);
    eventually("the account to be erased", async || account(&server, ANA).await.is_none()).await;
    let row = server.running().system().store().load("account", &first).await.unwrap().unwrap();
    assert!(row.state.contains(&first), "the id is left: {}", row.state);
    for gone in ["acme", "Ana", "argon2", "phone"] {
        assert!(!row.state.contains(gone), "{gone}: {}", row.state);
    }
    let ended = records(&server, "membership.ended").await;
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(records(&server, "account.deleted").await[0]["context"]["actor"]["type"], "node");
    // The address is free, and means another person now.
    let file = format!("[[account]]\nemail = \"{ANA}\"\npassword = \"{PASSWORD}\"\n");
    server.apply(&file).await;
    let second = account(&server, ANA).await.unwrap();
    assert_ne!(first, second);
    let session = server.sign_in(ANA).await;
    let me = get_in(&server, &session, "/me").await.json();
    assert_eq!((text(&me["sub"]), me.get("given_name")), (&*second, None));
    assert_eq!(get_in(&server, &session, "/me/organizations").await.json()["items"], json!([]));
    server.stop().await;
}

/// Lets so many transactions through, and fails the others.
struct Gate {
    left: AtomicI64,
    committed: AtomicUsize,
}

impl FaultInjection for Gate {
    fn fails(&self, moment: Moment) -> bool {
        if moment == Moment::Answer {
            self.committed.fetch_add(1, SeqCst);
        }
        moment == Moment::Write && self.left.fetch_sub(1, SeqCst) <= 0
    }
}

#[tokio::test]
async fn what_a_deleted_person_leaves_goes_in_bites_and_the_account_last() {
    const BLOCKED: usize = 230;
    let gate = Arc::new(Gate { left: i64::MAX.into(), committed: 0.into() });
    let fault_injection: Option<Arc<dyn FaultInjection>> = Some(gate.clone());
    let server = TestServer::open_in(TestOptions { fault_injection, ..sweeping() }).await;
    let first = account(&server, ANA).await.unwrap();
    let mut commit = server.running().system().multi_commit(&Context::node());
    for number in 0..BLOCKED {
        let sides = Sides { account: first.clone(), client_id: format!("client-{number}") };
        let block = approval_block::Command::Block(sides.clone());
        commit.decide::<ApprovalBlock>(&sides.id(), &block).await.unwrap().unwrap();
    }
    commit.commit().await.unwrap();
    let reads = server.running().system().fresh_reads();
    let left = async || reads.count(BLOCKED_CLIENTS, &first, 1_000).await.unwrap();
    let session = server.sign_in(ANA).await;
    assert_eq!(delete_in(&server, &session, "/me").await.status, 202);
    server.quiet().await;
    gate.left.store(0, SeqCst);
    server.clock.advance(DAY * 31);
    // One transaction at a time, of whatever the janitor does, until one was of this account.
    let mut seen = Vec::new();
    while left().await > 0 {
        seen.push(left().await);
        assert!(account(&server, ANA).await.is_some(), "with {} left", left().await);
        let before = gate.committed.load(SeqCst);
        gate.left.store(1, SeqCst);
        eventually("a commit", async || gate.committed.load(SeqCst) > before).await;
    }
    seen.dedup();
    assert!(seen.len() >= 3, "{seen:?}");
    gate.left.store(i64::MAX, SeqCst);
    eventually("the account to be erased", async || account(&server, ANA).await.is_none()).await;
    server.stop().await;
}

#[tokio::test]
async fn signing_in_within_the_grace_period_keeps_the_account() {
    let server = TestServer::open_in(sweeping()).await;
    let session = server.sign_in(ANA).await;
    assert_eq!(delete_in(&server, &session, "/me").await.status, 202);
    server.clock.advance(DAY * 20);
    let session = server.sign_in(ANA).await;
    assert_eq!(get_in(&server, &session, "/me").await.status, 200);
    assert_eq!(records(&server, "account.deletion_cancelled").await.len(), 1);
    server.clock.advance(DAY * 11);
    server.quiet().await;
    let session = server.sign_in(ANA).await;
    let tokens = tokens_in(&server, &session).await;
    assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
    server.stop().await;
}
