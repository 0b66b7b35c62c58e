//! Delivers what commits have left for the outside: at least once, with retries, in classes (adr/0118).
//!
//! A message is leased by compare-and-swap, so that nodes do not deliver it twice while all goes
//! well; a courier that dies lets the lease run out and another one tries. What cannot be delivered
//! is tried again, ever later, until it has expired; then it is erased and the security log says so.
//!
//! Each class of messages has workers of its own ([`turns`]), so that a code waits for no notice and no webhook. What waits
//! for an endpoint that fails, or for a server that is away, is not leased ([`rests`]).

mod delivery;
mod rests;
mod turns;

use super::{
    failure::causes,
    outbox_metrics::{DeliveryOutcome, OutboxMetrics},
    services::Services,
    wake::send_on_signal,
};
use crate::{
    clock::Stopwatch,
    domain::{Secret, Timestamp},
    store::{DueMessage, OutboxLane, ReadError},
};
use delivery::Delivery;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use rests::RestState;
use std::{collections::HashMap, future::Future, pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};
use turns::{CurrentDeliveries, Place, Turns};

/// How long deliveries under way are waited for when the outbox stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a message stays with a courier; longer than a delivery and its settling.
const LEASE: Duration = Duration::from_mins(1);

/// How often what waits is counted, for operators.
const COUNT_EVERY: Duration = Duration::from_secs(5);

/// How many queues are looked for at once, and how often in a round: what rests is passed over.
const QUEUES: u32 = 32;
const PAGES_OF_QUEUES: usize = 32;

/// How many couriers are asked in a round whether a queue still must rest.
const QUESTIONS: usize = 16;

/// How many messages of a class wait again, or are found to have expired, in a round.
const RETURNED: u32 = 256;

/// A message of the outbox, as a courier delivers it.
#[derive(Debug)]
pub struct OutboxMessage {
    pub id: String,
    pub payload: Secret,
    /// 1 for the first try.
    pub attempt: i64,
}

/// Why a message was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryFailure {
    /// Another try may succeed.
    Later(String),
    /// Nothing of this queue can be delivered for so long, or for as long as it has been failing: its endpoint fails.
    QueueRests(Option<Duration>, String),
    /// Nothing of this topic can be delivered for as long as that has been so: its server is away.
    TopicRests(String),
    /// No try ever will.
    Never(String),
}

impl DeliveryFailure {
    /// Of a message that this version does not know: a newer one may have written it, whose nodes deliver it. Where there
    /// is none it expires.
    pub fn of_newer_version() -> Self {
        Self::Later("it cannot be read: a newer version may have written it".to_owned())
    }
}

pub type DeliveryFuture<'a> =
    Pin<Box<dyn Future<Output = Result<(), DeliveryFailure>> + Send + 'a>>;

/// Carries messages of one topic.
pub trait Courier: Send + Sync {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a>;

    /// Tells whether a queue that rests must rest on, by its key; asked now and then while messages wait in it.
    fn must_rest<'a>(&'a self, queue: &'a str) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        let _ = queue;
        Box::pin(std::future::ready(true))
    }
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
    /// What every delivery works with.
    delivery: Delivery,
    turns: Turns,
    /// The lanes in which messages waited when it was last looked.
    lanes: Vec<OutboxLane>,
    every: Duration,
    /// Since it was last looked for what has expired or waits again.
    tended: Option<Stopwatch>,
    /// When what waits was last counted.
    counted_at: Timestamp,
    /// Deliveries under way.
    deliveries: JoinSet<()>,
    /// Sends `Sweep`; ends with the actor.
    listener: JoinSet<()>,
    /// Lets the listener send the next.
    swept: Arc<Semaphore>,
}

