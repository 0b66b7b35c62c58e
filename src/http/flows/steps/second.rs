//! A second proof that was right.

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
    /// Says that a proof was right which is guarded by an allowance of its own. When the person has
    /// proved enough, nothing is held any more against any authenticator of their account: a person
    /// who was guessed against comes in by another one, and that clears it.
    pub async fn prove_second(
        &self,
        proved: Proved,
        attempt: Attempt,
        account: &Known,
    ) -> Result<Response, Problem> {
        let asking = Asking { account: &account.id, chosen: None, answer: Said::Proved(proved) };
        let answered = ending::proceed_noting(self.app, self.opened, asking).await?;
        if answered.authenticated {
            attempt.succeeded();
            for (authenticator, identifier) in charged_to(account) {
                self.app.attempts.clear(&self.opened.context, authenticator, &identifier);
            }
        } else {
            attempt.give_back();
        }
        Ok(answered.response)
    }
}
