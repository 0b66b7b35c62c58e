//! What waits for the decision of a person elsewhere, as the client that polls sees it (RFC 8628 §3.5, CIBA
//! Core §11).
//!
//! | status | poll | answer |
//! |---|---|---|
//! | any | another code, another client | refused, before anything is said of it |
//! | pending | in time | still pending: nothing is committed |
//! | pending | after its end | refused: expired |
//! | approved | any time | its family decides; whether it was in time is told |
//! | denied | any time | refused, with the reason |

use super::{Fingerprint, Machine, Timestamp, authorization::Denial};

/// A client that asks whether it was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poll {
    pub client_id: String,
    pub code: Fingerprint,
}

/// A code that was issued to a client, and the status of its decision.
pub struct AwaitedCode<'a> {
    pub client_id: &'a str,
    pub code: Fingerprint,
    pub expires_at: Timestamp,
    pub standing: DecisionStatus<'a>,
}

pub enum DecisionStatus<'a> {
    Pending,
    Approved,
    Denied(&'a Denial),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// No person has decided yet.
    StillPending,
    /// Its family says what is issued.
    Redeemable {
        /// The code has not expired.
        in_time: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PollRefusal {
    #[error("the code has expired")]
    Expired,
    #[error("no such code was issued")]
    Unknown,
    #[error("the code was issued to another client")]
    WrongClient,
    #[error("the request was denied")]
    Denied(Denial),
}

/// A machine that a client polls.
pub trait Awaited: Machine<Refusal: std::fmt::Display> {
    fn command(poll: Poll) -> Self::Command;

    /// Returns what a client that has polled is told, if this is the reply to that.
    fn polled(reply: Self::Reply) -> Option<Polled>;

    /// Returns why a poll was refused, if it was one.
    fn refused(refusal: &Self::Refusal) -> Option<&PollRefusal>;
}

impl AwaitedCode<'_> {
    /// Answers the client that polls.
    pub fn poll(&self, poll: &Poll, now: Timestamp) -> Result<Polled, PollRefusal> {
        if self.code != poll.code {
            return Err(PollRefusal::Unknown);
        }
        // RFC 8628 §3.4: before anything is said of it.
        if self.client_id != poll.client_id {
            return Err(PollRefusal::WrongClient);
        }
        let in_time = now < self.expires_at;
        match self.standing {
            DecisionStatus::Denied(why) => Err(PollRefusal::Denied(why.clone())),
            DecisionStatus::Approved => Ok(Polled::Redeemable { in_time }),
            DecisionStatus::Pending if in_time => Ok(Polled::StillPending),
            DecisionStatus::Pending => Err(PollRefusal::Expired),
        }
    }
}
