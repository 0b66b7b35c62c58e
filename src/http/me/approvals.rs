//! `/me/approvals`: what clients ask of the person by a back channel, and what they say (contract §6).
//! `/me/blocked-clients`: the clients from which they want no more requests.

use super::{
    EntryId, Items,
    caller::{Caller, SignedIn},
    step_up,
};
use crate::{
    actors::Failure,
    domain::{
        Machine as _, Requirement,
        account::Account,
        approval_block::{self, BLOCKED_CLIENTS, Sides},
        assurance::Acr,
        authorization::{ConsentQuestion, Denial, Subject},
        backchannel_request::{Approval, Command, Deciding, Refusal, Verdict},
        flow::ApprovalAsked,
        grant::Grant,
        message::Mail,
        session::Session,
    },
    http::{
        answer::error::Problem,
        app::App,
        authorization::approval::{self, ALREADY_DECIDED, NOT_WAITING},
        extract::{context::RequestContext, cookies::with_cookie, json::Json},
        flows::{self, ApprovalNeed, ClientTold, DetailInWords, client_told},
        time::rfc3339,
    },
};
use axum::{
    extract::State,
    http::{Method, StatusCode},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// How often it is tried while what it rests on changes.
const TRIES: usize = 4;

/// An id holds the id of a client.
const LONGEST_ID: usize = 1_024;

const STEP_UP_REQUIRED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "step_up_required",
    "prove who you are in the flow: the request is approved when it ends",
);
const NOT_GRANTABLE: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "not_grantable",
    "the person may not grant what is asked for any more: the request was denied",
);

/// What waits for the person.
#[derive(Serialize)]
pub struct PendingApproval {
    id: String,
    client: ClientTold,
    binding_message: Option<String>,
    scopes: Vec<String>,
    authorization_details: Vec<DetailInWords>,
    /// The slug of the organization that tokens would speak for.
    organization: Option<String>,
    /// The identifier of the API that they would be for.
    resource: Option<String>,
    roles: Vec<String>,
    created_at: String,
    expires_at: String,
}

impl PendingApproval {
    async fn of(app: &App, asked: ApprovalAsked, question: ConsentQuestion) -> Self {
        let ApprovalAsked { id, request } = asked;
        let ConsentQuestion { organization, resource, roles, details, .. } = question;
        Self {
            id,
            client: client_told(app, &request.wanted.client_id).await,
            binding_message: request.binding_message,
            scopes: request.wanted.scopes.iter().map(str::to_owned).collect(),
            authorization_details: details.into_iter().map(DetailInWords::from).collect(),
            organization: organization.map(|choice| choice.slug),
            resource: resource.map(|resource| resource.identifier),
            roles,
            created_at: rfc3339(request.asked_at),
            expires_at: rfc3339(request.expires_at),
        }
    }
}

