//! A backchannel authentication request (OpenID CIBA Core 1.0): a client asks, the person decides
//! where they are signed in.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | begin | pending; the person is written to | |
//! | unborn | poll | unborn | always: what was issued and is gone has expired |
//! | pending | approve | approved, its token family is born, a ping is left | it has expired; another person; another client |
//! | pending | deny | denied, a ping is left | it has expired; another person |
//! | pending | poll | pending: nothing is committed | it has expired; another client; another code |
//! | approved | poll | approved: the family decides | another client; another code |
//! | denied | poll | denied | always |
//! | approved, denied | approve, deny | the same | always: it is decided |
//! | unborn | approve, deny | unborn | always |
//! | any but unborn | begin | the same | always |
//!
//! The family has the id of the request, and its code is the `auth_req_id`. What happens to a code that
//! comes twice, on two nodes, or after a recovery, is therefore the family's to say (adr/0090).

use super::{
    CLOCK_SKEW, Decision, Device, Dispatch, Fingerprint, Listing, Machine, Record, Requirement,
    Secret, Timestamp,
    assurance::{Acr, Method},
    authorization::{
        Allowed, AuthorizationFacts, ConsentQuestion, ConsentRule, Denial, RequestedGrant, Said,
        Settled, Subject,
    },
    awaited::{Awaited, Issued, Poll, PollRefusal, Polled, Standing},
    grant::Grant,
    token_family::{self, TokenFamily},
};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// What waits for the decision of an account, what ends first first.
pub const APPROVALS: &str = "approvals";

/// The topic of pings in the outbox.
pub const CIBA_PING: &str = "ciba_ping";

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
}

/// What a client asks of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The id of the account.
    pub account: String,
    pub wanted: RequestedGrant,
    /// What the client shows as well (CIBA Core §7.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_message: Option<String>,
    /// Where the client asked from.
    #[serde(default)]
    pub from: Device,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
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
    },
    /// The client asks whether it was decided.
    Poll(Poll),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Begun(Box<Pending>),
    Approved { in_flow_of: Option<String> },
    Denied { why: Denial },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Begun,
    Approved,
    Denied,
    Polled(Polled),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such request that waits")]
    NotPending,
    #[error("the request is decided")]
    Decided,
    #[error("another person is asked")]
    OtherPerson,
    #[error("the grant is another client's")]
    WrongClient,
    #[error(transparent)]
    Poll(#[from] PollRefusal),
}

/// What the content of pings is sealed for; the context is the id of the client.
pub const PING_PURPOSE: &str = "ciba ping";

/// What a ping says, and to whom it proves where it comes from (CIBA Core §10.2).
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct PingContent {
    pub auth_req_id: String,
    /// The `client_notification_token`.
    pub token: String,
}

/// That a client is to be pinged; what to say is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {
    pub client_id: String,
    pub sealed: String,
}

impl Ping {
    fn dispatch(&self, expires_at: Timestamp) -> Dispatch {
        let payload = serde_json::to_vec(self).expect("plain data with text keys is JSON");
        Dispatch { topic: CIBA_PING, payload: Secret::new(payload), expires_at }
    }

    pub fn read(payload: &Secret) -> Option<Self> {
        serde_json::from_slice(payload.expose()).ok()
    }
}

/// A person who says yes to a request, and what is true of them and the client.
pub struct Deciding<'a> {
    pub subject: Subject<'a>,
    pub facts: &'a AuthorizationFacts,
    /// Those of the methods of the person's account that can be asked for here.
    pub served: &'a [Method],
    /// A passkey of theirs has signed what was shown.
    pub asserted: bool,
}

/// What a yes comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Granted {
        grant: Box<Grant>,
        requirements: Vec<Requirement>,
    },
    /// The person must prove as much first.
    ProveMore(Acr),
    /// A passkey of theirs must sign what was shown.
    Assert,
    Denied(Denial),
}

/// All that a person is shown of a request, as its hash is made.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'a str,
    client_id: &'a str,
    binding_message: Option<&'a str>,
    scope: String,
    question: &'a ConsentQuestion,
    expires_at: Timestamp,
}

