//! Idempotent retries: asks again while facts change, and while it is not known what came of an ask.
//!
//! An ask may end without an answer: late, or with a commit of unknown fate. It may still be carried
//! out, in a moment or already. A caller that is then told to come back would present what is spent. So
//! the handler asks the very same again: with the secrets that it drew for this request alone, by which
//! the machine knows a command that it has carried out, and answers as the first time. Only where even
//! that stays without an answer the caller hears that the outcome is not known, and is not told to retry.
//!
//! ```text
//! let mut tries = Retries::new();
//! loop {
//!     let facts = tries.read(gather(tries.anew()).await)?;
//!     match entities.ask(id, command(facts)).await {
//!         Ok(reply) => break reply,
//!         Err(failure) => tries.after(failure).await?,
//!     }
//! }
//! ```

use crate::{
    actors::{Failure, HydrateError},
    clock::Stopwatch,
    http::answer::error::{OAuthError, Problem},
};
use std::time::Duration;

/// How often something is asked.
const TRIES: u32 = 4;

/// After this time nothing is asked again. With the last ask it is less than the time that a request
/// has: past that, the caller would be told to come back.
const LONGEST: Duration = Duration::from_secs(15);

/// The first pause before what is in doubt is asked again; each next is four times as long.
const PAUSE: Duration = Duration::from_millis(100);

/// The retries of one request.
pub struct Retries {
    made: u32,
    /// An ask that was made may have been carried out.
    in_doubt: bool,
    since: Stopwatch,
}

/// Why there is no further try.
#[derive(Debug)]
pub enum FinalFailure<R> {
    /// Nothing was carried out.
    Failed(Failure<R>),
    /// Nothing was carried out: what it rests on cannot be read.
    Unreadable(HydrateError),
    /// It may have been carried out, and what came of it could not be learned.
    Unknown,
}

impl Retries {
    pub fn new() -> Self {
        Self { made: 0, in_doubt: false, since: Stopwatch::start() }
    }

    /// Tells whether everything must be read again: what was seen before may be why it failed.
    pub fn anew(&self) -> bool {
        self.made > 0
    }

    /// Goes on with what was read, if it could be.
    pub fn read<T, R>(&self, read: Result<T, HydrateError>) -> Result<T, FinalFailure<R>> {
        read.map_err(|error| {
            if self.in_doubt { FinalFailure::Unknown } else { FinalFailure::Unreadable(error) }
        })
    }

    /// Returns when it is time to ask again; says why there is no further try otherwise.
    pub async fn after<R>(&mut self, failure: Failure<R>) -> Result<(), FinalFailure<R>> {
        if let Some(pause) = self.pause_after(failure)? {
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    fn pause_after<R>(&mut self, failure: Failure<R>) -> Result<Option<Duration>, FinalFailure<R>> {
        self.in_doubt |= failure.may_have_happened();
        match failure {
            // They were judged on what is stored now.
            Failure::Refused(_) | Failure::Taken { .. } => {
                return Err(FinalFailure::Failed(failure));
            }
            Failure::Contended | Failure::Busy | Failure::Unavailable if !self.in_doubt => {
                return Err(FinalFailure::Failed(failure));
            }
            _ => {}
        }
        self.made += 1;
        if self.made == TRIES || self.since.elapsed() > LONGEST {
            let unknown = self.in_doubt;
            return Err(if unknown {
                FinalFailure::Unknown
            } else {
                FinalFailure::Failed(failure)
            });
        }
        Ok(self.in_doubt.then(|| PAUSE * 4_u32.pow(self.made - 1)))
    }
}

/// The same in the words of RFC 9457.
impl<R> From<FinalFailure<R>> for Problem
where
    Self: From<Failure<R>>,
{
    fn from(stopped: FinalFailure<R>) -> Self {
        match stopped {
            FinalFailure::Failed(failure) => failure.into(),
            FinalFailure::Unreadable(error) => error.into(),
            FinalFailure::Unknown => Self::OUTCOME_UNKNOWN,
        }
    }
}

/// The same in the words of RFC 6749, for what is refused to no client.
impl<R: std::fmt::Debug> From<FinalFailure<R>> for OAuthError {
    fn from(stopped: FinalFailure<R>) -> Self {
        match stopped {
            FinalFailure::Failed(failure) => Self::unavailable().because(failure.to_string()),
            FinalFailure::Unreadable(error) => error.into(),
            FinalFailure::Unknown => Self::OUTCOME_UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(failures: Vec<Failure<()>>) -> Option<FinalFailure<()>> {
        let mut tries = Retries::new();
        failures.into_iter().find_map(|failure| tries.pause_after(failure).err())
    }

    #[test]
    fn what_changes_is_read_again_and_what_is_refused_is_not() {
        let unmet = || Failure::Unmet { kind: "membership" };
        assert!(after(vec![unmet(), unmet(), unmet()]).is_none());
        let stopped = after(vec![unmet(), unmet(), unmet(), unmet()]);
        assert!(
            matches!(stopped, Some(FinalFailure::Failed(Failure::Unmet { .. }))),
            "{stopped:?}"
        );
        let stopped = after(vec![unmet(), Failure::Refused(())]);
        assert!(matches!(stopped, Some(FinalFailure::Failed(Failure::Refused(())))), "{stopped:?}");
        let stopped = after(vec![Failure::Busy]);
        assert!(matches!(stopped, Some(FinalFailure::Failed(Failure::Busy))), "{stopped:?}");
    }

    #[test]
    fn only_what_was_not_carried_out_is_told_to_come_back() {
        use crate::domain::flow::Refusal;
        let problem = |stopped: FinalFailure<Refusal>| Problem::from(stopped).status.as_u16();
        assert_eq!(problem(FinalFailure::Failed(Failure::Busy)), 503);
        let newer = HydrateError::TooNew { kind: "flow", id: String::new(), revision: 9 };
        assert_eq!(problem(FinalFailure::Unreadable(newer)), 503);
        assert_eq!(problem(FinalFailure::Unknown), 500);
        assert_eq!(problem(FinalFailure::Failed(Failure::Refused(Refusal::Over))), 409);
    }

    #[test]
    fn what_is_in_doubt_stays_so_until_there_is_an_answer() {
        for first in [Failure::Late, Failure::Unknown] {
            assert!(after(vec![first]).is_none());
            assert!(after(vec![first, Failure::Unavailable, Failure::Busy]).is_none());
            let many = vec![first, Failure::Busy, Failure::Contended, Failure::Unavailable];
            assert!(matches!(after(many), Some(FinalFailure::Unknown)));
            let refused = after(vec![first, Failure::Refused(())]);
            assert!(matches!(refused, Some(FinalFailure::Failed(Failure::Refused(())))));
        }
    }
}
