//! A proof that was right, and that clears what is held against the account.

use super::StepRequest;
use crate::{
    domain::{account::Known, flow::Proved, throttle::charged_to},
    http::{
        answer::error::Problem,
        flows::ending::{self, Asking, Said},
        limits::attempts::Attempt,
    },
};
use axum::response::Response;

impl StepRequest<'_> {
    /// Says that a proof was right which is guarded by an allowance of its own, or cannot be guessed:
    /// then no attempt was charged. When the person has
    /// proved enough, nothing is held any more against any authenticator of their account: a person
    /// who was guessed against comes in by another one, and that clears it.
    pub async fn prove_second(
        &self,
        proved: Proved,
        attempt: impl Into<Option<Attempt>>,
        account: &Known,
    ) -> Result<Response, Problem> {
        let attempt = attempt.into();
        let asking = Asking { account: &account.id, chosen: None, answer: Said::Proved(proved) };
        let answered = ending::proceed_noting(self.app, self.opened, asking).await?;
        if answered.authenticated {
            if let Some(attempt) = attempt {
                attempt.succeeded();
            }
            for (authenticator, identifier) in charged_to(account) {
                self.app.attempts.clear(&self.opened.context, authenticator, &identifier);
            }
        } else if let Some(attempt) = attempt {
            attempt.give_back();
        }
        Ok(answered.response)
    }
}
