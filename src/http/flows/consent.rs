//! `consent`: whether a client may act for a person.

use super::{
    ending::{self, Proved},
    opened::{FlowId, Opened},
    problems::{NOT_NOW, OVER, UNAVAILABLE, invalid},
};
use crate::{
    domain::{
        authorization::Denial,
        flow::{Flow, Open, Stage, Step},
    },
    http::{
        answer::error::Problem,
        app::App,
        extract::json::ProblemPosted,
        facts::{authorization::client_of, consent},
    },
};
use axum::{extract::State, response::Response};

pub async fn post(
    State(app): State<App>,
    FlowId(id): FlowId,
    posted: ProblemPosted,
) -> Result<Response, Problem> {
    let opened = Opened::of(&app, id, &posted.headers)?;
    let allow = match posted.body.get("decision").and_then(|decision| decision.as_str()) {
        Some("allow") => true,
        Some("deny") => false,
        _ => return Err(invalid("the member decision is allow or deny")),
    };
    let Open { person, stage, chosen, consent_for, .. } = opened.look(&app).await?;
    let person = person.filter(|_| stage == Stage::Consent).ok_or(NOT_NOW)?;
    let chosen = chosen.as_deref();
    let organization = consent_for.as_ref().map(|choice| choice.slug.as_str());
    let allowed = opened.seed.request.as_ref().filter(|_| allow);
    if let Some(request) = allowed {
        let client = client_of(&app, request, false).await?;
        let known = client.as_ref().and_then(|seen| seen.machine.known());
        // Of a client that any program could pose as nothing is remembered (RFC 8252 §8.6).
        if known.is_some_and(|client| !client.can_be_posed_as(&request.redirect_uri)) {
            let given = consent::remember(&app, request, &person.account, organization).await;
            given.map_err(|_| UNAVAILABLE)?;
        }
    }
    let proved = Proved { account: &person.account, chosen };
    let answered = ending::proceed(&app, &opened, proved, |facts| match facts.situation {
        Some(situation) => Step::Decide { allow, facts: situation, fresh: facts.fresh },
        None => Step::Look,
    })
    .await;
    if let (Err(problem), Some(request)) = (&answered, allowed)
        && *problem == OVER
        && was_refused(&app, &opened).await
    {
        consent::take_back(&app, request, &person.account, organization).await;
    }
    answered
}

/// Tells whether a refusal ended the flow, or may have.
async fn was_refused(app: &App, opened: &Opened) -> bool {
    match opened.ask(app, Step::Look).await.map(|reply| reply.flow) {
        Ok(Flow::Over(over)) => over.denial == Some(Denial::ConsentRefused),
        _ => true,
    }
}
