//! Forgets what has expired, in small bites, and keeps the security log provable.

use super::room::Lent;
use crate::domain::Timestamp;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{sync::Arc, time::Duration};

/// Rows deleted in one transaction: few enough that nobody waits for it.
const BITE: u32 = 100;

/// Bites in one round, so that a backlog does not keep the writer to itself.
const BITES: usize = 10;

/// How the janitor works.
#[derive(Clone, Copy, Debug)]
pub struct JanitorHabits {
    /// How often it looks round.
    pub every: Duration,
    /// How often it names every head of the security log, if anything was written since.
    pub anchor_every: Duration,
    /// How long the security log is kept; `None` keeps all of it.
    pub keep_log: Option<Duration>,
}

pub(super) struct Janitor;

pub(super) struct JanitorState {
    lent: Arc<Lent>,
    habits: JanitorHabits,
    anchored_at: Timestamp,
    /// The heads as they were right after the last anchor.
    anchored: Vec<(String, i64)>,
}

/// Time to look round.
pub(super) struct LookRound;

impl Actor for Janitor {
    type Msg = LookRound;
    type State = JanitorState;
    type Arguments = (Arc<Lent>, JanitorHabits);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (lent, habits): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.send_interval(habits.every, || LookRound));
        let anchored_at = lent.clock.now();
        Ok(JanitorState { lent, habits, anchored_at, anchored: Vec::new() })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        LookRound: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let now = state.lent.clock.now();
        state.forget(now).await;
        if now.since(state.anchored_at) >= state.habits.anchor_every {
            state.anchored_at = now;
            state.anchor(now).await;
        }
        Ok(())
    }
}

impl JanitorState {
    async fn forget(&self, now: Timestamp) {
        for _ in 0..BITES {
            match self.lent.store.forget_expired(now, BITE).await {
                Ok(forgotten) if forgotten >= u64::from(BITE) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "what has expired could not be forgotten");
                    break;
                }
            }
        }
    }

    /// Names every head in the log and in our own output, which is kept outside the database.
    async fn anchor(&mut self, now: Timestamp) {
        let store = &self.lent.store;
        if store.log_heads().await.is_ok_and(|heads| heads == self.anchored) {
            return;
        }
        match store.anchor_log(now).await {
            Ok(heads) => {
                for head in heads {
                    let mac = URL_SAFE_NO_PAD.encode(&head.mac);
                    tracing::info!(lane = head.lane, seq = head.seq, mac, "security log head");
                }
            }
            Err(error) => tracing::warn!(%error, "the security log could not be anchored"),
        }
        if let Some(keep) = self.habits.keep_log {
            self.trim(now, now - keep).await;
        }
        self.anchored = self.lent.store.log_heads().await.unwrap_or_default();
    }

    async fn trim(&self, now: Timestamp, before: Timestamp) {
        let store = &self.lent.store;
        let trimmed = async {
            if store.checkpoint_log(now, before, 10_000).await? == 0 {
                return Ok(());
            }
            for _ in 0..BITES {
                if store.trim_log(BITE).await? < u64::from(BITE) {
                    break;
                }
            }
            Ok::<_, crate::store::CommitError>(())
        };
        if let Err(error) = trimmed.await {
            tracing::warn!(%error, "the security log could not be trimmed");
        }
    }
}
