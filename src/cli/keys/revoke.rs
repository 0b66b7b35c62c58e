//! `porteiro keys revoke`: takes a leaked key out of use, in whatever state its folder is.

use super::{
    super::settings::{faults_of, key_sources, workbench_at},
    Failure, generator, origin_of, say, say_made,
};
use crate::{
    actors::INSTALLATION,
    config::Loaded,
    crypto::keys::{Folder, KeySources, Purpose},
    domain::signing_keys::{Command, Refusal, SigningAlgorithm, SigningKeys},
    store::CommitError,
    system::Workbench,
};
use std::{
    io::{self, Write as _},
    path::PathBuf,
};

pub(super) async fn run(kid: &str, replace: bool, loaded: &Loaded) -> Result<(), Failure> {
    let sources = key_sources(&loaded.config).map_err(|fault| faults_of(&[fault]))?;
    let mut folder = salvage(&sources, true)?;
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
    let workbench = workbench_at(url, &folder).await?;
    if replace && let Some(algorithm) = algorithm_of(kid, &folder, &workbench).await? {
        let generator = generator(&sources.folder, origin_of(&folder));
        say_made(&sources.generate(&generator, Purpose::Signing(algorithm))?)?;
        folder = salvage(&sources, false)?;
    }
    let outcome = carry_out(kid, &folder, &workbench).await;
    workbench.close().await;
    match outcome? {
        Ok(()) => {
            say(&format!(
                "- revoked {kid}; every server will have let go of it within 20 seconds; who has \
                 fetched the key set may trust it ten minutes longer"
            ))?;
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

async fn carry_out(
    kid: &str,
    folder: &Folder,
    workbench: &Workbench,
) -> Result<Result<(), Refusal>, Failure> {
    let observed = folder.observed();
    let held: Vec<String> = observed.iter().map(|key| key.kid.clone()).collect();
    loop {
        let mut multi_commit = workbench.multi_commit();
        // A successor that no server has seen yet may take over at once.
        let observe = Command::Observe { keys: observed.clone() };
        let seen = multi_commit.decide::<SigningKeys>(INSTALLATION, &observe).await?;
        let revoke = Command::Revoke { kid: kid.to_owned(), held: held.clone() };
        let decided = multi_commit.decide::<SigningKeys>(INSTALLATION, &revoke).await?;
        if let Err(refusal) = seen.and(decided) {
            return Ok(Err(refusal));
        }
        match multi_commit.commit().await {
            Ok(()) => return Ok(Ok(())),
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
