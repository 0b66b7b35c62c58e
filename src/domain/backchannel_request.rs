//! A backchannel authentication request (OpenID CIBA Core 1.0): a client asks, the person decides
//! where they are signed in.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | begin | pending, in a place of the client with the person; the person is written to | the place is taken |
//! | unborn | poll | unborn | always: what was issued and is gone has expired |
//! | pending | approve | approved, its token family is born, a ping is left | it has expired; another person; another client |
//! | pending | deny | denied, a ping is left; the client may be blocked in the same commit | it has expired; another person |
//! | pending | vacate | pending, without its place | it has not expired |
//! | pending | poll | pending: nothing is committed | it has expired; another client; another code |
//! | approved | poll | approved: the family decides | another client; another code |
//! | denied | poll | denied | always |
//! | approved, denied | vacate | the same: it has no place any more | |
//! | approved, denied | approve, deny | the same | always: it is decided |
//! | unborn | approve, deny, vacate | unborn | always |
//! | any but unborn | begin | the same | always |
//!
//! The family has the id of the request, and its code is the `auth_req_id`. What happens to a code that
//! comes twice, on two nodes, or after a recovery, is therefore the family's to say (adr/0090).
//!
//! A client has so many places with one person: a place is a unique name, so that no more requests wait than there are
//! places, however many are begun at once on however many nodes.

mod approval_request;
mod ping;

pub use approval_request::{ApprovalRequest, Deciding, Verdict};
pub use ping::{CIBA_PING, PING_PURPOSE, Ping, PingContent};

use super::{
    CLOCK_SKEW, Decision, Dispatch, Fingerprint, Listing, Machine, Name, Requirement, Timestamp,
    account_alerts,
    approval_block::Sides,
    authorization::Denial,
    awaited::{Awaited, AwaitedCode, DecisionStatus, Poll, PollRefusal, Polled},
    grant::Grant,
    message::Mail,
    token_family::{self, TokenFamily},
};
use serde::{Deserialize, Serialize};

/// What waits for the decision of an account, what ends first first.
pub const APPROVALS: &str = "approvals";

/// The space of the places that a client has with a person.
pub const APPROVAL_PLACES: &str = "approval_places";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackchannelRequest {
    #[default]
    Unborn,
    Pending(Box<Pending>),
    /// The person said yes, and its family was born.
    Approved {
        #[serde(flatten)]
        decided: Decided,
        /// The session of the flow in which they did, if it was in a flow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_flow_of: Option<String>,
    },
    Denied {
        #[serde(flatten)]
        decided: Decided,
        why: Denial,
    },
}

/// A request that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Of the `auth_req_id`.
    pub code: Fingerprint,
    pub request: ApprovalRequest,
    /// What a ping is made of, sealed: the client is pinged once it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<String>,
    /// Which of the client's places with the person it has; none where they are not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u32>,
}

/// What is kept of a request that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub account: String,
    pub client_id: String,
    /// Of the `auth_req_id`.
    pub code: Fingerprint,
    pub expires_at: Timestamp,
}

/// A yes, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The id of the request; its family has the same.
    pub id: String,
    pub grant: Box<Grant>,
    /// The hash of exactly what the person was shown.
    pub shown: Fingerprint,
    /// A passkey has signed a challenge that holds it.
    pub asserted: bool,
    /// It was said in a flow.
    pub in_flow: bool,
    /// What was read and must still be so.
    pub requirements: Vec<Requirement>,
    /// By which the person is told that they have allowed an agent; in a flow that says so itself.
    pub mail: Option<Box<Mail>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Begin {
        pending: Box<Pending>,
        /// To the person.
        message: Option<Dispatch>,
    },
    Approve(Box<Approval>),
    Deny {
        /// The id of the account that says so.
        account: String,
        why: Denial,
        /// The person wants no more requests of this client.
        block: bool,
    },
    /// Its place is wanted for another request: it has expired.
    Vacate,
    /// The client asks whether it was decided.
    Poll(Poll),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Begun(Box<Pending>),
    Approved { in_flow_of: Option<String> },
    Denied { why: Denial },
    Vacated,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Begun,
    Approved,
    Denied,
    Vacated,
    Polled(Polled),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such request that waits")]
    NotPending,
    #[error("the request is decided")]
    Decided,
    #[error("the request still waits")]
    StillWaits,
    #[error("another person is asked")]
    OtherPerson,
    #[error("the grant is another client's")]
    WrongClient,
    #[error(transparent)]
    Poll(#[from] PollRefusal),
}

