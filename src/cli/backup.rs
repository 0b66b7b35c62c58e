//! `porteiro backup`: copies an SQLite store while it is used (adr/0157).

use super::{
    Failure, progress, say,
    settings::{CommandSettings, StoreUrl, no_store},
};
use crate::{
    config::SecretUrl,
    store::{self, Backup, CopyError, OpenError},
};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct MakeBackup {
    /// The file to write; it must not be there yet
    file: PathBuf,
    #[command(flatten)]
    store: StoreUrl,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(command: MakeBackup, given: CommandSettings) -> Result<(), Failure> {
    let MakeBackup { file, store, json } = command;
    let loaded = given.with_store(store).load(&["store.url"])?;
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
    let keys = loaded.config.keys.dir.as_deref();
    let waiting = progress::spinner("copying");
    let made = store::back_up(url, &file).await;
    waiting.finish_and_clear();
    let Backup { bytes, entities, log_rows } = match made {
        Ok(made) => made,
        Err(CopyError::Postgres) => return Err(of_postgres(url, &file, keys)),
        Err(error) => return Err(failed(url, error)),
    };
    if json {
        let said = json!({
            "file": file.display().to_string(),
            "bytes": bytes,
            "entities": entities,
            "log_rows": log_rows,
            "keys": keys.map(|keys| keys.display().to_string()),
        });
        return Ok(say(&said.to_string())?);
    }
    say(&format!(
        "+ {}: {bytes} bytes, {entities} entities, {log_rows} rows of the security log",
        file.display()
    ))?;
    Ok(say(&about_keys(keys))?)
}

/// Names what no backup holds.
fn about_keys(keys: Option<&Path>) -> String {
    let folder = keys.map_or("the keys folder (keys.dir)".to_owned(), |keys| {
        // Whole: who reads it later is elsewhere.
        let keys = std::path::absolute(keys).unwrap_or_else(|_| keys.to_owned());
        format!("the keys folder {}", keys.display())
    });
    format!(
        "! {folder} is not in it: keep a copy of it elsewhere. Without these keys no server starts on \
         the backup, and what is sealed in it cannot be read."
    )
}

/// Says what copies a database of PostgreSQL.
fn of_postgres(url: &str, file: &Path, keys: Option<&Path>) -> Failure {
    Failure::Failed(
        format!(
            "the store is a database of PostgreSQL, which copies itself: run `pg_dump --format=custom \
             --file={} '{}'`; {}",
            file.display(),
            SecretUrl::new(url),
            about_keys(keys).trim_start_matches("! ")
        )
        .into(),
    )
}

/// A store that cannot be used is a fault of the configuration, as in every command.
pub(super) fn failed(url: &str, error: CopyError) -> Failure {
    match error {
        CopyError::Missing => no_store(url, &OpenError::Missing),
        CopyError::Address(error) => no_store(url, &OpenError::Address(error)),
        other => other.into(),
    }
}
