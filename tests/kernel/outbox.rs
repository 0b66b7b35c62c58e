//! Messages for the outside: written with the commit, delivered at least once, erased.

use crate::{
    ledger::Command,
    support::{World, eventually},
};
use porteiro::{
    actors::{Courier, Couriers, DeliveryFailure, DeliveryFuture, Failure, OutboxMessage},
    domain::{Clock as _, Timestamp, message},
    messages::Messages,
    store::{LeasedMessage, Moment, Store},
};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::task::JoinSet;

/// Remembers what it carried; fails the first so many times.
#[derive(Default)]
struct Postman {
    carried: Mutex<Vec<String>>,
    failures: AtomicU64,
    hopeless: bool,
    panics: bool,
}

impl Postman {
    fn carried(&self) -> Vec<String> {
        self.carried.lock().unwrap().clone()
    }

    /// What was carried, once each: where the clock runs ahead of a lease, some is carried again.
    fn different(&self) -> usize {
        let mut carried = self.carried();
        carried.sort();
        carried.dedup();
        carried.len()
    }
}

impl Courier for Postman {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(async move {
            let text = String::from_utf8(message.payload.expose().to_vec()).unwrap();
            let left = self.failures.load(SeqCst);
            if left > 0 {
                self.failures.store(left - 1, SeqCst);
                assert!(!self.panics, "the postman was told to panic");
                let why = "the letter box is jammed".to_owned();
                return Err(if self.hopeless {
                    DeliveryFailure::Never(why)
                } else {
                    DeliveryFailure::Later(why)
                });
            }
            self.carried.lock().unwrap().push(text);
            Ok(())
        })
    }
}

fn couriers(postman: &Arc<Postman>) -> Couriers {
    HashMap::from([("mail", postman.clone() as Arc<dyn Courier>)])
}

fn post(entry: u64, expires_at: Timestamp) -> Command {
    Command::AppendAndPost { entry, topic: "mail", text: format!("code {entry}"), expires_at }
}

const FAR: Timestamp = Timestamp::FOREVER;

/// Leases what is due, of each queue ten messages at most.
pub async fn lease(store: &Store, now: Timestamp) -> Vec<LeasedMessage> {
    let mut due = Vec::new();
    for lane in store.outbox_lanes().await.unwrap() {
        for queue in store.outbox_queues(&lane, "", 100).await.unwrap() {
            due.append(&mut store.due_messages((&lane, &queue), now, 10).await.unwrap());
        }
    }
    store.lease_messages(due, now + Duration::from_mins(1)).await.unwrap()
}

#[tokio::test]
async fn a_message_is_delivered_and_erased() {
    let world = World::new().await;
    let postman = Arc::new(Postman::default());
    let node = world.node().await.with_couriers(couriers(&postman)).await;
    for entry in 0..40 {
        node.ledgers.ask("a", post(entry, FAR)).await.unwrap();
    }
    let mut stranger = world.stranger().await;
    eventually("delivery", async || stranger.count("outbox").await == 0).await;
    let mut carried = postman.carried();
    carried.sort();
    let mut expected: Vec<_> = (0..40).map(|entry| format!("code {entry}")).collect();
    expected.sort();
    assert_eq!(carried, expected);
    node.stop().await;
}

#[tokio::test]
async fn at_rest_a_message_cannot_be_read() {
    let world = World::new().await;
    let node = world.node().await;
    node.ledgers.ask("a", post(123_456, FAR)).await.unwrap();
    let stored = world.stranger().await.bytes("SELECT payload FROM outbox").await;
    assert_eq!(stored.len(), 1);
    let shown = String::from_utf8_lossy(&stored[0]);
    assert!(!shown.contains("123456") && !shown.contains("code"));
    node.stop().await;
}

#[tokio::test]
async fn a_message_can_be_sent_no_other_way_and_at_no_other_time_than_it_was_meant_to() {
    for change in ["topic = 'webhook'", "expires_at = expires_at - 1", "id = 'other'"] {
        let world = World::new().await;
        let node = world.node().await;
        node.ledgers.ask("a", post(1, FAR)).await.unwrap();
        let mut stranger = world.stranger().await;
        stranger.run(format!("UPDATE outbox SET {change}")).await.unwrap();
        // A topic that was posted once is looked for.
        stranger.run("INSERT INTO outbox_counts VALUES ('webhook', 0, 0)").await.unwrap();
        let postman = Arc::new(Postman::default());
        let mut couriers = couriers(&postman);
        couriers.insert("webhook", postman.clone());
        let node = node.with_couriers(couriers).await;
        eventually("erasure", async || stranger.count("outbox").await == 0).await;
        assert!(postman.carried().is_empty(), "{change}");
        assert_eq!(stranger.count("security_log WHERE event = 'outbox.dropped'").await, 1);
        node.stop().await;
    }
}

