//! Ten thousand Users are made, listed, changed and deleted.

use super::{Engine, Home, NAME, batch, counted};
use crate::{Outcome, connection::Connection, figures::thousands, report::Section, servers::Stage};
use serde_json::Value;
use std::time::Instant;

const USERS: usize = 10_000;
const FEW: usize = 500;

pub async fn measure(
    (stage, engine): (&Stage, &Engine),
    connections: usize,
    share: f64,
) -> Outcome<Section> {
    let users = if share < 1.0 { FEW } else { USERS };
    let home = Home::open((stage, engine), (0, connections)).await?;
    let mut section =
        Section::new(&format!("{} Users come and go: {}", counted(users), engine.name()));
    section.line(&format!(
        "Over {connections} connections, one request for each User; the lists by one client that reads page after page of \
         200, as a directory does."
    ));
    section.table(&[
        "what",
        "requests",
        "a second",
        "p50, ms",
        "p99, ms",
        "server CPU a request, µs",
    ]);
    let mut add = |what: &str, count: usize, done: &batch::Batch| {
        eprintln!("{NAME} {} {what}: {:.0}/s", engine.name(), done.rate);
        section.row(&[
            what,
            &counted(count),
            &format!("{:.0}", done.rate),
            &format!("{:.2}", done.p50 * 1e3),
            &format!("{:.2}", done.p99 * 1e3),
            &format!("{:.0}", done.cpu * 1e6),
        ]);
    };
    let made = home.make(0..users, connections).await?;
    add("made (`POST`)", users, &made);
    let ids = made.ids()?;
    let by_cursor = all_pages(&home, users, By::Cursor).await?;
    let by_index = all_pages(&home, users, By::Index).await?;
    let patch = ids.iter().map(|id| home.directory.patch(id, "Architect")).collect();
    add("changed (`PATCH`)", users, &batch::send(&home.server, patch, connections).await?);
    let delete = ids.iter().map(|id| home.directory.delete(id)).collect();
    add("deleted (`DELETE`)", users, &batch::send(&home.server, delete, connections).await?);
    section.line(&format!(
        "Listed, all pages: {} Users a second by cursor, {} by index.",
        thousands(&format!("{by_cursor:.0}")),
        thousands(&format!("{by_index:.0}")),
    ));
    home.close().await?;
    Ok(section)
}

/// How a list goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Cursor,
    Index,
}

/// Reads all pages, and returns how many Users a second were read.
async fn all_pages(home: &Home, users: usize, by: By) -> Outcome<f64> {
    let mut connection = Connection::open(home.server.address).await?;
    let (mut read, mut cursor, begun) = (0, String::new(), Instant::now());
    loop {
        let start = (read + 1).to_string();
        let goes_on = match by {
            By::Cursor => ("cursor", cursor.as_str()),
            By::Index => ("startIndex", start.as_str()),
        };
        let request = home.directory.list(&[goes_on, ("count", "200")]);
        let answer = connection.exchange(&request).await?;
        answer.success()?;
        let page: Value = serde_json::from_slice(answer.body)?;
        let shown = page["Resources"].as_array().map_or(0, Vec::len);
        read += shown;
        match (by, page["nextCursor"].as_str()) {
            (By::Cursor, Some(next)) => next.clone_into(&mut cursor),
            (By::Index, _) if shown > 0 => {}
            _ => break,
        }
    }
    // Beside those that were made there are the people of the scene.
    if read < users {
        return Err(format!("{read} of {users} Users were listed").into());
    }
    Ok(read as f64 / begun.elapsed().as_secs_f64())
}
