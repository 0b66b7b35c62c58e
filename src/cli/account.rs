//! `porteiro account`: what an operator does to one account.

use super::{
    Failure, say,
    settings::{Given, open_workbench},
};
use crate::{
    config::{Config, Loaded, Origin},
    domain::Locale,
    http::routes,
    provisioning::{self, Invite, Invited, Unlocked},
};
use clap::{Args, Subcommand};
use serde_json::json;
use url::Url;

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
    /// Invite the holder of an e-mail address into an organization
    Invite(Inviting),
}

#[derive(Debug, Args)]
pub(super) struct Inviting {
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

pub(super) async fn run(command: Command, given: Given) -> Result<(), Failure> {
    match command {
        Command::Unlock { email, json } => unlock(&email, json, given).await,
        Command::Invite(inviting) => invite(inviting, given).await,
    }
}

async fn unlock(email: &str, json: bool, given: Given) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let unlocked = provisioning::unlock(&workbench, email).await;
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

async fn invite(inviting: Inviting, given: Given) -> Result<(), Failure> {
    let Inviting { email, organization, roles, administrator, json } = inviting;
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let page = page(&loaded)?;
    let link = |token: &str| {
        let mut page = page.clone();
        page.query_pairs_mut().append_pair("token", token);
        page.to_string()
    };
    let mails = loaded.config.mail.transport.is_some() || is_development(&loaded);
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
    let Invited { id, link, roles } = invited?;
    if json {
        say(&json!({ "id": id, "link": *link }).to_string())?;
        return Ok(());
    }
    let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
    say(&format!("+ invited {email} into {organization} ({roles}): {id}"))?;
    if !mails {
        say("Mail is not configured: hand over this link, which is good for seven days:")?;
        say(&link)?;
    }
    Ok(())
}

fn locale(config: &Config) -> Locale {
    config.screens.default_locale
}

/// Tells whether the installation is a development server's, which keeps what it sends at `/mailbox`.
fn is_development(loaded: &Loaded) -> bool {
    loaded.origin("store.url").is_some_and(|origin| *origin == Origin::Dev)
}

/// The page on which an invitation is accepted.
fn page(loaded: &Loaded) -> Result<Url, Failure> {
    let config = &loaded.config;
    if let Some(page) = &config.links.invitation {
        return Ok(page.clone());
    }
    let issuer = match &config.issuer {
        Some(issuer) => issuer.as_str(),
        None if is_development(loaded) => "http://localhost:8080",
        None => {
            let why = "issuer is not set: the link of an invitation leads there";
            return Err(Failure::Configuration(vec![why.to_owned()]));
        }
    };
    let page = Url::parse(&format!("{issuer}{}", routes::SIGN_UP));
    page.map_err(|error| Failure::Configuration(vec![format!("issuer: {error}")]))
}
