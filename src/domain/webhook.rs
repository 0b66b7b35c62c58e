//! A webhook: a URL to which the trail of one organization is sent, signed (adr/0083).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | create | enabled | the URL or the events cannot stand; the organization is suspended |
//! | enabled, disabled | change | what was given replaced, enabled or disabled | likewise |
//! | enabled, disabled | rotate | another secret; the former signs as well until the overlap is over | the overlap is too long; the organization is suspended |
//! | enabled | test | the same; a message is left for this endpoint alone | it is disabled; the organization is suspended |
//! | enabled | failed | failing since its first failure in a row; after three days disabled | |
//! | enabled | refused for good | disabled | |
//! | enabled | delivered | no longer failing | |
//! | disabled | failed, refused for good, delivered | the same | |
//! | enabled, disabled | delete | deleted; nothing is kept of its secrets | the organization is suspended |
//! | enabled, disabled | erase | deleted, with its organization (adr/0136) | |
//! | deleted | any | the same | always |
//!
//! What the organization is comes with the command; that it still is so is a requirement of the commit.

mod delivery;
mod endpoint;
pub mod feed;

pub use delivery::{Delivery, WEBHOOK};
pub use endpoint::{DisabledBecause, Endpoint, FormerSecret, Secrets, is_event_filter};

use super::{
    CLOCK_SKEW, Decision, Listing, Machine, Name, Timestamp, account::SealedSecret,
    client::UriFault, organization,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The endpoints of an organization, the oldest first.
pub const WEBHOOKS: &str = "webhooks";

/// The enabled endpoints of all organizations, the one first that was enabled first.
pub const ENABLED_WEBHOOKS: &str = "enabled_webhooks";

/// The space of the places that an organization has for endpoints.
pub const WEBHOOK_PLACES: &str = "webhook_places";

/// What secrets of endpoints are sealed for; each is bound to the id of its endpoint.
pub const SECRET_PURPOSE: &str = "webhook secret";

/// How many places an organization has.
pub const MOST_WEBHOOKS: u8 = 10;

/// Bytes of a URL.
pub const LONGEST_URL: usize = 2_000;

/// No endpoint names more events.
pub const MOST_EVENTS: usize = 100;

/// How long a former secret may sign after a rotation.
pub const LONGEST_OVERLAP: Duration = Duration::from_hours(7 * 24);

/// How long an endpoint may fail in a row before it is disabled.
pub const MOST_FAILING: Duration = Duration::from_hours(3 * 24);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Webhook {
    #[default]
    Unborn,
    Known {
        endpoint: Box<Endpoint>,
        secrets: Secrets,
    },
    Deleted {
        at: Timestamp,
    },
}

/// What an endpoint is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    pub id: String,
    /// One of the places of the organization, below [`MOST_WEBHOOKS`].
    pub place: u8,
    pub url: String,
    pub events: Vec<String>,
    pub secret: SealedSecret,
}

/// What is to change; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub url: Option<String>,
    pub events: Option<Vec<String>>,
    pub enabled: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    Create(Create),
    Change(Change),
    Rotate {
        secret: SealedSecret,
        /// How long the former secret signs as well.
        overlap: Duration,
    },
    Test {
        /// What the message is known by.
        message: String,
    },
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// What a caller wants; `home` is the organization, as it is now.
    Order { order: Box<Order>, home: Box<organization::Known> },
    /// A delivery has failed.
    Failed,
    /// The endpoint has answered that it wants nothing more.
    RefusedForGood,
    /// A delivery has succeeded.
    Delivered,
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
    Redrawn(Box<Endpoint>),
    Secrets(Secrets),
    Deleted { at: Timestamp },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Done,
    /// Since when deliveries fail, where they do.
    Failing(Option<Timestamp>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("is longer than {LONGEST_URL} bytes")]
    LongUrl,
    #[error("{0}")]
    Url(UriFault),
    #[error("more than {MOST_EVENTS} events are named")]
    ManyEvents,
    #[error("is no event: `noun.verb`, or `noun.*` for all of a noun")]
    Event { place: usize },
    #[error("a former secret signs for 7 days at most")]
    Overlap,
    #[error("the organization is suspended and accepts no change")]
    Suspended,
    #[error("it is disabled")]
    Disabled,
    #[error("it exists")]
    Exists,
    #[error("there is no such endpoint")]
    NotKnown,
}

