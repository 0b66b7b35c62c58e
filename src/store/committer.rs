//! The group-commit loop: whatever has queued up while the last transaction ran is the next one.
//!
//! There is no timer: an idle store commits at once, a busy one shares each disk sync among all who
//! wait for it. Every caller waits for its own durable commit. What went wrong is told apart:
//!
//! - before COMMIT the failure is *known*: nothing was written. A group is then written again one by
//!   one, so that only the commit at fault fails;
//! - a failed COMMIT is *unknown*, for every member of the group.

use super::{
    FaultInjection,
    chain::{Head, Scribe},
    chore::{self, Chore, Done},
    commit::{Commit, CommitError},
    disjoint::take_disjoint,
    engine::{Connection, Engine, is_busy, is_passing},
    fault_injection::Moment,
    group::{self, Care, Halt},
    vitals::Vitals,
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
const TIMEOUT: Duration = Duration::from_secs(12);

/// Work for a committer.
pub(super) enum Job {
    Commit(Box<Commit>, oneshot::Sender<Result<i64, CommitError>>),
    Chore(Chore, oneshot::Sender<Result<Done, CommitError>>),
    /// Finish what is queued, then end.
    Stop,
}

type Waiting = (Box<Commit>, oneshot::Sender<Result<i64, CommitError>>);

/// One writer: its queue, its connection, its lane of the log.
pub(super) struct Committer {
    pub(super) engine: Engine,
    pub(super) connection: Option<Connection>,
    pub(super) scribe: Scribe,
    pub(super) queue: mpsc::Receiver<Job>,
    pub(super) vitals: Arc<Vitals>,
    pub(super) fault_injection: Arc<dyn FaultInjection>,
}

/// What a transaction is made of.
trait Work {
    type Output;

    /// Whether it fails or succeeds as one; a group can be taken apart.
    fn is_alone(&self) -> bool;

    /// Runs within the transaction that is open on `connection`.
    async fn run(
        &self,
        connection: &mut Connection,
        scribe: &mut Scribe,
        care: Care,
    ) -> Result<(Self::Output, Option<Head>), Halt>;
}

impl Work for [&Commit] {
    type Output = Vec<Result<i64, CommitError>>;

    fn is_alone(&self) -> bool {
        self.len() == 1
    }

    async fn run(
        &self,
        connection: &mut Connection,
        scribe: &mut Scribe,
        care: Care,
    ) -> Result<(Self::Output, Option<Head>), Halt> {
        let written = group::write(connection, scribe, self, care).await?;
        Ok((written.verdicts, written.head))
    }
}

impl Work for Chore {
    type Output = Done;

    fn is_alone(&self) -> bool {
        true
    }

    async fn run(
        &self,
        connection: &mut Connection,
        scribe: &mut Scribe,
        _care: Care,
    ) -> Result<(Done, Option<Head>), Halt> {
        Ok(chore::run(connection, scribe, self).await?)
    }
}

/// How a transaction ended without an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// No transaction could be begun: trying again one by one would only take longer.
    Unreachable,
    /// Somebody in the group lost; it must be written with care.
    Contested,
    /// It failed before COMMIT, for a reason that may have passed already.
    Passing,
    /// It failed before COMMIT.
    Known,
    /// COMMIT failed.
    Unknown,
}

impl From<Trouble> for CommitError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unreachable | Trouble::Contested | Trouble::Passing | Trouble::Known => {
                Self::Unavailable
            }
            Trouble::Unknown => Self::Unknown,
        }
    }
}

impl Committer {
    /// Starts on a thread of its own and returns what is told when it has ended.
    ///
    /// A group takes several hops to and from the database; on the threads of everybody else each
    /// hop would queue behind all the askers that the last group has woken.
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
        let mut waiting: Vec<Waiting> = Vec::with_capacity(GROUP);
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
            for job in jobs.drain(..) {
                match job {
                    Job::Commit(commit, reply) => waiting.push((commit, reply)),
                    Job::Chore(chore, reply) => {
                        let done = self.transact(&chore).await;
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
            self.write_group(now).await;
        }
        self.leave().await;
    }

    async fn write_group(&mut self, jobs: Vec<Waiting>) {
        if jobs.is_empty() {
            return;
        }
        let stopwatch = Stopwatch::start();
        let commits: Vec<&Commit> = jobs.iter().map(|(commit, _)| &**commit).collect();
        let verdicts = match self.transact(commits.as_slice()).await {
            Ok(verdicts) => verdicts,
            Err(Trouble::Known | Trouble::Passing) if commits.len() > 1 => {
                self.write_one_by_one(&commits).await
            }
            Err(trouble) => vec![Err(trouble.into()); commits.len()],
        };
        self.vitals.group(commits.len(), stopwatch.elapsed());
        for ((commit, reply), verdict) in jobs.into_iter().zip(verdicts) {
            self.vitals.answered(&verdict);
            if verdict.is_ok() {
                self.vitals.counted(commit.records.iter().filter(|it| !it.record.kept).count());
            }
            let _ = reply.send(verdict);
        }
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
            match self.transact([*commit].as_slice()).await {
                Ok(mut only) => verdicts.append(&mut only),
                Err(trouble) => {
                    // Two in a row that another try did not help: somebody holds the table.
                    passing = if trouble == Trouble::Passing { passing + 1 } else { 0 };
                    unreachable = trouble == Trouble::Unreachable || passing > 1;
                    verdicts.push(Err(trouble.into()));
                }
            }
        }
        verdicts
    }

