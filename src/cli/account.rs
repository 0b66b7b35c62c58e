//! `porteiro account`: what an operator does to one account.

use super::{
    Failure, say,
    settings::{Given, open_workbench},
};
use crate::provisioning::{self, Unlocked};
use clap::Subcommand;
use serde_json::json;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Clear what failed attempts hold against an account
    Unlock {
        /// Its e-mail address
        email: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(command: Command, given: Given) -> Result<(), Failure> {
    let Command::Unlock { email, json } = command;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let unlocked = provisioning::unlock(&workbench, &email).await;
    workbench.close().await;
    let Unlocked { account, authenticators } = unlocked?;
    if json {
        let said = json!({ "email": email, "account": account, "unlocked": authenticators });
        say(&said.to_string())?;
    } else if authenticators.is_empty() {
        say(&format!("= unchanged account {account}: no failed attempt is held against it"))?;
    } else {
        say(&format!("~ unlocked account {account} ({})", authenticators.join(", ")))?;
    }
    Ok(())
}
