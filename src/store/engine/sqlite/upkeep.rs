//! Keeps the write-ahead log short without holding up those who commit (adr/0102).
//!
//! Left alone, SQLite copies a long log to the file at the end of a COMMIT, and every commit of that group waits
//! for it. Here another thread copies while commits go on. It leaves what is committed meanwhile; the thread that
//! commits copies that little itself, so that the log can begin anew.

use super::{File, Frames, copy_log, frames, leave_the_log};
use crate::store::engine::faults::Result;
use rusqlite::Connection;
use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
};

/// Pages of 4 KiB in the log before they are copied to the file.
pub(super) const LONG: i64 = 4_000;

/// What the thread that commits copies itself.
const LITTLE: i64 = 400;

/// How many transactions begin between two looks at the log.
const EVERY: u32 = 16;

/// What a connection that writes looks after.
pub(in crate::store) struct Upkeep {
    file: File,
    /// Transactions that have begun since the last look.
    begun: u32,
    copier: Option<Copier>,
}

/// A thread that copies when it is woken, and ends with what wakes it.
struct Copier {
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

/// What is to be done about the log.
#[derive(Debug, PartialEq, Eq)]
enum UpkeepTask {
    Nothing,
    /// By the thread that commits.
    Here,
    /// By the other thread.
    Beside,
}

impl Upkeep {
    pub(in crate::store::engine) fn of(file: File) -> Self {
        Self { file, begun: 0, copier: None }
    }

    /// Before a transaction begins: is this still the file, and is its log long?
    pub(in crate::store::engine) fn look(&mut self, connection: &Connection) -> Result<()> {
        self.check_same(connection)?;
        self.begun += 1;
        if self.begun >= EVERY {
            self.begun = 0;
            // What is not copied now is copied later.
            if let Err(error) = self.shorten(connection) {
                tracing::warn!(%error, "the write-ahead log could not be copied");
            }
        }
        Ok(())
    }

    fn shorten(&mut self, connection: &Connection) -> Result<()> {
        match due(&frames(connection)?) {
            UpkeepTask::Nothing => {}
            UpkeepTask::Here => copy_log(connection)?,
            UpkeepTask::Beside => {
                // One that has failed is started again.
                self.copier.take_if(|copier| copier.thread.is_finished());
                let copier = match &mut self.copier {
                    Some(copier) => copier,
                    none => none.insert(Copier::start(self.file.clone())?),
                };
                // It may be at work: then it looks once more afterwards.
                let _ = copier.wake.try_send(());
            }
        }
        Ok(())
    }

    /// Ends the thread before the connection is closed.
    pub(in crate::store::engine) fn end(&mut self, connection: &Connection) {
        if let Some(Copier { wake, thread }) = self.copier.take() {
            drop(wake);
            let _ = thread.join();
        }
        let _ = self.check_same(connection);
    }

    fn check_same(&self, connection: &Connection) -> Result<()> {
        self.file.check_same().inspect_err(|_| leave_the_log(connection))
    }
}

fn due(Frames { written, copied }: &Frames) -> UpkeepTask {
    if *written < LONG {
        UpkeepTask::Nothing
    } else if written - copied <= LITTLE {
        UpkeepTask::Here
    } else {
        UpkeepTask::Beside
    }
}

impl Copier {
    fn start(file: File) -> Result<Self> {
        let (wake, woken) = sync_channel(1);
        let copier = std::thread::Builder::new().name("log-copier".to_owned());
        let thread = copier.spawn(move || copy_when_woken(&file, &woken))?;
        Ok(Self { wake, thread })
    }
}

fn copy_when_woken(file: &File, woken: &Receiver<()>) {
    let mut connection = None;
    while woken.recv().is_ok() {
        if let Err(error) = copy(file, &mut connection) {
            tracing::warn!(%error, "the write-ahead log could not be copied beside the commits");
            connection = None;
        }
    }
}

fn copy(file: &File, open: &mut Option<Connection>) -> Result<()> {
    file.check_same()?;
    let connection = match open {
        Some(connection) => connection,
        none => none.insert(file.open_to_copy()?),
    };
    copy_log(connection)
}

#[cfg(test)]
mod tests {
    use super::{super::TOO_LONG, *};
    use crate::clock::Stopwatch;
    use std::{path::Path, time::Duration};

    /// Returns a database with a table, and a connection that writes to it.
    fn made(path: &Path) -> (File, Connection) {
        let file = File::at(path.to_owned(), true);
        let connection = file.open_to_write().unwrap();
        connection.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, content)").unwrap();
        (file, connection)
    }

    #[test]
    fn a_long_log_is_copied_beside_the_commits_and_its_rest_by_them() {
        for (written, copied, expected) in [
            (0, 0, UpkeepTask::Nothing),
            (LONG - 1, 0, UpkeepTask::Nothing),
            (LONG, 0, UpkeepTask::Beside),
            (2 * LONG, LONG, UpkeepTask::Beside),
            (LONG + LITTLE, LONG, UpkeepTask::Here),
            (LONG, LONG, UpkeepTask::Here),
        ] {
            assert_eq!(due(&Frames { written, copied }), expected, "{written} {copied}");
        }
    }

    #[test]
    fn a_log_that_is_written_without_a_pause_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (file, connection) = made(&folder.path().join("a.db"));
        let mut upkeep = Upkeep::of(file);
        let (mut longest, mut restarts, mut before) = (0, 0, 0);
        let began = Stopwatch::start();
        while restarts < 3 {
            assert!(began.elapsed() < Duration::from_mins(1), "the log is {longest} pages long");
            upkeep.look(&connection).unwrap();
            let write = "INSERT INTO rows (content) VALUES (randomblob(40000))";
            connection.execute_batch(write).unwrap();
            let Frames { written, .. } = frames(&connection).unwrap();
            restarts += i32::from(written < before);
            (before, longest) = (written, longest.max(written));
        }
        assert!(upkeep.copier.is_some(), "another thread copies");
        assert!((LONG..TOO_LONG).contains(&longest), "{longest}");
        upkeep.end(&connection);
        let count = connection.query_row("SELECT COUNT(*) FROM rows", [], |row| row.get(0));
        assert!(count.is_ok_and(|count: i64| count > 0));
    }

    #[test]
    fn a_thread_that_has_failed_is_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let (file, connection) = made(&folder.path().join("a.db"));
        let mut upkeep = Upkeep::of(file);
        let failed = std::thread::Builder::new().spawn(|| {}).unwrap();
        while !failed.is_finished() {
            std::thread::yield_now();
        }
        upkeep.copier = Some(Copier { wake: sync_channel(1).0, thread: failed });
        while frames(&connection).unwrap().written < LONG {
            let write = "INSERT INTO rows (content) VALUES (randomblob(400000))";
            connection.execute_batch(write).unwrap();
        }
        upkeep.shorten(&connection).unwrap();
        let copier = upkeep.copier.as_ref().unwrap();
        assert_eq!(copier.thread.thread().name(), Some("log-copier"));
        upkeep.end(&connection);
        let Frames { written, copied } = frames(&connection).unwrap();
        assert_eq!(written, copied, "it has copied what it was woken for");
    }

    #[test]
    fn a_file_that_was_replaced_is_not_copied_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let (file, connection) = made(&path);
        let mut open = None;
        copy(&file, &mut open).unwrap();
        std::fs::rename(&path, folder.path().join("b.db")).unwrap();
        std::fs::write(&path, "another").unwrap();
        assert!(copy(&file, &mut open).is_err());
        assert!(Upkeep::of(file).look(&connection).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"another");
    }
}
