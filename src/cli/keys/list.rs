//! `porteiro keys list`: the files, and where each key stands.

use super::{
    super::settings::{faults_of, key_sources, key_states},
    Failure, say,
};
use crate::{
    config::LoadedConfig,
    crypto::keys::Folder,
    domain::signing_keys::{KeyState, SigningKeys},
};
use serde_json::json;
use std::path::Path;

/// A key as it is listed.
struct KeyEntry<'a> {
    purpose: &'static str,
    kid: &'a str,
    state: Option<KeyState>,
    /// None where it is published and its file is not here.
    file: Option<&'a Path>,
    made_by_dev: bool,
}

pub(super) async fn run(loaded: &LoadedConfig, as_json: bool) -> Result<(), Failure> {
    // What is wrong with the folder is said afterwards: a list is how one finds out what to mend.
    let sources = key_sources(&loaded.config).map_err(|fault| faults_of(&[fault]))?;
    let (keys, faults) = sources.salvage();
    let Some(keys) = keys else { return Err(faults_of(&faults)) };
    let states = match &loaded.config.store.url {
        Some(url) => key_states(url.expose(), &keys).await?,
        None => None,
    };
    for key in listed(&keys, states.as_ref()) {
        say(&if as_json { key.json() } else { key.line() })?;
    }
    if faults.is_empty() { Ok(()) } else { Err(faults_of(&faults)) }
}

fn listed<'a>(keys: &'a Folder, states: Option<&'a SigningKeys>) -> Vec<KeyEntry<'a>> {
    let state = |kid: &str| states.and_then(|states| states.state_of(kid));
    let mut listed = Vec::new();
    for file in keys.signing() {
        let (purpose, kid) = (file.signer.algorithm().name(), file.signer.kid());
        let (made_by_dev, path) = (file.made_by_dev, Some(&*file.path));
        listed.push(KeyEntry { purpose, kid, state: state(kid), file: path, made_by_dev });
    }
    for key in states.into_iter().flat_map(SigningKeys::published) {
        if !keys.signing().iter().any(|file| file.signer.kid() == key.kid) {
            let (purpose, kid) = (key.algorithm.name(), &*key.kid);
            let state = Some(key.state);
            listed.push(KeyEntry { purpose, kid, state, file: None, made_by_dev: false });
        }
    }
    for file in keys.secrets() {
        let (kid, path) = (file.key.kid(), Some(&*file.path));
        let made_by_dev = file.made_by_dev;
        listed.push(KeyEntry { purpose: "secret", kid, state: None, file: path, made_by_dev });
    }
    listed
}

impl KeyEntry<'_> {
    fn json(&self) -> String {
        let file = self.file.map(|file| file.display().to_string());
        let mut line = json!({ "use": self.purpose, "kid": self.kid, "file": file,
                               "made_by_dev": self.made_by_dev });
        if let Some(state) = self.state {
            line["state"] = name_of(state).into();
        }
        line.to_string()
    }

    fn line(&self) -> String {
        let Self { purpose, kid, .. } = self;
        let state = self.state.map_or("", name_of);
        let place = match (self.file, self.state) {
            (Some(file), _) => file.display().to_string(),
            // It signs no more, and its public half is all that is needed.
            (None, Some(KeyState::Retired { .. })) => "(no file here)".to_owned(),
            (None, _) => "FILE MISSING".to_owned(),
        };
        let origin = if self.made_by_dev { "  (made by dev)" } else { "" };
        format!("{purpose:6} {kid} {state:7} {place}{origin}")
    }
}

pub(super) fn name_of(state: KeyState) -> &'static str {
    match state {
        KeyState::Next => "next",
        KeyState::Current => "current",
        KeyState::Retired { .. } => "retired",
        KeyState::Gone => "gone",
        KeyState::Revoked => "revoked",
    }
}