impl Webhook {
    /// Returns the endpoint, unless it was deleted.
    pub fn known(&self) -> Option<&Endpoint> {
        match self {
            Self::Known { endpoint, .. } => Some(endpoint),
            Self::Unborn | Self::Deleted { .. } => None,
        }
    }

    /// Returns the endpoint and its secrets, if it is to be called.
    pub fn enabled(&self) -> Option<(&Endpoint, &Secrets)> {
        match self {
            Self::Known { endpoint, secrets } if endpoint.enabled => Some((endpoint, secrets)),
            _ => None,
        }
    }

    /// Returns its secrets, unless it was deleted.
    pub fn secrets(&self) -> Option<&Secrets> {
        match self {
            Self::Known { secrets, .. } => Some(secrets),
            Self::Unborn | Self::Deleted { .. } => None,
        }
    }

    fn create(
        &self,
        create: &Create,
        home: &organization::Known,
        now: Timestamp,
    ) -> Decision<Self> {
        if *self != Self::Unborn {
            // Ids are drawn: none is created twice.
            return Decision::refuse(Refusal::Exists);
        }
        let endpoint = match Endpoint::new(create, home, now) {
            Ok(endpoint) => Box::new(endpoint),
            Err(why) => return Decision::refuse(why),
        };
        let secrets = Secrets { current: create.secret.clone(), former: None };
        let record = endpoint.record("webhook.created");
        Decision::accept(vec![Event::Redrawn(endpoint), Event::Secrets(secrets)], Reply::Done)
            .recording(record)
    }

    fn order(&self, order: &Order, home: &organization::Known, now: Timestamp) -> Decision<Self> {
        if !home.enabled {
            return Decision::refuse(Refusal::Suspended);
        }
        if let Order::Create(create) = order {
            return self.create(create, home, now);
        }
        let Self::Known { endpoint, secrets } = self else {
            return Decision::refuse(Refusal::NotKnown);
        };
        if endpoint.organization != home.slug {
            return Decision::refuse(Refusal::NotKnown);
        }
        match order {
            Order::Create(_) => Decision::refuse(Refusal::Exists),
            Order::Change(change) => changed(endpoint, change, now),
            Order::Rotate { overlap, .. } if *overlap > LONGEST_OVERLAP => {
                Decision::refuse(Refusal::Overlap)
            }
            Order::Rotate { secret, overlap } => {
                let former =
                    FormerSecret { secret: secrets.current.clone(), signs_until: now + *overlap };
                let former = (!overlap.is_zero()).then_some(former);
                let secrets = Secrets { current: secret.clone(), former };
                Decision::accept(vec![Event::Secrets(secrets)], Reply::Done)
                    .recording(endpoint.record("webhook.secret_rotated"))
            }
            Order::Test { .. } if !endpoint.enabled => Decision::refuse(Refusal::Disabled),
            Order::Test { message } => {
                let test = Delivery::test(endpoint, message, now);
                Decision::accept(Vec::new(), Reply::Done)
                    .recording(endpoint.record("webhook.tested"))
                    .dispatching(test.dispatch(now))
            }
            Order::Delete => Decision::accept(vec![Event::Deleted { at: now }], Reply::Done)
                .recording(endpoint.record("webhook.deleted")),
        }
    }

    fn failed(&self, now: Timestamp) -> Decision<Self> {
        let Some((endpoint, _)) = self.enabled() else {
            return Decision::accept(Vec::new(), Reply::Failing(None));
        };
        let since = endpoint.failing_since.unwrap_or(now);
        if now.since(since) >= MOST_FAILING {
            return disabled(endpoint, DisabledBecause::Failing, since);
        }
        let reply = Reply::Failing(Some(since));
        if endpoint.failing_since.is_some() {
            return Decision::accept(Vec::new(), reply);
        }
        let next = Endpoint { failing_since: Some(since), ..endpoint.clone() };
        Decision::accept(vec![Event::Redrawn(Box::new(next))], reply)
    }

