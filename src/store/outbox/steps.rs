//! What becomes of messages of the outbox, written in the transaction of a group of commits.
//!
//! A step is a compare-and-swap on the number of leases: a courier whose lease has passed to another changes nothing, and
//! harms no commit of the group.

use crate::{
    domain::{Record, Timestamp},
    store::{
        engine::{self, Connection},
        sql,
        value::Value,
    },
};
use std::collections::HashSet;

/// A step of one message, from the number of leases that it has had.
pub(in crate::store) struct OutboxStep {
    pub(in crate::store) id: String,
    pub(in crate::store) attempts: i64,
    pub(in crate::store) next: NextState,
}

/// By which statement a step is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum StepKind {
    Lease,
    Erase,
    PutBack,
}

/// What becomes of it.
pub(in crate::store) enum NextState {
    /// It is leased until then.
    Leased { until: Timestamp },
    /// It was delivered, and is erased.
    Delivered,
    /// It is put off until then.
    PutOff { until: Timestamp },
    /// It waits again, behind those of its queue that are due before.
    Waiting { due: Timestamp },
    /// It is erased undelivered, and the security log says so.
    Dropped { topic: String, at: Timestamp },
}

/// Which steps were made, and what the security log is to say of them.
#[derive(Default)]
pub(in crate::store) struct StepsOutcome {
    pub(in crate::store) made: Vec<bool>,
    pub(in crate::store) dropped: Vec<DroppedMessage>,
}

/// A message that was erased undelivered.
pub(in crate::store) struct DroppedMessage {
    pub(in crate::store) id: String,
    pub(in crate::store) at: Timestamp,
    pub(in crate::store) record: Record,
}

/// Makes each step whose message has not been leased since, within the transaction that is open on `connection`.
pub(in crate::store) async fn write(
    connection: &mut Connection,
    steps: &[&OutboxStep],
) -> engine::Result<StepsOutcome> {
    if steps.is_empty() {
        return Ok(StepsOutcome::default());
    }
    // By id: two nodes that write at once then lock in the same order.
    let mut sorted = steps.to_vec();
    sorted.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    let rows = |row: fn(&OutboxStep) -> Option<Vec<Value<'_>>>| {
        sorted.iter().filter_map(|step| row(step)).flatten().collect::<Vec<_>>()
    };
    let mut landed = HashSet::new();
    for (kind, bound) in [
        (StepKind::Lease, sql::OUTBOX_LEASE.bind(rows(leased))),
        (StepKind::Erase, sql::OUTBOX_ERASE.bind(rows(erased))),
        (StepKind::PutBack, sql::OUTBOX_PUT_BACK.bind(rows(put_back))),
    ] {
        for row in connection.fetch_batch(&bound).await? {
            landed.insert((kind, row.text(0)?, row.int(1)?));
        }
    }
    // Of two steps that are the same, one was made.
    let mut take =
        |step: &OutboxStep| landed.remove(&(step.kind(), step.id.clone(), step.attempts));
    let made: Vec<bool> = steps.iter().map(|step| take(step)).collect();
    let dropped = steps.iter().zip(&made).filter(|(_, made)| **made);
    let dropped = dropped.filter_map(|(step, _)| step.dropped()).collect();
    Ok(StepsOutcome { made, dropped })
}

impl OutboxStep {
    fn dropped(&self) -> Option<DroppedMessage> {
        let NextState::Dropped { topic, at } = &self.next else { return None };
        let record = Record::new("outbox.dropped").with("topic", topic.as_str());
        Some(DroppedMessage { id: self.id.clone(), at: *at, record })
    }

    fn kind(&self) -> StepKind {
        match self.next {
            NextState::Leased { .. } => StepKind::Lease,
            NextState::Delivered | NextState::Dropped { .. } => StepKind::Erase,
            NextState::PutOff { .. } | NextState::Waiting { .. } => StepKind::PutBack,
        }
    }

    fn key(&self) -> [Value<'_>; 2] {
        [Value::Text(&self.id), Value::Int(self.attempts)]
    }
}

fn leased(step: &OutboxStep) -> Option<Vec<Value<'_>>> {
    let NextState::Leased { until } = step.next else { return None };
    Some(step.key().into_iter().chain([Value::Int(until.millis())]).collect())
}

fn erased(step: &OutboxStep) -> Option<Vec<Value<'_>>> {
    let is_erased = matches!(step.next, NextState::Delivered | NextState::Dropped { .. });
    is_erased.then(|| step.key().to_vec())
}

fn put_back(step: &OutboxStep) -> Option<Vec<Value<'_>>> {
    let (due, waiting) = match step.next {
        NextState::PutOff { until } => (until, 0),
        NextState::Waiting { due } => (due, 1),
        NextState::Leased { .. } | NextState::Delivered | NextState::Dropped { .. } => return None,
    };
    Some(step.key().into_iter().chain([Value::Int(due.millis()), Value::Int(waiting)]).collect())
}
