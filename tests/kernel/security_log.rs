//! The security log: in the same commit, append-only, and provable.

use crate::{
    ledger::Command,
    support::{Node, Stranger, World},
};
use porteiro::{domain::Clock as _, store::Finding};
use serde_json::{Value, json};
use std::time::Duration;

pub async fn record(node: &Node, book: &str, entries: std::ops::Range<u64>) {
    for entry in entries {
        node.ledgers.ask(book, Command::AppendAndRecord(entry)).await.unwrap();
    }
}

pub async fn findings(node: &Node) -> Vec<Finding> {
    node.store.verify_log(&[]).await.unwrap().findings.into_iter().collect()
}

/// Returns the lane that holds the rows of these tests.
pub async fn lane(node: &Node) -> String {
    let lanes = node.store.log_lanes().await.unwrap();
    lanes.into_iter().find(|lane| lane != "root").unwrap()
}

/// A node with ten records, and a stranger who has removed the triggers.
pub async fn ten_records() -> (World, Node, Stranger, String) {
    let world = World::new().await;
    let node = world.node().await;
    record(&node, "a", 0..10).await;
    let lane = lane(&node).await;
    let mut stranger = world.stranger().await;
    stranger.disarm().await;
    (world, node, stranger, lane)
}

#[tokio::test]
async fn every_record_is_chained_and_says_whose_it_is() {
    let world = World::new().await;
    let node = world.node().await;
    record(&node, "a", 0..3).await;
    let rows = node.store.log_page(&lane(&node).await, 0).await.unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!((rows[1].kind.as_str(), rows[1].id.as_str()), ("ledger", "a"));
    assert_eq!(rows[1].organization.as_deref(), Some("org-1"));
    let detail: Value = serde_json::from_str(&rows[1].detail).unwrap();
    assert_eq!(detail, json!({ "context": { "actor": { "type": "node" } }, "entry": 1 }));
    let proof = node.store.verify_log(&[]).await.unwrap();
    assert_eq!((proof.rows, proof.findings.len()), (4, 0), "three and the lane's registration");
    node.stop().await;
}

#[tokio::test]
async fn what_is_only_counted_leaves_no_row_and_still_writes_to_its_lane() {
    let world = World::new().await;
    let node = world.node().await;
    let mut stranger = world.stranger().await;
    node.ledgers.ask("first", Command::AppendAndCount(0)).await.unwrap();
    assert_eq!(stranger.count("security_log").await, 0, "no lane is opened for it");
    record(&node, "a", 0..1).await;
    world.clock.advance(Duration::from_secs(30));
    let later = (world.clock.now() + Duration::from_secs(50)).millis();
    let moved = format!("log_lanes WHERE lane <> 'root' AND held_until > {later}");
    assert_eq!(stranger.count(&moved).await, 0);
    // The committer of a book is chosen by its id: this one is the same.
    node.ledgers.ask("a", Command::AppendAndCount(1)).await.unwrap();
    assert_eq!(stranger.count(&moved).await, 1, "the time of an answer must not tell them apart");
    assert_eq!(stranger.count("security_log").await, 2, "a record and the lane's registration");
    record(&node, "a", 2..3).await;
    assert_eq!(findings(&node).await, []);
    assert_eq!(node.store.report().counted, 2);
    node.stop().await;
}

#[tokio::test]
async fn the_log_can_neither_be_changed_nor_emptied() {
    let world = World::new().await;
    let node = world.node().await;
    record(&node, "a", 0..3).await;
    let mut stranger = world.stranger().await;
    for attempt in [
        "UPDATE security_log SET detail = '{}'",
        "UPDATE security_log SET at = 0 WHERE seq = 1",
        "DELETE FROM security_log",
        "DELETE FROM security_log WHERE seq = 3",
    ] {
        assert!(stranger.run(attempt).await.is_err(), "{attempt}");
    }
    if world.is_postgres() {
        assert!(stranger.run("TRUNCATE security_log").await.is_err());
        let shadow = "CREATE TEMP TABLE log_retention AS \
                      SELECT lane, seq FROM security_log";
        stranger.run(shadow).await.unwrap();
        assert!(stranger.run("DELETE FROM security_log").await.is_err());
    } else {
        let replaced = "INSERT OR REPLACE INTO security_log SELECT lane, seq, at, 'x', organization, \
                        kind, id, detail, mac_key, mac FROM security_log";
        assert!(stranger.run(replaced).await.is_err());
    }
    assert_eq!(stranger.count("security_log").await, 4);
    node.stop().await;
}

