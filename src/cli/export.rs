//! `porteiro export`: prints an organization as a provisioning file.

use super::{
    Failure,
    settings::{CommandSettings, open_workbench},
};
use crate::{actors::OrganizationExport, provisioning, system::Workbench};
use clap::Args;
use std::io::{self, Write as _};

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The slug of the organization
    #[arg(long, value_name = "SLUG")]
    organization: String,
}

pub(super) async fn run(command: Export, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let done = print(&workbench, &command.organization).await;
    workbench.close().await;
    done
}

async fn print(workbench: &Workbench, slug: &str) -> Result<(), Failure> {
    provisioning::organization(workbench, slug).await?;
    let mut export = OrganizationExport::of(workbench.store(), slug);
    while let Some(part) = export.next().await? {
        match io::stdout().write_all(part.as_bytes()) {
            // A reader that has had enough is no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}
