//! What a person has let a client do, remembered for one organization.
//!
//! | state | command | next |
//! |---|---|---|
//! | unborn, or withdrawn | give | given: these scopes |
//! | given | give | given: the former scopes and these |
//! | given | withdraw | withdrawn |

use super::{Decision, Listing, Machine, Record, Timestamp, authority::Scopes};
use serde::{Deserialize, Serialize};

/// The consents of an account.
pub const CONSENTS: &str = "consents";

/// Whose consent it is, for whom, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parties {
    pub account: String,
    pub client_id: String,
    /// The slug of the organization, if one is spoken for.
    pub organization: Option<String>,
}

impl Parties {
    /// Returns the id of the one consent between them.
    pub fn id(&self) -> String {
        let Self { account, client_id, organization } = self;
        // An account is a UUID and a slug has no colon; a client's id may hold anything.
        format!("{account}:{}:{client_id}", organization.as_deref().unwrap_or_default())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consent {
    #[default]
    Unborn,
    Given {
        parties: Parties,
        scopes: Scopes,
        at: Timestamp,
    },
    Withdrawn {
        at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Give { parties: Parties, scopes: Scopes },
    Withdraw,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Given { parties: Parties, scopes: Scopes, at: Timestamp },
    Withdrawn { at: Timestamp },
}

/// Nobody is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {}

impl Consent {
    /// Returns what was consented to.
    pub fn scopes(&self) -> Option<&Scopes> {
        match self {
            Self::Given { scopes, .. } => Some(scopes),
            Self::Unborn | Self::Withdrawn { .. } => None,
        }
    }

    fn give(&self, parties: &Parties, more: &Scopes, at: Timestamp) -> Decision<Self> {
        if self.scopes().is_some_and(|held| more.iter().all(|scope| held.contains(scope))) {
            return Decision::accept(Vec::new(), ());
        }
        let scopes = self.scopes().map_or_else(|| more.clone(), |held| held.with(more));
        let record = record("consent.given", parties).with("scope", more.to_string());
        let given = Event::Given { parties: parties.clone(), scopes, at };
        Decision::accept(vec![given], ()).recording(record)
    }
}

fn record(event: &'static str, parties: &Parties) -> Record {
    let record = Record::new(event)
        .with("account", parties.account.as_str())
        .with("client_id", parties.client_id.as_str());
    match &parties.organization {
        Some(slug) => record.in_organization(slug),
        None => record,
    }
}

impl Machine for Consent {
    const KIND: &'static str = "consent";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Give { parties, scopes }, _) => self.give(parties, scopes, now),
            (Command::Withdraw, Self::Given { parties, .. }) => {
                Decision::accept(vec![Event::Withdrawn { at: now }], ())
                    .recording(record("consent.withdrawn", parties))
            }
            (Command::Withdraw, _) => Decision::accept(Vec::new(), ()),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event.clone() {
            Event::Given { parties, scopes, at } => Self::Given { parties, scopes, at },
            Event::Withdrawn { at } => Self::Withdrawn { at },
        };
    }

    fn listings(&self) -> Vec<Listing> {
        let Self::Given { parties, at, .. } = self else { return Vec::new() };
        vec![Listing::new(CONSENTS, &*parties.account, format!("{:015}", at.millis()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn parties() -> Parties {
        let (account, client_id) = ("ana".to_owned(), "app".to_owned());
        Parties { account, client_id, organization: Some("acme".to_owned()) }
    }

    fn give(consent: &mut Consent, scope: &str) -> usize {
        let scopes = Scopes::parse(scope).unwrap();
        let decision = consent.decide(&Command::Give { parties: parties(), scopes }, NOW);
        decision.events.iter().for_each(|event| consent.apply(event));
        decision.events.len()
    }

    #[test]
    fn consent_grows_is_recorded_once_and_can_be_withdrawn() {
        let mut consent = Consent::default();
        assert_eq!(consent.scopes(), None);
        assert_eq!(give(&mut consent, "openid"), 1);
        assert_eq!(give(&mut consent, "email openid"), 1);
        assert_eq!(give(&mut consent, "email"), 0, "nothing new");
        assert_eq!(consent.scopes().unwrap().to_string(), "openid email");
        let withdrawn = consent.decide(&Command::Withdraw, NOW);
        withdrawn.events.iter().for_each(|event| consent.apply(event));
        assert_eq!((consent.scopes(), consent.listings().len()), (None, 0));
        assert_eq!(give(&mut consent, "openid"), 1, "it begins anew");
        assert_eq!(consent.scopes().unwrap().to_string(), "openid");
    }

    #[test]
    fn consents_of_different_parties_have_different_ids() {
        let anywhere = Parties { organization: None, ..parties() };
        let tricky = Parties { client_id: "acme:app".to_owned(), ..anywhere.clone() };
        assert_ne!(parties().id(), anywhere.id());
        assert_ne!(parties().id(), tricky.id());
    }
}
