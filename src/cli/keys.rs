//! `porteiro keys`: makes and lists the keys of an installation.

use super::{Failure, KeysFolder, read_folder, say};
use crate::{
    clock::SystemClock,
    crypto::{
        SystemDice,
        keys::{Generator, Origin, Purpose},
    },
    domain::Clock as _,
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
    /// List the keys in the folder
    List {
        #[command(flatten)]
        folder: KeysFolder,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Generate { folder } => generate(&folder.path),
        Command::List { folder, json } => list(&folder, json),
    }
}

fn generate(folder: &Path) -> Result<(), Failure> {
    let occupied = folder.read_dir().is_ok_and(|mut files| files.next().is_some());
    if occupied {
        let why = format!("{}: there are files in this folder already", folder.display());
        return Err(Failure::Configuration(vec![why]));
    }
    let created_at = SystemClock.now();
    let generator = Generator { folder, origin: Origin::Generate, created_at, dice: &SystemDice };
    for key in generator.generate_all()? {
        let purpose = match key.purpose {
            Purpose::Signing(algorithm) => algorithm.name(),
            Purpose::Secret => "secret",
        };
        say(&format!("+ {purpose} {} {}", key.kid, key.path.display()))?;
    }
    Ok(())
}

fn list(folder: &KeysFolder, as_json: bool) -> Result<(), Failure> {
    let keys = read_folder(folder)?;
    let signing = keys.signing().iter().map(|file| {
        (file.signer.algorithm().name(), file.signer.kid(), &file.path, file.made_by_dev)
    });
    let secrets =
        keys.secrets().iter().map(|file| ("secret", file.key.kid(), &file.path, file.made_by_dev));
    for (purpose, kid, path, made_by_dev) in signing.chain(secrets) {
        if as_json {
            let file = path.display().to_string();
            let line =
                json!({ "use": purpose, "kid": kid, "file": file, "made_by_dev": made_by_dev });
            say(&line.to_string())?;
        } else {
            let origin = if made_by_dev { "  (made by dev)" } else { "" };
            say(&format!("{purpose:6} {kid} {}{origin}", path.display()))?;
        }
    }
    Ok(())
}
