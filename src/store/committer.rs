//! The group-commit loop: what has queued up while the last transaction ran is the next one.
//!
//! There is no timer: an idle store commits at once, a busy one shares each disk sync among all
//! commits that wait. Every caller waits for its own durable commit. A group that is known not to be written is written
//! again one by one, so that only the commit at fault fails; of one whose fate is unknown that is told to every member.

use super::{
    commit::{Commit, CommitError},
    disjoint::take_disjoint,
    maintenance::{Maintenance, Outcome},
    outbox::steps::OutboxStep,
    transactor::{TransactionError, Transactor},
    vitals::Vitals,
    work::{Group, Work as _},
};
use crate::clock::Stopwatch;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The most commits that share one transaction.
const GROUP: usize = 64;

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

/// One writer: its queue, and what carries out its transactions.
pub(super) struct Committer {
    pub(super) queue: mpsc::Receiver<Job>,
    pub(super) vitals: Arc<Vitals>,
    pub(super) transactor: Transactor,
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
                        self.transactor.connect().await;
                        let _ = reply.send(());
                    }
                    // Given up on before it was begun: what came of it is not known to its caller, who reads anew.
                    Job::Commit(_, reply) if reply.is_closed() => {}
                    Job::Outbox(_, reply) if reply.is_closed() => {}
                    Job::Maintenance(_, reply) if reply.is_closed() => {}
                    Job::Commit(commit, reply) => waiting.push((commit, reply)),
                    Job::Outbox(made, reply) => steps.push((made, reply)),
                    Job::Maintenance(maintenance, reply) => {
                        let done = self.transactor.transact(&maintenance).await;
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
        self.transactor.shut_down().await;
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
        let written = self.transactor.transact(&group).await;
        let is_reachable = !matches!(written, Err(TransactionError::Unreachable));
        let (verdicts, made) = match written {
            Ok((verdicts, made)) => (verdicts, Ok(made)),
            Err(TransactionError::Known | TransactionError::Passing) if !group.is_alone() => {
                let verdicts = self.write_one_by_one(&commits).await;
                let alone = Group { commits: &[], steps: &all };
                let made = if all.is_empty() {
                    Ok(Vec::new())
                } else {
                    self.transactor.transact(&alone).await.map(|(_, made)| made)
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
            match self.transactor.transact(&Group { commits: &[*commit], steps: &[] }).await {
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
}

/// Tells each caller which of its steps were made.
fn answer_steps(steps: Vec<Steps>, made: Result<Vec<bool>, CommitError>) {
    let mut made = made.map(Vec::into_iter);
    for (asked, reply) in steps {
        let own = made.as_mut().map(|made| made.by_ref().take(asked.len()).collect());
        let _ = reply.send(own.map_err(|error| error.clone()));
    }
}