impl Decided {
    fn issued<'a>(&'a self, standing: DecisionStatus<'a>) -> AwaitedCode<'a> {
        let Self { client_id, code, expires_at, .. } = self;
        AwaitedCode { client_id, code: *code, expires_at: *expires_at, standing }
    }
}

impl Pending {
    fn decided(&self) -> Decided {
        let ApprovalRequest { account, wanted, expires_at, .. } = &self.request;
        Decided {
            account: account.clone(),
            client_id: wanted.client_id.clone(),
            code: self.code,
            expires_at: *expires_at,
        }
    }

    /// Has the client pinged, if it wants to be.
    fn pinging(&self, decision: Decision<BackchannelRequest>) -> Decision<BackchannelRequest> {
        let Some(sealed) = self.ping.clone() else { return decision };
        let ping = Ping { client_id: self.request.wanted.client_id.clone(), sealed };
        decision.dispatching(ping.dispatch(self.request.expires_at))
    }
}

impl BackchannelRequest {
    /// The name of a place that a client has with a person.
    pub fn place_name(account: &str, client_id: &str, place: u32) -> String {
        // An account's id has no space in it.
        format!("{account} {place} {client_id}")
    }

    /// Returns what waits for the person.
    pub fn pending(&self, now: Timestamp) -> Option<&Pending> {
        match self {
            Self::Pending(pending) if now < pending.request.expires_at => Some(pending),
            _ => None,
        }
    }

    /// Returns whose decision it is, if it is known.
    pub fn account(&self) -> Option<&str> {
        match self {
            Self::Unborn => None,
            Self::Pending(pending) => Some(&pending.request.account),
            Self::Approved { decided, .. } | Self::Denied { decided, .. } => Some(&decided.account),
        }
    }

    /// Tells whether it was decided.
    pub fn is_decided(&self) -> bool {
        matches!(self, Self::Approved { .. } | Self::Denied { .. })
    }

    /// Tells whether it was approved in a flow of this session.
    pub fn was_approved_in_flow_of(&self, session: &str) -> bool {
        matches!(self, Self::Approved { in_flow_of: Some(of), .. } if of == session)
    }

    fn expires_at(&self) -> Option<Timestamp> {
        self.issued().map(|issued| issued.expires_at)
    }

    /// Returns what waits for the decision of this person.
    fn undecided(&self, account: Option<&str>, now: Timestamp) -> Result<&Pending, Refusal> {
        if self.is_decided() {
            return Err(Refusal::Decided);
        }
        let pending = self.pending(now).ok_or(Refusal::NotPending)?;
        if account != Some(&*pending.request.account) {
            return Err(Refusal::OtherPerson);
        }
        Ok(pending)
    }

    /// Gives up the place of a request that has expired.
    fn vacate(&self, now: Timestamp) -> Decision<Self> {
        match self {
            Self::Unborn => Decision::refuse(Refusal::NotPending),
            Self::Pending(_) if self.pending(now).is_some() => {
                Decision::refuse(Refusal::StillWaits)
            }
            Self::Pending(pending) if pending.place.is_some() => {
                Decision::accept(vec![Event::Vacated], Reply::Vacated)
            }
            Self::Pending(_) | Self::Approved { .. } | Self::Denied { .. } => {
                Decision::accept(Vec::new(), Reply::Vacated)
            }
        }
    }

    fn approve(&self, approval: &Approval, now: Timestamp) -> Decision<Self> {
        let Approval { id, grant, shown, asserted, in_flow, requirements, mail } = approval;
        let pending = match self.undecided(grant.account.as_deref(), now) {
            Ok(pending) => pending,
            Err(why) => return Decision::refuse(why),
        };
        if grant.client_id != pending.request.wanted.client_id {
            return Decision::refuse(Refusal::WrongClient);
        }
        let lives = pending.request.expires_at.since(now);
        let begin = token_family::Begin::awaited((**grant).clone(), pending.code, lives);
        let record = grant.record("approval.given").with("shown", String::from(*shown));
        let record = record.with("asserted", *asserted);
        let in_flow_of = grant.session.clone().filter(|_| *in_flow);
        let decision = Decision::accept(vec![Event::Approved { in_flow_of }], Reply::Approved)
            .bearing(TokenFamily::birth(id, begin, now))
            .recording(record);
        let decision = requirements.iter().cloned().fold(decision, Decision::requiring);
        let told = mail.as_ref().map(|mail| account_alerts::tell(&pending.request.account, mail));
        pending.pinging(told.into_iter().fold(decision, Decision::commanding))
    }

