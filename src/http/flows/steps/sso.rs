//! `sso/options` and `sso`: another provider says who the person is (contract §6 and §7, adr/0135).
//!
//! 1. `sso/options` asks the provider of a connection: the flow holds, sealed, what the answer is compared with;
//! 2. the answer comes as the address that the browser was sent to. It is taken once, right or wrong;
//! 3. its subject leads to an account, or the flow says why not and goes on; a person who is signed in may link it, and
//!    one whom no account knows may make one (adr/0139).

use super::{Step, StepOutcome, StepRequest, Taking};
use crate::{
    crypto::draw_uuid,
    domain::{
        Fingerprint, Timestamp,
        assurance::{Level, SingleSignOn, Worth},
        connection::Known,
        flow::{
            AccountProof, LINK, Open, PendingLink, PendingProof, PendingProofContent,
            PendingSignOn, ProofStep, SIGN_IN, SignOnProof, Step as FlowStep,
        },
        installation::SelfService,
        is_hidden,
        upstream::{Attempt, Callback, believed_level},
        upstream_session,
    },
    http::{
        answer::error::Problem,
        flows::{
            ending::{AnsweredStep, StepAnswer},
            problems::{ACCOUNT_CHANGED, CONNECTION_CHANGED, NOT_NOW, UNAVAILABLE},
            sign_on::{
                self, AskedAge, HeldAttempt, ResolvedAccount, SSO_REFUSED, SignOnChoices,
                UPSTREAM_UNAVAILABLE, redirect_uri, resolve,
            },
        },
        limits::purpose::Purpose,
    },
    upstream::{
        AuthenticationRequest, CallbackExpectation, Refusal, UpstreamError, UpstreamSignIn,
    },
};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

pub struct SsoOptions;

pub struct Sso;

/// How often a proof is given while the account changes.
const TRIES: usize = 4;

#[derive(Deserialize)]
struct Choice {
    /// May be left out where there is one.
    #[serde(default)]
    connection: Option<String>,
    /// Whom the provider is told that the person says they are; else the identifier of the flow.
    #[serde(default)]
    login_hint: Option<String>,
}

/// Characters.
const LONGEST_HINT: usize = 254;

#[derive(Deserialize)]
struct Answer {
    /// The whole address that the browser was sent to.
    callback: String,
}

impl Step for SsoOptions {
    fn path(&self) -> &'static str {
        "sso/options"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Choice { connection, login_hint } = request.body()?;
            let is_hint = |hint: &String| {
                hint.chars().count() <= LONGEST_HINT && !hint.chars().any(is_hidden)
            };
            if !login_hint.as_ref().is_none_or(is_hint) {
                return Err(Problem::wrong_member(
                    "#/login_hint",
                    "cannot be shown or is too long",
                ));
            }
            request.charge(Purpose::Credential)?;
            let (open, choices) = request.offered_sign_on(self).await?;
            let id = chosen(&choices, connection.as_deref())?;
            let (known, _) = connection_of(&request, &id).await?;
            let (app, opened) = (request.app, request.opened);
            let client = sign_on::client(app, &known)?;
            let attempt = app.upstreams.draw_attempt();
            // What a client asks of us we ask of the provider: its session there is older than ours here.
            let asked_at = app.clock.now();
            let age = open.most_age().map(|most| AskedAge { most, asked_at });
            let asked = AuthenticationRequest {
                attempt: &attempt,
                login_hint: login_hint.as_deref().or(open.identifier.as_deref()),
                prompt: age.filter(|age| age.most == 0).map(|_| "login"),
                max_age: age.map(|age| Duration::from_secs(age.most.into())),
            };
            let begun = app.upstreams.begin(&client, &asked).await;
            let redirect_to = begun.map_err(|error| {
                tracing::info!(%error, connection = id, "a provider cannot be asked");
                UPSTREAM_UNAVAILABLE
            })?;
            let state = Fingerprint::of(attempt.state.as_bytes());
            let attempt = HeldAttempt { attempt, flow: opened.id.clone(), age };
            let pending = PendingSignOn {
                state,
                attempt: attempt.seal(app, &opened.name),
                connection: known.id.clone(),
                epoch: known.epoch,
            };
            let held = Box::new(PendingProof {
                step: Sso.path().to_owned(),
                content: PendingProofContent::SignOn(pending),
                expires_at: opened.seed.expires_at,
                wrong: 0,
                account: None,
                sent_to: None,
            });
            let hold = FlowStep::Hold { step: self.path(), held, message: None };
            opened.ask(app, &opened.context, hold).await?;
            Ok(StepOutcome::Options(json!({ "redirect_to": redirect_to.as_str() })))
        })
    }
}

