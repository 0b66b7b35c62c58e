//! Writes a group of commits inside one transaction, in a few statements for all of them.
//!
//! What can fail comes first and counts rows instead of raising errors, so that a commit that lost
//! does not harm its neighbours:
//!
//! 1. required and changed entities are read, and locked where the engine has row locks, in one
//!    order over both, so that groups of several nodes do not wait for each other in a circle;
//! 2. new entities and names are inserted, `ON CONFLICT DO NOTHING`;
//! 3. changed entities are swapped, `WHERE version = expected`;
//! 4. what a losing commit had inserted is taken back;
//! 5. released names, listings, log rows and outbox messages follow for the winners.
//!
//! Nearly always everybody wins. So a group is first written in hope: rows are counted, and only if
//! the count is short is it rolled back and written again with care, asking row by row who lost.
//! Members of a group never touch each other's rows ([`super::disjoint`]), so their order is free.

use super::{
    chain::{Entry, Head, Scribe},
    commit::{Commit, CommitError},
    disjoint::Place,
    engine::Connection,
    sql,
    value::Value,
};
use crate::domain::{Listing, Name, Requirement, Timestamp};
use std::collections::{HashMap, HashSet};

/// What became of each commit of a group, and the log's head once the transaction is durable.
pub(super) struct Written {
    pub(super) verdicts: Vec<Result<i64, CommitError>>,
    pub(super) head: Option<Head>,
}

/// Whether losers are looked for, or only noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    Hopeful,
    Careful,
}

/// Why a group was not written.
#[derive(Debug)]
pub(super) enum Halt {
    /// Somebody lost, and a hopeful writer does not know who.
    Contested,
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Halt {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

/// Writes `commits` within the transaction that is open on `connection`.
pub(super) async fn write(
    connection: &mut Connection,
    scribe: &mut Scribe,
    commits: &[&Commit],
    care: Care,
) -> Result<Written, Halt> {
    let mut group = Group { commits, fates: vec![Ok(()); commits.len()], care };
    group.hold(connection).await?;
    let created = group.create(connection).await?;
    let claimed = group.claim_names(connection).await?;
    group.advance(connection).await?;
    group.take_back(connection, &created, &claimed).await?;
    group.release_names(connection).await?;
    group.enlist(connection).await?;
    let head = group.record(connection, scribe).await?;
    group.post(connection).await?;
    Ok(Written { verdicts: group.verdicts(), head })
}

struct Group<'a> {
    commits: &'a [&'a Commit],
    fates: Vec<Result<(), CommitError>>,
    care: Care,
}

/// An entity to insert, and which commit wants it.
struct Insert<'a> {
    commit: usize,
    kind: &'static str,
    id: &'a str,
    state: &'a str,
    live_until: Timestamp,
    forget_at: Option<Timestamp>,
    /// Whether it is the commit's own entity or one it gives birth to.
    own: bool,
}

impl<'a> Group<'a> {
    fn standing(&self) -> impl Iterator<Item = (usize, &'a Commit)> {
        self.commits.iter().copied().enumerate().filter(|(place, _)| self.fates[*place].is_ok())
    }

