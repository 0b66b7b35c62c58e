//! The liveness cache: which entities are live, cached while the database is as it was.
//!
//! `PRAGMA data_version` counts, for one connection, the changes that others have committed to the file, this process
//! and any other. A connection of ours that reads never writes, so its count stands still only while nothing at all
//! has changed (adr/0099):
//!
//! 1. the count is asked for; another one than last time forgets everything;
//! 2. if all that is asked is cached, that is the answer, true at the time of step 1;
//! 3. else a transaction begins, which sees no later change, and the count is asked for again in it; then what is
//!    missing is read, and cached. The answer is true at the time of that count.

use super::{changes, each_liveness, execute};
use crate::store::{engine::faults::Result, value::Liveness};
use rusqlite::Connection;
use std::collections::HashMap;

/// How many entities are cached at once.
const MOST: usize = 4_096;

/// Where there is no row, that is cached.
type CachedLiveness = Option<Liveness>;

#[derive(Default)]
pub(super) struct LivenessCache {
    /// The count of changes at which it was read.
    count: Option<i64>,
    /// By kind and id.
    seen: HashMap<Box<str>, HashMap<Box<str>, CachedLiveness>>,
    entities: usize,
}

impl LivenessCache {
    pub(super) fn liveness(
        &mut self,
        connection: &Connection,
        asked: &[(&str, &str)],
    ) -> Result<Vec<CachedLiveness>> {
        self.keep_if_at(changes(connection)?);
        if let Some(known) = asked.iter().map(|(kind, id)| self.find(kind, id)).collect() {
            return Ok(known);
        }
        self.read_the_rest(connection, asked)
    }

    /// Forgets everything that was read at another count.
    fn keep_if_at(&mut self, count: i64) {
        if self.count != Some(count) {
            *self = Self { count: Some(count), ..Self::default() };
        }
    }

    /// Reads what is missing, as of the moment at which the rest is known to be as it is cached.
    fn read_the_rest(
        &mut self,
        connection: &Connection,
        asked: &[(&str, &str)],
    ) -> Result<Vec<CachedLiveness>> {
        execute(connection, "BEGIN", &[])?;
        let found = changes(connection).and_then(|count| {
            self.keep_if_at(count);
            let mut found: Vec<_> = asked.iter().map(|(kind, id)| self.find(kind, id)).collect();
            let missing = (0..asked.len()).filter(|place| found[*place].is_none());
            let missing: Vec<usize> = missing.collect();
            let read = each_liveness(connection, missing.iter().map(|place| asked[*place]))?;
            for (place, seen) in missing.into_iter().zip(read) {
                let (kind, id) = asked[place];
                self.keep(kind, id, seen);
                found[place] = Some(seen);
            }
            Ok(found.into_iter().flatten().collect())
        });
        let ended = execute(connection, "COMMIT", &[]);
        let found = found?;
        ended?;
        Ok(found)
    }

    fn find(&self, kind: &str, id: &str) -> Option<CachedLiveness> {
        self.seen.get(kind)?.get(id).copied()
    }

