//! How much memory 100,000 issued tokens take once nobody asks any more.
//!
//! Only by its name: it takes minutes. Each operation is one more access token, and all of them are good when memory is read
//! last. Of a person a thousand grants to one client are kept, and not as many are begun by sixteen connections.

use super::{ClientCredentials, Load, code, exchange, refresh};
use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, MIB, Spread, thousands},
    load::{Plan, Script, Turn},
    portal::Identity,
    report::Section,
    servers::{Server, Stage, porteiro},
};
use rusqlite::{Connection as Database, OpenFlags};
use std::{path::Path, time::Duration};
use tokio::task::JoinSet;

pub const NAME: &str = "issued";

/// How many tokens of each kind. Each code and each exchange begins a family; a refresh goes on with that of its connection.
const BY_CODE: usize = 15_000;
const BY_EXCHANGE: usize = 15_000;
const TOKENS: [(&dyn Load, usize); 4] = [
    (&code::Code(Identity::Es256), BY_CODE),
    (&exchange::TokenExchange, BY_EXCHANGE),
    (&refresh::Refresh(Identity::Es256), 50_000),
    (&ClientCredentials, 20_000),
];

/// What may be resident beyond what was at rest, in MiB.
const MOST: f64 = 64.0;

/// Until what a start or the last token leaves behind is settled.
const REST: Duration = Duration::from_secs(2);

/// How long after the last token memory is read again. Access tokens live for five minutes.
const LATER: Duration = Duration::from_mins(1);

/// What a server that was started for it had resident, in MiB.
struct Resident {
    fresh: f64,
    rested: f64,
    later: f64,
}

pub async fn measure(stage: &Stage, plan: Plan, (times, share): (usize, f64)) -> Outcome<Section> {
    let mut shown = Vec::new();
    for number in 1..=times {
        let resident = one(stage, plan, share).await?;
        let Resident { fresh, rested, later } = resident;
        eprintln!("{NAME} {number}/{times} {fresh:.1} MiB, {rested:.1} MiB, {later:.1} MiB");
        shown.push(resident);
    }
    let mut section = Section::new("Issued tokens at rest");
    let kinds: Vec<String> = TOKENS
        .iter()
        .map(|(load, number)| {
            format!("{} by `{}`", thousands(&part(*number, share).to_string()), load.name())
        })
        .collect();
    section.line(&format!(
        "Resident memory of a server on SQLite: two seconds after its first answer, and after it has issued access tokens over {} \
         connections, each of which acts for another person: {}. Each code and each exchange begins a family of its own. A new process \
         each time.",
        plan.connections,
        kinds.join(", ")
    ));
    section.table(&["when", "resident, MiB", "more than at rest, MiB"]);
    let of = |figure: fn(&Resident) -> f64| Spread::of(shown.iter().map(figure));
    section.row(&["at rest", &of(|one| one.fresh).text(1), "–"]);
    let [rested, later] =
        [REST, LATER].map(|after| format!("{} s after the last", after.as_secs()));
    let more = [
        (rested, of(|one| one.rested), of(|one| one.rested - one.fresh)),
        (later, of(|one| one.later), of(|one| one.later - one.fresh)),
    ];
    // A short run does not wait for the second.
    for (when, resident, more) in more.into_iter().take(if share < 1.0 { 1 } else { 2 }) {
        section.row(&[&when, &resident.text(1), &more.text(1)]);
        let what = format!("{NAME}: resident more than at rest, {when}");
        section.verdicts.push(Bound::Ceiling(MOST).judge(what, more.median, " MiB"));
    }
    Ok(section)
}

/// Has a new server issue all tokens.
async fn one(stage: &Stage, plan: Plan, share: f64) -> Outcome<Resident> {
    let (server, database) = porteiro::start_with(stage, "").await?;
    tokio::time::sleep(REST).await;
    let fresh = server.process.resident()? / MIB;
    for (load, number) in TOKENS {
        let scripts = load.scripts(&stage.scene, &server, plan.connections).await?;
        issue(&server, scripts, part(number, share))
            .await
            .map_err(|error| format!("{NAME}, {}: {error}", load.name()))?;
    }
    tokio::time::sleep(REST).await;
    let rested = server.process.resident()? / MIB;
    if share >= 1.0 {
        tokio::time::sleep(LATER.saturating_sub(REST)).await;
    }
    let later = server.process.resident()? / MIB;
    let (alive, begun) = (families(&database)?, part(BY_CODE, share) + part(BY_EXCHANGE, share));
    server.process.stop().await?;
    if alive < begun {
        return Err(format!("{alive} families are alive of {begun} that were begun").into());
    }
    Ok(Resident { fresh, rested, later })
}

/// Has each connection do its part of so many operations.
async fn issue(server: &Server, scripts: Vec<Box<dyn Script>>, number: usize) -> Outcome<()> {
    let each = number.div_ceil(scripts.len());
    let mut issuing = JoinSet::new();
    for script in scripts {
        let connection = Connection::open(server.address).await?;
        issuing.spawn(repeat(connection, script, each));
    }
    while let Some(issued) = issuing.join_next().await {
        issued??;
    }
    Ok(())
}

async fn repeat(
    mut connection: Connection,
    mut script: Box<dyn Script>,
    number: usize,
) -> Outcome<()> {
    for _ in 0..number {
        loop {
            let answer = connection.exchange(script.request()).await?;
            if let Turn::Done = script.answered(&answer)? {
                break;
            }
        }
    }
    Ok(())
}

/// Counts the families whose tokens are good.
fn families(database: &Path) -> Outcome<usize> {
    let rows = Database::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let query =
        "SELECT COUNT(*) FROM entities WHERE kind = 'token_family' AND state LIKE '{\"Alive\"%'";
    let count: i64 = rows.query_row(query, [], |row| row.get(0))?;
    Ok(usize::try_from(count)?)
}

/// A short run issues a part of all.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the number")]
fn part(number: usize, share: f64) -> usize {
    (number as f64 * share) as usize
}
