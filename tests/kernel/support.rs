//! A world for each test: its own database, its own clock, its own bad days.

pub use crate::{
    database::Database as Stranger,
    shared::{TestClock, eventually, make_keys},
};

use crate::{
    ledger::{Command, Ledger, Refusal},
    shared::{new_database, test_folder},
};
use porteiro::{
    actors::{
        Answer, Couriers, Entities, Failure, JanitorOptions, KeyOptions, KindReport, ReadCaches,
        RestartBudget, Services, Tree, TreeOptions, hashing::HashingOptions,
    },
    crypto::{
        SecretKey, SharedVault, SystemDice, Vault, draw_text,
        keys::{DevKeys, Folder},
        password::PasswordCost,
    },
    domain::{Clock, Context},
    outbound::DnsResolver,
    store::{FaultInjection, Moment, NothingFails, Store, StoreOptions},
    system::{SystemOptions, log_chain},
};
use sqlx::AssertSqlSafe;
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

/// Fails the next so many moments of a sort.
#[derive(Default)]
pub struct Script {
    planned: Mutex<Vec<(Moment, u64)>>,
    panicking: AtomicBool,
    held: Mutex<Option<std::sync::mpsc::Receiver<()>>>,
    transactions: AtomicU64,
}

impl Script {
    /// How many transactions came as far as their COMMIT.
    pub fn transactions(&self) -> u64 {
        self.transactions.load(SeqCst)
    }

    /// Holds up the next transaction before its statements until the other end is dropped.
    pub fn hold_next_write(&self) -> std::sync::mpsc::Sender<()> {
        let (sender, receiver) = std::sync::mpsc::channel();
        *self.held.lock().unwrap() = Some(receiver);
        sender
    }

    /// Tells whether a transaction was held up since it was told so.
    pub fn has_held(&self) -> bool {
        self.held.lock().unwrap().is_none()
    }

    pub fn fail_next(&self, moment: Moment, times: u64) {
        self.planned.lock().unwrap().push((moment, times));
    }

    /// Makes the next transaction panic half way.
    pub fn panic_next_write(&self) {
        self.panicking.store(true, SeqCst);
    }

    pub fn clear(&self) {
        self.planned.lock().unwrap().clear();
    }
}

impl FaultInjection for Script {
    fn fails(&self, moment: Moment) -> bool {
        if moment == Moment::Commit {
            self.transactions.fetch_add(1, SeqCst);
        }
        let panics = moment == Moment::Commit && self.panicking.swap(false, SeqCst);
        assert!(!panics, "a transaction was told to panic");
        if moment == Moment::Write {
            let held = self.held.lock().unwrap().take();
            held.map(|held| held.recv());
        }
        let mut planned = self.planned.lock().unwrap();
        let plan = planned.iter_mut().find(|(m, left)| *m == moment && *left > 0);
        plan.map(|plan| plan.1 -= 1).is_some()
    }
}

pub struct World {
    pub url: String,
    pub clock: Arc<TestClock>,
    pub tree: TreeOptions,
    folder: tempfile::TempDir,
}

impl World {
    pub async fn new() -> Self {
        let folder = test_folder();
        Self::at(new_database(folder.path()).await, folder)
    }

    /// A world whose database is on a disk: processes are killed in it.
    pub async fn on_disk() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::at(new_database(folder.path()).await, folder)
    }

    /// A world on a database that exists already.
    pub fn joining(url: String) -> Self {
        Self::at(url, test_folder())
    }

    fn at(url: String, folder: tempfile::TempDir) -> Self {
        Self { url, clock: Arc::new(TestClock::new()), tree: tree_options(), folder }
    }

    pub fn is_postgres(&self) -> bool {
        self.url.starts_with("postgres")
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Starts a node of its own on this world's database.
    pub async fn node(&self) -> Node {
        Node::start(self, &self.url).await
    }

    /// What a whole system with the keys in `folder` is built from.
    pub fn system(&self, folder: PathBuf) -> SystemOptions {
        SystemOptions {
            store: self.url.clone(),
            read_folder: Arc::new(move || Folder::load(&folder, DevKeys::Refused)),
            clock: self.clock.clone(),
            dice: Arc::new(SystemDice),
            tree: self.tree,
            hashing: HashingOptions { workers: 1, cost: PasswordCost::CHEAP, ..Default::default() },
            couriers: Couriers::new(),
            txt_resolver: Arc::new(DnsResolver::of_system()),
            fault_injection: Arc::new(NothingFails),
        }
    }

    /// A connection of a stranger who goes round the kernel.
    pub async fn stranger(&self) -> Stranger {
        Stranger::at(&self.url).await
    }
}

