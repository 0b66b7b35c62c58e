//! Attempts that race: over one node or two, no more are made than the allowance, whoever it is.

use crate::support::{Node, World, eventually, make_keys};
use porteiro::{
    actors::{Entities, Failure},
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::{
        Clock as _, Context,
        throttle::{Command, Pace, Refusal, Throttle},
    },
    http::limits::attempts::{AttemptRefusal, Attempts},
    provisioning::{File, apply, unlock},
    system::{System, Workbench},
};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

const CHARGE: fn() -> Command = || Command::Charge { pace: Pace::default() };

async fn door(node: &Node) -> Entities<Throttle> {
    node.tree.host().await.unwrap()
}

/// Charges one throttle so many times at once through each door, and says how many were granted.
async fn race(doors: &[Entities<Throttle>], times: usize) -> usize {
    let mut askers = JoinSet::new();
    for door in doors.iter().cycle().take(doors.len() * times) {
        let door = door.clone();
        askers.spawn(async move { door.ask(&Context::node(), "a", CHARGE()).await });
    }
    askers.join_all().await.iter().filter(|answer| answer.is_ok()).count()
}

#[tokio::test]
async fn racing_attempts_are_granted_as_often_as_the_allowance_says() {
    let world = World::new().await;
    let node = world.node().await;
    let throttles = [door(&node).await];
    assert_eq!(race(&throttles, 100).await, 10);
    assert_eq!(node.store.report().commits, 10, "a refusal commits nothing");
    throttles[0].ask(&Context::node(), "a", Command::Clear).await.unwrap();
    assert_eq!(race(&throttles, 100).await, 10);
    node.stop().await;
}