pub(super) enum Message {
    Sweep,
    Settled(Place),
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
        let (store, swept) = (services.store.clone(), Arc::new(Semaphore::new(0)));
        let ready = swept.clone();
        let listener = send_on_signal(
            myself,
            || Message::Sweep,
            move || {
                let (store, ready) = (store.clone(), ready.clone());
                async move {
                    // Whichever comes first: a message of our own, or the time to look for others'.
                    let _ = timeout(every, store.message_posted()).await;
                    // One sweep at a time: it sees whatever was posted meanwhile.
                    if let Ok(last) = ready.acquire().await {
                        last.forget();
                    }
                }
            },
        );
        Ok(OutboxState {
            delivery: Delivery { services, couriers, metrics, rests: Arc::default() },
            turns: Turns::default(),
            lanes: Vec::new(),
            every,
            tended: None,
            counted_at: Timestamp::NEVER,
            deliveries: JoinSet::new(),
            listener,
            swept,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Sweep => {
                state.sweep(&myself).await;
                state.count().await;
                state.swept.add_permits(1);
            }
            Message::Settled(place) => {
                while state.deliveries.try_join_next().is_some() {}
                // One lease for several messages; the next look comes within a second anyway.
                if state.turns.end(&place) {
                    state.fetch(place.class(), &myself).await;
                }
            }
        }
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
        let services = &self.delivery.services;
        let now = services.clock.now();
        if now.since(self.counted_at) < COUNT_EVERY {
            return;
        }
        self.counted_at = now;
        match services.store.messages_waiting().await {
            Ok(waiting) => self.delivery.metrics.waiting(&waiting),
            Err(error) => tracing::warn!(why = causes(&error), "the outbox could not be counted"),
        }
    }

    /// Begins deliveries in every class; what a person waits for comes first.
    async fn sweep(&mut self, myself: &ActorRef<Message>) {
        self.begin_all(myself).await;
        if self.tended.as_ref().is_none_or(|tended| tended.elapsed() >= self.every) {
            if self.tend().await {
                self.begin_all(myself).await;
            }
            self.tended = Some(Stopwatch::start());
        }
    }

    async fn begin_all(&mut self, myself: &ActorRef<Message>) {
        match self.delivery.services.store.outbox_lanes().await {
            Ok(lanes) => self.lanes = lanes,
            Err(error) => {
                tracing::warn!(why = causes(&error), "the outbox could not be read");
                return;
            }
        }
        let mut classes: Vec<i64> = self.lanes.iter().map(|lane| lane.class).collect();
        classes.dedup();
        for class in classes {
            self.fetch(class, myself).await;
        }
    }

    /// Erases what has expired, and lets wait again what is leased or put off no longer; tells whether there was any.
    async fn tend(&self) -> bool {
        let Delivery { services, metrics, .. } = &self.delivery;
        let now = services.clock.now();
        match services.store.drop_expired_messages(now, RETURNED).await {
            Ok(dropped) => {
                for (topic, count) in dropped {
                    tracing::error!(topic, count, "messages have expired undelivered");
                    for _ in 0..count {
                        metrics.settled(&topic, DeliveryOutcome::Dropped);
                    }
                }
            }
            Err(error) => tracing::warn!(why = causes(&error), "what expired could not be erased"),
        }
        match services.store.return_messages(now, RETURNED).await {
            Ok(returned) => returned > 0,
            Err(error) => {
                tracing::warn!(why = causes(&error), "messages could not be let wait again");
                false
            }
        }
    }

    /// Leases as many messages of a class as may be under way and begins their deliveries.
    async fn fetch(&mut self, class: i64, myself: &ActorRef<Message>) {
        let services = self.delivery.services.clone();
        let now = services.clock.now();
        let due = self.choose(class, now).await;
        if due.is_empty() {
            return;
        }
        let leased = match services.store.lease_messages(due, now + LEASE).await {
            Ok(leased) => leased,
            Err(error) => {
                tracing::warn!(why = causes(&error), "messages could not be leased");
                return;
            }
        };
        for message in leased {
            let place = Place::of(&message);
            self.turns.begin(place.clone());
            let delivery = self.delivery.clone();
            delivery.metrics.begin(&message.lane.topic);
            let (outbox, metrics) = (myself.clone(), delivery.metrics.clone());
            let done = DeliveryGuard { outbox, metrics, place };
            self.deliveries.spawn(async move {
                delivery.deliver_and_settle(message).await;
                drop(done);
            });
        }
    }

