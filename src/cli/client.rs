//! `porteiro client`: lists, shows, suspends, enables and deletes clients, rotates their secrets, and says what to
//! register for a certificate; `porteiro apply` makes and changes them.

mod certificate;
mod certificate_guide;
mod register;

use super::{
    Failure,
    output::{ListPrinter, or_dash, show, visible},
    say,
    session::about_access_tokens,
    settings::{CommandSettings, open_workbench},
};
use crate::{
    actors::hydrate,
    domain::client::{CLIENTS, Client, KnownClient, Profile, SECRET_OVERLAP},
    http::time::rfc3339,
    provisioning::{self, ClientChange, ClientHoldings, Entries, RotatedSecret},
    system::Workbench,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List all of them, those that registered themselves among them
    List {
        /// Those that speak for this organization alone
        #[arg(long, value_name = "SLUG")]
        organization: Option<String>,
        /// One JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one with its metadata; never its secret
    Show {
        /// Its id
        // One that was drawn may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        client_id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Suspend one: it gets nothing, and what was issued to it is good no more
    Suspend(SuspendArguments),
    /// Enable a suspended one; what was issued before stays ended
    Enable(ChangeArguments),
    /// Delete one; its id is not given again while anything of it could be presented
    Delete(ChangeArguments),
    /// Give one another secret, which is shown once; the former is good for a day yet
    RotateSecret {
        /// Its id
        #[arg(allow_hyphen_values = true)]
        client_id: String,
        /// The former secret ends now
        #[arg(long)]
        at_once: bool,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say how to make a certificate for one and what to register for it; needs no database
    Certificate(certificate::Certificate),
}

#[derive(Debug, Args)]
pub(super) struct ChangeArguments {
    /// Its id
    #[arg(allow_hyphen_values = true)]
    client_id: String,
    /// Why, for the security log; no personal data
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct SuspendArguments {
    #[command(flatten)]
    changing: ChangeArguments,
    /// Say what would end, and end nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(command: Command, given: CommandSettings) -> Result<(), Failure> {
    if let Command::Certificate(asked) = command {
        return certificate::run(asked, given);
    }
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let done = match command {
        Command::Certificate(_) => Ok(()),
        Command::List { organization, json } => {
            list(&workbench, organization.as_deref(), json).await
        }
        Command::Show { client_id, json } => show_one(&workbench, &client_id, json).await,
        Command::Suspend(asked) => {
            suspend(&workbench, asked, loaded.config.lifetimes.access_token).await
        }
        Command::Enable(asked) => change_one(&workbench, asked, ClientChange::Enable).await,
        Command::Delete(asked) => change_one(&workbench, asked, ClientChange::Delete).await,
        Command::RotateSecret { client_id, at_once, json } => {
            let overlap = if at_once { Duration::ZERO } else { SECRET_OVERLAP };
            rotate_secret(&workbench, &client_id, overlap, json).await
        }
    };
    workbench.close().await;
    done
}

/// Suspends a client with all it holds, or says what that is.
async fn suspend(
    workbench: &Workbench,
    asked: SuspendArguments,
    access_token: Duration,
) -> Result<(), Failure> {
    let SuspendArguments { changing: ChangeArguments { client_id, reason, json }, dry_run } = asked;
    let read = hydrate::<Client>(workbench.store(), &client_id).await?;
    let Some(known) = read.machine.held() else { return Err(no_such_client(&client_id)) };
    let was_suspended = known.suspended;
    // What it holds is counted by the epoch of before: it is another one when it is enabled again.
    let changed = if dry_run {
        !was_suspended
    } else {
        let change = ClientChange::Suspend;
        provisioning::change_client(workbench, &client_id, change, reason.as_deref()).await?
    };
    let ClientHoldings { families, api_keys } = if was_suspended {
        ClientHoldings::default()
    } else {
        provisioning::client_holdings(workbench, &client_id).await?
    };
    if json {
        let state = if dry_run && !was_suspended { "enabled" } else { "suspended" };
        let said = json!({ "client_id": client_id, "state": state, "changed": changed,
            "families": families, "api_keys": api_keys });
        return Ok(say(&said.to_string())?);
    }
    if !changed {
        return Ok(say(&format!("= unchanged client {}", visible(&client_id)))?);
    }
    let sign = if dry_run { "would suspend" } else { "~ suspended" };
    say(&format!(
        "{sign} client {}: {families} token families end for good; {api_keys} API keys that rest on it \
         confer nothing while it is suspended",
        visible(&client_id)
    ))?;
    Ok(say(&about_access_tokens(access_token))?)
}

async fn change_one(
    workbench: &Workbench,
    asked: ChangeArguments,
    change: ClientChange,
) -> Result<(), Failure> {
    let ChangeArguments { client_id, reason, json } = asked;
    let reason = reason.as_deref();
    let changed = provisioning::change_client(workbench, &client_id, change, reason).await?;
    let state = match change {
        ClientChange::Suspend => "suspended",
        ClientChange::Enable => "enabled",
        ClientChange::Delete => "deleted",
    };
    if json {
        let said = json!({ "client_id": client_id, "state": state, "changed": changed });
        return Ok(say(&said.to_string())?);
    }
    let said = if changed { format!("~ {state}") } else { "= unchanged".to_owned() };
    Ok(say(&format!("{said} client {}", visible(&client_id)))?)
}

async fn rotate_secret(
    workbench: &Workbench,
    client_id: &str,
    overlap: Duration,
    json: bool,
) -> Result<(), Failure> {
    let rotated = provisioning::rotate_client_secret(workbench, client_id, overlap).await?;
    let RotatedSecret { secret, former_until } = rotated;
    let until = former_until.map(rfc3339);
    if json {
        let said =
            json!({ "client_id": client_id, "client_secret": *secret, "former_until": until });
        return Ok(say(&said.to_string())?);
    }
    let former = match until {
        Some(until) => format!("the former secret is good until {until}"),
        None => "the former secret is void".to_owned(),
    };
    say(&format!("~ rotated the secret of client {}: {former}", visible(client_id)))?;
    say("Keep it safe; it is not shown again:")?;
    Ok(say(&secret)?)
}

async fn list(
    workbench: &Workbench,
    organization: Option<&str>,
    json: bool,
) -> Result<(), Failure> {
    if let Some(slug) = organization {
        provisioning::organization(workbench, slug).await?;
    }
    let mut printed = ListPrinter::new(json);
    let mut entries = Entries::<Client>::of(workbench, CLIENTS, "");
    while let Some((_, client)) = entries.next().await? {
        let Some(known) = client.held() else { continue };
        if organization.is_some() && known.organization.as_deref() != organization {
            continue;
        }
        printed.entry(|| summary(known), || cells(known))?;
    }
    printed.end("There is no client.")?;
    Ok(())
}

async fn show_one(workbench: &Workbench, client_id: &str, json: bool) -> Result<(), Failure> {
    let read = hydrate::<Client>(workbench.store(), client_id).await?;
    let Some(known) = read.machine.held() else { return Err(no_such_client(client_id)) };
    let mut members = known.metadata.members();
    let Value::Object(own) = summary(known) else { return Ok(()) };
    members.extend(own);
    let profile = |one: Profile| Profile::NAMES.into_iter().find(|(_, other)| *other == one);
    let profile = known.require_profile.and_then(profile).map(|(name, _)| name);
    members.insert("require_profile".to_owned(), json!(profile));
    members.insert("introspects".to_owned(), json!(known.introspects));
    members.insert("claims_in_id_token".to_owned(), json!(known.claims_in_id_token));
    members.insert("may_act".to_owned(), json!(known.may_act));
    members.insert("agent".to_owned(), json!(known.leash));
    show(json, &Value::Object(members))?;
    Ok(())
}

fn no_such_client(client_id: &str) -> Failure {
    let why = format!("there is no client `{client_id}`: `porteiro client list` shows them");
    Failure::Failed(why.into())
}

fn cells(known: &KnownClient) -> [String; 4] {
    let sort = match (known.suspended, known.trusted, known.is_self_registered()) {
        (true, ..) => "suspended",
        (_, true, _) => "trusted",
        (_, _, true) => "self-registered",
        _ => "",
    };
    [
        known.client_id.clone(),
        or_dash(known.organization.as_deref()),
        or_dash(Some(sort)),
        or_dash(known.metadata.client_name.as_deref()),
    ]
}

/// What is told of each in a list.
fn summary(known: &KnownClient) -> Value {
    json!({
        "client_id": known.client_id,
        "client_name": known.metadata.client_name,
        "organization": known.organization,
        "roles": known.roles,
        "trusted": known.trusted,
        "self_registered": known.is_self_registered(),
        "suspended": known.suspended,
    })
}
