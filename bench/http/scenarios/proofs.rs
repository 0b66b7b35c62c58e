//! What a server keeps of proofs that were used (`DPoP`, RFC 9449): memory and rows while many come, and after.
//!
//! Only by its name: it takes minutes. Each proof is another one. A used proof is a row until it could not be used again
//! anyway, at any node; the janitor deletes it then. Proofs are signed before the clock of their part runs.

use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, MIB, thousands},
    load::Plan,
    report::Section,
    request::{parameters, post_form},
    scene::Scene,
    servers::{Server, Stage, TOKEN, porteiro},
};
use rusqlite::{Connection as Database, OpenFlags};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

pub const NAME: &str = "proofs";

/// After each of so many parts it is looked at what is kept.
const PARTS: usize = 10;

/// How long the janitor may take after the last proof. A row is kept for ten minutes: five that the proof is good for, and
/// five by which the clocks of nodes may differ.
const TIMEOUT: Duration = Duration::from_mins(15);
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// By how much memory may have grown from half of the proofs to all of them.
const MOST_GROWTH: f64 = 1.1;

/// What is kept at one moment.
struct Kept {
    sent: usize,
    after: Duration,
    rows: i64,
    resident: f64,
}

pub async fn measure(stage: &Stage, plan: Plan, (number, share): (usize, f64)) -> Outcome<Section> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number"
    )]
    let part = (number as f64 * share) as usize / PARTS;
    if part == 0 {
        return Err("too few proofs".into());
    }
    let (server, database) = porteiro::start_with(stage, "").await?;
    let rows = Database::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let begun = Instant::now();
    let look = |sent| -> Outcome<Kept> {
        let (after, resident) = (begun.elapsed(), server.process.resident()?);
        let kept = Kept { sent, after, rows: used(&rows)?, resident };
        let mib = resident / MIB;
        eprintln!(
            "{NAME} {sent:8} sent, {:8} rows, {mib:6.1} MiB, {} s",
            kept.rows,
            after.as_secs()
        );
        Ok(kept)
    };
    let mut kept = vec![look(0)?];
    for sent in 1..=PARTS {
        let first = send(&stage.scene, &server, (part, plan.connections)).await?;
        kept.push(look(sent * part)?);
        refuse_again(&stage.scene, &server, &first).await?;
    }
    // A short run does not wait for the janitor.
    if share >= 1.0 {
        let last = Instant::now();
        while last.elapsed() < TIMEOUT && used(&rows)? > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        kept.push(look(PARTS * part)?);
    }
    server.process.stop().await?;
    Ok(section(&kept, share >= 1.0))
}

fn section(kept: &[Kept], waited: bool) -> Section {
    let mut section = Section::new("Used proofs");
    section.line(
        "`POST /connect/token`: client credentials by a secret, each request with a proof of its own, all answered with a \
         bound token. After each part the first proof of it was sent again, and refused. The last line is from when no row \
         was left.",
    );
    section.table(&["proofs sent", "after, s", "rows of used proofs", "resident, MiB"]);
    for Kept { sent, after, rows, resident } in kept {
        section.row(&[
            &thousands(&sent.to_string()),
            &after.as_secs().to_string(),
            &thousands(&rows.to_string()),
            &format!("{:.1}", resident / MIB),
        ]);
    }
    let growth = kept[PARTS].resident / kept[PARTS / 2].resident;
    let what = format!("{NAME}: resident memory after all ÷ after half");
    section.verdicts.push(Bound::Ceiling(MOST_GROWTH).judge(what, growth, ""));
    if let Some(last) = kept.last().filter(|_| waited) {
        let what = format!("{NAME}: rows left");
        section.verdicts.push(Bound::Ceiling(0.0).judge(what, last.rows as f64, ""));
    }
    section
}

/// Counts what is kept of proofs; this client makes no assertions, which are kept alike.
fn used(rows: &Database) -> Outcome<i64> {
    let query = "SELECT COUNT(*) FROM entities WHERE kind = 'client_assertion'";
    Ok(rows.query_row(query, [], |row| row.get(0))?)
}

/// Sends so many proofs over so many connections, and returns the first of them.
async fn send(
    scene: &Scene,
    server: &Server,
    (number, connections): (usize, usize),
) -> Outcome<String> {
    let url = format!("{}{TOKEN}", server.issuer);
    let proofs = (0..number).map(|_| scene.key.prove(&url)).collect::<Outcome<Vec<String>>>()?;
    let proofs = Arc::new(proofs);
    let mut sending: JoinSet<Outcome<()>> = JoinSet::new();
    for place in 0..connections {
        let mut connection = Connection::open(server.address).await?;
        let (proofs, scene, address) = (proofs.clone(), scene.clone(), server.address);
        sending.spawn(async move {
            for proof in proofs.iter().skip(place).step_by(connections) {
                connection.exchange(&request(&scene, address, proof)).await?.success()?;
            }
            Ok(())
        });
    }
    while let Some(sent) = sending.join_next().await {
        sent??;
    }
    Ok(proofs[0].clone())
}

/// Sends a used proof again.
async fn refuse_again(scene: &Scene, server: &Server, proof: &str) -> Outcome<()> {
    let mut connection = Connection::open(server.address).await?;
    let answer = connection.exchange(&request(scene, server.address, proof)).await?;
    let said: serde_json::Value = serde_json::from_slice(answer.body)?;
    if answer.status == 400 && said["error"] == "invalid_dpop_proof" {
        return Ok(());
    }
    Err(answer.unexpected())
}

fn request(scene: &Scene, address: std::net::SocketAddr, proof: &str) -> Vec<u8> {
    let form = parameters(&[("grant_type", "client_credentials"), ("scope", &scene.scope())]);
    let secret = scene.credentials(&scene.client_id);
    post_form(address, TOKEN, &[("Authorization", &secret), ("DPoP", proof)], &form)
}
