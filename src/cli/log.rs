//! `porteiro log`: lists the security log, and proves it.

mod list;

use super::{
    Failure, progress, say,
    settings::{CommandSettings, KeysFolder, StoreUrl, no_store, read_keys},
};
use crate::{
    actors::LOG_HEADS,
    config::unreadable,
    crypto::SharedVault,
    store::{Head, Store},
    system::log_chain,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::Subcommand;
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List what the log says, the oldest first
    List(list::List),
    /// Read the whole log and prove that nothing was removed or altered
    Verify {
        #[command(flatten)]
        store: StoreUrl,
        #[command(flatten)]
        keys: KeysFolder,
        /// Heads kept outside the database: the server's own log in JSON, or lines of it
        #[arg(long, value_name = "FILE")]
        heads: Option<PathBuf>,
    },
}

/// A line of the server's log that names a head; other members are passed over.
#[derive(Deserialize)]
struct LoggedLine {
    target: String,
    fields: LoggedHead,
}

#[derive(Deserialize)]
struct LoggedHead {
    lane: String,
    seq: i64,
    mac: String,
}

pub(super) async fn run(command: Command, given: CommandSettings) -> Result<(), Failure> {
    let (store, keys, heads) = match command {
        Command::List(command) => return list::run(command, given).await,
        Command::Verify { store, keys, heads } => (store, keys, heads),
    };
    let exported = heads.as_deref().map(read_heads).transpose()?.unwrap_or_default();
    let loaded = given.with_store(store).with_keys(keys).load(&["store.url", "keys.dir"])?;
    let config = &loaded.config;
    let folder = read_keys(config)?;
    let url = config.store.url.as_ref().map_or("", |url| url.expose());
    let store = Store::open_to_read(url, log_chain(SharedVault::new(folder.vault()))).await;
    let store = store.map_err(|error| no_store(url, &error))?;
    let waiting = progress::spinner("reading the log");
    let proof = store.verify_log(&exported).await?;
    waiting.finish_and_clear();
    store.close().await;
    for (lane, seq) in &proof.heads {
        say(&format!("{lane} ends at row {seq}"))?;
    }
    for finding in &proof.findings {
        say(&format!("! {finding}"))?;
    }
    if proof.rows == 0 {
        say("! there is no log: every installation has one from its first start on")?;
    }
    let (rows, findings) = (proof.rows, proof.findings.len());
    say(&format!("{rows} rows, {} kept heads, {findings} findings", exported.len()))?;
    if proof.findings.is_empty() && rows > 0 { Ok(()) } else { Err(Failure::Findings) }
}

/// Picks the heads out of a server's log; one without any is refused.
fn read_heads(file: &Path) -> Result<Vec<Head>, Failure> {
    let read = std::fs::read(file);
    let text = read.map_err(|error| Failure::Configuration(vec![unreadable(file, &error)]))?;
    // Other lines of a log may be anything; those that name a head are JSON.
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<LoggedLine>(line).ok());
    let heads: Vec<Head> = lines
        .filter(|line| line.target == LOG_HEADS)
        .filter_map(|LoggedLine { fields: LoggedHead { lane, seq, mac }, .. }| {
            Some(Head { lane, seq, mac: URL_SAFE_NO_PAD.decode(mac).ok()? })
        })
        .collect();
    if heads.is_empty() {
        let why = format!(
            "{}: no line of it names a head of the security log: it takes lines of a server's log in \
             JSON, as they were written and with nothing before the `{{`",
            file.display()
        );
        return Err(Failure::Configuration(vec![why]));
    }
    Ok(heads)
}
