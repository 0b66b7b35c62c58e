//! Classes and keys of the outbox: what a person waits for is delivered first, and no key waits for another (adr/0118).

use crate::{
    ledger::Command,
    outbox::lease,
    support::{Node, World, eventually},
};
use porteiro::{
    actors::{Courier, Couriers, DeliveryFailure, DeliveryFuture, OutboxMessage},
    domain::{
        Clock as _, DeliveryClass, DeliveryKey, Dispatch, Secret, Timestamp,
        webhook::{Delivery, WEBHOOK},
    },
    store::{OutboxLane, UNCLASSIFIED},
};
use std::{
    collections::{HashMap, HashSet},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::sync::Semaphore;

/// Carries what it is told to: some texts wait for ever, some queues rest, and the rest is noted in its order.
struct Postman {
    carried: Mutex<Vec<String>>,
    /// Texts that begin so are not delivered before they are let go.
    stuck: &'static str,
    let_go: Semaphore,
    /// Texts that begin so are not taken, and their queue rests for hours.
    failing: &'static str,
    tries: Mutex<HashMap<String, u32>>,
    must_rest: AtomicBool,
    is_away: AtomicBool,
}

impl Default for Postman {
    fn default() -> Self {
        Self {
            carried: Mutex::default(),
            stuck: "never",
            let_go: Semaphore::new(0),
            failing: "never",
            tries: Mutex::default(),
            must_rest: AtomicBool::new(true),
            is_away: AtomicBool::new(false),
        }
    }
}

impl Postman {
    fn carried(&self) -> Vec<String> {
        self.carried.lock().unwrap().clone()
    }

    fn tries(&self) -> u32 {
        self.tries.lock().unwrap().values().sum()
    }

    async fn carry(&self, text: String) -> Result<(), DeliveryFailure> {
        *self.tries.lock().unwrap().entry(text.clone()).or_default() += 1;
        if self.is_away.load(SeqCst) {
            return Err(DeliveryFailure::TopicRests("it is away".to_owned()));
        }
        if text.starts_with(self.failing) && self.must_rest.load(SeqCst) {
            let hours = Duration::from_hours(4);
            return Err(DeliveryFailure::QueueRests(Some(hours), "it fails".to_owned()));
        }
        if text.starts_with(self.stuck) {
            self.let_go.acquire().await.unwrap().forget();
        }
        self.carried.lock().unwrap().push(text);
        Ok(())
    }
}

impl Courier for Postman {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(self.carry(String::from_utf8(message.payload.expose().to_vec()).unwrap()))
    }

    fn must_rest<'a>(&'a self, _: &'a str) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(std::future::ready(self.must_rest.load(SeqCst)))
    }
}

fn couriers(postman: &Arc<Postman>) -> Couriers {
    let courier = |topic| (topic, postman.clone() as Arc<dyn Courier>);
    HashMap::from(["mail", "sms", WEBHOOK].map(courier))
}

fn message(class: DeliveryClass, key: DeliveryKey, text: &str) -> Dispatch {
    let topic = if class == DeliveryClass::Endpoint { WEBHOOK } else { "mail" };
    Dispatch { topic, class, key, payload: Secret::new(text), expires_at: Timestamp::FOREVER }
}

fn many(class: DeliveryClass, key: &DeliveryKey, (name, count): (&str, u64)) -> Vec<Dispatch> {
    (0..count).map(|number| message(class, key.clone(), &format!("{name} {number}"))).collect()
}

async fn post(node: &Node, ledger: &str, messages: Vec<Dispatch>) {
    node.ledgers.ask(ledger, Command::AppendAndDispatch(1, messages)).await.unwrap();
}

/// An empty payload.
fn no_bytes(world: &World) -> &'static str {
    if world.is_postgres() { "''::bytea" } else { "x''" }
}

/// Has a hundred thousand messages wait in classes that are not codes, as if they had been posted by many organizations;
/// no courier here takes them.
async fn crowd(world: &World) {
    let mut stranger = world.stranger().await;
    let crowd = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) \
         INSERT INTO outbox (id, topic, payload, due_at, attempts, expires_at, class, queue) \
         SELECT 'crowd ' || i, 'pigeon', {}, 1, 0, 9000000000000000, 1 + i % 3, \
                'o' || i % 1000 || '/' FROM n",
        no_bytes(world)
    );
    assert_eq!(stranger.run(crowd).await.unwrap(), 100_000);
}

