//! An invitation: an organization asks the holder of an address to become a member.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | make | pending | the address is none |
//! | pending | accept | accepted | it has expired; the account has another address |
//! | pending | withdraw | withdrawn | |
//! | accepted, withdrawn | anything | the same | always |
//!
//! Its token is kept as a fingerprint and good for once. What the roles confer, and whether the
//! organization still has them, is looked at when it is accepted.

use super::{
    CLOCK_SKEW, Decision, Fingerprint, Listing, Machine, Record, Timestamp,
    account::normalise_email, message::Mail,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an invitation can be accepted.
pub const LIFETIME: Duration = Duration::from_hours(7 * 24);

/// The invitations of an organization.
pub const INVITATIONS: &str = "invitations";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Invitation {
    #[default]
    Unborn,
    Pending(Box<Pending>),
    /// It was accepted or withdrawn.
    Over {
        organization: String,
        /// The account that has accepted it, if one has.
        account: Option<String>,
        forget_at: Timestamp,
    },
}

/// An invitation that can be accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The address as it was written.
    pub email: String,
    /// The slug of the organization.
    pub organization: String,
    /// The names of the roles that the member will hold.
    pub roles: Vec<String>,
    /// Of its token.
    pub token: Fingerprint,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// What an invitation is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Make {
    pub email: String,
    pub organization: String,
    pub roles: Vec<String>,
    pub token: Fingerprint,
    /// The mail that carries its link, where mail is sent.
    pub mail: Option<Mail>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Make(Box<Make>),
    Accept {
        /// The id of the account.
        account: String,
        /// Its address.
        email: String,
    },
    Withdraw,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Made(Box<Pending>),
    Accepted { account: String },
    Withdrawn,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Made,
    /// It was pending until now.
    Accepted(Box<Pending>),
    Withdrawn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("is no e-mail address")]
    Email,
    #[error("there is no such invitation that can be accepted")]
    NotPending,
    #[error("the account has another address")]
    OtherAddress,
}

impl Invitation {
    /// Returns the invitation, if `token` is its own and it can be accepted now.
    pub fn opened_by(&self, token: Fingerprint, now: Timestamp) -> Option<&Pending> {
        self.pending(now).filter(|pending| pending.token == token)
    }

    /// Returns the invitation, if it can be accepted now.
    pub fn pending(&self, now: Timestamp) -> Option<&Pending> {
        match self {
            Self::Pending(pending) if now < pending.expires_at => Some(pending),
            _ => None,
        }
    }

    fn make(&self, make: &Make, now: Timestamp) -> Decision<Self> {
        if *self != Self::Unborn {
            // Ids are drawn: none is made twice.
            return Decision::refuse(Refusal::NotPending);
        }
        if normalise_email(&make.email).is_none() {
            return Decision::refuse(Refusal::Email);
        }
        let Make { email, organization, roles, token, mail } = make.clone();
        let (created_at, expires_at) = (now, now + LIFETIME);
        let record = Record::new("invitation.made").in_organization(&*organization);
        let email = email.trim().to_owned();
        let pending = Pending { email, organization, roles, token, created_at, expires_at };
        let decision =
            Decision::accept(vec![Event::Made(Box::new(pending))], Reply::Made).recording(record);
        match mail {
            Some(mail) => decision.dispatching(mail.dispatch(expires_at)),
            None => decision,
        }
    }

    fn accept(&self, account: &str, email: &str, now: Timestamp) -> Decision<Self> {
        let Some(pending) = self.pending(now) else {
            return Decision::refuse(Refusal::NotPending);
        };
        if normalise_email(email) != normalise_email(&pending.email) {
            return Decision::refuse(Refusal::OtherAddress);
        }
        let accepted = Event::Accepted { account: account.to_owned() };
        let record = Record::new("invitation.accepted").in_organization(&*pending.organization);
        Decision::accept(vec![accepted], Reply::Accepted(Box::new(pending.clone())))
            .recording(record.with("account", account))
    }
}

