//! A person with a live session may be done at once, with idempotent retries, or must do only a part of it.

use super::{
    answer::EndpointAnswer,
    picked::{self, SessionChoice},
};
use crate::{
    actors::{EntitySnapshot, Failure, HydrateError},
    crypto::{OpaqueKind, draw_id_at},
    domain::{
        Actor, Context, Machine as _, Requirement,
        account::Known,
        assurance::{Acr, Method},
        authorization::{ConsentQuestion, Denial, PersonAnswers, Request, Settled, Subject},
        client::{Client, KnownClient},
        flow::{InSession, SignedIn, Stage, StepUpRequest},
        grant::Grant,
        pushed_request::PushedRequest,
        token_family::{Begin, Command, Refusal},
    },
    http::{
        answer::{
            authorization_error::{AuthorizationError, refusal_of},
            error::Code,
        },
        app::App,
        authorization::{
            request_facts::{FactsReader, client_of},
            response::AuthorizationResponse,
        },
        clients,
        extract::request_source::RequestSource,
        grants::family::{self, Beginning},
        people::session::{self, Lookup, Present},
        reading::retries::{FinalFailure, Retries},
    },
};
use std::sync::Arc;

/// Who asks, as far as the request shows.
pub struct Requester<'a> {
    pub context: Context,
    pub source: &'a RequestSource,
}

pub async fn settle(app: &App, request: Request, asking: Requester<'_>) -> EndpointAnswer {
    try_to_settle(app, request, asking).await.unwrap_or_else(EndpointAnswer::Refused)
}

async fn try_to_settle(
    app: &App,
    request: Request,
    asking: Requester<'_>,
) -> Result<EndpointAnswer, AuthorizationError> {
    let Requester { context, source } = asking;
    // Drawn once for all tries: by them the family knows a command that it has carried out.
    let id = draw_id_at(&*app.dice, app.clock.now());
    let code = OpaqueKind::AuthorizationCode.mint(&id, &app.crypto.vault.now(), &*app.dice);
    let mut tries = Retries::new();
    // First by what was seen a moment ago, which the commit requires. What commits nothing rests on what is there now.
    let mut lookup = Lookup::ForCommit;
    loop {
        if tries.anew() {
            lookup = Lookup::Anew;
        }
        let seen = look(app, &request, (&context, source), (&tries, lookup)).await;
        let Granted { present, client, grant, mut requirements } = match seen {
            Ok(Outcome::Granted(granted)) => *granted,
            _ if lookup == Lookup::ForCommit => {
                lookup = Lookup::Recent;
                continue;
            }
            outcome => return outcome?.begin(app, request),
        };
        requirements.extend_from_slice(present.requirements());
        let Some((client, client_version)) = known(Some(&client)) else {
            return Err(CLIENT_CHANGED);
        };
        let noted_in = family::noted_in(&present, client);
        let begin = Command::Begin(Box::new(Begin {
            grant,
            code: code.fingerprint,
            lives: app.settings.lifetimes.of_code(),
            redirect_uri: request.reply_to.redirect_uri.clone(),
            challenge: request.challenge,
            key: request.key,
            nonce: request.nonce.clone(),
            pushed: request.pushed.clone(),
            noted_in: noted_in.clone(),
            requirements,
        }));
        let context = context.clone().by(Actor::Person(present.person.account.clone()));
        let (id, again, noted_in) = (id.as_str(), tries.anew(), noted_in.as_deref());
        let beginning = Beginning { id, command: begin, again, noted_in };
        match Box::pin(family::begin(app, &context, beginning)).await {
            Ok(_) => {
                app.note_use_of(&context, client);
                let code = AuthorizationResponse::code(app, &request.reply_to, &code.text)?;
                return Ok(EndpointAnswer::Code(code));
            }
            Err(Failure::Taken { space: PushedRequest::KIND }) => return Err(USED),
            // It is known by its document alone, and the person has let it before.
            Err(Failure::Unmet { kind: Client::KIND })
                if client_version == 0
                    && tries.read(clients::keep(app, &context, &client.client_id).await)? =>
            {
                tries.after(Failure::Unmet { kind: Client::KIND }).await?;
            }
            Err(failure) => tries.after(failure).await?,
        }
    }
}

/// What follows from the sessions of the browser.
enum Outcome {
    Granted(Box<Granted>),
    Select,
    SignIn,
    StepUp(Box<Present>, (Vec<Method>, Acr)),
    SignOn(Box<Present>, String),
    Ask(Box<Present>, Stage, Option<Box<ConsentQuestion>>),
}

