//! `porteiro session end`: ends the sessions and grants of people (adr/0140).

use super::{
    Failure,
    output::visible,
    say,
    settings::{CommandSettings, open_workbench},
};
use crate::provisioning::{self, SignOutCount, SignOutScope};
use clap::{Args, Subcommand};
use serde_json::json;
use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    time::Duration,
};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// End sessions and grants of people, offline ones too; tokens of machines and API keys stay
    End(EndArguments),
}

#[derive(Debug, Args)]
pub(super) struct EndArguments {
    #[command(flatten)]
    whose: ScopeArguments,
    /// Why, for the security log; no personal data
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do not ask back
    #[arg(long)]
    yes: bool,
    /// Say what would end, and end nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ScopeArguments {
    /// Of the account with this e-mail address
    #[arg(long, value_name = "EMAIL")]
    account: Option<String>,
    /// Of the people of this organization: they prove again who they are before a session confers anything there
    #[arg(long, value_name = "SLUG")]
    organization: Option<String>,
    /// Of all people
    #[arg(long)]
    everyone: bool,
}

impl ScopeArguments {
    fn scope(&self) -> SignOutScope<'_> {
        match (&self.account, &self.organization) {
            (Some(email), _) => SignOutScope::Account(email),
            (None, Some(slug)) => SignOutScope::Organization(slug),
            (None, None) => SignOutScope::Everyone,
        }
    }
}

pub(super) async fn run(command: Command, given: CommandSettings) -> Result<(), Failure> {
    let Command::End(ending) = command;
    let scope = ending.whose.scope();
    check_reason(&ending.reason)?;
    if scope == SignOutScope::Everyone && !ending.dry_run && !ending.yes {
        confirm("This signs everyone out, and ends every grant of a person.")?;
    }
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let counted = if ending.dry_run {
        provisioning::count_sign_out(&workbench, scope).await
    } else {
        provisioning::sign_out(&workbench, scope, &ending.reason).await
    };
    workbench.close().await;
    let SignOutCount { sessions, families } = counted?;
    if ending.json {
        return Ok(say(&json!({ "sessions": sessions, "families": families }).to_string())?);
    }
    let done = if ending.dry_run { "would end" } else { "- ended" };
    let what = match scope {
        SignOutScope::Account(email) => format!(
            "{done} {sessions} sessions and {families} token families of {}",
            visible(email)
        ),
        SignOutScope::Organization(slug) => format!(
            "{done} {families} token families in {slug}; {sessions} sessions confer nothing there \
             before a new proof, and live on elsewhere"
        ),
        SignOutScope::Everyone => {
            format!("{done} {sessions} sessions and {families} token families of all people")
        }
    };
    say(&what)?;
    Ok(say(&about_access_tokens(loaded.config.lifetimes.access_token))?)
}

/// Says what becomes of access tokens, of which there is nothing to count.
pub(super) fn about_access_tokens(lifetime: Duration) -> String {
    format!(
        "  access tokens have no rows and are not counted: we refuse them at once; an API that only \
         verifies signatures takes them until they expire, {} seconds at most",
        lifetime.as_secs()
    )
}

/// Refuses a reason that says nothing, or more than the log takes.
pub(super) fn check_reason(reason: &str) -> Result<(), Failure> {
    const LONGEST: usize = 500;
    let length = reason.trim().chars().count();
    if (1..=LONGEST).contains(&length) {
        return Ok(());
    }
    Err(Failure::Failed(format!("--reason: 1 to {LONGEST} characters").into()))
}

/// Asks back on a terminal; a program says `--yes`.
fn confirm(what: &str) -> Result<(), Failure> {
    let mut input = io::stdin().lock();
    if !io::stdin().is_terminal() {
        return Err(Failure::Failed("it needs --yes where there is no terminal to ask on".into()));
    }
    let mut asked = io::stderr().lock();
    write!(asked, "{what} Type `yes` to go on: ")?;
    asked.flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    if answer.trim() == "yes" { Ok(()) } else { Err(Failure::Failed("nothing has ended".into())) }
}
