//! What may be done in a flow, and what is answered.

use super::{
    Applicant, ApprovalAsked, EnteredDevice, Flow, Joining, Open, Over, PendingLink, PendingProof,
    Refusal, Rules, Seed,
};
use crate::domain::{
    Device, Dispatch, Fingerprint, Requirement, Timestamp,
    account::{self, Account},
    account_alerts::SignIn,
    assurance::{AuthenticatorId, Authenticators, Method, SingleSignOn, Worth},
    authorization::AuthorizationFacts,
    installation::SignOuts,
    message::Mail,
    person::Person,
    token_family::CodeLifetimes,
    upstream_session,
};
use serde::{Deserialize, Serialize};
use std::{ops::Not, sync::Arc, time::Duration};

/// A step, and the seed of the flow it is meant for.
#[derive(Clone, Debug)]
pub struct Command {
    pub rules: Arc<Rules>,
    pub seed: Seed,
    pub step: Step,
    /// Which single sign-on the flow offers now.
    pub sign_on: SignOnOffer,
}

/// Whether a flow offers single sign-on: that depends on its organization and on the domain of the identifier alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignOnOffer {
    #[default]
    None,
    /// Beside the account's own credentials.
    Beside,
    /// Nothing else: the flow is for an organization that requires it.
    Only,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Shows the flow and changes nothing.
    Look,
    Identify {
        identifier: String,
    },
    /// What the person says of themselves, to make an account of it.
    Describe {
        applicant: Box<Applicant>,
        /// That there have been so far.
        sign_outs: SignOuts,
    },
    /// The first half of a step: something waits for the second, and a message may be sent.
    Hold {
        /// The name of the step that is taken now.
        step: &'static str,
        held: Box<PendingProof>,
        message: Option<Dispatch>,
    },
    /// A code that was sent comes back. The flow itself compares it: requests may race, and no more
    /// wrong ones are borne than for one code.
    Present {
        /// The name of the step.
        step: &'static str,
        code: Fingerprint,
        /// What is proved if the code is right; `None` where no account was named.
        proved: Option<AccountProof>,
        material: Box<Material>,
    },
    /// A proof was wrong; of which account it was asked, if there is one.
    Disprove {
        /// The name of the step.
        step: &'static str,
        account: Option<String>,
    },
    /// A credential was chosen, or none.
    Enrol {
        /// The name of the step.
        step: &'static str,
        /// What it took of what the flow held.
        spends: Option<Fingerprint>,
        changes: Vec<account::Command>,
        material: Box<Material>,
    },
    /// A provider has said which identity is the person's, who is signed in and may link it.
    Link {
        /// The name of the step.
        step: &'static str,
        /// What it took of what the flow held.
        spends: Fingerprint,
        link: Box<PendingLink>,
        material: Box<Material>,
    },
    /// A provider of no organization has said which identity is the person's, and it leads to no account.
    Apply {
        /// The name of the step.
        step: &'static str,
        /// What it took of what the flow held.
        spends: Fingerprint,
        link: Box<PendingLink>,
    },
    /// The holder of the account's address wants the flow to end.
    Stop,
    /// The holder of an alert's link says whether it was not them.
    Report {
        /// It was not them.
        allow: bool,
        /// The address of the account, where the alert went to that very address.
        identifier: Option<String>,
    },
    /// A proof was right.
    Prove {
        proved: AccountProof,
        material: Box<Material>,
    },
    /// The person chose an organization.
    Choose {
        organization: String,
        material: Box<Material>,
    },
    /// The person chose an account that is signed in where the flow is taken.
    Select {
        selected: Box<Selected>,
        material: Box<Material>,
    },
    /// The person entered the code of a device; `None` where it is the code of none.
    Enter {
        device: Option<Box<EnteredDevice>>,
        material: Box<Material>,
    },
    /// The person said no to the question of this step, and wants none of its client any more.
    Block {
        step: &'static str,
        material: Box<Material>,
    },
    /// The person said yes or no, to the question of this step.
    Decide {
        step: &'static str,
        allow: bool,
        material: Box<Material>,
    },
}