    /// Locks what is required and what will change, and judges by what is found.
    async fn hold(&mut self, connection: &mut Connection) -> sqlx::Result<()> {
        // (place, whether it is changed)
        let mut asked: Vec<(Place<'a>, bool)> = Vec::new();
        for Commit { change, requirements, .. } in self.commits.iter().copied() {
            asked.extend(requirements.iter().map(|fact| ((fact.kind(), fact.id()), false)));
            if change.expected != 0 {
                asked.push(((change.kind, &change.id), true));
            }
        }
        asked.sort_unstable();
        asked.dedup();
        let (mut required, mut changed) = (HashMap::new(), None);
        for run in asked.chunk_by(|one, next| one.1 == next.1) {
            let places: Vec<Place<'_>> = run.iter().map(|(place, _)| *place).collect();
            let rows = if run[0].1 {
                let careful = self.care == Care::Careful;
                let Some(rows) = connection.take(&places, careful).await? else { continue };
                let changed = changed.get_or_insert_with(HashMap::new);
                for row in rows {
                    changed.insert((row.text(0)?, row.text(1)?), row.int(2)?);
                }
                continue;
            } else {
                connection.hold(&places).await?
            };
            for row in rows {
                required.insert((row.text(0)?, row.text(1)?), (row.int(2)?, row.int(3)?));
            }
        }
        for (fate, commit) in self.fates.iter_mut().zip(self.commits) {
            let change = &commit.change;
            let moved_on = changed.as_ref().is_some_and(|found| {
                let found = found.get(&(change.kind.to_owned(), change.id.clone()));
                change.expected != 0 && found != Some(&change.expected)
            });
            if moved_on {
                *fate = Err(CommitError::Conflict);
            } else if let Some(fact) = commit.requirements.iter().find(|fact| {
                let found = required.get(&(fact.kind().to_owned(), fact.id().to_owned()));
                !found.is_some_and(|(version, live_until)| match fact {
                    Requirement::Live { .. } => *live_until > commit.at.millis(),
                    Requirement::Unchanged { version: expected, .. } => version == expected,
                })
            }) {
                *fate = Err(CommitError::Unmet { kind: fact.kind() });
            }
        }
        Ok(())
    }

    /// Inserts what is new; a place that was not free costs its commit the race.
    async fn create(
        &mut self,
        connection: &mut Connection,
    ) -> Result<Vec<(usize, Place<'a>)>, Halt> {
        let mut inserts = Vec::new();
        for (commit, Commit { change, births, .. }) in self.standing() {
            if change.expected == 0 {
                let (live_until, forget_at) = (change.live_until, change.forget_at);
                let (kind, id, state) = (change.kind, &*change.id, &*change.state);
                inserts.push(Insert { commit, kind, id, state, live_until, forget_at, own: true });
            }
            for birth in births {
                let (live_until, forget_at) = (birth.live_until, birth.forget_at);
                let (kind, id, state) = (birth.kind, &*birth.id, &*birth.state);
                inserts.push(Insert { commit, kind, id, state, live_until, forget_at, own: false });
            }
        }
        inserts.sort_unstable_by_key(|insert| (insert.kind, insert.id));
        let values: Vec<Value<'_>> = inserts
            .iter()
            .flat_map(|insert| {
                [
                    Value::Text(insert.kind),
                    Value::Text(insert.id),
                    Value::Int(birth_version(self.commits[insert.commit].at)),
                    Value::Text(insert.state),
                    Value::Int(insert.live_until.millis()),
                    Value::OptionalInt(insert.forget_at.map(Timestamp::millis)),
                ]
            })
            .collect();
        if self.care == Care::Hopeful {
            let landed = connection.execute_batch(&sql::CREATE.exactly(values)).await?;
            let all_landed = landed == inserts.len() as u64;
            let created = inserts.iter().map(|insert| (insert.commit, (insert.kind, insert.id)));
            return if all_landed { Ok(created.collect()) } else { Err(Halt::Contested) };
        }
        let mut landed =
            places(&connection.fetch_batch(&sql::CREATE_AND_TELL.exactly(values)).await?)?;
        let mut created = Vec::new();
        for Insert { commit, kind, id, own, .. } in inserts {
            // Removed and not only looked up: what is asked for twice has landed once.
            if landed.remove(&(kind.to_owned(), id.to_owned())) {
                created.push((commit, (kind, id)));
            } else if own {
                self.fates[commit] = Err(CommitError::Conflict);
            } else if self.fates[commit].is_ok() {
                self.fates[commit] = Err(CommitError::Taken { space: kind });
            }
        }
        Ok(created)
    }

    async fn claim_names(
        &mut self,
        connection: &mut Connection,
    ) -> Result<Vec<(usize, &'a Name, Place<'a>)>, Halt> {
        let mut wanted: Vec<(usize, &'a Name, Place<'a>)> = Vec::new();
        for (place, commit) in self.standing() {
            let change = &commit.change;
            let own = change.names.added.iter().map(|name| (name, (change.kind, &*change.id)));
            let born = commit.births.iter().flat_map(|birth| {
                birth.names.iter().map(move |name| (name, (birth.kind, birth.id.as_str())))
            });
            wanted.extend(own.chain(born).map(|(name, holder)| (place, name, holder)));
        }
        wanted.sort_unstable_by_key(|(_, name, _)| *name);
        let values: Vec<Value<'_>> = wanted
            .iter()
            .flat_map(|(_, name, (kind, id))| {
                [name.space.into(), name.name.as_str().into(), Value::Text(kind), Value::Text(id)]
            })
            .collect();
        if self.care == Care::Hopeful {
            let landed = connection.execute_batch(&sql::CLAIM.exactly(values)).await?;
            return if landed == wanted.len() as u64 { Ok(wanted) } else { Err(Halt::Contested) };
        }
        let mut landed =
            places(&connection.fetch_batch(&sql::CLAIM_AND_TELL.exactly(values)).await?)?;
        let mut claimed = Vec::new();
        for (commit, name, holder) in wanted {
            if landed.remove(&(name.space.to_owned(), name.name.clone())) {
                claimed.push((commit, name, holder));
            } else {
                self.fates[commit] = Err(CommitError::Taken { space: name.space });
            }
        }
        Ok(claimed)
    }

    /// Swaps what exists; the version decides.
    async fn advance(&mut self, connection: &mut Connection) -> Result<(), Halt> {
        let swaps = self.standing().filter(|(_, commit)| commit.change.expected != 0);
        let mut swaps: Vec<&'a Commit> = swaps.map(|(_, commit)| commit).collect();
        swaps.sort_unstable_by_key(|commit| (commit.change.kind, commit.change.id.as_str()));
        let values: Vec<Value<'_>> = swaps
            .iter()
            .flat_map(|Commit { change, .. }| {
                [
                    Value::Text(change.kind),
                    Value::Text(&change.id),
                    Value::Int(change.expected),
                    Value::Text(&change.state),
                    Value::Int(change.live_until.millis()),
                    Value::OptionalInt(change.forget_at.map(Timestamp::millis)),
                ]
            })
            .collect();
        let nobody = [
            Value::Text(""),
            Value::Text(""),
            Value::Int(0),
            Value::Text(""),
            Value::Int(0),
            Value::OptionalInt(None),
        ];
        let swapped = connection.execute_batch(&sql::ADVANCE.covering(values, &nobody)).await?;
        match self.care {
            _ if swapped == swaps.len() as u64 => Ok(()),
            Care::Hopeful => Err(Halt::Contested),
            // Their versions were read in this transaction, and nobody else can have changed them.
            Care::Careful => {
                let impossible = "a row changed under the lock of its transaction".to_owned();
                Err(Halt::Failed(sqlx::Error::Protocol(impossible)))
            }
        }
    }

    async fn take_back(
        &self,
        connection: &mut Connection,
        created: &[(usize, Place<'_>)],
        claimed: &[(usize, &Name, Place<'_>)],
    ) -> sqlx::Result<()> {
        for (_, (kind, id)) in created.iter().filter(|(commit, _)| self.fates[*commit].is_err()) {
            connection.execute(sql::UNDO_CREATE, &[Value::Text(kind), Value::Text(id)]).await?;
        }
        for (_, name, holder) in claimed.iter().filter(|(c, ..)| self.fates[*c].is_err()) {
            release(connection, name, *holder).await?;
        }
        Ok(())
    }

    async fn release_names(&self, connection: &mut Connection) -> sqlx::Result<()> {
        for (_, Commit { change, .. }) in self.standing() {
            for name in &change.names.removed {
                release(connection, name, (change.kind, &change.id)).await?;
            }
        }
        Ok(())
    }

    async fn enlist(&self, connection: &mut Connection) -> sqlx::Result<()> {
        let mut values = Vec::new();
        for (_, Commit { change, births, .. }) in self.standing() {
            for listing in &change.listings.removed {
                let row = listing_row(listing, change.kind, &change.id);
                connection.execute(sql::DELIST, &row).await?;
            }
            let own = change.listings.added.iter().map(|l| listing_row(l, change.kind, &change.id));
            values.extend(own.flatten());
            for birth in births {
                let born = birth.listings.iter().map(|l| listing_row(l, birth.kind, &birth.id));
                values.extend(born.flatten());
            }
        }
        connection.execute_batch(&sql::ENLIST.exactly(values)).await.map(drop)
    }

    async fn record(
        &self,
        connection: &mut Connection,
        scribe: &mut Scribe,
    ) -> sqlx::Result<Option<Head>> {
        let entries: Vec<Entry<'_>> = self
            .standing()
            .flat_map(|(_, commit)| {
                commit.records.iter().map(|record| Entry {
                    at: commit.at,
                    kind: commit.change.kind,
                    id: &commit.change.id,
                    record,
                })
            })
            .collect();
        scribe.append(connection, &entries).await
    }

    async fn post(&self, connection: &mut Connection) -> sqlx::Result<()> {
        let values: Vec<Value<'_>> = self
            .standing()
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
        let version_of = |commit: &Commit| match commit.change.expected {
            0 => birth_version(commit.at),
            expected => expected + 1,
        };
        let commits = self.commits.iter();
        self.fates.into_iter().zip(commits).map(|(fate, c)| fate.map(|()| version_of(c))).collect()
    }
}

/// A row's first version is the time of its birth: one that is forgotten and born again under the
/// same id does not repeat versions that somebody may still hold.
fn birth_version(at: Timestamp) -> i64 {
    at.millis().max(1)
}

fn places(rows: &[super::value::Row]) -> sqlx::Result<HashSet<(String, String)>> {
    rows.iter().map(|row| Ok((row.text(0)?, row.text(1)?))).collect()
}

fn listing_row<'a>(listing: &'a Listing, kind: &'a str, id: &'a str) -> [Value<'a>; 5] {
    let Listing { list, owner, rank } = listing;
    [Value::Text(list), Value::Text(owner), Value::Text(rank), Value::Text(id), Value::Text(kind)]
}

async fn release(
    connection: &mut Connection,
    name: &Name,
    (kind, id): Place<'_>,
) -> sqlx::Result<()> {
    let values = [name.space.into(), name.name.as_str().into(), Value::Text(kind), Value::Text(id)];
    connection.execute(sql::RELEASE_NAME, &values).await.map(drop)
}
