//! Writes a group of commits, each of them atomic, inside one transaction, in a few statements for all of them.
//!
//! What can fail comes first and counts rows instead of raising errors, so that a commit that lost
//! does not harm the others of its group. By several statements:
//!
//! 1. required and changed entities are read, and locked where the engine has row locks, in one
//!    order over both, so that groups of several nodes do not wait for each other in a circle;
//! 2. new entities and names are inserted, `ON CONFLICT DO NOTHING`, changed entities are swapped,
//!    `WHERE version = expected`, and lists and the outbox follow: all that by [`sql::WRITE`], which
//!    counts the rows;
//! 3. messages of the outbox that were leased or settled make their step, and lose nothing but that where it comes too late;
//! 4. the log is written.
//!
//! What is to be new under an id that callers chose (a token that is revoked, an assertion that is used) is looked for
//! while rows are locked: one that is there has lost already, and costs the rest of its group nothing.
//!
//! Nearly always every commit wins. So a group is first written [`Mode::Optimistic`]: rows are only
//! counted. Where the count is short, the group is rolled back and written again [`Mode::Checked`],
//! which inserts first, finds out row by row which commits lost, and takes back what they inserted.
//! Members of a group never touch each other's rows ([`super::disjoint`]), so their order is free.
//!
//! On PostgreSQL all of it is one statement where that is possible ([`super::at_once`]).

use super::{
    at_once::{AtOnce, Hold, RequiredRow},
    chain::{Entry, Head, LogWriter},
    commit::{Change, Commit, CommitError, EntityRecord, ExpectedRow},
    disjoint::RowKey,
    engine::{self, Connection, DatabaseError},
    outbox::steps::{self, DroppedMessage, StepsOutcome},
    sql,
    value::{Liveness, Value},
    work,
};
use crate::domain::{Listing, Name, Requirement, Timestamp};
use std::collections::{HashMap, HashSet};

