//! `porteiro log`: proves the security log.

use super::{Failure, KeysFolder, StoreUrl, open_store, read_folder, say};
use crate::{crypto::SharedVault, store::Head};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::Subcommand;
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Read the whole log and prove that nothing was removed or altered
    Verify {
        #[command(flatten)]
        store: StoreUrl,
        #[command(flatten)]
        keys: KeysFolder,
        /// Heads kept outside the database: one JSON object a line with lane, seq and mac, as the
        /// server logs them
        #[arg(long, value_name = "FILE")]
        heads: Option<PathBuf>,
    },
}

/// A head as the server's own log has it; other members of the line are passed over.
#[derive(Deserialize)]
struct LoggedHead {
    lane: String,
    seq: i64,
    mac: String,
}

/// A line of the server's log in JSON.
#[derive(Deserialize)]
struct LoggedLine {
    fields: LoggedHead,
}

pub(super) async fn run(command: Command) -> Result<(), Failure> {
    let Command::Verify { store, keys, heads } = command;
    let exported = heads.as_deref().map(read_heads).transpose()?.unwrap_or_default();
    let vault = SharedVault::new(read_folder(&keys)?.vault());
    let store = open_store(&store, vault).await?;
    let proof = store.verify_log(&exported).await?;
    store.close().await;
    for (lane, seq) in &proof.heads {
        say(&format!("{lane} ends at row {seq}"))?;
    }
    for finding in &proof.findings {
        say(&format!("! {finding}"))?;
    }
    let (rows, findings) = (proof.rows, proof.findings.len());
    say(&format!("{rows} rows, {} kept heads, {findings} findings", exported.len()))?;
    if proof.findings.is_empty() { Ok(()) } else { Err(Failure::Findings) }
}

fn read_heads(file: &Path) -> Result<Vec<Head>, Failure> {
    let text = std::fs::read_to_string(file)?;
    let mut heads = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let head = serde_json::from_str::<LoggedLine>(line).map(|line| line.fields);
        let head = head.or_else(|_| serde_json::from_str::<LoggedHead>(line));
        let head = head.ok().and_then(|LoggedHead { lane, seq, mac }| {
            Some(Head { lane, seq, mac: URL_SAFE_NO_PAD.decode(mac).ok()? })
        });
        let Some(head) = head else {
            let why = format!("{}: line {number} is not a head of the log", file.display());
            return Err(Failure::Configuration(vec![why]));
        };
        heads.push(head);
    }
    Ok(heads)
}
