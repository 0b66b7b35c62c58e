//! Counts for operators of the messages of each topic.

use crate::{domain::Timestamp, store::TopicBacklog};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// The label of topics that no courier here carries.
const OTHER: &str = "other";

#[derive(Default)]
struct TopicCounts {
    delivered: AtomicU64,
    deferred: AtomicU64,
    dropped: AtomicU64,
    under_way: AtomicU64,
    waiting: AtomicU64,
    /// When the first message that waits is due, in milliseconds.
    due: AtomicI64,
}

/// Counts by topic; the topics are those of the couriers, so that no traffic adds one.
pub(super) struct OutboxMetrics(Vec<(&'static str, TopicCounts)>);

/// What is known of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicReport {
    pub topic: &'static str,
    pub delivered: u64,
    /// Tries that failed and were put off.
    pub deferred: u64,
    /// Messages that were given up.
    pub dropped: u64,
    /// Tries of this node that have not ended.
    pub under_way: u64,
    /// Messages in the outbox, of all nodes, when it was last looked at.
    pub waiting: u64,
    /// When the first of those is due.
    pub due: Option<Timestamp>,
}

/// What became of a try.
#[derive(Clone, Copy)]
pub(super) enum DeliveryOutcome {
    Delivered,
    Deferred,
    Dropped,
}

impl OutboxMetrics {
    pub(super) fn new(topics: impl Iterator<Item = &'static str>) -> Self {
        let mut topics: Vec<&'static str> = topics.collect();
        topics.sort_unstable();
        topics.push(OTHER);
        Self(topics.into_iter().map(|topic| (topic, TopicCounts::default())).collect())
    }

    fn of(&self, topic: &str) -> Option<&TopicCounts> {
        let known = self.0.iter().find(|(known, _)| *known == topic).or(self.0.last());
        known.map(|(_, counts)| counts)
    }

    pub(super) fn settled(&self, topic: &str, settled: DeliveryOutcome) {
        let Some(counts) = self.of(topic) else { return };
        let count = match settled {
            DeliveryOutcome::Delivered => &counts.delivered,
            DeliveryOutcome::Deferred => &counts.deferred,
            DeliveryOutcome::Dropped => &counts.dropped,
        };
        count.fetch_add(1, Relaxed);
    }

    /// Notes that a try begins.
    pub(super) fn begin(&self, topic: &str) {
        if let Some(counts) = self.of(topic) {
            counts.under_way.fetch_add(1, Relaxed);
        }
    }

    /// Notes that a try has ended, whatever came of it.
    pub(super) fn end(&self, topic: &str) {
        if let Some(counts) = self.of(topic) {
            counts.under_way.fetch_sub(1, Relaxed);
        }
    }

    /// Notes what waits now.
    pub(super) fn waiting(&self, found: &[TopicBacklog]) {
        for (topic, counts) in &self.0 {
            let is_known =
                |one: &&TopicBacklog| self.0.iter().any(|(known, _)| *known == one.topic);
            let mine = |one: &&TopicBacklog| {
                if *topic == OTHER { !is_known(one) } else { one.topic == *topic }
            };
            let count = found.iter().filter(mine).map(|one| one.count).sum();
            let due = found.iter().filter(mine).map(|one| one.due.millis()).min();
            counts.waiting.store(count, Relaxed);
            counts.due.store(due.unwrap_or(i64::MAX), Relaxed);
        }
    }

    pub(super) fn report(&self) -> Vec<TopicReport> {
        let report = |(topic, counts): &(&'static str, TopicCounts)| {
            let waiting = counts.waiting.load(Relaxed);
            let due = Timestamp::from_millis(counts.due.load(Relaxed));
            TopicReport {
                topic,
                delivered: counts.delivered.load(Relaxed),
                deferred: counts.deferred.load(Relaxed),
                dropped: counts.dropped.load(Relaxed),
                under_way: counts.under_way.load(Relaxed),
                waiting,
                due: (waiting > 0).then_some(due),
            }
        };
        self.0.iter().map(report).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_courier_carries_is_counted_under_one_label() {
        let metrics = OutboxMetrics::new(["sms", "mail"].into_iter());
        metrics.settled("mail", DeliveryOutcome::Delivered);
        metrics.settled("anything", DeliveryOutcome::Dropped);
        metrics.settled("something", DeliveryOutcome::Deferred);
        for topic in ["mail", "mail", "anything"] {
            metrics.begin(topic);
        }
        metrics.end("mail");
        let due = |millis| Timestamp::from_millis(millis);
        let waiting = |topic: &str, count, millis| TopicBacklog {
            topic: topic.to_owned(),
            count,
            due: due(millis),
        };
        metrics.waiting(&[waiting("mail", 3, 7), waiting("x", 1, 9), waiting("y", 2, 8)]);
        let [mail, other, sms] = [0, 2, 1].map(|place| metrics.report()[place]);
        assert_eq!((mail.topic, mail.delivered, mail.waiting), ("mail", 1, 3));
        assert_eq!(mail.due, Some(due(7)));
        assert_eq!((mail.under_way, other.under_way, sms.under_way), (1, 1, 0));
        assert_eq!((other.topic, other.dropped, other.deferred), ("other", 1, 1));
        assert_eq!((other.waiting, other.due), (3, Some(due(8))));
        assert_eq!((sms.topic, sms.waiting, sms.due), ("sms", 0, None));
    }
}
