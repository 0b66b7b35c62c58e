//! The steps of flows: one file each, and one line in [`ALL`].
//!
//! A step reads its body as a type of its own, judges it, and tells the flow. What it is offered for
//! and what follows is the flow's to decide ([`crate::domain::flow`]).

mod account;
mod ceremony;
mod confirm;
mod consent;
mod email_code;
mod identifier;
mod magic_link;
mod named;
mod new_passkey;
mod new_password;
mod organization;
mod passkey;
mod password;
mod profile;
mod recipient;
mod recovery_code;
mod second;
mod sent;
mod sms_code;
mod sso;
mod totp;
mod totp_enrolment;
mod user_code;

pub use super::step_outcome::StepOutcome;
pub use named::NamedAccount;
pub use passkey::unknown as unknown_passkey;
pub use totp_enrolment::waiting as waiting_totp;

use super::{
    browser_sessions,
    ending::{self, AnsweredStep, StepAnswer},
    opened::{FlowPath, OpenedFlow},
    problems::{INVALID_CREDENTIALS, NOT_NOW},
};
use crate::{
    domain::flow::{AccountProof, Open, ProofStep, Rules, SignOnOffer, Step as Command},
    http::{
        answer::error::Problem,
        app::App,
        extract::{
            context::RequestContext,
            json::{Json, shaped},
            origin::Origin,
        },
        limits::{attempts::Attempt, purpose::Purpose},
        options::Channels,
    },
};
use axum::{
    Extension,
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::{net::IpAddr, pin::Pin, sync::Arc};

/// Every step that is served.
const ALL: &[&dyn Step] = &[
    &account::Account,
    &identifier::Identifier,
    &passkey::PasskeyOptions,
    &passkey::Passkey,
    &new_passkey::PasskeyCreateOptions,
    &new_passkey::PasskeyCreate,
    &password::Password,
    &email_code::EmailCodeSend,
    &email_code::EmailCode,
    &magic_link::MagicLinkSend,
    &magic_link::MagicLink,
    &sms_code::SmsCodeSend,
    &sms_code::SmsCode,
    &sso::SsoOptions,
    &sso::Sso,
    &totp::Totp,
    &totp_enrolment::TotpOptions,
    &recovery_code::SavedCode,
    &organization::Organization,
    &consent::Consent,
    &user_code::UserCode,
    &confirm::Confirm,
    &profile::Profile,
    &new_password::NewPassword,
    &new_password::Skip,
];

/// One step of a flow, as HTTP takes it.
pub trait Step: Send + Sync {
    /// Its path below the flow, such as `password`.
    fn path(&self) -> &'static str;

    /// What it proves, where it proves anything.
    fn proof(&self) -> Option<ProofStep> {
        None
    }

    fn take<'a>(&'a self, request: StepRequest<'a>) -> Taking<'a>;
}

/// A step that is being taken.
pub type Taking<'a> = Pin<Box<dyn Future<Output = Result<StepOutcome, Problem>> + Send + 'a>>;

/// The steps that are served; clones are the same.
#[derive(Clone)]
pub struct Steps(Arc<[&'static dyn Step]>);

impl Default for Steps {
    fn default() -> Self {
        Self(ALL.into())
    }
}

impl Steps {
    /// Adds a step.
    pub fn with(&self, step: &'static dyn Step) -> Self {
        Self(self.0.iter().copied().chain([step]).collect())
    }

    /// Lists what can be proved by them.
    fn proofs(&self) -> impl Iterator<Item = ProofStep> {
        self.0.iter().filter_map(|step| step.proof())
    }

    /// Returns the rules of flows that are made of these steps.
    pub fn rules(&self) -> Rules {
        Rules::new(self.proofs()).serving(self.0.iter().map(|step| step.path()))
    }

    /// Leaves out the steps that cannot be served here: no mail is sent where there is no mail.
    pub fn served_by(&self, channels: Channels) -> Self {
        let served = |step: &&dyn Step| {
            let path = step.path();
            let mail = path.starts_with("email_code") || path.starts_with("magic_link");
            (channels.mail || !mail)
                && (channels.sms || !path.starts_with("sms_code"))
                && (channels.passkeys || !path.starts_with("passkey"))
        };
        Self(self.0.iter().copied().filter(served).collect())
    }

    pub fn find(&self, path: &str) -> Option<&'static dyn Step> {
        self.0.iter().copied().find(|step| step.path() == path)
    }
}

/// A step that a caller asks for, in a flow that is theirs.
pub struct StepRequest<'a> {
    app: &'a App,
    opened: &'a OpenedFlow,
    address: IpAddr,
    members: Map<String, Value>,
}

pub async fn post(
    State(app): State<App>,
    Extension(steps): Extension<Steps>,
    FlowPath { id, step }: FlowPath,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body: members, .. }: Json<Map<String, Value>>,
) -> Result<Response, Problem> {
    let opened = OpenedFlow::of(&app, context, id, &headers)?;
    let step = steps.find(&step).ok_or(Problem::NOT_FOUND)?;
    let taken = step.take(StepRequest { app: &app, opened: &opened, address, members }).await?;
    Ok(taken.into_response())
}

