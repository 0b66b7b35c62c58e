//! Entities that are born by their first command, without an actor (adr/0097).

use crate::{
    ledger::{Command, Ledger, Refusal},
    support::{World, eventually, refused},
};
use porteiro::{actors::Failure, domain::Requirement, store::Moment};
use std::time::Duration;
use tokio::task::JoinSet;

#[tokio::test]
async fn a_new_entity_is_not_looked_for() {
    let world = World::new().await;
    let node = world.node().await;
    let reads = node.store.report().reads;
    assert_eq!(node.ledgers.ask_new("a", Command::Append(1)).await.unwrap(), [1]);
    assert_eq!(node.store.report().reads, reads);
    assert_eq!(node.ledgers.report().woken, 0, "nothing owns it yet");
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    node.stop().await;
}

#[tokio::test]
async fn a_birth_that_fails_is_told_and_leaves_nothing() {
    let world = World::new().await;
    let node = world.node().await;
    node.script.fail_next(Moment::Commit, 1);
    let answer = node.ledgers.ask_new("a", Command::Append(1)).await;
    assert_eq!(answer, Err(Failure::Unknown));
    assert_eq!(node.append("a", 2).await.unwrap(), [2]);
    let required = Requirement::live::<Ledger>("gone");
    let unmet = node.ledgers.ask_new("b", Command::AppendIf(1, required)).await;
    assert!(matches!(unmet, Err(Failure::Unmet { .. })), "{unmet:?}");
    node.script.panic_next_write();
    let answer = node.ledgers.ask_new("c", Command::Append(1)).await;
    assert_eq!(answer, Err(Failure::Unknown));
    assert_eq!(node.append("c", 1).await.unwrap(), [1]);
    node.stop().await;
}

#[tokio::test]
async fn of_many_births_under_one_id_one_is_first_and_the_others_see_it() {
    let world = World::new().await;
    let nodes = [world.node().await, world.node().await];
    let mut askers = JoinSet::new();
    for entry in 0..20_u64 {
        let ledgers = nodes[usize::try_from(entry).unwrap() % 2].ledgers.clone();
        askers.spawn(async move { ledgers.ask_new("a", Command::Append(entry)).await });
    }
    for answer in askers.join_all().await {
        assert!(matches!(answer, Ok(_) | Err(Failure::Contended)), "{answer:?}");
    }
    let mut entries = nodes[0].entries("a").await;
    assert!(!entries.is_empty());
    entries.sort_unstable();
    entries.dedup();
    assert_eq!(entries.len(), nodes[1].entries("a").await.len(), "none is there twice");
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test]
async fn what_was_thought_new_and_is_not_is_found_by_the_commit() {
    let world = World::new().await;
    let (node, other) = (world.node().await, world.node().await);
    node.append("a", 1).await.unwrap();
    assert_eq!(other.ledgers.ask_new("a", Command::Append(2)).await.unwrap(), [1, 2]);
    node.append("b", 1).await.unwrap();
    let answer = other.ledgers.ask_new("b", Command::Append(1)).await;
    assert_eq!(refused(&answer), Some(Refusal::AlreadyThere));
    node.append("c", 1).await.unwrap();
    assert_eq!(other.ledgers.ask_new("c", Command::Read).await.unwrap(), [1]);
    node.append("d", 1).await.unwrap();
    let glanced = other.ledgers.ask_new("d", Command::Glance).await.unwrap();
    assert_eq!(glanced, [1], "what is only presumed is not shown, though older answers would do");
    node.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn the_first_command_after_a_birth_decides_on_what_was_born() {
    let world = World::new().await;
    let node = world.node().await;
    let mut number = 0;
    // A newborn is held for a second or two; on a slow machine that may be over.
    eventually("a command that reads nothing", async || {
        number += 1;
        let id = number.to_string();
        node.ledgers.ask_new(&id, Command::Append(1)).await.unwrap();
        let reads = node.store.report().reads;
        assert_eq!(node.ledgers.ask(&id, Command::Glance).await.unwrap(), [1]);
        assert_eq!(node.append(&id, 2).await.unwrap(), [1, 2]);
        assert_eq!(node.ledgers.ask(&id, Command::Glance).await.unwrap(), [1, 2]);
        node.store.report().reads == reads
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn a_newborn_that_another_node_has_changed_is_read() {
    let world = World::new().await;
    let (node, other) = (world.node().await, world.node().await);
    for id in ["a", "b", "c", "d"] {
        node.ledgers.ask_new(id, Command::Append(1)).await.unwrap();
        other.append(id, 2).await.unwrap();
    }
    assert_eq!(node.append("a", 3).await.unwrap(), [1, 2, 3]);
    assert_eq!(node.ledgers.ask("b", Command::Read).await.unwrap(), [1, 2]);
    assert_eq!(refused(&node.append("c", 2).await), Some(Refusal::AlreadyThere));
    let mut stranger = world.stranger().await;
    stranger.run("DELETE FROM entities WHERE id = 'd'").await.unwrap();
    assert_eq!(node.append("d", 3).await.unwrap(), [3]);
    node.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn what_was_born_is_not_shown_once_its_actor_has_gone_on() {
    let mut world = World::new().await;
    world.tree.idle = Duration::from_millis(40);
    let node = world.node().await;
    for entry in 1..20 {
        let id = entry.to_string();
        node.ledgers.ask_new(&id, Command::Append(1)).await.unwrap();
        node.append(&id, 2).await.unwrap();
        // As long as the clock stands still, an older answer is young enough.
        world.clock.advance(Duration::from_millis(50));
        eventually("rest", async || node.ledgers.report().awake == 0).await;
        assert_eq!(node.ledgers.ask(&id, Command::Glance).await.unwrap(), [1, 2]);
    }
    node.stop().await;
}
