//! `POST /flows`: begins a flow without a client.

use super::{
    approval,
    document::{Document, FlowView, expiry},
    invited,
    opened::{OpenedFlow, read},
    operator_link,
    problems::{EXPIRED, OVER, SIGN_IN_FIRST, SIGN_UP_CLOSED, out_of_reach},
    report, sign_on,
    step_outcome::FlowAnswer,
    ticket::Ticket,
    user_code,
};
use crate::{
    domain::{
        Context, Timestamp,
        account::Known,
        account_alerts::Report,
        assurance::Acr,
        authorization::Request,
        flow::{
            APPROVAL, ApprovalSought, Flow, Goal, INVITATION, InSession, Invited, LINK,
            OperatorLink, RECOVERY, REPORT, SIGN_IN, SIGN_UP, STEP_UP, Seed, SignedIn, Stage,
            StepUpRequest,
        },
        installation::SelfService,
        organization::is_slug,
    },
    http::{
        answer::error::Problem,
        app::App,
        authorization::user_codes,
        extract::{
            context::RequestContext,
            json::Json,
            origin::Origin,
            request_source::{RequestSource, check_csrf},
        },
        limits::purpose::Purpose,
        people::session::{self, Lookup, Present},
    },
};
use axum::{
    extract::State,
    http::{HeaderValue, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use std::{net::IpAddr, time::Duration};

/// What a caller says of the flow that it wants to begin.
#[derive(Default, Deserialize)]
pub struct Wish {
    pub kind: String,
    /// What a step-up is for.
    #[serde(default)]
    pub acr: Option<Acr>,
    /// How many seconds ago it may have been proved.
    #[serde(default)]
    pub max_age: Option<u32>,
    /// Of an invitation, of the link of an operator, or of the link of an alert.
    #[serde(default)]
    pub token: Option<String>,
    /// That a device shows.
    #[serde(default)]
    pub user_code: Option<String>,
    /// The id of a request for an approval; what ends first, where there is none.
    #[serde(default)]
    pub approval: Option<String>,
    /// The id of another flow of this caller: what a client asks for in it goes on in the new one. So a
    /// person who has no account makes one, one who is signed in signs in as another, and one who has
    /// forgotten their password gets a new one first. An invitation goes on for the person it is for, where
    /// another has signed in.
    #[serde(default)]
    pub flow: Option<String>,
    /// The person chooses among the accounts that are signed in here, if any is.
    #[serde(default)]
    pub select_account: bool,
    /// The slug of the organization that the person wants to come to.
    #[serde(default)]
    pub organization: Option<String>,
    /// The id of the connection whose identity the person wants to link.
    #[serde(default)]
    pub connection: Option<String>,
    /// The page of ours that the person comes back to. A page says it; a program cannot.
    #[serde(skip)]
    pub back: Option<String>,
}

pub async fn post(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body: wish, .. }: Json<Wish>,
) -> Result<Response, Problem> {
    check_csrf(&app, &headers)?;
    let mut source = RequestSource::of(&headers, app.settings.cookies);
    // A caller that sends no page is a program, unless a browser says that it is one.
    source.is_browser = source.has_scripts;
    let answer = begin(&app, (context, address), source, wish).await?;
    Ok((StatusCode::CREATED, answer).into_response())
}

/// Begins a flow without a client.
pub async fn begin(
    app: &App,
    (context, address): (Context, IpAddr),
    mut source: RequestSource,
    wish: Wish,
) -> Result<FlowAnswer, Problem> {
    let Wish { kind, acr, max_age, token, user_code, approval, flow, select_account, .. } = wish;
    let Wish { organization, connection, back, .. } = wish;
    let organization = organization.filter(|slug| kind == SIGN_IN && is_slug(slug));
    let now = app.clock.now();
    app.limits.pace.take(Purpose::Flow, address, now)?;
    let unknown = || Problem::wrong_member("#/kind", "there is no such kind of flow");
    let goal = app.settings.flow_rules.goal(&kind).ok_or_else(unknown)?;
    if kind == SIGN_UP && !app.is_open(SelfService::SignUp).await? {
        return Err(SIGN_UP_CLOSED);
    }
    let goes_on = [SIGN_IN, SIGN_UP, RECOVERY, INVITATION].contains(&&*kind);
    let former = flow.filter(|_| goes_on).map(|id| former(app, &id, &source)).transpose()?;
    let presented = presented(app, &kind, (token.as_deref(), former.as_ref())).await?;
    // What an invitation is to is all that it ends in.
    let former = former.filter(|_| kind != INVITATION);
    let user_code = user_code.filter(|_| goal.takes_user_code());
    let user_code = user_code.map(|code| user_codes::sealed(app, &code));
    let signed_in = if goal.is_in_session() {
        let wanted = (kind == STEP_UP).then(|| StepUpRequest {
            acr: acr.unwrap_or(Acr::Aal2),
            since: max_age.map(|age| now - Duration::from_secs(age.into())),
        });
        let begun = signed_in(app, &context, &source, (goal, wanted)).await?;
        let begun = begun.ok_or(SIGN_IN_FIRST)?;
        within_reach(app, &begun)?;
        Some(begun)
    } else if goal.goes_on_in_session() {
        signed_in(app, &context, &source, (goal, None)).await?
    } else {
        None
    };
    let connection = match &signed_in {
        Some(signed_in) if kind == LINK => {
            let account = &signed_in.person.account;
            Some(sign_on::linkable(app, account, connection.as_deref()).await?)
        }
        _ => None,
    };
    let (signed_in, approval) = match signed_in {
        Some(signed_in) if kind == APPROVAL => {
            let (shown, sought) = approval::begun_in(app, signed_in, approval.as_deref()).await?;
            (Some(shown), Some(sought))
        }
        signed_in => {
            let sought = || ApprovalSought { id: approval, said: None };
            (signed_in, (kind == APPROVAL).then(sought))
        }
    };
    let selects = kind == SIGN_IN && selects(app, &context, &source, select_account).await?;
    let beginning = Beginning {
        signed_in,
        user_code,
        former,
        selects,
        back,
        approval,
        organization,
        connection,
        ..presented
    };
    let (seed, cookie) = seed(app, &mut source, goal, beginning);
    let mut answer = if let (Some(_), Some(code)) = (&seed.signed_in, seed.user_code.clone()) {
        app.limits.pace.take(Purpose::Credential, address, now)?;
        let ticket = Ticket::Begun(Box::new(seed.clone()));
        let (id, name) = ticket.seal_named(&app.crypto.vault.now(), &*app.dice);
        let (leaving, offers_passkey) = (None, false);
        let opened = OpenedFlow { id, name, seed, leaving, source, context, offers_passkey };
        // Boxed: few flows take this way.
        Box::pin(user_code::enter(app, &opened, &code)).await?.answer
    } else {
        let document = begun(app, seed).await?;
        let document = document.telling_accounts(app, &context, &source).await?;
        FlowAnswer { document, cookies: Vec::new() }
    };
    answer.cookies.extend(cookie);
    Ok(answer)
}

/// Tells whether the person is asked for one of the accounts that are signed in here: where that is wanted,
/// and where none of them is the current one.
async fn selects(
    app: &App,
    context: &Context,
    source: &RequestSource,
    wanted: bool,
) -> Result<bool, Problem> {
    if !wanted && source.other_tokens.is_empty() {
        return Ok(false);
    }
    let held = session::held(app, context, source, Lookup::Anew).await?;
    Ok(!held.is_empty() && (wanted || !held.iter().any(|one| one.is_current)))
}

/// What a flow begins with.
#[derive(Default)]
pub(super) struct Beginning {
    signed_in: Option<SignedIn>,
    invited: Option<Invited>,
    operator_link: Option<OperatorLink>,
    /// The alert that told of what was not the person.
    report: Option<Box<Report>>,
    /// Sealed.
    user_code: Option<String>,
    former: Option<Former>,
    /// The person may choose an account that is signed in here.
    selects: bool,
    /// The page of ours that the person comes back to.
    back: Option<String>,
    approval: Option<ApprovalSought>,
    /// The slug of the organization that the person wants to come to.
    organization: Option<String>,
    /// The id of the connection whose identity the person wants to link.
    connection: Option<String>,
}

impl Beginning {
    /// In a session, with a request for an approval.
    pub(super) fn with_approval(signed_in: SignedIn, sought: ApprovalSought) -> Self {
        Self { signed_in: Some(signed_in), approval: Some(sought), ..Self::default() }
    }
}

/// What goes on of another flow: what a client asks for, for as long as it would have waited there.
struct Former {
    request: Option<Request>,
    expires_at: Timestamp,
    /// The invitation that it began with.
    invited: Option<Invited>,
}

/// Looks at another flow of this caller.
fn former(app: &App, id: &str, source: &RequestSource) -> Result<Former, Problem> {
    let seed = match read(app, id, source)?.1 {
        Ticket::Begun(seed) => *seed,
        Ticket::Leaving(..) | Ticket::Over(_) => return Err(OVER),
    };
    if app.clock.now() >= seed.expires_at {
        return Err(EXPIRED);
    }
    let Seed { request, later, expires_at, invited, .. } = seed;
    Ok(Former { request: request.or(later), expires_at, invited })
}

/// Finds what a token stands for that a flow begins with, or another flow of the caller began with.
async fn presented(
    app: &App,
    kind: &str,
    (token, former): (Option<&str>, Option<&Former>),
) -> Result<Beginning, Problem> {
    let mut presented = Beginning::default();
    match (kind, token) {
        (INVITATION, None) => {
            let former = former.and_then(|former| former.invited.as_ref());
            let former = former.ok_or_else(|| Problem::wrong_member("#/token", "is missing"))?;
            presented.invited = Some(invited::find_again(app, former).await?);
        }
        (INVITATION, Some(token)) => presented.invited = Some(invited::find(app, token).await?),
        (RECOVERY, Some(token)) => {
            presented.operator_link = Some(operator_link::find(app, token).await?);
        }
        (REPORT, token) => {
            let token = token.ok_or_else(|| Problem::wrong_member("#/token", "is missing"))?;
            presented.report = Some(report::find(app, token).await?);
        }
        _ => {}
    }
    Ok(presented)
}

/// A step-up that a caller of another endpoint is led to.
pub struct StepUp<'a> {
    pub present: &'a Present,
    pub account: &'a Known,
    pub wanted: StepUpRequest,
    /// The page of ours that the person comes back to, if one asks.
    pub back: Option<String>,
}

