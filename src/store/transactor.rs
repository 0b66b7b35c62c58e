//! Carries out one transaction after the other: by one statement where that is possible, else by several.
//!
//! Two kinds of failure differ:
//!
//! - before COMMIT the failure is *known*: nothing was written;
//! - a failed COMMIT is *unknown*, as is one statement that is not answered (adr/0168).

use super::{
    FaultInjection,
    chain::LogWriter,
    commit::CommitError,
    engine::{AtOnceError, Connection, DatabaseError, Engine, is_busy, is_passing, is_read_only},
    fault_injection::Moment,
    group::{Mode, WriteError},
    vitals::Vitals,
    work::Work,
};
use crate::clock::Stopwatch;
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tokio::time::timeout;

/// How long a connection, the statements of a transaction, or its end may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(12);

/// How long a transaction waits for SQLite's lock that another process holds: less than a command may
/// take, so that its caller hears that nothing was written instead of nothing at all.
const LOCK_WAIT: Duration = Duration::from_secs(3);

/// The same once that was in vain, until the lock is free again.
const SHORT_LOCK_WAIT: Duration = Duration::from_millis(200);

/// For how long a connection that was good is taken to be: what is sent on one that is gone has an unknown fate, but for
/// BEGIN. And for how long after a group was contested others may be: one statement that is taken back is in vain.
const LATELY: Duration = Duration::from_secs(1);

/// How a transaction ended without an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransactionError {
    /// No transaction could be begun: trying again one by one would only take longer.
    Unreachable,
    /// A commit of the group lost its race; the group must be written in [`Mode::Checked`].
    Contested,
    /// It failed before COMMIT, for a reason that may have passed already.
    Passing,
    /// It failed before COMMIT.
    Known,
    /// COMMIT failed.
    Unknown,
}

impl From<TransactionError> for CommitError {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Unreachable
            | TransactionError::Contested
            | TransactionError::Passing
            | TransactionError::Known => Self::Unavailable,
            TransactionError::Unknown => Self::Unknown,
        }
    }
}

/// One connection that writes, and its lane of the log.
pub(super) struct Transactor {
    engine: Engine,
    connection: Option<Connection>,
    writer: LogWriter,
    vitals: Arc<Vitals>,
    fault_injection: Arc<dyn FaultInjection>,
    /// Another process holds SQLite's lock, as far as is known.
    locked_out: bool,
    /// A COMMIT was not answered in time, and may not be answered for long: the server may wait for a standby.
    unanswered: bool,
    /// When the connection was last good.
    answered: Option<Stopwatch>,
    /// When a group was last contested.
    contested: Option<Stopwatch>,
}

impl Transactor {
    pub(super) fn new(
        engine: Engine,
        writer: LogWriter,
        vitals: Arc<Vitals>,
        fault_injection: Arc<dyn FaultInjection>,
    ) -> Self {
        Self {
            engine,
            connection: None,
            writer,
            vitals,
            fault_injection,
            locked_out: false,
            unanswered: false,
            answered: None,
            contested: None,
        }
    }

    /// Runs `work` as one transaction: optimistic, then checked, then once more if that may help.
    pub(super) async fn transact<W: Work + ?Sized>(
        &mut self,
        work: &W,
    ) -> Result<W::Output, TransactionError> {
        let mut result = self.try_once(work, Mode::Optimistic).await;
        if let Err(TransactionError::Contested) = result {
            self.vitals.contested();
            self.contested = Some(Stopwatch::start());
            result = self.try_once(work, Mode::Checked).await;
        }
        if work.is_alone() && matches!(result, Err(TransactionError::Passing)) {
            result = self.try_once(work, Mode::Checked).await;
        }
        result
    }

    /// A panic inside is survived; whether the commit happened is then unknown.
    async fn try_once<W: Work + ?Sized>(
        &mut self,
        work: &W,
        mode: Mode,
    ) -> Result<W::Output, TransactionError> {
        let result = caught(self.attempt(work, mode)).await.unwrap_or_else(|panic| {
            tracing::error!(panic, "a committer panicked; its transaction's fate is unknown");
            self.vitals.panicked();
            Err(TransactionError::Unknown)
        });
        match result {
            Ok(_) | Err(TransactionError::Contested) => {}
            // The state of the connection and the log's head are unknown: they are read again.
            Err(TransactionError::Unreachable | TransactionError::Passing) => self.writer.forget(),
            Err(TransactionError::Known | TransactionError::Unknown) => {
                self.writer.forget();
                self.connection = None;
            }
        }
        result
    }

