//! A device authorization grant (RFC 8628): a device asks, a person decides elsewhere.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | begin | pending | |
//! | unborn | poll | unborn | always: what was issued and is gone has expired |
//! | pending | show | pending | it has expired |
//! | pending | approve | approved, and its token family is born | it has expired; the grant is another client's |
//! | pending | deny | denied | it has expired |
//! | pending | poll | pending: nothing is committed | it has expired; another client; another code |
//! | approved | poll | approved: the family decides | another client; another code |
//! | denied | poll | denied | always |
//! | any but unborn | begin | the same | always |
//! | unborn, approved, denied | show, approve, deny | the same | always |
//!
//! The family has the id of the grant, and its code is the device code. What happens to a code that
//! comes twice, on two nodes, or after a recovery, is therefore the family's to say (adr/0069).

use super::{
    CLOCK_SKEW, Decision, Device, Fingerprint, Machine, Name, Record, Timestamp,
    authorization::{Denial, RequestedGrant},
    awaited::{Awaited, AwaitedCode, DecisionStatus, Poll, PollRefusal, Polled},
    grant::Grant,
    token_family::{self, TokenFamily},
};
use serde::{Deserialize, Serialize};

/// The user codes of grants that wait for a person, as keyed hashes.
pub const USER_CODES: &str = "device_user_codes";

/// The letters of user codes: no vowels, so that they spell nothing, and no look-alikes.
pub const USER_CODE_LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// How many letters a user code has: 20^8 of them.
pub const USER_CODE_LENGTH: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceGrant {
    #[default]
    Unborn,
    Pending(Box<Pending>),
    /// A person said yes, and its family was born.
    Approved(Decided),
    Denied {
        #[serde(flatten)]
        decided: Decided,
        why: Denial,
    },
}

/// A grant that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Of the device code.
    pub code: Fingerprint,
    /// A keyed hash of the user code.
    pub user_code: String,
    #[serde(flatten)]
    pub request: DeviceRequest,
}

/// What a device asks for, and from where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRequest {
    pub wanted: RequestedGrant,
    /// Where the device asked from.
    pub from: Device,
    pub expires_at: Timestamp,
}

/// What is kept of a grant that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub client_id: String,
    /// Of the device code.
    pub code: Fingerprint,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Begin(Box<Pending>),
    /// What is asked for.
    Show,
    Approve {
        /// The id of this grant; its family has the same.
        id: String,
        grant: Box<Grant>,
    },
    Deny {
        /// The id of the account.
        account: String,
        why: Denial,
    },
    /// The device asks whether it was decided.
    Poll(Poll),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Begun(Box<Pending>),
    Approved,
    Denied { why: Denial },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Begun,
    Shown(Box<DeviceRequest>),
    Approved,
    Denied,
    Polled(Polled),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such grant that waits for a person")]
    NotPending,
    #[error("the grant is another client's")]
    WrongClient,
    #[error(transparent)]
    Poll(#[from] PollRefusal),
}

/// Reads a user code as people write it: in any case, with any dashes and blanks.
pub fn normalise_user_code(text: &str) -> Option<String> {
    // A hostile text is not read to its end.
    let letters = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '–' | '_'));
    let mut code = String::with_capacity(USER_CODE_LENGTH);
    for letter in letters {
        let letter = letter.to_ascii_uppercase();
        let known = u8::try_from(letter).is_ok_and(|byte| USER_CODE_LETTERS.contains(&byte));
        if !known || code.len() == USER_CODE_LENGTH {
            return None;
        }
        code.push(letter);
    }
    (code.len() == USER_CODE_LENGTH).then_some(code)
}

impl DeviceGrant {
    /// Returns what waits for a person.
    pub fn pending(&self, now: Timestamp) -> Option<&Pending> {
        match self {
            Self::Pending(pending) if now < pending.request.expires_at => Some(pending),
            _ => None,
        }
    }

    /// Returns when the device code ends, if it is known.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.issued().map(|issued| issued.expires_at)
    }

    fn approve(&self, id: &str, grant: &Grant, now: Timestamp) -> Decision<Self> {
        let Some(pending) = self.pending(now) else { return Decision::refuse(Refusal::NotPending) };
        if grant.client_id != pending.request.wanted.client_id {
            return Decision::refuse(Refusal::WrongClient);
        }
        let lives = pending.request.expires_at.since(now);
        let begin = token_family::Begin::awaited(grant.clone(), pending.code, lives);
        Decision::accept(vec![Event::Approved], Reply::Approved)
            .bearing(TokenFamily::birth(id, begin, now))
            .recording(grant.record("device.approved"))
    }

    fn deny(&self, account: &str, why: &Denial, now: Timestamp) -> Decision<Self> {
        let Some(pending) = self.pending(now) else { return Decision::refuse(Refusal::NotPending) };
        let client_id = pending.request.wanted.client_id.as_str();
        let record = Record::new("device.denied").with("client_id", client_id);
        Decision::accept(vec![Event::Denied { why: why.clone() }], Reply::Denied)
            .recording(record.with("account", account))
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
            Self::Approved(decided) => Some(decided.issued(DecisionStatus::Approved)),
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

impl Decided {
    fn issued<'a>(&'a self, standing: DecisionStatus<'a>) -> AwaitedCode<'a> {
        let Self { client_id, code, expires_at, .. } = self;
        AwaitedCode { client_id, code: *code, expires_at: *expires_at, standing }
    }
}

impl Pending {
    fn decided(&self) -> Decided {
        Decided {
            client_id: self.request.wanted.client_id.clone(),
            code: self.code,
            expires_at: self.request.expires_at,
        }
    }
}

impl Awaited for DeviceGrant {
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

impl Machine for DeviceGrant {
    const KIND: &'static str = "device_grant";
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Begin(pending) if *self == Self::Unborn => {
                Decision::accept(vec![Event::Begun(pending.clone())], Reply::Begun)
            }
            // Ids are drawn: none begins twice.
            Command::Begin(_) => Decision::refuse(Refusal::NotPending),
            Command::Show => match self.pending(now) {
                None => Decision::refuse(Refusal::NotPending),
                Some(pending) => {
                    let shown = Reply::Shown(Box::new(pending.request.clone()));
                    Decision::accept(Vec::new(), shown)
                }
            },
            Command::Approve { id, grant } => self.approve(id, grant, now),
            Command::Deny { account, why } => self.deny(account, why, now),
            Command::Poll(poll) => self.poll(poll, now),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match (event, &*self) {
            (Event::Begun(pending), _) => Self::Pending(pending.clone()),
            (Event::Approved, Self::Pending(pending)) => Self::Approved(pending.decided()),
            (Event::Denied { why }, Self::Pending(pending)) => {
                Self::Denied { decided: pending.decided(), why: why.clone() }
            }
            // No such pair is ever decided.
            (Event::Approved | Event::Denied { .. }, _) => return,
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

    /// Once it was decided, another device may show the same code.
    fn names(&self) -> Vec<Name> {
        match self {
            Self::Pending(pending) => vec![Name::new(USER_CODES, &*pending.user_code)],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
