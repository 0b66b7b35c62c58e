//! The connections that everything is read from: few, opened when they are needed, and used again at once.
//!
//! A pool of the driver would ask the server after every use whether it still answers, and would have the
//! connection back only after that.

use super::{Server, Session};
use crate::{
    clock::Stopwatch,
    store::{
        engine::{
            READ_TIMEOUT,
            faults::{DatabaseError, Result},
        },
        value::{Liveness, Row, Value},
    },
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{sleep, timeout},
};

/// How many read at once.
const MOST: u32 = 8;

/// A connection that was idle for longer is tested before it is used.
const TRUSTED_FOR: Duration = Duration::from_secs(10);

/// A connection that is tested, or whose last read may still be under way since its caller has gone, has so long to answer.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// Where the server takes no more connections, a read waits so long for one of ours that another read has.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long until it looks again.
const PAUSE: Duration = Duration::from_millis(20);

/// One that was idle for longer is closed.
const IDLE: Duration = Duration::from_mins(10);

/// One that has been open for longer is not used again: what the server has gathered for it goes with it.
const LIFE: Duration = Duration::from_mins(30);

#[derive(Clone)]
pub(in crate::store) struct Readers {
    shared: Arc<ReaderPool>,
    timeout: Duration,
}

struct ReaderPool {
    server: Server,
    /// Closed with the store.
    turns: Semaphore,
    /// In order of their last use, the latest at the end.
    idle: Mutex<Vec<Reader>>,
}

struct Reader {
    connection: Session,
    opened: Stopwatch,
    used: Stopwatch,
    /// Its last caller has gone, and the answer is still to be read.
    is_left_behind: bool,
}

/// A read that is under way, on a connection that no other uses.
struct Reading<'a> {
    shared: &'a ReaderPool,
    reader: Option<Reader>,
    is_new: bool,
    begun: Stopwatch,
    /// How long the read may take.
    timeout: Duration,
    _turn: SemaphorePermit<'a>,
}

/// Reads by one connection, or fails in bounded time whatever the network does. (A function that takes a closure would
/// be this, if its future were known to be `Send`.)
///
/// The wait for a connection is part of the time that a read may take. One that is given up on by us takes its
/// connection with it. Where its caller has gone, the connection is kept: the driver reads the rest of the answer
/// before it asks again, so that no answer meets another question, and callers that hang up cost no connection.
macro_rules! read {
    ($readers:expr, $connection:ident => $question:expr) => {{
        let reading = timeout($readers.timeout, async {
            let mut reading = $readers.shared.begin($readers.timeout).await?;
            loop {
                let $connection = reading.connection().await?;
                let answer = $question.await;
                if reading.has_ended(&answer) {
                    return answer;
                }
            }
        });
        reading.await.unwrap_or(Err(DatabaseError::TimedOut))
    }};
}

impl Readers {
    /// Opens no connection before it is needed.
    pub(in crate::store::engine) fn of(server: Server) -> Self {
        let turns = Semaphore::new(MOST as usize);
        let shared = Arc::new(ReaderPool { server, turns, idle: Mutex::default() });
        Self { shared, timeout: READ_TIMEOUT }
    }

    pub(in crate::store::engine) async fn fetch(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>> {
        read!(self, connection => connection.fetch(sql, values))
    }

    pub(in crate::store::engine) async fn liveness(
        &self,
        asked: &[(&str, &str)],
    ) -> Result<Vec<Option<Liveness>>> {
        read!(self, connection => connection.present_liveness(asked))
    }

    /// Lets those who read finish, and closes their connections.
    pub(in crate::store::engine) async fn close(&self) {
        let _all = self.shared.turns.acquire_many(MOST).await;
        self.shared.turns.close();
        let idle = std::mem::take(&mut *self.shared.idle());
        for reader in idle {
            // The server closes what is not closed here.
            let _ = timeout(self.timeout, reader.connection.close()).await;
        }
    }
}

impl Reading<'_> {
    /// Takes a connection that was used a moment ago, or still answers.
    async fn take_idle(&mut self) {
        loop {
            let idle = self.shared.idle().pop();
            let Some(reader) = idle else { return };
            let is_young = reader.used.elapsed() <= TRUSTED_FOR;
            if is_young && !reader.is_left_behind {
                self.reader = Some(reader);
                return;
            }
            // The caller may go while it is tested.
            let reader = self.reader.insert(Reader { is_left_behind: true, ..reader });
            let answers = timeout(LEFT_BEHIND, reader.connection.test()).await;
            if answers.is_ok_and(|test| test.is_ok()) {
                reader.is_left_behind = false;
                return;
            }
            self.reader = None;
        }
    }

