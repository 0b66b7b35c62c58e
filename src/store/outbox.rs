//! The outbox: lease a message, deliver it, put it off, drop it.

use super::{
    CommitError, Leased, ReadError, Store, engine,
    maintenance::{Maintenance, Outcome},
    sql,
    value::Row,
};
use crate::domain::Timestamp;

/// The messages of one topic in the outbox, leased ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub topic: String,
    pub count: u64,
    /// When the first of them is due.
    pub due: Timestamp,
}

impl Store {
    /// Leases up to `most` due messages until `until`; no other node delivers them meanwhile.
    pub async fn lease_messages(
        &self,
        now: Timestamp,
        until: Timestamp,
        most: u32,
    ) -> Result<Vec<Leased>, CommitError> {
        match self.run_maintenance(Maintenance::Lease { now, until, most: most.into() }).await? {
            Outcome::Leased(leased) => Ok(leased),
            Outcome::Count(_) | Outcome::Heads(_) => Err(CommitError::Unknown),
        }
    }

    /// Erases a delivered message; false where another node has leased it since.
    pub async fn message_delivered(&self, message: &Leased) -> Result<bool, CommitError> {
        let (id, attempts) = (message.id.clone(), message.attempts);
        Ok(self.count_maintenance(Maintenance::Deliver { id, attempts }).await? == 1)
    }

    /// Puts a message off until `due`.
    pub async fn message_deferred(
        &self,
        message: &Leased,
        due: Timestamp,
    ) -> Result<bool, CommitError> {
        let (id, attempts) = (message.id.clone(), message.attempts);
        Ok(self.count_maintenance(Maintenance::Defer { id, attempts, due }).await? == 1)
    }

    /// Erases a message that will not be delivered, and says so in the security log.
    pub async fn message_dropped(
        &self,
        message: &Leased,
        now: Timestamp,
    ) -> Result<bool, CommitError> {
        let Leased { id, topic, attempts, .. } = message.clone();
        Ok(self.count_maintenance(Maintenance::Drop { id, attempts, topic, now }).await? == 1)
    }

    /// Returns when the next message is due, if there is one.
    pub async fn next_message_due(&self) -> Result<Option<Timestamp>, ReadError> {
        let rows = self.scan(sql::OUTBOX_NEXT, &[]).await?;
        Ok(rows.first().map(|row| row.int(0)).transpose()?.map(Timestamp::from_millis))
    }

    /// Counts the messages of each topic, and says when the first of them is due.
    pub async fn messages_waiting(&self) -> Result<Vec<Waiting>, ReadError> {
        let rows = self.scan(sql::OUTBOX_WAITING, &[]).await?;
        let waiting = |row: &Row| -> engine::Result<Waiting> {
            let count = u64::try_from(row.int(1)?).unwrap_or(0);
            Ok(Waiting { topic: row.text(0)?, count, due: Timestamp::from_millis(row.int(2)?) })
        };
        Ok(rows.iter().map(waiting).collect::<engine::Result<_>>()?)
    }

    /// Waits until a commit of this process leaves a message.
    pub async fn message_posted(&self) {
        self.inner.posted.notified().await;
    }
}