pub async fn list(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<PendingApproval>, Problem> {
    let mut items = of_account(&app, caller.account()).await?;
    items.retain(|one| caller.reaches(one.organization.as_deref()));
    Ok(Items::whole(items))
}

/// Lists what waits, what ends first first; what the person could not grant any more is left out.
pub async fn of_account(app: &App, account: &str) -> Result<Vec<PendingApproval>, Problem> {
    let mut items = Vec::new();
    for asked in approval::list(app, account).await? {
        let facts = match approval::facts(app, &asked, false).await {
            // It waits all the same: the caller comes back.
            Err(problem) if problem.status.is_server_error() => return Err(problem),
            Err(_) => continue,
            Ok(facts) => facts,
        };
        let Ok(question) = asked.request.wanted.question(&facts) else { continue };
        items.push(PendingApproval::of(app, asked, question).await);
    }
    Ok(items)
}

#[derive(Deserialize)]
pub struct ApprovalDecision {
    decision: Decision,
    /// No more requests of this client are wanted.
    #[serde(default)]
    block: bool,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    Deny,
}

pub async fn decide(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    id: EntryId,
    Json { headers, body: ApprovalDecision { decision, block }, .. }: Json<ApprovalDecision>,
) -> Result<Response, Problem> {
    let mut caller = Caller::of(&app, context, &Method::POST, &headers).await?;
    if decision == Decision::Approve && block {
        return Err(Problem::wrong_member("#/block", "is for a denial"));
    }
    let id = id.read(LONGEST_ID)?;
    let asked = match approval::find(&app, &id, caller.account()).await {
        Ok(asked) => asked,
        // The flow to which the first try led has approved it.
        Err(problem) if decision == Decision::Approve && problem == ALREADY_DECIDED => {
            let seen = app.views.backchannel_requests.peek(&id).await?;
            let here = seen.machine.was_approved_in_flow_of(&caller.present.id);
            return if here { Ok(done()) } else { Err(problem) };
        }
        Err(problem) => return Err(problem),
    };
    if (block || is_elsewhere(&app, &caller, &asked).await?)
        && let Some(refused) = step_up::demand_own(&app, &mut caller).await?
    {
        return Ok(refused);
    }
    match decision {
        Decision::Approve => approve(&app, &mut caller, asked).await,
        Decision::Deny => {
            deny(&app, &caller, &asked, (Denial::ConsentRefused, block)).await?;
            Ok(done())
        }
    }
}

/// Tells whether a request is none of the organization by whose provider alone the caller has come.
async fn is_elsewhere(app: &App, caller: &Caller, asked: &ApprovalAsked) -> Result<bool, Problem> {
    if !caller.present.person.evidence.is_only_scoped() {
        return Ok(false);
    }
    let facts = approval::facts(app, asked, true).await?;
    let wanted = asked.request.wanted.organization.as_deref();
    Ok(!caller.reaches(facts.organization(wanted)))
}

fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Approves what the person was shown, or leads to a flow in which they prove enough for it.
async fn approve(
    app: &App,
    caller: &mut Caller,
    asked: ApprovalAsked,
) -> Result<Response, Problem> {
    let account = caller.known(app).await?;
    let served = app.settings.flow_rules.served(&account.methods());
    for number in 0..TRIES {
        let facts = approval::facts(app, &asked, number > 0).await?;
        let (person, session) = (&caller.present.person, caller.present.id.as_str());
        let deciding = Deciding {
            subject: Subject { person, session, now: app.clock.now() },
            facts: &facts,
            served: &served,
            asserted: false,
        };
        let verdict = asked.request.settle(&deciding);
        let question = match asked.request.wanted.question(&facts) {
            Ok(question) => question,
            Err(denial) => return Err(not_grantable(app, caller, &asked, denial).await?),
        };
        let needs = match verdict {
            Verdict::Granted { grant, requirements } => {
                let client_id = &asked.request.wanted.client_id;
                let mail = flows::agent_mail(app, &caller.context, &account, client_id).await;
                let yes = yes(&asked, &question, (grant, requirements, session), mail);
                if commit(app, caller, &asked.id, yes).await? {
                    return Ok(done());
                }
                continue;
            }
            Verdict::Denied(Denial::NotSureEnough) => return Err(flows::out_of_reach(Acr::Aal2)),
            Verdict::Denied(denial) => {
                return Err(not_grantable(app, caller, &asked, denial).await?);
            }
            Verdict::ProveMore(acr) => ApprovalNeed::Proof(acr),
            Verdict::ProveAgain(counts) => ApprovalNeed::ProofAgain(counts),
            Verdict::SignOn(slug) => ApprovalNeed::SignOn(slug),
            Verdict::Assert => ApprovalNeed::Assertion,
        };
        return lead_to_flow(app, caller, (&account, &asked), (question, needs)).await;
    }
    Err(Problem::UNAVAILABLE)
}

fn yes(
    asked: &ApprovalAsked,
    question: &ConsentQuestion,
    (grant, mut requirements, session): (Box<Grant>, Vec<Requirement>, &str),
    mail: Option<Mail>,
) -> Command {
    let account = &*asked.request.account;
    requirements.push(Requirement::live::<Session>(session));
    requirements.push(Requirement::live::<Account>(account));
    Command::Approve(Box::new(Approval {
        id: asked.id.clone(),
        grant,
        shown: asked.request.shown(&asked.id, question),
        asserted: false,
        in_flow: false,
        requirements,
        mail: mail.map(Box::new),
    }))
}

/// Has the request decided; false where what it rests on has changed meanwhile.
async fn commit(app: &App, caller: &Caller, id: &str, yes: Command) -> Result<bool, Problem> {
    match app.entities.backchannel_requests.ask(&caller.context, id, yes).await {
        Ok(_) => Ok(true),
        Err(Failure::Refused(Refusal::Decided)) => Err(ALREADY_DECIDED),
        // The time, the session or the account is over.
        Err(Failure::Refused(_) | Failure::Unmet { kind: Session::KIND | Account::KIND }) => {
            Err(NOT_WAITING)
        }
        Err(Failure::Unmet { .. }) => Ok(false),
        Err(failure) if failure.may_have_happened() => Err(Problem::OUTCOME_UNKNOWN),
        Err(failure) => {
            tracing::info!(why = %failure, "a request could not be approved");
            Err(Problem::UNAVAILABLE)
        }
    }
}

async fn lead_to_flow(
    app: &App,
    caller: &mut Caller,
    (account, asked): (&crate::domain::account::Known, &ApprovalAsked),
    (question, needs): (ConsentQuestion, ApprovalNeed),
) -> Result<Response, Problem> {
    let present = &caller.present;
    let yes = flows::Yes { present, account, asked, question, needs };
    let (document, cookie) = flows::begin_approval(app, &mut caller.source, yes).await?;
    let flow = serde_json::to_value(document).expect("plain data with text keys is JSON");
    Ok(with_cookie(STEP_UP_REQUIRED.with_member("flow", flow), cookie))
}

/// Denies what the person could not grant; the client hears why.
async fn not_grantable(
    app: &App,
    caller: &Caller,
    asked: &ApprovalAsked,
    denial: Denial,
) -> Result<Problem, Problem> {
    deny(app, caller, asked, (denial, false)).await?;
    Ok(NOT_GRANTABLE)
}

async fn deny(
    app: &App,
    caller: &Caller,
    asked: &ApprovalAsked,
    (why, block): (Denial, bool),
) -> Result<(), Problem> {
    let account = caller.account().to_owned();
    let command = Command::Deny { account, why, block };
    match app.entities.backchannel_requests.ask(&caller.context, &asked.id, command).await {
        Ok(_) => Ok(()),
        Err(Failure::Refused(Refusal::Decided)) => Err(ALREADY_DECIDED),
        Err(Failure::Refused(_)) => Err(NOT_WAITING),
        Err(failure) if failure.may_have_happened() => Err(Problem::OUTCOME_UNKNOWN),
        Err(_) => Err(Problem::UNAVAILABLE),
    }
}

/// A client that the person has blocked.
#[derive(Serialize)]
pub struct BlockedClient {
    id: String,
    client: ClientTold,
    created_at: String,
}

pub async fn blocked(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<BlockedClient>, Problem> {
    let items = blocked_by(&app, caller.account()).await?;
    // A client is blocked for every organization.
    Ok(Items::whole(if caller.reaches(None) { items } else { Vec::new() }))
}

/// Lists the clients that a person has blocked.
pub async fn blocked_by(app: &App, account: &str) -> Result<Vec<BlockedClient>, Problem> {
    let mut items = Vec::new();
    for entry in app.views.approval_blocks.first_page(BLOCKED_CLIENTS, account).await? {
        let Some((sides, at)) = entry.machine.blocked() else { continue };
        items.push(BlockedClient {
            id: URL_SAFE_NO_PAD.encode(&sides.client_id),
            client: client_told(app, &sides.client_id).await,
            created_at: rfc3339(at),
        });
    }
    Ok(items)
}

/// Lets a client ask the person again.
pub async fn unblock(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
    id: EntryId,
) -> Result<Response, Problem> {
    if let Some(refused) = step_up::demand_own(&app, &mut caller).await? {
        return Ok(refused);
    }
    let client_id = URL_SAFE_NO_PAD.decode(id.read(LONGEST_ID)?).ok();
    let client_id = client_id.and_then(|bytes| String::from_utf8(bytes).ok());
    let client_id = client_id.filter(|id| !id.contains('\0')).ok_or(Problem::NOT_FOUND)?;
    let id = Sides { account: caller.account().to_owned(), client_id }.id();
    match app
        .entities
        .approval_blocks
        .ask(&caller.context, &id, approval_block::Command::Lift)
        .await
    {
        Ok(lifted) if lifted.reply => Ok(done()),
        Ok(_) => Err(Problem::NOT_FOUND),
        Err(failure) if failure.may_have_happened() => Err(Problem::OUTCOME_UNKNOWN),
        Err(_) => Err(Problem::UNAVAILABLE),
    }
}
