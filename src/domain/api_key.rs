//! An API key: a secret by which a program acts in one organization (adr/0080).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | issue | active | the name, the permissions or the end cannot stand; the organization is suspended; the issuer is not of it, or does not hold a permission |
//! | active | rotate | active, with another secret; the former is good until the overlap is over | it has expired; the overlap is too long; the issuer does not hold a permission any more, or the caller does not |
//! | active | use | active; the time is noted, once in five minutes at most | |
//! | active | revoke | revoked; listed for thirty days more | the organization is suspended |
//! | active | erase | revoked, with its organization (adr/0136) | |
//! | revoked | revoke, erase | the same | |
//! | revoked | issue, rotate, use | the same | always |
//!
//! Whose key it is, in which organization, and what it permits never changes. What the organization and
//! the issuer are comes with the command; that they have not changed since is a requirement of the commit.

mod backing;
mod key;

pub use backing::{Backing, Issuer};
pub use key::{Former, Key, Secrets};

use super::{
    CLOCK_SKEW, Decision, Fingerprint, Listing, Machine, Timestamp,
    authority::{Grantor, Permission},
    is_hidden, organization,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The keys of an organization, the oldest first; revoked ones among them for a while.
pub const API_KEYS: &str = "api_keys";

/// Characters of a name.
pub const LONGEST_NAME: usize = 100;

/// No key has more permissions.
pub const MOST_PERMISSIONS: usize = 100;

/// How long a former secret may be good after a rotation.
pub const LONGEST_OVERLAP: Duration = Duration::from_hours(30 * 24);

/// How often a use is noted at most.
pub const USE_NOTED_EVERY: Duration = Duration::from_mins(5);

/// How long a key is listed after it was revoked or has expired.
pub const KEPT_AFTER_END: Duration = Duration::from_hours(30 * 24);

/// How many keys may stand one behind the other.
const MOST_PARENTS: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApiKey {
    #[default]
    Unborn,
    Active {
        key: Box<Key>,
        secrets: Secrets,
    },
    /// It confers nothing; nothing is kept of its secrets.
    Revoked {
        key: Box<Key>,
        at: Timestamp,
    },
}

/// What a key is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    pub id: String,
    pub name: String,
    pub permissions: Vec<Permission>,
    pub expires_at: Option<Timestamp>,
    pub secret: Fingerprint,
    /// The organization, as it is now.
    pub home: organization::Known,
    /// The issuer, as it is now.
    pub backing: Backing,
    /// The caller, who may give no more than it may; `None` for the operator.
    pub grantor: Option<Grantor>,
    /// The key that the caller presented, and the parents of that, the eldest first.
    pub parents: Vec<String>,
}

/// How a key gets another secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotate {
    pub secret: Fingerprint,
    /// How long the former secret is good yet.
    pub overlap: Duration,
    /// The organization, as it is now.
    pub home: organization::Known,
    /// The issuer of the key, as it is now.
    pub backing: Backing,
    /// The caller, who gets to know the secret; `None` for the operator.
    pub grantor: Option<Grantor>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Issue(Box<Issue>),
    Rotate(Box<Rotate>),
    /// It was presented, and was good.
    Use,
    Revoke {
        /// The organization, as it is now.
        home: Box<organization::Known>,
    },
    /// The organization is erased.
    Erase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Issued { key: Box<Key>, secret: Fingerprint },
    Rotated { secrets: Secrets, epoch: u64 },
    Used { at: Timestamp },
    Revoked { at: Timestamp },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Issued(Box<Key>),
    Rotated {
        /// Until when the former secret is good, if it is.
        former_until: Option<Timestamp>,
    },
    Used,
    Revoked,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a name has 1 to {LONGEST_NAME} characters that can be seen")]
    Name,
    #[error("a key has 1 to {MOST_PERMISSIONS} permissions")]
    Permissions,
    #[error("no key may hold `{0}`")]
    Forbidden(Permission),
    #[error("its end lies behind")]
    Expiry,
    #[error("a former secret is good for 30 days at most")]
    Overlap,
    #[error("the organization `{0}` is suspended and accepts no change")]
    Suspended(String),
    #[error("the issuer is no member and no service client of the organization")]
    NoIssuer,
    #[error("the issuer or the caller does not hold `{0}`")]
    NotHeld(String),
    #[error("the organization, the membership or its account has ended and begun again since")]
    EarlierEpoch,
    #[error("keys that were made with keys are at most {MOST_PARENTS} deep")]
    TooDeep,
    #[error("the key exists")]
    Exists,
    #[error("the key has expired")]
    Expired,
    #[error("there is no such key, or it was revoked")]
    NotActive,
}

