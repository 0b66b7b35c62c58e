//! Several entities changed as one.

use crate::{
    doorbell::Doorbell,
    ledger::{Command, Ledger, Refusal},
    support::{World, eventually},
};
use porteiro::{
    actors::Failure,
    domain::{Context, Requirement},
    store::{CommitError, Moment},
};
use std::time::Duration;

fn named(entry: u64, name: &str) -> Command {
    Command::AppendAndName(entry, Some(name.to_owned()))
}

#[tokio::test]
async fn entities_of_several_kinds_change_together() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("old", 1).await.unwrap();
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    let first = multi_commit.decide::<Ledger>("new", &named(1, "n")).await.unwrap();
    assert_eq!(first, Ok(vec![1]));
    let second = multi_commit.decide::<Ledger>("new", &Command::AppendAndRecord(2)).await.unwrap();
    assert_eq!(second, Ok(vec![1, 2]), "decided on top of the first");
    multi_commit.decide::<Ledger>("old", &Command::Append(2)).await.unwrap().unwrap();
    multi_commit
        .decide::<Doorbell>("front", &crate::doorbell::Command::Ring)
        .await
        .unwrap()
        .unwrap();
    assert!(node.entries("new").await.is_empty(), "nothing before the commit");
    multi_commit.commit().await.unwrap();
    assert_eq!(node.entries("new").await, [1, 2]);
    assert_eq!(node.entries("old").await, [1, 2], "its actor has noticed");
    assert!(node.store.find("ledger_name", "n").await.unwrap().is_some());
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    assert_eq!(world.stranger().await.count("entities").await, 3);
    node.stop().await;
}

#[tokio::test]
async fn if_one_has_moved_on_none_changes() {
    let world = World::new().await;
    let node = world.node().await;
    for id in ["a", "b"] {
        node.append(id, 1).await.unwrap();
    }
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    for id in ["a", "b"] {
        multi_commit.decide::<Ledger>(id, &Command::Append(2)).await.unwrap().unwrap();
    }
    multi_commit.decide::<Ledger>("c", &named(1, "n")).await.unwrap().unwrap();
    node.append("b", 3).await.unwrap();
    assert_eq!(multi_commit.commit().await, Err(CommitError::Conflict));
    assert_eq!(node.entries("a").await, [1]);
    assert_eq!(node.entries("b").await, [1, 3]);
    assert!(node.entries("c").await.is_empty());
    assert_eq!(world.stranger().await.count("names").await, 0);
    node.stop().await;
}

#[tokio::test]
async fn what_was_read_and_left_alone_must_still_be_as_it_was() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("read", 1).await.unwrap();
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    let refused = multi_commit.decide::<Ledger>("read", &Command::Append(1)).await.unwrap();
    assert_eq!(refused, Err(Refusal::AlreadyThere));
    multi_commit.decide::<Ledger>("written", &Command::Append(1)).await.unwrap().unwrap();
    node.append("read", 2).await.unwrap();
    assert_eq!(multi_commit.commit().await, Err(CommitError::Unmet { kind: "ledger" }));
    assert!(node.entries("written").await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn what_is_required_beside_must_hold_when_the_rest_is_committed() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("live", 1).await.unwrap();
    for (fact, lands) in [
        (Requirement::live::<Ledger>("missing"), false),
        (Requirement::unchanged::<Ledger>("live", 7), false),
        (Requirement::live::<Ledger>("live"), true),
    ] {
        let mut multi_commit = node.tree.multi_commit(&Context::operator());
        multi_commit.decide::<Ledger>("written", &Command::Append(1)).await.unwrap().ok();
        multi_commit.decide::<Ledger>("live", &Command::Append(2)).await.unwrap().ok();
        multi_commit.require(fact.clone());
        let committed = multi_commit.commit().await;
        let unmet = Err(CommitError::Unmet { kind: "ledger" });
        assert_eq!(committed, if lands { Ok(()) } else { unmet }, "{fact:?}");
    }
    assert_eq!(node.entries("live").await, [1, 2], "also where it changes itself");
    node.stop().await;
}

