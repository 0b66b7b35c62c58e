//! What is left of a million exchanges that are over: the rows of each table, once everything has
//! expired and was deleted.
//!
//! Only by its name: it takes minutes. Every lifetime is lowered so that the run sees the end of what
//! it begins; the clock is the machine's.

use crate::{
    Outcome,
    load::{Plan, press},
    portal::Identity,
    report::Section,
    scenarios::{Load, code, device, private_key_jwt, pushed},
    servers::{Stage, porteiro},
};
use rusqlite::{Connection, OpenFlags};
use std::{collections::BTreeMap, time::Duration};

pub const NAME: &str = "growth";

const LIFETIMES: &str = "authorization_code = 5\nid_token = 10\nrefresh_idle = 10\n\
                         refresh_ceiling = 10\npar = 10\ndevice_code = 10\n";

/// How many exchanges of each kind.
const EXCHANGES: [(&dyn Load, f64); 4] = [
    (&code::Code(Identity::Rs256), 250_000.0),
    (&pushed::CodeByPush, 250_000.0),
    (&device::Device, 250_000.0),
    (&private_key_jwt::PrivateKeyJwt, 250_000.0),
];

/// How long the janitor may take after the last exchange.
const TIMEOUT: Duration = Duration::from_mins(15);
const LOOK_EVERY: Duration = Duration::from_secs(10);

type Rows = BTreeMap<String, i64>;

pub async fn measure(stage: &Stage, plan: Plan, share: f64) -> Outcome<Section> {
    let mut section = Section::new("What is left of finished exchanges");
    let (server, database) = porteiro::start_with(stage, LIFETIMES).await?;
    let rows = Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let before = count(&rows)?;
    let mut done = Vec::new();
    for (load, wanted) in EXCHANGES {
        let mut finished = 0.0;
        while finished < wanted * share {
            let scripts = load.scripts(&stage.scene, &server, plan.connections).await?;
            finished += press(&server, scripts, plan).await?.operations;
            eprintln!("{NAME} {} {finished:.0}", load.name());
        }
        done.push(format!("{finished:.0} of `{}`", load.name()));
    }
    let at_the_end = count(&rows)?;
    let mut left = at_the_end.clone();
    let mut waited = Duration::ZERO;
    // Settled when two looks in a row find the same.
    while waited < TIMEOUT {
        tokio::time::sleep(LOOK_EVERY).await;
        waited += LOOK_EVERY;
        let now = count(&rows)?;
        let settled = now == left && waited > 6 * LOOK_EVERY;
        left = now;
        eprintln!("{NAME} {} s: {left:?}", waited.as_secs());
        if settled {
            break;
        }
    }
    server.process.stop().await?;
    section.line(&format!(
        "Exchanges: {}. Lifetimes were lowered to seconds; rows were counted before, at the end of the \
         load, and {} s later, when two counts in a row were the same.",
        done.join(", "),
        waited.as_secs()
    ));
    section.table(&["rows", "before", "at the end of the load", "left"]);
    for (table, rows) in &left {
        let of = |rows: &Rows| rows.get(table).copied().unwrap_or(0).to_string();
        section.row(&[table, &of(&before), &of(&at_the_end), &rows.to_string()]);
    }
    Ok(section)
}

/// Counts the rows of each table, and of each kind of entity.
fn count(connection: &Connection) -> Outcome<Rows> {
    let mut rows = Rows::new();
    let mut kinds = connection.prepare("SELECT kind, COUNT(*) FROM entities GROUP BY kind")?;
    let mut kinds = kinds.query([])?;
    while let Some(row) = kinds.next()? {
        rows.insert(format!("entities: {}", row.get::<_, String>(0)?), row.get(1)?);
    }
    for (table, query) in [
        ("names", "SELECT COUNT(*) FROM names"),
        ("listings", "SELECT COUNT(*) FROM listings"),
        ("outbox", "SELECT COUNT(*) FROM outbox"),
        ("security_log", "SELECT COUNT(*) FROM security_log"),
    ] {
        rows.insert(table.to_owned(), connection.query_row(query, [], |row| row.get(0))?);
    }
    Ok(rows)
}
