//! What a transaction is made of: a group of commits, or one piece of maintenance.

use super::{
    chain::{Head, LogWriter},
    commit::{Commit, CommitError},
    engine::Connection,
    group::{self, Mode, WriteError},
    maintenance::{self, Maintenance, Outcome},
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
}

impl Work for [&Commit] {
    type Output = Vec<Result<i64, CommitError>>;

    fn is_alone(&self) -> bool {
        self.len() == 1
    }

    async fn run(
        &self,
        connection: &mut Connection,
        writer: &mut LogWriter,
        mode: Mode,
    ) -> Result<(Self::Output, Option<Head>), WriteError> {
        let written = group::write(connection, writer, self, mode).await?;
        Ok((written.verdicts, written.head))
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
}
