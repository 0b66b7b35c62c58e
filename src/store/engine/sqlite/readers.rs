//! The connections that everything is read from.

use super::{File, fetch, liveness_cache::LivenessCache};
use crate::store::{
    engine::{
        LOCK_TIMEOUT, READ_TIMEOUT,
        faults::{DatabaseError, Result, is_busy},
    },
    value::{Liveness, OwnedValue, Row, Value},
};
use rusqlite::Connection;
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    time::Duration,
};
use tokio::{sync::Semaphore, task::coop::consume_budget, time::timeout};

/// How many reads at once are carried out on threads that may block.
const SCANS: usize = 2;

/// What a read takes of the budget that a task has for a turn (128), beside one for each of its rows. A read does not wait:
/// a task that makes many would keep its thread from all other tasks.
const COST: usize = 32;

/// Takes what reads cost from the budget of this task; where there is none left, other tasks of the thread run first.
async fn pay(cost: usize) {
    for _ in 0..cost {
        consume_budget().await;
    }
}

/// The connections that everything is read from, opened when first needed.
#[derive(Clone)]
pub(in crate::store) struct Readers(Arc<ConnectionPool>);

struct ConnectionPool {
    file: File,
    /// A thread has a connection that it prefers, and takes another while that one is in use.
    connections: Box<[Mutex<Option<Reader>>]>,
    /// How many reads at once may block a thread.
    scans: Arc<Semaphore>,
}

/// A connection, and the liveness cache of what was read by it.
struct Reader {
    connection: Connection,
    liveness: LivenessCache,
}

type ReaderGuard<'a> = MutexGuard<'a, Option<Reader>>;

