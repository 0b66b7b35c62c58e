//! The document of a flow, as programs and screens read it (contract §6).

use super::{
    belonging::{decided, inviting, of_client},
    browser_sessions::AccountView,
    parts::{Assurance, Client, Consent, Outcome, ProofOfWork, Step, client},
    sign_on::{self, ConnectionChoice},
    ticket::OverAtOnce,
    views::{
        ApprovalView, IdentityView, InvitationView, RequestedFrom, approval as approval_of,
        organizations,
    },
};
use crate::{
    actors::HydrateError,
    domain::{
        Timestamp,
        assurance::Level,
        authorization::{Choice, ConsentQuestion, Denial, Request, RequestedGrant},
        client::redirect_uri,
        flow::{Applicant, Channel, Flow, Open, RECOVERY, Seed, Stage},
    },
    http::{
        answer::{authorization_error::refusal_of, private_json},
        app::App,
        authorization::response::AuthorizationResponse,
        time::rfc3339,
    },
};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use zeroize::Zeroizing;

#[derive(Serialize)]
pub struct Document {
    pub id: String,
    pub kind: String,
    pub state: &'static str,
    pub expires_at: String,
    pub assurance: Assurance,
    pub steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    pub scopes: Vec<String>,
    pub organizations: Vec<Choice>,
    /// Those that the person cannot choose now, where they choose one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspended_organizations: Vec<Choice>,
    /// The accounts that are signed in where the flow is taken, where the person may choose one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<AccountView>,
    /// By which other providers the person may come, where they may.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<ConnectionChoice>,
    /// Which identity of another provider the person is about to link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityView>,
    /// What the person is invited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationView>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    /// Which device a person is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_from: Option<RequestedFrom>,
    /// What a client asks a person to approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof_of_work: Option<ProofOfWork>,
    /// Who the person says they are, or is, in the session that the flow began in. For pages alone:
    /// a program knows what it has said, and documents of known and unknown people are the same.
    #[serde(skip)]
    pub identifier: Option<String>,
    /// It failed because another person signed in than the one it is for. For pages alone.
    #[serde(skip)]
    pub is_for_another: bool,
    /// It failed because the account cannot prove as much as it needs. For pages alone.
    #[serde(skip)]
    pub lacks_factor: bool,
    /// The account that a recovery which is over has given back. For pages alone.
    #[serde(skip)]
    pub recovered: Option<String>,
    /// It has ended at the callback of a provider, and this browser was not told yet. For pages alone.
    #[serde(skip)]
    pub is_from_callback: bool,
    /// What a person who makes an account has said of themselves. For pages alone.
    #[serde(skip)]
    pub applicant: Option<Box<Applicant>>,
    /// The slug of the organization whose page this is (adr/0076). For pages alone.
    #[serde(skip)]
    pub belongs_to: Option<String>,
    /// The page of ours that the person comes back to when it is done. For pages alone.
    #[serde(skip)]
    pub back: Option<String>,
    /// What the client thinks the person is called here: something to begin with, and no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_hint: Option<String>,
    /// The languages that the client says the person reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ui_locales: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Outcome>,
}

/// A flow and what it has just come to.
pub struct FlowView<'a> {
    pub id: &'a str,
    pub seed: &'a Seed,
    pub flow: &'a Flow,
    pub outcome: Option<Outcome>,
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

