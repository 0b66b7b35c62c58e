//! The outbox: which messages wait, and what becomes of one that was leased (adr/0118).
//!
//! | state | then | next |
//! |---|---|---|
//! | waiting | lease | leased, until a time |
//! | leased | delivered | erased |
//! | leased | put off | put off, until a time |
//! | leased | put back, for its queue rests | waiting |
//! | leased | dropped | erased; the security log says so |
//! | leased, put off | the time has come | waiting |
//!
//! Messages wait in lanes, one for each class and topic, and in a lane in queues, one for each key.

pub(super) mod steps;

use super::{
    CommitError, ReadError, Store, answered,
    committer::Job,
    engine,
    maintenance::Maintenance,
    sql,
    value::{Row, Value},
};
use crate::domain::Timestamp;
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};
use steps::{NextState, OutboxStep};
use tokio::sync::oneshot;

/// The class of messages that an earlier version wrote: it has none.
pub const UNCLASSIFIED: i64 = 4;

/// The messages of one class and topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutboxLane {
    pub class: i64,
    pub topic: String,
}

/// A message that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueMessage {
    pub id: String,
    pub lane: OutboxLane,
    /// The key that it takes turns by.
    pub queue: String,
    pub payload: Vec<u8>,
    pub due_at: Timestamp,
    /// How often it was leased.
    pub attempts: i64,
    pub expires_at: Timestamp,
}

/// A message that this node may deliver until its lease ends; a later lease makes this one void.
pub type LeasedMessage = DueMessage;

/// The messages of one topic in the outbox, leased ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicBacklog {
    pub topic: String,
    pub count: u64,
    /// When the first of them is due.
    pub due: Timestamp,
}

impl Store {
    /// Returns the lanes in which messages wait.
    pub async fn outbox_lanes(&self) -> Result<Vec<OutboxLane>, ReadError> {
        let rows = self.fetch(sql::OUTBOX_LANES, &[]).await?;
        let lane = |row: &Row| Ok(OutboxLane { class: row.int(0)?, topic: row.text(1)? });
        Ok(rows.iter().map(lane).collect::<engine::Result<_>>()?)
    }

    /// Returns the next queues of a lane in which messages wait, in their order after `after`, `most` of them at most.
    pub async fn outbox_queues(
        &self,
        lane: &OutboxLane,
        after: &str,
        most: u32,
    ) -> Result<Vec<String>, ReadError> {
        let values = [
            Value::Int(lane.class),
            Value::Text(&lane.topic),
            Value::Text(after),
            Value::Int(most.into()),
        ];
        let rows = self.fetch(sql::OUTBOX_QUEUES, &values).await?;
        Ok(rows.iter().map(|row| row.text(0)).collect::<engine::Result<_>>()?)
    }

