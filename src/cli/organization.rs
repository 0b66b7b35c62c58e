//! `porteiro organization`: makes, suspends, enables, lists and shows organizations.

use super::{
    Failure,
    output::{ListPrinter, show, visible},
    say,
    settings::{CommandSettings, open_workbench},
};
use crate::{
    domain::organization::{Known, ORGANIZATIONS, Organization, Role},
    provisioning::{self, Entries, OrganizationChange},
    system::Workbench,
};
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List all of them, suspended ones among them
    List {
        /// One JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one with its roles
    Show {
        /// Its slug
        slug: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Make one; its slug never changes and is never used again
    Create {
        /// Its slug: a-z, 0-9 and inner hyphens
        slug: String,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Suspend one: it confers no authority and accepts no change
    Suspend {
        /// Its slug
        slug: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Enable a suspended one, or one that was deleted less than 30 days ago; what was issued before stays ended
    Enable {
        /// Its slug
        slug: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(command: Command, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let done = match command {
        Command::List { json } => list(&workbench, json).await,
        Command::Show { slug, json } => show_one(&workbench, &slug, json).await,
        Command::Create { slug, name, json } => {
            let create = OrganizationChange::Create { name: name.as_deref() };
            change_one(&workbench, &slug, create, "+ created", json).await
        }
        Command::Suspend { slug, json } => {
            change_one(&workbench, &slug, OrganizationChange::Suspend, "~ suspended", json).await
        }
        Command::Enable { slug, json } => {
            change_one(&workbench, &slug, OrganizationChange::Enable, "~ enabled", json).await
        }
    };
    workbench.close().await;
    done
}

async fn change_one(
    workbench: &Workbench,
    slug: &str,
    change: OrganizationChange<'_>,
    done: &str,
    json: bool,
) -> Result<(), Failure> {
    let changed = provisioning::change_organization(workbench, slug, change).await?;
    if json {
        let known = provisioning::organization(workbench, slug).await?;
        say(&described(&known).to_string())?;
    } else {
        let said = if changed { done } else { "= unchanged" };
        say(&format!("{said} organization {slug}"))?;
    }
    Ok(())
}

async fn show_one(workbench: &Workbench, slug: &str, json: bool) -> Result<(), Failure> {
    let known = provisioning::organization(workbench, slug).await?;
    if json {
        say(&described(&known).to_string())?;
        return Ok(());
    }
    let mut members = described(&known);
    let roles = members.as_object_mut().and_then(|members| members.remove("roles"));
    show(false, &members)?;
    if roles.is_some() {
        for Role { name, permissions, .. } in &known.roles {
            let permissions: Vec<String> = permissions.iter().map(ToString::to_string).collect();
            say(&format!("role {name}: {}", permissions.join(" ")))?;
        }
    }
    Ok(())
}

async fn list(workbench: &Workbench, json: bool) -> Result<(), Failure> {
    let mut printed = ListPrinter::new(json);
    let mut entries = Entries::<Organization>::of(workbench, ORGANIZATIONS, "");
    while let Some((_, organization)) = entries.next().await? {
        let Some(known) = organization.known() else { continue };
        let cells = || [known.slug.clone(), state(known).to_owned(), visible(&known.name)];
        printed.entry(|| described(known), cells)?;
    }
    printed.end("There is no organization.")?;
    Ok(())
}

fn state(known: &Known) -> &'static str {
    match (known.enabled, known.deletion) {
        (true, _) => "enabled",
        (false, None) => "suspended",
        (false, Some(_)) => "to be erased",
    }
}

fn described(known: &Known) -> Value {
    let mut described = json!({
        "slug": known.slug,
        "name": known.name,
        "enabled": known.enabled,
        "required_acr": known.required_acr.name(),
        "impersonation": known.impersonation,
        "roles": known.roles,
    });
    if let Some(deletion) = known.deletion {
        described["erased_at"] = deletion.erase_at.rfc3339().into();
    }
    described
}
