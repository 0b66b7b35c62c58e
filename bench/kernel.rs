//! The kernel's figures: ratios within one run, so that the machine's mood cancels out.
//!
//! `bench/run-kernel` runs this and keeps the report. Each pair of rates is measured in alternating
//! rounds and the medians are compared.

#![expect(unsafe_code, reason = "the raw rate is taken straight from SQLite's own interface")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "measuring is what clocks and tasks are for here")]
#![expect(clippy::print_stdout, reason = "the report is printed")]
#![expect(clippy::cast_precision_loss, reason = "rates are far below 2^52")]

mod raw;

use porteiro::{
    actors::{Entities, ReadCaches, Services, Tree, TreeOptions},
    clock::SystemClock,
    crypto::{SecretKey, SharedVault, SystemDice, Vault, draw_text},
    domain::{Clock as _, Context, Decision, Machine, Timestamp},
    store::{NothingFails, Store, StoreOptions},
    system::log_chain,
};
use serde::{Deserialize, Serialize};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{mpsc, oneshot};

/// As large as a token family: about 400 bytes of state.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Family {
    generation: u64,
    ballast: String,
}

enum Command {
    Rotate,
    Glance,
}

impl Machine for Family {
    const KIND: &'static str = "family";
    type Command = Command;
    type Event = u64;
    type Reply = u64;
    type Refusal = ();

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        match command {
            Command::Rotate => Decision::accept(vec![self.generation + 1], self.generation + 1),
            Command::Glance => Decision::accept(vec![], self.generation),
        }
    }

    fn apply(&mut self, generation: &u64) {
        self.generation = *generation;
        if self.ballast.is_empty() {
            self.ballast = "x".repeat(370);
        }
    }

    fn tolerates_stale(_command: &Command) -> bool {
        true
    }
}

struct Node {
    store: Store,
    tree: Tree,
    families: Entities<Family>,
}

impl Node {
    async fn start(url: String, idle: Duration) -> Self {
        let vault = SharedVault::new(Vault::new(SecretKey::new(&[7; 32]), vec![]));
        let options = StoreOptions {
            url,
            node: draw_text(&SystemDice, 16),
            chain_keys: log_chain(vault.clone()),
            fault_injection: Arc::new(NothingFails),
        };
        let store = Store::open(options, SystemClock.now()).await.unwrap();
        let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
        let lent = Arc::new(Services {
            store: store.clone(),
            caches: ReadCaches::default(),
            clock,
            dice,
            vault,
        });
        let tree = Tree::start(lent, TreeOptions { idle, ..TreeOptions::default() }).await.unwrap();
        let families = tree.host().await.unwrap();
        // The whole tree, as a server runs it.
        tree.start_outbox(std::collections::HashMap::new()).await.unwrap();
        tree.start_janitor().await.unwrap();
        Self { store, tree, families }
    }