#[tokio::test]
async fn a_code_is_delivered_while_a_hundred_thousand_messages_wait() {
    let world = World::new().await;
    let node = world.node().await;
    crowd(&world).await;
    let postman = Arc::new(Postman { stuck: "notice", ..Postman::default() });
    // All workers of other classes are busy for longer than this test takes, with longer queues behind them.
    for (class, name) in [
        (DeliveryClass::Request, "notice of an invitation"),
        (DeliveryClass::Notice, "notice"),
        (DeliveryClass::Endpoint, "notice by a webhook"),
    ] {
        post(&node, name, many(class, &DeliveryKey::organization("globex"), (name, 100))).await;
    }
    let node = node.with_couriers(couriers(&postman)).await;
    eventually("busy workers", async || postman.tries() >= 3 + 3 + 2).await;
    for number in 0..5 {
        let key = DeliveryKey::client("app");
        let code = message(DeliveryClass::Code, key, &format!("code {number}"));
        post(&node, &format!("code {number}"), vec![code]).await;
        eventually("the code", async || postman.carried().len() == number + 1).await;
    }
    assert!(postman.carried().iter().all(|text| text.starts_with("code")));
    assert_eq!(postman.tries(), 3 + 3 + 2 + 5, "each class has its own share of workers");
    postman.let_go.add_permits(300);
    eventually("the others", async || postman.carried().len() == 305).await;
    node.stop().await;
}

#[tokio::test]
async fn a_code_is_the_first_that_the_next_round_leases() {
    let world = World::new().await;
    let node = world.node().await;
    crowd(&world).await;
    let code = message(DeliveryClass::Code, DeliveryKey::installation(), "code");
    post(&node, "code", vec![code]).await;
    let lanes = node.store.outbox_lanes().await.unwrap();
    let lane = |class, topic: &str| OutboxLane { class, topic: topic.to_owned() };
    let others = [1, 2, 3].map(|class| lane(class, "pigeon"));
    assert_eq!(lanes, [&[lane(0, "mail")], &others[..]].concat());
    assert_eq!(node.store.outbox_queues(&lanes[0], "", 32).await.unwrap(), ["/"]);
    let due = node.store.due_messages((&lanes[0], "/"), world.clock.now(), 16).await.unwrap();
    assert_eq!(due.len(), 1);
    node.stop().await;
}

#[tokio::test]
async fn one_organizations_flood_does_not_delay_anothers_message() {
    let world = World::new().await;
    let node = world.node().await;
    let flood = DeliveryKey::organization("globex");
    post(&node, "flood", many(DeliveryClass::Request, &flood, ("flood", 3_000))).await;
    let own = DeliveryKey::organization("acme");
    post(&node, "own", many(DeliveryClass::Request, &own, ("own", 3))).await;
    let postman = Arc::new(Postman::default());
    let node = node.with_couriers(couriers(&postman)).await;
    let own = |carried: &[String]| carried.iter().filter(|text| text.starts_with("own")).count();
    eventually("its turns", async || own(&postman.carried()) == 3).await;
    let carried = postman.carried();
    let last = carried.iter().rposition(|text| text.starts_with("own")).unwrap();
    assert!(last < 30, "{last} of the flood came first");
    node.stop().await;
}

