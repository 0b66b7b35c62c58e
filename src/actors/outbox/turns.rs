//! Whose turn it is: which messages are delivered next, of each class, topic and queue.
//!
//! A class has workers of its own, and a topic of it not all of them. The queues of a topic take turns: a round begins where
//! the last one ended, and takes one message of each queue before it takes a second of any.

use crate::{
    domain::{DeliveryClass, DeliveryKey},
    store::{LeasedMessage, OutboxLane, UNCLASSIFIED},
};
use std::collections::HashMap;

/// How many deliveries are under way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    /// Of a class.
    workers: usize,
    /// Of one of its topics: where its server is slow, the others go on.
    topic: usize,
    /// Of what belongs to one organization.
    organization: usize,
    /// Of one queue.
    queue: usize,
}

impl Shares {
    fn of(class: i64) -> Self {
        const CODE: i64 = 0;
        const ENDPOINT: i64 = 3;
        debug_assert_eq!(CODE, DeliveryClass::Code.number());
        debug_assert_eq!(ENDPOINT, DeliveryClass::Endpoint.number());
        let even = |workers, topic| Self { workers, topic, organization: topic, queue: topic };
        match class {
            CODE => even(16, 12),
            // What others have named may not answer: two of each, and half of them for one organization.
            ENDPOINT => Self { workers: 8, topic: 6, organization: 4, queue: 2 },
            UNCLASSIFIED => even(2, 2),
            _ => even(4, 3),
        }
    }
}

/// A place in which a message is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::actors) struct Place {
    lane: OutboxLane,
    queue: String,
}

impl Place {
    pub(super) fn new(lane: &OutboxLane, queue: &str) -> Self {
        Self { lane: lane.clone(), queue: queue.to_owned() }
    }

    pub(super) fn of(message: &LeasedMessage) -> Self {
        Self::new(&message.lane, &message.queue)
    }

    pub(super) fn class(&self) -> i64 {
        self.lane.class
    }

    pub(super) fn topic(&self) -> &str {
        &self.lane.topic
    }

    fn organization(&self) -> Option<&str> {
        DeliveryKey::organization_of(&self.queue)
    }
}

/// The deliveries that are under way, a few dozen at most.
#[derive(Clone, Default)]
pub(super) struct CurrentDeliveries(Vec<Place>);

impl CurrentDeliveries {
    pub(super) fn begin(&mut self, place: Place) {
        self.0.push(place);
    }

    pub(super) fn end(&mut self, place: &Place) {
        if let Some(found) = self.0.iter().position(|one| one == place) {
            self.0.swap_remove(found);
        }
    }

    /// How many of a class are under way.
    fn of_class(&self, class: i64) -> usize {
        self.count(|one| one.class() == class)
    }

    /// How many more of a lane may begin, where so many lanes of its class have something to deliver yet.
    pub(super) fn room_of_lane(&self, lane: &OutboxLane, lanes: usize) -> usize {
        let shares = Shares::of(lane.class);
        let of_class = shares.workers.saturating_sub(self.of_class(lane.class));
        let of_topic = shares.topic.saturating_sub(self.count(|one| one.lane == *lane));
        of_topic.min(of_class.div_ceil(lanes.max(1)))
    }

    /// How many more of a queue may begin, as far as its organization and itself are concerned.
    pub(super) fn room_of_queue(&self, lane: &OutboxLane, queue: &str) -> usize {
        let shares = Shares::of(lane.class);
        let own = self.count(|one| one.lane == *lane && one.queue == queue);
        let own = shares.queue.saturating_sub(own);
        let Some(slug) = DeliveryKey::organization_of(queue) else { return own };
        let same = |one: &Place| one.class() == lane.class && one.organization() == Some(slug);
        own.min(shares.organization.saturating_sub(self.count(same)))
    }

    fn count(&self, of: impl Fn(&Place) -> bool) -> usize {
        self.0.iter().filter(|one| of(one)).count()
    }
}