/// The outcome of each commit of a group and of each step of a message, and the log's head once the transaction is durable.
pub(super) struct GroupOutcome {
    pub(super) verdicts: Vec<Result<i64, CommitError>>,
    pub(super) made: Vec<bool>,
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

/// Writes a group within the transaction that is open on `connection`.
pub(super) async fn write(
    connection: &mut Connection,
    writer: &mut LogWriter,
    work::Group { commits, steps }: &work::Group<'_>,
    mode: Mode,
) -> Result<GroupOutcome, WriteError> {
    let mut group = Group { commits, verdicts: vec![Ok(()); commits.len()], mode };
    group.lock(connection).await?;
    if mode == Mode::Checked {
        group.find_losers(connection).await?;
    }
    group.write(connection).await?;
    group.hand_on_names(connection).await?;
    let StepsOutcome { made, dropped } = steps::write(connection, steps).await?;
    let head = group.record(connection, writer, &dropped).await?;
    Ok(GroupOutcome { verdicts: group.verdicts(), made, head })
}

/// Prepares a group as one statement, and says what becomes of its commits; nothing where it takes several.
pub(super) fn at_once<'a>(
    writer: &LogWriter,
    &work::Group { commits, steps }: &work::Group<'a>,
) -> Option<(AtOnce<'a>, Vec<Result<i64, CommitError>>)> {
    let verdicts = vec![Ok(()); commits.len()];
    let group = Group { commits, verdicts, mode: Mode::Optimistic };
    if commits.is_empty() || !steps.is_empty() || group.names_handed_on().next().is_some() {
        return None;
    }
    let (kept, counted) = group.entries(&[]);
    let append = match (kept.last().map(|entry| entry.at), counted) {
        (Some(at), _) => Some(writer.prepare(kept, at)?),
        // A writer that holds no lane takes none for what is only counted.
        (None, Some(at)) => writer.prepare(kept, at),
        (None, None) => None,
    };
    let chosen = group.changes().map(|(_, change)| change).filter(|change| may_be_there(change));
    let chosen = chosen.map(|change| (change.kind, &*change.id)).collect();
    let at_once =
        AtOnce::new(chosen, group.required_rows(), sql::WRITE.bind(group.written_rows()), append)?;
    Some((at_once, group.verdicts()))
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

    /// Locks what is required and what will change, looks at what is required without a lock, and checks what is found.
    async fn lock(&mut self, connection: &mut Connection) -> engine::Result<()> {
        // (place, whether it is changed)
        let mut asked: Vec<(RowKey<'a>, bool)> = Vec::new();
        let mut looked_at: Vec<RowKey<'a>> = Vec::new();
        for commit in self.commits {
            let required = commit.requirements.iter().map(|fact| (fact.kind(), fact.id()));
            if commit.locks_requirements {
                asked.extend(required.map(|place| (place, false)));
            } else {
                looked_at.extend(required);
            }
            let swapped = commit.changes.iter().filter(|change| version_of(change).is_some());
            asked.extend(swapped.map(|change| ((change.kind, &*change.id), true)));
            let chosen = commit.changes.iter().filter(|change| may_be_there(change));
            asked.extend(chosen.map(|change| ((change.kind, &*change.id), false)));
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
        looked_at.sort_unstable();
        looked_at.dedup();
        // Last: after all that is waited for.
        let seen = connection.look(&looked_at).await?;
        found.extend(looked_at.into_iter().zip(seen).filter_map(|(at, seen)| Some((at, seen?))));
        for (verdict, commit) in self.verdicts.iter_mut().zip(self.commits) {
            let moved_on = |change: &Change| {
                let version = found.get(&(change.kind, &*change.id)).map(|seen| seen.version);
                version_of(change).is_some_and(|expected| version != Some(expected))
            };
            let unmet = |fact: &&Requirement| {
                let seen = found.get(&(fact.kind(), fact.id()));
                !seen.is_some_and(|seen| fact.holds(seen.version, seen.live_until, commit.at))
            };
            let is_there = |change: &&Change| {
                may_be_there(change) && found.contains_key(&(change.kind, &*change.id))
            };
            if changed_are_known && commit.changes.iter().any(moved_on) {
                *verdict = Err(CommitError::Conflict);
            } else if let Some(change) = commit.changes.iter().find(is_there) {
                *verdict = Err(not_new(change));
            } else if let Some(fact) = commit.requirements.iter().find(unmet) {
                *verdict = Err(CommitError::Unmet { kind: fact.kind() });
            }
        }
        Ok(())
    }

    /// Inserts what is new. A commit whose row or name is there already has lost: what it inserted is taken back.
    async fn find_losers(&mut self, connection: &mut Connection) -> Result<(), WriteError> {
        let new = self.new_entities();
        let bound = sql::CREATE_AND_TELL.bind(self.entity_rows(&new));
        let mut landed = places(&connection.fetch_batch(&bound).await?)?;
        let mut created = Vec::new();
        for (commit, change) in new {
            // Removed and not only looked up: what is asked for twice has landed once.
            if landed.remove(&(change.kind.to_owned(), change.id.clone())) {
                created.push((commit, change));
            } else if change.expected != ExpectedRow::NewId || self.verdicts[commit].is_ok() {
                self.verdicts[commit] = Err(not_new(change));
            }
        }
        let wanted = self.wanted_names();
        let bound = sql::CLAIM_AND_TELL.bind(name_rows(&wanted));
        let mut landed = places(&connection.fetch_batch(&bound).await?)?;
        let mut claimed = Vec::new();
        for (commit, name, holder) in wanted {
            if landed.remove(&(name.space.to_owned(), name.name.clone())) {
                claimed.push((commit, name, holder));
            } else {
                self.verdicts[commit] = Err(CommitError::Taken { space: name.space });
            }
        }
        created.retain(|(commit, _)| self.verdicts[*commit].is_err());
        claimed.retain(|(commit, ..)| self.verdicts[*commit].is_err());
        for (_, change) in created {
            let row = [Value::Text(change.kind), Value::Text(&change.id)];
            connection.execute(sql::ERASE, &row).await?;
        }
        connection.execute_batch(&sql::RELEASE_NAME.bind(name_rows(&claimed))).await?;
        Ok(())
    }

    /// The rows that are required or changed.
    fn required_rows(&self) -> Vec<RequiredRow<'a>> {
        let required = self.commits.iter().flat_map(|commit| {
            commit.requirements.iter().map(|fact| {
                let (version, live_after) = match fact {
                    Requirement::Live { .. } => (None, Some(commit.at.millis())),
                    Requirement::Unchanged { version, .. } => (Some(*version), None),
                };
                let (kind, id) = (fact.kind(), fact.id());
                let hold = if commit.locks_requirements { Hold::Shared } else { Hold::None };
                RequiredRow { kind, id, hold, version, live_after }
            })
        });
        let changed = self.changes().filter_map(|(_, change)| {
            let (kind, id) = (change.kind, &*change.id);
            let version = Some(version_of(change)?);
            Some(RequiredRow { kind, id, hold: Hold::Changed, version, live_after: None })
        });
        required.chain(changed).collect()
    }

    /// The rows of each part of [`sql::WRITE`]: what the winners change.
    fn written_rows(&self) -> [Vec<Value<'a>>; 7] {
        let (created, claimed) = match self.mode {
            Mode::Optimistic => {
                (self.entity_rows(&self.new_entities()), name_rows(&self.wanted_names()))
            }
            // They are there already.
            Mode::Checked => (Vec::new(), Vec::new()),
        };
        let changes = || self.changes().map(|(_, change)| change);
        let released = changes()
            .flat_map(|change| change.names.removed.iter().flat_map(|name| name_row(name, change)));
        let delisted = changes().flat_map(|change| listing_rows(&change.listings.removed, change));
        let enlisted = changes().flat_map(|change| listing_rows(&change.listings.added, change));
        [
            created,
            claimed,
            self.swapped_rows(),
            released.collect(),
            delisted.collect(),
            enlisted.collect(),
            self.message_rows(),
        ]
    }

    /// Writes what the winners change; versions decide.
    async fn write(&self, connection: &mut Connection) -> Result<(), WriteError> {
        let bound = sql::WRITE.bind(self.written_rows());
        let touched = connection.execute_together(&bound).await?;
        let counted = bound.parts.iter().zip(touched).take(3);
        match self.mode {
            _ if counted.into_iter().all(|(part, touched)| part.len() == touched) => Ok(()),
            Mode::Optimistic => Err(WriteError::Contested),
            // Their versions were read and locked in this transaction: no other can have changed them.
            Mode::Checked => {
                let impossible = "a row changed under the lock of its transaction";
                Err(WriteError::Failed(DatabaseError::Overtaken(impossible)))
            }
        }
    }

    /// What is new, each with its commit's place, in one order for all writers.
    fn new_entities(&self) -> Vec<(usize, &'a Change)> {
        let mut new: Vec<(usize, &'a Change)> =
            self.changes().filter(|(_, change)| version_of(change).is_none()).collect();
        new.sort_unstable_by_key(|(_, change)| (change.kind, change.id.as_str()));
        new
    }

    fn entity_rows(&self, new: &[(usize, &'a Change)]) -> Vec<Value<'a>> {
        let row = |(commit, change): &(usize, &'a Change)| {
            entity_row(change, birth_version(self.commits[*commit].at))
        };
        new.iter().flat_map(row).collect()
    }

    fn swapped_rows(&self) -> Vec<Value<'a>> {
        let mut swaps: Vec<(i64, &'a Change)> =
            self.changes().filter_map(|(_, c)| Some((version_of(c)?, c))).collect();
        swaps.sort_unstable_by_key(|(_, change)| (change.kind, change.id.as_str()));
        swaps.into_iter().flat_map(|(expected, change)| entity_row(change, expected)).collect()
    }

    /// The names to be claimed, in one order for all writers. What one entity of a commit gives up for another of
    /// it is not free yet.
    fn wanted_names(&self) -> Vec<(usize, &'a Name, &'a Change)> {
        let mut wanted: Vec<(usize, &'a Name, &'a Change)> = self
            .names_added()
            .filter(|(place, name, _)| !gives_up(self.commits[*place], name))
            .collect();
        wanted.sort_unstable_by_key(|(_, name, _)| *name);
        wanted
    }

    /// Gives names that one entity of a commit has given up to another of it.
    async fn hand_on_names(&self, connection: &mut Connection) -> engine::Result<()> {
        let handed_on: Vec<_> = self.names_handed_on().collect();
        let bound = sql::CLAIM.bind(name_rows(&handed_on));
        let landed = connection.execute_batch(&bound).await?;
        // The entity that gives a name up held it: no other can have it.
        if landed == bound.len() { Ok(()) } else { Err(DatabaseError::Unexpected) }
    }

    fn names_handed_on(&self) -> impl Iterator<Item = (usize, &'a Name, &'a Change)> {
        self.names_added().filter(|(place, name, _)| gives_up(self.commits[*place], name))
    }

    /// The names that entities take on, each with its commit's place.
    fn names_added(&self) -> impl Iterator<Item = (usize, &'a Name, &'a Change)> {
        self.changes().flat_map(|(place, change)| {
            change.names.added.iter().map(move |name| (place, name, change))
        })
    }

    async fn record(
        &self,
        connection: &mut Connection,
        writer: &mut LogWriter,
        dropped: &[DroppedMessage],
    ) -> engine::Result<Option<Head>> {
        let (kept, counted) = self.entries(dropped);
        match (kept.is_empty(), counted) {
            (true, Some(at)) => writer.append_nothing(connection, at).await.map(|()| None),
            _ => writer.append(connection, &kept).await,
        }
    }

    /// What the log gets, and the time of the last of what is only counted.
    fn entries<'e>(&self, dropped: &'e [DroppedMessage]) -> (Vec<Entry<'e>>, Option<Timestamp>)
    where
        'a: 'e,
    {
        let records = self.winners().flat_map(|(_, commit)| {
            commit.records.iter().map(|EntityRecord { kind, id, record }| Entry {
                at: commit.at,
                kind,
                id,
                record,
            })
        });
        let dropped = dropped.iter().map(|DroppedMessage { id, at, record }| Entry {
            at: *at,
            kind: "outbox",
            id,
            record,
        });
        let records = records.chain(dropped);
        let (kept, counted): (Vec<_>, Vec<_>) = records.partition(|entry| entry.record.kept);
        (kept, counted.last().map(|entry| entry.at))
    }

    fn message_rows(&self) -> Vec<Value<'a>> {
        self.winners()
            .flat_map(|(_, commit)| commit.messages.iter().map(|message| (commit.at, message)))
            .flat_map(|(at, message)| {
                [
                    Value::Text(&message.id),
                    Value::Text(message.topic),
                    Value::Bytes(&message.payload),
                    Value::Int(at.millis()),
                    Value::Int(0),
                    Value::Int(message.expires_at.millis()),
                    Value::Int(message.class),
                    Value::Text(&message.queue),
                ]
            })
            .collect()
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
        ExpectedRow::Version(version) => Some(version),
        ExpectedRow::Nothing | ExpectedRow::NewId => None,
    }
}

/// Tells whether a row that is to be made may be there already.
fn may_be_there(change: &Change) -> bool {
    change.id_is_derived && version_of(change).is_none()
}

/// What becomes of a commit that finds a row where it wanted to make one.
fn not_new(change: &Change) -> CommitError {
    match change.expected {
        ExpectedRow::NewId => CommitError::Taken { space: change.kind },
        ExpectedRow::Nothing | ExpectedRow::Version(_) => CommitError::Conflict,
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

/// As [`sql::CREATE`] takes it with the version that it gets, and [`sql::ADVANCE`] with the version that it has.
fn entity_row(change: &Change, version: i64) -> [Value<'_>; 7] {
    [
        Value::Text(change.kind),
        Value::Text(&change.id),
        Value::Int(version),
        Value::Text(&change.state),
        Value::Int(change.live_until.millis()),
        Value::OptionalInt(change.forget_at.map(Timestamp::millis)),
        Value::Int(change.revision.into()),
    ]
}

fn listing_rows<'a>(
    listings: &'a [Listing],
    Change { kind, id, .. }: &'a Change,
) -> impl Iterator<Item = Value<'a>> {
    let row = move |Listing { list, owner, rank }: &'a Listing| {
        [
            Value::Text(list),
            Value::Text(owner),
            Value::Text(rank),
            Value::Text(id),
            Value::Text(kind),
        ]
    };
    listings.iter().flat_map(row)
}

/// Tells whether one of the commit's own entities gives up this name.
fn gives_up(commit: &Commit, name: &Name) -> bool {
    commit.changes.iter().any(|change| change.names.removed.contains(name))
}

fn name_rows<'a>(names: &[(usize, &'a Name, &'a Change)]) -> Vec<Value<'a>> {
    names.iter().flat_map(|(_, name, holder)| name_row(name, holder)).collect()
}

fn name_row<'a>(name: &'a Name, Change { kind, id, .. }: &'a Change) -> [Value<'a>; 4] {
    [name.space.into(), name.name.as_str().into(), Value::Text(kind), Value::Text(id)]
}
