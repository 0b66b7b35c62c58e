//! A lever over 100,000 sessions: how many rows it writes, and how long another node accepts what it ends (adr/0140).
//!
//! Only by its name. A store is filled with people, each of whom has a session and a token family. Two nodes serve it,
//! one of which is asked all the time for a person who has just signed in, while the command runs beside them.

use super::revoked::{Tree, asking, introspecting};
use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, thousands},
    population::Population,
    report::Section,
    servers::{Stage, porteiro::Installation},
};
use rusqlite::Connection as Database;
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub const NAME: &str = "levers";

const SESSIONS: usize = 100_000;
/// Of a short run.
const FEW: usize = 1_000;
/// So often the other node is asked after the command has ended.
const AFTERWARDS: usize = 200;

/// What the other node answered.
struct Answers {
    /// When it first refused.
    refused: Option<Instant>,
    /// What it accepted of requests that began after the command had ended.
    late: usize,
}

pub async fn measure(stage: &Stage, share: f64) -> Outcome<Section> {
    let sessions = if share < 1.0 { FEW } else { SESSIONS };
    let mut section = Section::new("A lever over many sessions");
    section.line(&format!(
        "{} sessions and as many token families in one SQLite file that two nodes serve. The command runs beside them; the second \
         node is asked by userinfo and introspection all the time. The command counts what it has ended after its commit.",
        thousands(&sessions.to_string())
    ));
    section.table(&[
        "lever",
        "rows written",
        "until the other node refused",
        "the command, with its count",
        "accepted afterwards",
    ]);
    let first = Installation::prepare(stage, NAME)?;
    let population = Population::begin(stage, &first).await?;
    population.grow(&first.database(), (0, sessions), 0).await?;
    let second = first.join("levers-second")?;
    let slug = stage.scene.organization.clone();
    let levers: [(&str, Vec<&str>); 2] = [
        (
            "session end --organization",
            vec!["end", "--organization", &slug, "--reason", "bench", "--json"],
        ),
        (
            "session end --everyone",
            vec!["end", "--everyone", "--yes", "--reason", "bench", "--json"],
        ),
    ];
    let servers = [first.started().await?, second.started().await?];
    for (name, arguments) in levers {
        let tree = Tree::grow(&stage.scene, &servers[0], &stage.scene.people[0]).await?;
        let ended = Arc::new(AtomicBool::new(false));
        let at = servers[1].address;
        let uses = [
            asking(at, &tree.access),
            introspecting(&stage.scene, at, (&stage.scene.portal, &tree.access)),
        ];
        let mut connection = Connection::open(at).await?;
        for one in &uses {
            if !is_accepted(&mut connection, one).await? {
                return Err("a token is refused before the lever was pulled".into());
            }
        }
        // On a thread of its own: the command is waited for on this one.
        let asker = thread::spawn({
            let ended = ended.clone();
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(ask(at, uses, &ended))
            }
        });
        let versions = Versions::of(&first)?;
        let begun = Instant::now();
        let printed = first.run("session", &arguments)?;
        let took = begun.elapsed();
        ended.store(true, Ordering::Release);
        let Answers { refused, late } =
            asker.join().map_err(|_| "the thread that asked has panicked")??;
        let written = versions.changed()?;
        let refused = refused.ok_or("the other node never refused")?.duration_since(begun);
        let counted: Value = serde_json::from_str(&printed)?;
        println!(
            "{NAME}: {name}: {written} rows, {refused:?} until refused, {took:?} in all, {counted}"
        );
        section.row(&[
            name,
            &written.to_string(),
            &millis(refused),
            &millis(took),
            &late.to_string(),
        ]);
        let what = |what: &str| format!("{NAME}: {what}, {name}");
        section.verdicts.push(Bound::Ceiling(2.0).judge(what("rows written"), written as f64, ""));
        section.verdicts.push(Bound::Ceiling(0.0).judge(what("uses accepted"), late as f64, ""));
    }
    for server in servers {
        server.process.stop().await?;
    }
    Ok(section)
}

fn millis(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

/// Asks the other node until the command has ended, and some times more.
async fn ask(at: SocketAddr, uses: [Vec<u8>; 2], ended: &AtomicBool) -> Outcome<Answers> {
    let mut connection = Connection::open(at).await?;
    let (mut answers, mut after) = (Answers { refused: None, late: 0 }, 0);
    for one in uses.iter().cycle() {
        let counts = ended.load(Ordering::Acquire);
        let accepted = is_accepted(&mut connection, one).await?;
        if !accepted && answers.refused.is_none() {
            answers.refused = Some(Instant::now());
        }
        answers.late += usize::from(counts && accepted);
        after += usize::from(counts);
        if after == AFTERWARDS {
            break;
        }
    }
    Ok(answers)
}

async fn is_accepted(connection: &mut Connection, request: &[u8]) -> Outcome<bool> {
    let answer = connection.exchange(request).await?;
    match answer.status {
        200 => {
            let said: Value = serde_json::from_slice(answer.body)?;
            Ok(said["active"].as_bool().unwrap_or(true))
        }
        401 => Ok(false),
        _ => Err(answer.unexpected()),
    }
}

/// The versions of all entities at one moment.
struct Versions(Database);

impl Versions {
    fn of(installation: &Installation<'_>) -> Outcome<Self> {
        let database = Database::open(installation.database())?;
        database.execute_batch(
            "CREATE TEMP TABLE former (kind TEXT, id TEXT, version INTEGER, PRIMARY KEY (kind, id));
             INSERT INTO former SELECT kind, id, version FROM entities;",
        )?;
        Ok(Self(database))
    }

    /// Counts the entities that were written since.
    fn changed(&self) -> Outcome<u64> {
        let counted: i64 = self.0.query_row(
            "SELECT COUNT(*) FROM entities e LEFT JOIN former f ON f.kind = e.kind AND f.id = e.id
              WHERE f.version IS NULL OR f.version <> e.version",
            [],
            |row| row.get(0),
        )?;
        Ok(u64::try_from(counted)?)
    }
}
