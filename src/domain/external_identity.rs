//! An external identity: a subject at a connection, and the account that it leads to (adr/0135).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | link | linked | the pair is linked already: its name is taken |
//! | linked | unlink | **unlinked**; the pair may be linked again, as another identity | |
//!
//! It is never found by an e-mail address. It leads somewhere only while its connection is there.

use super::{
    Birth, Decision, Listing, Machine, Name, Record, Timestamp, organization::ORGANIZATION_DELETED,
};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// The identities of an account, in the order in which they were linked.
pub const ACCOUNT_IDENTITIES: &str = "account_identities";

/// The identities of a connection.
pub const CONNECTION_IDENTITIES: &str = "connection_identities";

/// The space of pairs of a connection and a subject.
pub const EXTERNAL_IDENTITIES: &str = "external_identities";

/// No account has more.
pub const MOST_IDENTITIES: u32 = 100;

/// No provider has a longer subject (OIDC Core §2).
pub const LONGEST_SUBJECT: usize = 255;

/// For so long an unlinked identity is kept: no token that names it lives longer.
const KEPT_AFTER_UNLINKING: Duration = Duration::from_hours(31 * 24);

/// Returns the name of a subject at a connection.
pub fn identity_name(connection: &str, subject: &str) -> String {
    format!("{connection} {subject}")
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExternalIdentity {
    #[default]
    Unborn,
    Linked(Box<Linked>),
    Unlinked {
        forget_at: Timestamp,
    },
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    pub id: String,
    /// The id of the account.
    pub account: String,
    /// The slug; `None` for an identity of no organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// The id of the connection.
    pub connection: String,
    pub subject: String,
    pub linked_at: Timestamp,
}

/// Without the subject, which says who a person is elsewhere.
impl fmt::Debug for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linked").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why an identity was linked, or is not linked any more; the security log says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The person, in a flow of theirs.
    Person,
    /// A proved domain vouches for the address of a new account.
    Domain,
    /// SCIM made the account with this subject.
    Directory,
    /// The account is erased.
    Erasure,
    /// The organization is erased.
    OrganizationErasure,
    /// The connection is gone.
    Connection,
    /// The account was recovered: what was linked before is not trusted.
    Recovery,
}

impl Cause {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Domain => "verified_domain",
            Self::Directory => "scim",
            Self::Erasure => "account_deleted",
            Self::OrganizationErasure => ORGANIZATION_DELETED,
            Self::Connection => "connection_removed",
            Self::Recovery => "account_recovered",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Link { linked: Box<Linked>, cause: Cause },
    Unlink { cause: Cause },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Linked(Box<Linked>),
    Unlinked { at: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the subject is empty, too long, or holds what cannot be shown")]
    Subject,
    #[error("there is no such identity")]
    Unknown,
}

impl ExternalIdentity {
    pub fn linked(&self) -> Option<&Linked> {
        match self {
            Self::Linked(linked) => Some(linked),
            Self::Unborn | Self::Unlinked { .. } => None,
        }
    }
}

impl Linked {
    /// Describes its birth in the commit of what makes its account.
    pub fn birth(self) -> Birth {
        Birth::of(self.id.clone(), &ExternalIdentity::Linked(Box::new(self)))
    }

    /// What the log says of it: no subject, which is a name of the person elsewhere.
    pub fn record(&self, event: &'static str, cause: Cause) -> Record {
        let record = Record::new(event).with("account", &*self.account);
        let record = record.with("connection", &*self.connection).with("cause", cause.name());
        match &self.organization {
            Some(slug) => record.in_organization(&**slug),
            None => record,
        }
    }
}

/// Tells whether this may be a subject (OIDC Core §2: at most 255 characters of ASCII).
pub fn is_subject(text: &str) -> bool {
    (1..=LONGEST_SUBJECT).contains(&text.len())
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

impl Machine for ExternalIdentity {
    const KIND: &'static str = "external_identity";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Link { linked, cause }, Self::Unborn) => {
                if !is_subject(&linked.subject) {
                    return Decision::refuse(Refusal::Subject);
                }
                let record = linked.record("identity.linked", *cause);
                Decision::accept(vec![Event::Linked(linked.clone())], ()).recording(record)
            }
            (Command::Unlink { cause }, Self::Linked(linked)) => {
                let record = linked.record("identity.unlinked", *cause);
                Decision::accept(vec![Event::Unlinked { at: now }], ()).recording(record)
            }
            _ => Decision::refuse(Refusal::Unknown),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event {
            Event::Linked(linked) => Self::Linked(linked.clone()),
            Event::Unlinked { at } => Self::Unlinked { forget_at: *at + KEPT_AFTER_UNLINKING },
        };
    }

