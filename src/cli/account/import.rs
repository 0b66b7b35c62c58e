//! `porteiro account import`: accounts from the export of another server.

use crate::{
    cli::{
        Failure,
        apply::{mend, read_whole, refuse_to_migrate},
        progress, say,
        settings::{CommandSettings, open_workbench},
    },
    config::Complaint,
    provisioning::{
        self, ApplyError, File, Format, Import, ImportInterruption, LARGEST_IMPORT, PeopleImport,
        Plan,
    },
    system::Workbench,
};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArguments {
    /// The export; `-` reads standard input
    file: PathBuf,
    /// Which server wrote it
    #[arg(long, value_enum, default_value = "porteiro")]
    format: ExportFormat,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExportFormat {
    /// The `[[account]]` tables of a provisioning file (TOML)
    Porteiro,
    /// A realm with its users, or a file of users (JSON)
    Keycloak,
    /// A user a line, or one array of them (JSON)
    Auth0,
}

impl From<ExportFormat> for Format {
    fn from(written: ExportFormat) -> Self {
        match written {
            ExportFormat::Porteiro => Self::Porteiro,
            ExportFormat::Keycloak => Self::Keycloak,
            ExportFormat::Auth0 => Self::Auth0,
        }
    }
}

pub(in crate::cli) async fn run(
    importing: ImportArguments,
    given: CommandSettings,
) -> Result<(), Failure> {
    let ImportArguments { file: path, format, dry_run, json } = importing;
    let text = read_whole(&path, LARGEST_IMPORT)?;
    let import = Import::parse(&text, format.into());
    drop(text);
    let mut import = import.map_err(|complaints| mend(&path, &complaints))?;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    if dry_run {
        refuse_to_migrate(&loaded).await?;
    }
    let workbench = open_workbench(&loaded).await?;
    let file = std::mem::take(&mut import.file);
    let done = if dry_run {
        dry(&workbench, &file, json).await
    } else {
        carry_out(&workbench, file, json).await
    };
    workbench.close().await;
    done.map_err(|stopped| match stopped {
        ImportFailure::Refused(complaints) => mend(&path, &import.named(complaints)),
        ImportFailure::Failed(failure) => failure,
    })?;
    for left_out in &import.left_out {
        let text = left_out.of_file(&path);
        say(&if json { json!({ "left_out": text }).to_string() } else { format!("! {text}") })?;
    }
    if dry_run && !json {
        say("nothing was changed: this was a dry run")?;
    }
    Ok(())
}

/// Why an import did not come to its end.
enum ImportFailure {
    Refused(Vec<Complaint>),
    Failed(Failure),
}

impl From<ApplyError> for ImportFailure {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Refused(complaints) => Self::Refused(complaints),
            other => Self::Failed(other.into()),
        }
    }
}

impl From<ImportInterruption> for ImportFailure {
    fn from(stopped: ImportInterruption) -> Self {
        match stopped.why {
            ApplyError::Refused(complaints) => Self::Refused(complaints),
            _ => Self::Failed(stopped.into()),
        }
    }
}

/// Says what would become of each person.
async fn dry(workbench: &Workbench, file: &File, json: bool) -> Result<(), ImportFailure> {
    let bar = progress::bar("planning", file.len());
    let told = |done: usize, _all: usize| bar.set_position(done as u64);
    let planned = provisioning::apply(workbench, file, true, &told).await;
    bar.finish_and_clear();
    show(&planned?, json)
}

/// Imports batch after batch, and says of each what became of its people.
async fn carry_out(workbench: &Workbench, file: File, json: bool) -> Result<(), ImportFailure> {
    let planning = progress::bar("planning", file.len());
    let importing = progress::bar("importing", file.len());
    let told = |done: usize, _all: usize| planning.set_position(done as u64);
    let begun = PeopleImport::begin(workbench, file, &told).await;
    planning.finish_and_clear();
    let mut people = begun?;
    let told = |done: usize, _all: usize| importing.set_position(done as u64);
    while let Some(plan) = people.next(&told).await? {
        importing.suspend(|| show(&plan, json))?;
    }
    importing.finish_and_clear();
    Ok(())
}

fn show(plan: &Plan, json: bool) -> Result<(), ImportFailure> {
    for step in &plan.steps {
        let text = if json {
            serde_json::to_string(step).map_err(|error| ImportFailure::Failed(error.into()))?
        } else {
            step.to_string()
        };
        say(&text).map_err(|error| ImportFailure::Failed(error.into()))?;
    }
    Ok(())
}
