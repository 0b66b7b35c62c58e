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
    Poll {
        client_id: String,
        code: Fingerprint,
    },
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
    /// No person has decided yet.
    StillPending,
    /// Its family says what is issued.
    Redeemable {
        /// The device code has not expired.
        in_time: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such grant that waits for a person")]
    NotPending,
    #[error("the device code has expired")]
    Expired,
    #[error("no such device code was issued")]
    Unknown,
    #[error("the device code was issued to another client")]
    WrongClient,
    #[error("the request was denied")]
    Denied(Denial),
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
        match self {
            Self::Unborn => None,
            Self::Pending(pending) => Some(pending.request.expires_at),
            Self::Approved(decided) | Self::Denied { decided, .. } => Some(decided.expires_at),
        }
    }

    fn approve(&self, id: &str, grant: &Grant, now: Timestamp) -> Decision<Self> {
        let Some(pending) = self.pending(now) else { return Decision::refuse(Refusal::NotPending) };
        if grant.client_id != pending.request.wanted.client_id {
            return Decision::refuse(Refusal::WrongClient);
        }
        let begin = token_family::Begin {
            grant: grant.clone(),
            code: pending.code,
            code_lives: pending.request.expires_at.since(now),
            redirect_uri: String::new(),
            // The device code is its own verifier: it never left the device.
            challenge: pending.code,
            nonce: None,
            pushed: None,
            requirements: Vec::new(),
        };
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

    fn poll(&self, client_id: &str, code: Fingerprint, now: Timestamp) -> Decision<Self> {
        let (issued_to, issued) = match self {
            Self::Unborn => return Decision::refuse(Refusal::Expired),
            Self::Pending(pending) => (&pending.request.wanted.client_id, pending.code),
            Self::Approved(decided) | Self::Denied { decided, .. } => {
                (&decided.client_id, decided.code)
            }
        };
        if issued != code {
            return Decision::refuse(Refusal::Unknown);
        }
        // RFC 8628 §3.4: before anything is said of it.
        if issued_to != client_id {
            return Decision::refuse(Refusal::WrongClient);
        }
        match self {
            Self::Denied { why, .. } => Decision::refuse(Refusal::Denied(why.clone())),
            Self::Approved(decided) => {
                let in_time = now < decided.expires_at;
                Decision::accept(Vec::new(), Reply::Redeemable { in_time })
            }
            _ if self.pending(now).is_none() => Decision::refuse(Refusal::Expired),
            _ => Decision::accept(Vec::new(), Reply::StillPending),
        }
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
            Command::Poll { client_id, code } => self.poll(client_id, *code, now),
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
