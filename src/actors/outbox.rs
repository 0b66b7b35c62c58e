//! Delivers what commits have left for the outside: at least once, with retries.
//!
//! A message is leased by compare-and-swap, so that nodes do not deliver it twice while all goes
//! well; a courier that dies lets the lease run out and another one tries. What cannot be delivered
//! is tried again, ever later, until it has expired; then it is erased and the security log says so.

use super::{
    commit_builder::{OUTBOX_PURPOSE, outbox_context},
    failure::causes,
    outbox_metrics::{OutboxMetrics, Settled},
    services::Services,
    wake::send_on_signal,
};
use crate::{
    crypto::{Unsealable, draw},
    domain::{Secret, Timestamp},
    store::Leased,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{collections::HashMap, future::Future, pin::Pin, sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::timeout};

/// How many deliveries are under way at once.
const MOST_AT_ONCE: usize = 16;

/// With this many under way or fewer, a delivery that ends fetches more.
const FETCH_BELOW: usize = MOST_AT_ONCE / 2;

/// How long one delivery may take.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long deliveries under way are waited for when the outbox stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a message stays with a courier; longer than a delivery and its settling.
const LEASE: Duration = Duration::from_mins(1);

/// The longest pause between the first tries. A code lives for ten minutes: after longer pauses a server
/// that is back would get it too late.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// After so many tries, and some ten minutes, no code is worth a hurry.
const HURRIED_TRIES: i64 = 16;

/// The longest pause after that.
const LONGEST_LATE_PAUSE: Duration = Duration::from_mins(5);

/// How often what waits is counted, for operators.
const COUNT_EVERY: Duration = Duration::from_secs(5);

/// What a courier delivers.
#[derive(Debug)]
pub struct Parcel {
    pub id: String,
    pub payload: Secret,
    /// 1 for the first try.
    pub attempt: i64,
}

/// Why a parcel was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// Another try may succeed.
    Later(String),
    /// Another try may succeed, but not before so much time has passed.
    NotBefore(Duration, String),
    /// No try ever will.
    Never(String),
}

pub type Delivering<'a> = Pin<Box<dyn Future<Output = Result<(), Undelivered>> + Send + 'a>>;

/// Carries messages of one topic.
pub trait Courier: Send + Sync {
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> Delivering<'a>;
}

/// The couriers by topic.
pub type Couriers = HashMap<&'static str, Arc<dyn Courier>>;

pub(super) struct Outbox;

pub(super) struct OutboxArguments {
    pub(super) services: Arc<Services>,
    pub(super) couriers: Arc<Couriers>,
    pub(super) metrics: Arc<OutboxMetrics>,
    /// How often to look for messages that other nodes have left.
    pub(super) every: Duration,
}

pub(super) struct OutboxState {
    services: Arc<Services>,
    couriers: Arc<Couriers>,
    metrics: Arc<OutboxMetrics>,
    /// When what waits was last counted.
    counted_at: Timestamp,
    /// Deliveries under way.
    deliveries: JoinSet<()>,
    /// Sends `Sweep`; ends with the actor.
    listener: JoinSet<()>,
    under_way: usize,
}

pub(super) enum Message {
    Sweep,
    Delivered,
}

impl Actor for Outbox {
    type Msg = Message;
    type State = OutboxState;
    type Arguments = OutboxArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let OutboxArguments { services, couriers, metrics, every } = arguments;
        let store = services.store.clone();
        let listener = send_on_signal(
            myself,
            || Message::Sweep,
            move || {
                let store = store.clone();
                async move {
                    // Whichever comes first: a message of our own, or the time to look for others'.
                    let _ = timeout(every, store.message_posted()).await;
                }
            },
        );
        Ok(OutboxState {
            services,
            couriers,
            metrics,
            counted_at: Timestamp::NEVER,
            deliveries: JoinSet::new(),
            listener,
            under_way: 0,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if matches!(message, Message::Delivered) {
            state.under_way -= 1;
            while state.deliveries.try_join_next().is_some() {}
            // One lease for several messages; the next look comes within a second anyway.
            if state.under_way > FETCH_BELOW {
                return Ok(());
            }
        }
        state.fetch(&myself).await;
        state.count().await;
        Ok(())
    }

    /// Waits for deliveries that are under way: each one that is left is made again.
    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.listener.abort_all();
        let all_done = async { while state.deliveries.join_next().await.is_some() {} };
        if timeout(STOP_TIMEOUT, all_done).await.is_err() {
            tracing::warn!("deliveries were still under way and will be made again");
        }
        Ok(())
    }
}

