//! The code of a device: looked up once the person has signed in, decided on by the flow in
//! its own commit (RFC 8628 §3.3).

use super::{
    answering::FlowProgress,
    ending::{AnsweredStep, StepAnswer, take_step},
    opened::OpenedFlow,
    problems::NOT_NOW,
};
use crate::{
    actors::Failure,
    domain::{
        Actor, Context,
        device_grant::{Command, Reply, USER_CODES},
        flow::{DEVICE, EnteredDevice, Flow, Stage},
    },
    http::{answer::error::Problem, app::App, authorization::user_codes},
};

/// Returns the device that the step is about, if the flow knows one.
pub(super) async fn known(
    app: &App,
    opened: &OpenedFlow,
    asking: &AnsweredStep<'_>,
) -> Result<Option<Box<EnteredDevice>>, Problem> {
    if opened.seed.kind != DEVICE {
        return Ok(None);
    }
    if let StepAnswer::Entered(device) = &asking.answer {
        return Ok(device.clone());
    }
    let seen = app.views.flows.peek(&opened.name).await?;
    Ok(match &seen.machine {
        Flow::Open(open) => open.device.clone(),
        Flow::Over(_) | Flow::Unborn => None,
    })
}

/// Enters the code that the flow began with, as soon as the person has signed in.
pub(super) async fn enter_own(
    app: &App,
    opened: &OpenedFlow,
    answered: FlowProgress,
) -> Result<FlowProgress, Problem> {
    let Some(code) = opened.seed.user_code.as_deref() else { return Ok(answered) };
    let seen = app.views.flows.peek(&opened.name).await?;
    let waits = match &seen.machine {
        Flow::Open(open) => open.stage == Stage::Confirm && open.device.is_none(),
        Flow::Over(_) | Flow::Unborn => false,
    };
    if waits { enter(app, opened, code).await } else { Ok(answered) }
}

/// Enters a code that was sealed. Each wrong one counts against the person's account, and against
/// all accounts together. A right one clears nothing: an attacker has a device of their own.
pub async fn enter(app: &App, opened: &OpenedFlow, code: &str) -> Result<FlowProgress, Problem> {
    let person = opened.look(app).await?.person.ok_or(NOT_NOW)?;
    let account = person.account.as_str();
    let context = opened.context.clone().by(Actor::Person(account.to_owned()));
    app.limits.user_code_guesses.check(app.clock.now())?;
    let attempt = app.limits.attempts.charge_user_code(&context, account).await?;
    let device = find(app, &context, code).await?;
    if device.is_some() {
        attempt.give_back();
    } else {
        attempt.failed();
        app.limits.user_code_guesses.count(app.clock.now());
    }
    let answer = StepAnswer::Entered(device);
    take_step(app, opened, AnsweredStep { account, chosen: None, answer }).await
}

/// Finds the device that shows a code and waits. Unknown, expired and used codes are found alike: not.
async fn find(
    app: &App,
    context: &Context,
    sealed: &str,
) -> Result<Option<Box<EnteredDevice>>, Problem> {
    let code = user_codes::hashed(app, &user_codes::opened(app, sealed));
    let Some((_, grant)) = app.store.find(USER_CODES, &code).await? else { return Ok(None) };
    match app.entities.device_grants.ask(context, &grant, Command::Show).await {
        Ok(replied) => match replied.reply {
            Reply::Shown(request) => {
                let (request, code) = (*request, Some(sealed.to_owned()));
                Ok(Some(Box::new(EnteredDevice { grant, request, code })))
            }
            _ => Ok(None),
        },
        Err(Failure::Refused(_)) => Ok(None),
        Err(failure) => {
            tracing::info!(why = %failure, "the request of a device could not be looked at");
            Err(Problem::UNAVAILABLE)
        }
    }
}