    /// Runs `work` as one transaction, in hope, then with care, then once more if that may help.
    async fn transact<W: Work + ?Sized>(&mut self, work: &W) -> Result<W::Output, Trouble> {
        let mut result = self.try_once(work, Care::Hopeful).await;
        if let Err(Trouble::Contested) = result {
            self.vitals.contested();
            result = self.try_once(work, Care::Careful).await;
        }
        if work.is_alone() && matches!(result, Err(Trouble::Passing)) {
            result = self.try_once(work, Care::Careful).await;
        }
        result
    }

    /// A panic inside is survived as an unknown fate.
    async fn try_once<W: Work + ?Sized>(
        &mut self,
        work: &W,
        care: Care,
    ) -> Result<W::Output, Trouble> {
        let result = caught(self.attempt(work, care)).await.unwrap_or_else(|panic| {
            tracing::error!(panic, "a committer panicked; its transaction's fate is unknown");
            self.vitals.panicked();
            Err(Trouble::Unknown)
        });
        match result {
            Ok(_) | Err(Trouble::Contested) => {}
            // What the connection and the log's head are now is not known; find out anew.
            Err(Trouble::Unreachable | Trouble::Passing) => self.scribe.forget(),
            Err(Trouble::Known | Trouble::Unknown) => {
                self.scribe.forget();
                self.connection = None;
            }
        }
        result
    }

    async fn attempt<W: Work + ?Sized>(
        &mut self,
        work: &W,
        care: Care,
    ) -> Result<W::Output, Trouble> {
        self.begin().await?;
        let connection = self.connection.as_mut().ok_or(Trouble::Unreachable)?;
        let written = if self.fault_injection.fails(Moment::Write) {
            Ok(Err(Halt::Failed(sqlx::Error::WorkerCrashed)))
        } else {
            timeout(TIMEOUT, work.run(connection, &mut self.scribe, care)).await
        };
        let (output, head) = match written {
            Ok(Ok(written)) => written,
            Ok(Err(halt)) => {
                let rolled_back = timeout(TIMEOUT, connection.rollback()).await;
                if let Ok(Err(error)) = &rolled_back {
                    tracing::warn!(%error, "a transaction could not be rolled back");
                }
                if !matches!(rolled_back, Ok(Ok(()))) {
                    self.connection = None;
                }
                return Err(match halt {
                    Halt::Contested => Trouble::Contested,
                    Halt::Failed(error) => {
                        tracing::warn!(%error, "a transaction failed before COMMIT");
                        if is_passing(&error) {
                            self.vitals.passing();
                            Trouble::Passing
                        } else {
                            Trouble::Known
                        }
                    }
                });
            }
            Err(_elapsed) => {
                // COMMIT was never sent, so the server will roll back; the connection is no use.
                tracing::warn!("a transaction took too long before COMMIT");
                return Err(Trouble::Known);
            }
        };
        if self.fault_injection.fails(Moment::Commit) {
            let _ = connection.rollback().await;
            return Err(Trouble::Unknown);
        }
        match timeout(TIMEOUT, connection.commit()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "COMMIT failed; its fate is unknown");
                let _ = timeout(TIMEOUT, connection.rollback()).await;
                return Err(Trouble::Unknown);
            }
            Err(_elapsed) => {
                tracing::error!("COMMIT was not answered in time; its fate is unknown");
                return Err(Trouble::Unknown);
            }
        }
        if self.fault_injection.fails(Moment::Answer) {
            return Err(Trouble::Unknown);
        }
        self.scribe.keep(head);
        Ok(output)
    }

    /// Begins a transaction, on a new connection where the old one turns out to be dead.
    async fn begin(&mut self) -> Result<(), Trouble> {
        if let Some(connection) = &mut self.connection {
            match timeout(TIMEOUT, connection.begin()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) if is_busy(&error) => {
                    tracing::warn!(%error, "another process holds the store's lock");
                    return Err(Trouble::Unreachable);
                }
                Ok(Err(error)) => tracing::warn!(%error, "the store's connection is gone"),
                Err(_elapsed) => tracing::warn!("the store's connection does not answer"),
            }
            self.connection = None;
        }
        let opened = timeout(TIMEOUT, async {
            let mut connection = self.engine.connect().await?;
            connection.begin().await?;
            Ok::<_, sqlx::Error>(connection)
        });
        match opened.await {
            Ok(Ok(connection)) => {
                self.connection = Some(connection);
                Ok(())
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "the store cannot be reached");
                Err(Trouble::Unreachable)
            }
            Err(_elapsed) => {
                tracing::error!("the store cannot be reached in time");
                Err(Trouble::Unreachable)
            }
        }
    }

    async fn leave(mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let goodbye = async {
            if let Err(error) = self.scribe.leave(&mut connection).await {
                tracing::debug!(%error, "the lane of the log was not given back");
            }
            connection.close().await;
        };
        if timeout(TIMEOUT, goodbye).await.is_err() {
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
