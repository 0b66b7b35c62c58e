//! The installation's signing keys: which are published, and which of them signs.
//!
//! One entity for the whole installation, so that every node publishes the same set. A node that
//! finds a private key in its folder has it published as `next`; once every cache of the key set
//! must have expired it becomes `current` and signs; its predecessor is `retired` and stays
//! published until the last token it signed has expired. A leaked key is `revoked`: it leaves the
//! set at once. A key that has left never comes back, though its file may still lie in a folder.
//!
//! A key is kept for one algorithm, by which it is replaced and listed. An RSA key that is kept for RS256 signs
//! PS256 too, until there is a key for PS256 alone (adr/0128).
//!
//! Nodes may be configured differently, and a lifetime may be lowered while longer tokens are out. So
//! a key remembers the longest time that a node which signed with it has asked for.

mod algorithm;

pub use algorithm::SigningAlgorithm;

use super::{Decision, Machine, Record, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The members of a JWK that give the private key away (RFC 7518 §6, RFC 8037 §2).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Every key there ever was, in the order of publication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SigningKeys {
    keys: Vec<PublicKey>,
}

/// A public key, and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublicKey {
    pub kid: String,
    pub algorithm: SigningAlgorithm,
    pub public_jwk: Value,
    pub published_at: Timestamp,
    pub state: KeyState,
    /// How long it is published after it was retired; zero until it signs.
    #[serde(default)]
    pub retired_for: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// Published so that relying parties know it before it signs.
    Next,
    /// Signs.
    Current,
    /// Signs no more; what it signed is still verified.
    Retired { until: Timestamp },
    /// No longer published: its last token has expired.
    Gone,
    /// No longer published: it leaked.
    Revoked,
}

/// A key whose private half a node holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedKey {
    pub kid: String,
    pub algorithm: SigningAlgorithm,
    pub public_jwk: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A node found these private keys in its folder, oldest first.
    Observe { keys: Vec<ObservedKey> },
    /// Time has passed: a key that was published for `published_for` signs, if the node that asks
    /// holds its private half; a key that is replaced stays published for `retired_for`, or longer
    /// if a node asked for that while it signed.
    Advance { held: Vec<String>, published_for: Duration, retired_for: Duration },
    /// The private key has leaked. Its successor must be among those `held` by the caller: without
    /// its private half it could not sign.
    Revoke { kid: String, held: Vec<String> },
    /// These were revoked after the states were written that were put back from a backup, which may not know all of them.
    /// The successor of one that signs must be among those `held`.
    StayRevoked { keys: Vec<ObservedKey>, held: Vec<String> },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Published {
        key: ObservedKey,
        at: Timestamp,
    },
    Promoted {
        kid: String,
    },
    /// It must stay published for so long after it is retired.
    Extended {
        kid: String,
        retired_for: Duration,
    },
    Retired {
        kid: String,
        until: Timestamp,
    },
    Dropped {
        kid: String,
    },
    Revoked {
        kid: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No key of this id was ever published.
    UnknownKey,
    /// It signs, and no other key of its algorithm that the caller holds could take its place.
    NoSuccessor,
    /// A private key was about to be published.
    PrivateKeyOffered,
}