#[tokio::test]
async fn what_waits_for_an_endpoint_that_fails_is_not_leased() {
    let world = World::new().await;
    let postman = Arc::new(Postman { failing: "dead", ..Postman::default() });
    let node = world.node().await.with_couriers(couriers(&postman)).await;
    let (dead, well) =
        (DeliveryKey::endpoint("acme", "dead"), DeliveryKey::endpoint("acme", "well"));
    post(&node, "dead", many(DeliveryClass::Endpoint, &dead, ("dead", 200))).await;
    post(&node, "well", many(DeliveryClass::Endpoint, &well, ("well", 100))).await;
    eventually("the others", async || postman.carried().len() == 100).await;
    let dead = || postman.tries() - 100;
    assert!((1..=2).contains(&dead()), "{} tries", dead());
    let mut stranger = world.stranger().await;
    // A try is counted before its row is written.
    eventually("the rows", async || {
        let (untried, leased) = ("outbox WHERE attempts = 0", "outbox WHERE waiting = 0");
        stranger.count(untried).await == 200 - i64::from(dead())
            && stranger.count(leased).await == 0
    })
    .await;
    // Its owner has mended it: it is noticed long before the rest is over.
    postman.must_rest.store(false, SeqCst);
    eventually("everything", async || {
        world.clock.advance(Duration::from_millis(100));
        stranger.count("outbox").await == 0
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn while_a_server_is_away_its_messages_are_not_leased_and_keep_their_place() {
    let world = World::new().await;
    let postman = Arc::new(Postman { is_away: true.into(), ..Postman::default() });
    let node = world.node().await;
    let key = DeliveryKey::organization("acme");
    for class in [DeliveryClass::Code, DeliveryClass::Request, DeliveryClass::Notice] {
        post(&node, &format!("{class:?}"), many(class, &key, ("mail", 200))).await;
    }
    let node = node.with_couriers(couriers(&postman)).await;
    eventually("a try", async || postman.tries() > 0).await;
    let mut stranger = world.stranger().await;
    eventually("an end", async || stranger.count("outbox WHERE waiting = 0").await == 0).await;
    let webhook = message(DeliveryClass::Endpoint, DeliveryKey::client("app"), "other");
    postman.is_away.store(false, SeqCst);
    post(&node, "other", vec![webhook]).await;
    // A try that was under way when the server came back may have carried one of the others.
    let other = "other".to_owned();
    eventually("another topic", async || postman.carried().contains(&other)).await;
    assert!(postman.tries() < 50, "{} tries of 600 messages", postman.tries());
    eventually("delivery", async || {
        world.clock.advance(Duration::from_secs(1));
        let different: HashSet<String> = postman.carried().into_iter().collect();
        stranger.count("outbox").await == 0 && different.len() == 201
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn many_that_were_put_off_come_back_little_by_little() {
    let world = World::new().await;
    let node = world.node().await;
    let key = DeliveryKey::installation();
    post(&node, "a", many(DeliveryClass::Notice, &key, ("notice", 1_000))).await;
    post(&node, "b", many(DeliveryClass::Code, &key, ("code", 10))).await;
    let mut stranger = world.stranger().await;
    let later = "UPDATE outbox SET waiting = 0, due_at = due_at + 1000";
    assert_eq!(stranger.run(later).await.unwrap(), 1_010);
    let back = async |most| node.store.return_messages(world.clock.now(), most).await.unwrap();
    assert_eq!(back(100).await, 0);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(back(100).await, 110, "a code does not wait for notices here either");
    assert_eq!((back(100).await, back(1_000).await, back(1_000).await), (100, 800, 0));
    node.stop().await;
}

#[tokio::test]
async fn deliveries_are_settled_in_the_transaction_of_a_group() {
    let world = World::new().await;
    let node = world.node().await;
    post(&node, "a", many(DeliveryClass::Code, &DeliveryKey::installation(), ("code", 9))).await;
    let leased = lease(&node.store, world.clock.now()).await;
    let before = node.script.transactions();
    let now = world.clock.now();
    // While one transaction is held up, the others wait together.
    let held = node.script.hold_next_write();
    let first = node.store.message_delivered(&leased[0]);
    let others = async {
        eventually("a transaction that is held up", async || node.script.has_held()).await;
        let stale = porteiro::store::LeasedMessage { attempts: 0, ..leased[8].clone() };
        let settled = tokio::join!(
            node.store.message_delivered(&leased[1]),
            node.store.message_delivered(&leased[2]),
            node.store.message_put_off(&leased[3], now + Duration::from_mins(1)),
            node.store.message_put_back(&leased[4], now),
            node.store.message_dropped(&leased[5], now),
            node.store.message_dropped(&stale, now),
            node.append("b", 1),
            async {
                tokio::task::yield_now().await;
                drop(held);
            }
        );
        settled
    };
    let (first, others) = tokio::join!(first, others);
    assert!(first.unwrap());
    let (one, two, off, back, dropped, stale, appended, ()) = others;
    assert_eq!(
        [one, two, off, back, dropped, stale],
        [true, true, true, true, true, false].map(Ok)
    );
    assert_eq!(appended, Ok(vec![1]));
    let transactions = node.script.transactions() - before;
    // On PostgreSQL three other committers go on while one is held up, as soon as something comes.
    let most = if world.is_postgres() { 8 } else { 2 };
    assert!(transactions <= most, "{transactions} transactions for eight callers");
    let mut stranger = world.stranger().await;
    assert_eq!(stranger.count("outbox").await, 5);
    assert_eq!(stranger.count("outbox WHERE waiting = 1").await, 1);
    assert_eq!(stranger.count("security_log WHERE event = 'outbox.dropped'").await, 1);
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn how_many_wait_is_kept_and_not_counted() {
    let world = World::new().await;
    let node = world.node().await;
    let counts = async || {
        let counted = node.store.messages_waiting().await.unwrap();
        counted.into_iter().map(|one| (one.topic, one.count)).collect::<Vec<_>>()
    };
    assert_eq!(counts().await, []);
    let key = DeliveryKey::installation();
    post(&node, "a", many(DeliveryClass::Code, &key, ("code", 5))).await;
    post(&node, "b", many(DeliveryClass::Endpoint, &key, ("call", 3))).await;
    let (mail, webhook) = ("mail".to_owned(), WEBHOOK.to_owned());
    assert_eq!(counts().await, [(mail.clone(), 5), (webhook.clone(), 3)]);
    for message in lease(&node.store, world.clock.now()).await {
        if message.lane.topic == WEBHOOK {
            assert!(node.store.message_delivered(&message).await.unwrap());
        }
    }
    assert_eq!(counts().await, [(mail.clone(), 5)], "what is leased is there still");
    // An earlier binary counts nothing by itself.
    let mut stranger = world.stranger().await;
    stranger.run("DELETE FROM outbox WHERE id = (SELECT MIN(id) FROM outbox)").await.unwrap();
    stranger.run(of_an_earlier_binary(&world, "one", 7)).await.unwrap();
    assert_eq!(counts().await, [(mail, 4), ("pigeon".to_owned(), 1)]);
    assert_eq!(node.store.messages_waiting().await.unwrap()[1].due, Timestamp::from_millis(7));
    node.stop().await;
}

/// What a binary of the version before writes.
fn of_an_earlier_binary(world: &World, id: &str, due_at: i64) -> String {
    format!(
        "INSERT INTO outbox (id, topic, payload, due_at, attempts, expires_at) \
         VALUES ('{id}', 'pigeon', {}, {due_at}, 0, 9000000000000000)",
        no_bytes(world)
    )
}

#[tokio::test]
async fn a_message_of_an_earlier_binary_waits_in_a_class_of_its_own() {
    let world = World::new().await;
    let node = world.node().await;
    let mut stranger = world.stranger().await;
    let now = world.clock.now();
    for (id, due) in [("one", now.millis()), ("two", now.millis() + 1)] {
        stranger.run(of_an_earlier_binary(&world, id, due)).await.unwrap();
    }
    let lanes = node.store.outbox_lanes().await.unwrap();
    assert_eq!(lanes, [OutboxLane { class: UNCLASSIFIED, topic: "pigeon".to_owned() }]);
    let leased = lease(&node.store, now).await;
    assert_eq!(leased.iter().map(|one| &*one.id).collect::<Vec<_>>(), ["one"], "what is due");
    // An earlier binary leases by the time alone, and what it has leased is left to it.
    world.clock.advance(Duration::from_millis(1));
    let theirs = format!(
        "UPDATE outbox SET due_at = {}, attempts = attempts + 1 WHERE id = 'two'",
        now.millis() + 60_000
    );
    assert_eq!(stranger.run(theirs).await.unwrap(), 1);
    assert!(lease(&node.store, world.clock.now()).await.is_empty());
    world.clock.advance(Duration::from_mins(1));
    let leased = lease(&node.store, world.clock.now()).await;
    assert_eq!(leased.iter().map(|one| (&*one.id, one.attempts)).collect::<Vec<_>>(), [("two", 2)]);
    node.stop().await;
}

#[tokio::test]
async fn what_expires_while_its_server_is_away_is_erased_and_recorded() {
    let world = World::new().await;
    let postman = Arc::new(Postman { is_away: true.into(), ..Postman::default() });
    let node = world.node().await;
    let expires_at = world.clock.now() + Duration::from_mins(10);
    let key = DeliveryKey::installation();
    let codes = many(DeliveryClass::Code, &key, ("code", 300));
    let codes = codes.into_iter().map(|one| Dispatch { expires_at, ..one }).collect();
    post(&node, "codes", codes).await;
    post(&node, "kept", many(DeliveryClass::Code, &key, ("kept", 1))).await;
    let node = node.with_couriers(couriers(&postman)).await;
    eventually("a try", async || postman.tries() > 0).await;
    let mut stranger = world.stranger().await;
    eventually("an end", async || stranger.count("outbox WHERE waiting = 0").await == 0).await;
    world.clock.advance(Duration::from_mins(10));
    eventually("erasure", async || stranger.count("outbox").await == 1).await;
    assert_eq!(stranger.count("security_log WHERE event = 'outbox.dropped'").await, 300);
    eventually("a report", async || node.tree.outbox()[0].dropped == 300).await;
    node.stop().await;
}

#[tokio::test]
async fn a_webhook_takes_turns_by_its_organization_and_endpoint() {
    let delivery = Delivery {
        webhook: "w".to_owned(),
        organization: "acme".to_owned(),
        id: "1".to_owned(),
        body: "{}".to_owned(),
    };
    let dispatch = delivery.dispatch(Timestamp::from_millis(0));
    assert_eq!(dispatch.class, DeliveryClass::Endpoint);
    assert_eq!(dispatch.key, DeliveryKey::endpoint("acme", "w"));
    assert_eq!(Delivery::read(&dispatch.payload), Some(delivery));
}
