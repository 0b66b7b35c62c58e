//! A PostgreSQL of a test's own with a standby, behind an address that can be led from one to the other.
//!
//! The test runs this same program once more, with one of its tests inside `bin/postgres-for-tests --standby`, and keeps
//! the address. In there the primary may be killed: no other test uses it.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use rustix::process::{Pid, Signal, kill_process};

/// Names the file that says where the address leads.
const LEADS_TO: &str = "PORTEIRO_TEST_LEADS_TO";

/// Runs the test `inside` beside a primary and its standby, which follows in step (`sync`) or behind (`async`).
#[expect(clippy::print_stdout, reason = "a test that was skipped must not look like one that ran")]
pub async fn beside_a_pair(standby: &'static str, inside: &'static str) {
    if std::env::var_os("PORTEIRO_TEST_POSTGRES").is_none() {
        println!("skipped: this is about servers of PostgreSQL");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let leads_to = folder.path().join("leads-to");
    let mut lines = JoinSet::new();
    let port = keep_an_address(leads_to.clone(), &mut lines).await;
    let ran = tokio::task::spawn_blocking(move || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bin/postgres-for-tests");
        let address = format!("postgres://porteiro@127.0.0.1:{port}/porteiro");
        Command::new(script)
            .args(["--standby", standby, "--", "env"])
            .arg(format!("PORTEIRO_TEST_POOLER={address}"))
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", inside, "--nocapture"])
            .env(LEADS_TO, leads_to)
            .env("PORTEIRO_TEST_MAY_INSTALL", "no")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    });
    let ran = ran.await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if ran.status.code() == Some(75) {
        println!("skipped: there is no PostgreSQL of whose programs this test could use: {err}");
        return;
    }
    println!("{out}");
    assert!(ran.status.success() && out.contains("1 passed"), "{out}\n{err}");
    assert!(out.contains("measured: "), "it ran: {out}");
}

/// What docs/bad-days.md has an operator send to the standby.
fn promotion() -> String {
    let page = std::fs::read_to_string("docs/bad-days.md").unwrap();
    let (_, command) = page.split_once("psql \"$STANDBY\" --no-psqlrc --command \"").unwrap();
    command.split_once("\"\n").unwrap().0.to_owned()
}

/// Listens, and leads each connection to where the file says; to nowhere where there is none.
async fn keep_an_address(leads_to: PathBuf, lines: &mut JoinSet<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    lines.spawn(async move {
        let mut carried = JoinSet::new();
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            near.set_nodelay(true).unwrap();
            let Ok(address) = fs::read_to_string(&leads_to) else { continue };
            carried.spawn(async move {
                if let Ok(mut far) = TcpStream::connect(address.trim()).await {
                    let _ = far.set_nodelay(true);
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                }
            });
        }
    });
    port
}

/// The two servers, for the test inside.
pub struct Pair {
    primary: i32,
    pub primary_url: String,
    pub standby_url: String,
    leads_to: PathBuf,
}

impl Pair {
    /// Returns the servers that this process was started beside; the address leads to the primary.
    pub fn beside_us() -> Option<Self> {
        let leads_to = PathBuf::from(std::env::var_os(LEADS_TO)?);
        let given = |name| std::env::var(name).unwrap();
        let pair = Self {
            primary: given("PORTEIRO_TEST_PRIMARY_PID").parse().unwrap(),
            primary_url: given("PORTEIRO_TEST_POSTGRES"),
            standby_url: given("PORTEIRO_TEST_STANDBY"),
            leads_to,
        };
        pair.lead_to(&pair.primary_url);
        Some(pair)
    }

    /// Leads the address to the standby as it is.
    pub fn lead_to_standby(&self) {
        self.lead_to(&self.standby_url);
    }

    fn lead_to(&self, url: &str) {
        let address = url.split('@').nth(1).unwrap().split('/').next().unwrap();
        // Whole or not at all: it is read at any time.
        let new = self.leads_to.with_extension("new");
        fs::write(&new, address).unwrap();
        fs::rename(new, &self.leads_to).unwrap();
    }

    /// Sends a signal to every process of the primary.
    pub fn signal_primary(&self, signal: Signal) {
        self.signal(signal, |_| true);
    }

    /// Stops what sends changes to the standby, and nothing else.
    pub fn hold_up_replication(&self) {
        assert_eq!(self.signal(Signal::STOP, |title| title.contains("walsender")), 1);
    }

    /// Lets it go on.
    pub fn let_replication_go_on(&self) {
        assert_eq!(self.signal(Signal::CONT, |title| title.contains("walsender")), 1);
    }

    fn signal(&self, signal: Signal, which: impl Fn(&str) -> bool) -> usize {
        let mut processes = vec![self.primary];
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            if status.lines().any(|line| line == format!("PPid:\t{}", self.primary)) {
                processes.push(pid);
            }
        }
        processes.retain(|pid| {
            let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            which(&String::from_utf8_lossy(&title))
        });
        for pid in &processes {
            // One that has ended by itself is as good.
            let _ = kill_process(Pid::from_raw(*pid).unwrap(), signal);
        }
        processes.len()
    }

    /// Makes a primary of the standby, and leads the address to it.
    pub async fn promote_standby(&self) {
        let mut standby = PgConnection::connect(&self.standby_url).await.unwrap();
        let promote = sqlx::query_scalar(AssertSqlSafe(promotion()));
        let is_promoted: bool = promote.fetch_one(&mut standby).await.unwrap();
        assert!(is_promoted, "it took too long");
        self.lead_to_standby();
        standby.close().await.unwrap();
    }

    /// Asks the primary until it says so.
    pub async fn until(&self, what: &'static str) {
        let mut primary = PgConnection::connect(&self.primary_url).await.unwrap();
        for _ in 0..1_000 {
            let asked = sqlx::query_scalar(AssertSqlSafe(what));
            if asked.fetch_one(&mut primary).await.unwrap_or(false) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never: {what}");
    }
}
