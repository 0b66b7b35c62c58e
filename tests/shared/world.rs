//! What every test world is made of: a clock that moves when told to, a database of its own, time limits.

use porteiro::{
    crypto::{SystemDice, draw_text},
    domain::{Clock, Timestamp},
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst},
    time::Duration,
};

/// A clock that moves when told to; and that can be made to panic whoever looks at it next.
pub struct TestClock {
    now: AtomicI64,
    readings: AtomicU64,
    broken: AtomicBool,
}

impl TestClock {
    pub fn new() -> Self {
        Self { now: 1_800_000_000_000.into(), readings: 0.into(), broken: false.into() }
    }

    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(i64::try_from(by.as_millis()).unwrap(), SeqCst);
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

/// Makes a schema and returns the server's address with that schema as its search path.
async fn new_schema(server: &str) -> String {
    let name: String = draw_text(&SystemDice, 12).to_lowercase().replace(['-', '_'], "0");
    let mut connection = PgConnection::connect(server).await.unwrap();
    let create = AssertSqlSafe(format!("CREATE SCHEMA t{name}"));
    sqlx::query(create).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    format!("{server}?options=-csearch_path%3Dt{name}")
}