impl<'a> StepRequest<'a> {
    pub fn new(
        app: &'a App,
        opened: &'a OpenedFlow,
        address: IpAddr,
        members: Map<String, Value>,
    ) -> Self {
        Self { app, opened, address, members }
    }
}

impl StepRequest<'_> {
    /// Reads the body as what the step takes.
    pub fn body<T: DeserializeOwned>(&mut self) -> Result<T, Problem> {
        shaped(std::mem::take(&mut self.members))
    }

    /// Charges the caller's address for what the step is about to do.
    pub fn charge(&self, purpose: Purpose) -> Result<(), Problem> {
        Ok(self.app.limits.pace.take(purpose, self.address, self.app.clock.now())?)
    }

    /// Returns the flow, if it offers this step now.
    ///
    /// The flow decides again when the step is taken; this spares the work before.
    pub async fn offered(&self, step: &dyn Step) -> Result<Open, Problem> {
        let open = self.opened.look(self.app).await?;
        if open.offers(&self.app.settings.flow_rules, SignOnOffer::None).contains(&step.path()) {
            Ok(open)
        } else {
            Err(NOT_NOW)
        }
    }

    /// Takes a step that cannot end the flow.
    pub async fn ask(&self, command: Command) -> Result<StepOutcome, Problem> {
        let asked = self.opened.ask(self.app, &self.opened.context, command).await?;
        Ok(ending::shown(self.app, self.opened, &asked.reply.flow).await?.into())
    }

    /// Ends every session that the caller holds but the one that the flow is about.
    async fn end_other_sessions(&self, open: &Open) -> Result<(), Problem> {
        let OpenedFlow { context, source, .. } = self.opened;
        let own = open.seed.signed_in.as_ref().map_or("", |signed_in| &*signed_in.session);
        browser_sessions::end_others(self.app, context, source, own).await
    }

    /// Takes a step that may end the flow.
    pub async fn proceed(&self, asking: AnsweredStep<'_>) -> Result<StepOutcome, Problem> {
        ending::proceed(self.app, self.opened, asking).await
    }

    /// Says that a proof was right. The attempt counts as one that was never made, and when the
    /// person has proved enough, nothing is held against the account any more.
    pub async fn prove(
        &self,
        proved: AccountProof,
        attempt: Attempt,
    ) -> Result<StepOutcome, Problem> {
        let account = proved.account.clone();
        let answer = StepAnswer::Proved(proved);
        let asking = AnsweredStep { account: &account, chosen: None, answer };
        let answered = ending::proceed_noting(self.app, self.opened, asking).await?;
        attempt.was_right(answered.authenticated);
        Ok(answered.answer.into())
    }

    /// Says that a first proof was wrong.
    pub async fn disprove(
        &self,
        step: &dyn Step,
        named: NamedAccount,
    ) -> Result<StepOutcome, Problem> {
        let account = named.account().map(|known| known.id.clone());
        self.disprove_of(step, account, named.attempt).await
    }

    async fn disprove_of(
        &self,
        step: &dyn Step,
        account: Option<String>,
        attempt: impl Into<Option<Attempt>>,
    ) -> Result<StepOutcome, Problem> {
        if let Some(attempt) = attempt.into() {
            attempt.failed();
        }
        let (step, context) = (step.path(), &self.opened.context);
        self.opened.ask(self.app, context, Command::Disprove { step, account }).await?;
        Err(INVALID_CREDENTIALS)
    }
}
