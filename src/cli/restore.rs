//! `porteiro restore`: puts a backup of an SQLite store back (adr/0157).

use super::{
    Failure, backup, cannot, progress, say,
    settings::{CommandSettings, faults_of, key_sources, read_keys, workbench_at},
};
use crate::{
    actors::{INSTALLATION, hydrate_row},
    config::{LoadedConfig, SecretUrl},
    domain::{
        Machine,
        installation::{INSTALLATION_ID, Installation, SelfService},
        reserved_names::ReservedNames,
        signing_keys::SigningKeys,
    },
    provisioning::{self, EndedCounts},
    store::{CopyError, Restoration},
    system::Workbench,
};
use clap::Args;
use serde_json::json;
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Restore {
    /// A file that `porteiro backup` made
    file: PathBuf,
    /// Replace the store that is there
    #[arg(long)]
    replace: bool,
    /// Keep sessions and token families: those that ended after the backup are good again
    #[arg(long)]
    keep_sessions: bool,
    /// Put it back although the chain of its security log does not hold
    #[arg(long)]
    despite_findings: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// What was put back.
struct RestoreReport {
    ended: EndedCounts,
    /// Keys that stay revoked.
    revoked: Vec<String>,
    /// What stays closed to strangers.
    closed: Vec<SelfService>,
    /// Messages that were still to be delivered.
    messages: u64,
    log_rows: u64,
    /// What is wrong with the chain of the log.
    findings: usize,
}

/// What the replaced store knew that must not be forgotten with it.
#[derive(Default)]
struct ReplacedState {
    keys: SigningKeys,
    installation: Installation,
}

pub(super) async fn run(command: Restore, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
    let waiting = progress::spinner("putting the backup back");
    let restored = restore(&command, &loaded, url).await;
    waiting.finish_and_clear();
    let restored = restored?;
    if command.json {
        let RestoreReport { ended, revoked, closed, messages, log_rows, findings } = restored;
        let closed: Vec<&str> = closed.into_iter().map(SelfService::name).collect();
        let said = json!({
            "ended": ended.entities, "accounts": ended.accounts, "stay_revoked": revoked,
            "stay_closed": closed, "messages": messages, "log_rows": log_rows,
            "findings": findings, "keeps_sessions": command.keep_sessions,
        });
        return Ok(say(&said.to_string())?);
    }
    tell(&command, url, &restored)
}

async fn restore(
    command: &Restore,
    loaded: &LoadedConfig,
    url: &str,
) -> Result<RestoreReport, Failure> {
    let folder = read_keys(&loaded.config)?;
    let mut restoring = match Restoration::begin(url, &command.file).await {
        Err(CopyError::Postgres) => return Err(of_postgres(url, &command.file)),
        begun => begun.map_err(|error| backup::failed(url, error))?,
    };
    let there = restoring.kinds_there().await?;
    let counts = there.iter().filter(|(kind, _)| kind != ReservedNames::KIND);
    let entities: i64 = counts.map(|(_, count)| count).sum();
    if entities > 0 && !command.replace {
        return Err(cannot(&format!(
            "the store {} is not empty ({entities} entities): `--replace` puts the backup in its \
             place, and what is there is gone",
            SecretUrl::new(url)
        )));
    }
    let replaced = ReplacedState {
        keys: known_there(&mut restoring, INSTALLATION).await?,
        installation: known_there(&mut restoring, INSTALLATION_ID).await?,
    };
    let workbench = workbench_at(&restoring.url(), &folder).await?;
    let changed = change(command, loaded, &workbench, &replaced).await;
    workbench.close().await;
    let restored = changed?;
    restoring.finish()?;
    Ok(restored)
}

/// Reads what the store knew that is replaced.
async fn known_there<M: Machine>(restoring: &mut Restoration, id: &str) -> Result<M, Failure> {
    let Some(row) = restoring.load_there(M::KIND, id).await? else { return Ok(M::default()) };
    hydrate_row::<M>(id, &row).map_err(|error| {
        cannot(&format!(
            "the store that would be replaced cannot be read ({error}), so it is not known which \
             signing keys it knew as revoked and what was closed in it: restore with the binary that \
             wrote it, or move its file and those beside it away, try again, and revoke and close once \
             more"
        ))
    })
}

/// Does in the copy what must be done before a server sees it.
async fn change(
    command: &Restore,
    loaded: &LoadedConfig,
    workbench: &Workbench,
    replaced: &ReplacedState,
) -> Result<RestoreReport, Failure> {
    // A token is opened only where a key may have to be replaced.
    let observed = if replaced.keys.revoked().next().is_some() {
        let sources = key_sources(&loaded.config).map_err(|fault| faults_of(&[fault]))?;
        let (folder, faults) = sources.salvage();
        folder.ok_or_else(|| faults_of(&faults))?.observed()
    } else {
        Vec::new()
    };
    let revoked = provisioning::keep_revoked(workbench, &replaced.keys, &observed).await?;
    let closed = provisioning::keep_closed(workbench, &replaced.installation).await?;
    let (keeps, lifetime) = (command.keep_sessions, loaded.config.lifetimes.flow);
    let ended = provisioning::end_what_may_be_spent(workbench, keeps, lifetime).await?;
    let waiting = workbench.store().messages_waiting().await?;
    let messages = waiting.iter().map(|topic| topic.count).sum();
    let proof = workbench.store().verify_log(&[]).await?;
    for finding in &proof.findings {
        writeln!(io::stderr(), "! {finding}")?;
    }
    if !proof.findings.is_empty() && !command.despite_findings {
        return Err(cannot(
            "the chain of the backup's security log does not hold, and nothing was put back: take \
             another backup, or put this one back with `--despite-findings`",
        ));
    }
    let findings = proof.findings.len();
    Ok(RestoreReport { ended, revoked, closed, messages, log_rows: proof.rows, findings })
}

fn tell(command: &Restore, url: &str, restored: &RestoreReport) -> Result<(), Failure> {
    let RestoreReport { ended, revoked, closed, messages, log_rows, findings } = restored;
    let chain = match findings {
        0 => "holds".to_owned(),
        many => format!("does not hold: {many} findings"),
    };
    say(&format!(
        "+ restored {} to {}; the chain of its security log {chain} ({log_rows} rows)",
        command.file.display(),
        SecretUrl::new(url)
    ))?;
    for (kind, count) in &ended.entities {
        say(&format!("- ended {count} of kind {kind}"))?;
    }
    say(&format!("- voided recovery links and codes of {} accounts", ended.accounts))?;
    for kid in revoked {
        say(&format!("- {kid} stays revoked, as the replaced store knew it"))?;
    }
    for service in closed {
        say(&format!("- {} stays closed, as in the replaced store", service.name()))?;
    }
    if command.keep_sessions {
        say(KEPT)?;
    }
    say(AS_OLD)?;
    say(SPENT)?;
    if *messages > 0 {
        say(&format!(
            "! {messages} messages were still to be delivered: some may be delivered a second time"
        ))?;
    }
    Ok(())
}

const KEPT: &str = "! Sessions and token families were kept. Those that a person or an operator ended after the \
     backup are good again, also those of a thief: `porteiro session end --everyone` ends them. A client that has \
     refreshed since presents a token that the backup does not know, and its family ends.";

const AS_OLD: &str = "! As old as the backup: memberships and roles, accounts, clients and organizations that were \
     suspended or deleted, passwords, passkeys and recovery codes (used ones are good again), consents, API keys and \
     client secrets (revoked ones are good again), webhooks, and what the replaced store did not know: revoked signing \
     keys, registration or sign-up that was closed. Look through what was ended or revoked since, and do it again.";

const SPENT: &str = "! What clients signed for one use before now (assertions, pushed requests) may be used once more until \
     it expires: wait 15 minutes before you start a server where another party may have seen them.";

/// Says what puts a database of PostgreSQL back.
fn of_postgres(url: &str, file: &Path) -> Failure {
    cannot(&format!(
        "the store is a database of PostgreSQL, which has tools of its own: stop every server, run \
         `pg_restore --clean --if-exists --single-transaction --dbname='{}' {}`, then end what was alive \
         in it by `porteiro move` to a file, `porteiro restore` of that file, and `porteiro move` to an empty \
         database, as docs/operating.md says, before you start a server",
        SecretUrl::new(url),
        file.display()
    ))
}
