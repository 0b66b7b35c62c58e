//! Why an ask was not granted, told apart by what the asker may do next.

use crate::domain::Machine;
use std::{error::Error, iter::successors};

/// The answer to an ask.
pub type Answer<M> = Result<<M as Machine>::Reply, Failure<<M as Machine>::Refusal>>;

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure<R> {
    /// The machine decided so; what it wanted recorded is durable.
    #[error("refused")]
    Refused(R),
    /// Another entity holds a name this one asked for.
    #[error("the name is taken")]
    Taken { space: &'static str },
    /// Another entity no longer is what the decision rests on; look again and ask anew.
    #[error("a fact this rests on has changed")]
    Unmet { kind: &'static str },
    /// Other nodes kept changing the entity; nothing was written.
    #[error("too many writers at once")]
    Contended,
    /// More is waiting than may wait; nothing was begun.
    #[error("too much is waiting")]
    Busy,
    /// The entity or its store cannot serve now; nothing was written.
    #[error("not available now")]
    Unavailable,
    /// The deadline passed; it may still happen.
    #[error("no answer in time")]
    Late,
    /// It may or may not have happened; the next ask sees what is true.
    #[error("the outcome is unknown")]
    Unknown,
}

/// Words an error with its causes, for a log line.
pub(super) fn causes(error: &dyn Error) -> String {
    let causes = successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl<R> Failure<R> {
    /// Tells whether asking again later makes sense.
    pub fn is_retryable(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::Taken { .. })
    }

    /// Tells whether the command may have taken effect all the same.
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Late | Self::Unknown)
    }
}
