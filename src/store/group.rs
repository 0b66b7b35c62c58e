//! Writes a group of commits inside one transaction, in a few statements for all of them.
//!
//! What can fail comes first and counts rows instead of raising errors, so that a commit that lost
//! does not harm the others of its group:
//!
//! 1. required and changed entities are read, and locked where the engine has row locks, in one
//!    order over both, so that groups of several nodes do not wait for each other in a circle;
//! 2. new entities and names are inserted, `ON CONFLICT DO NOTHING`;
//! 3. changed entities are swapped, `WHERE version = expected`;
//! 4. what a losing commit had inserted is taken back;
//! 5. released names, listings, log rows and outbox messages follow for the winners.
//!
//! Nearly always every commit wins. So a group is first written [`Mode::Optimistic`]: rows are only
//! counted. Where the count is short, the group is rolled back and written again [`Mode::Checked`],
//! which finds out row by row which commits lost.
//! Members of a group never touch each other's rows ([`super::disjoint`]), so their order is free.

use super::{
    chain::{Entry, Head, LogWriter},
    commit::{Change, Commit, CommitError, Expected, Recorded},
    disjoint::RowKey,
    engine::{self, Connection, DatabaseError},
    sql,
    value::{Liveness, Value},
};
use crate::domain::{Listing, Name, Requirement, Timestamp};
use std::collections::{HashMap, HashSet};

/// The outcome of each commit of a group, and the log's head once the transaction is durable.
pub(super) struct Written {
    pub(super) verdicts: Vec<Result<i64, CommitError>>,
    pub(super) head: Option<Head>,
}

/// Whether the commits that lost are found out, or it is only noticed that one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Optimistic,
    Checked,
}

/// Why a group was not written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// A commit lost; in [`Mode::Optimistic`] it is not known which.
    Contested,
    Failed(DatabaseError),
}

impl From<DatabaseError> for WriteError {
    fn from(error: DatabaseError) -> Self {
        Self::Failed(error)
    }
}

/// Writes `commits` within the transaction that is open on `connection`.
pub(super) async fn write(
    connection: &mut Connection,
    writer: &mut LogWriter,
    commits: &[&Commit],
    mode: Mode,
) -> Result<Written, WriteError> {
    let mut group = Group { commits, verdicts: vec![Ok(()); commits.len()], mode };
    group.lock(connection).await?;
    let created = group.create(connection).await?;
    let claimed = group.claim_names(connection).await?;
    group.advance(connection).await?;
    group.undo_losers(connection, &created, &claimed).await?;
    group.release_names(connection).await?;
    group.enlist(connection).await?;
    let head = group.record(connection, writer).await?;
    group.post(connection).await?;
    Ok(Written { verdicts: group.verdicts(), head })
}

struct Group<'a> {
    commits: &'a [&'a Commit],
    verdicts: Vec<Result<(), CommitError>>,
    mode: Mode,
}

impl<'a> Group<'a> {
    fn winners(&self) -> impl Iterator<Item = (usize, &'a Commit)> {
        self.commits.iter().copied().enumerate().filter(|(place, _)| self.verdicts[*place].is_ok())
    }

    /// The changes of all commits that have not lost, each with its commit's place.
    fn changes(&self) -> impl Iterator<Item = (usize, &'a Change)> {
        self.winners().flat_map(|(place, commit)| commit.changes.iter().map(move |c| (place, c)))
    }