/// `TreeOptions` for tests: short waits, nothing that acts by itself except what a test starts.
fn tree_options() -> TreeOptions {
    TreeOptions {
        idle: Duration::from_mins(5),
        max_awake: 4_096,
        timeout: Duration::from_secs(20),
        most_asks: 4_096,
        restarts: RestartBudget { restarts: 3, within: Duration::from_mins(1) },
        outbox_every: Duration::from_millis(20),
        feed_every: Duration::from_millis(20),
        domains_every: Duration::from_millis(20),
        inviter_every: Duration::from_mins(1),
        janitor: JanitorOptions {
            every: Duration::from_millis(10),
            anchor_every: Duration::from_hours(1),
            keep_log: None,
        },
        keys: KeyOptions {
            every: Duration::from_millis(20),
            published_for: Duration::from_mins(10),
            longest_token: Duration::from_hours(1),
        },
    }
}

/// The answer of a ledger, without its version.
pub type Entries = Result<Vec<u64>, Failure<Refusal>>;

/// Asks ledgers in the name of the node, and hears their entries alone.
#[derive(Clone)]
pub struct Ledgers(pub Entities<Ledger>);

impl Ledgers {
    pub async fn ask(&self, id: &str, command: Command) -> Entries {
        plain(self.0.ask(&Context::node(), id, command).await)
    }

    pub async fn ask_new(&self, id: &str, command: Command) -> Entries {
        plain(self.0.ask_new(&Context::node(), id, command).await)
    }

    /// Asks, and keeps what was worked on in `seen`; the result is the sum of what the reply has.
    pub async fn ask_and_add_up(
        &self,
        id: &str,
        (new, command): (bool, Command),
        seen: Arc<Mutex<Vec<Vec<u64>>>>,
    ) -> Result<(Vec<u64>, u64), Failure<Refusal>> {
        let work = move |reply: &Vec<u64>| {
            seen.lock().unwrap().push(reply.clone());
            reply.iter().sum()
        };
        let asked = self.0.ask_and_work((&Context::node(), id, new), command, work).await;
        asked.map(|(replied, sum)| (replied.reply, sum))
    }

    pub async fn ask_within(&self, timeout: Duration, id: &str, command: Command) -> Entries {
        plain(self.0.ask_within(timeout, &Context::node(), id, command).await)
    }

    pub async fn ask_detached(&self, id: &str, command: Command) -> Entries {
        plain(self.0.ask_detached(&Context::node(), id, command).await)
    }

    pub fn report(&self) -> KindReport {
        self.0.report()
    }
}

fn plain(answer: Answer<Ledger>) -> Entries {
    answer.map(|replied| replied.reply)
}

pub struct Node {
    pub store: Store,
    pub tree: Tree,
    pub ledgers: Ledgers,
    pub script: Arc<Script>,
}

impl Node {
    pub async fn start(world: &World, url: &str) -> Self {
        let script = Arc::new(Script::default());
        let vault = SharedVault::new(vault());
        let options = StoreOptions {
            url: url.to_owned(),
            node: draw_text(&SystemDice, 16),
            chain_keys: log_chain(vault.clone()),
            fault_injection: script.clone(),
        };
        let store = Store::open(options, world.clock.now()).await.unwrap();
        let (clock, dice) = (world.clock.clone(), Arc::new(SystemDice));
        let caches = ReadCaches::default();
        let services = Arc::new(Services { store: store.clone(), caches, clock, dice, vault });
        let tree = Tree::start(services, world.tree).await.unwrap();
        let ledgers = Ledgers(tree.host().await.unwrap());
        Self { store, tree, ledgers, script }
    }

    pub async fn with_couriers(self, couriers: Couriers) -> Self {
        self.tree.start_outbox(couriers).await.unwrap();
        self
    }

    pub async fn append(&self, id: &str, entry: u64) -> Entries {
        self.ledgers.ask(id, Command::Append(entry)).await
    }

