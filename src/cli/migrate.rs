//! `porteiro migrate`: brings the schema up to this binary.

use super::{
    Failure, progress, say,
    settings::{CommandSettings, StoreUrl, no_store, open_workbench},
};
use crate::{clock::SystemClock, domain::Clock as _, store};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Migrate {
    #[command(flatten)]
    store: StoreUrl,
    /// Say which migrations would run, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(asked: Migrate, given: CommandSettings) -> Result<(), Failure> {
    let Migrate { store, dry_run } = asked;
    let loaded = given.with_store(store).load(&["store.url"])?;
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
    if dry_run {
        return announce(url).await;
    }
    let waiting = progress::spinner("migrating");
    let applied = store::migrate(url, SystemClock.now()).await;
    let applied = applied.map_err(|error| no_store(url, &error))?;
    waiting.finish_and_clear();
    for name in &applied {
        say(&format!("+ {name}"))?;
    }
    if applied.is_empty() {
        say("= the schema is up to date")?;
    }
    // What is in the rows is brought up to date as well. Without the keys, the first server does it.
    if loaded.config.keys.dir.is_some()
        && let Ok(workbench) = open_workbench(&loaded).await
    {
        let settled = workbench.settle_names().await;
        workbench.close().await;
        settled?;
    }
    Ok(())
}

/// Says what would run. A database that does not exist is not made.
async fn announce(url: &str) -> Result<(), Failure> {
    let pending = store::pending_migrations(url).await.map_err(|error| no_store(url, &error))?;
    for name in &pending {
        say(&format!("would run {name}"))?;
    }
    if pending.is_empty() {
        say("= the schema is up to date")?;
    }
    Ok(())
}