impl Machine for Invitation {
    const KIND: &'static str = "invitation";
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Make(make), _) => self.make(make, now),
            (Command::Accept { account, email }, _) => self.accept(account, email, now),
            (Command::Withdraw, Self::Pending(pending)) => {
                let record = Record::new("invitation.withdrawn");
                Decision::accept(vec![Event::Withdrawn], Reply::Withdrawn)
                    .recording(record.in_organization(&*pending.organization))
            }
            (Command::Withdraw, _) => Decision::refuse(Refusal::NotPending),
        }
    }

    fn apply(&mut self, event: &Event) {
        let account = match (event, &mut *self) {
            (Event::Made(pending), this) => {
                *this = Self::Pending(pending.clone());
                return;
            }
            (Event::Accepted { account }, _) => Some(account.clone()),
            (Event::Withdrawn, _) => None,
        };
        if let Self::Pending(pending) = self {
            let forget_at = pending.expires_at + CLOCK_SKEW;
            *self = Self::Over { organization: pending.organization.clone(), account, forget_at };
        }
    }

    fn live_until(&self) -> Timestamp {
        match self {
            Self::Pending(pending) => pending.expires_at,
            Self::Unborn | Self::Over { .. } => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Pending(pending) => Some(pending.expires_at + CLOCK_SKEW),
            Self::Over { forget_at, .. } => Some(*forget_at),
        }
    }

    fn listings(&self) -> Vec<Listing> {
        let Self::Pending(pending) = self else { return Vec::new() };
        let rank = format!("{:015}", pending.created_at.millis());
        vec![Listing::new(INVITATIONS, &*pending.organization, rank)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn ask(
        invitation: &mut Invitation,
        command: &Command,
        now: Timestamp,
    ) -> Result<Reply, Refusal> {
        let decision = invitation.decide(command, now);
        for event in &decision.events {
            invitation.apply(event);
        }
        decision.outcome
    }

    fn token() -> Fingerprint {
        Fingerprint::of(b"token")
    }

    fn made() -> Invitation {
        let mut invitation = Invitation::default();
        let make = Make {
            email: "Eva@acme.test".to_owned(),
            organization: "acme".to_owned(),
            roles: vec!["clerk".to_owned()],
            token: token(),
            mail: None,
        };
        assert_eq!(ask(&mut invitation, &Command::Make(Box::new(make)), NOW), Ok(Reply::Made));
        invitation
    }

    fn accept(email: &str) -> Command {
        Command::Accept { account: "eva".to_owned(), email: email.to_owned() }
    }

    #[test]
    fn an_invitation_is_accepted_once_and_in_time() {
        let mut invitation = made();
        assert!(invitation.opened_by(token(), NOW).is_some());
        assert!(invitation.opened_by(Fingerprint::of(b"other"), NOW).is_none());
        assert!(invitation.opened_by(token(), NOW + LIFETIME).is_none());
        let late = ask(&mut invitation.clone(), &accept("eva@acme.test"), NOW + LIFETIME);
        assert_eq!(late, Err(Refusal::NotPending));
        let accepted = ask(&mut invitation, &accept("eva@ACME.test"), NOW);
        assert!(matches!(accepted, Ok(Reply::Accepted(pending)) if pending.roles == ["clerk"]));
        let again = ask(&mut invitation, &accept("eva@acme.test"), NOW);
        assert_eq!(again, Err(Refusal::NotPending));
        assert!(invitation.opened_by(token(), NOW).is_none());
        assert_eq!(ask(&mut invitation, &Command::Withdraw, NOW), Err(Refusal::NotPending));
    }

    #[test]
    fn it_is_for_one_address_and_can_be_withdrawn() {
        let mut invitation = made();
        let other = ask(&mut invitation, &accept("ana@acme.test"), NOW);
        assert_eq!(other, Err(Refusal::OtherAddress));
        assert_eq!(ask(&mut invitation, &Command::Withdraw, NOW), Ok(Reply::Withdrawn));
        let late = ask(&mut invitation, &accept("eva@acme.test"), NOW);
        assert_eq!(late, Err(Refusal::NotPending));
        let text = serde_json::to_string(&invitation).unwrap();
        assert_eq!(serde_json::from_str::<Invitation>(&text).unwrap(), invitation);
        assert!(!text.contains("eva"), "what is over keeps no address: {text}");
    }
}