impl ApiKey {
    /// Returns the key, be it revoked.
    pub fn known(&self) -> Option<&Key> {
        match self {
            Self::Unborn => None,
            Self::Active { key, .. } | Self::Revoked { key, .. } => Some(key),
        }
    }

    /// Returns when it was revoked, if it was.
    pub fn revoked_at(&self) -> Option<Timestamp> {
        match self {
            Self::Revoked { at, .. } => Some(*at),
            Self::Unborn | Self::Active { .. } => None,
        }
    }

    /// Returns the key, if this is a secret of it that is good now.
    pub fn opened_by(&self, secret: Fingerprint, now: Timestamp) -> Option<&Key> {
        match self {
            Self::Active { key, secrets } if secrets.has(secret, now) && !key.has_expired(now) => {
                Some(key)
            }
            _ => None,
        }
    }

    fn issue(&self, issue: &Issue, now: Timestamp) -> Decision<Self> {
        if *self != Self::Unborn {
            // Ids are drawn: none is issued twice.
            return Decision::refuse(Refusal::Exists);
        }
        let key = match issue.key(now) {
            Ok(key) => Box::new(key),
            Err(why) => return Decision::refuse(why),
        };
        let permissions: Vec<&str> = key.permissions.iter().map(Permission::as_str).collect();
        let record = key.record("apikey.created").with("permissions", permissions.join(" "));
        let issued = Event::Issued { key: key.clone(), secret: issue.secret };
        Decision::accept(vec![issued], Reply::Issued(key)).recording(record)
    }

    fn rotate(&self, rotate: &Rotate, now: Timestamp) -> Decision<Self> {
        let Self::Active { key, secrets } = self else {
            return Decision::refuse(Refusal::NotActive);
        };
        let Rotate { secret, overlap, home, backing, grantor } = rotate;
        let checked = if key.has_expired(now) {
            Err(Refusal::Expired)
        } else if *overlap > LONGEST_OVERLAP {
            Err(Refusal::Overlap)
        } else {
            key.is_of(home, backing)
                .and_then(|()| backing.admits(home, &key.permissions, grantor.as_ref()))
        };
        if let Err(why) = checked {
            return Decision::refuse(why);
        }
        let epoch = backing.epoch_at(home);
        // What was void before this must not become good by it.
        let overlaps = epoch == key.epoch && !overlap.is_zero();
        let former = Former { secret: secrets.current, good_until: now + *overlap };
        let secrets = Secrets { current: *secret, former: overlaps.then_some(former) };
        let former_until = secrets.former.map(|former| former.good_until);
        let rotated = Event::Rotated { secrets, epoch };
        Decision::accept(vec![rotated], Reply::Rotated { former_until })
            .recording(key.record("apikey.rotated"))
    }

    fn note_use(&self, now: Timestamp) -> Decision<Self> {
        match self {
            Self::Active { key, .. } if key.use_is_due(now) => {
                Decision::accept(vec![Event::Used { at: now }], Reply::Used)
            }
            Self::Active { .. } => Decision::accept(Vec::new(), Reply::Used),
            Self::Unborn | Self::Revoked { .. } => Decision::refuse(Refusal::NotActive),
        }
    }

    fn revoke(&self, home: &organization::Known, now: Timestamp) -> Decision<Self> {
        match self {
            Self::Unborn => Decision::refuse(Refusal::NotActive),
            Self::Revoked { .. } => Decision::accept(Vec::new(), Reply::Revoked),
            Self::Active { key, .. } if key.organization != home.slug => {
                Decision::refuse(Refusal::NotActive)
            }
            Self::Active { .. } if !home.enabled => {
                Decision::refuse(Refusal::Suspended(home.slug.clone()))
            }
            Self::Active { key, .. } => {
                Decision::accept(vec![Event::Revoked { at: now }], Reply::Revoked)
                    .recording(key.record("apikey.revoked"))
            }
        }
    }

