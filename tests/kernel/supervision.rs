//! One test for every way to die.

use crate::{
    ledger::Command,
    support::{World, eventually},
};
use porteiro::actors::Failure;
use std::time::Duration;
use tokio::task::JoinSet;

#[tokio::test]
async fn a_panic_fails_its_caller_and_nobody_else() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let answer = node.ledgers.ask("a", Command::Panic).await;
    assert_eq!(answer, Err(Failure::Unknown));
    assert!(answer.unwrap_err().is_retryable());
    assert_eq!(node.append("b", 1).await.unwrap(), [1], "another entity does not notice");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2], "restarted from the store");
    assert_eq!(node.ledgers.report().failures, 1);
    node.stop().await;
}

#[tokio::test]
async fn commands_queued_behind_a_panic_are_carried_to_the_next_actor() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 0).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.hold("a").await;
    let ask = |command| {
        let ledgers = node.ledgers.clone();
        async move { ledgers.ask("a", command).await }
    };
    // One command is being committed, a panic waits behind it, and others behind the panic.
    let mut askers = JoinSet::new();
    askers.spawn(ask(Command::Append(1)));
    node.asked(2).await;
    let mut panicking = JoinSet::new();
    panicking.spawn(ask(Command::Panic));
    node.asked(3).await;
    for entry in 2..10 {
        askers.spawn(ask(Command::Append(entry)));
    }
    node.asked(11).await;
    stranger.let_go().await;
    assert_eq!(panicking.join_all().await, [Err(Failure::Unknown)]);
    for answer in askers.join_all().await {
        answer.unwrap();
    }
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(node.entries("a").await.len(), 10);
    node.stop().await;
}

#[tokio::test]
async fn an_entity_that_keeps_failing_is_quarantined_and_its_kind_keeps_serving() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("good", 1).await.unwrap();
    node.append("bad", 1).await.unwrap();
    let ruined = "UPDATE entities SET state = 'not json' WHERE id = 'bad'";
    let mut stranger = world.stranger().await;
    stranger.run(ruined).await.unwrap();
    node.stop().await;

    let node = world.node().await;
    for _ in 0..5 {
        assert_eq!(node.ledgers.ask("bad", Command::Read).await, Err(Failure::Unavailable));
        eventually("the failure to be noted", async || {
            let failures = node.ledgers.report().failures;
            node.ledgers.ask("bad", Command::Read).await.unwrap_err();
            node.ledgers.report().failures == failures
        })
        .await;
        world.clock.advance(Duration::from_secs(5));
    }
    assert_eq!(node.ledgers.report().quarantined, 1);
    assert_eq!(node.append("good", 2).await.unwrap(), [1, 2]);
    // In quarantine nobody is woken for it.
    let woken = node.ledgers.report().woken;
    for _ in 0..100 {
        assert_eq!(node.ledgers.ask("bad", Command::Read).await, Err(Failure::Unavailable));
    }
    assert_eq!(node.ledgers.report().woken, woken);
    // Mended, and a minute later, it serves again.
    stranger
        .run("UPDATE entities SET state = (SELECT state FROM entities WHERE id = 'good') WHERE id = 'bad'")
        .await
        .unwrap();
    world.clock.advance(Duration::from_mins(2));
    assert_eq!(node.entries("bad").await, [1, 2]);
    assert_eq!(node.ledgers.report().quarantined, 0);
    node.stop().await;
}

#[tokio::test]
async fn a_panic_in_a_host_ends_its_entities_and_a_new_host_wakes_them_again() {
    let mut world = World::new().await;
    world.tree.idle = Duration::from_millis(400);
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let woken = node.ledgers.report().woken;
    // Nobody else looks at the clock now, so it is the host that meets the panic.
    world.clock.panic_next_reader();
    eventually("the host's panic", async || !world.clock.is_broken()).await;
    eventually("a new host", async || node.append("a", 2).await.is_ok()).await;
    assert_eq!(node.entries("a").await, [1, 2]);
    assert!(node.ledgers.report().woken > woken, "the entity was started anew");
    node.stop().await;
}

#[tokio::test]
async fn a_child_that_keeps_dying_spends_its_budget_and_the_tree_gives_up() {
    let mut world = World::new().await;
    world.tree.idle = Duration::from_millis(20);
    let node = world.node().await;
    for _ in 0..4 {
        world.clock.panic_next_reader();
        eventually("a death", async || !world.clock.is_broken()).await;
    }
    let given_up = tokio::time::timeout(Duration::from_secs(10), node.tree.given_up()).await;
    assert_eq!(given_up.unwrap(), "ledger");
    // Giving up still ends in order, and nothing acknowledged is lost by it.
    node.tree.stop(Duration::from_secs(5)).await;
    node.store.close().await;
}

#[tokio::test]
async fn a_kind_has_one_host_and_so_an_entity_one_owner() {
    let world = World::new().await;
    let node = world.node().await;
    assert!(node.tree.host::<crate::ledger::Ledger>().await.is_err());
    node.stop().await;
}

#[tokio::test]
async fn a_worker_that_panics_is_restarted() {
    let world = World::new().await;
    let node = world.node().await;
    node.tree.start_janitor().await.unwrap();
    world.clock.panic_next_reader();
    eventually("the janitor's panic", async || !world.clock.is_broken()).await;
    node.ledgers
        .ask("old", Command::ForgetAt(porteiro::domain::Timestamp::from_millis(1)))
        .await
        .unwrap();
    let mut stranger = world.stranger().await;
    eventually("the next janitor", async || stranger.count("entities").await == 0).await;
    node.stop().await;
}

#[tokio::test]
async fn a_panic_in_a_committer_leaves_the_fate_unknown_and_the_store_serving() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    node.script.panic_next_write();
    assert_eq!(node.append("a", 2).await, Err(Failure::Unknown));
    assert_eq!(node.entries("a").await, [1], "its transaction went with its connection");
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    assert_eq!(node.store.report().panics, 1);
    node.stop().await;
}

#[tokio::test]
async fn a_stopping_tree_finishes_what_is_under_way_and_lets_nobody_in() {
    let world = World::new().await;
    let node = world.node().await;
    let mut askers = JoinSet::new();
    for number in 0..200u64 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move { ledgers.ask(&format!("l{number}"), Command::Append(1)).await });
    }
    tokio::task::yield_now().await;
    let ledgers = node.ledgers.clone();
    node.stop().await;
    let answers = askers.join_all().await;
    assert!(answers.iter().all(|a| matches!(a, Ok(_) | Err(Failure::Busy))), "{answers:?}");
    let granted = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(ledgers.ask("late", Command::Append(1)).await, Err(Failure::Busy));
    let stored = world.stranger().await.count("entities").await;
    assert_eq!(stored, i64::try_from(granted).unwrap());
}
