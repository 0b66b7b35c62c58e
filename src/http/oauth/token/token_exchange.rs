//! Token exchange: RFC 8693, for a client that acts for another (adr/0088).
//!
//! 1. the subject token is an access token or an API key of ours, and good now, which the commit decides;
//! 2. the actor token, where there is one, is the client's own;
//! 3. the whole of what the subject token stands for becomes a grant of the client, under everything
//!    that it rests on;
//! 4. what is asked of that grant is narrowed and issued as of any other: never more, never longer.

mod subject;

use super::{Grant, TokenResponse, issue};
use crate::{
    actors::Failure,
    domain::{
        authority::Widening,
        client::{GrantType, KnownClient},
        consent::Parties,
        delegation::{self, Agent, PresentedAuthority, Subject},
        grant,
        token_family::{Narrowing, Refusal},
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{client_auth::Caller, form::Form},
        grants::{live_grant, token_validity},
        issuing::{self, DelegatedGrant, IssuanceFailure},
        reading::retries::FinalFailure,
    },
};

pub const GRANT: Grant = Grant {
    kind: GrantType::TokenExchange,
    serve: |app, caller, form| Box::pin(exchange(app, caller, form)),
};

/// RFC 8693 §3.
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
/// Of our own: an API key says by its prefix what it is, so the type of access tokens does as well.
const API_KEY: &str = "urn:porteiro:params:oauth:token-type:api_key";

// RFC 8693 §2.2.2: whatever is wrong with the tokens is an invalid request.
const INVALID_SUBJECT: OAuthError = OAuthError::new(
    Code::InvalidRequest,
    "the subject_token is not a live access token or API key of this server",
);
const INVALID_ACTOR: OAuthError = OAuthError::new(
    Code::InvalidRequest,
    "the actor_token is not a live access token that the client holds in its own name",
);
const WRONG_ORGANIZATION: OAuthError = OAuthError::new(
    Code::InvalidTarget,
    "the subject does not speak for this organization, or the client does not",
);
const NOT_GRANTED: OAuthError = OAuthError::new(
    Code::InvalidRequest,
    "a client that registered itself acts only for people who have let it",
);

async fn exchange(app: &App, caller: &Caller, form: &Form) -> Result<TokenResponse, OAuthError> {
    let client = caller.confidential()?;
    issuing::check_client(app, client)?;
    check_types(form)?;
    check_actor(app, caller, form).await?;
    let narrowing = narrowing(app, form)?;
    let (presented, token) = subject::read(app, caller, form, &narrowing).await?;
    if client.is_self_registered() {
        check_known(app, client, &presented).await?;
    }
    let epoch = epoch(app, client, &presented).await?;
    let organization = client.organization.as_deref();
    let agent = Agent { client_id: &client.client_id, organization, epoch };
    let grant = presented.delegated_to(agent, app.clock.now()).map_err(|why| match why {
        delegation::Refusal::OtherOrganization => WRONG_ORGANIZATION,
        delegation::Refusal::NotTheParty => OAuthError::new(
            Code::InvalidRequest,
            "the subject_token names another party that may act (may_act)",
        ),
        delegation::Refusal::TooDeep => OAuthError::new(
            Code::InvalidRequest,
            "as many parties act one after another in the subject_token as are allowed",
        ),
        delegation::Refusal::Administration => OAuthError::new(
            Code::InvalidRequest,
            "what is held by organizations:administer is not passed on",
        ),
        delegation::Refusal::Impersonation => OAuthError::new(
            Code::InvalidRequest,
            "a token by which an administrator acts as a member is not exchanged",
        ),
        delegation::Refusal::Expired => INVALID_SUBJECT,
    })?;
    if app.is_built_in(grant.audience.claim(&app.issuer)) && client.is_self_registered() {
        let why = "this API is not for clients that registered themselves";
        return Err(OAuthError::new(Code::InvalidTarget, why));
    }
    let possession = caller.possession_spent(app).await?;
    let starting = DelegatedGrant { grant, narrowing, token: token.as_ref(), possession };
    let started = issuing::start(app, (&caller.context, caller.seen()), starting).await;
    if let (Err(_), Some(token)) = (&started, &token) {
        // What is wrong with the token is said first.
        subject::check(app, &token.claims).await?;
    }
    let mut issued = started.map_err(|why| match why {
        IssuanceFailure::Over { kind } => INVALID_SUBJECT.because(format!("its {kind} is over")),
        IssuanceFailure::Exhausted(why) => OAuthError::new(
            Code::InvalidAuthorizationDetails,
            "the authorization_details are more than the agent may take today",
        )
        .because(why),
        IssuanceFailure::Stopped(stopped) => refuse(stopped),
        IssuanceFailure::Failed(error) => error,
    })?;
    issued.exchanged_for = Some(ACCESS_TOKEN);
    Ok(issued)
}