    fn erase(&self, now: Timestamp) -> Decision<Self> {
        match self {
            Self::Unborn => Decision::refuse(Refusal::NotActive),
            Self::Revoked { .. } => Decision::accept(Vec::new(), Reply::Revoked),
            Self::Active { key, .. } => {
                let record = key.record("apikey.revoked");
                Decision::accept(vec![Event::Revoked { at: now }], Reply::Revoked)
                    .recording(record.with("cause", organization::ORGANIZATION_DELETED))
            }
        }
    }
}

impl Issue {
    fn key(&self, now: Timestamp) -> Result<Key, Refusal> {
        let name = self.name.trim();
        if !(1..=LONGEST_NAME).contains(&name.chars().count()) || name.chars().any(is_hidden) {
            return Err(Refusal::Name);
        }
        let mut permissions: Vec<Permission> = Vec::new();
        for permission in &self.permissions {
            if !permission.may_stand_in_a_role() {
                return Err(Refusal::Forbidden(permission.clone()));
            }
            if !permissions.contains(permission) {
                permissions.push(permission.clone());
            }
        }
        if !(1..=MOST_PERMISSIONS).contains(&permissions.len()) {
            return Err(Refusal::Permissions);
        }
        if self.expires_at.is_some_and(|end| end <= now) {
            return Err(Refusal::Expiry);
        }
        if self.parents.len() > MOST_PARENTS {
            return Err(Refusal::TooDeep);
        }
        self.backing.admits(&self.home, &permissions, self.grantor.as_ref())?;
        Ok(Key {
            id: self.id.clone(),
            name: name.to_owned(),
            organization: self.home.slug.clone(),
            issuer: self.backing.issuer(),
            epoch: self.backing.epoch_at(&self.home),
            parents: self.parents.clone(),
            permissions,
            created_at: now,
            expires_at: self.expires_at,
            last_used_at: None,
        })
    }
}

impl Machine for ApiKey {
    const KIND: &'static str = "api_key";
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Issue(issue) => self.issue(issue, now),
            Command::Rotate(rotate) => self.rotate(rotate, now),
            Command::Use => self.note_use(now),
            Command::Revoke { home } => self.revoke(home, now),
            Command::Erase => self.erase(now),
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event.clone(), &mut *self) {
            (Event::Issued { key, secret }, this) => {
                let secrets = Secrets { current: secret, former: None };
                *this = Self::Active { key, secrets };
            }
            (Event::Rotated { secrets: next, epoch }, Self::Active { key, secrets }) => {
                (*secrets, key.epoch) = (next, epoch);
            }
            (Event::Used { at }, Self::Active { key, .. }) => key.last_used_at = Some(at),
            (Event::Revoked { at }, Self::Active { key, .. }) => {
                *self = Self::Revoked { key: key.clone(), at };
            }
            (_, Self::Unborn | Self::Revoked { .. }) => {}
        }
    }

    fn live_until(&self) -> Timestamp {
        match self {
            Self::Active { key, .. } => key.expires_at.unwrap_or(Timestamp::FOREVER),
            Self::Unborn | Self::Revoked { .. } => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        let end = match self {
            Self::Unborn => None,
            Self::Active { key, .. } => key.expires_at,
            Self::Revoked { at, .. } => Some(*at),
        };
        end.map(|end| end + KEPT_AFTER_END + CLOCK_SKEW)
    }

    fn tolerates_stale(command: &Command) -> bool {
        // A use that was noted stays noted.
        matches!(command, Command::Use)
    }

    fn listings(&self) -> Vec<Listing> {
        let rank = |key: &Key| format!("{:015}", key.created_at.millis());
        let listing = |key: &Key| Listing::new(API_KEYS, &*key.organization, rank(key));
        self.known().map(listing).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
