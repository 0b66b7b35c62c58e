//! `porteiro migrate`: brings the schema up to this binary.

use super::{
    Failure, progress, say,
    settings::{CommandSettings, StoreUrl, no_store},
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
    Ok(())
}
