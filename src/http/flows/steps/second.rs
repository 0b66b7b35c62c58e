//! Proofs of a person who is known: judged on their account, and what a right one clears.

use super::{Step, StepRequest, Taken};
use crate::{
    actors::Failure,
    domain::{
        Context,
        account::{Command, Known},
        flow::Proved,
        throttle::charged_to,
    },
    http::{
        answer::error::Problem,
        flows::{
            ending::{self, Asking, Said},
            problems::UNAVAILABLE,
        },
        limits::attempts::{Attempt, NotCharged},
    },
};

impl StepRequest<'_> {
    /// Takes a code of the account, at most as often as its allowance says.
    ///
    /// `spend` returns the version of the account in which the code is spent, if it is right.
    pub(super) async fn take_second(
        &self,
        step: &dyn Step,
        account: String,
        spend: impl AsyncFnOnce(&Known) -> Result<Option<i64>, Problem>,
    ) -> Result<Taken, Problem> {
        let (app, context) = (self.app, &self.opened.context);
        let charged = app.limits.attempts.charge(context, step.path(), &account).await;
        if let Err(NotCharged::Unavailable) = charged {
            return Err(UNAVAILABLE);
        }
        let seen = app.views.accounts.look_anew(&account).await?;
        let known = seen.machine.known().ok_or(UNAVAILABLE)?;
        let attempt = match charged {
            Ok(attempt) => attempt,
            // Others may know the password, and have guessed.
            Err(refused) => self.charge_known_browser(step.path(), known, refused).await?,
        };
        let Some(version) = spend(known).await? else {
            return self.disprove_of(step, Some(account), attempt).await;
        };
        self.prove_second(Proved::of(step.path(), known, version), attempt, known).await
    }

    /// Has the account spend a code, and returns the version in which it is spent; none where it was
    /// spent before. Of requests that race one is first, whichever nodes they come to.
    pub(super) async fn spend(
        &self,
        context: &Context,
        account: &Known,
        command: Command,
    ) -> Result<Option<i64>, Problem> {
        match self.app.entities.accounts.ask(context, &account.id, command).await {
            Ok(used) => Ok(Some(used.version)),
            Err(Failure::Refused(_)) => Ok(None),
            Err(_) => Err(UNAVAILABLE),
        }
    }

    /// Says that a proof was right which is guarded by an allowance of its own, or cannot be guessed:
    /// then no attempt was charged. When the person has proved enough, nothing is held any more
    /// against any authenticator of their account: a person who was guessed against comes in by
    /// another one, and that clears it.
    pub async fn prove_second(
        &self,
        proved: Proved,
        attempt: impl Into<Option<Attempt>>,
        account: &Known,
    ) -> Result<Taken, Problem> {
        let attempt = attempt.into();
        let asking = Asking { account: &account.id, chosen: None, answer: Said::Proved(proved) };
        let answered = ending::proceed_noting(self.app, self.opened, asking).await?;
        if let Some(attempt) = attempt {
            attempt.was_right(answered.authenticated);
        }
        if answered.authenticated {
            for (authenticator, identifier) in charged_to(account) {
                self.app.limits.attempts.clear(&self.opened.context, authenticator, &identifier);
            }
        }
        Ok(answered.answer.into())
    }
}
