//! Takes a step that may end a flow, retries it while what it rests on changes, and answers with what the flow
//! has come to.
//!
//! 1. what decides about the client's request is looked up, and becomes requirements of the commit;
//! 2. ids and secrets are drawn for a flow that may end now;
//! 3. the flow decides. What belongs to its end is in the same commit: the session that begins, goes
//!    on or ends, the family of the code, the consent that it was granted on, the use of a passkey or code;
//! 4. where something has changed meanwhile, all of it is retried; where the fate of the commit is
//!    not known, the flow itself tells whether it was ours.

use super::{
    agent_notice,
    answering::{ActingPerson, answer, changes, draw},
    approval,
    browser_sessions::{adds, is_in_chosen},
    committing::{StepFailure, take},
    decided_request::DecidedRequest,
    document::{Document, FlowView},
    invited, known_browser, linking,
    opened::OpenedFlow,
    problems::{ACCOUNT_CHANGED, CONNECTION_CHANGED, SESSION_OVER, SIGN_UP_CLOSED, UNAVAILABLE},
    sign_in_alert, sign_out,
    step_outcome::StepOutcome,
    stop, user_code,
};
use crate::{
    actors::HydrateError,
    domain::{
        Actor, Fingerprint, Machine as _,
        account::{self, Account, Known},
        client::Client,
        connection::Connection,
        external_identity::ExternalIdentity,
        flow::{
            AccountProof, AccountSeen, DEVICE, EnteredDevice, Flow, LINK, Material, Moment, Notice,
            PendingLink, RECOVERY, REPORT, Selected, SessionChange, Step,
        },
        installation::SelfService,
        session::{self, Session},
    },
    http::{
        answer::error::Problem,
        app::App,
        clients,
        people::session::{self as sessions, Lookup},
    },
};
use zeroize::Zeroizing;

/// How often a flow tries to go on while what it rests on changes.
const TRIES: usize = 4;

/// A step that may end the flow, and who takes it.
pub struct AnsweredStep<'a> {
    /// The id of the account.
    pub account: &'a str,
    /// The organization that the person has chosen.
    pub chosen: Option<&'a str>,
    pub answer: StepAnswer,
}

/// The person's answer to a step: what they have proved or said.
pub enum StepAnswer {
    Proved(AccountProof),
    /// A code that was sent came back; what it proves if it is right.
    Presented {
        step: &'static str,
        code: Fingerprint,
        proved: Option<AccountProof>,
    },
    /// A credential was chosen, or none.
    Enrolled(Enrolment),
    /// A provider has said which identity is theirs.
    Linked {
        step: &'static str,
        spends: Fingerprint,
        link: Box<PendingLink>,
    },
    Chose(String),
    /// An account that is signed in here.
    Selected(Box<Selected>),
    /// The code of a device, or of none.
    Entered(Option<Box<EnteredDevice>>),
    Decided {
        step: &'static str,
        allow: bool,
    },
    /// No, and no more requests of this client.
    Blocked {
        step: &'static str,
    },
}

/// A credential that a person has chosen.
#[derive(Clone)]
pub struct Enrolment {
    pub step: &'static str,
    /// What it took of what the flow held.
    pub spends: Option<Fingerprint>,
    pub changes: Vec<account::Command>,
    /// Shown once, with the answer to this step.
    pub recovery_codes: Vec<Zeroizing<String>>,
}

impl StepAnswer {
    /// Tells whether an account is made by it, or on the way that it belongs to, where there is none yet.
    fn makes_account(&self) -> bool {
        match self {
            Self::Proved(proved) | Self::Presented { proved: Some(proved), .. } => {
                proved.version.is_none()
            }
            Self::Enrolled(_) => true,
            _ => false,
        }
    }

    /// Tells whether what has changed is what another provider was believed by: no further try can mend that.
    fn was_believed_by(&self, opened: &OpenedFlow, kind: &str) -> bool {
        let by_another = matches!(self, Self::Proved(proved) if proved.sign_on.is_some());
        let is_believed = by_another && [Connection::KIND, ExternalIdentity::KIND].contains(&kind);
        is_believed || linking::rests_on(opened, kind)
    }

    /// Returns the codes that were made beside a credential; the person is shown them once.
    fn recovery_codes(&self) -> Vec<Zeroizing<String>> {
        match self {
            Self::Enrolled(enrolled) => enrolled.recovery_codes.clone(),
            _ => Vec::new(),
        }
    }