#[tokio::test]
async fn a_commit_that_did_not_happen_sends_nothing() {
    let world = World::new().await;
    let node = world.node().await;
    node.script.fail_next(Moment::Write, 1);
    assert_eq!(node.ledgers.ask("a", post(1, FAR)).await, Err(Failure::Unavailable));
    node.script.fail_next(Moment::Commit, 1);
    assert_eq!(node.ledgers.ask("a", post(2, FAR)).await, Err(Failure::Unknown));
    assert_eq!(world.stranger().await.count("outbox").await, 0);
    node.stop().await;
}

#[tokio::test]
async fn what_could_not_be_delivered_is_tried_again_later() {
    let world = World::new().await;
    let postman = Arc::new(Postman { failures: 3.into(), ..Postman::default() });
    let node = world.node().await.with_couriers(couriers(&postman)).await;
    node.ledgers.ask("a", post(1, FAR)).await.unwrap();
    eventually("a first try", async || postman.failures.load(SeqCst) == 2).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(postman.failures.load(SeqCst), 2, "not before its time");
    eventually("delivery", async || {
        world.clock.advance(Duration::from_secs(1));
        postman.different() == 1
    })
    .await;
    let mut stranger = world.stranger().await;
    eventually("erasure", async || stranger.count("outbox").await == 0).await;
    node.stop().await;
}

#[tokio::test]
async fn a_message_of_a_newer_version_waits_for_a_node_that_can_read_it() {
    for topic in [message::MAIL, message::SMS] {
        let world = World::new().await;
        let couriers = Messages::in_mailbox(world.clock.clone()).couriers();
        let node = world.node().await.with_couriers(couriers).await;
        let expires_at = world.clock.now() + Duration::from_mins(10);
        let text = json!({ "to": "ana@acme.test", "content": { "of_tomorrow": {} } }).to_string();
        let post = Command::AppendAndPost { entry: 1, topic, text: text.clone(), expires_at };
        node.ledgers.ask("a", post).await.unwrap();
        let deferred = || node.tree.outbox().iter().map(|topic| topic.deferred).sum::<u64>();
        eventually("a try", async || deferred() > 0).await;
        let mut stranger = world.stranger().await;
        assert_eq!(stranger.count("outbox").await, 1, "{topic}");
        let postman = Arc::new(Postman::default());
        let newer = world.node().await;
        let newer = newer.with_couriers(HashMap::from([(topic, postman.clone() as _)])).await;
        eventually("delivery by a newer node", async || {
            world.clock.advance(Duration::from_secs(1));
            postman.different() == 1
        })
        .await;
        assert_eq!(postman.carried()[0], text);
        newer.stop().await;
        node.stop().await;
    }
}