    pub async fn entries(&self, id: &str) -> Vec<u64> {
        self.ledgers.ask(id, Command::Read).await.unwrap()
    }

    /// Waits until so many asks are on their way, counted from the node's start.
    pub async fn asked(&self, times: u64) {
        eventually("an ask", async || self.ledgers.report().asks >= times).await;
    }

    pub async fn stop(self) {
        assert!(self.tree.stop(Duration::from_secs(10)).await, "the tree came down in order");
        self.store.close().await;
    }
}

/// Every node of a test derives the same keys, as nodes that share a keys folder do.
pub fn vault() -> Vault {
    Vault::new(SecretKey::new(&[7; 32]), vec![])
}

impl Stranger {
    pub async fn count(&mut self, table: &str) -> i64 {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        match self {
            Self::Sqlite(c) => c.query_row(&sql, [], |row| row.get(0)).unwrap(),
            Self::Postgres(c) => sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(c).await.unwrap(),
        }
    }

    /// Reads one text.
    pub async fn text(&mut self, sql: &str) -> String {
        match self {
            Self::Sqlite(c) => c.query_row(sql, [], |row| row.get(0)).unwrap(),
            Self::Postgres(c) => {
                sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(c).await.unwrap()
            }
        }
    }

    /// Reads one column of bytes.
    pub async fn bytes(&mut self, sql: &str) -> Vec<Vec<u8>> {
        match self {
            Self::Sqlite(c) => {
                let mut statement = c.prepare(sql).unwrap();
                let rows = statement.query_map([], |row| row.get(0)).unwrap();
                rows.collect::<rusqlite::Result<_>>().unwrap()
            }
            Self::Postgres(c) => {
                let sql = AssertSqlSafe(sql.to_owned());
                sqlx::query_scalar(sql).fetch_all(c).await.unwrap()
            }
        }
    }

    /// Holds a row so that whoever wants to change it waits.
    pub async fn hold(&mut self, id: &str) {
        self.run("BEGIN").await.unwrap();
        let held = format!("UPDATE entities SET version = version WHERE id = '{id}'");
        assert_eq!(self.run(held).await.unwrap(), 1);
    }

    /// Holds the whole table, so that every writer waits.
    pub async fn hold_everything(&mut self) {
        if matches!(self, Self::Postgres(_)) {
            self.run("BEGIN").await.unwrap();
            self.run("LOCK TABLE entities IN EXCLUSIVE MODE").await.unwrap();
        } else {
            self.run("BEGIN IMMEDIATE").await.unwrap();
        }
    }

    /// Says how many statements of this test's schema wait for somebody's lock (PostgreSQL).
    pub async fn waiting(&mut self) -> i64 {
        self.count(
            "pg_stat_activity WHERE wait_event_type = 'Lock' \
             AND pid IN (SELECT pid FROM pg_locks WHERE relation IN (SELECT oid FROM pg_class \
                         WHERE relnamespace = current_schema()::regnamespace))",
        )
        .await
    }

    pub async fn let_go(&mut self) {
        self.run("ROLLBACK").await.unwrap();
    }

    /// Cuts the tail of a lane of the log, after row `to`.
    pub async fn cut_tail(&mut self, lane: &str, to: i64) {
        let cut = format!("DELETE FROM security_log WHERE seq > {to} AND lane = '{lane}'");
        self.run(cut).await.unwrap();
    }

    /// Moves a lane's head back to row `to`, as if there had never been more.
    pub async fn move_head_back(&mut self, lane: &str, to: i64) {
        let back = format!(
            "UPDATE log_lanes SET seq = {to}, mac = (SELECT mac FROM security_log \
             WHERE lane = '{lane}' AND seq = {to}) WHERE lane = '{lane}'"
        );
        assert_eq!(self.run(back).await.unwrap(), 1);
    }

    /// Removes what keeps the security log append-only, as someone who owns the database could.
    pub async fn disarm(&mut self) {
        let on = if matches!(self, Self::Postgres(_)) { " ON security_log" } else { "" };
        for trigger in ["security_log_keeps_rows", "security_log_keeps_all_rows"] {
            self.run(format!("DROP TRIGGER {trigger}{on}")).await.unwrap();
        }
    }
}

pub fn refused(answer: &Entries) -> Option<Refusal> {
    match answer {
        Err(Failure::Refused(why)) => Some(*why),
        _ => None,
    }
}
