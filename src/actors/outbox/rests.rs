//! Backoff, what is left alone for a while before the next retry: a queue whose endpoint fails, a topic whose server is away.
//!
//! What waits for it is not leased. Each node remembers what it has seen itself, and no more than so much.

use crate::{
    domain::Timestamp,
    store::{LeasedMessage, OutboxLane},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Where a courier does not say for how long, a rest is as long as the failing, within these bounds. A code lives for ten
/// minutes: after longer rests a server that is back would get it too late.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);

/// How often it is looked at whether a queue must rest on.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How long after its rest a place is known to have failed.
const MEMORY: Duration = Duration::from_mins(10);

/// How many places are remembered.
const MOST: usize = 20_000;

/// What rests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    Topic(String),
    Queue(OutboxLane, String),
}

#[derive(Clone, Copy)]
struct Rest {
    /// Since when it fails.
    since: Timestamp,
    until: Timestamp,
    looked_at: Timestamp,
}

/// Whether messages of a queue may be leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestState {
    No,
    /// The courier may be asked whether it still must.
    Perhaps,
    Yes,
}

/// What rests, as this node knows it.
#[derive(Default)]
pub(super) struct Rests(Mutex<HashMap<Place, Rest>>);

impl Rests {
    /// Leaves the queue of a message alone: for `pause`, or for as long as it has been failing.
    pub(super) fn rest_queue(
        &self,
        message: &LeasedMessage,
        pause: Option<Duration>,
        now: Timestamp,
    ) {
        self.begin(queue_of(message), pause, now);
    }

    /// Leaves all messages of a topic alone for as long as its server has been away.
    pub(super) fn rest_topic(&self, topic: &str, now: Timestamp) {
        self.begin(Place::Topic(topic.to_owned()), None, now);
    }

    /// Notes that a message was delivered: neither its queue nor its topic fails.
    pub(super) fn delivered(&self, message: &LeasedMessage) {
        let mut rests = self.rests();
        if !rests.is_empty() {
            rests.remove(&queue_of(message));
            rests.remove(&Place::Topic(message.lane.topic.clone()));
        }
    }

    /// Ends the rest of a queue.
    pub(super) fn end(&self, lane: &OutboxLane, queue: &str) {
        self.rests().remove(&Place::Queue(lane.clone(), queue.to_owned()));
    }

    pub(super) fn topic_rests(&self, topic: &str, now: Timestamp) -> bool {
        let place = Place::Topic(topic.to_owned());
        self.rests().get(&place).is_some_and(|rest| rest.until > now)
    }

    pub(super) fn queue_rests(&self, lane: &OutboxLane, queue: &str, now: Timestamp) -> RestState {
        let mut rests = self.rests();
        let place = Place::Queue(lane.clone(), queue.to_owned());
        match rests.get_mut(&place) {
            Some(rest) if rest.until <= now => RestState::No,
            None => RestState::No,
            Some(rest) if now.since(rest.looked_at) < LOOK_EVERY => RestState::Yes,
            Some(rest) => {
                rest.looked_at = now;
                RestState::Perhaps
            }
        }
    }

    fn begin(&self, place: Place, pause: Option<Duration>, now: Timestamp) {
        let mut rests = self.rests();
        if rests.len() >= MOST && !rests.contains_key(&place) {
            rests.retain(|_, rest| rest.until + MEMORY > now);
        }
        if rests.len() >= MOST {
            // It is tried more often than it should be, and others are left alone as they should be.
            return;
        }
        let since = match rests.get(&place) {
            // Of several that fail at once, one is enough.
            Some(rest) if pause.is_none() && rest.until > now => return,
            Some(rest) if rest.until + MEMORY > now => rest.since,
            _ => now,
        };
        let pause = pause.unwrap_or_else(|| now.since(since).clamp(SHORTEST, LONGEST));
        rests.insert(place, Rest { since, until: now + pause, looked_at: now });
    }

    fn rests(&self) -> MutexGuard<'_, HashMap<Place, Rest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn queue_of(message: &LeasedMessage) -> Place {
    Place::Queue(message.lane.clone(), message.queue.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn after(seconds: u64) -> Timestamp {
        NOW + Duration::from_secs(seconds)
    }

    fn lane() -> OutboxLane {
        OutboxLane { class: 3, topic: "webhook".to_owned() }
    }

    fn message(queue: &str) -> LeasedMessage {
        LeasedMessage {
            id: "1".to_owned(),
            lane: lane(),
            queue: queue.to_owned(),
            payload: Vec::new(),
            due_at: NOW,
            attempts: 1,
            expires_at: Timestamp::FOREVER,
        }
    }

    #[test]
    fn a_queue_rests_for_as_long_as_it_has_been_failing_and_others_do_not() {
        let rests = Rests::default();
        let resting = |queue: &str, seconds| rests.queue_rests(&lane(), queue, after(seconds));
        // When it fails, and how long it rests.
        for (seconds, pause) in [(0, 1), (1, 1), (2, 2), (4, 4), (40, 40), (80, 60), (140, 60)] {
            rests.rest_queue(&message("acme/a"), None, after(seconds));
            assert_ne!(resting("acme/a", seconds + pause - 1), RestState::No, "{seconds}");
            assert_eq!(resting("acme/a", seconds + pause), RestState::No, "{seconds}");
            assert_eq!(resting("acme/b", seconds), RestState::No);
        }
        rests.delivered(&message("acme/a"));
        rests.rest_queue(&message("acme/a"), None, after(300));
        assert_eq!(resting("acme/a", 301), RestState::No, "a success begins anew");
    }

    #[test]
    fn a_courier_says_for_how_long_and_is_asked_now_and_then_whether_it_still_holds() {
        let rests = Rests::default();
        rests.rest_queue(&message("acme/a"), Some(Duration::from_hours(4)), NOW);
        let resting = |seconds| rests.queue_rests(&lane(), "acme/a", after(seconds));
        assert_eq!(
            [0, 1, 2, 3, 4].map(resting),
            [
                RestState::Yes,
                RestState::Yes,
                RestState::Perhaps,
                RestState::Yes,
                RestState::Perhaps
            ]
        );
        rests.end(&lane(), "acme/a");
        assert_eq!(resting(5), RestState::No);
    }

    #[test]
    fn a_topic_rests_until_one_of_its_messages_is_delivered() {
        let rests = Rests::default();
        rests.rest_topic("webhook", NOW);
        rests.rest_topic("webhook", NOW);
        assert!(rests.topic_rests("webhook", NOW) && !rests.topic_rests("mail", NOW));
        rests.delivered(&message("acme/a"));
        assert!(!rests.topic_rests("webhook", NOW));
    }

    #[test]
    fn only_so_many_are_remembered() {
        let rests = Rests::default();
        for number in 0..MOST + 10 {
            rests.rest_queue(&message(&number.to_string()), None, NOW);
        }
        assert_eq!(rests.rests().len(), MOST);
        let later = NOW + MEMORY + LONGEST;
        rests.rest_queue(&message("later"), None, later);
        assert_eq!(rests.rests().len(), 1, "what is long over goes first");
    }
}