    async fn attempt<W: Work + ?Sized>(
        &mut self,
        work: &W,
        mode: Mode,
    ) -> Result<W::Output, TransactionError> {
        if mode == Mode::Optimistic
            && let Some(result) = self.attempt_at_once(work).await
        {
            return result;
        }
        self.begin().await?;
        let connection = self.connection.as_mut().ok_or(TransactionError::Unreachable)?;
        let written = if self.fault_injection.fails(Moment::Write) {
            Ok(Err(WriteError::Failed(DatabaseError::Planted)))
        } else {
            timeout(TIMEOUT, work.run(connection, &mut self.writer, mode)).await
        };
        let (output, head) = match written {
            Ok(Ok(written)) => written,
            Ok(Err(stopped)) => {
                let rolled_back = timeout(TIMEOUT, connection.rollback()).await;
                if let Ok(Err(error)) = &rolled_back {
                    tracing::warn!(%error, "a transaction could not be rolled back");
                }
                if !matches!(rolled_back, Ok(Ok(()))) {
                    self.connection = None;
                }
                return Err(match stopped {
                    WriteError::Contested => TransactionError::Contested,
                    WriteError::Failed(error) => self.not_written(&error),
                });
            }
            Err(_elapsed) => {
                // COMMIT was never sent, so the server rolls back; the connection cannot be used again.
                tracing::warn!("a transaction took too long before COMMIT");
                return Err(TransactionError::Known);
            }
        };
        if self.fault_injection.fails(Moment::Commit) {
            let _ = connection.rollback().await;
            return Err(TransactionError::Unknown);
        }
        match timeout(TIMEOUT, connection.commit()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "COMMIT failed; its fate is unknown");
                let _ = timeout(TIMEOUT, connection.rollback()).await;
                return Err(TransactionError::Unknown);
            }
            Err(_elapsed) => {
                tracing::error!("COMMIT was not answered in time; its fate is unknown");
                self.unanswered = true;
                return Err(TransactionError::Unknown);
            }
        }
        if self.fault_injection.fails(Moment::Answer) {
            return Err(TransactionError::Unknown);
        }
        self.writer.keep(head);
        self.answered = Some(Stopwatch::start());
        Ok(output)
    }

    /// Carries out the work by one statement, which is a transaction of its own; nothing where it takes several.
    async fn attempt_at_once<W: Work + ?Sized>(
        &mut self,
        work: &W,
    ) -> Option<Result<W::Output, TransactionError>> {
        let lately = |moment: Option<Stopwatch>| moment.is_some_and(|it| it.elapsed() < LATELY);
        if !lately(self.answered) || lately(self.contested) || self.unanswered {
            return None;
        }
        let connection = self.connection.as_mut();
        let connection = connection.filter(|one| one.prefers_one_statement())?;
        let (at_once, output) = work.at_once(&self.writer)?;
        let chosen = at_once.chosen();
        if !chosen.is_empty() {
            match timeout(TIMEOUT, connection.look(chosen)).await {
                Ok(Ok(found)) if found.iter().all(Option::is_none) => {}
                Ok(Ok(_)) => return None,
                Ok(Err(_)) | Err(_) => {
                    self.connection = None;
                    return None;
                }
            }
        }
        if self.fault_injection.fails(Moment::Write) {
            return Some(Err(TransactionError::Known));
        }
        if self.fault_injection.fails(Moment::Commit) {
            return Some(Err(TransactionError::Unknown));
        }
        match timeout(TIMEOUT, connection.run_at_once(at_once.statement())).await {
            Ok(Ok(())) => {}
            Ok(Err(AtOnceError::Contested)) => return Some(Err(TransactionError::Contested)),
            Ok(Err(AtOnceError::Gone(error))) => {
                tracing::warn!(%error, "the store's connection is gone");
                self.connection = None;
                return None;
            }
            Ok(Err(AtOnceError::Failed(error))) => return Some(Err(self.not_written(&error))),
            Ok(Err(AtOnceError::Unknown(error))) => {
                tracing::error!(%error, "a transaction was not answered; its fate is unknown");
                return Some(Err(TransactionError::Unknown));
            }
            Err(_elapsed) => {
                tracing::error!("a transaction was not answered in time; its fate is unknown");
                self.unanswered = true;
                return Some(Err(TransactionError::Unknown));
            }
        }
        if self.fault_injection.fails(Moment::Answer) {
            return Some(Err(TransactionError::Unknown));
        }
        self.writer.keep(at_once.head());
        self.answered = Some(Stopwatch::start());
        Some(Ok(output))
    }

    /// Says what follows from an error before COMMIT.
    fn not_written(&mut self, error: &DatabaseError) -> TransactionError {
        tracing::warn!(%error, "a transaction failed before COMMIT");
        if is_read_only(error) {
            // The address may lead to another server by now.
            self.connection = None;
            TransactionError::Unreachable
        } else if is_passing(error) {
            self.vitals.passing();
            TransactionError::Passing
        } else {
            TransactionError::Known
        }
    }

    /// Begins a transaction, on a new connection where the old one is broken.
    async fn begin(&mut self) -> Result<(), TransactionError> {
        let lock_wait = if self.locked_out { SHORT_LOCK_WAIT } else { LOCK_WAIT };
        if self.unanswered {
            self.look_for_waiting_commits().await?;
        }
        if let Some(connection) = &mut self.connection {
            match timeout(TIMEOUT, connection.begin(lock_wait)).await {
                Ok(Ok(())) => {
                    self.locked_out = false;
                    return Ok(());
                }
                Ok(Err(error)) if is_busy(&error) => {
                    tracing::warn!(%error, "another process holds the store's lock");
                    self.locked_out = true;
                    return Err(TransactionError::Unreachable);
                }
                Ok(Err(error)) => tracing::warn!(%error, "the store's connection is gone"),
                Err(_elapsed) => tracing::warn!("the store's connection does not answer"),
            }
            self.connection = None;
        }
        let opened = timeout(TIMEOUT, async {
            let mut connection = self.engine.connect().await?;
            connection.begin(lock_wait).await?;
            Ok::<_, DatabaseError>(connection)
        });
        match opened.await {
            Ok(Ok(connection)) => {
                self.connection = Some(connection);
                self.locked_out = false;
                Ok(())
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "the store cannot be reached");
                Err(TransactionError::Unreachable)
            }
            Err(_elapsed) => {
                tracing::error!("the store cannot be reached in time");
                Err(TransactionError::Unreachable)
            }
        }
    }

    /// Begins nothing while commits of ours wait for a standby: each would leave its connection at the server.
    async fn look_for_waiting_commits(&mut self) -> Result<(), TransactionError> {
        if self.connection.is_none() {
            self.connect().await;
        }
        let connection = self.connection.as_mut().ok_or(TransactionError::Unreachable)?;
        match timeout(TIMEOUT, connection.has_waiting_commits()).await {
            Ok(Ok(false)) => {
                self.unanswered = false;
                Ok(())
            }
            Ok(Ok(true)) => {
                tracing::warn!("the server does not answer COMMIT: it waits for a standby");
                Err(TransactionError::Unreachable)
            }
            Ok(Err(_)) | Err(_) => {
                self.connection = None;
                Err(TransactionError::Unreachable)
            }
        }
    }

    /// Opens the connection; where that fails, the first transaction tries again.
    pub(super) async fn connect(&mut self) {
        match timeout(TIMEOUT, self.engine.connect()).await {
            Ok(Ok(connection)) => self.connection = Some(connection),
            Ok(Err(error)) => tracing::debug!(%error, "the store's connection was not opened"),
            Err(_elapsed) => tracing::debug!("the store's connection was not opened in time"),
        }
    }

    pub(super) async fn shut_down(mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let closing = async {
            if let Err(error) = self.writer.release_lane(&mut connection).await {
                tracing::debug!(%error, "the lane of the log was not released");
            }
            connection.close().await;
        };
        if timeout(TIMEOUT, closing).await.is_err() {
            tracing::warn!("the store's connection did not close in time");
        }
    }
}

/// Polls `future` and returns what the panic said where it panicked.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Poll::Ready(Err(text.unwrap_or("no message").to_owned()))
            }
        }
    })
    .await
}
