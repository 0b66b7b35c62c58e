//! `porteiro config`: what is in effect, and where it was set.

use super::{
    Failure, say,
    settings::{CommandSettings, DEV_FOLDER},
};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Show {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(Show { json }: &Show, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&[])?;
    if loaded.origin("store.url") == Some(&crate::config::Origin::Dev) && !json {
        say(&format!("# of the development server under ./{DEV_FOLDER}"))?;
    }
    for line in loaded.lines() {
        let text = if *json { serde_json::to_string(line)? } else { line.to_string() };
        say(&text)?;
    }
    Ok(())
}
