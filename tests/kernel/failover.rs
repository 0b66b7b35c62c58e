//! A primary that dies, hangs, is full or takes no more changes, and the standby that follows it.

use crate::{
    engines::{InFront, Options},
    ledger::Command,
    server_pair::{Pair, beside_a_pair},
    shared::straight,
    support::{Ledgers, Node, Stranger, World, eventually, vault},
};
use porteiro::{
    actors::Failure, crypto::SharedVault, domain::Clock as _, store::Store, system::log_chain,
};
use rustix::process::Signal;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const FOLLOWS: &str = "SELECT count(*) = 1 FROM pg_stat_replication \
                       WHERE state = 'streaming' AND replay_lsn = pg_current_wal_lsn()";

/// What one writer was told.
#[derive(Default)]
struct Told {
    book: String,
    acknowledged: Vec<(Instant, u64)>,
    /// The outcome of these is unknown.
    perhaps: Vec<u64>,
    /// How often nothing was written.
    refused: usize,
    /// The longest wait for an answer.
    longest: Duration,
}

/// Writes to one book until it is told to end.
async fn write(ledgers: Ledgers, book: String, is_over: Arc<AtomicBool>) -> Told {
    let mut told = Told { book, ..Told::default() };
    for entry in 0.. {
        if is_over.load(SeqCst) {
            break;
        }
        let asked = Instant::now();
        let push = Command::AppendAndRecord(entry);
        let answer = ledgers.ask_within(Duration::from_secs(5), &told.book, push).await;
        told.longest = told.longest.max(asked.elapsed());
        match answer {
            Ok(_) => told.acknowledged.push((Instant::now(), entry)),
            Err(Failure::Unknown | Failure::Late) => told.perhaps.push(entry),
            Err(Failure::Unavailable | Failure::Busy | Failure::Contended) => {
                told.refused += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    told
}

/// Eight writers.
struct Load {
    writers: JoinSet<Told>,
    is_over: Arc<AtomicBool>,
}

impl Load {
    fn on(node: &Node) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let writer = |number: usize| write(node.ledgers.clone(), book(number), is_over.clone());
        let writers = (0..8).map(writer).collect();
        Self { writers, is_over }
    }

    async fn end(self) -> Vec<Told> {
        self.is_over.store(true, SeqCst);
        self.writers.join_all().await
    }
}

fn book(number: usize) -> String {
    format!("book{number}")
}

/// Waits until a node has made so many commits since now.
async fn commits(node: &Node, more: u64) {
    let before = node.store.report().commits;
    eventually("commits", async || node.store.report().commits >= before + more).await;
}

/// Says which of the entries that were acknowledged are not there.
async fn missing(node: &Node, told: &[Told]) -> Vec<(Instant, u64)> {
    let mut missing = Vec::new();
    for Told { book, acknowledged, perhaps, .. } in told {
        let stored = node.entries(book).await;
        let explained = |entry: &u64| {
            perhaps.contains(entry) || acknowledged.iter().any(|(_, known)| known == entry)
        };
        assert!(stored.iter().all(explained), "nothing appears that was said not to have happened");
        let mut once = stored.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), stored.len(), "nothing is applied twice");
        let lost = acknowledged.iter().filter(|(_, entry)| !stored.contains(entry));
        missing.extend(lost.copied());
    }
    missing
}

#[tokio::test]
async fn a_synchronous_standby_that_is_promoted_under_load_has_all_that_was_acknowledged() {
    beside_a_pair("sync", "failover::beside_a_synchronous_pair").await;
}

/// Not a test of its own: what runs beside the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_synchronous_pair() {
    let Some(pair) = Pair::beside_us() else { return };
    let world = World::new().await;
    let node = world.node().await;
    let load = Load::on(&node);
    commits(&node, 200).await;
    pair.signal_primary(Signal::KILL);
    let killed = Instant::now();
    // For a while there is no server.
    tokio::time::sleep(Duration::from_millis(500)).await;
    pair.promote_standby().await;
    let promoted = Instant::now();
    commits(&node, 200).await;
    let told = load.end().await;
    assert_eq!(missing(&node, &told).await, [], "acknowledged and lost");
    let proof = node.store.verify_log(&[]).await.unwrap();
    assert!(proof.findings.is_empty(), "{:?}", proof.findings);
    let later = told.iter().flat_map(|told| &told.acknowledged);
    let first = later.map(|(at, _)| *at).filter(|at| *at > promoted).min().unwrap() - promoted;
    assert!(first < Duration::from_secs(5), "{first:?}");
    let acknowledged: usize = told.iter().map(|told| told.acknowledged.len()).sum();
    let refused: usize = told.iter().map(|told| told.refused).sum();
    let unknown: usize = told.iter().map(|told| told.perhaps.len()).sum();
    assert!(refused > 0, "the end of the primary was felt");
    println!(
        "measured: first success {} ms after the promotion, which took {} ms; {acknowledged} acknowledged, 0 lost, \
         {refused} refused with nothing written, {unknown} of unknown outcome",
        first.as_millis(),
        (promoted - killed).as_millis() - 500,
    );
    node.stop().await;
}

