//! `porteiro apikey`: the API keys of organizations (adr/0080).

use super::{
    Failure,
    output::{ListPrinter, or_dash, show, visible},
    say,
    settings::{CommandSettings, open_workbench},
};
use crate::{
    clock::SystemClock,
    domain::{
        Clock as _, Timestamp,
        api_key::{API_KEYS, ApiKey, Issuer, Key},
        authority::Permission,
        organization::{ORGANIZATIONS, Organization},
    },
    http::time::rfc3339,
    provisioning::{self, Entries, IssuedApiKey, NewApiKey},
    system::Workbench,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::time::Duration;

/// No key ends later than a hundred years from now.
const MOST_DAYS: u64 = 36_500;
/// Thirty days.
const MOST_HOURS: u64 = 720;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a key; it is shown once
    Create(CreateArguments),
    /// List keys, revoked ones among them for thirty days
    List {
        /// Of this organization alone
        #[arg(long, value_name = "SLUG")]
        organization: Option<String>,
        /// One JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one key; never its secret
    Show {
        /// Its id
        id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Give a key another secret, which is shown once
    Rotate {
        /// Its id
        id: String,
        /// How long the former secret is good yet
        #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u64).range(0..=MOST_HOURS))]
        overlap_hours: u64,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// End a key for good, on all servers within a second
    Revoke {
        /// Its id
        id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct CreateArguments {
    /// The slug of the organization that the key acts in
    #[arg(long, value_name = "SLUG")]
    organization: String,
    /// What people call it
    #[arg(long)]
    name: String,
    /// What it may do: `resource:action`, or `resource:*`; may be repeated
    #[arg(long = "permission", value_name = "PERMISSION", required = true, value_parser = permission)]
    permissions: Vec<Permission>,
    /// When it ends; without this it does not
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=MOST_DAYS))]
    expires_in_days: Option<u64>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn permission(text: &str) -> Result<Permission, String> {
    Permission::parse(text).map_err(|why| why.to_string())
}

pub(super) async fn run(command: Command, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let done = match command {
        Command::Create(creating) => create(&workbench, &creating).await,
        Command::List { organization, json } => {
            list(&workbench, organization.as_deref(), json).await
        }
        Command::Show { id, json } => show_one(&workbench, &id, json).await,
        Command::Rotate { id, overlap_hours, json } => {
            rotate(&workbench, &id, overlap_hours, json).await
        }
        Command::Revoke { id, json } => revoke(&workbench, &id, json).await,
    };
    workbench.close().await;
    done
}

async fn create(workbench: &Workbench, creating: &CreateArguments) -> Result<(), Failure> {
    let CreateArguments { organization, name, permissions, expires_in_days, json } = creating;
    let expires_in = expires_in_days.map(|days| Duration::from_hours(24 * days));
    let new = NewApiKey { organization, name, permissions, expires_in };
    let IssuedApiKey { id, text, .. } = provisioning::create_api_key(workbench, &new).await?;
    if *json {
        say(&json!({ "id": id, "key": *text }).to_string())?;
    } else {
        let permissions: Vec<&str> = permissions.iter().map(Permission::as_str).collect();
        say(&format!("+ created API key {id} of {organization} ({})", permissions.join(", ")))?;
        say("Keep it safe; it is not shown again:")?;
        say(&text)?;
    }
    Ok(())
}

async fn rotate(
    workbench: &Workbench,
    id: &str,
    overlap_hours: u64,
    json: bool,
) -> Result<(), Failure> {
    let overlap = Duration::from_hours(overlap_hours);
    let rotated = provisioning::rotate_api_key(workbench, id, overlap).await?;
    let IssuedApiKey { id, text, former_until } = rotated;
    let until = former_until.map(rfc3339);
    if json {
        say(&json!({ "id": id, "key": *text, "former_until": until }).to_string())?;
    } else {
        let former = match until {
            Some(until) => format!("the former secret is good until {until}"),
            None => "the former secret is void".to_owned(),
        };
        say(&format!("~ rotated API key {id}: {former}"))?;
        say("Keep it safe; it is not shown again:")?;
        say(&text)?;
    }
    Ok(())
}

async fn revoke(workbench: &Workbench, id: &str, json: bool) -> Result<(), Failure> {
    let was_active = provisioning::revoke_api_key(workbench, id).await?;
    if json {
        say(&json!({ "id": id, "state": "revoked" }).to_string())?;
    } else if was_active {
        say(&format!("- revoked API key {id}"))?;
    } else {
        say(&format!("= unchanged API key {id}: it was revoked before"))?;
    }
    Ok(())
}

async fn show_one(workbench: &Workbench, id: &str, json: bool) -> Result<(), Failure> {
    let key = provisioning::api_key(workbench, id).await?;
    if let Some(known) = key.known() {
        show(json, &described(known, key.revoked_at()))?;
    }
    Ok(())
}

async fn list(
    workbench: &Workbench,
    organization: Option<&str>,
    json: bool,
) -> Result<(), Failure> {
    let mut printed = ListPrinter::new(json);
    if let Some(slug) = organization {
        let home = provisioning::organization(workbench, slug).await?;
        list_of(workbench, &home.slug, &mut printed).await?;
    } else {
        let mut homes = Entries::<Organization>::of(workbench, ORGANIZATIONS, "");
        while let Some((slug, _)) = homes.next().await? {
            list_of(workbench, &slug, &mut printed).await?;
        }
    }
    printed.end("There is no API key.")?;
    Ok(())
}

async fn list_of(
    workbench: &Workbench,
    slug: &str,
    printed: &mut ListPrinter<6>,
) -> Result<(), Failure> {
    let mut keys = Entries::<ApiKey>::of(workbench, API_KEYS, slug);
    while let Some((_, key)) = keys.next().await? {
        let Some(known) = key.known() else { continue };
        let revoked_at = key.revoked_at();
        printed.entry(|| described(known, revoked_at), || cells(known, revoked_at))?;
    }
    Ok(())
}

fn cells(key: &Key, revoked_at: Option<Timestamp>) -> [String; 6] {
    let permissions: Vec<&str> = key.permissions.iter().map(Permission::as_str).collect();
    let used = key.last_used_at.map(rfc3339);
    [
        key.id.clone(),
        key.organization.clone(),
        state(key, revoked_at).to_owned(),
        format!("used {}", or_dash(used.as_deref())),
        permissions.join(" "),
        visible(&key.name),
    ]
}

fn described(key: &Key, revoked_at: Option<Timestamp>) -> Value {
    let issuer = match &key.issuer {
        Issuer::Operator => json!({ "type": "operator" }),
        Issuer::Membership { id, account } => {
            json!({ "type": "membership", "id": id, "account": account })
        }
        Issuer::Client { client_id } => json!({ "type": "client", "client_id": client_id }),
    };
    json!({
        "id": key.id,
        "name": key.name,
        "organization": key.organization,
        "state": state(key, revoked_at),
        "permissions": key.permissions,
        "issuer": issuer,
        "created_at": rfc3339(key.created_at),
        "expires_at": key.expires_at.map(rfc3339),
        "last_used_at": key.last_used_at.map(rfc3339),
        "revoked_at": revoked_at.map(rfc3339),
    })
}

/// What the key itself says; whether its issuer stands behind it is looked at when it is used.
fn state(key: &Key, revoked_at: Option<Timestamp>) -> &'static str {
    match (revoked_at, key.expires_at) {
        (Some(_), _) => "revoked",
        (None, Some(end)) if end <= SystemClock.now() => "expired",
        (None, _) => "active",
    }
}
