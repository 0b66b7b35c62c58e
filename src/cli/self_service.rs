//! `porteiro registration` and `porteiro sign-up`: closes what strangers may do by themselves, or opens it again
//! (adr/0140).

use super::{
    Failure, say,
    session::check_reason,
    settings::{CommandSettings, open_workbench},
};
use crate::{config::Config, domain::installation::SelfService, provisioning};
use clap::{Args, Subcommand};
use serde_json::json;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Close it on every server within a second, whatever the configuration says
    Close(Setting),
    /// Let the configuration say again whether it is open
    Open(Setting),
}

#[derive(Debug, Args)]
pub(super) struct Setting {
    /// Why, for the security log; no personal data
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    service: SelfService,
    command: Command,
    given: CommandSettings,
) -> Result<(), Failure> {
    let (closes, Setting { reason, dry_run, json }) = match command {
        Command::Close(setting) => (true, setting),
        Command::Open(setting) => (false, setting),
    };
    check_reason(&reason)?;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let changed = if dry_run {
        let is_closed = provisioning::is_closed(&workbench, service).await;
        is_closed.map(|is_closed| is_closed != closes).map_err(Failure::from)
    } else {
        let set = provisioning::set_self_service(&workbench, service, closes, &reason).await;
        set.map_err(Failure::from)
    };
    workbench.close().await;
    let (changed, opened) = (changed?, !closes && is_configured(service, &loaded.config));
    let state = if opened { "open" } else { "closed" };
    if json {
        return Ok(say(&json!({ "state": state, "changed": changed }).to_string())?);
    }
    let sign = match (changed, dry_run) {
        (false, _) => "= unchanged:",
        (true, true) => "would change:",
        (true, false) => "~ changed:",
    };
    let stays = match service {
        SelfService::Registration => "clients that are there go on",
        SelfService::SignUp => "accounts that are there, and invitations, go on",
    };
    let by = match (closes, opened) {
        (true, _) => stays,
        (false, true) => "as the configuration says",
        (false, false) => "the configuration keeps it so",
    };
    Ok(say(&format!("{sign} {} is {state}; {by}; no row ends", service.name()))?)
}

fn is_configured(service: SelfService, config: &Config) -> bool {
    match service {
        SelfService::Registration => config.registration.open,
        SelfService::SignUp => config.sign_up.open,
    }
}