/// Begins a step-up in a session; returns its document, and the cookie that a browser needs for it.
pub async fn step_up(
    app: &App,
    source: &mut RequestSource,
    asked: StepUp<'_>,
) -> Result<(Document, Option<HeaderValue>), Problem> {
    let StepUp { present, account, wanted, back } = asked;
    let goal = app.settings.flow_rules.goal(STEP_UP).ok_or(Problem::NOT_FOUND)?;
    let signed_in = in_session(app, present, account, (goal, Some(wanted)));
    within_reach(app, &signed_in)?;
    let beginning = Beginning { signed_in: Some(signed_in), back, ..Beginning::default() };
    source.is_browser = source.has_scripts;
    let (seed, cookie) = seed(app, source, goal, beginning);
    Ok((begun(app, seed).await?, cookie))
}

/// A seed, and the cookie that a browser needs for it.
pub(super) type Sown = (Seed, Option<HeaderValue>);

pub(super) fn seed(
    app: &App,
    source: &mut RequestSource,
    goal: &dyn Goal,
    beginning: Beginning,
) -> Sown {
    let Beginning { signed_in, invited, operator_link, report, user_code, former, .. } = beginning;
    let Beginning { approval, selects, back, organization, connection, .. } = beginning;
    let (channel, cookie) = source.channel(app.settings.cookies, &*app.dice);
    let stage = match &invited {
        // The link is the proof.
        None if operator_link.is_some() => Stage::Enrol,
        None => goal.first(),
        Some(Invited { account: None, .. }) => Stage::Profile,
        Some(_) => Stage::Credential,
    };
    let kind = goal.kind().to_owned();
    let (asked, expires_at) = match former {
        Some(Former { request: Some(request), expires_at, .. }) => (Some(request), expires_at),
        _ => (None, expiry(app)),
    };
    // No session begins with a recovery, and no client is answered.
    let (request, later) = if kind == RECOVERY { (None, asked) } else { (asked, None) };
    let seed = Seed {
        kind,
        channel,
        expires_at,
        request,
        later,
        stage,
        signed_in,
        invited,
        user_code,
        operator_link,
        selects,
        back,
        organization,
        connection,
        approval,
        report,
    };
    (seed, cookie)
}

