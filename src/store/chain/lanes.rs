//! How a writer gets a lane: its own, a free one, or a new one.

use super::{
    Head, ROOT,
    writer::{Entry, LEASE, LogWriter, lost_lane},
};
use crate::{
    domain::{Record, Timestamp},
    store::{
        engine::{self, Connection, DatabaseError},
        sql,
        value::Value,
    },
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// How often a writer looks for a free lane before it opens one; other writers may be faster.
const LOOKS: usize = 8;

/// The holder of lanes that were changed by hand; no writer uses them again.
const ABANDONED: &str = "shunned";

/// A lane and who moves its head.
pub(super) struct Lane {
    pub(super) head: Head,
    pub(super) holder: String,
}

impl Lane {
    pub(super) fn held_by(holder: &str, head: Head) -> Self {
        Self { head, holder: holder.to_owned() }
    }

    /// Until when a lane written to at `at` stays with its holder.
    pub(super) fn held_until(&self, at: Timestamp) -> Timestamp {
        if self.head.lane == ROOT { Timestamp::FOREVER } else { at + LEASE }
    }

    /// Returns the values of [`sql::MOVE_LANE`], which moves its end to `head`.
    pub(super) fn moved_to<'a>(&'a self, head: &'a Head, at: Timestamp) -> [Value<'a>; 6] {
        [
            Value::Int(head.seq),
            Value::Bytes(&head.mac),
            Value::Int(self.held_until(at).millis()),
            Value::Text(&head.lane),
            Value::Int(self.head.seq),
            Value::Text(&self.holder),
        ]
    }
}

impl LogWriter {
    /// Finds a lane to append to, within the open transaction.
    pub(super) async fn take_lane(
        &mut self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> engine::Result<Lane> {
        if let Some(last) = self.durable.clone()
            && was_set_back(connection, &last).await?
        {
            let Head { lane, seq, .. } = &last;
            tracing::error!(lane, seq, "rows of the security log are gone; its lane is abandoned");
            let abandoned = [Value::Text(ABANDONED), Value::Int(i64::MAX), Value::Text(lane)];
            connection.execute(sql::ABANDON_LANE, &abandoned).await?;
            return self.open_lane(connection, now, Some(&last)).await;
        }
        // A lane may be ours though we hold no head: the outcome of the last commit was unknown.
        let ours = [Value::Text(&self.name)];
        if let Some(row) = connection.fetch(sql::LANE_HELD_BY, &ours).await?.first() {
            return Ok(Lane::held_by(&self.name, Head::read(row)?));
        }
        match self.take_free_lane(connection, now).await? {
            Some(lane) => Ok(lane),
            None => self.open_lane(connection, now, None).await,
        }
    }

    async fn take_free_lane(
        &self,
        connection: &mut Connection,
        now: Timestamp,
    ) -> engine::Result<Option<Lane>> {
        let free = [Value::Int(now.millis()), Value::Text(ROOT)];
        for _ in 0..LOOKS {
            let mut rows = connection.fetch(sql::FREE_LANES, &free).await?;
            if rows.is_empty() {
                break;
            }
            // Writers that start together begin at different lanes, and rarely compete.
            let mut hasher = DefaultHasher::new();
            self.name.hash(&mut hasher);
            let first = usize::try_from(hasher.finish() % rows.len() as u64).unwrap_or(0);
            rows.rotate_left(first);
            for row in &rows {
                let head = Head::read(row)?;
                let taken = [
                    Value::Text(&self.name),
                    Value::Int((now + LEASE).millis()),
                    Value::Text(&head.lane),
                    Value::Int(head.seq),
                    Value::Int(now.millis()),
                ];
                if connection.execute(sql::TAKE_LANE, &taken).await? == 1 {
                    return Ok(Some(Lane::held_by(&self.name, head)));
                }
            }
        }
        Ok(None)
    }

    /// Opens a lane of our own and registers it in the root lane.
    ///
    /// Where it replaces one that was set back, the registration names the last row of that one. The
    /// root lane is never trimmed, so this is found for ever.
    async fn open_lane(
        &mut self,
        connection: &mut Connection,
        now: Timestamp,
        replaced: Option<&Head>,
    ) -> engine::Result<Lane> {
        self.opened += 1;
        let name = format!("{}-{}", self.name, self.opened);
        let nothing: &[u8] = &[];
        let root = [ROOT.into(), 0.into(), nothing.into(), ROOT.into(), i64::MAX.into()];
        connection.execute(sql::OPEN_LANE, &root).await?;
        connection.execute(sql::AWAIT_LANE, &[Value::Text(ROOT)]).await?;
        let rows = connection.fetch(sql::LANE_HELD_BY, &[Value::Text(ROOT)]).await?;
        let head = Head::read(rows.first().ok_or(DatabaseError::Unexpected)?)?;
        let mut record = Record::new("log.lane_registered").with("lane", name.as_str());
        if replaced.is_some() {
            record = record.with("heads", Head::name_all(replaced));
        }
        let entry = Entry { at: now, kind: "log", id: ROOT, record: &record };
        let mut root = Lane::held_by(ROOT, head);
        if !self.write(connection, &mut root, &[entry]).await? {
            return Err(lost_lane());
        }
        // The first row of the new lane is chained to the row that registers it.
        let mac = root.head.mac;
        let opened = [
            Value::Text(&name),
            Value::Int(0),
            Value::Bytes(&mac),
            Value::Text(&self.name),
            Value::Int((now + LEASE).millis()),
        ];
        match connection.execute(sql::OPEN_LANE, &opened).await? {
            1 => Ok(Lane::held_by(&self.name, Head { lane: name, seq: 0, mac })),
            _ => Err(lost_lane()),
        }
    }
}

/// Tells whether a lane ends before a row that was durable, or has another in its place.
///
/// A lane that ends later is in order: a commit of unknown outcome was durable, or another writer has
/// the lane.
async fn was_set_back(connection: &mut Connection, last: &Head) -> engine::Result<bool> {
    let lane = [Value::Text(&last.lane)];
    let rows = connection.fetch(sql::LANE, &lane).await?;
    let Some(row) = rows.first() else { return Ok(true) };
    let found = Head::read(row)?;
    if found.seq <= last.seq {
        return Ok(found != *last);
    }
    let place = [Value::Text(&last.lane), Value::Int(last.seq)];
    let rows = connection.fetch(sql::LOG_MAC, &place).await?;
    // Where there is none it was trimmed; verification judges that.
    Ok(rows.first().map(|row| row.bytes(0)).transpose()?.is_some_and(|mac| mac != last.mac))
}
