//! A pending proof, which the first half of a step leaves for the second: a code that was sent, a ceremony that was
//! begun, a secret that is not enrolled yet.

use crate::domain::{
    Fingerprint, Timestamp, account::SealedSecret, assurance::AuthenticatorId, epoch::is_first,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many wrong codes are borne for one that was sent.
pub const MOST_WRONG: u32 = 10;

/// How many messages one flow has sent at most.
pub const MOST_MESSAGES: u32 = 10;

/// A pending proof: it waits in a flow for the step that takes it; there is one for a step at most, and a new one
/// takes the former's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingProof {
    /// The name of the step that takes it.
    pub step: String,
    pub content: PendingProofContent,
    pub expires_at: Timestamp,
    /// How many wrong codes were presented.
    #[serde(default)]
    pub wrong: u32,
    /// The account that it was made for, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The address or number that a code or link was sent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_to: Option<AuthenticatorId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingProofContent {
    /// Of a code or a link that was sent, under a key; what can be guessed is not kept unkeyed.
    Code(Fingerprint),
    /// The state of a WebAuthn ceremony.
    Ceremony(Value),
    /// A secret that must be read back.
    Secret(SealedSecret),
    /// What another provider was asked.
    SignOn(PendingSignOn),
}

/// The space of hashes of states that flows wait for.
pub const SIGN_ON_STATES: &str = "sign_on_states";

/// What another provider was asked, until it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSignOn {
    /// Of the `state` that comes back.
    pub state: Fingerprint,
    /// State, nonce and verifier.
    pub attempt: SealedSecret,
    /// The id of the connection.
    pub connection: String,
    /// Its epoch when the provider was asked.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
}

impl PendingProof {
    /// Tells whether it may be taken by `step` now.
    pub fn is_for(&self, step: &str, now: Timestamp) -> bool {
        self.step == step && now < self.expires_at
    }

    /// Returns what tells this one from every other.
    pub fn mark(&self) -> Fingerprint {
        let text = serde_json::to_vec(&self.content).expect("plain data with text keys is JSON");
        Fingerprint::of(&text)
    }
}
