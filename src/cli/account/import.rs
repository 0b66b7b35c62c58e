//! `porteiro account import`: accounts from the export of another server.

use crate::{
    cli::{
        Failure,
        apply::{mend, read_whole, refuse_to_migrate},
        progress, say,
        settings::{Given, open_workbench},
    },
    provisioning::{self, ApplyError, Format, Import, LARGEST_IMPORT, Plan},
    system::Workbench,
};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(in crate::cli) struct Importing {
    /// The export; `-` reads standard input
    file: PathBuf,
    /// Which server wrote it
    #[arg(long, value_enum, default_value = "porteiro")]
    format: Written,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Written {
    /// The `[[account]]` tables of a provisioning file (TOML)
    Porteiro,
    /// A realm with its users, or a file of users (JSON)
    Keycloak,
    /// A user a line, or one array of them (JSON)
    Auth0,
}

impl From<Written> for Format {
    fn from(written: Written) -> Self {
        match written {
            Written::Porteiro => Self::Porteiro,
            Written::Keycloak => Self::Keycloak,
            Written::Auth0 => Self::Auth0,
        }
    }
}

pub(in crate::cli) async fn run(importing: Importing, given: Given) -> Result<(), Failure> {
    let Importing { file: path, format, dry_run, json } = importing;
    let text = read_whole(&path, LARGEST_IMPORT)?;
    let import = Import::parse(&text, format.into());
    drop(text);
    let import = import.map_err(|complaints| mend(&path, &complaints))?;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    if dry_run {
        refuse_to_migrate(&loaded).await?;
    }
    let workbench = open_workbench(&loaded).await?;
    let applied = carry_out(&workbench, &path, &import, dry_run).await;
    workbench.close().await;
    for step in &applied?.steps {
        let text = if json { serde_json::to_string(step)? } else { step.to_string() };
        say(&text)?;
    }
    for left_out in &import.left_out {
        let text = left_out.of_file(&path);
        say(&if json { json!({ "left_out": text }).to_string() } else { format!("! {text}") })?;
    }
    if dry_run && !json {
        say("nothing was changed: this was a dry run")?;
    }
    Ok(())
}

async fn carry_out(
    workbench: &Workbench,
    path: &Path,
    import: &Import,
    dry_run: bool,
) -> Result<Plan, Failure> {
    let bar = progress::bar("planning", import.file.len());
    let told = |done: usize, _all: usize| bar.set_position(done as u64);
    let applied = provisioning::apply(workbench, &import.file, dry_run, &told).await;
    bar.finish_and_clear();
    applied.map_err(|error| match error {
        ApplyError::Refused(complaints) => mend(path, &import.named(complaints)),
        other => other.into(),
    })
}
