//! `porteiro apply`: brings the installation to what a provisioning file says.

use super::{
    Failure, progress, say,
    settings::{CommandSettings, no_store, open_workbench},
};
use crate::{
    config::{Complaint, LoadedConfig, read_text, read_text_from},
    provisioning::{self, ApplyError, File, LARGEST_FILE, Plan},
    store,
    system::Workbench,
};
use clap::Args;
use std::path::{Path, PathBuf};

/// The name by which standard input is asked for.
const STANDARD_INPUT: &str = "-";

#[derive(Debug, Args)]
pub(super) struct Apply {
    /// The provisioning file (TOML); `-` reads standard input
    file: PathBuf,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(command: Apply, given: CommandSettings) -> Result<(), Failure> {
    let Apply { file: path, dry_run, json } = command;
    let file = read(&path)?;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    if let Some(issuer) = &loaded.config.issuer {
        file.check_against_issuer(issuer).map_err(|complaints| mend(&path, &complaints))?;
    }
    if dry_run {
        refuse_to_migrate(&loaded).await?;
    }
    let workbench = open_workbench(&loaded).await?;
    let applied = carry_out(&workbench, &path, &file, dry_run).await;
    if applied.is_ok() && !dry_run {
        // The file may have renamed what kept a name from being ours; the next server settles it otherwise.
        if let Err(error) = workbench.settle_names().await {
            tracing::warn!(%error, "the names that became reserved are not settled");
        }
    }
    workbench.close().await;
    let plan = applied?;
    for step in &plan.steps {
        let text = if json { serde_json::to_string(step)? } else { step.to_string() };
        say(&text)?;
    }
    for removal in &plan.removals {
        let text = if json { serde_json::to_string(removal)? } else { removal.to_string() };
        say(&text)?;
    }
    for warning in &plan.warnings {
        let text = if json { serde_json::to_string(warning)? } else { warning.to_string() };
        say(&text)?;
    }
    if dry_run && !json {
        say("nothing was changed: this was a dry run")?;
    }
    Ok(())
}

/// Opening a database makes or migrates it, which a dry run must not do.
pub(super) async fn refuse_to_migrate(loaded: &LoadedConfig) -> Result<(), Failure> {
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
    let pending = store::pending_migrations(url).await.map_err(|error| no_store(url, &error))?;
    if pending.is_empty() {
        return Ok(());
    }
    let why = "a dry run changes nothing, and the database is not up to date: run \
               `porteiro migrate` first";
    Err(Failure::Failed(why.into()))
}

/// Applies a file that was read, and words what stands against it with its lines.
pub(super) async fn carry_out(
    workbench: &Workbench,
    path: &Path,
    file: &File,
    dry_run: bool,
) -> Result<Plan, Failure> {
    let bar = progress::bar("planning", file.len());
    let told = |done: usize, _all: usize| bar.set_position(done as u64);
    let applied = provisioning::apply(workbench, file, dry_run, &told).await;
    bar.finish_and_clear();
    applied.map_err(|error| match error {
        ApplyError::Refused(complaints) => mend(path, &complaints),
        other => other.into(),
    })
}

pub(super) fn read(path: &Path) -> Result<File, Failure> {
    let text = read_whole(path, LARGEST_FILE)?;
    // What it names beside is relative to it; on standard input, to where the command runs.
    let folder = path.parent().unwrap_or(Path::new(""));
    File::parse_beside(&text, folder).map_err(|complaints| mend(path, &complaints))
}

/// Reads a text of at most so many bytes, or standard input where the path is `-`.
pub(super) fn read_whole(path: &Path, limit: u64) -> Result<String, Failure> {
    let text = if path == Path::new(STANDARD_INPUT) {
        read_text_from(std::io::stdin(), limit)
    } else {
        read_text(path, limit)
    };
    text.map_err(|complaint| mend(path, &[complaint]))
}

pub(super) fn mend(path: &Path, complaints: &[Complaint]) -> Failure {
    let path = if path == Path::new(STANDARD_INPUT) { Path::new("standard input") } else { path };
    Failure::Configuration(complaints.iter().map(|one| one.of_file(path)).collect())
}
