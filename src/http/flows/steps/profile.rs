//! `profile`: what a person says of themselves who asks for an account.
//!
//! No account is looked up: nothing can be learnt here. The id of the account is drawn now, so that
//! what proves the address proves it of one account.

use super::{Step, StepRequest, Taking};
use crate::{
    crypto::draw_uuid,
    domain::{
        Machine as _,
        account::{self, Account, ClaimFault, normalise_email},
        flow::{Applicant, Invited, Step as Command},
        installation::SelfService,
        proof_of_work::is_solved,
    },
    http::{
        answer::error::Problem,
        flows::problems::{PROOF_OF_WORK, SIGN_UP_CLOSED},
        limits::purpose::Purpose,
    },
};
use serde::Deserialize;

pub struct Profile;

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    given_name: Option<String>,
    #[serde(default)]
    family_name: Option<String>,
    #[serde(default)]
    locale: Option<String>,
    /// The answer to the challenge of the flow's document.
    #[serde(default)]
    proof_of_work: Option<String>,
}

impl Step for Profile {
    fn path(&self) -> &'static str {
        "profile"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let app = request.app;
            let body: Body = request.body()?;
            let open = request.offered(self).await?;
            let email = match &open.seed.invited {
                None => body.email.clone().ok_or_else(|| wrong("email", "is missing"))?,
                Some(invited) => of_invited(invited, body.email.as_deref())?,
            };
            let installation = app.installation().await?;
            if open.seed.invited.is_none() {
                if !app.opens(SelfService::SignUp, &installation.machine) {
                    return Err(SIGN_UP_CLOSED);
                }
                request.charge(Purpose::Registration)?;
                let answer = body.proof_of_work.as_deref().unwrap_or_default();
                let (bits, flow) = (app.settings.sign_up.proof_of_work_bits, &request.opened.name);
                if !is_solved(bits, flow, &email, answer) {
                    return Err(PROOF_OF_WORK);
                }
            }
            let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
            let applicant = Applicant {
                account: draw_uuid(&*app.dice),
                email: email.trim().to_owned(),
                given_name: said(body.given_name),
                family_name: said(body.family_name),
                locale: said(body.locale),
            };
            check(&applicant, app.clock.now())?;
            let (applicant, sign_outs) = (Box::new(applicant), installation.machine.sign_outs());
            request.ask(Command::Describe { applicant, sign_outs }).await
        })
    }
}

/// The address of an invitation is fixed.
fn of_invited(invited: &Invited, given: Option<&str>) -> Result<String, Problem> {
    let same = |given: &str| normalise_email(given) == normalise_email(&invited.email);
    if given.is_some_and(|given| !same(given)) {
        return Err(wrong("email", "is not the address that was invited"));
    }
    Ok(invited.email.clone())
}

/// Judges it as the account will when it is made.
fn check(applicant: &Applicant, now: crate::domain::Timestamp) -> Result<(), Problem> {
    let create = account::Command::Create(applicant.draft());
    match Account::default().decide(&create, now).outcome {
        Ok(_) => Ok(()),
        Err(account::Refusal::Claims(faults)) => Err(match faults.into_iter().next() {
            Some(ClaimFault { claim, problem }) => wrong(&claim, problem.to_string()),
            None => wrong("email", "cannot be taken"),
        }),
        Err(refusal) => Err(wrong("email", refusal.to_string())),
    }
}

fn wrong(member: &str, detail: impl Into<String>) -> Problem {
    Problem::wrong_member(format!("#/{member}"), detail)
}
