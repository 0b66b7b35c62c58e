//! What a transaction is made of: a group of commits and of steps of messages, or one piece of maintenance.

use super::{
    at_once::AtOnce,
    chain::{Head, LogWriter},
    commit::{Commit, CommitError},
    engine::Connection,
    group::{self, Mode, WriteError},
    maintenance::{self, Maintenance, Outcome},
    outbox::steps::OutboxStep,
};

/// What a transaction is made of.
pub(super) trait Work {
    type Output;

    /// Whether it is a single piece of work; a group can be written one by one.
    fn is_alone(&self) -> bool;

    /// Runs within the transaction that is open on `connection`.
    async fn run(
        &self,
        connection: &mut Connection,
        writer: &mut LogWriter,
        mode: Mode,
    ) -> Result<(Self::Output, Option<Head>), WriteError>;

    /// Prepares it as one statement, and says what comes of it; nothing where it takes several.
    fn at_once(&self, writer: &LogWriter) -> Option<(AtOnce<'_>, Self::Output)>;
}

/// Commits, and steps of messages, that share a transaction.
pub(super) struct Group<'a> {
    pub(super) commits: &'a [&'a Commit],
    pub(super) steps: &'a [&'a OutboxStep],
}

impl Work for Group<'_> {
    /// What became of each commit, and which of the steps were made.
    type Output = (Vec<Result<i64, CommitError>>, Vec<bool>);

    fn is_alone(&self) -> bool {
        self.commits.len() + usize::from(!self.steps.is_empty()) == 1
    }

    async fn run(
        &self,
        connection: &mut Connection,
        writer: &mut LogWriter,
        mode: Mode,
    ) -> Result<(Self::Output, Option<Head>), WriteError> {
        let written = group::write(connection, writer, self, mode).await?;
        Ok(((written.verdicts, written.made), written.head))
    }

    fn at_once(&self, writer: &LogWriter) -> Option<(AtOnce<'_>, Self::Output)> {
        let (at_once, verdicts) = group::at_once(writer, self)?;
        Some((at_once, (verdicts, Vec::new())))
    }
}

impl Work for Maintenance {
    type Output = Outcome;

    fn is_alone(&self) -> bool {
        true
    }

    async fn run(
        &self,
        connection: &mut Connection,
        writer: &mut LogWriter,
        _mode: Mode,
    ) -> Result<(Outcome, Option<Head>), WriteError> {
        Ok(maintenance::run(connection, writer, self).await?)
    }

    fn at_once(&self, _writer: &LogWriter) -> Option<(AtOnce<'_>, Outcome)> {
        None
    }
}
