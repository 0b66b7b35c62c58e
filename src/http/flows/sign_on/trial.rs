//! A trial of a connection: asks the provider as a sign-in would, signs in no person, and says what it would have become.

use super::{SSO_REFUSED, UPSTREAM_UNAVAILABLE, client, identity::foresee};
use crate::{
    actors::Failure,
    crypto::draw_uuid,
    domain::{
        Context, Fingerprint,
        account::SealedSecret,
        connection::Known,
        connection_trial::{Command, ConnectionTrial, Outcome, Pending},
        upstream::{Attempt, Callback, UpstreamPerson, believed_level, mapped_roles},
    },
    http::{answer::error::Problem, app::App, time::rfc3339},
    upstream::{AuthenticationRequest, CallbackExpectation, Transcript, UpstreamSignIn},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What an attempt is sealed for.
const PURPOSE: &str = "connection trial";

/// A trial that has begun.
#[derive(Serialize, ToSchema)]
pub struct TrialBeginning {
    pub id: String,
    /// Where the browser of the person goes now.
    pub redirect_to: String,
}

/// The last trial of a connection.
#[derive(Serialize, ToSchema)]
pub struct TrialReport {
    id: String,
    /// `pending` or `complete`.
    state: &'static str,
    begun_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    completed_at: Option<String>,
    /// Each message in order, without codes, tokens and secrets.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outcome: Option<TrialOutcome>,
}

/// What a trial would have become.
#[derive(Serialize, ToSchema)]
pub struct TrialOutcome {
    /// `signed_in`, `account_created`, or the code of the refusal.
    result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    acr: Option<String>,
    roles: Vec<String>,
}

impl TrialReport {
    /// Shows a trial, if there was one.
    pub fn of(trial: &ConnectionTrial) -> Option<Self> {
        match trial {
            ConnectionTrial::Unborn => None,
            ConnectionTrial::Pending(pending) => Some(Self {
                id: pending.id.clone(),
                state: "pending",
                begun_at: rfc3339(pending.begun_at),
                completed_at: None,
                messages: pending.messages.clone(),
                outcome: None,
            }),
            ConnectionTrial::Complete(report) => {
                let Outcome { result, detail, subject, email, acr, roles } = report.outcome.clone();
                Some(Self {
                    id: report.id.clone(),
                    state: "complete",
                    begun_at: rfc3339(report.begun_at),
                    completed_at: Some(rfc3339(report.completed_at)),
                    messages: report.messages.clone(),
                    outcome: Some(TrialOutcome { result, detail, subject, email, acr, roles }),
                })
            }
        }
    }
}

/// A connection of an organization that a person tries in a session.
pub struct TrialRequest<'a> {
    pub connection: &'a Known,
    pub organization: &'a str,
    pub session: &'a str,
}

/// Begins a trial. What the provider does not answer is a trial that is over.
pub async fn begin(
    app: &App,
    context: &Context,
    request: TrialRequest<'_>,
) -> Result<TrialBeginning, Problem> {
    let TrialRequest { connection, organization, session } = request;
    let client = client(app, connection)?;
    let (transcript, attempt) = (Transcript::recording(), app.upstreams.draw_attempt());
    let asked =
        AuthenticationRequest { attempt: &attempt, login_hint: None, prompt: None, max_age: None };
    let begun = app.upstreams.recorded_in(&transcript).begin(&client, &asked).await;
    let id = draw_uuid(&*app.dice);
    let text = serde_json::to_vec(&attempt).expect("plain data with text keys is JSON");
    let vault = app.crypto.vault.now();
    let attempt_sealed = vault.seal(PURPOSE, connection.id.as_bytes(), &text, &*app.dice);
    let pending = Pending {
        id: id.clone(),
        organization: organization.to_owned(),
        session: session.to_owned(),
        state: Fingerprint::of(attempt.state.as_bytes()),
        attempt: SealedSecret::new(attempt_sealed),
        begun_at: app.clock.now(),
        messages: messages(&transcript),
    };
    ask(app, context, &connection.id, Command::Begin(Box::new(pending))).await?;
    match begun {
        Ok(url) => Ok(TrialBeginning { id, redirect_to: url.into() }),
        Err(error) => {
            let outcome = refusal(&UPSTREAM_UNAVAILABLE, &error);
            let over = Command::Complete { id, messages: Vec::new(), outcome };
            ask(app, context, &connection.id, over).await?;
            Err(UPSTREAM_UNAVAILABLE)
        }
    }
}

