//! Deletes what has expired, in small batches, erases accounts whose time has come, and keeps the
//! security log provable.

use super::{connection_purge, eraser, services::Services};
use crate::{
    domain::Timestamp,
    store::{CommitError, Head, Store},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{sync::Arc, time::Duration};

/// Under which name the heads of the security log are logged, for keeping outside the database.
pub const LOG_HEADS: &str = "porteiro::log_heads";

/// Rows deleted in one transaction: few enough that no request waits for it.
const BATCH: u32 = 100;

/// Batches in one sweep, so that a backlog does not keep the writer to itself.
const BATCHES: usize = 10;

/// How long a sweep with a backlog leaves the writer to others.
const PAUSE: Duration = Duration::from_millis(100);

/// Rows of the security log that are proven for one checkpoint.
const PROVEN: u32 = 10_000;

/// How the janitor works.
#[derive(Clone, Copy, Debug)]
pub struct JanitorOptions {
    /// How often it sweeps.
    pub every: Duration,
    /// How often it names every head of the security log, if anything was written since; and how
    /// often it looks for rows of it that need be kept no longer.
    pub anchor_every: Duration,
    /// How long the security log is kept; `None` keeps all of it.
    pub keep_log: Option<Duration>,
}

pub(super) struct Janitor;

pub(super) struct JanitorState {
    services: Arc<Services>,
    options: JanitorOptions,
    anchored_at: Timestamp,
    /// The heads that our last anchor named.
    anchored: Vec<Head>,
    checkpointed_at: Timestamp,
}

/// Time to sweep.
pub(super) struct Sweep;

/// What is deleted.
#[derive(Clone, Copy, Debug)]
enum Waste {
    Expired,
    OldLog,
}

/// Whether a sweep has left something undone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backlog {
    None,
    Some,
}

impl Actor for Janitor {
    type Msg = Sweep;
    type State = JanitorState;
    type Arguments = (Arc<Services>, JanitorOptions);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (services, options): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.send_after(options.every, || Sweep));
        let anchored_at = services.clock.now();
        // At once: a node that is often restarted shortens the log, too.
        let checkpointed_at = Timestamp::NEVER;
        Ok(JanitorState { services, options, anchored_at, anchored: Vec::new(), checkpointed_at })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        Sweep: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let backlog = state.sweep().await;
        // Only now, and once: sweeps that take long do not queue up behind each other.
        let pause = match backlog {
            Backlog::None => state.options.every,
            Backlog::Some => state.options.every.min(PAUSE),
        };
        drop(myself.send_after(pause, || Sweep));
        Ok(())
    }
}

/// Names every head in the log itself and in our own output, which is kept outside the database.
pub async fn export_log_heads(store: &Store, now: Timestamp) -> Result<Vec<Head>, CommitError> {
    let heads = store.anchor_log(now).await?;
    for Head { lane, seq, mac } in &heads {
        let mac = URL_SAFE_NO_PAD.encode(mac);
        tracing::info!(target: LOG_HEADS, lane, seq, mac, "security log head");
    }
    Ok(heads)
}

impl JanitorState {
    async fn sweep(&mut self) -> Backlog {
        let now = self.services.clock.now();
        let forgotten = self.delete(Waste::Expired, now).await;
        eraser::erase_due(&self.services, now).await;
        connection_purge::purge(&self.services).await;
        if now.since(self.anchored_at) >= self.options.anchor_every {
            self.anchored_at = now;
            self.anchor(now).await;
        }
        let Some(keep) = self.options.keep_log else { return forgotten };
        if now.since(self.checkpointed_at) >= self.options.anchor_every {
            self.checkpoint(now, now - keep).await;
        }
        let trimmed = self.delete(Waste::OldLog, now).await;
        if trimmed == Backlog::Some { trimmed } else { forgotten }
    }

    /// Exports the heads, if anything was written since.
    async fn anchor(&mut self, now: Timestamp) {
        let store = &self.services.store;
        // Anchors and checkpoints are no news: two nodes would answer each other's for ever.
        if store.log_written_after(&self.anchored).await.is_ok_and(|news| !news) {
            return;
        }
        match export_log_heads(store, now).await {
            Ok(heads) => self.anchored = heads,
            Err(error) => tracing::warn!(%error, "the security log could not be anchored"),
        }
    }

    /// Allows what is older than `before` to be deleted; if that is a lot, the next sweep goes on.
    async fn checkpoint(&mut self, now: Timestamp, before: Timestamp) {
        match self.services.store.checkpoint_log(now, before, PROVEN).await {
            Ok(allowed) if allowed >= u64::from(PROVEN) => {}
            Ok(_) => self.checkpointed_at = now,
            Err(error) => {
                self.checkpointed_at = now;
                tracing::warn!(%error, "the security log could not be checkpointed");
            }
        }
    }

    /// Deletes in batches until there is too little left for one, or this sweep has done enough.
    async fn delete(&self, waste: Waste, now: Timestamp) -> Backlog {
        let store = &self.services.store;
        for _ in 0..BATCHES {
            let deleted = match waste {
                Waste::Expired => store.forget_expired(now, BATCH).await,
                Waste::OldLog => store.trim_log(BATCH).await,
            };
            match deleted {
                Ok(deleted) if deleted >= u64::from(BATCH) => {}
                Ok(_) => return Backlog::None,
                Err(error) => {
                    tracing::warn!(%error, ?waste, "what is over could not be deleted");
                    return Backlog::None;
                }
            }
        }
        Backlog::Some
    }
}
