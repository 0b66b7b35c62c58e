//! The lanes of the security log: few, one writer each, and never taken back.

use crate::{
    ledger::Command,
    security_log::{findings, lane, record},
    support::{Node, World, eventually},
};
use porteiro::store::{Finding, Moment};
use tokio::task::JoinSet;

async fn record_everywhere(node: &Node, round: u64) {
    let mut askers = JoinSet::new();
    for book in 0..24 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move {
            let append = Command::AppendAndRecord(round);
            ledgers.ask(&format!("book{book}"), append).await
        });
    }
    askers.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_no_more_lanes_than_there_were_writers_at_once() {
    let world = World::new().await;
    let writers = if world.is_postgres() { 4 } else { 1 };
    for round in 0..6 {
        let nodes = [world.node().await, world.node().await, world.node().await];
        let [one, two, three] = &nodes;
        tokio::join!(
            record_everywhere(one, round),
            record_everywhere(two, round),
            record_everywhere(three, round),
        );
        for node in nodes {
            node.stop().await;
        }
    }
    let node = world.node().await;
    let lanes = node.store.log_lanes().await.unwrap().len();
    assert!(lanes <= 3 * writers + 1, "{lanes} lanes");
    assert_eq!(findings(&node).await, []);
    node.stop().await;
}

#[tokio::test]
async fn a_lane_set_back_under_its_writer_shows_for_ever() {
    let world = World::new().await;
    let node = world.node().await;
    record(&node, "a", 0..10).await;
    let lane = lane(&node).await;
    let mut stranger = world.stranger().await;
    stranger.disarm().await;
    stranger.cut_tail(&lane, 6).await;
    stranger.move_head_back(&lane, 6).await;
    record(&node, "a", 10..12).await;
    let cut = [Finding::CutOff { lane: lane.clone(), seq: 10 }];
    assert_eq!(findings(&node).await, cut);
    node.stop().await;
    // Nobody writes there again, whatever grows beyond it elsewhere.
    let node = world.node().await;
    record(&node, "a", 12..20).await;
    assert_eq!(stranger.count(&format!("security_log WHERE lane = '{lane}'")).await, 6);
    assert_eq!(findings(&node).await, cut);
    node.stop().await;
}

#[tokio::test]
async fn a_lane_ahead_of_what_its_writer_knows_is_no_alarm() {
    let world = World::new().await;
    let node = world.node().await;
    record(&node, "a", 0..3).await;
    // Durable, but the committer does not get to know; then known not to be.
    for (entry, moment) in [(3, Moment::Answer), (4, Moment::Commit), (5, Moment::Write)] {
        node.script.fail_next(moment, 1);
        let append = Command::AppendAndRecord(entry);
        let _ = node.ledgers.ask("a", append).await;
        node.script.clear();
    }
    record(&node, "a", 6..8).await;
    assert_eq!(node.store.log_lanes().await.unwrap().len(), 2, "the root's and one more");
    assert_eq!(findings(&node).await, []);
    node.stop().await;
}

#[tokio::test]
async fn a_writer_whose_lane_is_being_taken_waits_with_empty_hands() {
    let world = World::new().await;
    if !world.is_postgres() {
        return;
    }
    let node = world.node().await;
    record(&node, "a", 0..3).await;
    let lane = lane(&node).await;
    let mut taker = world.stranger().await;
    taker.run("BEGIN").await.unwrap();
    let take = format!("UPDATE log_lanes SET holder = 'taker', seq = 4 WHERE lane = '{lane}'");
    taker.run(take).await.unwrap();
    let ledgers = node.ledgers.clone();
    let mut waiting = JoinSet::new();
    let append = Command::AppendAndRecord(3);
    waiting.spawn(async move { ledgers.ask("a", append).await });
    let mut observer = world.stranger().await;
    eventually("a waiting writer", async || observer.waiting().await > 0).await;
    let row = format!(
        "INSERT INTO security_log (lane, seq, at, event, organization, kind, id, detail, mac_key, mac) \
         SELECT lane, 4, at, event, organization, kind, id, detail, mac_key, mac \
           FROM security_log WHERE lane = '{lane}' AND seq = 3"
    );
    assert_eq!(taker.run(row).await.unwrap(), 1, "no deadlock");
    taker.run("COMMIT").await.unwrap();
    assert!(waiting.join_next().await.unwrap().unwrap().is_ok(), "it goes on in another lane");
    node.stop().await;
}