pub(super) async fn begun(app: &App, seed: Seed) -> Result<Document, Problem> {
    let id = Ticket::Begun(Box::new(seed.clone())).seal(&app.crypto.vault.now(), &*app.dice);
    let shown = FlowView { id: &id, seed: &seed, flow: &Flow::Unborn, outcome: None };
    Ok(Document::of(app, shown).await?)
}

/// Finds the session that the flow begins in, and what the person is asked first.
async fn signed_in(
    app: &App,
    context: &Context,
    source: &RequestSource,
    asked: (&dyn Goal, Option<StepUpRequest>),
) -> Result<Option<SignedIn>, Problem> {
    let Some(present) = session::find(app, context, source, true).await? else { return Ok(None) };
    let account = app.views.accounts.look_anew(&present.person.account).await?;
    let known = account.machine.known();
    Ok(known.map(|known| in_session(app, &present, known, asked)))
}

/// Refuses what nothing of the account reaches: no step could end the flow.
fn within_reach(app: &App, signed_in: &SignedIn) -> Result<(), Problem> {
    let served = app.settings.flow_rules.served(&signed_in.methods);
    match signed_in.wanted {
        Some(StepUpRequest { acr, .. }) if !acr.is_reachable_by(&served) => Err(out_of_reach(acr)),
        _ => Ok(()),
    }
}

pub(super) fn in_session(
    app: &App,
    present: &Present,
    account: &Known,
    (goal, wanted): (&dyn Goal, Option<StepUpRequest>),
) -> SignedIn {
    let methods = account.methods();
    let served = app.settings.flow_rules.served(&methods);
    let reachable = |acr: Acr| acr.within(&served).unwrap_or(acr);
    let wanted = wanted.map(|wanted| StepUpRequest { acr: reachable(wanted.acr), ..wanted });
    let asked = InSession { person: &present.person, methods: &methods, now: app.clock.now() };
    let stage = match wanted {
        Some(wanted) => wanted.asks(&asked),
        None => goal.first_in_session(&asked),
    };
    let (person, session, question) = (present.person.clone(), present.id.clone(), None);
    SignedIn { person, session, stage, question, methods, wanted, sign_on: None }
}