impl SigningKeys {
    /// Lists everything that is published, in the order of publication.
    pub fn published(&self) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter().filter(|key| !matches!(key.state, KeyState::Gone | KeyState::Revoked))
    }

    /// Lists every key that was revoked.
    pub fn revoked(&self) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter().filter(|key| key.state == KeyState::Revoked)
    }

    /// Lists every key that was not revoked, also those that are published no longer.
    pub fn not_revoked(&self) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter().filter(|key| key.state != KeyState::Revoked)
    }

    /// Returns the key that signs with `algorithm`: the one that is kept for it, or else one that signs with
    /// it too.
    pub fn signing(&self, algorithm: SigningAlgorithm) -> Option<&PublicKey> {
        let of_others = || also_for(algorithm).find_map(|other| self.current(other));
        self.current(algorithm).or_else(of_others)
    }

    /// Returns the key that is kept for `algorithm` and signs.
    pub fn current(&self, algorithm: SigningAlgorithm) -> Option<&PublicKey> {
        self.of(algorithm).find(|key| key.state == KeyState::Current)
    }

    /// Lists the keys that sign though their private half is not among those held.
    pub fn current_without<'a>(
        &'a self,
        held: &'a [ObservedKey],
    ) -> impl Iterator<Item = &'a PublicKey> {
        let signs = self.keys.iter().filter(|key| key.state == KeyState::Current);
        signs.filter(|key| !held.iter().any(|file| file.kid == key.kid))
    }

    /// Tells where the key `kid` stands, if it was ever published.
    pub fn state_of(&self, kid: &str) -> Option<KeyState> {
        self.find(kid).map(|key| key.state)
    }

    fn find(&self, kid: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.kid == kid)
    }

    fn of(&self, algorithm: SigningAlgorithm) -> impl DoubleEndedIterator<Item = &PublicKey> {
        self.keys.iter().filter(move |key| key.algorithm == algorithm)
    }

    /// Tells whether a token of this algorithm could have been signed at any time.
    fn has_signed(&self, algorithm: SigningAlgorithm) -> bool {
        let mut signed = self.keys.iter().flat_map(|key| key.algorithm.signed_with());
        signed.any(|one| *one == algorithm)
    }

    fn observe(&self, keys: &[ObservedKey], now: Timestamp) -> Decision<Self> {
        if keys.iter().any(ObservedKey::is_private) {
            return Decision::refuse(Refusal::PrivateKeyOffered);
        }
        let mut after = self.clone();
        let mut events = Vec::new();
        for key in keys {
            if after.find(&key.kid).is_some() {
                continue;
            }
            let first = !after.has_signed(key.algorithm);
            let published = Event::Published { key: key.clone(), at: now };
            after.apply(&published);
            events.push(published);
            // Waiting would not help: until now no token of this algorithm could exist.
            if first {
                events.push(Event::Promoted { kid: key.kid.clone() });
            }
        }
        grant(events)
    }

    fn advance(
        &self,
        held: &[String],
        published_for: Duration,
        retired_for: Duration,
        now: Timestamp,
    ) -> Vec<Event> {
        let ripe = |key: &&PublicKey| {
            key.state == KeyState::Next
                && key.published_at + published_for <= now
                && held.contains(&key.kid)
        };
        let mut events = Vec::new();
        for algorithm in SigningAlgorithm::ALL {
            let newer = self.of(algorithm).rev().take_while(|key| key.state != KeyState::Current);
            let heir = newer.into_iter().find(ripe);
            let Some(signer) = heir.or_else(|| self.current(algorithm)) else { continue };
            if signer.state == KeyState::Next {
                events.push(Event::Promoted { kid: signer.kid.clone() });
            }
            if signer.retired_for < retired_for {
                events.push(Event::Extended { kid: signer.kid.clone(), retired_for });
            }
            // All that were overtaken go: an older key must not replace a newer one later on.
            for key in self.of(algorithm).take_while(|key| key.kid != signer.kid) {
                if matches!(key.state, KeyState::Next | KeyState::Current) {
                    let until = now + key.retired_for.max(retired_for);
                    events.push(Event::Retired { kid: key.kid.clone(), until });
                }
            }
        }
        for key in &self.keys {
            if matches!(key.state, KeyState::Retired { until } if until <= now) {
                events.push(Event::Dropped { kid: key.kid.clone() });
            }
        }
        events
    }

    fn revoke(&self, kid: &str, held: &[String]) -> Decision<Self> {
        let Some(key) = self.find(kid) else { return Decision::refuse(Refusal::UnknownKey) };
        let revoked = Event::Revoked { kid: kid.to_owned() };
        match key.state {
            KeyState::Revoked => grant(Vec::new()),
            KeyState::Next | KeyState::Retired { .. } | KeyState::Gone => grant(vec![revoked]),
            KeyState::Current => {
                let ready = |k: &&PublicKey| k.state == KeyState::Next && held.contains(&k.kid);
                match self.of(key.algorithm).rfind(ready) {
                    // A cache that lacks the successor is a lesser evil than a leaked key that signs.
                    Some(next) => grant(vec![revoked, Event::Promoted { kid: next.kid.clone() }]),
                    None => Decision::refuse(Refusal::NoSuccessor),
                }
            }
        }
    }

    fn stay_revoked(
        &self,
        keys: &[ObservedKey],
        held: &[String],
        now: Timestamp,
    ) -> Decision<Self> {
        if keys.iter().any(ObservedKey::is_private) {
            return Decision::refuse(Refusal::PrivateKeyOffered);
        }
        let mut events = Vec::new();
        for key in keys.iter().filter(|key| self.find(&key.kid).is_none()) {
            // No server publishes it any more, though its file may lie in a folder.
            events.push(Event::Published { key: key.clone(), at: now });
            events.push(Event::Revoked { kid: key.kid.clone() });
        }
        let known = keys.iter().filter_map(|key| self.find(&key.kid));
        for key in known.filter(|key| key.state != KeyState::Revoked) {
            events.push(Event::Revoked { kid: key.kid.clone() });
            if key.state != KeyState::Current {
                continue;
            }
            let stays = |next: &&PublicKey| !keys.iter().any(|key| key.kid == next.kid);
            let ready = |k: &&PublicKey| k.state == KeyState::Next && held.contains(&k.kid);
            match self.of(key.algorithm).filter(stays).rfind(ready) {
                Some(next) => events.push(Event::Promoted { kid: next.kid.clone() }),
                None => return Decision::refuse(Refusal::NoSuccessor),
            }
        }
        let told = events.iter().filter(|event| !matches!(event, Event::Published { .. }));
        let records: Vec<Record> = told.filter_map(Event::record).collect();
        records.into_iter().fold(Decision::accept(events, ()), Decision::recording)
    }

    fn set(&mut self, kid: &str, state: KeyState) {
        if let Some(key) = self.find_mut(kid) {
            key.state = state;
        }
    }

    fn find_mut(&mut self, kid: &str) -> Option<&mut PublicKey> {
        self.keys.iter_mut().find(|key| key.kid == kid)
    }
}

