//! A flow: one interaction with a person, from its start to its result.
//!
//! A flow is *what has been proved* ([`ProofStep`]) and *what it is for* ([`Goal`]). Every command is
//! decided in the same way:
//!
//! 1. is the step offered now? The flow itself lists what it offers ([`Open::offers`]);
//! 2. what was proved or said is kept;
//! 3. an account that has enrolled a second factor is asked for it after a single factor;
//! 4. the goal says what is missing, or what the flow ends in.
//!
//! | stage | step | next | refused when |
//! |---|---|---|---|
//! | identify, credential | identify | credential | |
//! | credential, second factor | disprove (wrong) | the same; after ten, failed | |
//! | credential | prove (right) | second factor, where one is enrolled; else what the goal says | |
//! | second factor | prove (right) | what the goal says | it is another account's |
//! | any that offers its first half | hold: a code is sent, a ceremony begins | the same; the former is void | too many messages |
//! | any that offers it | present (a code that was sent) | as prove or disprove; after ten wrong ones the code is void | nothing waits for it |
//! | profile, proof | describe | proof; what was sent before is void | |
//! | proof | present | what the goal says | |
//! | credential (new) | enrol, or skip | what the goal says; the account changes in the same commit | it does not take what the flow held |
//! | credential (recovery codes were made, a client waits) | skip | what the goal says | |
//! | any, of a kind that can be stopped | stop | failed | |
//! | confirm, of a kind that takes one | enter (the code of a device) | what the goal says | it is the code of none; after ten, failed |
//! | identify, credential (nothing proved), of a flow that asks for an account | select, in a live session | what the goal says; credential or second factor, where more is wanted or a fresh proof | |
//! | credential (new), of a kind that links an identity | link | confirm; the identity waits | |
//! | identify, credential (nothing proved), of a sign-in | apply: a provider of no organization knows the person, and no account is linked | profile, as kind `sign_up`; the identity waits | |
//! | organization | choose | what the goal says | it is not among the choices |
//! | consent, confirm | decide | what the goal says, or failed | |
//! | confirm, of an approval | block | failed; the client is blocked | |
//! | confirm, of a report | report | identify or proof, everything has ended; or done | the link is spent or too old |
//! | any, after a proof | anything but a look, where an authenticator that proved it is gone | failed | always |
//! | done, failed | anything | | always |
//!
//! Every proof names its account and its authenticator, and its commit requires the version that it was
//! judged on. Each later step is judged on the account as it is then: where an authenticator has been
//! changed or removed, or the account was recovered, the flow fails. What a flow ends in is created in the
//! same commit, which requires the account that the end was judged on: a session, and the token family of a
//! code (adr/0104). What changes with it in other entities the flow commands (adr/0124): the use of a passkey
//! or code and a new credential (account), a session that goes on or ends, the request of a device or for an
//! approval, an invitation and its membership, the consent, an identity that is linked.
//!
//! A flow begins as a [`Seed`] that is written nowhere but, sealed, into its own id: looking at a
//! sign-in page costs no row. The first step writes it down. A seed is good until it expires and a row
//! is kept at least that long, so no flow can begin twice. Where rows were lost with their store, a restore ends all flows
//! that had begun ([`super::installation`]).

mod approval;
mod commands;
mod device;
mod goal;
mod link;
mod open;
mod pending_proof;
mod proving;
mod report;
mod rules;
mod seed;
mod selecting;
mod settling;
mod step;

pub use approval::{ApprovalAsked, ApprovalSaid};
pub use commands::Joining;
pub use device::EnteredDevice;
pub use goal::{
    APPROVAL, Case, DEVICE, Ending, FRESH, Goal, INVITATION, InSession, LINK, Next, Question,
    RECOVERY, REPORT, SIGN_IN, SIGN_UP, STEP_UP, SessionEnding, StepUpRequest,
};
pub use link::{LinkedMember, PendingLink};
pub use open::{Applicant, Open, Stage};
pub use pending_proof::{
    MOST_MESSAGES, MOST_WRONG, PendingProof, PendingProofContent, PendingSignOn, SIGN_ON_STATES,
};
pub use proving::MOST_ATTEMPTS;
pub use rules::{ProofStep, Role, Rules};
pub use seed::{ApprovalSought, Channel, Invited, OperatorLink, Seed, SignedIn};
pub use step::{
    AccountProof, AccountSeen, Command, Finished, FinishedSession, Fresh, Material, Moment, Notice,
    NoticeMessage, Reply, Selected, SessionChange, SignOnOffer, SignOnProof, Step,
};

