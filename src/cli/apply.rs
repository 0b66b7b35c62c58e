//! `porteiro apply`: brings the installation to what a provisioning file says.

use super::{
    Failure, progress, say,
    settings::{Given, open_workbench},
};
use crate::{
    config::{Complaint, read_text},
    provisioning::{self, ApplyError, File, LARGEST_FILE, Plan},
    system::Workbench,
};
use clap::Args;
use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

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

pub(super) async fn run(command: Apply, given: Given) -> Result<(), Failure> {
    let Apply { file: path, dry_run, json } = command;
    let file = read(&path)?;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let applied = carry_out(&workbench, &path, &file, dry_run).await;
    workbench.close().await;
    for step in &applied?.steps {
        let text = if json { serde_json::to_string(step)? } else { step.to_string() };
        say(&text)?;
    }
    if dry_run && !json {
        say("nothing was changed: this was a dry run")?;
    }
    Ok(())
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
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().take(LARGEST_FILE).read_to_string(&mut text)?;
        text
    } else {
        read_text(path, LARGEST_FILE).map_err(|complaint| mend(path, &[complaint]))?
    };
    File::parse(&text).map_err(|complaints| mend(path, &complaints))
}

fn mend(path: &Path, complaints: &[Complaint]) -> Failure {
    Failure::Configuration(complaints.iter().map(|one| one.of_file(path)).collect())
}
