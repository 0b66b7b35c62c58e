//! An invitation: an organization asks the holder of an address to become a member.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | make | pending | the address is none |
//! | pending | accept | accepted | it has expired; the account has another address |
//! | pending | withdraw | withdrawn | |
//! | accepted, withdrawn | anything | the same | always |
//!
//! Its token is kept as a fingerprint and good for once. What the roles confer, whether the organization
//! still has them, and whether the inviter still holds them, is looked at when it is accepted.
//!
//! An address has one pending invitation into an organization: a new one takes the place of the former, which
//! is withdrawn in the same commit, as it is when the membership of its person ends (adr/0107).

use super::{
    CLOCK_SKEW, Decision, DeliveryKey, Fingerprint, Listing, Machine, Name, Record, Timestamp,
    account::normalise_email, message::Mail,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an invitation can be accepted.
pub const LIFETIME: Duration = Duration::from_hours(7 * 24);

/// The invitations of an organization.
pub const INVITATIONS: &str = "invitations";

/// The space of pairs of an organization and an address: they have one pending invitation.
pub const PENDING_INVITATIONS: &str = "pending_invitations";

/// Returns the name of the pending invitation of an address into the organization `slug`.
pub fn pending_name(slug: &str, email: &str) -> String {
    let address = normalise_email(email);
    format!("{slug}:{}", address.as_deref().unwrap_or(email))
}

/// On whose authority an invitation was made, where it was not the operator's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inviter {
    Member {
        account: String,
        membership: String,
    },
    /// A holder of `organizations:administer`.
    Administrator {
        account: String,
    },
    Client {
        client_id: String,
    },
    ApiKey {
        id: String,
    },
    /// A directory, by SCIM: it rests on the membership that waits for the person, since keys are rotated.
    Directory {
        membership: String,
    },
}

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
    /// `None` for one of the operator's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inviter: Option<Inviter>,
}

/// What an invitation is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Make {
    pub email: String,
    pub organization: String,
    pub roles: Vec<String>,
    pub token: Fingerprint,
    pub inviter: Option<Inviter>,
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
        let Make { email, organization, roles, token, inviter, mail } = make.clone();
        let (created_at, expires_at) = (now, now + LIFETIME);
        let record = Record::new("invitation.made").in_organization(&*organization);
        let email = email.trim().to_owned();
        let key = DeliveryKey::organization(&organization);
        let pending =
            Pending { email, organization, roles, token, created_at, expires_at, inviter };
        let decision =
            Decision::accept(vec![Event::Made(Box::new(pending))], Reply::Made).recording(record);
        match mail {
            Some(mail) => decision.dispatching(mail.dispatch(expires_at).keyed(key)),
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
    /// 2: who has invited; 3: a directory.
    const REVISION: u32 = 3;
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

    fn names(&self) -> Vec<Name> {
        let Self::Pending(pending) = self else { return Vec::new() };
        vec![Name::new(PENDING_INVITATIONS, pending_name(&pending.organization, &pending.email))]
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
            inviter: Some(Inviter::Client { client_id: "app".to_owned() }),
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
        assert_eq!(invitation.names()[0].name, "acme:eva@acme.test");
        let text = serde_json::to_string(&invitation).unwrap();
        assert_eq!(serde_json::from_str::<Invitation>(&text).unwrap(), invitation);
        let other = ask(&mut invitation, &accept("ana@acme.test"), NOW);
        assert_eq!(other, Err(Refusal::OtherAddress));
        assert_eq!(ask(&mut invitation, &Command::Withdraw, NOW), Ok(Reply::Withdrawn));
        let late = ask(&mut invitation, &accept("eva@acme.test"), NOW);
        assert_eq!(late, Err(Refusal::NotPending));
        let text = serde_json::to_string(&invitation).unwrap();
        assert_eq!(serde_json::from_str::<Invitation>(&text).unwrap(), invitation);
        assert!(!text.contains("eva"), "what is over keeps no address: {text}");
        assert!(invitation.names().is_empty(), "another one may be made");
    }
}
