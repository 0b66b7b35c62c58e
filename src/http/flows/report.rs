//! Alerts' links: found by their token when a flow begins, spent by the decision (adr/0142).

use super::{
    ending, opened::OpenedFlow, problems::REPORT_NOT_GOOD, sign_out, step_outcome::StepOutcome,
};
use crate::{
    domain::{account::Known, account_alerts::Report, assurance::AuthenticatorId, flow::Step},
    http::{answer::error::Problem, app::App, people::report_link},
};

/// Finds what a token stands for. Foreign, decided and expired ones, and those of an account that is suspended or gone,
/// are answered alike.
///
/// Nothing is spent: a link may be opened more than once, and by programs.
pub async fn find(app: &App, token: &str) -> Result<Box<Report>, Problem> {
    let report = report_link::read(app, token).ok_or(REPORT_NOT_GOOD)?;
    let alerts = app.views.account_alerts.peek(&report.account).await?;
    if !alerts.machine.takes_report(&report, app.clock.now()) {
        return Err(REPORT_NOT_GOOD);
    }
    account(app, &report).await?;
    Ok(Box::new(report))
}

/// Returns the account that a report is about.
async fn account(app: &App, report: &Report) -> Result<Known, Problem> {
    let seen = app.views.accounts.peek(&report.account).await?;
    let known = seen.machine.known().filter(|known| !known.is_suspended());
    known.cloned().ok_or(REPORT_NOT_GOOD)
}

/// Tells the flow whether it was not the person. After a yes everything that the account is signed in by has ended.
pub async fn decide(
    app: &App,
    opened: &OpenedFlow,
    (report, allow): (&Report, bool),
) -> Result<StepOutcome, Problem> {
    let known = account(app, report).await?;
    let here = AuthenticatorId::mailbox(&known.normalised_email()) == report.mailbox;
    let step = Step::Report { allow, identifier: here.then_some(known.email) };
    let asked = opened.ask(app, &opened.context, step).await;
    app.views.accounts.forget(&report.account);
    let flow = asked?.reply.flow;
    if allow {
        sign_out::after_commit(app, &opened.context, &report.account).await;
    }
    Ok(ending::shown(app, opened, &flow).await?.into())
}
