//! What a person typed into a profile that was refused: it is filled in again.
//!
//! It travels in the address of the page, sealed to the flow: no name is in a log, and no link that
//! another person made fills anything in.

use crate::http::{app::App, extract::form::Form};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

const PURPOSE: &str = "typed";
/// More than a form of ours takes is not kept: it must fit into an address.
const LONGEST: usize = 1_000;

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedProfile {
    #[serde(rename = "g")]
    pub given_name: String,
    #[serde(rename = "f")]
    pub family_name: String,
    #[serde(rename = "e")]
    pub email: String,
}

impl TypedProfile {
    /// Reads a profile.
    pub fn of(form: &Form) -> Option<Self> {
        let field = |name| form.get(name).unwrap_or_default().to_owned();
        (form.get("step") == Some("profile")).then(|| Self {
            given_name: field("given_name"),
            family_name: field("family_name"),
            email: field("email"),
        })
    }

    /// Seals it for the page of this flow.
    pub fn seal(&self, app: &App, flow: &str) -> Option<String> {
        let typed = serde_json::to_vec(self).ok().filter(|typed| typed.len() <= LONGEST)?;
        let sealed = app.crypto.vault.now().seal(PURPOSE, flow.as_bytes(), &typed, &*app.dice);
        Some(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens what was sealed for this flow; nothing, where it is anything else.
    pub fn open(app: &App, flow: &str, sealed: &str) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok().filter(|all| all.len() <= 2 * LONGEST)?;
        let typed = app.crypto.vault.now().open(PURPOSE, flow.as_bytes(), &sealed).ok()?;
        serde_json::from_slice(typed.expose()).ok()
    }
}