impl Step {
    /// Returns the name under which the step is offered; looking is never refused, and who may
    /// stop a flow is not asked by its steps.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Look | Self::Stop => None,
            Self::Identify { .. } => Some("identifier"),
            Self::Choose { .. } => Some("organization"),
            Self::Select { .. } => Some("account"),
            Self::Describe { .. } => Some("profile"),
            Self::Enter { .. } => Some("user_code"),
            Self::Report { .. } => Some("confirm"),
            Self::Hold { step, .. }
            | Self::Present { step, .. }
            | Self::Disprove { step, .. }
            | Self::Enrol { step, .. }
            | Self::Link { step, .. }
            | Self::Apply { step, .. }
            | Self::Block { step, .. }
            | Self::Decide { step, .. } => Some(step),
            Self::Prove { proved, .. } => Some(proved.step),
        }
    }

    /// Returns what a credential or an identity took of what the flow held; it is good for once.
    pub(super) fn spends(&self) -> Option<(&'static str, Option<Fingerprint>)> {
        match self {
            Self::Enrol { step, spends, .. } => Some((step, *spends)),
            Self::Link { step, spends, .. } | Self::Apply { step, spends, .. } => {
                Some((step, Some(*spends)))
            }
            _ => None,
        }
    }

    /// Returns what is given to a step that may end the flow.
    pub(super) fn material(&self) -> Option<&Material> {
        match self {
            Self::Present { material, .. }
            | Self::Enrol { material, .. }
            | Self::Link { material, .. }
            | Self::Prove { material, .. }
            | Self::Choose { material, .. }
            | Self::Select { material, .. }
            | Self::Enter { material, .. }
            | Self::Block { material, .. }
            | Self::Decide { material, .. } => Some(material),
            Self::Look
            | Self::Identify { .. }
            | Self::Describe { .. }
            | Self::Hold { .. }
            | Self::Disprove { .. }
            | Self::Apply { .. }
            | Self::Report { .. }
            | Self::Stop => None,
        }
    }
}

/// An account that a person has chosen, and the live session in which it is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    pub person: Person,
    /// The id of the session.
    pub session: String,
    /// What the account is called, where the person must prove again that it is theirs.
    pub identifier: String,
}

/// A proof that was right, of the account that it was judged on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    /// The name of the step.
    pub step: &'static str,
    /// The id of the account.
    pub account: String,
    /// The version of the account that the proof was judged on; the commit requires it. `None` for
    /// an account that is not made yet.
    pub version: Option<i64>,
    /// What the account can prove itself by.
    pub methods: Vec<Method>,
    /// What it took of what the flow held.
    pub spends: Option<Fingerprint>,
    /// What it is worth, where that differs from the step's.
    pub worth: Option<Worth>,
    /// By which authenticator it was given, where the account has several for the step.
    pub by: Option<AuthenticatorId>,
    /// What the account notes of it in the same commit: a passkey was used, a code is spent.
    pub uses: Option<account::Command>,
    /// What it rests on, where another provider gave it.
    pub sign_on: Option<Box<SignOnProof>>,
}

/// What a provider has said, as far as a flow must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignOnProof {
    pub sign_on: SingleSignOn,
    /// When the person proved it at the provider, if it says so.
    pub auth_time: Option<Timestamp>,
    /// Born in the same commit.
    pub session: upstream_session::Open,
    /// What was read and must still be so.
    pub requirements: Vec<Requirement>,
}

impl AccountProof {
    /// A proof of an account as it was read.
    pub fn of(step: &'static str, known: &account::Known, version: i64) -> Self {
        Self {
            step,
            account: known.id.clone(),
            version: Some(version),
            methods: known.methods(),
            spends: None,
            worth: None,
            by: None,
            uses: None,
            sign_on: None,
        }
    }

    pub(super) fn requirement(&self) -> Option<Requirement> {
        self.version.map(|version| Requirement::unchanged::<Account>(&*self.account, version))
    }
}