impl OutboxState {
    /// Counts what waits, now and then.
    async fn count(&mut self) {
        let now = self.services.clock.now();
        if now.since(self.counted_at) < COUNT_EVERY {
            return;
        }
        self.counted_at = now;
        match self.services.store.messages_waiting().await {
            Ok(waiting) => self.metrics.waiting(&waiting),
            Err(error) => tracing::warn!(why = causes(&error), "the outbox could not be counted"),
        }
    }

    /// Leases as many messages as may be under way and starts their deliveries.
    async fn fetch(&mut self, myself: &ActorRef<Message>) {
        let free = u32::try_from(MOST_AT_ONCE - self.under_way).unwrap_or(0);
        if free == 0 {
            return;
        }
        let now = self.services.clock.now();
        match self.services.store.next_message_due().await {
            Ok(Some(due)) if due <= now => {}
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(why = causes(&error), "the outbox could not be read");
                return;
            }
        }
        let leased = match self.services.store.lease_messages(now, now + LEASE, free).await {
            Ok(leased) => leased,
            Err(error) => {
                tracing::warn!(why = causes(&error), "messages could not be leased");
                return;
            }
        };
        for message in leased {
            self.under_way += 1;
            let delivery = Delivery {
                services: self.services.clone(),
                couriers: self.couriers.clone(),
                metrics: self.metrics.clone(),
            };
            let done = Done(myself.clone());
            self.deliveries.spawn(async move {
                delivery.deliver_and_settle(message).await;
                drop(done);
            });
        }
    }
}

/// Reports back when dropped, so that a courier that panics is no longer counted.
struct Done(ActorRef<Message>);

impl Drop for Done {
    fn drop(&mut self) {
        let _ = self.0.send_message(Message::Delivered);
    }
}

/// What one delivery works with.
struct Delivery {
    services: Arc<Services>,
    couriers: Arc<Couriers>,
    metrics: Arc<OutboxMetrics>,
}

impl Delivery {
    async fn deliver_and_settle(&self, message: Leased) {
        let Services { clock, store, .. } = &*self.services;
        let verdict = if message.expires_at <= clock.now() {
            Err(Undelivered::Never("it has expired".to_owned()))
        } else {
            self.deliver(&message).await
        };
        let (id, topic) = (&message.id, &message.topic);
        let (outcome, settled) = match verdict {
            Ok(()) => (Settled::Delivered, store.message_delivered(&message).await),
            Err(Undelivered::Later(why)) => {
                told_of_failure(&message, &why);
                let due = clock.now() + pause(&self.services, message.attempts);
                (Settled::Deferred, store.message_deferred(&message, due).await)
            }
            Err(Undelivered::NotBefore(pause, why)) => {
                told_of_failure(&message, &why);
                (Settled::Deferred, store.message_deferred(&message, clock.now() + pause).await)
            }
            Err(Undelivered::Never(why)) => {
                tracing::error!(id, topic, why, "a message is dropped undelivered");
                (Settled::Dropped, store.message_dropped(&message, clock.now()).await)
            }
        };
        self.metrics.settled(topic, outcome);
        if let Err(error) = settled {
            // The lease runs out and the message is delivered again: at least once, not at most.
            let why = causes(&error);
            tracing::warn!(id, topic, why, "a delivery could not be settled");
        }
    }

    async fn deliver(&self, message: &Leased) -> Result<(), Undelivered> {
        let Some(courier) = self.couriers.get(message.topic.as_str()) else {
            return Err(Undelivered::Later("no courier for this topic here".to_owned()));
        };
        let context = outbox_context(&message.id, &message.topic, message.expires_at);
        let opened = self.services.vault.now().open(OUTBOX_PURPOSE, &context, &message.payload);
        let payload = opened.map_err(|error| match error {
            Unsealable::UnknownKey => {
                Undelivered::Later("its key is not in the keys folder".to_owned())
            }
            Unsealable::Malformed | Unsealable::Forged => {
                Undelivered::Never("it was not sealed by us".to_owned())
            }
        })?;
        let parcel = Parcel { id: message.id.clone(), payload, attempt: message.attempts };
        let late = || Err(Undelivered::Later("the courier took too long".to_owned()));
        timeout(DELIVERY_TIMEOUT, courier.deliver(&parcel)).await.unwrap_or_else(|_elapsed| late())
    }
}

/// While a server is down every message fails again and again: the log has the first tries, and then
/// ever fewer.
fn told_of_failure(message: &Leased, why: &str) {
    let Leased { id, topic, attempts, .. } = message;
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
