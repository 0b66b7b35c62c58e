//! The security log gets shorter, and only as we decided.

use crate::{
    ledger::Command,
    security_log::{findings, record, ten_records},
    support::{Node, Stranger, World},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro::{domain::Clock as _, store::Finding};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::Duration,
};
use tokio::task::JoinSet;

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Lets rows older than an hour be deleted.
async fn checkpoint(world: &World, node: &Node) -> u64 {
    let now = world.clock.now();
    node.store.checkpoint_log(now, now - HOUR, 1_000).await.unwrap()
}

async fn trim(node: &Node) -> u64 {
    let mut trimmed = 0;
    loop {
        match node.store.trim_log(100).await.unwrap() {
            0 => return trimmed,
            some => trimmed += some,
        }
    }
}

/// Ten rows that were trimmed, five that were not, the checkpoint; and a stranger without triggers.
async fn trimmed_log() -> (World, Node, Stranger, String) {
    let (world, node, stranger, lane) = ten_records().await;
    world.clock.advance(DAY);
    record(&node, "a", 10..15).await;
    assert_eq!(checkpoint(&world, &node).await, 10);
    assert_eq!(trim(&node).await, 10);
    assert_eq!(findings(&node).await, []);
    (world, node, stranger, lane)
}

/// Writes a row that we did not.
async fn forge(stranger: &mut Stranger, place: (&str, i64), event: &str, detail: &str) {
    let (lane, seq) = place;
    let forged = format!(
        "INSERT INTO security_log (lane, seq, at, event, organization, kind, id, detail, mac_key, mac) \
         SELECT '{lane}', {seq}, 1900000000000, '{event}', NULL, 'log', 'x', '{detail}', 'x', mac \
           FROM log_retention LIMIT 1"
    );
    assert_eq!(stranger.run(forged).await.unwrap(), 1);
}