impl Readers {
    pub(in crate::store::engine) fn of(file: File) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let connections = (0..cores + SCANS).map(|_| Mutex::default()).collect();
        Self(Arc::new(ConnectionPool { file, connections, scans: Arc::new(Semaphore::new(SCANS)) }))
    }

    /// Reads here and now; where another process has locked the file, on a thread that may wait for it.
    pub(in crate::store::engine) async fn fetch(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>> {
        pay(COST).await;
        match self.0.with(Duration::ZERO, |reader| fetch(&reader.connection, sql, values)) {
            Err(error) if is_busy(&error) => self.scan(sql, values).await,
            fetched => {
                pay(fetched.as_ref().map_or(0, Vec::len)).await;
                fetched
            }
        }
    }

    /// Tells which entities are live; what was read before is not read again while the database is as it was.
    pub(in crate::store::engine) async fn liveness(
        &self,
        asked: &[(&str, &str)],
    ) -> Result<Vec<Option<Liveness>>> {
        pay(COST + asked.len()).await;
        match self.0.with(Duration::ZERO, |reader| reader.liveness(asked)) {
            Err(error) if is_busy(&error) => {
                let owned = |(kind, id): &(&str, &str)| ((*kind).to_owned(), (*id).to_owned());
                let asked: Vec<(String, String)> = asked.iter().map(owned).collect();
                let read = move |reader: &mut Reader| {
                    let asked: Vec<_> = asked.iter().map(|(kind, id)| (&**kind, &**id)).collect();
                    reader.liveness(&asked)
                };
                self.wait_and_read(read).await
            }
            read => read,
        }
    }

    /// Reads what may take long on a thread that may block.
    pub(in crate::store::engine) async fn scan(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>> {
        let values: Vec<OwnedValue> = values.iter().copied().map(OwnedValue::from).collect();
        let read = move |reader: &mut Reader| {
            let values: Vec<Value<'_>> = values.iter().map(Value::from).collect();
            fetch(&reader.connection, sql, &values)
        };
        self.wait_and_read(read).await
    }

    /// Reads on a thread that may block, and waits there for the lock of another process.
    async fn wait_and_read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = self.0.clone();
        let read = async move {
            let permit = self.0.scans.clone().acquire_owned().await;
            let permit = permit.map_err(|_| DatabaseError::Closed)?;
            #[expect(clippy::disallowed_methods, reason = "a permit bounds it")]
            let read = tokio::task::spawn_blocking(move || {
                let answer = shared.with(LOCK_TIMEOUT, read);
                drop(permit);
                answer
            });
            read.await.unwrap_or(Err(DatabaseError::Closed))
        };
        timeout(READ_TIMEOUT, read).await.unwrap_or(Err(DatabaseError::TimedOut))
    }

    /// See [`File::replaced`].
    pub(in crate::store::engine) async fn replaced(&self) {
        self.0.file.replaced().await;
    }

    pub(in crate::store::engine) fn close(&self) {
        for held in &self.0.connections {
            drop(held.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

impl Reader {
    fn liveness(&mut self, asked: &[(&str, &str)]) -> Result<Vec<Option<Liveness>>> {
        self.liveness.liveness(&self.connection, asked)
    }
}

impl ConnectionPool {
    /// Reads by a connection that is free; one that failed is not used again.
    fn with<T>(
        &self,
        lock_timeout: Duration,
        read: impl FnOnce(&mut Reader) -> Result<T>,
    ) -> Result<T> {
        self.file.check_same()?;
        let mut held = self.take();
        let mut reader = match held.take() {
            Some(reader) => reader,
            None => Reader {
                connection: self.file.open_to_read(Duration::ZERO)?,
                liveness: LivenessCache::default(),
            },
        };
        if !lock_timeout.is_zero() {
            reader.connection.busy_timeout(lock_timeout)?;
        }
        let answer = read(&mut reader);
        if !lock_timeout.is_zero() {
            reader.connection.busy_timeout(Duration::ZERO)?;
        }
        if answer.as_ref().err().is_none_or(is_busy) {
            *held = Some(reader);
        }
        answer
    }

    /// Takes the connection that this thread prefers, or the next that is free.
    fn take(&self) -> ReaderGuard<'_> {
        let mut hasher = DefaultHasher::new();
        std::thread::current().id().hash(&mut hasher);
        let many = self.connections.len();
        let preferred = usize::try_from(hasher.finish() % many as u64).unwrap_or(0);
        for place in (preferred..many).chain(0..preferred) {
            match self.connections[place].try_lock() {
                Ok(held) => return held,
                Err(TryLockError::Poisoned(held)) => return held.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.connections[preferred].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::sqlite::File;

    impl Readers {
        /// Reads without waiting.
        fn here(&self, sql: &str) -> Result<Vec<Row>> {
            self.0.with(Duration::ZERO, |reader| fetch(&reader.connection, sql, &[]))
        }
    }

    /// A file with one row, and what reads it.
    fn one_row(folder: &tempfile::TempDir) -> (File, Readers) {
        let file = File::at(folder.path().join("a.db"), true);
        let writer = file.open_to_write().unwrap();
        writer.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7)").unwrap();
        writer.close().map_err(|(_, error)| error).unwrap();
        (file.clone(), Readers::of(file))
    }

    #[tokio::test]
    async fn a_read_waits_for_another_process_on_a_thread_that_may_block() {
        let folder = tempfile::tempdir().unwrap();
        let (file, readers) = one_row(&folder);
        let other = file.open_to_write().unwrap();
        // A connection that opens the file now finds it locked.
        other.pragma_update(None, "locking_mode", "exclusive").unwrap();
        other.execute_batch("UPDATE t SET n = 8").unwrap();
        let here = readers.here("SELECT n FROM t");
        assert!(here.as_ref().is_err_and(is_busy), "{:?}", here.err());
        let (read, ()) = tokio::join!(readers.fetch("SELECT n FROM t", &[]), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(other);
        });
        assert_eq!(read.unwrap()[0].int(0).unwrap(), 8);
    }

    #[tokio::test]
    async fn a_connection_that_failed_is_opened_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (_, readers) = one_row(&folder);
        let opened = || {
            let held = |one: &Mutex<Option<Reader>>| one.lock().unwrap().is_some();
            readers.0.connections.iter().filter(|one| held(one)).count()
        };
        assert_eq!(readers.fetch("SELECT n FROM t", &[]).await.unwrap().len(), 1);
        assert_eq!(opened(), 1);
        assert!(readers.fetch("SELECT n FROM gone", &[]).await.is_err());
        assert_eq!(opened(), 0, "what failed is not used again");
        assert_eq!(readers.scan("SELECT n FROM t", &[]).await.unwrap().len(), 1);
        readers.close();
        assert_eq!(opened(), 0);
    }

    #[test]
    fn as_many_read_at_once_as_ask() {
        let folder = tempfile::tempdir().unwrap();
        let (_, readers) = one_row(&folder);
        let read = || readers.here("SELECT n FROM t");
        // The first connection sets up what all share, and locks the file for that moment.
        assert_eq!(read().unwrap().len(), 1);
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..20).map(|_| scope.spawn(read)).collect();
            for one in asked {
                assert_eq!(one.join().unwrap().unwrap().len(), 1);
            }
        });
    }
}