#[tokio::test]
async fn what_an_asynchronous_standby_lacks_is_shown_by_heads_that_were_kept() {
    beside_a_pair("async", "failover::beside_an_asynchronous_pair").await;
}

/// Not a test of its own: what runs beside the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_an_asynchronous_pair() {
    let Some(pair) = Pair::beside_us() else { return };
    let world = World::new().await;
    let node = world.node().await;
    node.append("calm", 1).await.unwrap();
    pair.until(FOLLOWS).await;
    pair.hold_up_replication();
    let held_up = Instant::now();
    let load = Load::on(&node);
    commits(&node, 200).await;
    let told = load.end().await;
    // As the server's own output has them.
    let heads = node.store.anchor_log(world.clock.now()).await.unwrap();
    pair.signal_primary(Signal::KILL);
    pair.promote_standby().await;
    let lost = missing_after_a_loss(&node, &told).await;
    assert!(!lost.is_empty() && lost.iter().all(|(at, _)| *at > held_up), "{}", lost.len());
    assert_eq!(node.entries("calm").await, [1], "what had reached the standby is there");
    let proof = node.store.verify_log(&heads).await.unwrap();
    assert!(!proof.findings.is_empty(), "a loss that no one is told of");
    let silent = node.store.verify_log(&[]).await.unwrap();
    assert!(silent.findings.is_empty(), "without heads it cannot be seen: {:?}", silent.findings);
    println!(
        "measured: {} acknowledged and lost; against the kept heads: {}",
        lost.len(),
        proof.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    );
    // What was sent to the server that is gone has an unknown fate.
    let written =
        async || node.append("calm", 2).await.is_ok() || node.entries("calm").await == [1, 2];
    eventually("the store to take changes", written).await;
    node.stop().await;
}

/// Waits until the store is back, and says what is lost.
async fn missing_after_a_loss(node: &Node, told: &[Told]) -> Vec<(Instant, u64)> {
    let back = async || node.ledgers.ask(&book(0), Command::Read).await.is_ok();
    eventually("the store to be back", back).await;
    missing(node, told).await
}

#[tokio::test]
async fn while_a_synchronous_standby_is_away_connections_do_not_pile_up_at_the_primary() {
    beside_a_pair("sync", "failover::beside_a_primary_that_waits").await;
}

/// Not a test of its own: what runs beside the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_primary_that_waits() {
    let Some(pair) = Pair::beside_us() else { return };
    let world = World::new().await;
    let node = world.node().await;
    let load = Load::on(&node);
    commits(&node, 100).await;
    pair.hold_up_replication();
    let mut looker = Stranger::at(&pair.primary_url).await;
    let waiting = "pg_stat_activity WHERE wait_event = 'SyncRep'";
    // Each of the four that write waits for its COMMIT, gives up after 12 s, and finds that the server waits.
    let mut most = 0;
    for _ in 0..28 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        most = most.max(looker.count(waiting).await);
    }
    assert!((1..=4).contains(&most), "{most} connections wait");
    pair.let_replication_go_on();
    commits(&node, 100).await;
    let told = load.end().await;
    assert_eq!(missing(&node, &told).await, []);
    println!("measured: {most} connections wait at most while the standby is away for 28 s");
    node.stop().await;
}

#[tokio::test]
async fn a_standby_is_not_read_before_it_is_promoted() {
    beside_a_pair("async", "failover::beside_a_standby").await;
}

