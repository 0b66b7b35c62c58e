//! `porteiro keys`: makes, rotates, revokes and lists the keys of an installation.

use super::{
    Failure, progress, say,
    settings::{Given, KeysFolder, StoreUrl, open_workbench, read_folder},
};
use crate::{
    actors::INSTALLATION,
    clock::SystemClock,
    config::Loaded,
    crypto::{
        SystemDice,
        keys::{Folder, GeneratedKey, Generator, Origin, Purpose},
    },
    domain::{
        Clock as _,
        signing_keys::{Command as KeyCommand, KeyState, Refusal, SigningAlgorithm, SigningKeys},
    },
    store::CommitError,
};
use clap::Subcommand;
use serde_json::json;
use std::path::Path;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make one signing key for RS256, ES256 and EdDSA each, and one secret key
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
        /// The key's id, as `porteiro keys list` shows it
        #[arg(allow_hyphen_values = true)]
        kid: String,
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

pub(super) async fn run(command: Command, given: Given) -> Result<(), Failure> {
    match command {
        Command::Generate { folder } => {
            generate(&dir(&given.with_keys(folder).load(&["keys.dir"])?), Origin::Generate)
        }
        Command::Rotate { folder, algorithm } => {
            rotate(&dir(&given.with_keys(folder).load(&["keys.dir"])?), algorithm)
        }
        Command::Revoke { kid, folder, store } => {
            let given = given.with_keys(folder).with_store(store);
            revoke(&kid, given.load(&["keys.dir", "store.url"])?).await
        }
        Command::List { folder, store, json } => {
            list(given.with_keys(folder).with_store(store).load(&["keys.dir"])?, json).await
        }
    }
}

fn dir(loaded: &Loaded) -> std::path::PathBuf {
    loaded.config.keys.dir.clone().unwrap_or_default()
}

/// Makes the keys of a new installation.
fn generate(folder: &Path, origin: Origin) -> Result<(), Failure> {
    let occupied = folder.read_dir().is_ok_and(|mut files| files.next().is_some());
    if occupied {
        let why = format!("{}: there are files in this folder already", folder.display());
        return Err(Failure::Configuration(vec![why]));
    }
    let waiting = progress::spinner("making keys");
    let made = generator(folder, origin).generate_all()?;
    waiting.finish_and_clear();
    made.iter().try_for_each(say_made)
}

fn rotate(folder: &Path, only: Option<SigningAlgorithm>) -> Result<(), Failure> {
    let keys = read_folder(folder)?;
    // What dev made stays a development installation, whoever rotates its keys.
    let dev = keys.signing().iter().any(|file| file.made_by_dev);
    let origin = if dev { Origin::Dev } else { Origin::Generate };
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
        .map(|one| generator(folder, origin).generate(Purpose::Signing(one)))
        .collect();
    waiting.finish_and_clear();
    made?.iter().try_for_each(say_made)
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

async fn revoke(kid: &str, loaded: Loaded) -> Result<(), Failure> {
    let folder = read_folder(&dir(&loaded))?;
    let (observed, file) = (folder.observed(), file_of(&folder, kid));
    let workbench = open_workbench(&loaded).await?;
    let outcome = loop {
        let mut together = workbench.together();
        // A successor that no server has seen yet may take over at once.
        let observe = KeyCommand::Observe { keys: observed.clone() };
        let seen = together.decide::<SigningKeys>(INSTALLATION, &observe).await?;
        let revoke = KeyCommand::Revoke { kid: kid.to_owned() };
        let decided = together.decide::<SigningKeys>(INSTALLATION, &revoke).await?;
        if let Err(refusal) = seen.and(decided) {
            break Err(refusal);
        }
        match together.commit().await {
            Ok(()) => break Ok(()),
            Err(CommitError::Conflict) => {}
            Err(other) => return Err(other.into()),
        }
    };
    workbench.close().await;
    match outcome {
        Ok(()) => {
            say(&format!("- revoked {kid}; every server has let go of it within 20 seconds"))?;
            if let Some(file) = file {
                say(&format!("  {} is of no use any more and may be deleted", file.display()))?;
            }
            Ok(())
        }
        Err(Refusal::UnknownKey) => Err(no(&format!("no key {kid} was ever published"))),
        Err(Refusal::NoSuccessor) => {
            Err(no("it signs, and no other key of its algorithm could take over: \
             run `porteiro keys rotate`, then revoke again"))
        }
        Err(Refusal::PrivateKeyOffered) => Err(no("a private key was about to be published")),
    }
}

fn no(why: &str) -> Failure {
    Failure::Failed(why.into())
}

fn file_of(folder: &Folder, kid: &str) -> Option<std::path::PathBuf> {
    let found = folder.signing().iter().find(|file| file.signer.kid() == kid);
    found.map(|file| file.path.clone())
}

async fn list(loaded: Loaded, as_json: bool) -> Result<(), Failure> {
    let keys = read_folder(&dir(&loaded))?;
    let states = states(&loaded).await?;
    let signing = keys.signing().iter().map(|file| {
        (file.signer.algorithm().name(), file.signer.kid(), &file.path, file.made_by_dev)
    });
    let secrets =
        keys.secrets().iter().map(|file| ("secret", file.key.kid(), &file.path, file.made_by_dev));
    for (purpose, kid, path, made_by_dev) in signing.chain(secrets) {
        let state = states.as_ref().and_then(|states| states.state_of(kid)).map(name_of);
        if as_json {
            let file = path.display().to_string();
            let mut line =
                json!({ "use": purpose, "kid": kid, "file": file, "made_by_dev": made_by_dev });
            if let Some(state) = state {
                line["state"] = state.into();
            }
            say(&line.to_string())?;
        } else {
            let origin = if made_by_dev { "  (made by dev)" } else { "" };
            let state = state.unwrap_or("");
            say(&format!("{purpose:6} {kid} {state:7} {}{origin}", path.display()))?;
        }
    }
    Ok(())
}

/// Reads where the keys stand, if the store is known and was ever used.
async fn states(loaded: &Loaded) -> Result<Option<SigningKeys>, Failure> {
    let Some(url) = &loaded.config.store.url else { return Ok(None) };
    if !crate::store::pending_migrations(url.expose()).await?.is_empty() {
        return Ok(None);
    }
    let workbench = open_workbench(loaded).await?;
    let states = workbench.together().look::<SigningKeys>(INSTALLATION).await.cloned();
    workbench.close().await;
    Ok(Some(states?))
}

fn name_of(state: KeyState) -> &'static str {
    match state {
        KeyState::Next => "next",
        KeyState::Current => "current",
        KeyState::Retired { .. } => "retired",
        KeyState::Gone => "gone",
        KeyState::Revoked => "revoked",
    }
}
