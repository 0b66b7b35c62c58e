//! Ceremonies of passkeys between their two halves: held by the flow, for one answer.

use super::{Step, StepOutcome, StepRequest};
use crate::{
    crypto::passkeys::{Ceremony, PasskeyError, Passkeys},
    domain::{
        Fingerprint, Timestamp,
        flow::{Open, PendingProof, PendingProofContent, Step as FlowStep},
    },
    http::{answer::error::Problem, app::App, flows::problems::UNAVAILABLE},
};
use serde_json::Value;

/// Returns what begins and finishes ceremonies; where there is none, no step of theirs is served.
pub fn passkeys(app: &App) -> Result<&Passkeys, Problem> {
    app.crypto.passkeys.as_ref().ok_or(Problem::NOT_FOUND)
}

/// Returns the state of the ceremony that waits for a step, and what tells it from others.
pub fn held<'a>(
    open: &'a Open,
    step: &dyn Step,
    now: Timestamp,
) -> Option<(&'a Value, Fingerprint)> {
    let held = open.held_for(step.path(), now)?;
    match &held.content {
        PendingProofContent::Ceremony(state) => Some((state, held.mark())),
        _ => None,
    }
}

impl StepRequest<'_> {
    /// Has the flow hold a ceremony for the step that will answer it, and gives the browser its half.
    ///
    /// It lives as long as the flow: a page may offer passkeys in its autofill for as long as it is
    /// open.
    pub async fn hold_ceremony(
        &self,
        step: &dyn Step,
        answered_by: &dyn Step,
        begun: Result<Ceremony, PasskeyError>,
    ) -> Result<StepOutcome, Problem> {
        let Ceremony { options, state } = begun.map_err(|error| {
            tracing::error!(%error, "a ceremony could not begin");
            UNAVAILABLE
        })?;
        let held = Box::new(PendingProof {
            step: answered_by.path().to_owned(),
            content: PendingProofContent::Ceremony(state),
            expires_at: self.opened.seed.expires_at,
            wrong: 0,
            account: None,
            sent_to: None,
        });
        let hold = FlowStep::Hold { step: step.path(), held, message: None };
        self.opened.ask(self.app, &self.opened.context, hold).await?;
        Ok(StepOutcome::Options(options))
    }
}