/// What is granted without a question.
struct Granted {
    present: Present,
    client: Arc<EntitySnapshot<Client>>,
    grant: Grant,
    requirements: Vec<Requirement>,
}

impl Outcome {
    /// Has the person do what is missing.
    fn begin(self, app: &App, request: Request) -> Result<EndpointAnswer, AuthorizationError> {
        match self {
            // It commits, and begins nothing.
            Self::Granted(_) => Err(AuthorizationError::unavailable()),
            Self::Select => select(request),
            Self::SignIn => sign_in(request),
            Self::StepUp(present, wanted) => step_up(app, request, *present, wanted),
            Self::SignOn(present, slug) => sign_on(request, *present, slug),
            Self::Ask(present, stage, question) => ask(request, *present, stage, question),
        }
    }
}

/// Looks at the sessions of the browser, and at what decides about the request beside them.
async fn look(
    app: &App,
    request: &Request,
    (context, source): (&Context, &RequestSource),
    (tries, lookup): (&Retries, Lookup),
) -> Result<Outcome, AuthorizationError> {
    let anew = lookup == Lookup::Anew;
    let held = tries.read(session::held(app, context, source, lookup).await)?;
    let may_choose = held.len() > 1 && !picked::is_named(request);
    let present = match tries.read(picked::pick(app, request, held).await)? {
        SessionChoice::Session(present) => Some(present),
        SessionChoice::Ask => return Ok(Outcome::Select),
        SessionChoice::None => None,
    };
    let too_old =
        |present: &Present| request.wanted.wants_fresh_sign_in(&present.person, app.clock.now());
    let Some(present) = present.filter(|present| !too_old(present)) else {
        return Ok(Outcome::SignIn);
    };
    if request.wanted.wants_more_than(&present.person, app.clock.now()) {
        let methods = tries.read(methods_of(app, &present, anew).await)?;
        let (served, now) = (app.settings.flow_rules.served(&methods), app.clock.now());
        if let Some(acr) = request.wanted.step_up(&present.person, &served, now) {
            return Ok(Outcome::StepUp(present, (methods, acr)));
        }
    }
    let seen = tries.read(client_of(app, request, anew).await)?;
    let Some((client, client_version)) = known(seen.as_deref()) else {
        return Err(CLIENT_CHANGED);
    };
    let account = &present.person.account;
    let reader = FactsReader {
        app,
        client,
        client_version,
        wanted: &request.wanted,
        redirect_uri: Some(&request.reply_to.redirect_uri),
        account,
        chosen: None,
        anew,
    };
    let facts = tries.read(Box::pin(reader.gather()).await)?;
    let subject = Subject { person: &present.person, session: &present.id, now: app.clock.now() };
    Ok(match request.wanted.settle(subject, &facts, PersonAnswers::default()) {
        Settled::Granted { grant, requirements } => {
            let Some(client) = seen.clone() else { return Err(CLIENT_CHANGED) };
            let (present, grant) = (*present, *grant);
            Outcome::Granted(Box::new(Granted { present, client, grant, requirements }))
        }
        Settled::ProveMore(acr) => {
            // Anew: a person is not refused for want of a passkey that they have just added.
            let methods = tries.read(methods_of(app, &present, true).await)?;
            if !acr.is_reachable_by(&app.settings.flow_rules.served(&methods)) {
                return Err(refusal_of(&Denial::NotSureEnough));
            }
            Outcome::StepUp(present, (methods, acr))
        }
        Settled::ProveAgain(_) => Outcome::SignIn,
        Settled::SignOn(slug) => Outcome::SignOn(present, slug),
        // Another of the accounts that are signed in here may speak for the organization.
        Settled::Denied(Denial::NotAMember) if may_choose => Outcome::Select,
        Settled::Denied(denial) => return Err(refusal_of(&denial)),
        Settled::ChooseOrganization(_) => Outcome::Ask(present, Stage::Organization, None),
        Settled::AskConsent(question) => Outcome::Ask(present, Stage::Consent, Some(question)),
    })
}

/// Another request has used up what the client pushed.
const USED: AuthorizationError =
    AuthorizationError::new(Code::InvalidRequestUri, "the request_uri was used before");

fn known(seen: Option<&EntitySnapshot<Client>>) -> Option<(&KnownClient, i64)> {
    let seen = seen?;
    Some((seen.machine.known()?, seen.version))
}

