//! A domain that an organization says is its own, and whether that was proved (adr/0131).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | add | pending | the organization is suspended |
//! | pending, lost | verify: found | verified, and the holder of the domain's name | the organization is suspended |
//! | verified | verify: found | verified, nothing is missing | likewise |
//! | pending, lost, verified | verify: missing, unanswered | the same | always |
//! | verified | begin a check | the next check is put off | it is not due |
//! | verified | checked: found | verified, nothing is missing | |
//! | verified | checked: missing | missing since the first such check; after [`LOST_AFTER_MISSING`] lost | |
//! | verified | checked: unanswered | not found since the first such check; after [`LOST_UNANSWERED`] lost | |
//! | pending, lost | checked | the same | |
//! | pending, verified, lost | remove | removed | the organization is suspended |
//! | pending, verified, lost | erase | removed, with its organization (adr/0136) | |
//! | removed | any | the same | always |
//!
//! That one organization alone holds a domain is for the store's unique names: a claim has the domain's while
//! it is verified. What the organization is comes with the command; that it still is so is a requirement of
//! the commit.

mod known;

pub use known::{Known, LostBecause, Standing, Verified};

use super::{
    CLOCK_SKEW, Decision, DomainName, Listing, Machine, Name, Timestamp,
    organization::{self, ORGANIZATION_DELETED},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The domains of an organization, by name.
pub const DOMAINS: &str = "organization_domains";

/// The verified domains of all organizations, the one first whose next check is the first.
pub const DOMAIN_CHECKS: &str = "organization_domain_checks";

/// The space of verified domains: each has one holder.
pub const VERIFIED_DOMAINS: &str = "verified_domain";

/// The space of what an organization has claimed: it has each domain once.
pub const CLAIMED_DOMAINS: &str = "claimed_domain";

/// The space of the places that an organization has for domains.
pub const DOMAIN_PLACES: &str = "organization_domain_places";

/// How many bytes the token of a record is drawn from: 160 bits.
pub const TOKEN_BYTES: usize = 20;

/// How many places an organization has.
pub const MOST_DOMAINS: u8 = 100;

/// A record that was there and is missing for so long proves nothing more.
pub const LOST_AFTER_MISSING: Duration = Duration::from_hours(7 * 24);

/// A domain whose record was not found for so long, whatever DNS has said or not, is lost.
pub const LOST_UNANSWERED: Duration = Duration::from_hours(30 * 24);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DomainClaim {
    #[default]
    Unborn,
    Known(Box<Known>),
    Removed {
        at: Timestamp,
    },
}

/// What a claim is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Add {
    pub id: String,
    pub domain: DomainName,
    /// One of the places of the organization, below [`MOST_DOMAINS`].
    pub place: u8,
    /// What the record says: random, and not secret.
    pub token: String,
}

/// What DNS says of the record of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    Found,
    /// DNS has answered, and the record is not there.
    Missing,
    /// There is no answer that says either.
    Unanswered,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    Add(Add),
    Verify(Finding),
    Remove,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// What a caller wants; `home` is the organization, as it is now.
    Order { order: Box<Order>, home: Box<organization::Known> },
    /// A node is about to ask for the record.
    BeginCheck,
    /// What came of it.
    Checked(Finding),
    /// The organization is erased.
    Erase,
}

