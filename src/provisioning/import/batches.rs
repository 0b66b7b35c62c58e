//! Carries out an import, a batch of people at a time, with idempotent retries.
//!
//! 1. The whole file is planned, so that nothing is written while anything in it is refused.
//! 2. Each batch is applied as a file of its own: planned again, committed as one, before the next begins.
//!
//! A run that is stopped has imported whole batches. The next one finds those people unchanged and goes on:
//! there is nothing to remember between them.

use crate::{
    provisioning::{
        ApplyError, Declaration, File, Person, Plan,
        apply::{apply, plan_only},
    },
    store::CommitError,
    system::Workbench,
};
use std::time::Duration;

/// People in one commit: few, so that neither engine holds others up for long.
const MOST_ACCOUNTS: usize = 100;

/// How often a batch is applied where the store cannot be reached, or does not say what came of it.
const TRIES: u32 = 5;

/// The first pause before that; each next is twice as long.
const PAUSE: Duration = Duration::from_millis(250);

/// A report of progress to an operator who waits: people done, and all of them.
pub type ProgressReport<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// Why an import did not come to its end.
#[derive(Debug, thiserror::Error)]
#[error("{done} of {all} people are imported; the same command goes on from there")]
pub struct ImportInterruption {
    pub done: usize,
    pub all: usize,
    #[source]
    pub why: ApplyError,
}

/// People who are being imported.
pub struct PeopleImport<'a> {
    workbench: &'a Workbench,
    /// Those who are left, the next one first.
    left: std::vec::IntoIter<Declaration<Person>>,
    done: usize,
    all: usize,
}

impl<'a> PeopleImport<'a> {
    /// Plans all of it; says everything that is wrong, and then nothing is written.
    pub async fn begin(
        workbench: &'a Workbench,
        file: File,
        told: &ProgressReport<'_>,
    ) -> Result<Self, ApplyError> {
        plan_only(workbench, &file, told).await?;
        let all = file.accounts.len();
        Ok(Self { workbench, left: file.accounts.into_iter(), done: 0, all })
    }

    /// Imports the next batch and says what became of its people; `None` where none is left.
    pub async fn next(
        &mut self,
        told: &ProgressReport<'_>,
    ) -> Result<Option<Plan>, ImportInterruption> {
        let accounts: Vec<_> = self.left.by_ref().take(MOST_ACCOUNTS).collect();
        if accounts.is_empty() {
            return Ok(None);
        }
        let (before, all) = (self.done, self.all);
        let batch = File { accounts, ..File::default() };
        let told = move |done: usize, _: usize| told(before + done, all);
        let plan = self.insist(&batch, &told).await;
        let plan = plan.map_err(|why| ImportInterruption { done: self.done, all, why })?;
        self.done += batch.len();
        Ok(Some(plan))
    }

    /// Applies a batch, again where it is not known whether it was: what is there already is unchanged.
    async fn insist(&self, batch: &File, told: &ProgressReport<'_>) -> Result<Plan, ApplyError> {
        let mut tries = 0;
        loop {
            let applied = apply(self.workbench, batch, false, told).await;
            let may_pass = matches!(
                applied,
                Err(ApplyError::Unknown | ApplyError::NotCommitted(CommitError::Unavailable))
            );
            tries += 1;
            if !may_pass || tries == TRIES {
                return applied;
            }
            tokio::time::sleep(PAUSE * 2_u32.pow(tries - 1)).await;
        }
    }
}
