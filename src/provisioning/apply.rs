//! Plans a file and commits the plan, all of it or nothing.

use super::{File, Plan, planner::Planner};
use crate::{
    actors::{Together, TogetherError},
    config::Complaint,
    store::{CommitError, ReadError},
    system::Workbench,
};

/// How often a file is planned while others change the same entities.
const TRIES: usize = 5;

/// Why a file was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Nothing was written; each complaint has its line.
    #[error("the file cannot be applied")]
    Refused(Vec<Complaint>),
    #[error("what the file speaks of cannot be read")]
    Entities(#[from] TogetherError),
    #[error("the owners of names cannot be read")]
    Names(#[from] ReadError),
    #[error("others keep changing what the file speaks of: nothing was applied")]
    Contended,
    #[error("the file was not applied")]
    NotCommitted(#[source] CommitError),
    #[error("the file may or may not have been applied: apply it again")]
    Unknown,
}

/// Says what applying `file` would do, and returns what would do it.
pub async fn plan(workbench: &Workbench, file: &File) -> Result<(Plan, Together), ApplyError> {
    Planner::new(workbench, file).run(&|_, _| {}).await
}

/// Applies `file`, or only says what that would do.
///
/// `progress` hears how many of the file's entities have been decided on, and how many there are.
pub async fn apply(
    workbench: &Workbench,
    file: &File,
    dry_run: bool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Plan, ApplyError> {
    for _ in 0..TRIES {
        let (plan, together) = Planner::new(workbench, file).run(progress).await?;
        if dry_run {
            return Ok(plan);
        }
        match together.commit().await {
            Ok(()) => return Ok(plan),
            // Somebody else was first: what was read, or who owns what, is no longer so.
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(CommitError::Unknown) => return Err(ApplyError::Unknown),
            Err(error @ CommitError::Unavailable) => return Err(ApplyError::NotCommitted(error)),
        }
    }
    Err(ApplyError::Contended)
}
