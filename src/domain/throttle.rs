//! A throttle: the rate limit of attempts against one authenticator of one identifier, whether or not it is known.
//!
//! Its id is a keyed hash of both, so that the table does not tell who exists. An attempt is charged
//! before it is made and counts as a failure until it was seen to be right: however many requests
//! race, no more attempts are made than were charged.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | full | charge | charged | |
//! | charged | charge | charged once more | the allowance is used up, until a part of it has come back |
//! | exhausted: charged as often as failures are borne | charge | exhausted | always, until it is forgotten |
//! | any | clear: the attempt was right | full | |
//! | any | unlock, by an operator | full | |
//! | charged | refund: it was not made | charged once less | |
//!
//! A pace may have a ceiling of a day beside it: both must allow a charge.
//!
//! What comes back with time is the right to try again; failures are forgotten only by the attempt
//! that is right, or after thirty days in which none was made. A refusal commits nothing: a flood
//! costs no writes. An exhausted throttle is recorded once.

use super::{Decision, Machine, Rate, Record, Timestamp, account};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// After how long without an attempt failures are forgotten.
const MEMORY: Duration = Duration::from_hours(30 * 24);

/// The authenticators that are throttled. A password and the codes that are sent are charged to the
/// normalised address, because they are tried before any account is known; what comes after them to the
/// account's id. The token of a link cannot be guessed, and is charged to nothing (adr/0105).
pub const PASSWORD: &str = "password";
pub const EMAIL_CODE: &str = "email_code";
pub const SMS_CODE: &str = "sms_code";
pub const TOTP: &str = "totp";
pub const RECOVERY_CODE: &str = "recovery_code";

/// What else is charged: messages to the address they go to, user codes of devices to the account.
pub const MESSAGE: &str = "message";
pub const USER_CODE: &str = "user_code";

