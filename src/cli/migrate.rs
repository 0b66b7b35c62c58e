//! `porteiro migrate`: brings the schema up to this binary.

use super::{Failure, StoreUrl, say};
use crate::{clock::SystemClock, domain::Clock as _, store};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Migrate {
    #[command(flatten)]
    store: StoreUrl,
}

pub(super) async fn run(Migrate { store }: Migrate) -> Result<(), Failure> {
    let applied = store::migrate(&store.url, SystemClock.now()).await?;
    for name in &applied {
        say(&format!("+ {name}"))?;
    }
    if applied.is_empty() {
        say("= the schema is up to date")?;
    }
    Ok(())
}
