//! The answer to an ask; failures are told apart by what the caller may do next.

use crate::domain::Machine;
use std::{error::Error, iter::successors};

/// The answer to an ask.
pub type Answer<M> =
    Result<VersionedReply<<M as Machine>::Reply>, Failure<<M as Machine>::Refusal>>;

/// A reply, and the version of the entity that it is true of; 0 where there is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionedReply<R> {
    pub reply: R,
    pub version: i64,
}

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure<R> {
    /// The machine decided so; what it wanted recorded is durable.
    #[error("refused")]
    Refused(R),
    /// Another entity holds a name this one asked for.
    #[error("the name is taken")]
    Taken { space: &'static str },
    /// Another entity, of this kind, is no longer what the decision rests on. Nothing was written:
    /// read again and ask anew.
    #[error("a fact this rests on has changed")]
    Unmet { kind: &'static str },
    /// The entity is at another version than the caller asked for; nothing was decided.
    #[error("the entity is at version {version}")]
    OtherVersion { version: i64 },
    /// Other nodes kept changing the entity; nothing was written.
    #[error("too many writers at once")]
    Contended,
    /// More is waiting than may wait; nothing was begun.
    #[error("too much is waiting")]
    Busy,
    /// The entity or its store cannot serve now; nothing was written.
    #[error("not available now")]
    Unavailable,
    /// The timeout passed; it may still happen. Commands of an entity are in order on this node, so
    /// the answer to the next ask comes after this one has ended and says whether it happened.
    #[error("no answer in time")]
    Late,
    /// COMMIT was sent and not answered, or the actor died. The next ask reads the row; only a COMMIT
    /// that is still on its way to the database can land after that, and it loses to any commit made
    /// meanwhile. A caller compares what it drew (a fingerprint) with what stands.
    #[error("the outcome is unknown")]
    Unknown,
}

/// The answer of a machine that decided so, at this version of its row.
pub(super) fn answer<M: Machine>(outcome: Result<M::Reply, M::Refusal>, version: i64) -> Answer<M> {
    outcome.map(|reply| VersionedReply { reply, version }).map_err(Failure::Refused)
}

/// Words an error with its causes, for a log line.
pub(super) fn causes(error: &dyn Error) -> String {
    let causes = successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl<R> Failure<R> {
    /// The same of another machine, whose refusal this one stands for; `Err` where it is none of its own.
    pub fn map_refusal<S, E>(self, map: impl FnOnce(R) -> Result<S, E>) -> Result<Failure<S>, E> {
        Ok(match self {
            Self::Refused(refusal) => Failure::Refused(map(refusal)?),
            Self::Taken { space } => Failure::Taken { space },
            Self::Unmet { kind } => Failure::Unmet { kind },
            Self::OtherVersion { version } => Failure::OtherVersion { version },
            Self::Contended => Failure::Contended,
            Self::Busy => Failure::Busy,
            Self::Unavailable => Failure::Unavailable,
            Self::Late => Failure::Late,
            Self::Unknown => Failure::Unknown,
        })
    }

    /// Tells whether asking again later makes sense.
    pub fn is_retryable(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::Taken { .. } | Self::OtherVersion { .. })
    }

    /// Tells whether the command may have taken effect all the same.
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Late | Self::Unknown)
    }
}
