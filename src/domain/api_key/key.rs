//! What is known of an API key, and when it is good.

use super::{Backing, Issuer, Refusal, USE_NOTED_EVERY};
use crate::domain::{
    Fingerprint, Record, Timestamp,
    authority::{Permission, Permissions},
    epoch::is_first,
    organization,
};
use serde::{Deserialize, Serialize};

/// What is known of a key, its secrets aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// A UUID in lower case.
    pub id: String,
    /// For people; two keys may have the same.
    pub name: String,
    /// The slug of the one organization it acts in.
    pub organization: String,
    pub issuer: Issuer,
    /// Of the organization, and of the membership and its account where one has issued it.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The keys it was made with, the eldest first: it ends with each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    pub permissions: Vec<Permission>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When a use was last noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
}

/// What is kept of the secrets of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    pub current: Fingerprint,
    /// The one before, if it is good for some time yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<Former>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    pub secret: Fingerprint,
    pub good_until: Timestamp,
}

impl Key {
    /// Returns what it permits now, where its issuer still holds all of it.
    pub fn confers(
        &self,
        home: &organization::Known,
        backing: &Backing,
    ) -> Result<Permissions, Refusal> {
        self.is_of(home, backing)?;
        if backing.epoch_at(home) != self.epoch {
            return Err(Refusal::EarlierEpoch);
        }
        backing.admits(home, &self.permissions, None)?;
        Ok(self.permissions.iter().collect())
    }

    /// Tells whether a use now is one to be noted.
    pub fn use_is_due(&self, now: Timestamp) -> bool {
        self.last_used_at.is_none_or(|noted| now >= noted + USE_NOTED_EVERY)
    }

    /// Returns the keys that one made with this one ends with.
    pub fn descent(&self) -> Vec<String> {
        self.parents.iter().cloned().chain([self.id.clone()]).collect()
    }

    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    pub(super) fn is_of(
        &self,
        home: &organization::Known,
        backing: &Backing,
    ) -> Result<(), Refusal> {
        let same = self.organization == home.slug && self.issuer == backing.issuer();
        if same { Ok(()) } else { Err(Refusal::NoIssuer) }
    }

    pub(super) fn record(&self, event: &'static str) -> Record {
        let record = Record::new(event).in_organization(&*self.organization);
        match &self.issuer {
            Issuer::Operator => record,
            Issuer::Membership { account, .. } => record.with("account", &**account),
            Issuer::Client { client_id } => record.with("client_id", &**client_id),
        }
    }
}

impl Secrets {
    /// Tells whether this is a secret that is good now.
    pub(super) fn has(&self, secret: Fingerprint, now: Timestamp) -> bool {
        let former = self.former.filter(|former| now < former.good_until);
        // Both are compared, so that the time tells nothing.
        let (current, former) =
            (self.current == secret, former.is_some_and(|former| former.secret == secret));
        current | former
    }
}