/// What is under way, and where the last rounds ended.
#[derive(Default)]
pub(super) struct Turns {
    under_way: CurrentDeliveries,
    cursors: HashMap<OutboxLane, String>,
}

impl Turns {
    pub(super) fn begin(&mut self, place: Place) {
        self.under_way.begin(place);
    }

    /// Ends a delivery; tells whether its class has room for several others.
    pub(super) fn end(&mut self, place: &Place) -> bool {
        self.under_way.end(place);
        self.under_way.of_class(place.class()) <= Shares::of(place.class()).workers / 2
    }

    /// A copy, to plan with.
    pub(super) fn under_way(&self) -> CurrentDeliveries {
        self.under_way.clone()
    }

    /// The queue at which the last round of a lane ended.
    pub(super) fn cursor(&self, lane: &OutboxLane) -> String {
        self.cursors.get(lane).cloned().unwrap_or_default()
    }

    pub(super) fn move_cursor(&mut self, lane: &OutboxLane, queue: String) {
        self.cursors.insert(lane.clone(), queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(class: i64, topic: &str, queue: &str) -> Place {
        Place::new(&OutboxLane { class, topic: topic.to_owned() }, queue)
    }

    /// Begins as many as may be.
    fn fill(under_way: &mut CurrentDeliveries, at: &Place) -> usize {
        let mut begun = 0;
        while under_way.room_of_lane(&at.lane, 1).min(under_way.room_of_queue(&at.lane, &at.queue))
            > 0
        {
            under_way.begin(at.clone());
            begun += 1;
        }
        begun
    }

    #[test]
    fn no_class_takes_the_workers_of_another_and_no_topic_all_of_its_class() {
        let mut under_way = CurrentDeliveries::default();
        for (class, topic, most) in
            [(2, "mail", 3), (1, "mail", 3), (4, "mail", 2), (0, "sms", 12), (0, "mail", 4)]
        {
            assert_eq!(fill(&mut under_way, &place(class, topic, "/")), most, "{class} {topic}");
        }
        under_way.end(&place(0, "sms", "/"));
        under_way.end(&place(0, "sms", "another"));
        assert_eq!(under_way.of_class(0), 15, "what is not under way does not end");
        assert_eq!(fill(&mut under_way, &place(0, "mail", "/")), 1);
    }

    #[test]
    fn an_endpoint_has_two_deliveries_and_an_organization_half_of_them() {
        let mut under_way = CurrentDeliveries::default();
        let begun = ["acme/a", "acme/b", "acme/c", "/client x", "globex/a"];
        let begun = begun.map(|queue| fill(&mut under_way, &place(3, "webhook", queue)));
        assert_eq!(begun, [2, 2, 0, 2, 0], "six of the topic");
        assert_eq!(fill(&mut under_way, &place(3, "backchannel_logout", "/client y")), 2);
        assert_eq!(under_way.of_class(3), Shares::of(3).workers);
    }

    #[test]
    fn topics_share_what_is_free() {
        let (mail, sms) = (place(0, "mail", "/"), place(0, "sms", "/"));
        let mut under_way = CurrentDeliveries::default();
        assert_eq!(under_way.room_of_lane(&mail.lane, 2), 8);
        for _ in 0..8 {
            under_way.begin(mail.clone());
        }
        assert_eq!(under_way.room_of_lane(&sms.lane, 1), 8);
        assert_eq!(under_way.room_of_lane(&mail.lane, 1), 4);
    }

    #[test]
    fn classes_have_the_shares_that_their_names_say() {
        let classes = DeliveryClass::ALL.map(|class| Shares::of(class.number()).workers);
        assert_eq!(classes, [16, 4, 4, 8]);
        let mut turns = Turns::default();
        for _ in 0..3 {
            turns.begin(place(1, "mail", "/"));
        }
        assert!(turns.end(&place(1, "mail", "/")), "half of them are free");
    }
}
