//! The security log of a whole server: what is kept, for how long, and what is said of it at the end.

use crate::{
    binary::{Installation, porteiro, said},
    shared::eventually,
    support::{ACME, TestOptions, TestServer, metric},
};
use porteiro::{
    actors::JanitorOptions,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
        password::PasswordCost,
    },
    domain::{Clock, Timestamp},
    provisioning::{self, File},
    system::Workbench,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

const DAY: Duration = Duration::from_hours(24);

/// Tries a wrong password for an identifier, as often as asked, each time in a flow of its own.
async fn fail(server: &TestServer, identifier: &str, times: usize) {
    for _ in 0..times {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        server.step(&flow, "identifier", json!({ "identifier": identifier })).await;
        let answer = server.step(&flow, "password", json!({ "password": "wrong" })).await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
}

/// Returns the detail of every row that records `event`.
pub async fn records(server: &TestServer, event: &str) -> Vec<String> {
    let store = server.running().system().store();
    let mut found = Vec::new();
    for lane in store.log_lanes().await.unwrap() {
        let rows = store.log_page(&lane, 0).await.unwrap();
        found.extend(rows.into_iter().filter(|row| row.event == event).map(|row| row.detail));
    }
    found
}

#[tokio::test]
async fn a_wrong_password_is_recorded_for_an_account_and_only_counted_for_none() {
    let server = TestServer::open().await;
    fail(&server, "ana@acme.test", 3).await;
    let of_ana = records(&server, "sign_in.failed").await;
    assert_eq!(of_ana.len(), 3);
    assert!(of_ana.iter().all(|detail| detail.starts_with("{\"account\":")), "{of_ana:?}");
    for identifier in ["eva@acme.test", "no address at all"] {
        fail(&server, identifier, 4).await;
    }
    assert_eq!(
        records(&server, "sign_in.failed").await,
        of_ana,
        "no row for identifiers of no one"
    );
    assert_eq!(metric(&server, "porteiro_attempts_without_account_total").await, 8);
    let proof = server.running().system().store().verify_log(&[]).await.unwrap();
    assert!(proof.findings.is_empty(), "{proof:?}");
    server.stop().await;
}

#[tokio::test]
async fn what_is_older_than_the_log_is_kept_goes_and_the_rest_still_verifies() {
    let janitor = JanitorOptions {
        every: Duration::from_millis(10),
        anchor_every: Duration::from_mins(10),
        keep_log: Some(DAY * 30),
    };
    let server = TestServer::open_in(TestOptions { janitor, ..TestOptions::default() }).await;
    fail(&server, "ana@acme.test", 3).await;
    server.clock.advance(DAY * 29);
    fail(&server, "ana@acme.test", 1).await;
    assert_eq!(records(&server, "sign_in.failed").await.len(), 4, "nothing is old yet");
    server.clock.advance(DAY * 2);
    eventually("what is old to be gone", async || {
        records(&server, "sign_in.failed").await.len() == 1
    })
    .await;
    let keys = server.keys();
    let verify = ["log", "verify", "--store", &server.url, "--keys", keys.to_str().unwrap()];
    let verified = porteiro(&keys, &verify).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
    server.stop().await;
}

/// A clock that stood still in 2020.
struct LongAgo;

impl Clock for LongAgo {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_600_000_000_000)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Says how many rows a log has that verifies.
fn verified_rows(installation: &Installation) -> u64 {
    let verified = installation.run(&["log", "verify"]);
    assert!(verified.status.success(), "{}", said(&verified));
    let text = String::from_utf8(verified.stdout).unwrap();
    text.lines().last().unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_binary_shortens_the_log_as_its_configuration_says_and_exports_heads_at_its_end() {
    let installation = Installation::new().await;
    let folder = Folder::load(&installation.path().join("keys"), DevKeys::Refused).unwrap();
    let (clock, dice) = (Arc::new(LongAgo), Arc::new(SystemDice));
    let workbench = Workbench::open(installation.url(), &folder, clock, dice).await.unwrap();
    let workbench = workbench.with_password_cost(PasswordCost::CHEAP);
    let file = File::parse(ACME).unwrap();
    provisioning::apply(&workbench, &file, false, &|_, _| {}).await.unwrap();
    workbench.close().await;
    let before = verified_rows(&installation);

    installation.configure("[log]\nkeep_days = 0\n");
    let serving = installation.serve();
    serving.signal("-TERM");
    assert_eq!(serving.end().0, Some(0));
    let kept = verified_rows(&installation);
    assert!(kept > before, "for ever is 0");

    installation.configure("[log]\nkeep_days = 30\n");
    let serving = installation.serve();
    eventually("rows of 2020 to be gone", async || verified_rows(&installation) < before).await;
    serving.signal("-TERM");
    let (code, log) = serving.end();
    assert_eq!(code, Some(0));
    assert!(log.iter().any(|line| line.contains("porteiro::log_heads")), "{log:#?}");
    std::fs::write(installation.path().join("server.log"), log.join("\n")).unwrap();
    let verified = installation.run(&["log", "verify", "--heads", "server.log"]);
    assert!(verified.status.success(), "{verified:?}");
}