    fn step(&self, material: Material) -> Step {
        let material = Box::new(material);
        match self {
            Self::Proved(proved) => Step::Prove { proved: proved.clone(), material },
            Self::Presented { step, code, proved } => {
                Step::Present { step, code: *code, proved: proved.clone(), material }
            }
            Self::Enrolled(Enrolment { step, spends, changes, .. }) => {
                Step::Enrol { step, spends: *spends, changes: changes.clone(), material }
            }
            Self::Linked { step, spends, link } => {
                Step::Link { step, spends: *spends, link: link.clone(), material }
            }
            Self::Entered(device) => Step::Enter { device: device.clone(), material },
            Self::Chose(slug) => Step::Choose { organization: slug.clone(), material },
            Self::Blocked { step } => Step::Block { step, material },
            Self::Selected(selected) => Step::Select { selected: selected.clone(), material },
            Self::Decided { step, allow } => Step::Decide { step, allow: *allow, material },
        }
    }
}

pub use super::answering::FlowProgress;

pub async fn proceed(
    app: &App,
    opened: &OpenedFlow,
    asking: AnsweredStep<'_>,
) -> Result<StepOutcome, Problem> {
    proceed_noting(app, opened, asking).await.map(|answered| answered.answer.into())
}

/// Takes the step, and says whether the person has proved enough by now.
pub async fn proceed_noting(
    app: &App,
    opened: &OpenedFlow,
    asking: AnsweredStep<'_>,
) -> Result<FlowProgress, Problem> {
    let answered = take_step(app, opened, asking).await?;
    if opened.seed.kind == DEVICE && answered.authenticated {
        return Box::pin(user_code::enter_own(app, opened, answered)).await;
    }
    Ok(answered)
}

/// Takes the step, and nothing that follows from it.
pub(super) async fn take_step(
    app: &App,
    opened: &OpenedFlow,
    asking: AnsweredStep<'_>,
) -> Result<FlowProgress, Problem> {
    // Boxed once for all steps, which would each carry it.
    Box::pin(take_again(app, opened, asking)).await
}

