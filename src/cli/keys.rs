//! `porteiro keys`: makes, rotates, revokes and lists the keys of an installation.

mod list;
mod revoke;

use super::{
    Failure, progress, say,
    settings::{CommandSettings, KeysFolder, StoreUrl, faults_of, key_sources},
};
use crate::{
    clock::SystemClock,
    config::LoadedConfig,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder, GeneratedKey, Generator, KeySources, Origin, Purpose},
    },
    domain::{Clock as _, signing_keys::SigningAlgorithm},
};
use clap::Subcommand;
use std::path::Path;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make one signing key for RS256 (and PS256), ES256 and EdDSA each, and one secret key
    Generate {
        #[command(flatten)]
        folder: KeysFolder,
    },
    /// Make the next signing keys: published by running servers at once, signing ten minutes later
    Rotate {
        #[command(flatten)]
        folder: KeysFolder,
        /// Only this algorithm: RS256, PS256, ES256 or EdDSA
        #[arg(long, value_parser = algorithm)]
        algorithm: Option<SigningAlgorithm>,
    },
    /// Take a leaked key out of use at once: what it signed is no longer believed
    Revoke {
        #[command(flatten)]
        revocation: revoke::Revocation,
        #[command(flatten)]
        folder: KeysFolder,
        #[command(flatten)]
        store: StoreUrl,
    },
    /// List the keys in the folder, and where they stand if the store is known
    List {
        #[command(flatten)]
        folder: KeysFolder,
        #[command(flatten)]
        store: StoreUrl,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

fn algorithm(name: &str) -> Result<SigningAlgorithm, &'static str> {
    SigningAlgorithm::by_name(name).ok_or("it is one of RS256, PS256, ES256, EdDSA")
}

pub(super) async fn run(command: Command, given: CommandSettings) -> Result<(), Failure> {
    match command {
        Command::Generate { folder } => {
            generate(&sources(&given.with_keys(folder).load(&["keys.dir"])?)?, Origin::Generate)
        }
        Command::Rotate { folder, algorithm } => {
            rotate(&sources(&given.with_keys(folder).load(&["keys.dir"])?)?, algorithm)
        }
        Command::Revoke { revocation, folder, store } => {
            let given = given.with_keys(folder).with_store(store);
            let loaded = given.load(&["keys.dir", "store.url"])?;
            revoke::run(&revocation, &loaded).await
        }
        Command::List { folder, store, json } => {
            list::run(&given.with_keys(folder).with_store(store).load(&["keys.dir"])?, json).await
        }
    }
}

fn sources(loaded: &LoadedConfig) -> Result<KeySources, Failure> {
    key_sources(&loaded.config).map_err(|fault| faults_of(&[fault]))
}

/// Makes the keys of a new installation.
fn generate(sources: &KeySources, origin: Origin) -> Result<(), Failure> {
    let folder = &sources.folder;
    let occupied = folder.read_dir().is_ok_and(|mut files| files.next().is_some());
    if occupied {
        let why = format!("{}: there are files in this folder already", folder.display());
        return Err(Failure::Configuration(vec![why]));
    }
    if let Some(token) = &sources.token
        && !token.signing_keys().map_err(|faults| faults_of(&faults))?.is_empty()
    {
        let why = format!("{}: there are keys of ours in this token already", token.describe());
        return Err(Failure::Configuration(vec![why]));
    }
    let waiting = progress::spinner("making keys");
    let made = sources.generate_all(&generator(folder, origin))?;
    waiting.finish_and_clear();
    made.iter().try_for_each(say_made)
}

fn rotate(sources: &KeySources, only: Option<SigningAlgorithm>) -> Result<(), Failure> {
    let (keys, faults) = sources.salvage();
    // A token that is new has no key for tokens yet: this makes them.
    let can_act = sources.token.is_some() || sources.load(DevKeys::Accepted).is_ok();
    let Some(keys) = keys.filter(|_| can_act) else { return Err(faults_of(&faults)) };
    let held = |algorithm: &SigningAlgorithm| {
        keys.signing().iter().any(|file| file.signer.algorithm() == *algorithm)
    };
    let algorithms: Vec<SigningAlgorithm> = match only {
        Some(one) => vec![one],
        None => SigningAlgorithm::ALL.into_iter().filter(held).collect(),
    };
    let waiting = progress::spinner("making keys");
    let made: Result<Vec<_>, _> = algorithms
        .into_iter()
        .map(|one| {
            let generator = generator(&sources.folder, origin_of(&keys));
            sources.generate(&generator, Purpose::Signing(one))
        })
        .collect();
    waiting.finish_and_clear();
    made?.iter().try_for_each(say_made)
}

/// What dev made stays a development installation, though a command adds keys to it.
fn origin_of(keys: &Folder) -> Origin {
    let dev = keys.signing().iter().any(|file| file.made_by_dev);
    if dev { Origin::Dev } else { Origin::Generate }
}

fn generator(folder: &Path, origin: Origin) -> Generator<'_> {
    Generator { folder, origin, created_at: SystemClock.now(), dice: &SystemDice }
}

fn say_made(key: &GeneratedKey) -> Result<(), Failure> {
    let purpose = match key.purpose {
        Purpose::Signing(algorithm) => algorithm.name(),
        Purpose::Secret => "secret",
    };
    Ok(say(&format!("+ {purpose} {} {}", key.kid, key.path.display()))?)
}