impl Command {
    pub fn order(order: Order, home: &organization::Known) -> Self {
        Self::Order { order: Box::new(order), home: Box::new(home.clone()) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Redrawn(Box<Known>),
    Removed { at: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the organization is suspended and accepts no change")]
    Suspended,
    #[error("it exists")]
    Exists,
    #[error("there is no such domain")]
    NotKnown,
    #[error("its record is not there")]
    RecordMissing,
    #[error("DNS does not say whether its record is there")]
    Unanswered,
    #[error("no check is due")]
    NotDue,
}

impl DomainClaim {
    /// Returns the claim, unless it was removed.
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Known(known) => Some(known),
            Self::Unborn | Self::Removed { .. } => None,
        }
    }

    fn order(&self, order: &Order, home: &organization::Known, now: Timestamp) -> Decision<Self> {
        if !home.enabled {
            return Decision::refuse(Refusal::Suspended);
        }
        let known = self.known().filter(|known| known.organization == home.slug);
        match (order, known) {
            (Order::Add(add), None) if *self == Self::Unborn => {
                let known = Known::new(add, home, now);
                let record = known.record("domain.added");
                redrawn(known).recording(record)
            }
            // Ids are drawn: none is added twice.
            (Order::Add(_), _) => Decision::refuse(Refusal::Exists),
            (_, None) => Decision::refuse(Refusal::NotKnown),
            (Order::Verify(Finding::Missing), _) => Decision::refuse(Refusal::RecordMissing),
            (Order::Verify(Finding::Unanswered), _) => Decision::refuse(Refusal::Unanswered),
            (Order::Verify(Finding::Found), Some(known)) => match &known.standing {
                Standing::Verified(held) => found(known, held),
                Standing::Pending | Standing::Lost { .. } => {
                    let next = known.standing_as(Standing::Verified(known.verified(now)));
                    let record = next.record("domain.verified");
                    redrawn(next).recording(record)
                }
            },
            (Order::Remove, Some(known)) => Decision::accept(vec![Event::Removed { at: now }], ())
                .recording(known.record("domain.removed")),
        }
    }

    fn erase(&self, now: Timestamp) -> Decision<Self> {
        let Some(known) = self.known() else { return Decision::refuse(Refusal::NotKnown) };
        let record = known.record("domain.removed").with("cause", ORGANIZATION_DELETED);
        Decision::accept(vec![Event::Removed { at: now }], ()).recording(record)
    }

    fn begin_check(&self, now: Timestamp) -> Decision<Self> {
        let known = self.known();
        let due = known.and_then(|known| Some((known, known.verified_since_check(now)?)));
        match due {
            Some((known, next)) => redrawn(known.standing_as(Standing::Verified(next))),
            None => Decision::refuse(Refusal::NotDue),
        }
    }

    fn checked(&self, finding: Finding, now: Timestamp) -> Decision<Self> {
        let Some(known) = self.known() else { return Decision::accept(Vec::new(), ()) };
        let Standing::Verified(held) = &known.standing else {
            return Decision::accept(Vec::new(), ());
        };
        if finding == Finding::Found {
            return found(known, held);
        }
        let next = held.not_found(finding, now);
        if let Some(because) = next.is_over(finding, now) {
            let next = known.standing_as(Standing::Lost { at: now, because });
            let record = next.record("domain.lost").with("because", because.name());
            return redrawn(next).recording(record);
        }
        if next == *held {
            return Decision::accept(Vec::new(), ());
        }
        let begins = held.missing_since.is_none() && next.missing_since.is_some();
        let next = known.standing_as(Standing::Verified(next));
        let record = begins.then(|| next.record("domain.record_missing"));
        record.into_iter().fold(redrawn(next), Decision::recording)
    }
}

fn redrawn(known: Known) -> Decision<DomainClaim> {
    Decision::accept(vec![Event::Redrawn(Box::new(known))], ())
}

/// The record of a verified domain is there.
fn found(known: &Known, held: &Verified) -> Decision<DomainClaim> {
    let next = held.found();
    if next == *held {
        return Decision::accept(Vec::new(), ());
    }
    let was_missing = held.missing_since.is_some();
    let next = known.standing_as(Standing::Verified(next));
    let record = was_missing.then(|| next.record("domain.record_found"));
    record.into_iter().fold(redrawn(next), Decision::recording)
}

impl Machine for DomainClaim {
    const KIND: &'static str = "organization_domain";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Order { order, home } => self.order(order, home, now),
            Command::BeginCheck => self.begin_check(now),
            Command::Checked(finding) => self.checked(*finding, now),
            Command::Erase => self.erase(now),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event {
            Event::Redrawn(known) => Self::Known(known.clone()),
            Event::Removed { at } => Self::Removed { at: *at },
        };
    }

    /// It vouches for addresses while it is verified.
    fn live_until(&self) -> Timestamp {
        match self.known() {
            Some(known) if known.is_verified() => Timestamp::FOREVER,
            _ => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Removed { at } => Some(*at + CLOCK_SKEW),
            Self::Unborn | Self::Known(_) => None,
        }
    }

    fn names(&self) -> Vec<Name> {
        let Some(known) = self.known() else { return Vec::new() };
        let Known { organization, domain, place, .. } = known;
        let claimed = Name::new(CLAIMED_DOMAINS, claimed_name(organization, domain));
        let place = Name::new(DOMAIN_PLACES, format!("{organization} {place}"));
        let held = known.is_verified().then(|| Name::new(VERIFIED_DOMAINS, domain.as_str()));
        [claimed, place].into_iter().chain(held).collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(known) = self.known() else { return Vec::new() };
        let own = Listing::new(DOMAINS, &*known.organization, known.domain.as_str());
        let check = known.next_check().map(|at| Listing::new(DOMAIN_CHECKS, "", check_rank(at)));
        [own].into_iter().chain(check).collect()
    }
}

/// The name of a domain among those that an organization has claimed.
pub fn claimed_name(organization: &str, domain: &DomainName) -> String {
    format!("{organization} {domain}")
}

/// The rank of a check that is due at this time.
fn check_rank(at: Timestamp) -> String {
    format!("{:015}", at.millis())
}

#[cfg(test)]
mod tests;
