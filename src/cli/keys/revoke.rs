//! `porteiro keys revoke`: takes a leaked key out of use, in whatever state its folder is.

use super::{
    super::{
        session::check_reason,
        settings::{faults_of, key_sources, workbench_at},
    },
    Failure, generator,
    list::name_of,
    origin_of, say, say_made,
};
use crate::{
    actors::INSTALLATION,
    config::LoadedConfig,
    crypto::keys::{Folder, KeySources, Purpose},
    domain::signing_keys::{Command, KeyState, Refusal, SigningAlgorithm, SigningKeys},
    store::CommitError,
    system::Workbench,
};
use clap::Args;
use serde_json::json;
use std::{
    io::{self, Write as _},
    path::PathBuf,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Revocation {
    /// The key's id, as `porteiro keys list` shows it
    #[arg(allow_hyphen_values = true)]
    kid: String,
    /// Make its successor first
    #[arg(long)]
    replace: bool,
    /// Why, for the security log; no personal data
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Say what would end, and end nothing
    #[arg(long)]
    dry_run: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(asked: &Revocation, loaded: &LoadedConfig) -> Result<(), Failure> {
    let Revocation { kid, replace, dry_run, json, .. } = asked;
    asked.reason.as_deref().map(check_reason).transpose()?;
    let sources = key_sources(&loaded.config).map_err(|fault| faults_of(&[fault]))?;
    let mut folder = salvage(&sources, true)?;
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
    let workbench = workbench_at(url, &folder).await?;
    let mut made = None;
    if *replace
        && !dry_run
        && let Some(algorithm) = algorithm_of(kid, &folder, &workbench).await?
    {
        let generator = generator(&sources.folder, origin_of(&folder));
        let key = sources.generate(&generator, Purpose::Signing(algorithm))?;
        if !json {
            say_made(&key)?;
        }
        made = Some(key.kid);
        folder = salvage(&sources, false)?;
    }
    let outcome = carry_out(asked, &folder, &workbench).await;
    workbench.close().await;
    match outcome? {
        Ok(state) if *json => {
            let said = json!({ "id": kid, "state": name_of(state), "successor": made, "rows": 0 });
            Ok(say(&said.to_string())?)
        }
        Ok(state) if *dry_run => {
            say(&format!("would revoke {kid}, which is {}; no row ends", name_of(state)))?;
            Ok(say(ABOUT_TOKENS)?)
        }
        Ok(_) => {
            say(&format!(
                "- revoked {kid}; every server will have let go of it within 20 seconds; who has \
                 fetched the key set may trust it ten minutes longer"
            ))?;
            say(ABOUT_TOKENS)?;
            if let Some(file) = file_of(&folder, kid) {
                say(&format!("  {} is of no use any more and may be deleted", file.display()))?;
            }
            Ok(())
        }
        Err(Refusal::UnknownKey) => Err(no(&format!("no key {kid} was ever published"))),
        Err(Refusal::NoSuccessor) => {
            Err(no("it signs, and no other key of its algorithm in this \
             folder could take over: revoke it with `--replace`, or run `porteiro keys rotate` \
             and revoke again"))
        }
        Err(Refusal::PrivateKeyOffered) => Err(no("a private key was about to be published")),
    }
}

/// Reads what can be read: that others could read a key is why one is revoked.
fn salvage(sources: &KeySources, tell: bool) -> Result<Folder, Failure> {
    let (folder, faults) = sources.salvage();
    let Some(folder) = folder else { return Err(faults_of(&faults)) };
    for fault in faults.iter().filter(|_| tell) {
        writeln!(io::stderr(), "{fault}")?;
    }
    Ok(folder)
}

/// What the key signed has no rows.
const ABOUT_TOKENS: &str = "  access tokens and ID tokens have no rows and are not counted: none that it signed is \
     believed any more; sessions and token families stay, and clients refresh";

/// Revokes the key, and returns its state; on a dry run, the state that it has.
async fn carry_out(
    asked: &Revocation,
    folder: &Folder,
    workbench: &Workbench,
) -> Result<Result<KeyState, Refusal>, Failure> {
    let kid = &asked.kid;
    let observed = folder.observed();
    let held: Vec<String> = observed.iter().map(|key| key.kid.clone()).collect();
    loop {
        let mut multi_commit = workbench.multi_commit_because(asked.reason.as_deref());
        // A successor that no server has seen yet may take over at once.
        let observe = Command::Observe { keys: observed.clone() };
        let seen = multi_commit.decide::<SigningKeys>(INSTALLATION, &observe).await?;
        let held_in = multi_commit.look::<SigningKeys>(INSTALLATION).await?.state_of(kid);
        let revoke = Command::Revoke { kid: kid.to_owned(), held: held.clone() };
        let decided = multi_commit.decide::<SigningKeys>(INSTALLATION, &revoke).await?;
        let is_made = asked.dry_run && asked.replace;
        match seen.and(decided) {
            // The successor would be made first.
            Err(Refusal::NoSuccessor) if is_made => {}
            Err(refusal) => return Ok(Err(refusal)),
            Ok(()) => {}
        }
        if asked.dry_run {
            return Ok(held_in.ok_or(Refusal::UnknownKey));
        }
        match multi_commit.commit().await {
            Ok(()) => return Ok(Ok(KeyState::Revoked)),
            Err(CommitError::Conflict) => {}
            Err(other) => return Err(other.into()),
        }
    }
}

/// The algorithm of a key that is here or published; none for one that has left already.
async fn algorithm_of(
    kid: &str,
    folder: &Folder,
    workbench: &Workbench,
) -> Result<Option<SigningAlgorithm>, Failure> {
    let mut multi_commit = workbench.multi_commit();
    let states = multi_commit.look::<SigningKeys>(INSTALLATION).await?;
    if let Some(key) = states.published().find(|key| key.kid == kid) {
        return Ok(Some(key.algorithm));
    }
    let unseen = folder.signing().iter().find(|file| file.signer.kid() == kid);
    let unseen = unseen.filter(|_| states.state_of(kid).is_none());
    Ok(unseen.map(|file| file.signer.algorithm()))
}

fn no(why: &str) -> Failure {
    Failure::Failed(why.into())
}

fn file_of(folder: &Folder, kid: &str) -> Option<PathBuf> {
    let found = folder.signing().iter().find(|file| file.signer.kid() == kid);
    found.map(|file| file.path.clone())
}