/// Finds the trial of a connection that waits for an answer with this `state`.
pub async fn waiting(app: &App, state: &str, connection: &str) -> Result<Option<Pending>, Problem> {
    let seen = app.views.connection_trials.look_anew(connection).await?;
    let pending = seen.machine.pending(app.clock.now());
    let hash = Fingerprint::of(state.as_bytes());
    Ok(pending.filter(|pending| pending.state == hash).cloned())
}

/// Takes what the provider has answered to a trial that waits for it.
pub async fn complete(
    app: &App,
    context: &Context,
    (connection, pending): (&Known, Pending),
    callback: &Callback,
) -> Result<TrialReport, Problem> {
    let vault = app.crypto.vault.now();
    let opened = vault.open(PURPOSE, connection.id.as_bytes(), pending.attempt.expose());
    let attempt: Option<Attempt> =
        opened.ok().and_then(|text| serde_json::from_slice(text.expose()).ok());
    let attempt = attempt.ok_or(SSO_REFUSED)?;
    let (client, transcript) = (client(app, connection)?, Transcript::recording());
    let expected = CallbackExpectation { attempt: &attempt, max_age: None };
    let upstreams = app.upstreams.recorded_in(&transcript);
    let outcome = match upstreams.complete(&client, callback, &expected).await {
        Ok(UpstreamSignIn { person, .. }) => foreseen(app, context, connection, person).await?,
        Err(error) => refusal(&SSO_REFUSED, &error),
    };
    let messages = messages(&transcript);
    let complete = Command::Complete { id: pending.id, messages, outcome };
    ask(app, context, &connection.id, complete).await?;
    let seen = app.views.connection_trials.look_anew(&connection.id).await?;
    TrialReport::of(&seen.machine).ok_or(Problem::UNAVAILABLE)
}

/// Says what would become of a person.
async fn foreseen(
    app: &App,
    context: &Context,
    connection: &Known,
    person: UpstreamPerson,
) -> Result<Outcome, Problem> {
    let outcome = match foresee(app, context, connection, &person).await {
        Ok(is_new) => {
            let result = if is_new { "account_created" } else { "signed_in" };
            Outcome { result: result.to_owned(), ..Outcome::default() }
        }
        Err(problem) if problem.status.is_server_error() => return Err(problem),
        Err(problem) => Outcome {
            result: problem.code.to_owned(),
            detail: Some(problem.detail.to_owned()),
            ..Outcome::default()
        },
    };
    let roles = mapped_roles(&connection.roles, &person.claims);
    Ok(Outcome {
        roles: roles.into_iter().map(str::to_owned).collect(),
        acr: Some(believed_level(&person, connection.believe_acr).name().to_owned()),
        subject: Some(person.subject),
        email: person.email,
        ..outcome
    })
}

fn refusal(problem: &Problem, why: &dyn std::fmt::Display) -> Outcome {
    let (result, detail) = (problem.code.to_owned(), Some(why.to_string()));
    Outcome { result, detail, ..Outcome::default() }
}

fn messages(transcript: &Transcript) -> Vec<Value> {
    let messages = transcript.messages();
    messages.iter().filter_map(|message| serde_json::to_value(message).ok()).collect()
}

async fn ask(
    app: &App,
    context: &Context,
    connection: &str,
    command: Command,
) -> Result<(), Problem> {
    let asked = app.entities.connection_trials.ask(context, connection, command).await;
    asked.map(drop).map_err(|failure| match failure {
        Failure::Refused(_) => SSO_REFUSED,
        failure if failure.may_have_happened() => Problem::OUTCOME_UNKNOWN,
        _ => Problem::UNAVAILABLE,
    })
}
