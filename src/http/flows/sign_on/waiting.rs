//! A flow that waits for what a provider answers: what is compared with the answer, and how the answer finds the flow.

use crate::{
    domain::{
        Fingerprint, Timestamp,
        account::SealedSecret,
        flow::{Channel, Flow, PendingProofContent, PendingSignOn, SIGN_ON_STATES},
        upstream::Attempt,
    },
    http::{answer::error::Problem, app::App},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What an attempt is sealed for.
const PURPOSE: &str = "sign-on attempt";

/// What a flow holds, sealed, until the provider has answered.
#[derive(Serialize, Deserialize)]
pub struct HeldAttempt {
    pub attempt: Attempt,
    /// The id of the flow, as its browser knows it.
    pub flow: String,
    /// How lately the person was to prove at the provider who they are, where a client has asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AskedAge>,
}

/// How old a proof at a provider may be, counted from when the provider was asked.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct AskedAge {
    /// Seconds.
    pub most: u32,
    pub asked_at: Timestamp,
}

impl AskedAge {
    /// Returns how old it may be: the person is given the time that they take there.
    pub fn now(self, now: Timestamp) -> Duration {
        Duration::from_secs(self.most.into()) + now.since(self.asked_at)
    }
}

impl HeldAttempt {
    pub fn seal(&self, app: &App, name: &str) -> SealedSecret {
        let text = serde_json::to_vec(self).expect("plain data with text keys is JSON");
        let vault = app.crypto.vault.now();
        SealedSecret::new(vault.seal(PURPOSE, name.as_bytes(), &text, &*app.dice))
    }

    pub fn open(app: &App, name: &str, pending: &PendingSignOn) -> Option<Self> {
        let vault = app.crypto.vault.now();
        let text = vault.open(PURPOSE, name.as_bytes(), pending.attempt.expose()).ok()?;
        serde_json::from_slice(text.expose()).ok()
    }
}

/// A flow that waits for the answer to this very `state`.
pub struct WaitingFlow {
    /// Its id, as its browser knows it.
    pub id: String,
    pub channel: Channel,
}

impl WaitingFlow {
    /// Finds the flow that waits for an answer with this `state` at the address of this connection.
    pub async fn find(app: &App, state: &str, connection: &str) -> Result<Option<Self>, Problem> {
        let hash = Fingerprint::of(state.as_bytes());
        let Some((_, name)) = app.store.find(SIGN_ON_STATES, &String::from(hash)).await? else {
            return Ok(None);
        };
        let seen = app.views.flows.peek(&name).await?;
        let Flow::Open(open) = &seen.machine else { return Ok(None) };
        let Some(held) = open.held_for("sso", app.clock.now()) else { return Ok(None) };
        let PendingProofContent::SignOn(pending) = &held.content else { return Ok(None) };
        // RFC 9700 §4.4.2.1: each connection has an address of its own, by which a mix-up is seen.
        if pending.state != hash || pending.connection != connection {
            return Ok(None);
        }
        let held = HeldAttempt::open(app, &name, pending);
        Ok(held.map(|held| Self { id: held.flow, channel: open.seed.channel }))
    }
}
