//! Has a flow decide on a step in one atomic commit; what changes with it the flow commands itself (adr/0124).

use super::{
    answering::{ActingPerson, FreshSecrets, ended_by},
    opened::OpenedFlow,
    problems::{ACCOUNT_CHANGED, EMAIL_TAKEN, REQUEST_USED, UNAVAILABLE},
    sign_on::IDENTITY_ALREADY_LINKED,
};
use crate::{
    actors::Failure,
    domain::{
        Machine as _,
        account::EMAIL_ADDRESSES,
        external_identity::EXTERNAL_IDENTITIES,
        flow::{Flow, Refusal, Step},
        membership::MEMBERSHIP_PAIRS,
        pushed_request::PushedRequest,
        session::Session,
        token_family::TokenFamily,
    },
    http::{answer::error::Problem, app::App},
};

/// Why a step was not taken.
pub(super) enum StepFailure {
    /// Something that it rests on has changed.
    Unmet {
        kind: &'static str,
    },
    Problem(Problem),
}

impl From<Problem> for StepFailure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Takes the step and returns the flow after it.
pub(super) async fn take(
    app: &App,
    acting: &ActingPerson<'_>,
    step: Step,
    drawn: &FreshSecrets,
) -> Result<Flow, StepFailure> {
    let ActingPerson { opened, context } = acting;
    let problem = match opened.ask(app, context, step).await {
        Ok(replied) => {
            if let Some(id) = &replied.reply.consent {
                // The person is not asked twice within the second that a view may be old.
                app.views.consents.forget(id);
            }
            return Ok(replied.reply.flow);
        }
        Err(Failure::Refused(Refusal::SessionOver)) => {
            return Err(StepFailure::Unmet { kind: Session::KIND });
        }
        Err(Failure::Unmet { kind }) => return Err(StepFailure::Unmet { kind }),
        // Others keep changing what the flow commands, have made the person a member, or have approved the same
        // request: look again.
        Err(
            Failure::Contended | Failure::Taken { space: MEMBERSHIP_PAIRS | TokenFamily::KIND },
        ) => return Err(StepFailure::Unmet { kind: Flow::KIND }),
        Err(failure) if failure.may_have_happened() => return ours(app, opened, drawn).await,
        Err(Failure::Taken { space: PushedRequest::KIND }) => REQUEST_USED,
        // Another account has the address by now.
        Err(Failure::Taken { space: EMAIL_ADDRESSES }) => EMAIL_TAKEN,
        Err(Failure::Taken { space: EXTERNAL_IDENTITIES }) => IDENTITY_ALREADY_LINKED,
        Err(Failure::Taken { .. }) => ACCOUNT_CHANGED,
        Err(failure) => failure.into(),
    };
    Err(StepFailure::Problem(problem))
}

/// Returns the flow, if it was this very request that ended it.
async fn ours(app: &App, opened: &OpenedFlow, drawn: &FreshSecrets) -> Result<Flow, StepFailure> {
    let seen = app.views.flows.peek(&opened.name).await.map_err(Problem::from)?;
    match &seen.machine {
        Flow::Over(over) if ended_by(over, drawn) => Ok(seen.machine.clone()),
        Flow::Over(_) => Err(Problem::from(Refusal::Over).into()),
        // It did not happen, or only moved on: the caller looks at the flow and goes on.
        Flow::Open(_) | Flow::Unborn => Err(StepFailure::Problem(UNAVAILABLE)),
    }
}
