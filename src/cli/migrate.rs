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
}

pub(super) async fn run(Migrate { store }: Migrate, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.with_store(store).load(&["store.url"])?;
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
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
