//! `consent`: whether a client may act for a person.

use super::{Step, StepRequest, Taken, Taking};
use crate::http::{
    answer::error::Problem,
    flows::{
        ending::{Asking, Said},
        problems::NOT_NOW,
    },
};
use serde::Deserialize;

pub struct Consent;

/// The body of every question of yes or no.
#[derive(Deserialize)]
pub(super) struct Body {
    decision: Decision,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allow,
    Deny,
    /// A denial, after which the client asks no more: of an approval alone.
    Block,
}

impl Step for Consent {
    fn path(&self) -> &'static str {
        "consent"
    }

    fn take<'a>(&'a self, request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(decide(self, request))
    }
}

/// Tells the flow what the person has decided.
pub(super) async fn decide(
    step: &dyn Step,
    mut request: StepRequest<'_>,
) -> Result<Taken, Problem> {
    let Body { decision } = request.body()?;
    let open = request.offered(step).await?;
    let person = open.person.ok_or(NOT_NOW)?;
    let answer = match decision {
        Decision::Block if open.approval.is_some() => Said::Blocked { step: step.path() },
        decision => {
            let allow = matches!(decision, Decision::Allow);
            Said::Decided { step: step.path(), allow }
        }
    };
    let chosen = open.chosen.as_deref();
    request.proceed(Asking { account: &person.account, chosen, answer }).await
}