impl Step for Sso {
    fn path(&self) -> &'static str {
        "sso"
    }

    fn proof(&self) -> Option<ProofStep> {
        // The flow itself says when it is offered.
        let (preparing, roles) = (&["sso/options"], &[]);
        Some(ProofStep { name: self.path(), preparing, worth: Worth::SINGLE_SIGN_ON, roles })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Answer { callback } = request.body()?;
            request.charge(Purpose::Credential)?;
            let (open, _) = request.offered_sign_on(self).await?;
            let Some(waiting) = AwaitedSignOn::of(&request, &open) else { return Err(NOT_NOW) };
            match Box::pin(waiting.judge(&request, &open, &callback)).await {
                Ok(SignOnVerdict::Account(proof)) => {
                    let answered = request.prove_by_sign_on(*proof).await;
                    if matches!(&answered, Err(problem) if *problem == SSO_REFUSED) {
                        let _counted = request.disprove_of(self, None, None).await;
                    }
                    answered
                }
                Ok(SignOnVerdict::Link { account, link }) => {
                    let answer =
                        StepAnswer::Linked { step: self.path(), spends: waiting.spends, link };
                    request.proceed(AnsweredStep { account: &account, chosen: None, answer }).await
                }
                Ok(SignOnVerdict::Applicant(link)) => {
                    let (step, spends) = (self.path(), waiting.spends);
                    request.ask(FlowStep::Apply { step, spends, link }).await
                }
                // It is no answer to what was asked: the one that is may still come.
                Err(SignOnFailure::Foreign) => Err(SSO_REFUSED),
                Err(SignOnFailure::Answered(problem)) => {
                    // The answer is taken once, right or wrong. The caller hears why it was refused, and not
                    // that a credential is wrong.
                    let _counted = request.disprove_of(self, None, None).await;
                    Err(problem)
                }
            }
        })
    }
}

