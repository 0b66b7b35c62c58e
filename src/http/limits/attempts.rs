//! Attempts against an authenticator of an identifier: charged before they are made, whether or not
//! anybody has that identifier.

use crate::http::{
    answer::{error::Problem, retry_after::RetryAfter},
    vitals::Vitals,
};
use crate::{
    actors::{Entities, Failure, StartError},
    crypto::Pseudonyms,
    domain::{
        Clock, Machine as _,
        throttle::{Command, Pace, Refusal, Throttle},
    },
    system::System,
};
use std::sync::Arc;

/// Where attempts are charged.
pub struct Attempts {
    throttles: Entities<Throttle>,
    pseudonyms: Pseudonyms,
    clock: Arc<dyn Clock>,
    vitals: Arc<Vitals>,
    pace: Pace,
}

/// An attempt that may be made; it counts as a failure unless it is said to be right.
#[must_use = "an attempt that was right must be cleared"]
pub struct Attempt<'a> {
    throttles: &'a Entities<Throttle>,
    pace: Pace,
    id: String,
}

/// Why an attempt may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCharged {
    TooMany(RetryAfter),
    /// What cannot be counted is not done.
    Unavailable,
}

impl Attempts {
    /// Opens the door to the throttles; with no `limits` only failures in a row are bounded.
    pub async fn new(
        system: &System,
        vitals: Arc<Vitals>,
        limits: bool,
    ) -> Result<Self, StartError> {
        Ok(Self {
            throttles: system.host().await?,
            pseudonyms: system.pseudonyms(),
            clock: system.clock(),
            vitals,
            pace: if limits { Pace::default() } else { Pace::unhurried() },
        })
    }

    /// Charges an attempt against `authenticator` (such as `password`) of a normalised identifier.
    pub async fn charge(
        &self,
        authenticator: &'static str,
        identifier: &str,
    ) -> Result<Attempt<'_>, NotCharged> {
        let id = self.pseudonyms.name(Throttle::KIND, &[authenticator, identifier]);
        match self.throttles.ask(&id, Command::Charge { pace: self.pace }).await {
            Ok(()) => Ok(Attempt { throttles: &self.throttles, pace: self.pace, id }),
            Err(Failure::Refused(Refusal::TooMany { retry_at })) => {
                self.vitals.limited_identifier();
                Err(NotCharged::TooMany(RetryAfter::until(retry_at, self.clock.now())))
            }
            Err(failure) => {
                tracing::warn!(%failure, "an attempt could not be charged");
                Err(NotCharged::Unavailable)
            }
        }
    }
}

impl Attempt<'_> {
    /// Says that it was not made, for a reason of our own.
    pub async fn refund(self) {
        let refund = Command::Refund { pace: self.pace };
        if let Err(failure) = self.throttles.ask(&self.id, refund).await {
            tracing::warn!(%failure, "an attempt that was not made stays charged");
        }
    }

    /// Says that it was right; nothing is held against anybody any more.
    pub async fn clear(self) {
        // What stays charged is at worst one failure too many.
        if let Err(failure) = self.throttles.ask(&self.id, Command::Clear).await {
            tracing::warn!(%failure, "an attempt that was right stays charged");
        }
    }
}

impl From<NotCharged> for Problem {
    fn from(why: NotCharged) -> Self {
        match why {
            NotCharged::TooMany(wait) => wait.into(),
            NotCharged::Unavailable => Self::UNAVAILABLE,
        }
    }
}
