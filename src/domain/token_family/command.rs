//! What may be asked of a token family.

use super::Pending;
use crate::domain::{
    Fingerprint, Requirement, Timestamp,
    authority::{Audience, Scopes},
    grant::{Grant, Limits},
};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Begin(Box<Begin>),
    /// Says what it is about, so that what limits it can be gathered.
    Show,
    /// The same, as it is now.
    ShowNow,
    Redeem(Box<Redeem>),
    Refresh(Box<Refresh>),
    Revoke {
        client_id: String,
    },
}

/// A grant and the code that stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    pub grant: Grant,
    pub code: Fingerprint,
    pub code_lives: Duration,
    pub redirect_uri: String,
    pub challenge: Fingerprint,
    pub nonce: Option<String>,
    /// Facts the grant rests on, as they were read.
    pub requirements: Vec<Requirement>,
}

/// A code, presented by an authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redeem {
    /// Of a code that was issued for this family.
    pub code: Fingerprint,
    pub client_id: String,
    pub redirect_uri: Option<String>,
    /// SHA-256 of the verifier.
    pub verifier: Option<Fingerprint>,
    pub said: Repeated,
    /// Of the refresh token to be issued, where the client may use one.
    pub refresh: Option<Fingerprint>,
    pub limits: Limits,
    pub requirements: Vec<Requirement>,
    pub lifetimes: Lifetimes,
}

/// A refresh token, presented by an authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Of a token that was issued for this family.
    pub token: Fingerprint,
    pub client_id: String,
    pub said: Repeated,
    /// Of the token that takes its place.
    pub next: Fingerprint,
    pub limits: Limits,
    pub requirements: Vec<Requirement>,
    pub lifetimes: Lifetimes,
}

/// What a client says again of the grant: it may ask for fewer scopes, and change nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Fewer than were granted, if the client says so (RFC 6749 §6).
    pub scopes: Option<Scopes>,
    /// The one recipient (RFC 8707 §2.2).
    pub audience: Option<Audience>,
    /// The slug of the organization.
    pub organization: Option<String>,
    /// It cannot be understood; but first it is seen who said it.
    pub nonsense: Option<Nonsense>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonsense {
    Scope,
    Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    pub access_token: Duration,
    /// How long a refresh token may lie unused.
    pub refresh_idle: Duration,
    /// How long after the grant the last of them is good.
    pub refresh_ceiling: Duration,
}

impl Lifetimes {
    /// Until when a refresh token issued now is good.
    pub(super) fn refresh_until(&self, born_at: Timestamp, now: Timestamp) -> Timestamp {
        (now + self.refresh_idle).min(born_at + self.refresh_ceiling)
    }
}

impl Begin {
    pub(super) fn pending(self, now: Timestamp) -> Pending {
        Pending {
            grant: self.grant,
            born_at: now,
            code: self.code,
            expires_at: now + self.code_lives,
            redirect_uri: self.redirect_uri,
            challenge: self.challenge,
            nonce: self.nonce,
        }
    }
}
