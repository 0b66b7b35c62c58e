//! A request for an approval in a flow: looked up once the person is known, decided on in the commit that
//! ends the flow (adr/0090).

use super::{
    begin::{Beginning, begun, in_session, seed},
    document::Document,
    opened::OpenedFlow,
};
use crate::{
    domain::{
        account::Known,
        assurance::{Acr, Evidence},
        authorization::ConsentQuestion,
        flow::{
            APPROVAL, ApprovalAsked, ApprovalSought, Flow, Goal, SignedIn, Stage, StepUpRequest,
        },
    },
    http::{
        answer::error::Problem,
        app::App,
        authorization::approval::{self, NOT_WAITING},
        extract::request_source::RequestSource,
        people::session::Present,
    },
};
use axum::http::HeaderValue;

/// Returns the request that the step of a person is about.
pub(super) async fn known(
    app: &App,
    opened: &OpenedFlow,
    account: &str,
) -> Result<Option<Box<ApprovalAsked>>, Problem> {
    let Some(sought) = &opened.seed.approval else { return Ok(None) };
    let seen = app.views.flows.peek(&opened.name).await?;
    let said = match &seen.machine {
        Flow::Open(open) => open.approval.as_ref(),
        Flow::Unborn => sought.said.as_ref(),
        Flow::Over(_) => None,
    };
    let id = said.map(|said| said.id.as_str()).or(sought.id.as_deref());
    let asked = match id {
        Some(id) => approval::find(app, id, account).await?,
        None => first(app, account).await?,
    };
    Ok(Some(Box::new(asked)))
}

async fn first(app: &App, account: &str) -> Result<ApprovalAsked, Problem> {
    approval::list(app, account).await?.into_iter().next().ok_or(NOT_WAITING)
}

/// Finds what a flow is about that begins in a session, and what the person is shown of it.
pub(super) async fn begun_in(
    app: &App,
    signed_in: SignedIn,
    id: Option<&str>,
) -> Result<(SignedIn, ApprovalSought), Problem> {
    let account = &signed_in.person.account;
    let asked = match id {
        Some(id) => approval::find(app, id, account).await?,
        None => first(app, account).await?,
    };
    let facts = approval::facts(app, &asked, true).await?;
    let wanted = &asked.request.wanted;
    let organization = facts.organization(wanted.organization.as_deref());
    if !signed_in.person.evidence.reaches(organization) {
        // It is shown once the account itself has proved something.
        let sought = ApprovalSought { id: Some(asked.id), said: None };
        return Ok((SignedIn { stage: Stage::Credential, ..signed_in }, sought));
    }
    let question = wanted.question(&facts).map_err(|_| NOT_WAITING)?;
    let said = Some(Box::new(asked.shown(&question)));
    let sought = ApprovalSought { id: Some(asked.id), said };
    let question = Some(Box::new(question));
    Ok((SignedIn { stage: Stage::Confirm, question, ..signed_in }, sought))
}

/// A yes that was said before enough was proved.
pub struct Yes<'a> {
    pub present: &'a Present,
    pub account: &'a Known,
    pub asked: &'a ApprovalAsked,
    pub question: ConsentQuestion,
    pub needs: ApprovalNeed,
}

/// What a yes needs before it counts.
pub enum ApprovalNeed {
    /// That the person proves as much.
    Proof(Acr),
    /// That they prove again who they are; this alone counts of what they have proved.
    ProofAgain(Box<Evidence>),
    /// That they come by the single sign-on of the organization with this slug.
    SignOn(String),
    /// That a passkey of theirs signs what was shown.
    Assertion,
}

/// Begins a flow in which the person proves what their yes needs, and which ends in it. Returns its
/// document, and the cookie that a browser needs for it.
pub async fn begin(
    app: &App,
    source: &mut RequestSource,
    yes: Yes<'_>,
) -> Result<(Document, Option<HeaderValue>), Problem> {
    let Yes { present, account, asked, question, needs } = yes;
    let goal: &dyn Goal = app.settings.flow_rules.goal(APPROVAL).ok_or(Problem::NOT_FOUND)?;
    let wanted = match needs {
        ApprovalNeed::Proof(acr) => Some(StepUpRequest { acr, since: None }),
        _ => None,
    };
    let mut signed_in = in_session(app, present, account, (goal, wanted));
    if wanted.is_none() {
        signed_in.stage = Stage::Credential;
    }
    match needs {
        ApprovalNeed::SignOn(slug) => signed_in.sign_on = Some(slug),
        ApprovalNeed::ProofAgain(counts) => signed_in.person.evidence = *counts,
        ApprovalNeed::Proof(_) | ApprovalNeed::Assertion => {}
    }
    // What it is for is the approval: how much that needs is seen again when it is given.
    signed_in.wanted = None;
    let mut said = asked.shown(&question);
    said.agreed = true;
    signed_in.question = Some(Box::new(question));
    let sought = ApprovalSought { id: Some(asked.id.clone()), said: Some(Box::new(said)) };
    let beginning = Beginning::with_approval(signed_in, sought);
    source.is_browser = source.has_scripts;
    let (seed, cookie) = seed(app, source, goal, beginning);
    Ok((begun(app, seed).await?, cookie))
}
