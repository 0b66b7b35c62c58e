//! `consent`: whether a client may act for a person.

use super::{Step, StepOutcome, StepRequest, Taking};
use crate::http::{
    answer::error::Problem,
    flows::{
        ending::{AnsweredStep, StepAnswer},
        leaving::SIGN_OUT,
        problems::NOT_NOW,
        report,
    },
    limits::purpose::Purpose,
};
use serde::Deserialize;

pub struct Consent;

/// The body of every question of yes or no.
#[derive(Deserialize)]
pub(super) struct Body {
    decision: Decision,
    /// Of which accounts a person signs out.
    #[serde(default)]
    accounts: Which,
}

/// Which of the accounts that are signed in here are meant.
#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Which {
    #[default]
    This,
    All,
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
) -> Result<StepOutcome, Problem> {
    let Body { decision, accounts } = request.body()?;
    let open = request.offered(step).await?;
    if matches!(decision, Decision::Block) && open.approval.is_none() {
        return Err(Problem::wrong_member("#/decision", "is allow or deny"));
    }
    if let Some(report) = &open.seed.report {
        request.charge(Purpose::Credential)?;
        let allow = matches!(decision, Decision::Allow);
        return report::decide(request.app, request.opened, (report, allow)).await;
    }
    let person = open.person.clone().ok_or(NOT_NOW)?;
    let allow = matches!(decision, Decision::Allow);
    if let (true, Which::All, SIGN_OUT) = (allow, accounts, &*open.seed.kind) {
        // First the others: where one of them cannot be ended, the person can try again.
        request.end_other_sessions(&open).await?;
    }
    let answer = match decision {
        Decision::Block => StepAnswer::Blocked { step: step.path() },
        _ => StepAnswer::Decided { step: step.path(), allow },
    };
    let chosen = open.chosen.as_deref();
    request.proceed(AnsweredStep { account: &person.account, chosen, answer }).await
}