#[tokio::test]
async fn what_was_looked_at_is_shown_as_decided_and_must_not_move() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("seen", 1).await.unwrap();
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    assert_eq!(multi_commit.look::<Ledger>("seen").await.unwrap().entries, [1]);
    assert!(multi_commit.look::<Ledger>("written").await.unwrap().entries.is_empty());
    multi_commit.decide::<Ledger>("written", &Command::Append(1)).await.unwrap().unwrap();
    assert_eq!(multi_commit.look::<Ledger>("written").await.unwrap().entries, [1]);
    node.append("seen", 2).await.unwrap();
    assert_eq!(multi_commit.commit().await, Err(CommitError::Unmet { kind: "ledger" }));
    assert!(node.entries("written").await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn a_name_that_is_taken_undoes_all_of_it() {
    let world = World::new().await;
    let node = world.node().await;
    node.ledgers.ask("holder", named(1, "n")).await.unwrap();
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    multi_commit.decide::<Ledger>("a", &Command::Append(1)).await.unwrap().unwrap();
    multi_commit.decide::<Ledger>("b", &named(1, "n")).await.unwrap().unwrap();
    assert_eq!(multi_commit.commit().await, Err(CommitError::Taken { space: "ledger_name" }));
    assert_eq!(world.stranger().await.count("entities").await, 1);
    node.stop().await;
}

#[tokio::test]
async fn one_commit_hands_a_name_on_and_nobody_can_come_between() {
    let world = World::new().await;
    let node = world.node().await;
    node.ledgers.ask("old", named(1, "n")).await.unwrap();
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    multi_commit.decide::<Ledger>("old", &Command::AppendAndName(2, None)).await.unwrap().unwrap();
    multi_commit.decide::<Ledger>("new", &named(1, "n")).await.unwrap().unwrap();
    let third = node.ledgers.ask("third", named(1, "n")).await;
    assert_eq!(third, Err(Failure::Taken { space: "ledger_name" }));
    assert_eq!(multi_commit.commit().await, Ok(()));
    assert_eq!(node.store.find("ledger_name", "n").await.unwrap().unwrap().1, "new");
    assert_eq!((node.entries("old").await, node.entries("new").await), (vec![1, 2], vec![1]));
    let third = node.ledgers.ask("third", named(1, "n")).await;
    assert_eq!(third, Err(Failure::Taken { space: "ledger_name" }));
    // A commit that loses hands nothing on.
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    multi_commit.decide::<Ledger>("new", &Command::AppendAndName(2, None)).await.unwrap().unwrap();
    multi_commit.decide::<Ledger>("old", &named(3, "n")).await.unwrap().unwrap();
    node.append("old", 4).await.unwrap();
    assert_eq!(multi_commit.commit().await, Err(CommitError::Conflict));
    assert_eq!(node.store.find("ledger_name", "n").await.unwrap().unwrap().1, "new");
    node.stop().await;
}

#[tokio::test]
async fn a_large_commit_is_whole_or_not_at_all() {
    let world = World::new().await;
    let node = world.node().await;
    for moment in [Some(Moment::Write), Some(Moment::Commit), None] {
        let mut multi_commit = node.tree.multi_commit(&Context::operator());
        for number in 0..500 {
            let command = named(1, &format!("n{number}"));
            multi_commit.decide::<Ledger>(&format!("l{number}"), &command).await.unwrap().unwrap();
        }
        if let Some(moment) = moment {
            node.script.fail_next(moment, 1);
        }
        let done = multi_commit.commit().await;
        let stored = world.stranger().await.count("entities").await;
        assert_eq!((done.is_ok(), stored), if moment.is_some() { (false, 0) } else { (true, 500) });
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_takes_too_long_is_of_unknown_fate_and_one_that_is_not_begun_never_happens() {
    let world = World::new().await;
    let node = world.node().await;
    let limit = Duration::from_millis(300);
    let changes = node.tree.multi_commits().within(limit);
    let mut late = changes.begin(&Context::operator());
    late.decide::<Ledger>("late", &Command::Append(1)).await.unwrap().unwrap();
    tokio::time::sleep(limit).await;
    assert_eq!(late.commit().await, Err(CommitError::Unavailable));
    assert!(node.entries("late").await.is_empty());
    let mut slow = changes.begin(&Context::operator());
    slow.decide::<Ledger>("slow", &Command::Append(1)).await.unwrap().unwrap();
    let held = node.script.hold_next_write();
    assert_eq!(slow.commit().await, Err(CommitError::Unknown));
    drop(held);
    eventually("what was begun", async || node.entries("slow").await == [1]).await;
    node.stop().await;
}