impl Document {
    pub async fn of(app: &App, shown: FlowView<'_>) -> Result<Self, HydrateError> {
        let FlowView { id, seed, flow, outcome } = shown;
        // It may go on as another kind than it began.
        let seed = flow.seed().unwrap_or(seed);
        let request = seed.request.as_ref();
        let device = match flow {
            Flow::Open(open) => open.device.as_deref(),
            Flow::Over(_) | Flow::Unborn => None,
        };
        let of_device = device.map(|device| &device.request.wanted);
        let approval = approval_of(app, seed, flow).await?;
        let of_approval = approval.as_ref().map(|asked| &asked.request.wanted);
        let wanted = request.map(|request| &request.wanted).or(of_device).or(of_approval);
        // The client to which the person goes on may be answered in another flow.
        let awaited = seed.asked();
        let named = awaited.map(|request| &request.wanted).or(wanted);
        let mut client = match named {
            None => None,
            Some(wanted) => Some(client(app, &wanted.client_id).await),
        };
        let (mut consent, mut acts_for) = (None, None);
        let (mut suspended, mut connections) = (Vec::new(), Vec::new());
        let rules = &app.settings.flow_rules;
        let mut required = rules.goal(&seed.kind).map_or(Level::Aal1, |goal| goal.required(seed));
        let (state, steps, person, organizations) = match flow.or_begun(seed) {
            Flow::Open(open) => {
                let offered = sign_on::choices(app, &open).await?;
                let (state, steps) = (open.stage.name(), open.offers(rules, offered.offer));
                if steps.contains(&"sso") {
                    connections = offered.connections;
                }
                required = open.required(rules);
                acts_for = decided(&open);
                let choices = match (open.stage, &open.person, wanted) {
                    (Stage::Organization, Some(person), Some(wanted)) => {
                        let told = Box::pin(organizations(app, wanted, person)).await?;
                        suspended = told.suspended;
                        told.choices
                    }
                    _ => match asked(&open) {
                        Some(question) => {
                            let choice = question.organization.clone();
                            consent = Some(Consent::from(question));
                            choice.into_iter().collect()
                        }
                        None => Vec::new(),
                    },
                };
                (state, steps, open.person, choices)
            }
            Flow::Over(over) => {
                let state = if over.denial.is_some() { "failed" } else { "done" };
                (state, Vec::new(), over.person, Vec::new())
            }
            Flow::Unborn => ("failed", Vec::new(), None, Vec::new()),
        };
        if let Some(client) = &mut client {
            let uri = awaited.map(|request| &request.reply_to.redirect_uri);
            client.host = uri.and_then(|uri| redirect_uri::host(uri));
            client.redirect_host = client.host.clone().filter(|_| consent.is_some());
        }
        let failed = request.and_then(|request| failed(app, flow, request));
        let proof_of_work = ProofOfWork::of(app, id, seed, &steps);
        let named = named.and_then(|wanted| wanted.organization.as_deref());
        let of_client = || of_client(client.as_ref(), named);
        let belongs_to = acts_for.or_else(of_client).or_else(|| inviting(seed));
        let shows_codes = outcome.as_ref().is_some_and(|one| !one.recovery_codes.is_empty());
        Ok(Self {
            id: id.to_owned(),
            kind: seed.kind.clone(),
            state,
            expires_at: rfc3339(seed.expires_at),
            assurance: Assurance::of(person.as_ref(), required, app.clock.now()),
            steps: steps.iter().map(|name| Step::of(id, name)).collect(),
            client,
            scopes: wanted.map(scopes).unwrap_or_default(),
            organizations,
            suspended_organizations: suspended,
            accounts: Vec::new(),
            connections,
            identity: IdentityView::of(app, flow).await?,
            invitation: seed.invited.as_ref().and_then(InvitationView::of),
            consent,
            requested_from: device.map(|device| RequestedFrom::of(app, device)),
            approval: approval.as_ref().map(ApprovalView::of),
            proof_of_work,
            belongs_to,
            back: seed.back.clone(),
            identifier: identifier(app, seed, flow, shows_codes).await,
            is_for_another: is_over_by(flow, &Denial::OtherPerson),
            lacks_factor: is_over_by(flow, &Denial::NotSureEnough),
            recovered: recovered(seed, flow),
            is_from_callback: false,
            applicant: match flow {
                Flow::Open(open) => open.applicant.clone(),
                Flow::Over(_) | Flow::Unborn => None,
            },
            login_hint: awaited.and_then(|request| request.login_hint.clone()),
            ui_locales: awaited.and_then(|request| request.ui_locales.clone()),
            result: outcome.or(failed),
        })
    }