/// Refuses what is neither an access token nor an API key, and what asks for something else.
fn check_types(form: &Form) -> Result<(), OAuthError> {
    let refuse = |why| Err(OAuthError::new(Code::InvalidRequest, why));
    match form.get("subject_token_type") {
        None => return refuse("the parameter subject_token_type is missing"),
        Some(ACCESS_TOKEN | JWT | API_KEY) => {}
        Some(_) => return refuse("a subject_token is an access token or an API key"),
    }
    match form.get("requested_token_type") {
        None | Some(ACCESS_TOKEN | JWT) => {}
        Some(_) => return refuse("only access tokens are issued"),
    }
    match (form.get("actor_token"), form.get("actor_token_type")) {
        (None, None) | (Some(_), Some(ACCESS_TOKEN | JWT)) => Ok(()),
        (Some(_), None) => refuse("the parameter actor_token_type is missing"),
        (None, Some(_)) => refuse("the parameter actor_token is missing"),
        (Some(_), Some(_)) => refuse("an actor_token is an access token"),
    }
}

/// The client itself acts: another party's token proves nothing of it.
async fn check_actor(app: &App, caller: &Caller, form: &Form) -> Result<(), OAuthError> {
    let client = caller.client();
    let Some(token) = form.get("actor_token") else { return Ok(()) };
    let claims = app.read_held_token(token, &caller.proved.held).ok_or(INVALID_ACTOR)?;
    if claims.family().is_some() || claims.client_id != client.client_id {
        return Err(INVALID_ACTOR);
    }
    match token_validity::of_token(app, &claims, None).await? {
        Some(_) => Ok(()),
        None => Err(INVALID_ACTOR),
    }
}

/// Reads what is asked of the subject token; `audience` says the same as `resource` (RFC 8693 §2.1).
fn narrowing(app: &App, form: &Form) -> Result<Narrowing, OAuthError> {
    let mut narrowing = issue::narrowing(app, form);
    if let Some(name) = form.get("audience") {
        let audience = issuing::audience(app, name);
        if narrowing.audience.as_ref().is_some_and(|one| *one != audience) {
            let why = "a token is for one recipient: resource and audience differ";
            return Err(OAuthError::new(Code::InvalidTarget, why));
        }
        narrowing.audience = Some(audience);
    }
    Ok(narrowing)
}

/// Refuses a client that registered itself for people who have no live grant to it (contract §5).
async fn check_known(
    app: &App,
    client: &KnownClient,
    presented: &PresentedAuthority,
) -> Result<(), OAuthError> {
    let Subject::Person(person) = &presented.subject else { return Err(NOT_GRANTED) };
    let organization = presented.membership.as_ref().map(|one| one.organization.as_str());
    let parties = (person.account.as_str(), client.client_id.as_str());
    let meant = |grant: &grant::Grant| grant.organization() == organization;
    if live_grant::exists(app, parties, meant).await? { Ok(()) } else { Err(NOT_GRANTED) }
}

/// Of the client, and of the consent between it and the person.
async fn epoch(
    app: &App,
    client: &KnownClient,
    presented: &PresentedAuthority,
) -> Result<u64, OAuthError> {
    let Subject::Person(person) = &presented.subject else { return Ok(client.epoch) };
    let parties = Parties {
        account: person.account.clone(),
        client_id: client.client_id.clone(),
        organization: presented.membership.as_ref().map(|one| one.organization.clone()),
    };
    let consent = app.views.consents.look(&parties.id()).await?;
    Ok(consent.machine.epoch().saturating_add(client.epoch))
}

/// The reason goes to the log; the caller hears what is too much, and no more.
fn refuse(stopped: FinalFailure<Refusal>) -> OAuthError {
    const TOO_MUCH: OAuthError = OAuthError::new(
        Code::InvalidScope,
        "a scope is more than the subject_token has, than its subject holds now or than the client may ask for",
    );
    const DETAILS: OAuthError = OAuthError::new(
        Code::InvalidAuthorizationDetails,
        "the authorization_details are more than the subject_token has, or cannot be granted now",
    );
    const OTHER_TARGET: OAuthError =
        OAuthError::new(Code::InvalidTarget, "the subject_token is for another resource");
    let refusal = match stopped {
        FinalFailure::Failed(Failure::Refused(refusal)) => refusal,
        FinalFailure::Failed(other) => return OAuthError::unavailable().because(other.to_string()),
        FinalFailure::Unreadable(error) => return error.into(),
        FinalFailure::Unknown => return OAuthError::OUTCOME_UNKNOWN,
    };
    match refusal {
        Refusal::OtherOrganization | Refusal::Widening(Widening::OtherOrganization) => {
            WRONG_ORGANIZATION
        }
        Refusal::OtherAudience | Refusal::Widening(Widening::OutOfReach) => OTHER_TARGET,
        Refusal::MalformedDetails
        | Refusal::Widening(
            Widening::DetailsBeyondGrant
            | Widening::DetailsNotOffered
            | Widening::DetailsNotConferred,
        ) => DETAILS,
        Refusal::Widening(why) => TOO_MUCH.naming_if(why.scope()),
        Refusal::MalformedScope => OAuthError::new(Code::InvalidScope, "a scope is malformed"),
        Refusal::NotSureEnough => OAuthError::new(
            Code::InvalidRequest,
            "the organization requires more than the person had proved for the subject_token",
        ),
        why => INVALID_SUBJECT.because(why.to_string()),
    }
}
