//! The group-commit loop: what has queued up while the last transaction ran is the next one.
//!
//! There is no timer: an idle store commits at once, a busy one shares each disk sync among all
//! commits that wait. Every caller waits for its own durable commit. Two kinds of failure differ:
//!
//! - before COMMIT the failure is *known*: nothing was written. A group is then written again one by
//!   one, so that only the commit at fault fails;
//! - a failed COMMIT is *unknown*, for every member of the group.

use super::{
    FaultInjection,
    chain::LogWriter,
    commit::{Commit, CommitError},
    disjoint::take_disjoint,
    engine::{AtOnceError, Connection, DatabaseError, Engine, is_busy, is_passing, is_read_only},
    fault_injection::Moment,
    group::{Mode, WriteError},
    maintenance::{Maintenance, Outcome},
    outbox::steps::OutboxStep,
    vitals::Vitals,
    work::{Group, Work},
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
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// The most commits that share one transaction.
const GROUP: usize = 64;

/// How long a connection, the statements of a transaction, or its end may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(12);

/// How long a transaction waits for SQLite's lock that another process holds: less than a command may
/// take, so that its caller hears that nothing was written instead of nothing at all.
const LOCK_WAIT: Duration = Duration::from_secs(3);

/// For how long a connection that was good is taken to be: what is sent on one that is gone has an unknown fate, but for
/// BEGIN. And for how long after a group was contested others may be: one statement that is taken back is in vain.
const LATELY: Duration = Duration::from_secs(1);

/// The same once that was in vain, until the lock is free again.
const SHORT_LOCK_WAIT: Duration = Duration::from_millis(200);

/// Work for a committer.
pub(super) enum Job {
    /// Connect before there is anything to write: what must be alone (`porteiro move`) finds a server by its connections.
    Connect(oneshot::Sender<()>),
    Commit(Box<Commit>, oneshot::Sender<Result<i64, CommitError>>),
    /// Steps of messages; the answer says which were made.
    Outbox(Vec<OutboxStep>, oneshot::Sender<Result<Vec<bool>, CommitError>>),
    Maintenance(Maintenance, oneshot::Sender<Result<Outcome, CommitError>>),
    /// Finish what is queued, then end.
    Stop,
}

type QueuedCommit = (Box<Commit>, oneshot::Sender<Result<i64, CommitError>>);

type Steps = (Vec<OutboxStep>, oneshot::Sender<Result<Vec<bool>, CommitError>>);

/// One writer: its queue, its connection, its lane of the log.
pub(super) struct Committer {
    pub(super) engine: Engine,
    pub(super) connection: Option<Connection>,
    pub(super) writer: LogWriter,
    pub(super) queue: mpsc::Receiver<Job>,
    pub(super) vitals: Arc<Vitals>,
    pub(super) fault_injection: Arc<dyn FaultInjection>,
    /// Another process holds SQLite's lock, as far as is known.
    pub(super) locked_out: bool,
    /// A COMMIT was not answered in time, and may not be answered for long: the server may wait for a standby.
    pub(super) unanswered: bool,
    /// When the connection was last good.
    pub(super) answered: Option<Stopwatch>,
    /// When a group was last contested.
    pub(super) contested: Option<Stopwatch>,
}

/// How a transaction ended without an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransactionError {
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

impl Committer {
    /// Starts on a thread of its own and returns what is notified when it has ended.
    ///
    /// A group takes several hops to and from the database; on the threads that serve requests each
    /// hop would queue behind all the callers that the last group has woken.
    pub(super) fn start(self, number: usize) -> std::io::Result<oneshot::Receiver<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ended, end) = oneshot::channel();
        std::thread::Builder::new().name(format!("committer-{number}")).spawn(move || {
            runtime.block_on(self.run());
            let _ = ended.send(());
        })?;
        Ok(end)
    }

    /// Serves the queue until it is told to stop and nothing is left in it.
    async fn run(mut self) {
        let mut jobs = Vec::with_capacity(GROUP);
        let mut waiting: Vec<QueuedCommit> = Vec::with_capacity(GROUP);
        let mut steps: Vec<Steps> = Vec::new();
        loop {
            if waiting.is_empty() {
                if self.queue.recv_many(&mut jobs, GROUP).await == 0 {
                    break;
                }
            } else {
                while jobs.len() + waiting.len() < GROUP {
                    let Ok(job) = self.queue.try_recv() else { break };
                    jobs.push(job);
                }
            }
            let mut is_reachable = true;
            for job in jobs.drain(..) {
                match job {
                    Job::Connect(reply) => {
                        self.connect().await;
                        let _ = reply.send(());
                    }
                    // Given up on before it was begun: what came of it is not known to its caller, who reads anew.
                    Job::Commit(_, reply) if reply.is_closed() => {}
                    Job::Outbox(_, reply) if reply.is_closed() => {}
                    Job::Maintenance(_, reply) if reply.is_closed() => {}
                    Job::Commit(commit, reply) => waiting.push((commit, reply)),
                    Job::Outbox(made, reply) => steps.push((made, reply)),
                    Job::Maintenance(maintenance, reply) => {
                        let done = self.transact(&maintenance).await;
                        is_reachable &= !matches!(done, Err(TransactionError::Unreachable));
                        let _ = reply.send(done.map_err(CommitError::from));
                    }
                    Job::Stop => self.queue.close(),
                }
            }
            let commits: Vec<&Commit> = waiting.iter().map(|(commit, _)| &**commit).collect();
            let taken = take_disjoint(&commits, GROUP);
            let mut rest = Vec::with_capacity(GROUP);
            let mut now = Vec::with_capacity(taken.len());
            for (place, job) in waiting.drain(..).enumerate() {
                if taken.binary_search(&place).is_ok() { now.push(job) } else { rest.push(job) }
            }
            waiting = rest;
            is_reachable &= self.write_group(now, std::mem::take(&mut steps)).await;
            if !is_reachable {
                self.turn_away(std::mem::take(&mut waiting));
            }
        }
        self.shut_down().await;
    }

    /// Answers what has queued up while no transaction could be begun: nothing of it was written, and to
    /// try each in turn would outlast their callers, who would not know.
    fn turn_away(&mut self, mut waiting: Vec<QueuedCommit>) {
        while let Ok(job) = self.queue.try_recv() {
            match job {
                Job::Connect(_) => {}
                Job::Commit(commit, reply) => waiting.push((commit, reply)),
                Job::Outbox(_, reply) => drop(reply.send(Err(CommitError::Unavailable))),
                Job::Maintenance(_, reply) => drop(reply.send(Err(CommitError::Unavailable))),
                Job::Stop => self.queue.close(),
            }
        }
        for (_, reply) in waiting {
            let verdict = Err(CommitError::Unavailable);
            self.vitals.answered(&verdict);
            let _ = reply.send(verdict);
        }
    }

    /// Writes a group; tells whether a transaction could be begun for it.
    async fn write_group(&mut self, jobs: Vec<QueuedCommit>, steps: Vec<Steps>) -> bool {
        if jobs.is_empty() && steps.is_empty() {
            return true;
        }
        let stopwatch = Stopwatch::start();
        let commits: Vec<&Commit> = jobs.iter().map(|(commit, _)| &**commit).collect();
        let all: Vec<&OutboxStep> = steps.iter().flat_map(|(steps, _)| steps).collect();
        let group = Group { commits: &commits, steps: &all };
        let written = self.transact(&group).await;
        let is_reachable = !matches!(written, Err(TransactionError::Unreachable));
        let (verdicts, made) = match written {
            Ok((verdicts, made)) => (verdicts, Ok(made)),
            Err(TransactionError::Known | TransactionError::Passing) if !group.is_alone() => {
                let verdicts = self.write_one_by_one(&commits).await;
                let alone = Group { commits: &[], steps: &all };
                let made = if all.is_empty() {
                    Ok(Vec::new())
                } else {
                    self.transact(&alone).await.map(|(_, made)| made)
                };
                (verdicts, made.map_err(CommitError::from))
            }
            Err(error) => (vec![Err(error.into()); commits.len()], Err(error.into())),
        };
        answer_steps(steps, made);
        if commits.is_empty() {
            return is_reachable;
        }
        self.vitals.group(commits.len(), stopwatch.elapsed());
        for ((commit, reply), verdict) in jobs.into_iter().zip(verdicts) {
            self.vitals.answered(&verdict);
            if verdict.is_ok() {
                self.vitals.counted(commit.records.iter().filter(|it| !it.record.kept).count());
            }
            let _ = reply.send(verdict);
        }
        is_reachable
    }

    async fn write_one_by_one(&mut self, commits: &[&Commit]) -> Vec<Result<i64, CommitError>> {
        self.vitals.rerun();
        let mut verdicts = Vec::with_capacity(commits.len());
        let (mut unreachable, mut passing) = (false, 0);
        for commit in commits {
            if unreachable {
                verdicts.push(Err(CommitError::Unavailable));
                continue;
            }
            match self.transact(&Group { commits: &[*commit], steps: &[] }).await {
                Ok((mut only, _)) => verdicts.append(&mut only),
                Err(error) => {
                    // Two in a row that a second try did not help: another process holds the table.
                    passing = if error == TransactionError::Passing { passing + 1 } else { 0 };
                    unreachable = error == TransactionError::Unreachable || passing > 1;
                    verdicts.push(Err(error.into()));
                }
            }
        }
        verdicts
    }

    /// Runs `work` as one transaction: optimistic, then checked, then once more if that may help.
    async fn transact<W: Work + ?Sized>(
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
    async fn connect(&mut self) {
        match timeout(TIMEOUT, self.engine.connect()).await {
            Ok(Ok(connection)) => self.connection = Some(connection),
            Ok(Err(error)) => tracing::debug!(%error, "the store's connection was not opened"),
            Err(_elapsed) => tracing::debug!("the store's connection was not opened in time"),
        }
    }

    async fn shut_down(mut self) {
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

/// Tells each caller which of its steps were made.
fn answer_steps(steps: Vec<Steps>, made: Result<Vec<bool>, CommitError>) {
    let mut made = made.map(Vec::into_iter);
    for (asked, reply) in steps {
        let own = made.as_mut().map(|made| made.by_ref().take(asked.len()).collect());
        let _ = reply.send(own.map_err(|error| error.clone()));
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
