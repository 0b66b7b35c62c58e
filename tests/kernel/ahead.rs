//! Work on a reply while it is committed.

use crate::{
    ledger::Command,
    support::{World, eventually},
};
use porteiro::{actors::Failure, store::Moment};
use std::sync::{Arc, Mutex};
use tokio::task::JoinSet;

type Seen = Arc<Mutex<Vec<Vec<u64>>>>;

#[tokio::test]
async fn work_is_done_while_the_commit_is_under_way_and_handed_out_after_it() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.hold("a").await;
    let (seen, mut asked) = (Seen::default(), JoinSet::new());
    let (ledgers, given) = (node.ledgers.clone(), seen.clone());
    let append = (false, Command::Append(2));
    asked.spawn(async move { ledgers.ask_and_add_up("a", append, given).await });
    eventually("the work", async || *seen.lock().unwrap() == [[1, 2]]).await;
    assert!(asked.try_join_next().is_none(), "nothing is answered before it is durable");
    stranger.let_go().await;
    assert_eq!(asked.join_all().await, [Ok((vec![1, 2], 3))]);
    assert_eq!(seen.lock().unwrap().len(), 1, "it was not done twice");
    node.stop().await;
}

#[tokio::test]
async fn what_was_worked_out_for_a_commit_that_failed_is_not_handed_out() {
    let world = World::new().await;
    let node = world.node().await;
    for (id, new) in [("a", false), ("b", true)] {
        let seen = Seen::default();
        node.script.fail_next(Moment::Commit, 1);
        let append = (new, Command::Append(1));
        let answer = node.ledgers.ask_and_add_up(id, append, seen.clone()).await;
        assert_eq!(answer, Err(Failure::Unknown));
        assert_eq!(*seen.lock().unwrap(), [[1]], "it was begun");
        assert!(node.entries(id).await.is_empty());
    }
    node.stop().await;
}

#[tokio::test]
async fn a_decision_that_is_made_anew_is_worked_on_anew() {
    let world = World::new().await;
    let (node, other) = (world.node().await, world.node().await);
    node.append("a", 1).await.unwrap();
    other.append("a", 10).await.unwrap();
    let seen = Seen::default();
    let answer =
        node.ledgers.ask_and_add_up("a", (false, Command::Append(100)), seen.clone()).await;
    assert_eq!(answer, Ok((vec![1, 10, 100], 111)));
    assert_eq!(*seen.lock().unwrap(), [vec![1, 100], vec![1, 10, 100]]);
    // The entity is found to have what is asked for: what stands is a reply that commits nothing.
    other.append("a", 1_000).await.unwrap();
    let answer = node.ledgers.ask_and_add_up("a", (false, Command::Ensure(1_000)), seen).await;
    assert_eq!(answer, Ok((vec![1, 10, 100, 1_000], 1_111)));
    let (ensure, seen) = (Command::Ensure(1_000), Seen::default());
    let other_entries = other.ledgers.ask_and_add_up("a", (true, ensure), seen).await;
    assert_eq!(other_entries, Ok((vec![1, 10, 100, 1_000], 1_111)), "nor is it what was presumed");
    node.stop().await;
    other.stop().await;
}
