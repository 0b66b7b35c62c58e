//! A passkey, as an account keeps it.

use crate::domain::{Timestamp, is_hidden};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many passkeys an account may have: enough for every device, few enough to be read at once.
pub const MOST_PASSKEYS: usize = 20;

/// How many characters the name of a passkey has at most.
pub const LONGEST_PASSKEY_NAME: usize = 64;

/// A key pair whose private half a person's device or password manager keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// The credential id in base64url; no two passkeys of an account share one.
    pub id: String,
    /// What the person calls it.
    pub name: String,
    /// What verifies it, as the WebAuthn library writes it: public key, counter, backup flags.
    pub verifier: Value,
    /// It may be copied to other devices of the person.
    #[serde(default)]
    pub backup_eligible: bool,
    /// It was copied, when it was last used.
    #[serde(default)]
    pub backed_up: bool,
    /// Its attestation was verified: the private half does not leave its hardware.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attested: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
}

/// A passkey that has just proved who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyUse {
    pub id: String,
    /// What verifies it from now on; `None` where nothing changed.
    pub verifier: Option<Value>,
    pub backed_up: bool,
    /// The counter did not grow: the private half may have been copied (WebAuthn §6.1.1).
    pub counter_regressed: bool,
}

impl Passkey {
    /// Returns what a person calls a passkey, bounded and visible.
    pub fn named(text: &str) -> String {
        let visible = text.trim().chars().filter(|one| !one.is_control() && !is_hidden(*one));
        let name: String = visible.take(LONGEST_PASSKEY_NAME).collect();
        if name.is_empty() { "Passkey".to_owned() } else { name }
    }
}