impl PublicKey {
    /// Returns the key as others see it: one that signs with several algorithms names none of them, for its
    /// `alg` would forbid the others (RFC 7517 §4.4).
    pub fn published_jwk(&self) -> Value {
        let mut jwk = self.public_jwk.clone();
        if let Some(members) = jwk.as_object_mut()
            && self.algorithm.signed_with().len() > 1
        {
            members.remove("alg");
        }
        jwk
    }
}

impl ObservedKey {
    fn is_private(&self) -> bool {
        PRIVATE_MEMBERS.iter().any(|member| self.public_jwk.get(member).is_some())
    }
}

impl Event {
    fn record(&self) -> Option<Record> {
        Some(match self {
            Self::Extended { .. } => return None,
            Self::Published { key, .. } => Record::new("signing_key.published")
                .with("kid", key.kid.as_str())
                .with("algorithm", key.algorithm.name()),
            Self::Promoted { kid } => Record::new("signing_key.promoted").with("kid", kid.as_str()),
            Self::Retired { kid, until } => Record::new("signing_key.retired")
                .with("kid", kid.as_str())
                .with("until", until.millis()),
            Self::Dropped { kid } => Record::new("signing_key.dropped").with("kid", kid.as_str()),
            Self::Revoked { kid } => Record::new("signing_key.revoked").with("kid", kid.as_str()),
        })
    }
}

/// Lists the other algorithms whose keys sign with this one too.
fn also_for(algorithm: SigningAlgorithm) -> impl Iterator<Item = SigningAlgorithm> {
    let others = SigningAlgorithm::ALL.into_iter().filter(move |other| *other != algorithm);
    others.filter(move |other| other.signed_with().contains(&algorithm))
}

fn grant(events: Vec<Event>) -> Decision<SigningKeys> {
    let records: Vec<Record> = events.iter().filter_map(Event::record).collect();
    records.into_iter().fold(Decision::accept(events, ()), Decision::recording)
}

impl Machine for SigningKeys {
    const KIND: &'static str = "signing_keys";
    /// 2: `retired_for`.
    const REVISION: u32 = 2;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Observe { keys } => self.observe(keys, now),
            Command::Advance { held, published_for, retired_for } => {
                grant(self.advance(held, *published_for, *retired_for, now))
            }
            Command::Revoke { kid, held } => self.revoke(kid, held),
            Command::StayRevoked { keys, held } => self.stay_revoked(keys, held, now),
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Published { key, at } => self.keys.push(PublicKey {
                kid: key.kid.clone(),
                algorithm: key.algorithm,
                public_jwk: key.public_jwk.clone(),
                published_at: *at,
                state: KeyState::Next,
                retired_for: Duration::ZERO,
            }),
            Event::Promoted { kid } => self.set(kid, KeyState::Current),
            Event::Extended { kid, retired_for } => {
                if let Some(key) = self.find_mut(kid) {
                    key.retired_for = *retired_for;
                }
            }
            Event::Retired { kid, until } => self.set(kid, KeyState::Retired { until: *until }),
            Event::Dropped { kid } => self.set(kid, KeyState::Gone),
            Event::Revoked { kid } => self.set(kid, KeyState::Revoked),
        }
    }
}

#[cfg(test)]
mod tests;
