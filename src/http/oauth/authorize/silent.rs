//! Somebody with a live session may be done at once, or must do only a part of it.

use super::{answer::Answered, proof::Proven};
use crate::{
    actors::{Failure, ViewError},
    crypto::{OpaqueKind, draw_id},
    domain::{
        assurance::Method,
        authorization::{Choice, Request, Said, Settled, Subject},
        flow::{SignedIn, Stage},
        token_family::{Begin, Command},
    },
    http::{
        answer::{
            authorization_error::{AuthorizationError, refusal_of},
            error::Code,
            redirect::redirect_with_code,
        },
        app::App,
        extract::request_source::RequestSource,
        facts::{
            authorization::FactsReader,
            session::{self, Present},
        },
    },
};

/// How often a grant is tried while what it rests on changes.
const TRIES: usize = 4;

pub async fn settle(
    app: &App,
    proven: &Proven,
    request: Request,
    source: &RequestSource,
) -> Answered {
    try_to_settle(app, proven, request, source).await.unwrap_or_else(Answered::Refused)
}

async fn try_to_settle(
    app: &App,
    proven: &Proven,
    request: Request,
    source: &RequestSource,
) -> Result<Answered, AuthorizationError> {
    for number in 0..TRIES {
        let anew = number > 0;
        let present = session::find(app, source, anew).await?;
        let fresh_enough =
            |present: &Present| !request.wants_fresh_sign_in(&present.person, app.clock.now());
        let Some(present) = present.filter(fresh_enough) else {
            return sign_in(request);
        };
        if request.wants_more_than(&present.person, app.clock.now()) {
            let account = app.accounts.look_if(anew, &present.person.account).await?;
            let factors = account.machine.known().map(|known| known.credentials.second_factors());
            if let Some(second_factors) = factors.filter(|factors| !factors.is_empty()) {
                return step_up(request, present, second_factors);
            }
        }
        let gathering = FactsReader {
            app,
            client: proven.client(),
            client_version: proven.version(),
            request: &request,
            account: &present.person.account,
            chosen: None,
            anew,
        };
        let situation = gathering.gather().await?;
        let subject =
            Subject { person: &present.person, session: &present.id, now: app.clock.now() };
        let settled = request.settle(subject, &situation, Said::default());
        let (grant, mut requirements) = match settled {
            Settled::Granted { grant, requirements } => (grant, requirements),
            Settled::Denied(denial) => return Err(refusal_of(&denial)),
            Settled::ChooseOrganization(_) => {
                return ask(request, present, Stage::Organization, None);
            }
            Settled::AskConsent(place) => return ask(request, present, Stage::Consent, place),
        };
        requirements.push(present.requirement());
        let id = draw_id(&*app.dice);
        let code = OpaqueKind::AuthorizationCode.mint(&id, &app.vault.now(), &*app.dice);
        let begin = Begin {
            grant: *grant,
            code: code.fingerprint,
            code_lives: app.lifetimes.authorization_code,
            redirect_uri: request.redirect_uri.clone(),
            challenge: request.challenge,
            nonce: request.nonce.clone(),
            requirements,
        };
        match app.families.ask_new(&id, Command::Begin(Box::new(begin))).await {
            Ok(_) => {
                app.note_use_of(proven.client());
                return Ok(Answered::Code(redirect_with_code(&request, &code.text, &app.issuer)));
            }
            Err(Failure::Unmet { .. }) => {}
            Err(failure) => {
                tracing::info!(why = %failure, "a grant could not be written down");
                return Err(AuthorizationError::unavailable());
            }
        }
    }
    Err(AuthorizationError::unavailable())
}

/// Nobody is signed in, or not as freshly as is asked.
fn sign_in(request: Request) -> Result<Answered, AuthorizationError> {
    if request.prompt.none {
        let why = "nobody is signed in, or not recently enough";
        return Err(AuthorizationError::new(Code::LoginRequired, why));
    }
    Ok(Answered::Begin { request: Box::new(request), signed_in: None })
}

/// The person is signed in, and the client would like more than they have proved.
fn step_up(
    request: Request,
    present: Present,
    second_factors: Vec<Method>,
) -> Result<Answered, AuthorizationError> {
    if request.prompt.none {
        let why = "the person has not proved as much as is asked for";
        return Err(AuthorizationError::new(Code::LoginRequired, why));
    }
    let Present { id: session, person, .. } = present;
    let (stage, consent_for) = (Stage::SecondFactor, None);
    let signed_in = SignedIn { person, session, stage, consent_for, second_factors };
    Ok(Answered::Begin { request: Box::new(request), signed_in: Some(Box::new(signed_in)) })
}

/// The person is signed in and must say something.
fn ask(
    request: Request,
    present: Present,
    stage: Stage,
    consent_for: Option<Choice>,
) -> Result<Answered, AuthorizationError> {
    if request.prompt.none {
        let (code, why) = match stage {
            Stage::Consent => (Code::ConsentRequired, "the person has not consented to this"),
            _ => (Code::InteractionRequired, "the person must choose an organization"),
        };
        return Err(AuthorizationError::new(code, why));
    }
    let Present { id: session, person, .. } = present;
    let second_factors = Vec::new();
    let signed_in =
        Some(Box::new(SignedIn { person, session, stage, consent_for, second_factors }));
    Ok(Answered::Begin { request: Box::new(request), signed_in })
}

impl From<ViewError> for AuthorizationError {
    fn from(error: ViewError) -> Self {
        tracing::warn!(%error, "a situation could not be gathered");
        Self::unavailable()
    }
}