    fn deny(&self, account: &str, (why, block): (&Denial, bool), now: Timestamp) -> Decision<Self> {
        let pending = match self.undecided(Some(account), now) {
            Ok(pending) => pending,
            Err(refusal) => return Decision::refuse(refusal),
        };
        let record = pending.request.record("approval.denied");
        let mut decision =
            Decision::accept(vec![Event::Denied { why: why.clone() }], Reply::Denied);
        if block {
            let client_id = pending.request.wanted.client_id.clone();
            let sides = Sides { account: account.to_owned(), client_id };
            decision = decision.commanding(sides.block());
        }
        pending.pinging(decision.recording(record))
    }

    /// Returns what was issued to the client, and how it stands.
    fn issued(&self) -> Option<AwaitedCode<'_>> {
        match self {
            Self::Unborn => None,
            Self::Pending(pending) => Some(AwaitedCode {
                client_id: &pending.request.wanted.client_id,
                code: pending.code,
                expires_at: pending.request.expires_at,
                standing: DecisionStatus::Pending,
            }),
            Self::Approved { decided, .. } => Some(decided.issued(DecisionStatus::Approved)),
            Self::Denied { decided, why } => Some(decided.issued(DecisionStatus::Denied(why))),
        }
    }

    fn poll(&self, poll: &Poll, now: Timestamp) -> Decision<Self> {
        // What was issued and is gone has expired.
        let polled = self.issued().ok_or(PollRefusal::Expired);
        match polled.and_then(|issued| issued.poll(poll, now)) {
            Ok(polled) => Decision::accept(Vec::new(), Reply::Polled(polled)),
            Err(why) => Decision::refuse(why.into()),
        }
    }
}

impl Awaited for BackchannelRequest {
    fn command(poll: Poll) -> Command {
        Command::Poll(poll)
    }

    fn polled(reply: Reply) -> Option<Polled> {
        match reply {
            Reply::Polled(polled) => Some(polled),
            _ => None,
        }
    }

    fn refused(refusal: &Refusal) -> Option<&PollRefusal> {
        match refusal {
            Refusal::Poll(why) => Some(why),
            _ => None,
        }
    }
}

impl Machine for BackchannelRequest {
    const KIND: &'static str = "backchannel_request";
    /// 2: a request has a place.
    const REVISION: u32 = 2;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Begin { pending, message } if *self == Self::Unborn => {
                let begun = vec![Event::Begun(pending.clone())];
                let decision = Decision::accept(begun, Reply::Begun)
                    .recording(pending.request.record_of_question());
                message.iter().cloned().fold(decision, Decision::dispatching)
            }
            // Ids are drawn: none begins twice.
            Command::Begin { .. } => Decision::refuse(Refusal::NotPending),
            Command::Approve(approval) => self.approve(approval, now),
            Command::Deny { account, why, block } => self.deny(account, (why, *block), now),
            Command::Vacate => self.vacate(now),
            Command::Poll(poll) => self.poll(poll, now),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match (event, &*self) {
            (Event::Begun(pending), _) => Self::Pending(pending.clone()),
            (Event::Approved { in_flow_of }, Self::Pending(pending)) => {
                Self::Approved { decided: pending.decided(), in_flow_of: in_flow_of.clone() }
            }
            (Event::Denied { why }, Self::Pending(pending)) => {
                Self::Denied { decided: pending.decided(), why: why.clone() }
            }
            (Event::Vacated, Self::Pending(pending)) => {
                Self::Pending(Box::new(Pending { place: None, ..(**pending).clone() }))
            }
            // No such pair is ever decided.
            (Event::Approved { .. } | Event::Denied { .. } | Event::Vacated, _) => return,
        };
    }

    /// Nothing descends from it: what was approved is a family of its own.
    fn live_until(&self) -> Timestamp {
        match self {
            Self::Pending(pending) => pending.request.expires_at,
            _ => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        self.expires_at().map(|at| at + CLOCK_SKEW)
    }

    fn names(&self) -> Vec<Name> {
        let Self::Pending(pending) = self else { return Vec::new() };
        let ApprovalRequest { account, wanted, .. } = &pending.request;
        let name = |place| Self::place_name(account, &wanted.client_id, place);
        pending.place.map(|place| Name::new(APPROVAL_PLACES, name(place))).into_iter().collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let Self::Pending(pending) = self else { return Vec::new() };
        let ApprovalRequest { account, expires_at, .. } = &pending.request;
        vec![Listing::new(APPROVALS, account, format!("{:015}", expires_at.millis()))]
    }
}

#[cfg(test)]
mod tests;
