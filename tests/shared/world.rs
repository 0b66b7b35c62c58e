//! What every test world is made of: a clock that moves when told to, a database of its own, time limits.

use porteiro::{
    clock::Stopwatch,
    crypto::{
        SystemDice, draw_text,
        keys::{Generator, Origin, Purpose},
    },
    domain::{Clock, Timestamp, signing_keys::SigningAlgorithm},
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst},
    time::Duration,
};

/// A clock whose time of day moves when told to; it can be made to panic its next reader. What is kept in memory
/// grows older by itself, as on any other clock, and at once when told to.
pub struct TestClock {
    now: AtomicI64,
    since: Stopwatch,
    skipped: AtomicU64,
    readings: AtomicU64,
    broken: AtomicBool,
}

impl TestClock {
    pub fn new() -> Self {
        Self {
            now: 1_800_000_000_000.into(),
            since: Stopwatch::start(),
            skipped: 0.into(),
            readings: 0.into(),
            broken: false.into(),
        }
    }

    /// Makes everything that views keep in memory too old to be used again.
    pub fn expire_views(&self) {
        self.skipped.fetch_add(1_000, SeqCst);
    }

    pub fn advance(&self, by: Duration) {
        self.shift(i64::try_from(by.as_millis()).unwrap());
    }

    /// Sets the time of day forward by so many milliseconds, or back.
    pub fn shift(&self, millis: i64) {
        self.now.fetch_add(millis, SeqCst);
    }

    pub fn panic_next_reader(&self) {
        self.broken.store(true, SeqCst);
    }

    /// Says how often somebody looked at the clock.
    pub fn readings(&self) -> u64 {
        self.readings.load(SeqCst)
    }

    pub fn is_broken(&self) -> bool {
        self.broken.load(SeqCst)
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.readings.fetch_add(1, SeqCst);
        assert!(!self.broken.swap(false, SeqCst), "the clock was told to panic");
        Timestamp::from_millis(self.now.load(SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.since.elapsed() + Duration::from_millis(self.skipped.load(SeqCst))
    }
}

/// Makes the keys of an installation. All are its own but the one for RS256, which tests share: to make
/// one took most of the time of most tests.
pub fn make_keys(folder: &Path, created_at: Timestamp) {
    let generator = Generator { folder, origin: Origin::Generate, created_at, dice: &SystemDice };
    for purpose in [
        Purpose::Signing(SigningAlgorithm::Es256),
        Purpose::Signing(SigningAlgorithm::EdDsa),
        Purpose::Secret,
    ] {
        generator.generate(purpose).unwrap();
    }
    for file in shared_rsa_key().read_dir().unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
}

/// Returns a folder with the key for RS256; the first test that asks makes it.
fn shared_rsa_key() -> PathBuf {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = kept.join("rsa-key-of-tests");
    if !folder.exists() {
        let made = tempfile::tempdir_in(kept).unwrap();
        let (origin, created_at) = (Origin::Generate, TestClock::new().now());
        let keys = made.path().join("keys");
        let generator = Generator { folder: &keys, origin, created_at, dice: &SystemDice };
        generator.generate(Purpose::Signing(SigningAlgorithm::Rs256)).unwrap();
        // Whole or not at all: where another test was first, its key is taken.
        let _ = std::fs::rename(&keys, &folder);
    }
    folder
}

/// Where files are kept in memory, on systems that have it.
const MEMORY: &str = "/dev/shm";

/// A folder in memory must have so much room: containers often have little.
const ROOM: u64 = 512 << 20;

/// Makes the folder of a test: in memory where there is room, since nothing in it outlives the test. What a test
/// proves about the disk needs a folder on one: `tempfile::tempdir`.
pub fn test_folder() -> tempfile::TempDir {
    let room = rustix::fs::statvfs(MEMORY).map_or(0, |it| it.f_bavail.saturating_mul(it.f_frsize));
    let mut folders = tempfile::Builder::new();
    folders.prefix("porteiro-test-");
    let in_memory = (room >= ROOM).then(|| folders.tempdir_in(MEMORY).ok()).flatten();
    in_memory.unwrap_or_else(|| folders.tempdir().unwrap())
}

/// Returns the address of a database of its own: a schema on PostgreSQL, else a file in `folder`.
pub async fn new_database(folder: &Path) -> String {
    match std::env::var("PORTEIRO_TEST_POSTGRES") {
        Ok(server) => new_schema(&server).await,
        Err(_) => format!("sqlite://{}", folder.join("porteiro.db").display()),
    }
}

/// Polls until `condition` holds; a condition that never comes is a failure, not a hang.
pub async fn eventually(what: &'static str, mut condition: impl AsyncFnMut() -> bool) {
    for _ in 0..2_000 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what} never came");
}

/// How many threads commit or hash in this process, which runs one test.
pub fn worker_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("committer") || name.starts_with("hashing")).count()
}

/// Makes a schema and returns the server's address with that schema as its search path; the address of a pooler in
/// front of it, where `PORTEIRO_TEST_POOLER` gives one.
async fn new_schema(server: &str) -> String {
    let name: String = draw_text(&SystemDice, 12).to_lowercase().replace(['-', '_'], "0");
    let mut connection = PgConnection::connect(server).await.unwrap();
    let create = AssertSqlSafe(format!("CREATE SCHEMA t{name}"));
    sqlx::query(create).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let address = std::env::var("PORTEIRO_TEST_POOLER").unwrap_or_else(|_| server.to_owned());
    format!("{address}?options=-csearch_path%3Dt{name}")
}

/// Returns the address of the server itself for that of a pooler: what tests do by hand needs sessions.
pub fn straight(url: &str) -> String {
    let given = |name| std::env::var(name).unwrap_or_default();
    match given("PORTEIRO_TEST_POOLER") {
        pooler if pooler.is_empty() => url.to_owned(),
        pooler => url.replacen(&pooler, &given("PORTEIRO_TEST_POSTGRES"), 1),
    }
}
