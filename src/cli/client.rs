//! `porteiro client`: lists and shows clients; `porteiro apply` makes and changes them.

use super::{
    Failure,
    output::{Printed, or_dash, show},
    settings::{Given, open_workbench},
};
use crate::{
    actors::hydrate,
    domain::client::{CLIENTS, Client, KnownClient, Profile},
    provisioning::{self, Entries},
    system::Workbench,
};
use clap::Subcommand;
use serde_json::{Value, json};

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
}

pub(super) async fn run(command: Command, given: Given) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let done = match command {
        Command::List { organization, json } => {
            list(&workbench, organization.as_deref(), json).await
        }
        Command::Show { client_id, json } => show_one(&workbench, &client_id, json).await,
    };
    workbench.close().await;
    done
}

async fn list(
    workbench: &Workbench,
    organization: Option<&str>,
    json: bool,
) -> Result<(), Failure> {
    if let Some(slug) = organization {
        provisioning::organization(workbench, slug).await?;
    }
    let mut printed = Printed::new(json);
    let mut entries = Entries::<Client>::of(workbench, CLIENTS, "");
    while let Some((_, client)) = entries.next().await? {
        let Some(known) = client.known() else { continue };
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
    let Some(known) = read.machine.known() else {
        let why = format!("there is no client `{client_id}`: `porteiro client list` shows them");
        return Err(Failure::Failed(why.into()));
    };
    let mut members = known.metadata.members();
    let Value::Object(own) = summary(known) else { return Ok(()) };
    members.extend(own);
    let profile = |one: Profile| Profile::NAMES.into_iter().find(|(_, other)| *other == one);
    let profile = known.require_profile.and_then(profile).map(|(name, _)| name);
    members.insert("require_profile".to_owned(), json!(profile));
    members.insert("introspects".to_owned(), json!(known.introspects));
    members.insert("may_act".to_owned(), json!(known.may_act));
    show(json, &Value::Object(members))?;
    Ok(())
}

fn cells(known: &KnownClient) -> [String; 4] {
    let sort = match (known.trusted, known.is_self_registered()) {
        (true, _) => "trusted",
        (_, true) => "self-registered",
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
    })
}
