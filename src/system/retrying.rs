//! Commits of an operator over several entities, retried while other commits come between.

use super::Workbench;
use crate::{actors::MultiCommit, store::CommitError};

/// How often it is decided while what was read changes.
const TRIES: usize = 20;

/// The error of a command whose commit may not happen.
pub trait CommitFailure {
    /// Others kept changing what was read.
    fn contended() -> Self;

    fn not_committed(error: CommitError) -> Self;
}

/// Implements [`CommitFailure`] for an error that has the variants `Contended` and `NotCommitted`.
macro_rules! commit_failure {
    ($error:ty) => {
        impl crate::system::CommitFailure for $error {
            fn contended() -> Self {
                Self::Contended
            }

            fn not_committed(error: crate::store::CommitError) -> Self {
                Self::NotCommitted(error)
            }
        }
    };
}

pub(crate) use commit_failure;

impl Workbench {
    /// Decides and commits, for a reason that the operator may give. Where another commit came between, nothing
    /// was written, and all of it is decided again on what is there now.
    pub async fn retrying<T, E: CommitFailure>(
        &self,
        reason: Option<&str>,
        mut decide: impl AsyncFnMut(&mut MultiCommit) -> Result<T, E>,
    ) -> Result<T, E> {
        for _ in 0..TRIES {
            let mut commit = self.multi_commit_because(reason);
            let decided = decide(&mut commit).await?;
            match commit.commit().await {
                Ok(()) => return Ok(decided),
                Err(
                    CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. },
                ) => {}
                Err(error @ (CommitError::Unavailable | CommitError::Unknown)) => {
                    return Err(E::not_committed(error));
                }
            }
        }
        Err(E::contended())
    }
}
