//! `porteiro account`: what an operator does to one account.

mod import;
mod shown;

use super::{
    Failure, dev, say,
    settings::{CommandSettings, DEV_FOLDER, open_workbench},
};
use crate::{
    config::{Config, LoadedConfig, Origin},
    domain::{Locale, account::AccountStatus, authority::ADMINISTER, invitation::Pending},
    http::{routes, time::rfc3339},
    provisioning::{
        self, Administration, Invite, IssuedInvitation, IssuedRecoveryLink, Recover,
        SuspensionChange, SuspensionOutcome, UnlockOutcome,
    },
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::Path;
use url::Url;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List all accounts by their addresses
    List {
        /// One JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show an account: its state, its claims, which credentials it has, its memberships
    Show {
        /// Its e-mail address, or its id
        email: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Clear what failed attempts hold against an account
    Unlock {
        /// Its e-mail address
        email: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Suspend an account: no person signs in to it, and everything that rests on it ends
    Suspend(Suspension),
    /// Enable a suspended account again; what was issued before stays ended
    Enable(Suspension),
    /// Invite the holder of an e-mail address into an organization
    Invite(InviteArguments),
    /// List the invitations that can still be accepted
    Invitations {
        /// Of this organization alone
        #[arg(long, value_name = "SLUG")]
        organization: Option<String>,
        /// One JSON array
        #[arg(long)]
        json: bool,
    },
    /// Withdraw an invitation
    Uninvite {
        /// Its id, as `invite` and `invitations` print it
        // It is drawn, and may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Create accounts from the export of another server, or change those that are there
    Import(import::ImportArguments),
    /// Give a permission that no role can: organizations:administer
    Grant(PermissionArguments),
    /// Take it away again
    Revoke(PermissionArguments),
    /// Make a link by which the person of an account can recover it, whatever they have lost
    Recover {
        /// The e-mail address of the account
        email: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct PermissionArguments {
    /// The e-mail address of the account
    email: String,
    /// The permission
    #[arg(value_name = "PERMISSION", default_value = ADMINISTER)]
    permission: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Suspension {
    /// The e-mail address of the account
    email: String,
    /// Why, for the security log; no personal data
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct InviteArguments {
    /// The address; it need not have an account
    email: String,
    /// The slug of the organization
    #[arg(long, value_name = "SLUG")]
    organization: String,
    /// A role that the member will hold there; may be repeated
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// The member will administer the organization
    #[arg(long)]
    administrator: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(command: Command, given: CommandSettings) -> Result<(), Failure> {
    match command {
        Command::List { json } => shown::list(json, given).await,
        Command::Show { email, json } => shown::show_one(&email, json, given).await,
        Command::Unlock { email, json } => unlock(&email, json, given).await,
        Command::Suspend(given_to) => suspend(SuspensionChange::Suspend, given_to, given).await,
        Command::Enable(given_to) => suspend(SuspensionChange::Enable, given_to, given).await,
        Command::Invite(inviting) => invite(inviting, given).await,
        Command::Invitations { organization, json } => {
            invitations(organization.as_deref(), json, given).await
        }
        Command::Uninvite { id, json } => uninvite(&id, json, given).await,
        Command::Import(importing) => import::run(importing, given).await,
        Command::Grant(asked) => administer(&asked, true, given).await,
        Command::Revoke(asked) => administer(&asked, false, given).await,
        Command::Recover { email, json } => recover(&email, json, given).await,
    }
}

async fn administer(
    asked: &PermissionArguments,
    grant: bool,
    given: CommandSettings,
) -> Result<(), Failure> {
    let PermissionArguments { email, permission, json } = asked;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let done = provisioning::administration(&workbench, email, permission, grant).await;
    workbench.close().await;
    let Administration { account, changed } = done?;
    if *json {
        let said = json!({ "account": account, "permission": permission, "granted": grant,
            "changed": changed });
        return Ok(say(&said.to_string())?);
    }
    let verb = if grant { "holds" } else { "does not hold" };
    let sign = if changed { "~ changed" } else { "= unchanged" };
    Ok(say(&format!("{sign} account {account} {verb} {permission}"))?)
}

async fn unlock(email: &str, json: bool, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let unlocked = provisioning::unlock(&workbench, email).await;
    workbench.close().await;
    let UnlockOutcome { account, authenticators } = unlocked?;
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

async fn suspend(
    suspending: SuspensionChange,
    suspension: Suspension,
    given: CommandSettings,
) -> Result<(), Failure> {
    let Suspension { email, reason, json } = suspension;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let done = provisioning::suspend(&workbench, &email, suspending, reason.as_deref()).await;
    workbench.close().await;
    let SuspensionOutcome { account, standing, changed } = done?;
    let state = match standing {
        AccountStatus::Active => "active",
        AccountStatus::Suspended => "suspended",
        AccountStatus::Deleting { .. } => "deleting",
    };
    if json {
        let said = json!({ "email": email, "account": account, "state": state });
        return say(&said.to_string()).map_err(Failure::from);
    }
    let done = if changed { "~ changed" } else { "= unchanged" };
    say(&format!("{done} account {account}: {state}"))?;
    Ok(())
}

async fn invite(inviting: InviteArguments, given: CommandSettings) -> Result<(), Failure> {
    let InviteArguments { email, organization, roles, administrator, json } = inviting;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let page = page(&loaded, loaded.config.links.invitation.as_ref(), routes::SIGN_UP)?;
    let link = |token: &str| with_query(&page, "token", token);
    let mails = mails(&loaded);
    let workbench = open_workbench(&loaded).await?;
    let asked = Invite {
        email: &email,
        organization: &organization,
        roles: &roles,
        administrator,
        link: &link,
        mail: mails.then_some(locale(&loaded.config)),
    };
    let invited = provisioning::invite(&workbench, &asked).await;
    workbench.close().await;
    let IssuedInvitation { id, link, roles } = invited?;
    if json {
        say(&json!({ "id": id, "link": *link }).to_string())?;
        return Ok(());
    }
    say(&format!("+ invited {email} into {organization} ({}): {id}", listed(&roles)))?;
    if !mails {
        say("Mail is not configured: hand over this link, which is good for seven days:")?;
        say(&link)?;
    }
    Ok(())
}

async fn invitations(
    organization: Option<&str>,
    json: bool,
    given: CommandSettings,
) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let found = provisioning::invitations(&workbench, organization).await;
    workbench.close().await;
    let found = found?;
    if json {
        let shown = found.iter().map(|(id, pending)| {
            json!({
                "id": id,
                "email": pending.email,
                "organization": pending.organization,
                "roles": pending.roles,
                "created_at": rfc3339(pending.created_at),
                "expires_at": rfc3339(pending.expires_at),
            })
        });
        say(&Value::Array(shown.collect()).to_string())?;
        return Ok(());
    }
    for (id, Pending { email, organization, roles, expires_at, .. }) in &found {
        let (roles, until) = (listed(roles), rfc3339(*expires_at));
        say(&format!("{id} {email} into {organization} ({roles}), until {until}"))?;
    }
    if found.is_empty() {
        say("There is no invitation that can be accepted.")?;
    }
    Ok(())
}

async fn uninvite(id: &str, json: bool, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let withdrawn = provisioning::uninvite(&workbench, id).await;
    workbench.close().await;
    let Pending { email, organization, .. } = withdrawn?;
    if json {
        let said = json!({ "id": id, "email": email, "organization": organization });
        say(&said.to_string())?;
    } else {
        say(&format!("- withdrew the invitation of {email} into {organization}: {id}"))?;
    }
    Ok(())
}

async fn recover(email: &str, json: bool, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let page = page(&loaded, loaded.config.links.recovery.as_ref(), routes::RESET_PASSWORD)?;
    let mails = mails(&loaded);
    let asked = Recover {
        email,
        link: &|token| with_query(&page, "token", token),
        stop: &|token| with_query(&page, "stop", token),
        mail: mails.then_some(locale(&loaded.config)),
    };
    let workbench = open_workbench(&loaded).await?;
    let issued = provisioning::recover(&workbench, &asked).await;
    workbench.close().await;
    let IssuedRecoveryLink { account, link, expires_at } = issued?;
    let until = rfc3339(expires_at);
    if json {
        let said = json!({ "account": account, "url": *link, "expires_at": until });
        say(&said.to_string())?;
        return Ok(());
    }
    say(&format!("~ account {account} can be recovered once, until {until}"))?;
    if !mails {
        say("Mail is not configured: the person is not told, and cannot stop it.")?;
    }
    say("Make sure who asks, and hand over this link; it is not shown again:")?;
    say(&link)?;
    Ok(())
}

fn locale(config: &Config) -> Locale {
    config.screens.default_locale
}

/// Tells whether the installation is a development server's, which keeps what it sends at `/mailbox`.
fn is_development(loaded: &LoadedConfig) -> bool {
    loaded.origin("store.url").is_some_and(|origin| *origin == Origin::Dev)
}

/// Tells whether people get mail from this installation.
fn mails(loaded: &LoadedConfig) -> bool {
    loaded.config.mail.transport.is_some() || is_development(loaded)
}

fn listed(roles: &[String]) -> String {
    if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") }
}

fn with_query(page: &Url, name: &str, token: &str) -> String {
    let mut page = page.clone();
    page.query_pairs_mut().append_pair(name, token);
    page.to_string()
}

/// The page that a link leads to: the one of `[links]`, or the installation's own.
fn page(loaded: &LoadedConfig, own: Option<&Url>, path: &str) -> Result<Url, Failure> {
    if let Some(page) = own {
        return Ok(page.clone());
    }
    let issuer = match &loaded.config.issuer {
        Some(issuer) => issuer.clone(),
        None if is_development(loaded) => dev::issuer(Path::new(DEV_FOLDER)),
        None => {
            let why = "issuer is not set: the link leads there";
            return Err(Failure::Configuration(vec![why.to_owned()]));
        }
    };
    let page = Url::parse(&format!("{issuer}{path}"));
    page.map_err(|error| Failure::Configuration(vec![format!("issuer: {error}")]))
}