/// Not a test of its own: what runs beside the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_standby() {
    let Some(pair) = Pair::beside_us() else { return };
    let world = World::new().await;
    let pooler = InFront::of(&world, Options::Refuses).await;
    let nodes = [world.node().await, Node::start(&world, &pooler.url(&world)).await];
    for (node, book) in nodes.iter().zip(["a", "b"]) {
        node.append(book, 1).await.unwrap();
    }
    pair.until(FOLLOWS).await;
    pair.signal_primary(Signal::KILL);
    pair.lead_to_standby();
    for _ in 0..20 {
        for node in &nodes {
            let read = node.store.version("ledger", "a").await;
            assert!(read.is_err(), "it may lack a revocation: {read:?}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Its log may be looked at: this decides nothing.
    let looker = Store::open_to_read(&world.url, log_chain(SharedVault::new(vault()))).await;
    let looker = looker.unwrap();
    assert!(looker.verify_log(&[]).await.unwrap().findings.is_empty());
    looker.close().await;
    pair.promote_standby().await;
    for (node, book) in nodes.iter().zip(["a", "b"]) {
        let back = async || node.append(book, 2).await.is_ok();
        eventually("the store to be back", back).await;
        assert_eq!(node.entries(book).await[0], 1);
    }
    println!("measured: a standby is read by none of two nodes before it is promoted");
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_primary_that_hangs_fails_asks_in_time_and_serves_when_it_goes_on() {
    beside_a_pair("async", "failover::beside_a_pair_that_hangs").await;
}

/// Not a test of its own: what runs beside the servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_pair_that_hangs() {
    let Some(pair) = Pair::beside_us() else { return };
    let world = World::new().await;
    let node = world.node().await;
    let load = Load::on(&node);
    commits(&node, 100).await;
    pair.signal_primary(Signal::STOP);
    tokio::time::sleep(Duration::from_secs(7)).await;
    pair.signal_primary(Signal::CONT);
    let resumed = Instant::now();
    let back = tokio::time::timeout(Duration::from_secs(30), commits(&node, 100));
    back.await.expect("it serves again");
    let back = resumed.elapsed();
    let told = load.end().await;
    assert_eq!(missing(&node, &told).await, []);
    let longest = told.iter().map(|told| told.longest).max().unwrap();
    assert!(longest < Duration::from_secs(6), "no ask waits longer than it may: {longest:?}");
    let unanswered: usize = told.iter().map(|told| told.perhaps.len() + told.refused).sum();
    println!(
        "measured: {unanswered} asks failed while the primary hung for 7 s, the longest after {} ms; 100 commits {} ms \
         after it went on",
        longest.as_millis(),
        back.as_millis()
    );
    node.stop().await;
}

/// A node whose connections are those of a role of its own, and a connection of an administrator.
#[expect(clippy::print_stdout, reason = "a test that was skipped must not look like one that ran")]
async fn as_a_role() -> Option<(World, Node, Stranger, String)> {
    let world = World::new().await;
    if !world.is_postgres() {
        println!("skipped: SQLite has no roles");
        return None;
    }
    let url = straight(&world.url);
    let role = url.split("search_path%3D").nth(1).unwrap().to_owned();
    let mut administrator = Stranger::at(&url).await;
    administrator.run(format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    administrator.run(format!("ALTER SCHEMA {role} OWNER TO {role}")).await.unwrap();
    let node = Node::start(&world, &url.replacen("porteiro@", &format!("{role}@"), 1)).await;
    Some((world, node, administrator, role))
}

async fn end_connections(administrator: &mut Stranger, role: &str) {
    let of_role = format!("pg_stat_activity WHERE usename = '{role}'");
    administrator.run(format!("SELECT pg_terminate_backend(pid) FROM {of_role}")).await.unwrap();
    for _ in 0..500 {
        if administrator.count(&of_role).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("they never ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_more_connections_refuses_and_serves_by_those_that_are_open() {
    let Some((_world, node, mut administrator, role)) = as_a_role().await else { return };
    node.append("a", 1).await.unwrap();
    assert_eq!(node.entries("a").await, [1]);
    let limit = |most: i64| format!("ALTER ROLE {role} CONNECTION LIMIT {most}");
    administrator.run(limit(0)).await.unwrap();
    // More at once than have a connection.
    let mut askers = JoinSet::new();
    for _ in 0..64 {
        let store = node.store.clone();
        askers.spawn(async move { store.version("ledger", "a").await });
    }
    let read = askers.join_all().await;
    assert!(read.iter().all(|version| version.as_ref().is_ok_and(|it| *it > 0)), "{read:?}");
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    end_connections(&mut administrator, &role).await;
    assert_eq!(node.append("a", 3).await, Err(Failure::Unavailable));
    assert!(node.store.version("ledger", "a").await.is_err());
    administrator.run(limit(-1)).await.unwrap();
    assert_eq!(node.append("a", 3).await.unwrap(), [1, 2, 3]);
    node.stop().await;
}

#[tokio::test]
async fn a_server_that_takes_no_changes_is_read_and_refuses_changes_until_it_takes_them_again() {
    let Some((_world, node, mut administrator, role)) = as_a_role().await else { return };
    node.append("a", 1).await.unwrap();
    let set = format!("ALTER ROLE {role} SET default_transaction_read_only = on");
    administrator.run(set).await.unwrap();
    end_connections(&mut administrator, &role).await;
    for _ in 0..3 {
        assert_eq!(node.append("a", 2).await, Err(Failure::Unavailable));
        assert_eq!(node.entries("a").await, [1]);
    }
    let reset = format!("ALTER ROLE {role} RESET default_transaction_read_only");
    administrator.run(reset).await.unwrap();
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    node.stop().await;
}