    fn delivered(&self) -> Decision<Self> {
        let reply = Reply::Failing(None);
        match self.known().filter(|endpoint| endpoint.failing_since.is_some()) {
            Some(endpoint) => {
                let next = Endpoint { failing_since: None, ..endpoint.clone() };
                Decision::accept(vec![Event::Redrawn(Box::new(next))], reply)
            }
            None => Decision::accept(Vec::new(), reply),
        }
    }
}

fn changed(endpoint: &Endpoint, change: &Change, now: Timestamp) -> Decision<Webhook> {
    let (next, fields) = match endpoint.changed(change, now) {
        Ok(changed) => changed,
        Err(why) => return Decision::refuse(why),
    };
    if fields.is_empty() {
        return Decision::accept(Vec::new(), Reply::Done);
    }
    let record = next.record("webhook.changed").with("fields", fields.join(" "));
    Decision::accept(vec![Event::Redrawn(Box::new(next))], Reply::Done).recording(record)
}

/// Disables an endpoint that cannot be called; people read of it in the trail.
fn disabled(endpoint: &Endpoint, why: DisabledBecause, since: Timestamp) -> Decision<Webhook> {
    let next = Endpoint {
        enabled: false,
        disabled_because: Some(why),
        failing_since: Some(since),
        ..endpoint.clone()
    };
    let record = next.record("webhook.disabled").with("because", why.name());
    let reply = Reply::Failing(Some(since));
    Decision::accept(vec![Event::Redrawn(Box::new(next))], reply).recording(record)
}

impl Machine for Webhook {
    const KIND: &'static str = "webhook";
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Order { order, home } => self.order(order, home, now),
            Command::Failed => self.failed(now),
            Command::RefusedForGood => match self.enabled() {
                Some((endpoint, _)) => {
                    disabled(endpoint, DisabledBecause::Gone, endpoint.failing_since.unwrap_or(now))
                }
                None => Decision::accept(Vec::new(), Reply::Failing(None)),
            },
            Command::Delivered => self.delivered(),
            Command::Erase => match self.known() {
                Some(endpoint) => {
                    let record = endpoint.record("webhook.deleted");
                    Decision::accept(vec![Event::Deleted { at: now }], Reply::Done)
                        .recording(record.with("cause", organization::ORGANIZATION_DELETED))
                }
                None => Decision::refuse(Refusal::NotKnown),
            },
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event.clone(), &mut *self) {
            (Event::Redrawn(next), Self::Known { endpoint, .. }) => *endpoint = next,
            (Event::Redrawn(endpoint), this) => {
                *this = Self::Known { endpoint, secrets: Secrets::none() };
            }
            (Event::Secrets(next), Self::Known { secrets, .. }) => *secrets = next,
            (Event::Secrets(_), Self::Unborn | Self::Deleted { .. }) => {}
            (Event::Deleted { at }, this) => *this = Self::Deleted { at },
        }
    }

    fn live_until(&self) -> Timestamp {
        match self.enabled() {
            Some(_) => Timestamp::FOREVER,
            None => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Deleted { at } => Some(*at + CLOCK_SKEW),
            Self::Unborn | Self::Known { .. } => None,
        }
    }

    fn names(&self) -> Vec<Name> {
        let place = |one: &Endpoint| format!("{} {}", one.organization, one.place);
        self.known().map(|one| Name::new(WEBHOOK_PLACES, place(one))).into_iter().collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(endpoint) = self.known() else { return Vec::new() };
        let rank = |at: Timestamp| format!("{:015}", at.millis());
        let own = Listing::new(WEBHOOKS, &*endpoint.organization, rank(endpoint.created_at));
        let enabled = Listing::new(ENABLED_WEBHOOKS, "", rank(endpoint.since));
        [Some(own), endpoint.enabled.then_some(enabled)].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests;