    /// Locks what is required and what will change, and checks what is found.
    async fn lock(&mut self, connection: &mut Connection) -> engine::Result<()> {
        // (place, whether it is changed)
        let mut asked: Vec<(RowKey<'a>, bool)> = Vec::new();
        for commit in self.commits {
            let required = commit.requirements.iter().map(|fact| (fact.kind(), fact.id()));
            asked.extend(required.map(|place| (place, false)));
            let swapped = commit.changes.iter().filter(|change| version_of(change).is_some());
            asked.extend(swapped.map(|change| ((change.kind, &*change.id), true)));
        }
        asked.sort_unstable();
        asked.dedup();
        let mut found: HashMap<RowKey<'a>, Liveness> = HashMap::with_capacity(asked.len());
        let mut changed_are_known = false;
        for run in asked.chunk_by(|one, next| one.1 == next.1) {
            let places: Vec<RowKey<'_>> = run.iter().map(|(place, _)| *place).collect();
            let seen = if run[0].1 {
                let wanted = self.mode == Mode::Checked;
                let Some(seen) = connection.lock_changed(&places, wanted).await? else { continue };
                changed_are_known = true;
                seen
            } else {
                connection.lock_required(&places).await?
            };
            found.extend(places.into_iter().zip(seen).filter_map(|(at, seen)| Some((at, seen?))));
        }
        for (verdict, commit) in self.verdicts.iter_mut().zip(self.commits) {
            let moved_on = |change: &Change| {
                let version = found.get(&(change.kind, &*change.id)).map(|seen| seen.version);
                version_of(change).is_some_and(|expected| version != Some(expected))
            };
            let unmet = |fact: &&Requirement| {
                let seen = found.get(&(fact.kind(), fact.id()));
                !seen.is_some_and(|seen| fact.holds(seen.version, seen.live_until, commit.at))
            };
            if changed_are_known && commit.changes.iter().any(moved_on) {
                *verdict = Err(CommitError::Conflict);
            } else if let Some(fact) = commit.requirements.iter().find(unmet) {
                *verdict = Err(CommitError::Unmet { kind: fact.kind() });
            }
        }
        Ok(())
    }

    /// Inserts what is new; a commit whose row is there already has lost.
    async fn create(
        &mut self,
        connection: &mut Connection,
    ) -> Result<Vec<(usize, &'a Change)>, WriteError> {
        let mut new: Vec<(usize, &'a Change)> =
            self.changes().filter(|(_, change)| version_of(change).is_none()).collect();
        new.sort_unstable_by_key(|(_, change)| (change.kind, change.id.as_str()));
        let values: Vec<Value<'_>> = new
            .iter()
            .flat_map(|(commit, change)| {
                [
                    Value::Text(change.kind),
                    Value::Text(&change.id),
                    Value::Int(birth_version(self.commits[*commit].at)),
                    Value::Text(&change.state),
                    Value::Int(change.live_until.millis()),
                    Value::OptionalInt(change.forget_at.map(Timestamp::millis)),
                    Value::Int(change.revision.into()),
                ]
            })
            .collect();
        if self.mode == Mode::Optimistic {
            let landed = connection.execute_batch(&sql::CREATE.exactly(values)).await?;
            return if landed == new.len() as u64 { Ok(new) } else { Err(WriteError::Contested) };
        }
        let mut landed =
            places(&connection.fetch_batch(&sql::CREATE_AND_TELL.exactly(values)).await?)?;
        let mut created = Vec::new();
        for (commit, change) in new {
            // Removed and not only looked up: what is asked for twice has landed once.
            if landed.remove(&(change.kind.to_owned(), change.id.clone())) {
                created.push((commit, change));
            } else if change.expected != Expected::NewId {
                self.verdicts[commit] = Err(CommitError::Conflict);
            } else if self.verdicts[commit].is_ok() {
                self.verdicts[commit] = Err(CommitError::Taken { space: change.kind });
            }
        }
        Ok(created)
    }

    async fn claim_names(
        &mut self,
        connection: &mut Connection,
    ) -> Result<Vec<(usize, &'a Name, &'a Change)>, WriteError> {
        let mut wanted: Vec<(usize, &'a Name, &'a Change)> = self
            .names_added()
            .filter(|(place, name, _)| !gives_up(self.commits[*place], name))
            .collect();
        wanted.sort_unstable_by_key(|(_, name, _)| *name);
        let values: Vec<Value<'_>> =
            wanted.iter().flat_map(|(_, name, holder)| name_row(name, holder)).collect();
        if self.mode == Mode::Optimistic {
            let landed = connection.execute_batch(&sql::CLAIM.exactly(values)).await?;
            return if landed == wanted.len() as u64 {
                Ok(wanted)
            } else {
                Err(WriteError::Contested)
            };
        }
        let mut landed =
            places(&connection.fetch_batch(&sql::CLAIM_AND_TELL.exactly(values)).await?)?;
        let mut claimed = Vec::new();
        for (commit, name, holder) in wanted {
            if landed.remove(&(name.space.to_owned(), name.name.clone())) {
                claimed.push((commit, name, holder));
            } else {
                self.verdicts[commit] = Err(CommitError::Taken { space: name.space });
            }
        }
        Ok(claimed)
    }

    /// Swaps what exists; the version decides.
    async fn advance(&mut self, connection: &mut Connection) -> Result<(), WriteError> {
        let mut swaps: Vec<(i64, &'a Change)> =
            self.changes().filter_map(|(_, c)| Some((version_of(c)?, c))).collect();
        swaps.sort_unstable_by_key(|(_, change)| (change.kind, change.id.as_str()));
        let values: Vec<Value<'_>> = swaps
            .iter()
            .flat_map(|(expected, change)| {
                [
                    Value::Text(change.kind),
                    Value::Text(&change.id),
                    Value::Int(*expected),
                    Value::Text(&change.state),
                    Value::Int(change.live_until.millis()),
                    Value::OptionalInt(change.forget_at.map(Timestamp::millis)),
                    Value::Int(change.revision.into()),
                ]
            })
            .collect();
        let no_row = [
            Value::Text(""),
            Value::Text(""),
            Value::Int(0),
            Value::Text(""),
            Value::Int(0),
            Value::OptionalInt(None),
            Value::Int(0),
        ];
        let swapped = connection.execute_batch(&sql::ADVANCE.covering(values, &no_row)).await?;
        match self.mode {
            _ if swapped == swaps.len() as u64 => Ok(()),
            Mode::Optimistic => Err(WriteError::Contested),
            // Their versions were read and locked in this transaction: no other can have changed them.
            Mode::Checked => {
                let impossible = "a row changed under the lock of its transaction";
                Err(WriteError::Failed(DatabaseError::Overtaken(impossible)))
            }
        }
    }

    async fn undo_losers(
        &self,
        connection: &mut Connection,
        created: &[(usize, &Change)],
        claimed: &[(usize, &Name, &Change)],
    ) -> engine::Result<()> {
        for (_, change) in created.iter().filter(|(commit, _)| self.verdicts[*commit].is_err()) {
            let row = [Value::Text(change.kind), Value::Text(&change.id)];
            connection.execute(sql::UNDO_CREATE, &row).await?;
        }
        for (_, name, holder) in claimed.iter().filter(|(c, ..)| self.verdicts[*c].is_err()) {
            connection.execute(sql::RELEASE_NAME, &name_row(name, holder)).await?;
        }
        Ok(())
    }

    /// Frees names, and hands on those that one entity of a commit gives up for another of it.
    async fn release_names(&self, connection: &mut Connection) -> engine::Result<()> {
        for (_, change) in self.changes() {
            for name in &change.names.removed {
                connection.execute(sql::RELEASE_NAME, &name_row(name, change)).await?;
            }
        }
        let handed_on =
            self.names_added().filter(|(place, name, _)| gives_up(self.commits[*place], name));
        let values: Vec<Value<'_>> =
            handed_on.flat_map(|(_, name, holder)| name_row(name, holder)).collect();
        if values.is_empty() {
            return Ok(());
        }
        let expected = values.len() / ROW;
        let landed = connection.execute_batch(&sql::CLAIM.exactly(values)).await?;
        // The entity that gives a name up held it: no other can have it.
        if landed == expected as u64 { Ok(()) } else { Err(DatabaseError::Unexpected) }
    }

    /// The names that entities take on, each with its commit's place.
    fn names_added(&self) -> impl Iterator<Item = (usize, &'a Name, &'a Change)> {
        self.changes().flat_map(|(place, change)| {
            change.names.added.iter().map(move |name| (place, name, change))
        })
    }

    async fn enlist(&self, connection: &mut Connection) -> engine::Result<()> {
        let mut values = Vec::new();
        for (_, change) in self.changes() {
            for listing in &change.listings.removed {
                connection.execute(sql::DELIST, &listing_row(listing, change)).await?;
            }
            let added = change.listings.added.iter().map(|listing| listing_row(listing, change));
            values.extend(added.flatten());
        }
        connection.execute_batch(&sql::ENLIST.exactly(values)).await.map(drop)
    }

    async fn record(
        &self,
        connection: &mut Connection,
        writer: &mut LogWriter,
    ) -> engine::Result<Option<Head>> {
        let records = self.winners().flat_map(|(_, commit)| {
            commit.records.iter().map(|Recorded { kind, id, record }| Entry {
                at: commit.at,
                kind,
                id,
                record,
            })
        });
        let (kept, counted): (Vec<_>, Vec<_>) = records.partition(|entry| entry.record.kept);
        match (kept.is_empty(), counted.last()) {
            (true, Some(last)) => writer.append_nothing(connection, last.at).await.map(|()| None),
            _ => writer.append(connection, &kept).await,
        }
    }

    async fn post(&self, connection: &mut Connection) -> engine::Result<()> {
        let values: Vec<Value<'_>> = self
            .winners()
            .flat_map(|(_, commit)| commit.messages.iter().map(|message| (commit.at, message)))
            .flat_map(|(at, message)| {
                [
                    Value::Text(&message.id),
                    Value::Text(message.topic),
                    Value::Bytes(&message.payload),
                    Value::Int(at.millis()),
                    Value::Int(0),
                    Value::Int(message.expires_at.millis()),
                ]
            })
            .collect();
        connection.execute_batch(&sql::POST.exactly(values)).await.map(drop)
    }

    fn verdicts(self) -> Vec<Result<i64, CommitError>> {
        let version = |commit: &Commit| {
            let swapped = commit.changes.first().and_then(version_of);
            swapped.map_or(birth_version(commit.at), |expected| expected + 1)
        };
        let commits = self.commits.iter();
        self.verdicts
            .into_iter()
            .zip(commits)
            .map(|(verdict, c)| verdict.map(|()| version(c)))
            .collect()
    }
}

/// The version a change is to be swapped against; nothing where it creates its entity.
fn version_of(change: &Change) -> Option<i64> {
    match change.expected {
        Expected::Version(version) => Some(version),
        Expected::Nothing | Expected::NewId => None,
    }
}

/// A row's first version is the time of its birth: one that is forgotten and born again under the
/// same id does not repeat versions that a node may still hold.
fn birth_version(at: Timestamp) -> i64 {
    at.millis().max(1)
}

fn places(rows: &[super::value::Row]) -> engine::Result<HashSet<(String, String)>> {
    rows.iter().map(|row| Ok((row.text(0)?, row.text(1)?))).collect()
}

fn listing_row<'a>(listing: &'a Listing, Change { kind, id, .. }: &'a Change) -> [Value<'a>; 5] {
    let Listing { list, owner, rank } = listing;
    [Value::Text(list), Value::Text(owner), Value::Text(rank), Value::Text(id), Value::Text(kind)]
}

/// Tells whether one of the commit's own entities gives up this name.
fn gives_up(commit: &Commit, name: &Name) -> bool {
    commit.changes.iter().any(|change| change.names.removed.contains(name))
}

/// How many values stand for a name and its holder.
const ROW: usize = 4;

fn name_row<'a>(name: &'a Name, Change { kind, id, .. }: &'a Change) -> [Value<'a>; ROW] {
    [name.space.into(), name.name.as_str().into(), Value::Text(kind), Value::Text(id)]
}
