//! One delivery: a leased message goes to its courier, and what became of it, a retry or its end, is written down.

use super::{Couriers, DeliveryFailure, OutboxMessage, rests::Rests};
use crate::{
    actors::{
        commit_builder::{OUTBOX_PURPOSE, outbox_context},
        failure::causes,
        outbox_metrics::{DeliveryOutcome, OutboxMetrics},
        services::Services,
    },
    crypto::{UnsealError, draw},
    store::{LeasedMessage, UNCLASSIFIED},
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// How long one delivery may take.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest pause between the first tries. A code lives for ten minutes: after longer pauses a server
/// that is back would get it too late.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// After so many tries, and some ten minutes, no code is worth a hurry.
const HURRIED_TRIES: i64 = 16;

/// The longest pause after that.
const LONGEST_LATE_PAUSE: Duration = Duration::from_mins(5);

/// What deliveries work with; clones share it.
#[derive(Clone)]
pub(super) struct Delivery {
    pub(super) services: Arc<Services>,
    pub(super) couriers: Arc<Couriers>,
    pub(super) metrics: Arc<OutboxMetrics>,
    pub(super) rests: Arc<Rests>,
}

impl Delivery {
    pub(super) async fn deliver_and_settle(&self, message: LeasedMessage) {
        let Services { clock, store, .. } = &*self.services;
        let verdict = if message.expires_at <= clock.now() {
            Err(DeliveryFailure::Never("it has expired".to_owned()))
        } else {
            self.deliver(&message).await
        };
        let (id, topic, now) = (&message.id, &message.lane.topic, clock.now());
        let (outcome, settled) = match verdict {
            Ok(()) => {
                self.rests.delivered(&message);
                (DeliveryOutcome::Delivered, store.message_delivered(&message).await)
            }
            Err(DeliveryFailure::Never(why)) => {
                tracing::error!(id, topic, why, "a message is dropped undelivered");
                (DeliveryOutcome::Dropped, store.message_dropped(&message, now).await)
            }
            Err(DeliveryFailure::Later(why)) => {
                told_of_failure(&message, &why);
                let due = now + pause(&self.services, message.attempts);
                (DeliveryOutcome::Deferred, store.message_put_off(&message, due).await)
            }
            Err(DeliveryFailure::QueueRests(rest, why)) if message.lane.class == UNCLASSIFIED => {
                told_of_failure(&message, &why);
                let due = now + rest.unwrap_or_else(|| pause(&self.services, message.attempts));
                (DeliveryOutcome::Deferred, store.message_put_off(&message, due).await)
            }
            Err(DeliveryFailure::QueueRests(rest, why)) => {
                told_of_failure(&message, &why);
                self.rests.rest_queue(&message, rest, now);
                // Behind the others of its queue: it may be this one alone that is not taken.
                (DeliveryOutcome::Deferred, store.message_put_back(&message, now).await)
            }
            Err(DeliveryFailure::TopicRests(why)) => {
                told_of_failure(&message, &why);
                self.rests.rest_topic(topic, now);
                (DeliveryOutcome::Deferred, store.message_put_back(&message, message.due_at).await)
            }
        };
        self.metrics.settled(topic, outcome);
        if let Err(error) = settled {
            // The lease runs out and the message is delivered again: at least once, not at most.
            let why = causes(&error);
            tracing::warn!(id, topic, why, "a delivery could not be settled");
        }
    }

    async fn deliver(&self, message: &LeasedMessage) -> Result<(), DeliveryFailure> {
        let topic = message.lane.topic.as_str();
        let Some(courier) = self.couriers.get(topic) else {
            return Err(DeliveryFailure::TopicRests(
                "this node is not configured to send it".to_owned(),
            ));
        };
        let context = outbox_context(&message.id, topic, message.expires_at);
        let opened = self.services.vault.now().open(OUTBOX_PURPOSE, &context, &message.payload);
        let payload = opened.map_err(|error| match error {
            UnsealError::UnknownKey => {
                DeliveryFailure::Later("its key is not in the keys folder".to_owned())
            }
            UnsealError::Malformed | UnsealError::Forged => {
                DeliveryFailure::Never("it was not sealed by us".to_owned())
            }
        })?;
        let sent = OutboxMessage { id: message.id.clone(), payload, attempt: message.attempts };
        let late = || Err(DeliveryFailure::Later("the courier took too long".to_owned()));
        timeout(DELIVERY_TIMEOUT, courier.deliver(&sent)).await.unwrap_or_else(|_elapsed| late())
    }
}

/// While a server is down every message fails again and again: the log has the first tries, and then
/// ever fewer.
fn told_of_failure(message: &LeasedMessage, why: &str) {
    let LeasedMessage { id, lane, attempts, .. } = message;
    let topic = &lane.topic;
    if u64::try_from(*attempts).is_ok_and(u64::is_power_of_two) {
        tracing::warn!(id, topic, attempt = attempts, why, "not delivered yet");
    } else {
        tracing::debug!(id, topic, attempt = attempts, why, "not delivered yet");
    }
}

/// Doubles from a second, up to a limit, less a random part so that retries do not come in waves.
fn pause(services: &Services, attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(16);
    let longest = if attempts <= HURRIED_TRIES { LONGEST_PAUSE } else { LONGEST_LATE_PAUSE };
    let whole = Duration::from_secs(1).saturating_mul(1 << doublings).min(longest);
    let [chance] = draw::<1>(&*services.dice);
    whole.mul_f64(1.0 - f64::from(chance) / 1024.0)
}