impl ApprovalRequest {
    /// Says what becomes of the request when the person says yes.
    pub fn settle(&self, deciding: &Deciding<'_>) -> Verdict {
        let Deciding { subject, facts, served, asserted } = deciding;
        let wanted = &self.wanted;
        if subject.person.account != self.account {
            return Verdict::Denied(Denial::OtherPerson);
        }
        // It is a wish: what the person cannot prove here, they are not asked for.
        if let Some(acr) = wanted.step_up(subject.person, served, subject.now) {
            return Verdict::ProveMore(acr);
        }
        let organization = match wanted.question(facts) {
            Ok(question) => question.organization.map(|choice| choice.slug),
            Err(denial) => return Verdict::Denied(denial),
        };
        // Asked each time: neither the operator nor a former consent stands in for the person.
        let facts = AuthorizationFacts { consent: ConsentRule::Always, ..(*facts).clone() };
        let allowed = Allowed::For(organization.as_deref());
        match wanted.settle(*subject, &facts, Said { organization: None, allowed }) {
            Settled::Granted { grant, requirements } => {
                let irreversible = facts.types.iter().any(|kind| kind.irreversible);
                let holds_passkey = served.contains(&Method::Passkey);
                if irreversible && holds_passkey && !asserted {
                    return Verdict::Assert;
                }
                Verdict::Granted { grant, requirements }
            }
            Settled::ProveMore(acr) if acr.is_reachable_by(served) => Verdict::ProveMore(acr),
            Settled::ProveMore(_) => Verdict::Denied(Denial::NotSureEnough),
            Settled::Denied(denial) => Verdict::Denied(denial),
            // The organization was settled when the client asked.
            Settled::ChooseOrganization(_) | Settled::AskConsent(_) => {
                Verdict::Denied(Denial::NotAMember)
            }
        }
    }

    /// Returns the hash of exactly what the person is shown.
    pub fn shown(&self, id: &str, question: &ConsentQuestion) -> Fingerprint {
        let shown = Shown {
            id,
            client_id: &self.wanted.client_id,
            binding_message: self.binding_message.as_deref(),
            scope: self.wanted.scopes.to_string(),
            question,
            expires_at: self.expires_at,
        };
        let text = serde_json::to_vec(&shown).expect("plain data with text keys is JSON");
        Fingerprint::of(&text)
    }
}

impl Decided {
    fn issued<'a>(&'a self, standing: Standing<'a>) -> Issued<'a> {
        let Self { client_id, code, expires_at, .. } = self;
        Issued { client_id, code: *code, expires_at: *expires_at, standing }
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

    fn approve(&self, approval: &Approval, now: Timestamp) -> Decision<Self> {
        let Approval { id, grant, shown, asserted, in_flow, requirements } = approval;
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
        pending.pinging(decision)
    }

    fn deny(&self, account: &str, why: &Denial, now: Timestamp) -> Decision<Self> {
        let pending = match self.undecided(Some(account), now) {
            Ok(pending) => pending,
            Err(refusal) => return Decision::refuse(refusal),
        };
        let record = pending.request.record("approval.denied");
        let decision = Decision::accept(vec![Event::Denied { why: why.clone() }], Reply::Denied);
        pending.pinging(decision.recording(record))
    }

    /// Returns what was issued to the client, and how it stands.
    fn issued(&self) -> Option<Issued<'_>> {
        match self {
            Self::Unborn => None,
            Self::Pending(pending) => Some(Issued {
                client_id: &pending.request.wanted.client_id,
                code: pending.code,
                expires_at: pending.request.expires_at,
                standing: Standing::Pending,
            }),
            Self::Approved { decided, .. } => Some(decided.issued(Standing::Approved)),
            Self::Denied { decided, why } => Some(decided.issued(Standing::Denied(why))),
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

impl ApprovalRequest {
    /// Says what was asked: the scope, and of which types the details are.
    fn record_of_question(&self) -> Record {
        let record = self.record("approval.asked").with("scope", self.wanted.scopes.to_string());
        let types = self.wanted.details.kinds();
        if types.is_empty() { record } else { record.with("authorization_details", types) }
    }

    fn record(&self, event: &'static str) -> Record {
        let record = Record::new(event)
            .with("client_id", self.wanted.client_id.as_str())
            .with("account", self.account.as_str());
        match &self.wanted.organization {
            Some(slug) => record.in_organization(slug),
            None => record,
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
            Command::Deny { account, why } => self.deny(account, why, now),
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
            // No such pair is ever decided.
            (Event::Approved { .. } | Event::Denied { .. }, _) => return,
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

    fn listings(&self) -> Vec<Listing> {
        let Self::Pending(pending) = self else { return Vec::new() };
        let ApprovalRequest { account, expires_at, .. } = &pending.request;
        vec![Listing::new(APPROVALS, account, format!("{:015}", expires_at.millis()))]
    }
}

#[cfg(test)]
mod tests;