    /// Chooses the messages of a class that are delivered next.
    async fn choose(&mut self, class: i64, now: Timestamp) -> Vec<DueMessage> {
        let mut lanes: Vec<OutboxLane> =
            self.lanes.iter().filter(|lane| lane.class == class).cloned().collect();
        lanes.retain(|lane| !self.delivery.rests.topic_rests(&lane.topic, now));
        let mut chosen: Vec<DueMessage> = Vec::new();
        // What would be under way with those that are chosen.
        let mut planned = self.turns.under_way();
        for (place, lane) in lanes.iter().enumerate() {
            let most = planned.room_of_lane(lane, lanes.len() - place);
            match self.choose_in(lane, (most, now), &mut planned).await {
                Ok(mut due) => chosen.append(&mut due),
                Err(error) => {
                    let (why, topic) = (causes(&error), &lane.topic);
                    tracing::warn!(why, topic, "the outbox could not be read");
                }
            }
        }
        chosen
    }

    /// Chooses the messages of a lane that are delivered next: one of each queue whose turn it is, and more of each where there
    /// are fewer queues.
    async fn choose_in(
        &mut self,
        lane: &OutboxLane,
        (most, now): (usize, Timestamp),
        planned: &mut CurrentDeliveries,
    ) -> Result<Vec<DueMessage>, ReadError> {
        let queues = self.queues(lane, (most, now), planned).await?;
        let mut chosen: Vec<DueMessage> = Vec::new();
        for (place, queue) in queues.iter().enumerate() {
            let share = (most - chosen.len()).div_ceil(queues.len() - place);
            let more = planned.room_of_queue(lane, queue).min(share.saturating_sub(1));
            let wanted = u32::try_from(1 + more).unwrap_or(u32::MAX);
            let store = &self.delivery.services.store;
            let mut due = store.due_messages((lane, queue), now, wanted).await?;
            planned.end(&Place::new(lane, queue));
            for message in &due {
                planned.begin(Place::of(message));
            }
            chosen.append(&mut due);
        }
        Ok(chosen)
    }

    /// Names the queues of a lane whose turn it is, `most` of them at most, none that rests and none without room; one message
    /// of each is planned for.
    async fn queues(
        &mut self,
        lane: &OutboxLane,
        (most, now): (usize, Timestamp),
        planned: &mut CurrentDeliveries,
    ) -> Result<Vec<String>, ReadError> {
        let mut queues: Vec<String> = Vec::new();
        let (mut after, mut is_around, mut questions) = (self.turns.cursor(lane), false, QUESTIONS);
        for _ in 0..PAGES_OF_QUEUES {
            if queues.len() >= most {
                break;
            }
            let page = self.delivery.services.store.outbox_queues(lane, &after, QUEUES).await?;
            let is_last = page.len() < QUEUES as usize;
            for queue in page {
                after.clone_from(&queue);
                let is_full = queues.len() >= most || planned.room_of_queue(lane, &queue) == 0;
                if is_full || queues.contains(&queue) {
                    continue;
                }
                if !self.rests(lane, &queue, (now, &mut questions)).await {
                    planned.begin(Place::new(lane, &queue));
                    queues.push(queue);
                }
            }
            if is_last {
                if is_around {
                    break;
                }
                (after, is_around) = (String::new(), true);
            }
        }
        // The next round begins after the last of these.
        if let Some(last) = queues.last() {
            self.turns.move_cursor(lane, last.clone());
        }
        Ok(queues)
    }

    /// Tells whether a queue rests; its courier may know that it must no longer.
    async fn rests(
        &self,
        lane: &OutboxLane,
        queue: &str,
        (now, questions): (Timestamp, &mut usize),
    ) -> bool {
        let Delivery { rests, couriers, .. } = &self.delivery;
        match rests.queue_rests(lane, queue, now) {
            RestState::No => false,
            RestState::Perhaps if *questions > 0 => {
                *questions -= 1;
                let Some(courier) = couriers.get(lane.topic.as_str()) else { return true };
                let must_rest = courier.must_rest(queue).await;
                if !must_rest {
                    rests.end(lane, queue);
                }
                must_rest
            }
            RestState::Perhaps | RestState::Yes => true,
        }
    }
}

/// Reports back when dropped, so that a courier that panics is no longer counted.
struct DeliveryGuard {
    outbox: ActorRef<Message>,
    metrics: Arc<OutboxMetrics>,
    place: Place,
}

impl Drop for DeliveryGuard {
    fn drop(&mut self) {
        self.metrics.end(self.place.topic());
        let _ = self.outbox.send_message(Message::Settled(self.place.clone()));
    }
}