    /// A flow that was over at once; `redirect_to` is shown once if it holds a code.
    pub async fn over(
        app: &App,
        id: &str,
        over: &OverAtOnce,
        redirect_to: Option<Zeroizing<String>>,
    ) -> Self {
        let failed = over.failed_to.is_some();
        let redirect_to = redirect_to.or_else(|| over.failed_to.clone().map(Zeroizing::new));
        let client = match &over.client_id {
            None => None,
            Some(client_id) => Some(client(app, client_id).await),
        };
        Self {
            id: id.to_owned(),
            kind: over.kind.clone(),
            state: if failed { "failed" } else { "done" },
            expires_at: rfc3339(over.expires_at),
            assurance: Assurance::of(None, Level::Aal1, app.clock.now()),
            steps: Vec::new(),
            belongs_to: of_client(client.as_ref(), None),
            client,
            scopes: over
                .scope
                .split(' ')
                .filter(|one| !one.is_empty())
                .map(str::to_owned)
                .collect(),
            organizations: Vec::new(),
            suspended_organizations: Vec::new(),
            connections: Vec::new(),
            accounts: Vec::new(),
            identity: None,
            invitation: None,
            consent: None,
            requested_from: None,
            approval: None,
            proof_of_work: None,
            back: None,
            identifier: None,
            is_for_another: false,
            lacks_factor: false,
            recovered: None,
            is_from_callback: false,
            applicant: None,
            login_hint: None,
            ui_locales: None,
            result: redirect_to.map(|to| Outcome { redirect_to: Some(to), ..Outcome::default() }),
        }
    }

    /// Tells whether a step may be taken now.
    pub fn offers(&self, step: &str) -> bool {
        self.steps.iter().any(|offered| offered.name == step)
    }

    /// Names the client that a person goes on to.
    pub async fn naming(mut self, app: &App, client_id: &str) -> Self {
        let client = client(app, client_id).await;
        self.belongs_to = of_client(Some(&client), None);
        self.client = Some(client);
        self
    }
}

/// Says who the person is, as far as the caller has said or shown it.
async fn identifier(app: &App, seed: &Seed, flow: &Flow, shows_codes: bool) -> Option<String> {
    if let Flow::Open(open) = flow {
        let said = open.applicant.as_ref().map(|applicant| &applicant.email);
        if let Some(said) = said.or(open.identifier.as_ref()) {
            return Some(said.clone());
        }
    }
    if let Some(invited) = &seed.invited {
        return Some(invited.email.clone());
    }
    if seed.channel == Channel::Program {
        return None;
    }
    let proved = match flow {
        Flow::Open(open) => open.person.as_ref(),
        Flow::Over(over) => over.person.as_ref(),
        Flow::Unborn => None,
    };
    let signed_in = seed.signed_in.as_ref().map(|signed_in| &signed_in.person);
    let account = &proved.or(signed_in)?.account;
    // It is shown and nothing more: without it the person goes on all the same. An account may
    // have been made with this very step.
    let seen = app.views.accounts.look_if(shows_codes, account).await.ok()?;
    seen.machine.known().map(|known| known.email.clone())
}

/// Returns what a person is asked to let a client do, if that is what they are asked.
fn asked(open: &Open) -> Option<ConsentQuestion> {
    let question = open.question.as_deref().cloned();
    match open.stage {
        Stage::Consent => Some(question.unwrap_or_default()),
        Stage::Confirm => question,
        // It stays in sight while the person proves enough for their yes.
        _ if open.approval.is_some() => question,
        _ => None,
    }
}

/// Returns where the client hears that a flow has failed. What cannot be signed now is told when the document is read
/// again.
fn failed(app: &App, flow: &Flow, request: &Request) -> Option<Outcome> {
    let Flow::Over(over) = flow else { return None };
    let error = refusal_of(over.denial.as_ref()?);
    let to = AuthorizationResponse::error(app, &request.reply_to, &error).ok()?.address(app);
    Some(Outcome { redirect_to: Some(to), ..Outcome::default() })
}

/// Returns the account that a recovery has given back.
fn recovered(seed: &Seed, flow: &Flow) -> Option<String> {
    let Flow::Over(over) = flow else { return None };
    let is_recovered = seed.kind == RECOVERY && over.denial.is_none();
    over.person.as_ref().filter(|_| is_recovered).map(|person| person.account.clone())
}

/// Tells whether a flow has failed for this reason.
fn is_over_by(flow: &Flow, why: &Denial) -> bool {
    matches!(flow, Flow::Over(over) if over.denial.as_ref() == Some(why))
}

fn scopes(wanted: &RequestedGrant) -> Vec<String> {
    wanted.scopes.iter().map(str::to_owned).collect()
}

/// When a flow that begins now ends.
pub fn expiry(app: &App) -> Timestamp {
    app.clock.now() + app.settings.lifetimes.flow
}