/// A code goes only where the client is at home now.
const CLIENT_CHANGED: AuthorizationError =
    AuthorizationError::new(Code::UnauthorizedClient, "the client has changed: please try again");

/// No code is out that could be presented, whatever came of it: the person may begin anew.
impl From<FinalFailure<Refusal>> for AuthorizationError {
    fn from(stopped: FinalFailure<Refusal>) -> Self {
        tracing::info!(why = ?stopped, "a grant could not be written down");
        Self::unavailable()
    }
}

/// No person is signed in, or not as freshly as is asked; or the organization has signed its people out, and all ways
/// that lead to it are offered.
fn sign_in(request: Request) -> Result<EndpointAnswer, AuthorizationError> {
    if request.wanted.prompt.none {
        let why = "no person is signed in, or not recently enough";
        return Err(AuthorizationError::new(Code::LoginRequired, why));
    }
    Ok(EndpointAnswer::Begin { request: Box::new(request), signed_in: None, selects: false })
}

/// The person says which of the accounts it is that are signed in here.
fn select(request: Request) -> Result<EndpointAnswer, AuthorizationError> {
    if request.wanted.prompt.none {
        let why = "the person must choose one of the accounts that are signed in";
        return Err(AuthorizationError::new(Code::AccountSelectionRequired, why));
    }
    Ok(EndpointAnswer::Begin { request: Box::new(request), signed_in: None, selects: true })
}

/// Lists what the account of the person can prove itself by.
async fn methods_of(app: &App, present: &Present, anew: bool) -> Result<Vec<Method>, HydrateError> {
    let account = app.views.accounts.look_if(anew, &present.person.account).await?;
    let known = account.machine.known();
    Ok(known.map(Known::methods).unwrap_or_default())
}

/// The person is signed in, and the client would like more than they have proved, or the
/// organization requires it.
fn step_up(
    app: &App,
    request: Request,
    present: Present,
    (methods, acr): (Vec<Method>, Acr),
) -> Result<EndpointAnswer, AuthorizationError> {
    let (wanted, now) = (StepUpRequest { acr, since: None }, app.clock.now());
    let stage = wanted.asks(&InSession { person: &present.person, methods: &methods, now });
    if request.wanted.prompt.none {
        let why = "the person has not proved as much as is asked for";
        return Err(AuthorizationError::new(Code::LoginRequired, why));
    }
    let Present { id: session, person, .. } = present;
    let (question, wanted) = (None, Some(wanted));
    let sign_on = None;
    let signed_in = SignedIn { person, session, stage, question, methods, wanted, sign_on };
    let (request, signed_in) = (Box::new(request), Some(Box::new(signed_in)));
    Ok(EndpointAnswer::Begin { request, signed_in, selects: false })
}

/// The person is signed in, and the organization requires them to come by its single sign-on.
fn sign_on(
    request: Request,
    present: Present,
    slug: String,
) -> Result<EndpointAnswer, AuthorizationError> {
    if request.wanted.prompt.none {
        let why = "the organization requires its own single sign-on";
        return Err(AuthorizationError::new(Code::LoginRequired, why));
    }
    let Present { id: session, person, .. } = present;
    let signed_in = SignedIn {
        person,
        session,
        stage: Stage::Credential,
        question: None,
        methods: Vec::new(),
        wanted: None,
        sign_on: Some(slug),
    };
    let (request, signed_in) = (Box::new(request), Some(Box::new(signed_in)));
    Ok(EndpointAnswer::Begin { request, signed_in, selects: false })
}

/// The person is signed in and must say something.
fn ask(
    request: Request,
    present: Present,
    stage: Stage,
    question: Option<Box<ConsentQuestion>>,
) -> Result<EndpointAnswer, AuthorizationError> {
    if request.wanted.prompt.none {
        let (code, why) = match stage {
            Stage::Consent => (Code::ConsentRequired, "the person has not consented to this"),
            _ => (Code::InteractionRequired, "the person must choose an organization"),
        };
        return Err(AuthorizationError::new(code, why));
    }
    let Present { id: session, person, .. } = present;
    let (methods, wanted, sign_on) = (Vec::new(), None, None);
    let signed_in = SignedIn { person, session, stage, question, methods, wanted, sign_on };
    let signed_in = Some(Box::new(signed_in));
    Ok(EndpointAnswer::Begin { request: Box::new(request), signed_in, selects: false })
}

impl From<HydrateError> for AuthorizationError {
    fn from(error: HydrateError) -> Self {
        tracing::warn!(%error, "the facts of a request could not be read");
        Self::unavailable()
    }
}