#[tokio::test]
async fn a_log_replaced_by_a_forged_checkpoint_shows() {
    let (_world, node, mut stranger, lane) = trimmed_log().await;
    let detail = format!(r#"{{"heads":{{"root":[99,"AAAA"],"{lane}":[99,"AAAA"]}}}}"#);
    forge(&mut stranger, (&lane, 50), "log.checkpointed", &detail).await;
    for sql in [
        "UPDATE log_retention SET seq = 99",
        "DELETE FROM security_log WHERE seq <> 50",
        "UPDATE log_lanes SET seq = 0",
        "DELETE FROM log_retention",
    ] {
        stranger.run(sql).await.unwrap();
    }
    let found = findings(&node).await;
    assert!(found.contains(&Finding::Unregistered { lane: lane.clone() }), "{found:?}");
    assert!(found.contains(&Finding::Missing { lane, seq: 50 }), "{found:?}");
    node.stop().await;
}

#[tokio::test]
async fn a_forged_row_at_a_trimmed_end_is_not_listened_to() {
    let (world, node, mut stranger, trimmed) = trimmed_log().await;
    let other = world.node().await;
    record(&other, "b", 0..5).await;
    let lanes = node.store.log_lanes().await.unwrap();
    let robbed = lanes.into_iter().find(|lane| *lane != trimmed && lane != "root").unwrap();
    let mac = node.store.log_page(&robbed, 0).await.unwrap()[2].mac.clone();
    let mac = URL_SAFE_NO_PAD.encode(mac);
    // The MAC of the end is known to all: it stands in the row for which it was kept.
    let detail = format!(r#"{{"heads":{{"{robbed}":[3,"{mac}"]}}}}"#);
    forge(&mut stranger, (&trimmed, 10), "log.checkpointed", &detail).await;
    let rob = format!("DELETE FROM security_log WHERE seq <= 3 AND lane = '{robbed}'");
    assert_eq!(stranger.run(rob).await.unwrap(), 3);
    assert_eq!(findings(&node).await, [Finding::Missing { lane: robbed, seq: 4 }]);
    node.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn retention_that_we_did_not_seal_deletes_nothing_and_shows() {
    let (world, node, mut stranger, lane) = trimmed_log().await;
    let before = stranger.count("security_log").await;
    stranger.run("UPDATE log_retention SET seq = 14").await.unwrap();
    assert_eq!(trim(&node).await, 0);
    world.clock.advance(DAY);
    record(&node, "a", 15..16).await;
    assert_eq!(checkpoint(&world, &node).await, 0, "nor is it put into a checkpoint");
    assert_eq!(trim(&node).await, 0);
    assert_eq!(stranger.count("security_log").await, before + 1);
    let found = findings(&node).await;
    assert!(found.contains(&Finding::Unsealed { lane }), "{found:?}");
    node.stop().await;
}

#[tokio::test]
async fn retention_that_is_not_what_the_checkpoints_say_shows() {
    let (_world, node, mut stranger, lane) = trimmed_log().await;
    stranger.run("DELETE FROM log_retention").await.unwrap();
    let found = findings(&node).await;
    assert!(found.contains(&Finding::Uncheckpointed { lane, seq: 10 }), "{found:?}");
    node.stop().await;
}

#[tokio::test]
async fn a_head_moved_into_what_was_trimmed_shows() {
    let (_world, node, mut stranger, lane) = trimmed_log().await;
    // Cut everything, and pretend that the lane was trimmed to the last row.
    stranger.run(format!("DELETE FROM security_log WHERE lane = '{lane}'")).await.unwrap();
    stranger.run(format!("UPDATE log_lanes SET seq = 9 WHERE lane = '{lane}'")).await.unwrap();
    let found = findings(&node).await;
    assert!(found.contains(&Finding::CutOff { lane, seq: 10 }), "{found:?}");
    node.stop().await;
}

#[tokio::test]
async fn the_root_lane_is_never_trimmed() {
    let (world, node, mut stranger, _lane) = trimmed_log().await;
    world.clock.advance(DAY);
    assert_eq!(checkpoint(&world, &node).await, 6);
    trim(&node).await;
    assert_eq!(stranger.count("security_log WHERE lane = 'root'").await, 1);
    assert_eq!(findings(&node).await, [], "only the registration and the last checkpoint are left");
    node.stop().await;
}

#[tokio::test]
async fn a_row_that_cannot_be_proven_is_kept_as_evidence() {
    let (world, node, mut stranger, lane) = ten_records().await;
    let aged = format!("UPDATE security_log SET at = 0 WHERE lane = '{lane}' AND seq >= 5");
    stranger.run(aged).await.unwrap();
    assert_eq!(checkpoint(&world, &node).await, 0, "it is young");
    world.clock.advance(DAY);
    assert_eq!(checkpoint(&world, &node).await, 4, "up to what was altered");
    assert_eq!(trim(&node).await, 4);
    let found = findings(&node).await;
    assert!(found.contains(&Finding::Altered { lane, seq: 5 }), "{found:?}");
    node.stop().await;
}

#[tokio::test]
async fn no_checkpoint_is_appended_when_nothing_more_may_go() {
    let (world, node, mut stranger, _lane) = trimmed_log().await;
    assert_eq!(checkpoint(&world, &node).await, 0);
    assert_eq!(stranger.count("security_log WHERE event = 'log.checkpointed'").await, 1);
    node.stop().await;
}

#[tokio::test]
async fn a_row_dated_by_a_slow_clock_does_not_let_younger_ones_go() {
    let world = World::new().await;
    let slow = World::joining(world.url.clone());
    world.clock.advance(DAY);
    let node = world.node().await;
    record(&node, "a", 0..5).await;
    node.stop().await;
    let node = slow.node().await;
    record(&node, "a", 5..6).await;
    node.stop().await;
    let node = world.node().await;
    record(&node, "a", 6..7).await;
    assert_eq!(node.store.log_lanes().await.unwrap().len(), 2, "all in one lane");
    assert_eq!(checkpoint(&world, &node).await, 0);
    assert_eq!(trim(&node).await, 0);
    world.clock.advance(DAY);
    assert_eq!(checkpoint(&world, &node).await, 7);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verification_is_not_alarmed_by_what_others_do_meanwhile() {
    let world = World::new().await;
    let reader = world.node().await;
    let writers = [world.node().await, world.node().await, world.node().await];
    let over = AtomicBool::new(false);
    let write = async {
        for entry in 0..60 {
            for (place, writer) in writers.iter().enumerate() {
                record(writer, &format!("book{place}"), entry..entry + 1).await;
            }
            world.clock.advance(Duration::from_mins(1));
            let now = world.clock.now();
            // In turn, so that what a checkpoint allows is also in lanes that were read before it.
            let busy = &writers[usize::try_from(entry).unwrap() % writers.len()];
            busy.store.checkpoint_log(now, now - Duration::from_mins(2), 1_000).await.unwrap();
            busy.store.anchor_log(now).await.unwrap();
            trim(busy).await;
        }
        over.store(true, SeqCst);
    };
    let verify = async {
        while !over.load(SeqCst) {
            assert_eq!(findings(&reader).await, []);
        }
    };
    tokio::join!(write, verify);
    assert_eq!(findings(&reader).await, []);
    for node in writers.into_iter().chain([reader]) {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_checkpoint_and_trim_at_once_keep_the_log_whole() {
    let world = World::new().await;
    let nodes = [world.node().await, world.node().await, world.node().await];
    let mut busy = JoinSet::new();
    for (place, node) in nodes.iter().enumerate() {
        let (store, ledgers, clock) =
            (node.store.clone(), node.ledgers.clone(), world.clock.clone());
        busy.spawn(async move {
            for entry in 0..20 {
                let book = format!("book{place}");
                ledgers.ask(&book, Command::AppendAndRecord(entry)).await.unwrap();
                clock.advance(Duration::from_mins(1));
                let now = clock.now();
                // Of two that are in each other's way one may fail, and comes again.
                let _ = store.checkpoint_log(now, now - Duration::from_mins(10), 100).await;
                let _ = store.trim_log(3).await;
            }
        });
    }
    busy.join_all().await;
    assert_eq!(findings(&nodes[0]).await, []);
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_fully_trimmed_lane_is_written_on() {
    let (world, node, mut stranger, silent) = ten_records().await;
    node.stop().await;
    world.clock.advance(DAY);
    let (one, other) = (world.node().await, world.node().await);
    // The one takes the lane and falls silent; the other's checkpoint goes elsewhere.
    record(&one, "a", 10..11).await;
    record(&other, "b", 0..1).await;
    world.clock.advance(DAY);
    let hold = format!("UPDATE log_lanes SET held_until = {} WHERE lane = '{silent}'", i64::MAX);
    stranger.run(hold).await.unwrap();
    checkpoint(&world, &other).await;
    trim(&other).await;
    let rows = format!("security_log WHERE lane = '{silent}'");
    assert_eq!(stranger.count(&rows).await, 0);
    assert_eq!(findings(&other).await, []);
    record(&one, "a", 11..12).await;
    assert_eq!(findings(&other).await, []);
    assert_eq!(stranger.count(&rows).await, 1);
    one.stop().await;
    other.stop().await;
}