#[tokio::test]
async fn an_altered_row_shows() {
    let (_world, node, mut stranger, lane) = ten_records().await;
    let altered = "UPDATE security_log SET detail = '{\"entry\":99}' WHERE seq = 5 AND event = 'ledger.appended'";
    assert_eq!(stranger.run(altered).await.unwrap(), 1);
    assert_eq!(findings(&node).await, [Finding::Altered { lane, seq: 5 }]);
    node.stop().await;
}

#[tokio::test]
async fn every_column_of_a_row_is_under_the_seal() {
    for change in [
        "at = at + 1",
        "event = 'x'",
        "organization = NULL",
        "kind = 'x'",
        "id = 'x'",
        "detail = ''",
    ] {
        let (_world, node, mut stranger, lane) = ten_records().await;
        let altered = format!("UPDATE security_log SET {change} WHERE seq = 5 AND lane = '{lane}'");
        stranger.run(altered).await.unwrap();
        assert_eq!(findings(&node).await, [Finding::Altered { lane, seq: 5 }], "{change}");
        node.stop().await;
    }
}

#[tokio::test]
async fn a_removed_row_shows() {
    let (_world, node, mut stranger, lane) = ten_records().await;
    let removed = format!("DELETE FROM security_log WHERE seq = 5 AND lane = '{lane}'");
    stranger.run(removed).await.unwrap();
    assert_eq!(findings(&node).await, [Finding::Missing { lane, seq: 6 }]);
    node.stop().await;
}

#[tokio::test]
async fn a_removed_beginning_shows() {
    let (_world, node, mut stranger, lane) = ten_records().await;
    stranger
        .run(format!("DELETE FROM security_log WHERE seq <= 3 AND lane = '{lane}'"))
        .await
        .unwrap();
    assert_eq!(findings(&node).await, [Finding::Missing { lane, seq: 4 }]);
    node.stop().await;
}

#[tokio::test]
async fn a_cut_tail_shows_against_the_head_even_when_the_head_is_cut_too() {
    let (world, node, mut stranger, lane) = ten_records().await;
    let heads = node.store.anchor_log(world.clock.now()).await.unwrap();
    node.stop().await;
    // Someone who knows the tables cuts the anchor as well and moves the head back.
    stranger.cut_tail(&lane, 8).await;
    let node = world.node().await;
    assert!(!findings(&node).await.is_empty(), "the head is missed");
    stranger.move_head_back(&lane, 8).await;
    assert!(findings(&node).await.is_empty(), "from inside the database alone it cannot show");
    let proof = node.store.verify_log(&heads).await.unwrap();
    let found: Vec<_> = proof.findings.into_iter().collect();
    assert_eq!(found, [Finding::CutOff { lane, seq: 10 }], "against the exported head it shows");
    node.stop().await;
}

