//! `porteiro keys list`: the files, and where each key stands.

use super::{
    super::settings::{open_workbench, read_folder},
    Failure, dir, say,
};
use crate::{
    actors::INSTALLATION,
    config::Loaded,
    domain::signing_keys::{KeyState, SigningKeys},
};
use serde_json::json;

pub(super) async fn run(loaded: &Loaded, as_json: bool) -> Result<(), Failure> {
    let keys = read_folder(&dir(loaded))?;
    let states = states(loaded).await?;
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