/// Returns the connection that is meant.
fn chosen(choices: &SignOnChoices, named: Option<&str>) -> Result<String, Problem> {
    let wrong = || Problem::wrong_member("#/connection", "is none of the connections of the flow");
    let found = match (named, &*choices.connections) {
        (Some(id), all) => all.iter().find(|one| one.id == id),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.map(|one| one.id.clone()).ok_or_else(wrong)
}

/// Returns a connection, and the version at which it was read.
async fn connection_of(request: &StepRequest<'_>, id: &str) -> Result<(Known, i64), Problem> {
    let seen = request.app.views.connections.look_anew(id).await?;
    let known = seen.machine.known().cloned().ok_or(NOT_NOW)?;
    Ok((known, seen.version))
}

/// What a flow waits for from a provider.
struct AwaitedSignOn {
    pending: PendingSignOn,
    attempt: Attempt,
    age: Option<AskedAge>,
    spends: Fingerprint,
}

/// Why an answer proves nothing.
enum SignOnFailure {
    /// It is to another sign-in, of another provider, or at another address. Nothing was sent to the provider.
    Foreign,
    /// The provider has answered.
    Answered(Problem),
}

impl From<Problem> for SignOnFailure {
    fn from(problem: Problem) -> Self {
        Self::Answered(problem)
    }
}

/// What follows from what a provider says.
enum SignOnVerdict {
    /// It leads to an account.
    Account(Box<Proof>),
    /// The person who is signed in may link it.
    Link { account: String, link: Box<PendingLink> },
    /// It leads to no account, and the person may make one.
    Applicant(Box<PendingLink>),
}

/// What a provider has proved.
struct Proof {
    resolved: ResolvedAccount,
    sign_on: SingleSignOn,
    auth_time: Option<Timestamp>,
    session: upstream_session::Open,
    worth: Worth,
    spends: Fingerprint,
}

impl AwaitedSignOn {
    fn of(request: &StepRequest<'_>, open: &Open) -> Option<Self> {
        let (app, opened) = (request.app, request.opened);
        let held = open.held_for(Sso.path(), app.clock.now())?;
        let PendingProofContent::SignOn(pending) = &held.content else { return None };
        let HeldAttempt { attempt, age, .. } = HeldAttempt::open(app, &opened.name, pending)?;
        Some(Self { pending: pending.clone(), attempt, age, spends: held.mark() })
    }

    /// Judges what the provider says.
    async fn judge(
        &self,
        request: &StepRequest<'_>,
        open: &Open,
        callback: &str,
    ) -> Result<SignOnVerdict, SignOnFailure> {
        let app = request.app;
        let (known, version) = connection_of(request, &self.pending.connection).await?;
        // The connection has another client by now.
        if known.epoch != self.pending.epoch {
            return Err(SSO_REFUSED.into());
        }
        let note = |why: &dyn std::fmt::Display| {
            tracing::info!(%why, connection = known.id, "a sign-on was refused");
        };
        let callback = Callback::read_url(callback, &redirect_uri(app, &known.id));
        let callback = callback.map_err(|fault| {
            note(&fault);
            SignOnFailure::Foreign
        })?;
        let client = sign_on::client(app, &known)?;
        let max_age = self.age.map(|age| age.now(app.clock.now()));
        let expected = CallbackExpectation { attempt: &self.attempt, max_age };
        let completed = app.upstreams.complete(&client, &callback, &expected).await;
        let UpstreamSignIn { person, id_token_hint } = completed.map_err(|error| {
            note(&error);
            match error {
                UpstreamError::Refused(Refusal::Callback(_)) => SignOnFailure::Foreign,
                _ => SSO_REFUSED.into(),
            }
        })?;
        if let (LINK, Some(signed_in)) = (&*open.seed.kind, &open.seed.signed_in) {
            let account = signed_in.person.account.clone();
            let link = sign_on::pending(app, &account, &known, &person).await?;
            return Ok(SignOnVerdict::Link { account, link: Box::new(link) });
        }
        let is_open = app.is_open(SelfService::SignUp).await.map_err(Problem::from)?;
        let may_apply = open.seed.kind == SIGN_IN && is_open;
        if known.organization.is_none()
            && may_apply
            && let Some(link) = sign_on::applying(app, &known, &person).await?
        {
            return Ok(SignOnVerdict::Applicant(Box::new(link)));
        }
        let judged = (&known, version);
        let resolved = resolve(app, &request.opened.context, judged, &person).await?;
        let believed = believed_level(&person, known.believe_acr) >= Level::Aal2;
        let id = draw_uuid(&*app.dice);
        let hint = sign_on::seal_hint(app, &id, id_token_hint);
        let sign_on = SingleSignOn {
            organization: known.organization.clone(),
            connection: known.id.clone(),
            session: id,
            identity: resolved.identity.clone(),
            epoch: known.epoch,
        };
        let session = upstream_session::Open {
            account: resolved.account.clone(),
            organization: known.organization.clone(),
            connection: known.id.clone(),
            identity: resolved.identity.clone(),
            sid: person.session.clone(),
            hint,
            ends_at: app.clock.now() + app.settings.lifetimes.session_ceiling,
        };
        let worth = if believed { Worth::BELIEVED_SIGN_ON } else { Worth::SINGLE_SIGN_ON };
        let (auth_time, spends) = (person.auth_time, self.spends);
        let proof = Proof { resolved, sign_on, auth_time, session, worth, spends };
        Ok(SignOnVerdict::Account(Box::new(proof)))
    }
}

impl StepRequest<'_> {
    /// Returns the flow and the connections that it offers, if it offers this step now.
    async fn offered_sign_on(&self, step: &dyn Step) -> Result<(Open, SignOnChoices), Problem> {
        let open = self.opened.look(self.app).await?;
        let choices = sign_on::choices(self.app, &open).await?;
        let rules = &self.app.settings.flow_rules;
        if open.offers(rules, choices.offer).contains(&step.path()) {
            Ok((open, choices))
        } else {
            Err(NOT_NOW)
        }
    }

    /// Says that a provider has proved who the person is. Failed attempts against their credentials stay counted.
    async fn prove_by_sign_on(&self, proof: Proof) -> Result<StepOutcome, Problem> {
        let Proof { resolved, sign_on, auth_time, session, worth, spends } = proof;
        let ResolvedAccount { account, requirements, .. } = resolved;
        for _ in 0..TRIES {
            let seen = self.app.views.accounts.peek(&account).await?;
            let known = seen.machine.known().ok_or(SSO_REFUSED)?;
            // Only what the account itself proves takes its deletion back.
            let is_going = known.erase_at.is_some() && sign_on.organization.is_some();
            if is_going || !known.admits(self.app.clock.now()) {
                return Err(SSO_REFUSED);
            }
            let by = SignOnProof {
                sign_on: sign_on.clone(),
                auth_time,
                session: session.clone(),
                requirements: requirements.clone(),
            };
            let proved = AccountProof {
                spends: Some(spends),
                worth: Some(worth),
                sign_on: Some(Box::new(by)),
                ..AccountProof::of(Sso.path(), known, seen.version)
            };
            let answer = StepAnswer::Proved(proved);
            let asking = AnsweredStep { account: &account, chosen: None, answer };
            match self.proceed(asking).await {
                Err(problem) if problem == ACCOUNT_CHANGED => {}
                // It is another connection than the one that was believed, or the identity is gone.
                Err(problem) if problem == CONNECTION_CHANGED => return Err(SSO_REFUSED),
                answered => return answered,
            }
        }
        Err(UNAVAILABLE)
    }
}