    /// Returns the messages of a queue that are due, the longest waiting first, `most` of them at most.
    pub async fn due_messages(
        &self,
        (lane, queue): (&OutboxLane, &str),
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<DueMessage>, ReadError> {
        let values = [
            Value::Int(lane.class),
            Value::Text(&lane.topic),
            Value::Text(queue),
            Value::Int(now.millis()),
            Value::Int(most.into()),
        ];
        let rows = self.fetch(sql::OUTBOX_DUE, &values).await?;
        let due = |row: &Row| -> engine::Result<DueMessage> {
            Ok(DueMessage {
                id: row.text(0)?,
                lane: lane.clone(),
                queue: queue.to_owned(),
                payload: row.bytes(1)?,
                due_at: Timestamp::from_millis(row.int(2)?),
                attempts: row.int(3)?,
                expires_at: Timestamp::from_millis(row.int(4)?),
            })
        };
        Ok(rows.iter().map(due).collect::<engine::Result<_>>()?)
    }

    /// Leases messages until `until` and returns those of them that no other node has leased meanwhile.
    pub async fn lease_messages(
        &self,
        messages: Vec<DueMessage>,
        until: Timestamp,
    ) -> Result<Vec<LeasedMessage>, CommitError> {
        let step = |one: &DueMessage| one.step(NextState::Leased { until });
        let made = self.take_steps(messages.iter().map(step).collect()).await?;
        let leased = messages.into_iter().zip(made).filter(|(_, made)| *made);
        Ok(leased.map(|(one, _)| LeasedMessage { attempts: one.attempts + 1, ..one }).collect())
    }

    /// Erases a delivered message; false where another node has leased it since.
    pub async fn message_delivered(&self, message: &LeasedMessage) -> Result<bool, CommitError> {
        self.take_step(message.step(NextState::Delivered)).await
    }

    /// Puts a message off until `until`.
    pub async fn message_put_off(
        &self,
        message: &LeasedMessage,
        until: Timestamp,
    ) -> Result<bool, CommitError> {
        self.take_step(message.step(NextState::PutOff { until })).await
    }

    /// Lets a message wait again, behind those of its queue that are due before `due`.
    pub async fn message_put_back(
        &self,
        message: &LeasedMessage,
        due: Timestamp,
    ) -> Result<bool, CommitError> {
        self.take_step(message.step(NextState::Waiting { due })).await
    }

    /// Erases a message that will not be delivered, and says so in the security log.
    pub async fn message_dropped(
        &self,
        message: &LeasedMessage,
        now: Timestamp,
    ) -> Result<bool, CommitError> {
        let topic = message.lane.topic.clone();
        self.take_step(message.step(NextState::Dropped { topic, at: now })).await
    }

    /// Erases messages that have expired and are not leased, `most` of them at most, and says so in the security log. Returns
    /// how many of each topic there were.
    pub async fn drop_expired_messages(
        &self,
        now: Timestamp,
        most: u32,
    ) -> Result<BTreeMap<String, u64>, CommitError> {
        let values = [Value::Int(now.millis()), Value::Int(most.into())];
        let rows = self.fetch(sql::OUTBOX_EXPIRED, &values).await;
        let rows = rows.map_err(|_| CommitError::Unavailable)?;
        if rows.is_empty() {
            return Ok(BTreeMap::new());
        }
        let dropped = |row: &Row| -> engine::Result<(String, OutboxStep)> {
            let (id, topic, attempts) = (row.text(0)?, row.text(1)?, row.int(2)?);
            let next = NextState::Dropped { topic: topic.clone(), at: now };
            Ok((topic, OutboxStep { id, attempts, next }))
        };
        let dropped = rows.iter().map(dropped).collect::<engine::Result<Vec<_>>>();
        let (topics, steps): (Vec<_>, Vec<_>) =
            dropped.map_err(|_| CommitError::Unavailable)?.into_iter().unzip();
        let made = self.take_steps(steps).await?;
        let mut counts = BTreeMap::new();
        for (topic, _) in topics.into_iter().zip(made).filter(|(_, made)| *made) {
            *counts.entry(topic).or_default() += 1;
        }
        Ok(counts)
    }

    /// Lets messages wait again whose lease is over, or that were put off until now: `most` of each class at most, so that
    /// many that come back at once do so little by little.
    pub async fn return_messages(&self, now: Timestamp, most: u32) -> Result<u64, CommitError> {
        let classes = self.fetch(sql::OUTBOX_RETURNS, &[Value::Int(now.millis())]).await;
        let classes = classes.map_err(|_| CommitError::Unavailable)?;
        let mut returned = 0;
        for row in classes {
            let class = row.int(0).map_err(|_| CommitError::Unavailable)?;
            let back = Maintenance::Return { class, now, most: most.into() };
            returned += self.count_maintenance(back).await?;
        }
        Ok(returned)
    }

    /// Says how many messages of each topic there are, and when the first of them is due.
    pub async fn messages_waiting(&self) -> Result<Vec<TopicBacklog>, ReadError> {
        let rows = self.fetch(sql::OUTBOX_COUNTS, &[]).await?;
        let waiting = |row: &Row| -> engine::Result<TopicBacklog> {
            let count = u64::try_from(row.int(1)?).unwrap_or(0);
            let due = row.optional_int(2)?.map_or(Timestamp::FOREVER, Timestamp::from_millis);
            Ok(TopicBacklog { topic: row.text(0)?, count, due })
        };
        let waiting = rows.iter().map(waiting).collect::<engine::Result<Vec<_>>>()?;
        Ok(waiting.into_iter().filter(|one| one.count > 0).collect())
    }

    /// Waits until a commit of this process leaves a message.
    pub async fn message_posted(&self) {
        self.inner.posted.notified().await;
    }

    async fn take_step(&self, step: OutboxStep) -> Result<bool, CommitError> {
        Ok(self.take_steps(vec![step]).await? == [true])
    }

    /// Hands steps over to a committer, which makes them in the transaction of its next group.
    async fn take_steps(&self, steps: Vec<OutboxStep>) -> Result<Vec<bool>, CommitError> {
        let mut hasher = DefaultHasher::new();
        steps.first().map(|step| &step.id).hash(&mut hasher);
        let place = self.place(hasher.finish());
        let (reply, answer) = oneshot::channel();
        self.hand_over(place, Job::Outbox(steps, reply)).await?;
        answered(answer, super::GIVEN_UP_AFTER).await
    }
}

impl DueMessage {
    fn step(&self, next: NextState) -> OutboxStep {
        OutboxStep { id: self.id.clone(), attempts: self.attempts, next }
    }
}