    fn live_until(&self) -> Timestamp {
        match self {
            Self::Linked(_) => Timestamp::FOREVER,
            Self::Unborn | Self::Unlinked { .. } => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unlinked { forget_at } => Some(*forget_at),
            Self::Unborn | Self::Linked(_) => None,
        }
    }

    fn names(&self) -> Vec<Name> {
        let name = |linked: &Linked| {
            Name::new(EXTERNAL_IDENTITIES, identity_name(&linked.connection, &linked.subject))
        };
        self.linked().map(name).into_iter().collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(linked) = self.linked() else { return Vec::new() };
        let rank = format!("{:015}", linked.linked_at.millis());
        vec![
            Listing::new(ACCOUNT_IDENTITIES, &*linked.account, rank),
            Listing::new(CONNECTION_IDENTITIES, &*linked.connection, &*linked.id),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn linked(subject: &str) -> Linked {
        Linked {
            id: "i".to_owned(),
            account: "ana".to_owned(),
            organization: Some("acme".to_owned()),
            connection: "c".to_owned(),
            subject: subject.to_owned(),
            linked_at: NOW,
        }
    }

    fn decide(identity: &mut ExternalIdentity, command: &Command) -> Result<(), Refusal> {
        let decision = identity.decide(command, NOW);
        decision.events.iter().for_each(|event| identity.apply(event));
        let text = serde_json::to_string(identity).unwrap();
        assert_eq!(serde_json::from_str::<ExternalIdentity>(&text).unwrap(), *identity);
        for record in &decision.effects.records {
            assert!(!serde_json::to_string(&record.detail).unwrap().contains("00u1"));
        }
        decision.outcome
    }

    #[test]
    fn a_subject_at_a_connection_leads_to_one_account_until_it_is_unlinked() {
        let mut identity = ExternalIdentity::default();
        let link = Command::Link { linked: Box::new(linked("00u1")), cause: Cause::Person };
        assert_eq!(decide(&mut identity, &link), Ok(()));
        assert_eq!(identity.names(), [Name::new(EXTERNAL_IDENTITIES, "c 00u1")]);
        assert_eq!(identity.live_until(), Timestamp::FOREVER);
        assert_eq!(decide(&mut identity, &link), Err(Refusal::Unknown), "it is linked once");
        assert!(!format!("{identity:?}").contains("00u1"));
        let unlink = Command::Unlink { cause: Cause::Person };
        assert_eq!(decide(&mut identity, &unlink), Ok(()));
        assert!(identity.names().is_empty() && identity.listings().is_empty());
        assert_eq!(identity.live_until(), Timestamp::NEVER);
        assert_eq!(decide(&mut identity, &unlink), Err(Refusal::Unknown));
        assert_eq!(decide(&mut identity, &link), Err(Refusal::Unknown), "it does not come back");
    }

    #[test]
    fn what_is_no_subject_is_not_linked() {
        for bad in ["", "a\0b", "a\nb", "é", &"a".repeat(256)] {
            let link = Command::Link { linked: Box::new(linked(bad)), cause: Cause::Person };
            let refused = decide(&mut ExternalIdentity::default(), &link);
            assert_eq!(refused, Err(Refusal::Subject), "{bad:?}");
        }
    }
}