    /// Returns the connection, which is opened if there is none.
    async fn connection(&mut self) -> Result<&mut Session> {
        let reader = if let Some(reader) = self.reader.take() {
            reader
        } else {
            self.is_new = true;
            let connection = loop {
                match self.shared.server.connect_unshared().await {
                    Err(error) if is_full(&error) && self.begun.elapsed() < PATIENCE => {
                        sleep(PAUSE).await;
                        self.take_idle().await;
                        if let Some(reader) = self.reader.take() {
                            self.is_new = false;
                            return Ok(&mut self.reader.insert(reader).connection);
                        }
                    }
                    connected => break connected?,
                }
            };
            let (opened, used) = (Stopwatch::start(), Stopwatch::start());
            Reader { connection, opened, used, is_left_behind: false }
        };
        Ok(&mut self.reader.insert(reader).connection)
    }

    /// Takes the answer: one of a former connection that has broken is asked for once more, by a new one.
    fn has_ended<T>(&mut self, answer: &Result<T>) -> bool {
        let reader = self.reader.take();
        if !answer.as_ref().is_err_and(has_broken) {
            if let Some(reader) = reader {
                // A transaction that could not be ended is ended before the next read.
                let is_left_behind = reader.connection.is_open();
                self.shared.keep(Reader { is_left_behind, ..reader });
            }
            return true;
        }
        // What broke it may have broken the others: a server that was started again knows none of them.
        self.shared.idle().clear();
        self.is_new
    }
}

impl Drop for Reading<'_> {
    /// Keeps the connection of a caller that has gone; one that we gave up on may never answer.
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take()
            && self.begun.elapsed() + LEFT_BEHIND < self.timeout
        {
            self.shared.keep(Reader { is_left_behind: true, ..reader });
        }
    }
}

impl ReaderPool {
    async fn begin(&self, timeout: Duration) -> Result<Reading<'_>> {
        let begun = Stopwatch::start();
        let turn = self.turns.acquire().await.map_err(|_closed| DatabaseError::Closed)?;
        let mut reading =
            Reading { shared: self, reader: None, is_new: false, begun, timeout, _turn: turn };
        reading.take_idle().await;
        Ok(reading)
    }

    fn keep(&self, reader: Reader) {
        let mut idle = self.idle();
        idle.retain(|one| one.used.elapsed() < IDLE);
        if reader.opened.elapsed() < LIFE {
            idle.push(Reader { used: Stopwatch::start(), ..reader });
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells whether the server takes no more connections.
fn is_full(error: &DatabaseError) -> bool {
    let DatabaseError::Postgres(error) = error else { return false };
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("53300"))
}

/// Tells whether the connection is of no more use: it broke, or the server has ended it.
fn has_broken(error: &DatabaseError) -> bool {
    let DatabaseError::Postgres(error) = error else { return false };
    match error.as_database_error() {
        // 57P01 to 57P05: the server stops, has crashed, or waited for too long. 08: a pooler lost the server. 25P03: a
        // transaction waited for too long.
        Some(error) => error.code().is_some_and(|code| {
            code.starts_with("57P") || code.starts_with("08") || code == "25P03"
        }),
        None => {
            matches!(error, sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
        task::JoinSet,
    };

    /// A server of PostgreSQL's protocol that takes a while to let a client in, and never answers a query.
    async fn silent_server(until_ready: Duration, tasks: &mut JoinSet<()>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tasks.spawn(async move {
            let mut clients = Vec::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let mut greeting = [0; 1_024];
                let _ = client.read(&mut greeting).await;
                sleep(until_ready).await;
                // AuthenticationOk, then ReadyForQuery (idle).
                let ready = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
                client.write_all(ready).await.unwrap();
                clients.push(client);
            }
        });
        format!("postgres://porteiro@{address}/porteiro?sslmode=disable")
    }

    #[tokio::test]
    async fn a_read_ends_in_time_however_long_it_waited_for_a_connection() {
        let timeout = Duration::from_secs(2);
        let mut tasks = JoinSet::new();
        let url = silent_server(timeout.mul_f32(0.9), &mut tasks).await;
        let readers = Readers { timeout, ..Readers::of(Server::parse(&url).unwrap()) };
        let stopwatch = Stopwatch::start();
        let read = readers.fetch(sql::VERSION, &[Value::Text("kind"), Value::Text("id")]).await;
        assert!(matches!(read, Err(DatabaseError::TimedOut)), "{:?}", read.err());
        let took = stopwatch.elapsed();
        assert!((timeout..timeout.mul_f32(1.7)).contains(&took), "{took:?}");
    }
}