/// Takes the step, again where what it rests on has changed meanwhile.
async fn take_again(
    app: &App,
    opened: &OpenedFlow,
    asking: AnsweredStep<'_>,
) -> Result<FlowProgress, Problem> {
    let context = opened.context.clone();
    let context = match asking.answer {
        // No account was named: it is not known who acts.
        StepAnswer::Presented { proved: None, .. } => context,
        _ => context.by(Actor::Person(asking.account.to_owned())),
    };
    let acting = &ActingPerson { opened, context };
    let held = sessions::held(app, &acting.context, &opened.source, Lookup::Anew).await?;
    let of_person = held.iter().find(|one| one.present.person.account == asking.account);
    let mut own = of_person.map(|one| one.present.id.clone());
    // A program holds one session: no caller is left with the token of another.
    let replaced = held.first().filter(|_| own.is_none() && !adds(&opened.seed, &opened.source));
    let chosen = is_in_chosen(app, opened, own.as_deref()).await?;
    let in_session = opened.seed.signed_in.is_some() || chosen;
    let in_session = in_session || matches!(asking.answer, StepAnswer::Selected(_));
    let remembered = known_browser::is_remembered(app, &opened.source, asking.account).await?;
    let recovers = [RECOVERY, REPORT].contains(&&*opened.seed.kind);
    let device = user_code::known(app, opened, &asking).await?;
    let approval = approval::known(app, opened, asking.account).await?;
    for number in 0..TRIES {
        let request = DecidedRequest::of(opened, device.as_deref(), approval.as_deref());
        let facts = request.facts(app, opened, &asking, number > 0).await?;
        let drawn = draw(app, acting, own.clone(), remembered);
        let installation = app.installation().await?;
        let seen = app.views.accounts.peek(asking.account).await?;
        let known = seen.machine.known();
        let is_open = app.opens(SelfService::SignUp, &installation.machine);
        check_admitted(app, opened, &asking, (known, is_open))?;
        let account = AccountSeen::of(known, seen.version, installation.machine.sign_outs());
        let joining = match &opened.seed.invited {
            Some(invited) => Some(invited::joining(app, invited, (asking.account, known)).await?),
            None => None,
        };
        let notices = notices(app, opened, known, request.client_id()).await?;
        let methods = known.map(Known::methods).unwrap_or_default();
        let replaces = recovers && matches!(asking.answer, StepAnswer::Enrolled(_));
        let identities =
            if replaces { linking::own(app, asking.account).await? } else { Vec::new() };
        let person = (asking.account, known, account.epoch);
        let sign_in = sign_in_alert::of(app, opened, person, &drawn).await;
        let material = Material {
            facts,
            approval: approval.clone(),
            fresh: drawn.fresh.clone(),
            account,
            methods,
            notices,
            identities,
            joining,
            sign_in,
        };
        let step = asking.answer.step(material);
        match take(app, acting, step, &drawn).await {
            Ok(flow) => {
                let finished = matches!(&flow, Flow::Over(over) if over.finished.is_some());
                if recovers && finished {
                    sign_out::after_commit(app, &acting.context, asking.account).await;
                }
                if let (Some(other), Flow::Over(over)) = (replaced, &flow)
                    && changes(over) == Some(SessionChange::Begun)
                {
                    let (end, id) = (session::Command::End, &other.present.id);
                    app.entities.sessions.tell(&acting.context, id, end);
                }
                let codes = asking.answer.recovery_codes();
                return answer(app, acting, flow, (drawn, codes, &held)).await;
            }
            Err(StepFailure::Unmet { kind }) if kind == Session::KIND => {
                if in_session {
                    return Err(SESSION_OVER);
                }
                own = None;
            }
            // What the proof was judged on is no longer so: it must be judged again.
            Err(StepFailure::Unmet { kind })
                if kind == Account::KIND
                    && matches!(
                        asking.answer,
                        StepAnswer::Proved(_) | StepAnswer::Presented { .. }
                    ) =>
            {
                return Err(ACCOUNT_CHANGED);
            }
            Err(StepFailure::Unmet { kind }) if asking.answer.was_believed_by(opened, kind) => {
                return Err(CONNECTION_CHANGED);
            }
            Err(StepFailure::Unmet { kind }) if kind == Client::KIND => {
                // It is known by its document alone: from its first consent on it is a row.
                if let Some(client_id) = request.client_id() {
                    clients::keep(app, &acting.context, client_id).await?;
                }
            }
            Err(StepFailure::Unmet { .. }) => {}
            Err(StepFailure::Problem(problem)) => return Err(problem),
        }
    }
    Err(UNAVAILABLE)
}

/// Refuses an account, and a sign-up, that an operator has closed since the flow began.
fn check_admitted(
    app: &App,
    opened: &OpenedFlow,
    asking: &AnsweredStep<'_>,
    (known, is_open): (Option<&Known>, bool),
) -> Result<(), Problem> {
    // A first proof of such an account is refused as a wrong one before it comes here.
    if known.is_some_and(|known| !known.admits(app.clock.now())) {
        return Err(ACCOUNT_CHANGED);
    }
    let signs_up = known.is_none() && opened.seed.invited.is_none();
    if signs_up && asking.answer.makes_account() && !is_open {
        return Err(SIGN_UP_CLOSED);
    }
    Ok(())
}

/// Returns what people are told when the flow comes so far.
async fn notices(
    app: &App,
    opened: &OpenedFlow,
    known: Option<&Known>,
    client_id: Option<&str>,
) -> Result<Vec<Notice>, HydrateError> {
    match (&*opened.seed.kind, known, client_id) {
        (RECOVERY | REPORT, ..) => Ok(stop::notices(app, opened, known)),
        (LINK, ..) => linking::notices(app, opened, known).await,
        (_, Some(known), Some(client_id)) => {
            let mail = agent_notice::mail(app, &opened.context, known, client_id).await;
            Ok(mail.map(|mail| Notice::folded(Moment::Allowed, known, mail)).into_iter().collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Shows a flow that goes on.
pub async fn shown(app: &App, opened: &OpenedFlow, flow: &Flow) -> Result<Document, Problem> {
    let OpenedFlow { id, seed, context, source, .. } = opened;
    let document = Document::of(app, FlowView { id, seed, flow, outcome: None }).await?;
    Ok(document.telling_accounts(app, context, source).await?)
}