#[tokio::test]
async fn a_cut_tail_shows_in_the_anchors_of_other_lanes() {
    let world = World::new().await;
    let (one, other) = (world.node().await, world.node().await);
    record(&one, "a", 0..5).await;
    let cut_lane = lane(&one).await;
    record(&other, "b", 0..5).await;
    other.store.anchor_log(world.clock.now()).await.unwrap();
    assert!(findings(&one).await.is_empty());
    let mut stranger = world.stranger().await;
    stranger.disarm().await;
    stranger.cut_tail(&cut_lane, 3).await;
    stranger.move_head_back(&cut_lane, 3).await;
    assert_eq!(findings(&other).await, [Finding::CutOff { lane: cut_lane, seq: 5 }]);
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_dropped_lane_shows() {
    let (_world, node, mut stranger, lane) = ten_records().await;
    stranger.run(format!("DELETE FROM security_log WHERE lane = '{lane}'")).await.unwrap();
    stranger.run(format!("DELETE FROM log_lanes WHERE lane = '{lane}'")).await.unwrap();
    assert_eq!(findings(&node).await, [Finding::Dropped { lane }]);
    node.stop().await;
}

#[tokio::test]
async fn a_lane_that_was_emptied_shows_though_its_head_says_it_always_was() {
    let (_world, node, mut stranger, lane) = ten_records().await;
    stranger.run(format!("DELETE FROM security_log WHERE lane = '{lane}'")).await.unwrap();
    stranger.run(format!("UPDATE log_lanes SET seq = 0 WHERE lane = '{lane}'")).await.unwrap();
    assert_eq!(findings(&node).await, [Finding::Dropped { lane }]);
    node.stop().await;
}

#[tokio::test]
async fn a_row_before_the_first_shows() {
    for seq in [0, -7, i64::MIN] {
        let (_world, node, mut stranger, lane) = ten_records().await;
        let forged = format!(
            "INSERT INTO security_log (lane, seq, at, event, organization, kind, id, detail, mac_key, mac) \
             SELECT lane, {seq}, at, event, organization, kind, id, detail, mac_key, mac \
               FROM security_log WHERE lane = '{lane}' AND seq = 1"
        );
        stranger.run(forged).await.unwrap();
        assert_eq!(findings(&node).await, [Finding::Misplaced { lane, seq }]);
        node.stop().await;
    }
}

#[tokio::test]
async fn a_forged_lane_shows() {
    let (_world, node, mut stranger, lane) = ten_records().await;
    let forged = format!(
        "INSERT INTO security_log (lane, seq, at, event, organization, kind, id, detail, mac_key, mac) \
         SELECT 'forged', seq, at, event, organization, kind, id, detail, mac_key, mac \
           FROM security_log WHERE lane = '{lane}'"
    );
    stranger.run(forged).await.unwrap();
    let found = findings(&node).await;
    assert!(found.contains(&Finding::Unregistered { lane: "forged".to_owned() }), "{found:?}");
    node.stop().await;
}

#[tokio::test]
async fn retention_deletes_only_up_to_an_appended_checkpoint() {
    let world = World::new().await;
    let node = world.node().await;
    record(&node, "a", 0..10).await;
    let lane = lane(&node).await;
    world.clock.advance(Duration::from_hours(24));
    let yesterday = world.clock.now() - Duration::from_hours(1);
    record(&node, "a", 10..15).await;
    node.store.checkpoint_log(world.clock.now(), yesterday, 100).await.unwrap();
    let mut stranger = world.stranger().await;
    let beyond = format!("DELETE FROM security_log WHERE seq = 11 AND lane = '{lane}'");
    assert!(stranger.run(beyond).await.is_err(), "beyond the checkpoint nothing goes");
    assert_eq!(node.store.trim_log(4).await.unwrap(), 4);
    assert!(findings(&node).await.is_empty(), "half way through");
    while node.store.trim_log(4).await.unwrap() > 0 {}
    assert!(findings(&node).await.is_empty());
    let left = stranger.count("security_log").await;
    assert_eq!(left, 7, "five rows, the checkpoint, and the lane's registration");
    // A second checkpoint carries on from the first.
    world.clock.advance(Duration::from_hours(24));
    record(&node, "a", 15..17).await;
    let now = world.clock.now();
    node.store.checkpoint_log(now, now - Duration::from_hours(1), 100).await.unwrap();
    while node.store.trim_log(100).await.unwrap() > 0 {}
    assert!(findings(&node).await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn lanes_are_reused_so_that_restarts_do_not_multiply_them() {
    let world = World::new().await;
    for round in 0..6u64 {
        let node = world.node().await;
        record(&node, "a", round * 2..round * 2 + 2).await;
        node.stop().await;
    }
    let node = world.node().await;
    assert_eq!(node.store.log_lanes().await.unwrap().len(), 2, "the root's and one more");
    assert!(findings(&node).await.is_empty());
    // One that was not given back is taken when its time is over.
    let crashed = world.node().await;
    record(&crashed, "b", 0..2).await;
    drop(crashed);
    world.clock.advance(Duration::from_mins(5));
    record(&node, "c", 0..2).await;
    assert_eq!(node.store.log_lanes().await.unwrap().len(), 2);
    assert!(findings(&node).await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn nodes_that_record_at_once_keep_the_log_whole() {
    let world = World::new().await;
    let nodes = [world.node().await, world.node().await, world.node().await];
    let mut askers = tokio::task::JoinSet::new();
    for (place, node) in nodes.iter().enumerate() {
        for book in 0..12 {
            let ledgers = node.ledgers.clone();
            askers.spawn(async move {
                for entry in 0..10 {
                    let book = format!("{place}-{book}");
                    ledgers.ask(&book, Command::AppendAndRecord(entry)).await.unwrap();
                }
            });
        }
    }
    askers.join_all().await;
    let written = "security_log WHERE event = 'ledger.appended'";
    assert_eq!(world.stranger().await.count(written).await, 360);
    assert!(findings(&nodes[0]).await.is_empty());
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test]
async fn what_is_recorded_beside_what_is_only_counted_is_in_the_log_of_a_writer_that_held_no_lane()
{
    let world = World::new().await;
    let node = world.node().await;
    // The connection is good by then, and no lane was needed.
    node.ledgers.ask("a", Command::Append(1)).await.unwrap();
    let others = vec![
        ("b".to_owned(), Command::AppendAndRecord(1)),
        ("c".to_owned(), Command::AppendAndCount(1)),
    ];
    node.ledgers.ask("a", Command::AppendAndPassOn(2, others)).await.unwrap();
    let recorded = "security_log WHERE event = 'ledger.appended'";
    assert_eq!(world.stranger().await.count(recorded).await, 1);
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}
