//! Reads the security log for webhooks, and leaves in the outbox what their endpoints are sent
//! (adr/0083).
//!
//! The cursor is one entity: it moves in the commit that leaves the messages, so a row is neither lost
//! nor left twice. Of two nodes that read the same rows one loses, and looks again at its next sweep.

use super::{HydrateError, MultiCommit, hydrate::parse, services::Services};
use crate::{
    domain::{
        Context, Machine as _, Timestamp,
        trail::{Entry, EntryParts},
        webhook::{
            Delivery, ENABLED_WEBHOOKS, Endpoint, MOST_WEBHOOKS, WEBHOOKS, Webhook,
            feed::{Advance, Command, Event, FEED, FOLLOWING, Feed, Places},
        },
    },
    store::{CommitError, Head, LogRow, ReadError},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

/// Rows that are read and passed on in one commit.
const BATCH: u32 = 200;

/// Batches of one lane in one sweep, so that no lane keeps the others waiting.
const BATCHES: usize = 10;

/// Nodes' clocks differ: rows of the time of an endpoint are looked for a little before it.
const CLOCKS_DIFFER: Duration = Duration::from_mins(5);

pub(super) struct WebhookFeed;

pub(super) struct FeedState {
    services: Arc<Services>,
    every: Duration,
    /// There was no endpoint when this node last looked, and the cursor rests.
    rests: bool,
}

/// Time to look for new rows.
pub(super) struct Sweep;

/// Why a sweep ended before its end.
#[derive(Debug, thiserror::Error)]
enum SweepInterruption {
    #[error("the log or an endpoint cannot be read")]
    Unreadable(#[from] HydrateError),
    #[error("the cursor could not be moved")]
    NotCommitted(#[source] CommitError),
    #[error("another node was first")]
    Elsewhere,
}

impl From<ReadError> for SweepInterruption {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error.into())
    }
}

impl Actor for WebhookFeed {
    type Msg = Sweep;
    type State = FeedState;
    type Arguments = (Arc<Services>, Duration);

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        (services, every): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.send_after(every, || Sweep));
        Ok(FeedState { services, every, rests: false })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        Sweep: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match state.sweep().await {
            Ok(()) | Err(SweepInterruption::Elsewhere) => {}
            Err(error) => tracing::warn!(%error, "the log could not be read for webhooks"),
        }
        drop(myself.send_after(state.every, || Sweep));
        Ok(())
    }
}

impl FeedState {
    async fn sweep(&mut self) -> Result<(), SweepInterruption> {
        let store = &self.services.store;
        let oldest = store.list_for_worker(ENABLED_WEBHOOKS, "", ("", ""), 1).await?;
        if oldest.is_empty() && self.rests {
            return Ok(());
        }
        let following = store.list_for_worker(FOLLOWING, "", ("", ""), 1).await?;
        let (oldest, mut feed) = match (oldest.first(), following.first()) {
            (None, following) => {
                if following.is_some() {
                    self.decide(Command::Rest).await?;
                }
                self.rests = true;
                return Ok(());
            }
            (Some(oldest), None) => (oldest, Feed::Resting),
            (Some(oldest), Some(listed)) => {
                (oldest, parse::<Feed>(&listed.id, &listed.row)?.machine)
            }
        };
        self.rests = false;
        let heads = store.log_heads().await?;
        if feed == Feed::Resting {
            let since = oldest.rank.parse().map_or(Timestamp::NEVER, Timestamp::from_millis);
            let places = self.places(&heads, since).await?;
            self.decide(Command::Begin(places.clone())).await?;
            feed.apply(&Event::Began(places));
        }
        for head in &heads {
            self.follow(head, &mut feed).await?;
        }
        Ok(())
    }

    /// Returns the places before what was written at this time or later.
    async fn places(&self, heads: &[Head], since: Timestamp) -> Result<Places, SweepInterruption> {
        let first = self.services.store.log_since(since - CLOCKS_DIFFER).await?;
        let ends = heads.iter().map(|head| (head.lane.clone(), head.seq));
        Ok(ends.chain(first.into_iter().map(|(lane, seq)| (lane, seq - 1))).collect())
    }

    /// Passes on what a lane has beyond the cursor.
    async fn follow(&self, head: &Head, feed: &mut Feed) -> Result<(), SweepInterruption> {
        let lane = &head.lane;
        for _ in 0..BATCHES {
            let Some(from) = feed.place(lane).filter(|place| *place < head.seq) else { break };
            let rows = self.services.store.log_part(lane, from, BATCH).await?;
            let Some(to) = rows.last().map(|row| row.seq) else { break };
            let deliveries = self.deliveries(&rows).await?;
            let advance = Advance { lane: lane.clone(), from, to, deliveries };
            self.decide(Command::Advance(advance)).await?;
            feed.apply(&Event::Advanced { lane: lane.clone(), to });
        }
        Ok(())
    }

    /// Says what the endpoints of these rows' organizations are sent.
    async fn deliveries(&self, rows: &[LogRow]) -> Result<Vec<Delivery>, SweepInterruption> {
        let slugs: BTreeSet<&str> =
            rows.iter().filter_map(|row| row.organization.as_deref()).collect();
        let mut endpoints = HashMap::new();
        for slug in slugs {
            endpoints.insert(slug, self.endpoints(slug).await?);
        }
        let mut deliveries = Vec::new();
        for row in rows {
            let Some(slug) = row.organization.as_deref() else { continue };
            let all = endpoints.get(slug).into_iter().flatten();
            for endpoint in all.filter(|one| one.wants(slug, &row.event, row.at)) {
                deliveries.push(Delivery::of_entry(endpoint, &entry(row)));
            }
        }
        Ok(deliveries)
    }

    async fn endpoints(&self, slug: &str) -> Result<Vec<Endpoint>, SweepInterruption> {
        let most = u32::from(MOST_WEBHOOKS);
        let page = self.services.store.list_for_worker(WEBHOOKS, slug, ("", ""), most).await?;
        let mut endpoints = Vec::new();
        for listed in page {
            let webhook = parse::<Webhook>(&listed.id, &listed.row)?.machine;
            endpoints.extend(webhook.known().filter(|one| one.enabled).cloned());
        }
        Ok(endpoints)
    }

    async fn decide(&self, command: Command) -> Result<(), SweepInterruption> {
        let mut commit = MultiCommit::new(self.services.clone(), Context::node());
        if commit.decide::<Feed>(FEED, &command).await?.is_err() {
            return Err(SweepInterruption::Elsewhere);
        }
        commit.commit().await.map_err(|error| match error {
            CommitError::Conflict => SweepInterruption::Elsewhere,
            error => SweepInterruption::NotCommitted(error),
        })
    }
}

fn entry(row: &LogRow) -> Entry {
    let LogRow { lane, seq, at, event, kind, id, detail, .. } = row;
    Entry::of(&EntryParts { lane, seq: *seq, at: *at, event, kind, id, detail })
}