/// What a flow that may end in this step is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// Needed where a client asks for something.
    pub facts: Option<AuthorizationFacts>,
    /// What the person is asked to approve, in a flow that is for that.
    pub approval: Option<Box<ApprovalAsked>>,
    pub fresh: Fresh,
    /// The account of the person, read for this very step.
    pub account: AccountSeen,
    /// What that account can prove itself by.
    pub methods: Vec<Method>,
    /// What people are told when the flow comes so far.
    pub notices: Vec<Notice>,
    /// The ids of the identities that are the account's own, in a flow that may replace them.
    pub identities: Vec<String>,
    /// What an invitation would give now, in a flow that is for one; or why it gives nothing.
    pub joining: Option<Result<Box<Joining>, Refusal>>,
    /// The sign-in that this would be: the person is alerted where it is from another device or place.
    pub sign_in: Option<Box<SignIn>>,
}

/// An account as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountSeen {
    /// 0 where there is none.
    pub version: i64,
    /// How often everything has ended that its person rested on; see [`account::Known::person_epoch`].
    pub epoch: u64,
    /// How many sign-outs there have been (adr/0140).
    pub sign_outs: u64,
    /// The person has asked for it to be deleted.
    pub deleting: bool,
    pub authenticators: Authenticators,
}

/// A message that is left when a flow comes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub when: Moment,
    pub message: NoticeMessage,
}

/// What is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeMessage {
    /// It goes as it is.
    Dispatch(Dispatch),
    /// The account's alerts say whether it goes, or is counted with others of its kind.
    Folded { account: String, mail: Box<Mail> },
}

impl Notice {
    /// A mail of which one is sent in an hour.
    pub fn folded(when: Moment, known: &account::Known, mail: Mail) -> Self {
        let (account, mail) = (known.id.clone(), Box::new(mail));
        Self { when, message: NoticeMessage::Folded { account, mail } }
    }
}

/// How far a flow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The person has given a first proof.
    Proved,
    /// The flow has ended as it should.
    Ended,
    /// It has ended with a client that the person has just allowed to act for them.
    Allowed,
}

/// What a flow that comes to its end needs to bear: ids and fingerprints drawn for it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fresh {
    pub session_id: String,
    pub session_token: Fingerprint,
    pub session_idle: Duration,
    pub session_ceiling: Duration,
    /// Where the request comes from that ends the flow.
    pub device: Device,
    /// Two factors of this person were proved in this browser, and the operator lets that count.
    pub remembered: bool,
    /// A person who comes by a password may be offered a passkey.
    pub offers_passkey: bool,
    pub family_id: String,
    pub code: Fingerprint,
    pub lives: CodeLifetimes,
    /// The live session of this very person that the caller holds; it goes on.
    pub present: Option<String>,
}

/// The flow after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub flow: Flow,
    /// The id of the consent that was given with this very step.
    pub consent: Option<String>,
}

/// What a flow has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The id that the request drew for the family: it tells which request has ended the flow, after
    /// a commit whose fate is not known as well.
    pub family_id: String,
    /// A family was born under that id.
    pub granted: bool,
    /// The account itself proved something: see [`Open::proved_own`].
    #[serde(default, skip_serializing_if = "Not::not")]
    pub proved_own: bool,
    pub session: Option<FinishedSession>,
}

/// The session that a flow has ended with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedSession {
    pub id: String,
    pub change: SessionChange,
}

/// What has become of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionChange {
    /// It was born in the commit that ended the flow.
    Begun,
    /// The person proved more: it goes on under a new token.
    Renewed,
    /// Nothing new was proved in this flow.
    Kept,
    /// It is over.
    Ended,
}

impl Reply {
    pub(super) fn of(open: Open) -> Self {
        Self::showing(Flow::Open(Box::new(open)))
    }

    pub(super) fn over(over: Over) -> Self {
        Self::showing(Flow::Over(Box::new(over)))
    }

    pub(super) fn showing(flow: Flow) -> Self {
        Self { flow, consent: None }
    }
}
