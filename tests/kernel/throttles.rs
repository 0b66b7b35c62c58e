//! Attempts that race: over one node or two, no more are made than the allowance.

use crate::support::{Node, World};
use porteiro::{
    actors::{Entities, Failure},
    domain::throttle::{Command, Pace, Refusal, Throttle},
};
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
        askers.spawn(async move { door.ask("a", CHARGE()).await });
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
    throttles[0].ask("a", Command::Clear).await.unwrap();
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
    let again = doors[0].ask("a", CHARGE()).await;
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