use super::{
    CLOCK_SKEW, Decision, Machine, Name, Timestamp, assurance::Method, authorization::Denial,
    person::Person,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Flow {
    /// Nothing was done in it yet; its seed is in its id.
    #[default]
    Unborn,
    Open(Box<Open>),
    Over(Box<Over>),
}

/// A flow whose result is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    pub seed: Seed,
    pub person: Option<Person>,
    /// Why it failed, if it did.
    pub denial: Option<Denial>,
    /// What it has come to, if it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Finished>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Moved(Box<Open>),
    Ended(Box<Over>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the flow has expired")]
    Expired,
    #[error("the flow is over")]
    Over,
    #[error("the flow does not offer this step now")]
    NotNow,
    #[error("there is no such organization to choose")]
    NotAChoice,
    #[error("the code is wrong")]
    Wrong,
    #[error("the flow has sent as many messages as one may")]
    TooManyMessages,
    #[error("the user code is that of no device that waits")]
    WrongUserCode,
    #[error("what the person has proved was changed since, or the account was recovered")]
    Superseded,
    #[error("the code or passkey was used before, or the account has it no more")]
    Spent,
    #[error("the account does not take the change")]
    AccountRefused,
    #[error("the account does not take the passkey")]
    PasskeyRefused,
    #[error("the session is over")]
    SessionOver,
    #[error("the invitation cannot be accepted")]
    InvitationOver,
    #[error("the organization is suspended")]
    Suspended,
    #[error("the request for an approval is decided")]
    AlreadyDecided,
    #[error("there is no such request for an approval that waits")]
    NotWaiting,
    #[error("the report was decided before, is too old, or its account is gone")]
    ReportOver,
}

impl Flow {
    /// Returns how it began, or as what it goes on.
    pub fn seed(&self) -> Option<&Seed> {
        match self {
            Self::Unborn => None,
            Self::Open(open) => Some(&open.seed),
            Self::Over(over) => Some(&over.seed),
        }
    }

    /// Returns the flow as it is, be it only a seed.
    pub fn or_begun(&self, seed: &Seed) -> Self {
        match self {
            Self::Unborn => Self::Open(Box::new(seed.clone().open())),
            known => known.clone(),
        }
    }

    fn expires_at(&self) -> Option<Timestamp> {
        self.seed().map(|seed| seed.expires_at)
    }
}

impl Machine for Flow {
    const KIND: &'static str = "flow";
    /// 2: codes, ceremonies and applicants are kept. 3: the device whose code was entered. 4: that code,
    /// the organization of an invitation, and recovery codes that the person has not kept yet. 5: the
    /// session whose account was chosen, without which no other may begin, and what a person said of a
    /// request for an approval. 6: by which authenticators it was proved. 7: an answer that is to be signed.
    /// 8: single sign-on. 9: an identity that is to be linked. 10: after how many sign-outs it was proved, and a report.
    /// 11: whether the account itself proved something, and when a provider says that it was proved there.
    const REVISION: u32 = 11;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        // Before anything else: the row of an expired flow may be gone, and its seed must not stand
        // in for it.
        if now >= command.seed.expires_at {
            return Decision::refuse(Refusal::Expired);
        }
        match (self.or_begun(&command.seed), &command.step) {
            (Self::Open(open), step) => open.take(step, (&command.rules, command.sign_on), now),
            (over, Step::Look) => Decision::accept(Vec::new(), Reply::showing(over)),
            (Self::Over(_) | Self::Unborn, _) => Decision::refuse(Refusal::Over),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event {
            Event::Moved(open) => Self::Open(open.clone()),
            Event::Ended(over) => Self::Over(over.clone()),
        };
    }

    fn live_until(&self) -> Timestamp {
        self.expires_at().unwrap_or(Timestamp::NEVER)
    }

    fn forget_at(&self) -> Option<Timestamp> {
        self.expires_at().map(|at| at + CLOCK_SKEW)
    }

    /// What a provider sends back finds the flow by its state.
    fn names(&self) -> Vec<Name> {
        let Self::Open(open) = self else { return Vec::new() };
        let state = |held: &PendingProof| match &held.content {
            PendingProofContent::SignOn(pending) => {
                Some(Name::new(SIGN_ON_STATES, String::from(pending.state)))
            }
            _ => None,
        };
        open.held.iter().filter_map(state).collect()
    }
}

#[cfg(test)]
mod tests;