#[tokio::test]
async fn two_nodes_grant_no_more_than_one() {
    let world = World::new().await;
    let (one, other) = (world.node().await, world.node().await);
    let doors = [door(&one).await, door(&other).await];
    let mut granted = 0;
    // Whoever loses too often is told to come again, and does.
    for _ in 0..5 {
        granted += race(&doors, 20).await;
    }
    assert_eq!(granted, 10);
    let again = doors[0].ask(&Context::node(), "a", CHARGE()).await;
    assert!(matches!(again, Err(Failure::Refused(Refusal::TooMany { .. }))));
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn what_was_charged_is_still_charged_after_a_restart() {
    let world = World::new().await;
    let node = world.node().await;
    assert_eq!(race(&[door(&node).await], 10).await, 10);
    node.stop().await;
    let node = world.node().await;
    assert_eq!(race(&[door(&node).await], 1).await, 0);
    node.stop().await;
}

async fn system(world: &World) -> System {
    let folder = world.folder().join("keys");
    make_keys(&folder, world.clock.now());
    System::start(world.system(folder)).await.unwrap()
}

/// Says how many wrong attempts are let through before one is not, and how long that must wait.
async fn wrong_attempts(attempts: &Attempts, authenticator: &'static str, who: &str) -> (u32, u32) {
    for made in 0.. {
        match attempts.charge(&Context::node(), authenticator, who).await {
            Ok(wrong) => wrong.failed(),
            Err(AttemptRefusal::TooMany(wait)) => return (made, wait.seconds()),
            Err(other) => panic!("{other:?}"),
        }
    }
    unreachable!("there is an end to it")
}

#[tokio::test]
async fn every_authenticator_of_every_identifier_has_a_throttle_that_names_nobody() {
    let world = World::new().await;
    let system = system(&world).await;
    let attempts = Attempts::new(&system, Arc::default(), true).await.unwrap();
    for who in ["ana@acme.test", "nobody@acme.test"] {
        assert_eq!(wrong_attempts(&attempts, "password", who).await, (10, 30));
        assert_eq!(wrong_attempts(&attempts, "totp", who).await, (10, 30));
    }
    world.clock.advance(Duration::from_secs(30));
    attempts.charge(&Context::node(), "password", "ana@acme.test").await.unwrap().succeeded();
    let charged = "entities WHERE kind = 'throttle' AND state LIKE '%failures%'";
    eventually("a cleared throttle", async || world.stranger().await.count(charged).await == 3)
        .await;
    assert_eq!(wrong_attempts(&attempts, "password", "nobody@acme.test").await, (1, 30));
    // Its row may be seen before its actor has noted it: a refusal may be a second old.
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(wrong_attempts(&attempts, "password", "ana@acme.test").await, (10, 30));
    let mut stranger = world.stranger().await;
    assert_eq!(stranger.count("entities WHERE kind = 'throttle'").await, 4);
    let named = "entities WHERE state LIKE '%acme%' OR id LIKE '%acme%'";
    assert_eq!(stranger.count(named).await, 0);
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn what_an_operator_unlocks_is_recorded_and_open_to_every_node() {
    let world = World::new().await;
    let system = system(&world).await;
    let attempts = Attempts::new(&system, Arc::default(), false).await.unwrap();
    let folder = Folder::load(&world.folder().join("keys"), DevKeys::Refused).unwrap();
    let dice = Arc::new(SystemDice);
    let bench = Workbench::open(&world.url, &folder, world.clock.clone(), dice).await.unwrap();
    let ana = File::parse("[[account]]\nemail = \"Ana@acme.test\"\n").unwrap();
    apply(&bench, &ana, false, &|_, _| {}).await.unwrap();
    assert_eq!(wrong_attempts(&attempts, "password", "ana@acme.test").await.0, 100);
    let unlocked = unlock(&bench, "ana@acme.test").await.unwrap();
    assert_eq!(unlocked.authenticators, ["password"]);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(wrong_attempts(&attempts, "password", "ana@acme.test").await.0, 100);
    let recorded = "security_log WHERE event = 'throttle.unlocked' AND detail LIKE \
                    '%\"failures\":100%'";
    assert_eq!(world.stranger().await.count(recorded).await, 1);
    assert!(unlock(&bench, "ana@acme.test").await.unwrap().authenticators.len() == 1);
    assert!(unlock(&bench, "ana@acme.test").await.unwrap().authenticators.is_empty());
    bench.close().await;
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn without_limits_a_hundred_failures_in_a_row_are_borne_and_no_more() {
    let world = World::new().await;
    let system = system(&world).await;
    let attempts = Attempts::new(&system, Arc::default(), false).await.unwrap();
    assert_eq!(
        wrong_attempts(&attempts, "password", "ana@acme.test").await,
        (100, 30 * 24 * 3_600)
    );
    let recorded = "security_log WHERE event = 'throttle.exhausted'";
    assert_eq!(world.stranger().await.count(recorded).await, 1);
    assert!(system.stop(Duration::from_secs(5)).await);
}

/// The throttles with so many failures in a row.
fn charged(failures: u32) -> String {
    format!("entities WHERE kind = 'throttle' AND state LIKE '%\"failures\":{failures},%'")
}

#[tokio::test]
async fn an_attempt_that_was_never_judged_gives_itself_back() {
    let world = World::new().await;
    let system = system(&world).await;
    let attempts = Attempts::new(&system, Arc::default(), true).await.unwrap();
    for _ in 0..3 {
        attempts.charge(&Context::node(), "password", "ana@acme.test").await.unwrap().failed();
    }
    // Our own error: the handler returned early.
    drop(attempts.charge(&Context::node(), "password", "ana@acme.test").await.unwrap());
    eventually("the former count", async || world.stranger().await.count(&charged(3)).await == 1)
        .await;
    // Right, but the flow is not finished: what was held before stays.
    attempts.charge(&Context::node(), "password", "ana@acme.test").await.unwrap().give_back();
    eventually("the former count", async || world.stranger().await.count(&charged(3)).await == 1)
        .await;
    assert_eq!(wrong_attempts(&attempts, "password", "ana@acme.test").await.0, 7);
    assert!(system.stop(Duration::from_secs(5)).await);
}