/// Lists the authenticators of an account that are throttled, and what each is charged to.
pub fn charged_to(account: &account::Known) -> [(&'static str, String); 5] {
    let (address, id) = (account.normalised_email(), &account.id);
    [
        (PASSWORD, address.clone()),
        (EMAIL_CODE, address.clone()),
        (SMS_CODE, address),
        (TOTP, id.clone()),
        (RECOVERY_CODE, id.clone()),
    ]
}

/// Returns what a second factor of an account is charged to: the account; where the code would count for one organization
/// alone, that organization with it (adr/0148).
pub fn counted_for(account: &str, only_for: Option<&str>) -> String {
    only_for.map_or_else(|| account.to_owned(), |slug| format!("{account} {slug}"))
}

/// Lists everything that may be held against an account, for an operator who clears it.
pub fn held_against(account: &account::Known) -> Vec<(&'static str, String)> {
    let others = [(MESSAGE, account.normalised_email()), (USER_CODE, account.id.clone())];
    charged_to(account).into_iter().chain(others).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Throttle {
    /// No failure is held against the identifier.
    #[default]
    Full,
    Charged(Attempts),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// In a row: none of them was seen to be right.
    pub failures: u32,
    pub last_at: Timestamp,
    /// When the whole allowance will have come back.
    pub full_at: Timestamp,
    /// The same of what a day allows, where there is such a ceiling.
    #[serde(default, skip_serializing_if = "is_never")]
    pub day_full_at: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_never(at: &Timestamp) -> bool {
    *at == Timestamp::NEVER
}

/// How fast attempts may follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How many attempts may be made at once.
    pub burst: u32,
    /// How long it takes until one more may be made, to the millisecond; zero sets no pace.
    pub refill: Duration,
    /// How many failures in a row are borne.
    pub most_failures: u32,
    /// What a day allows beside it, where there is such a ceiling.
    pub day: Option<Rate>,
}

impl Pace {
    /// Bears as many failures as ever, however fast they come.
    pub fn unhurried() -> Self {
        Self { refill: Duration::ZERO, ..Self::default() }
    }

    fn rate(&self) -> Rate {
        Rate { burst: self.burst, refill: self.refill }
    }
}

impl Default for Pace {
    /// NIST SP 800-63B-4 §3.2.2: no more than 100 consecutive failures.
    fn default() -> Self {
        Self { burst: 10, refill: Duration::from_secs(30), most_failures: 100, day: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// An attempt is about to be made.
    Charge { pace: Pace },
    /// It was right.
    Clear,
    /// It was not made after all.
    Refund { pace: Pace },
    /// An operator clears what is held against an account.
    Unlock { account: String, authenticator: &'static str },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Charged(Attempts),
    Cleared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("too many attempts")]
    TooMany { retry_at: Timestamp },
}

impl Attempts {
    /// When there is nothing left that is worth remembering.
    fn forget_at(&self) -> Timestamp {
        self.full_at.max(self.day_full_at).max(self.last_at + MEMORY)
    }

    /// Charges one more, or says when that may be done.
    fn charge(self, pace: Pace, now: Timestamp) -> Result<Self, Timestamp> {
        let resting = self.failures >= pace.most_failures;
        let rested_at = if resting { self.last_at + MEMORY } else { Timestamp::NEVER };
        let taken = pace.rate().take(self.full_at, now);
        let of_day = pace.day.map_or(Ok(self.day_full_at), |day| day.take(self.day_full_at, now));
        let rests = Some(rested_at).filter(|at| *at > now);
        if let Some(retry_at) = [taken.err(), of_day.err(), rests].into_iter().flatten().max() {
            return Err(retry_at);
        }
        let (full_at, day_full_at) = (taken?, of_day?);
        let failures = self.failures.saturating_add(1);
        Ok(Self { failures, last_at: now, full_at, day_full_at })
    }
}

impl Throttle {
    /// Returns the attempts that are not forgotten yet.
    fn remembered(&self, now: Timestamp) -> Attempts {
        match self {
            Self::Charged(attempts) if now < attempts.forget_at() => *attempts,
            Self::Charged(_) | Self::Full => {
                let (last_at, day_full_at) = (Timestamp::NEVER, Timestamp::NEVER);
                Attempts { failures: 0, last_at, full_at: now, day_full_at }
            }
        }
    }

    fn charge(&self, pace: Pace, now: Timestamp) -> Decision<Self> {
        let attempts = match self.remembered(now).charge(pace, now) {
            Ok(attempts) => attempts,
            Err(retry_at) => return Decision::refuse(Refusal::TooMany { retry_at }),
        };
        let held = attempts.failures.saturating_sub(1);
        let decision = Decision::accept(vec![Event::Charged(attempts)], held);
        if attempts.failures == pace.most_failures {
            let exhausted = Record::new("throttle.exhausted");
            return decision.recording(exhausted.with("failures", attempts.failures));
        }
        decision
    }
}

impl Machine for Throttle {
    const KIND: &'static str = "throttle";
    /// 2: what a day allows.
    const REVISION: u32 = 2;
    type Command = Command;
    type Event = Event;
    /// How many failures in a row were held before.
    type Reply = u32;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Charge { pace }, _) => self.charge(*pace, now),
            (Command::Refund { pace }, Self::Charged(attempts)) if attempts.failures > 0 => {
                let failures = attempts.failures - 1;
                let full_at = attempts.full_at - pace.refill;
                let refunded = Attempts { failures, full_at, ..*attempts };
                Decision::accept(vec![Event::Charged(refunded)], attempts.failures)
            }
            (Command::Refund { .. }, _) | (Command::Clear | Command::Unlock { .. }, Self::Full) => {
                Decision::accept(Vec::new(), 0)
            }
            (Command::Clear, Self::Charged(attempts)) => {
                Decision::accept(vec![Event::Cleared], attempts.failures)
            }
            (Command::Unlock { account, authenticator }, Self::Charged(attempts)) => {
                let unlocked = Record::new("throttle.unlocked")
                    .with("account", account.as_str())
                    .with("authenticator", *authenticator)
                    .with("failures", attempts.failures);
                Decision::accept(vec![Event::Cleared], attempts.failures).recording(unlocked)
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event {
            Event::Charged(attempts) => Self::Charged(*attempts),
            Event::Cleared => Self::Full,
        };
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            // There is a row all the same, if it was cleared: it says nothing.
            Self::Full => Some(Timestamp::NEVER),
            Self::Charged(attempts) => Some(attempts.forget_at()),
        }
    }

    /// What is granted is committed; to be refused a second too long does no harm, and so a flood
    /// costs no reads either.
    fn tolerates_stale(command: &Command) -> bool {
        matches!(command, Command::Charge { .. })
    }
}

#[cfg(test)]
mod tests;
