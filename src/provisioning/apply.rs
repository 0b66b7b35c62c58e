//! Plans a file and commits the plan, which is atomic: all of it or nothing.

use super::{
    File, Plan, accounts,
    beginnings::Beginnings,
    lines::Declaration,
    planner::{PlannedFile, Planner},
    progress::Progress,
};
use crate::{
    actors::{HydrateError, MultiCommit, hashing::HashingError},
    config::Complaint,
    domain::account::{Account, Command},
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
    Entities(#[from] HydrateError),
    #[error("the owners of names cannot be read")]
    Names(#[from] ReadError),
    #[error("the passwords cannot be hashed")]
    Hashing(#[from] HashingError),
    #[error("there are no threads to hash passwords in")]
    NoThreads(#[source] std::io::Error),
    #[error("others keep changing what the file speaks of: nothing was applied")]
    Contended,
    #[error("the file was not applied")]
    NotCommitted(#[source] CommitError),
    #[error("the file may or may not have been applied: apply it again")]
    Unknown,
}

/// Says what applying `file` would do, and returns what would do it.
pub async fn plan(workbench: &Workbench, file: &File) -> Result<(Plan, MultiCommit), ApplyError> {
    let mut beginnings = Beginnings::new(workbench);
    let progress = &mut Progress::new(&|_, _| {}, file.len());
    let planned = Planner::new(workbench, file, &mut beginnings).run(progress).await?;
    create(planned, &mut beginnings, progress).await
}

/// Says what applying `file` would do; nothing is hashed for it.
pub(super) async fn plan_only(
    workbench: &Workbench,
    file: &File,
    told: &(dyn Fn(usize, usize) + Sync),
) -> Result<Plan, ApplyError> {
    let mut beginnings = Beginnings::new(workbench);
    let progress = &mut Progress::new(told, file.len());
    let planned = Planner::new(workbench, file, &mut beginnings).run(progress).await?;
    planned.newborn.iter().for_each(|_| progress.advance());
    Ok(planned.plan)
}

/// Applies `file`, or only says what that would do.
///
/// `told` hears how many of the file's entities have been decided on, and how many there are.
pub async fn apply(
    workbench: &Workbench,
    file: &File,
    dry_run: bool,
    told: &(dyn Fn(usize, usize) + Sync),
) -> Result<Plan, ApplyError> {
    if dry_run {
        return plan_only(workbench, file, told).await;
    }
    let mut beginnings = Beginnings::new(workbench);
    for _ in 0..TRIES {
        let progress = &mut Progress::new(told, file.len());
        let planned = Planner::new(workbench, file, &mut beginnings).run(progress).await?;
        let (plan, multi_commit) = create(planned, &mut beginnings, progress).await?;
        match multi_commit.commit().await {
            Ok(()) => return Ok(plan),
            // Another commit was first: what was read, or an owner, is no longer so.
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(CommitError::Unknown) => return Err(ApplyError::Unknown),
            Err(error @ CommitError::Unavailable) => return Err(ApplyError::NotCommitted(error)),
        }
    }
    Err(ApplyError::Contended)
}

/// Gives new accounts what they begin with, and decides on them.
async fn create<'a>(
    planned: PlannedFile<'a>,
    beginnings: &mut Beginnings<'a>,
    progress: &mut Progress<'_>,
) -> Result<(Plan, MultiCommit), ApplyError> {
    let PlannedFile { plan, mut multi_commit, newborn } = planned;
    beginnings.hash(&newborn, progress).await?;
    for Declaration { draft: person, lines } in newborn {
        let draft = beginnings.draft(person);
        let id = draft.id.clone();
        let decided = multi_commit.decide::<Account>(&id, &Command::Provision(draft)).await?;
        // It was accepted when it was tried; but if not, nothing of the file may be applied.
        if let Err(refusal) = decided {
            let said = accounts::said(&refusal, lines);
            let complaints = said.into_iter().map(|(line, text)| Complaint::new(line, text));
            return Err(ApplyError::Refused(complaints.collect()));
        }
        if person.suspended {
            let _known = multi_commit.decide::<Account>(&id, &Command::Suspend).await?;
        }
    }
    Ok((plan, multi_commit))
}