    async fn stop(self) {
        self.tree.stop(Duration::from_secs(10)).await;
        self.store.close().await;
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn url(folder: &Path, name: &str) -> String {
    format!("sqlite://{}", folder.join(name).display())
}

const WRITERS: u64 = 64;
const ROUNDS: usize = 7;

/// Durable commits per second with `writers` asking at once, each its own entity.
async fn commit_rate(node: &Node, writers: u64, each: u64) -> f64 {
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let families = node.families.clone();
        tasks.spawn(async move {
            let id = format!("family-{writer:04}");
            for _ in 0..each {
                families.ask(&Context::node(), &id, Command::Rotate).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    (writers * each) as f64 / begun.elapsed().as_secs_f64()
}

/// What one durable sync of a few kilobytes costs here.
fn sync_cost(folder: &Path) -> Duration {
    use std::io::Write as _;
    let mut file = std::fs::File::create(folder.join("sync")).unwrap();
    let mut costs = Vec::new();
    for _ in 0..200 {
        file.write_all(&[0; 4096]).unwrap();
        let begun = Instant::now();
        file.sync_data().unwrap();
        costs.push(begun.elapsed().as_secs_f64());
    }
    Duration::from_secs_f64(median(costs))
}

async fn commits(folder: &Path) {
    let node = Node::start(url(folder, "kernel.db"), Duration::from_mins(2)).await;
    let mut raw = raw::Raw::open(&folder.join("raw.db"));
    let mut driver = raw::Driver::open(&folder.join("driver.db"));
    commit_rate(&node, WRITERS, 20).await;
    raw.rate(20);
    driver.rate(20);
    let (mut ours, mut theirs, mut drivers) = (vec![], vec![], vec![]);
    let (mut alone, mut syncs) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        ours.push(commit_rate(&node, WRITERS, 150).await);
        theirs.push(raw.rate(150));
        drivers.push(driver.rate(150));
        syncs.push(sync_cost(folder).as_secs_f64());
    }
    let report = node.store.report();
    for _ in 0..ROUNDS {
        alone.push(commit_rate(&node, 1, 600).await);
    }
    let (ours, theirs, alone) = (median(ours), median(theirs), median(alone));
    let drivers = median(drivers);
    let group = report.commits as f64 / report.groups as f64;
    println!("## Durable commits (SQLite, WAL, synchronous=FULL)\n");
    println!("| what | figure |\n|---|---|");
    println!("| one sync of 4 KiB | {:.3} ms |", median(syncs) * 1e3);
    println!("| raw: 64 rows to a transaction, straight through SQLite's C | {theirs:.0} rows/s |");
    println!("| raw: the same straight through the driver (rusqlite) | {drivers:.0} rows/s |");
    println!("| kernel: {WRITERS} writers, ask → decide → commit → answer | {ours:.0} commits/s |");
    println!("| kernel: one writer alone | {alone:.0} commits/s |");
    println!("| commits to a group, on average | {group:.1} |");
    println!("| **kernel ÷ raw in C** (wanted: ≥ 0.5) | **{:.2}** |", ours / theirs);
    println!("| **kernel ÷ raw through the driver** (wanted: ≥ 0.5) | **{:.2}** |", ours / drivers);
    println!(
        "| **{WRITERS} writers ÷ one** (wanted: ≥ 3 where a sync exceeds 0.5 ms) | **{:.1}** |\n",
        ours / alone
    );
    node.stop().await;
}

/// Nanoseconds for a message and its answer between two tasks, with nothing else.
async fn bare_round_trip(times: u64) -> f64 {
    let (sender, mut receiver) = mpsc::unbounded_channel::<(u64, oneshot::Sender<u64>)>();
    let server = tokio::spawn(async move {
        while let Some((number, reply)) = receiver.recv().await {
            let _ = reply.send(number);
        }
    });
    let begun = Instant::now();
    for number in 0..times {
        let (reply, answer) = oneshot::channel();
        sender.send((number, reply)).unwrap();
        answer.await.unwrap();
    }
    let took = begun.elapsed();
    drop(sender);
    server.await.unwrap();
    took.as_nanos() as f64 / times as f64
}

async fn ask_round_trip(node: &Node, times: u64) -> f64 {
    let begun = Instant::now();
    for _ in 0..times {
        node.families.ask(&Context::node(), "one", Command::Glance).await.unwrap();
    }
    begun.elapsed().as_nanos() as f64 / times as f64
}

async fn asks(folder: &Path) {
    let node = Node::start(url(folder, "asks.db"), Duration::from_mins(2)).await;
    ask_round_trip(&node, 5_000).await;
    bare_round_trip(5_000).await;
    let (mut bare, mut ours) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        bare.push(bare_round_trip(20_000).await);
        ours.push(ask_round_trip(&node, 20_000).await);
    }
    node.stop().await;
    let (bare, ours) = (median(bare), median(ours));
    println!("## An ask that commits nothing\n");
    println!("| what | figure |\n|---|---|");
    println!("| bare mpsc + oneshot round trip | {:.2} µs |", bare / 1e3);
    println!("| ask through door, map and entity | {:.2} µs |", ours / 1e3);
    println!("| **ask ÷ bare** (wanted: ≤ 5) | **{:.2}** |\n", ours / bare);
}

/// Memory of this process that is really there.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096.0
}

async fn wake(node: &Node, from: u64, to: u64) {
    let mut tasks = tokio::task::JoinSet::new();
    for asker in 0..32 {
        let families = node.families.clone();
        tasks.spawn(async move {
            for number in (from..to).filter(|number| number % 32 == asker) {
                families
                    .ask(&Context::node(), &format!("family-{number:08}"), Command::Glance)
                    .await
                    .unwrap();
            }
        });
    }
    tasks.join_all().await;
}

async fn rest(node: &Node) {
    while node.families.report().awake > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
}

async fn memory(folder: &Path) {
    const LIVE: u64 = 100_000;
    const MIB: f64 = 1024.0 * 1024.0;
    let node = Node::start(url(folder, "memory.db"), Duration::from_secs(12)).await;
    wake(&node, 0, 1_000).await;
    let before = resident();
    wake(&node, 1_000, LIVE).await;
    let awake = node.families.report().awake;
    let during = resident();
    rest(&node).await;
    let rested = resident();
    for generation in 1..4 {
        wake(&node, generation * LIVE, generation * LIVE + 20_000).await;
        rest(&node).await;
    }
    let after = resident();
    let each = (during - before) / (LIVE - 1_000) as f64;
    println!("## Memory\n");
    println!("| what | figure |\n|---|---|");
    println!("| awake at once | {awake} |");
    println!("| **resident memory of one live entity** (wanted: ≤ 9 KB) | **{each:.0} B** |");
    println!("| resident with all of them awake | {:.0} MiB |", during / MIB);
    println!("| resident when all of them rest | {:.0} MiB |", rested / MIB);
    println!("| the same after 60,000 others were awake | {:.0} MiB |", after / MIB);
    println!("| entries kept for those at rest | {} |\n", node.families.report().awake);
    node.stop().await;
}

async fn start(folder: &Path) {
    let mut took = Vec::new();
    for _ in 0..2 {
        let begun = Instant::now();
        let node = Node::start(url(folder, "start.db"), Duration::from_mins(2)).await;
        node.families.ask(&Context::node(), "one", Command::Rotate).await.unwrap();
        took.push(begun.elapsed().as_secs_f64() * 1e3);
        node.stop().await;
    }
    println!("## Start\n");
    println!("| what | figure |\n|---|---|");
    println!("| new database, migrated, first durable commit | {:.0} ms |", took[0]);
    println!("| existing database, first durable commit | {:.0} ms |", took[1]);
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    // Spawned, so that the work runs where a server's would.
    let only = std::env::args().nth(1).filter(|word| !word.starts_with('-'));
    let wanted = move |name: &str| only.as_deref().is_none_or(|only| only == name);
    let measured = runtime.spawn(async move {
        if wanted("memory") {
            memory(&path).await;
        }
        if wanted("commits") {
            commits(&path).await;
        }
        if wanted("asks") {
            asks(&path).await;
        }
        if wanted("start") {
            start(&path).await;
        }
    });
    runtime.block_on(measured).unwrap();
}
