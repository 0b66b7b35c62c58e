//! Proofs of a person who is known: judged on their account, and what a right one clears.

use super::{Step, StepOutcome, StepRequest};
use crate::{
    actors::EntitySnapshot,
    domain::{
        account::{Account, Command, Known},
        flow::AccountProof,
        person::Person,
        throttle::{charged_to, counted_for},
    },
    http::{
        answer::error::Problem,
        flows::{
            ending::{self, AnsweredStep, StepAnswer},
            problems::{ACCOUNT_CHANGED, INVALID_CREDENTIALS, NOT_NOW, UNAVAILABLE},
        },
        limits::attempts::{Attempt, AttemptRefusal},
    },
};
use std::sync::Arc;

/// How often a proof is given while its account changes. Each time it has to be given again, another
/// request has changed the account: so many sign-ins of one person at once all get in.
const TRIES: usize = 32;

impl StepRequest<'_> {
    /// Takes a code of the account, at most as often as its allowance says.
    ///
    /// `judge` returns the command that spends the code, if it is right. The account carries it out in the
    /// commit of the flow: of requests that race one is first, whichever nodes they come to.
    pub(super) async fn take_second(
        &self,
        step: &dyn Step,
        person: Person,
        judge: impl AsyncFnOnce(&Known) -> Result<Option<Command>, Problem>,
    ) -> Result<StepOutcome, Problem> {
        let (app, context) = (self.app, &self.opened.context);
        let Person { account, evidence, .. } = person;
        // After an organization's provider the code counts for that organization alone, and so do wrong ones: who runs it
        // closes nothing of the account.
        let only_for = evidence.second_factor_only_for();
        let counted = counted_for(&account, only_for);
        let charged = app.limits.attempts.charge(context, step.path(), &counted).await;
        if let Err(AttemptRefusal::Unavailable) = charged {
            return Err(UNAVAILABLE);
        }
        let seen = app.views.accounts.look_anew(&account).await?;
        let known = seen.machine.known().ok_or(UNAVAILABLE)?;
        let mut attempt = Some(match charged {
            Ok(attempt) => attempt,
            Err(refused) if only_for.is_some() => return Err(refused.into()),
            // Others may know the password, and have guessed.
            Err(refused) => self.charge_known_browser(step.path(), known, refused).await?,
        });
        let Some(uses) = judge(known).await? else {
            return self.disprove_of(step, Some(account), attempt).await;
        };
        let method = step.proof().ok_or(NOT_NOW)?.worth.method;
        let judged_by = known.authenticators().of(method);
        // It was judged on one authenticator: another that takes its place is not proved by it.
        let prove = |known: &Known, version| {
            let by = known.authenticators().of(method).filter(|by| Some(*by) == judged_by)?;
            let (by, uses) = (Some(by), Some(uses.clone()));
            Some(AccountProof { by, uses, ..AccountProof::of(step.path(), known, version) })
        };
        match self.prove_second(&mut attempt, seen.clone(), prove).await {
            // It was spent before.
            Err(problem) if problem == INVALID_CREDENTIALS => {
                self.disprove_of(step, Some(account), attempt).await
            }
            answer => answer,
        }
    }

    /// Says that a proof was right which is guarded by an allowance of its own, or cannot be guessed:
    /// then no attempt was charged. When the person has proved enough, nothing is held any more
    /// against any authenticator of their account: a person who was guessed against comes in by
    /// another one, and that clears it. What an organization's provider has said clears nothing.
    ///
    /// The proof is given again where the account has changed meanwhile and `prove` still finds it right: a person
    /// may sign in on two devices at once.
    pub(super) async fn prove_second(
        &self,
        attempt: &mut Option<Attempt>,
        mut seen: Arc<EntitySnapshot<Account>>,
        prove: impl Fn(&Known, i64) -> Option<AccountProof>,
    ) -> Result<StepOutcome, Problem> {
        for _ in 0..TRIES {
            let known = seen.machine.known().ok_or(ACCOUNT_CHANGED)?;
            let proved = prove(known, seen.version).ok_or(ACCOUNT_CHANGED)?;
            let answer = StepAnswer::Proved(proved);
            let asking = AnsweredStep { account: &known.id, chosen: None, answer };
            match ending::proceed_noting(self.app, self.opened, asking).await {
                Err(problem) if problem == ACCOUNT_CHANGED => {}
                answered => {
                    let answered = answered?;
                    if let Some(attempt) = attempt.take() {
                        attempt.was_right(answered.authenticated);
                    }
                    if answered.authenticated && answered.proved_own {
                        for (authenticator, identifier) in charged_to(known) {
                            let context = &self.opened.context;
                            self.app.limits.attempts.clear(context, authenticator, &identifier);
                        }
                    }
                    return Ok(answered.answer.into());
                }
            }
            seen = self.app.views.accounts.peek(&known.id).await?;
        }
        Err(ACCOUNT_CHANGED)
    }
}