    fn keep(&mut self, kind: &str, id: &str, seen: CachedLiveness) {
        if self.entities >= MOST {
            *self = Self { count: self.count, ..Self::default() };
        }
        let of_kind = match self.seen.get_mut(kind) {
            Some(of_kind) => of_kind,
            None => self.seen.entry(kind.into()).or_default(),
        };
        if of_kind.insert(id.into(), seen).is_none() {
            self.entities += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::sqlite::File;
    use std::{
        sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst},
        time::Duration,
    };

    const ASKED: [(&str, &str); 2] = [("client", "a"), ("session", "none")];

    /// A file with one entity at version 1, and who writes it.
    fn one_entity(folder: &tempfile::TempDir) -> (File, Connection) {
        let file = File::at(folder.path().join("a.db"), true);
        let writer = file.open_to_write().unwrap();
        writer.execute_batch(include_str!("../../../../migrations/0001_entities.sql")).unwrap();
        let insert = "INSERT INTO entities VALUES ('client', 'a', 1, 1, '{}', 5, NULL)";
        writer.execute_batch(insert).unwrap();
        (file, writer)
    }

    fn versions(seen: &[CachedLiveness]) -> Vec<Option<i64>> {
        seen.iter().map(|seen| seen.map(|seen| seen.version)).collect()
    }

    #[test]
    fn what_is_there_and_what_is_not_is_remembered_until_anything_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (file, writer) = one_entity(&folder);
        let (reader, mut cache) = (file.open_to_read(Duration::ZERO), LivenessCache::default());
        let reader = reader.unwrap();
        for _ in 0..2 {
            let seen = cache.liveness(&reader, &ASKED).unwrap();
            assert_eq!(versions(&seen), [Some(1), None]);
            assert_eq!(cache.entities, 2);
        }
        writer.execute_batch("UPDATE entities SET version = 2").unwrap();
        let seen = cache.liveness(&reader, &ASKED[..1]).unwrap();
        assert_eq!(versions(&seen), [Some(2)]);
        assert_eq!(cache.entities, 1, "everything else is forgotten");
        writer.execute_batch("DELETE FROM entities").unwrap();
        assert_eq!(versions(&cache.liveness(&reader, &ASKED).unwrap()), [None, None]);
    }

    #[test]
    fn what_is_remembered_is_not_mixed_with_what_is_newer() {
        let folder = tempfile::tempdir().unwrap();
        let (file, writer) = one_entity(&folder);
        let insert = "INSERT INTO entities VALUES ('session', 'b', 1, 1, '{}', 5, NULL)";
        writer.execute_batch(insert).unwrap();
        let both = [("session", "b"), ("client", "a"), ("session", "b")];
        let (reader, mut cache) = (file.open_to_read(Duration::ZERO), LivenessCache::default());
        let reader = reader.unwrap();
        assert_eq!(versions(&cache.liveness(&reader, &both[1..2]).unwrap()), [Some(1)]);
        // Between the count and the transaction.
        writer.execute_batch("UPDATE entities SET version = 2").unwrap();
        let seen = cache.read_the_rest(&reader, &both).unwrap();
        assert_eq!(versions(&seen), [Some(2), Some(2), Some(2)]);
        assert_eq!(cache.entities, 2);
        let seen = cache.read_the_rest(&reader, &ASKED).unwrap();
        assert_eq!(versions(&seen), [Some(2), None]);
        assert_eq!(cache.entities, 3, "what is remembered stays beside what was missing");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut cache = LivenessCache { count: Some(7), ..LivenessCache::default() };
        for number in 0..3 * MOST {
            cache.keep("client", &number.to_string(), None);
            cache.keep("client", &number.to_string(), None);
            assert!(cache.entities <= MOST && cache.count == Some(7));
        }
        assert!(cache.find("client", "0").is_none());
        assert!(cache.find("client", &(3 * MOST - 1).to_string()).is_some());
    }

    #[test]
    fn a_change_that_was_committed_before_the_question_is_in_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        let (file, writer) = one_entity(&folder);
        let (committed, over) = (AtomicI64::new(1), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let reader = file.open_to_read(Duration::from_secs(5)).unwrap();
                    let mut cache = LivenessCache::default();
                    while !over.load(SeqCst) {
                        let before = committed.load(SeqCst);
                        let seen = cache.liveness(&reader, &ASKED).unwrap();
                        let version = versions(&seen)[0].unwrap();
                        assert!(version >= before, "{version} of {before}");
                    }
                });
            }
            for version in 2..1_000 {
                let update = format!("UPDATE entities SET version = {version}");
                writer.execute_batch(&update).unwrap();
                committed.store(version, SeqCst);
                // Now and then nothing changes for a while, and the same is asked again.
                if version % 8 == 0 {
                    std::thread::yield_now();
                }
            }
            over.store(true, SeqCst);
        });
    }
}
