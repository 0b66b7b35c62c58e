//! `porteiro move`: moves a store to another database (adr/0158).

use super::{Failure, cannot, progress, say};
use crate::{
    clock::SystemClock,
    config::SecretUrl,
    domain::Clock as _,
    store::{self, MoveError, TableComparison},
};
use clap::Args;
use serde_json::{Value, json};
use std::ops::ControlFlow;

#[derive(Debug, Args)]
pub(super) struct Move {
    /// The store that is there: `sqlite:///path` or `postgres://user@host/database`
    #[arg(long, value_name = "URL")]
    from: String,
    /// An empty database
    #[arg(long, value_name = "URL")]
    to: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(command: Move) -> Result<(), Failure> {
    let Move { from, to, json } = command;
    let waiting = progress::spinner("moving");
    let mut tell = |table: &'static str, rows: u64| {
        waiting.set_message(format!("{table}: {rows} rows"));
        ControlFlow::Continue(())
    };
    let moved = store::move_rows((&from, &to), SystemClock.now(), &mut tell).await;
    waiting.finish_and_clear();
    let compared = match moved {
        // Both are named by the command line, and not by a configuration.
        Err(MoveError::Occupied) => return Err(occupied(&to)),
        moved => moved?,
    };
    let is_same = compared.iter().all(TableComparison::is_same);
    if json {
        let tables: Vec<Value> = compared.iter().map(shown).collect();
        say(&json!({ "tables": tables, "same": is_same }).to_string())?;
    } else {
        for table in &compared {
            say(&line(table))?;
        }
        say(&ending(&from, &to, is_same))?;
    }
    if is_same { Ok(()) } else { Err(Failure::Findings) }
}

fn occupied(to: &str) -> Failure {
    cannot(&format!(
        "{} is not empty, and no move of this installation has begun there: give an empty database",
        SecretUrl::new(to)
    ))
}

fn shown(table: &TableComparison) -> Value {
    let TableComparison { table: name, from, to } = table;
    json!({
        "table": name,
        "from": { "rows": from.rows, "hash": from.to_string() },
        "to": { "rows": to.rows, "hash": to.to_string() },
        "same": table.is_same(),
    })
}

fn line(table: &TableComparison) -> String {
    let TableComparison { table: name, from, to } = table;
    if table.is_same() {
        return format!("= {name}: {} rows, hash {from}", from.rows);
    }
    format!("! {name}: {} rows, hash {from}; in the target {} rows, hash {to}", from.rows, to.rows)
}

fn ending(from: &str, to: &str, is_same: bool) -> String {
    let (from, to) = (SecretUrl::new(from), SecretUrl::new(to));
    if is_same {
        return format!(
            "+ {to} is the store now: set `store.url` to it, and run `porteiro log verify`. {from} \
             still holds everything: start no server on it, and erase it when you need it no more."
        );
    }
    format!(
        "! The two are not the same: {from} was used since the move began. {to} is no store; empty it, \
         and move again."
    )
}