#[tokio::test]
async fn a_courier_that_panics_loses_no_message() {
    let world = World::new().await;
    let postman = Arc::new(Postman { failures: 4.into(), panics: true, ..Postman::default() });
    let node = world.node().await.with_couriers(couriers(&postman)).await;
    for entry in 0..3 {
        node.ledgers.ask("a", post(entry, FAR)).await.unwrap();
    }
    eventually("delivery", async || {
        world.clock.advance(Duration::from_mins(2));
        postman.different() == 3
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn what_is_hopeless_or_expired_is_erased_and_recorded() {
    let world = World::new().await;
    let postman = Arc::new(Postman { failures: 1.into(), hopeless: true, ..Postman::default() });
    let node = world.node().await;
    let late = world.clock.now() + Duration::from_secs(1);
    node.ledgers.ask("a", post(1, FAR)).await.unwrap();
    node.ledgers.ask("a", post(2, late)).await.unwrap();
    world.clock.advance(Duration::from_secs(2));
    let node = node.with_couriers(couriers(&postman)).await;
    let mut stranger = world.stranger().await;
    eventually("erasure", async || stranger.count("outbox").await == 0).await;
    assert_eq!(stranger.count("security_log WHERE event = 'outbox.dropped'").await, 2);
    assert!(postman.carried().is_empty());
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn a_message_whose_courier_died_is_delivered_by_another_when_the_lease_is_over() {
    let world = World::new().await;
    let node = world.node().await;
    node.ledgers.ask("a", post(1, FAR)).await.unwrap();
    let now = world.clock.now();
    let leased = lease(&node.store, now).await;
    assert_eq!(leased.len(), 1, "a courier took it and died");
    assert!(lease(&node.store, now).await.is_empty());
    let postman = Arc::new(Postman::default());
    let node = node.with_couriers(couriers(&postman)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(postman.carried().is_empty(), "the lease still holds");
    world.clock.advance(Duration::from_mins(1));
    eventually("delivery", async || postman.carried().len() == 1).await;
    assert!(!node.store.message_delivered(&leased[0]).await.unwrap(), "the old lease is void");
    node.stop().await;
}

#[tokio::test]
async fn of_steps_of_one_message_that_are_made_together_one_is_made() {
    let world = World::new().await;
    let node = world.node().await;
    for number in 1..=20 {
        node.ledgers.ask("a", post(number, FAR)).await.unwrap();
        let now = world.clock.now();
        // Two couriers take the same message at once.
        let (one, other) = tokio::join!(lease(&node.store, now), lease(&node.store, now));
        let old: Vec<LeasedMessage> = one.into_iter().chain(other).collect();
        assert_eq!(old.len(), 1, "{number}");
        world.clock.advance(Duration::from_mins(1));
        let now = world.clock.now();
        node.store.return_messages(now, 100).await.unwrap();
        let new = lease(&node.store, now).await;
        assert_eq!(new.len(), 1, "{number}");
        // The old lease and the new one say at once what became of it.
        let dropped = node.store.message_dropped(&old[0], now);
        let (dropped, delivered) = tokio::join!(dropped, node.store.message_delivered(&new[0]));
        assert_eq!((dropped.unwrap(), delivered.unwrap()), (false, true), "{number}");
    }
    let mut stranger = world.stranger().await;
    assert_eq!(stranger.count("security_log WHERE event = 'outbox.dropped'").await, 0);
    node.stop().await;
}

#[tokio::test]
async fn whoever_lost_his_lease_can_neither_erase_nor_put_off_the_message() {
    let world = World::new().await;
    let node = world.node().await;
    node.ledgers.ask("a", post(1, FAR)).await.unwrap();
    let lost = lease(&node.store, world.clock.now()).await.pop().unwrap();
    world.clock.advance(Duration::from_mins(1));
    let now = world.clock.now();
    assert_eq!(node.store.return_messages(now, 10).await.unwrap(), 1);
    let held = lease(&node.store, now).await.pop().unwrap();
    assert!(!node.store.message_delivered(&lost).await.unwrap());
    assert!(!node.store.message_put_off(&lost, now).await.unwrap());
    assert!(!node.store.message_put_back(&lost, now).await.unwrap());
    assert!(!node.store.message_dropped(&lost, now).await.unwrap());
    assert_eq!(world.stranger().await.count("outbox").await, 1);
    assert!(node.store.message_delivered(&held).await.unwrap());
    node.stop().await;
}

#[tokio::test]
async fn two_nodes_do_not_deliver_the_same_message_while_all_goes_well() {
    let world = World::new().await;
    let postman = Arc::new(Postman::default());
    let one = world.node().await.with_couriers(couriers(&postman)).await;
    let other = world.node().await.with_couriers(couriers(&postman)).await;
    for entry in 0..60 {
        let node = if entry % 2 == 0 { &one } else { &other };
        node.ledgers.ask(&format!("l{entry}"), post(entry, FAR)).await.unwrap();
    }
    let mut stranger = world.stranger().await;
    eventually("delivery", async || stranger.count("outbox").await == 0).await;
    let mut carried = postman.carried();
    carried.sort();
    carried.dedup();
    assert_eq!((carried.len(), postman.carried().len()), (60, 60));
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn leases_are_taken_in_one_order_and_given_out_longest_waiting_first() {
    let world = World::new().await;
    let node = world.node().await;
    for entry in 1..=2 {
        node.ledgers.ask("a", post(entry, FAR)).await.unwrap();
    }
    let (mut holder, mut observer) = (world.stranger().await, world.stranger().await);
    let sooner = "UPDATE outbox SET due_at = due_at - 1 WHERE id = (SELECT MAX(id) FROM outbox)";
    holder.run(sooner).await.unwrap();
    let (store, now) = (node.store.clone(), world.clock.now());
    let mut waiting = JoinSet::new();
    let lease = async move { lease(&store, now).await };
    if world.is_postgres() {
        let touch = |end| {
            format!("UPDATE outbox SET topic = topic WHERE id = (SELECT {end}(id) FROM outbox)")
        };
        holder.run("BEGIN").await.unwrap();
        holder.run(touch("MIN")).await.unwrap();
        waiting.spawn(lease);
        eventually("a waiting lease", async || observer.waiting().await > 0).await;
        assert_eq!(holder.run(touch("MAX")).await.unwrap(), 1, "no deadlock");
        holder.let_go().await;
    } else {
        waiting.spawn(lease);
    }
    let leased = waiting.join_next().await.unwrap().unwrap();
    assert_eq!(leased.len(), 2);
    assert!(leased[0].id > leased[1].id, "the one that was due first");
    node.stop().await;
}
