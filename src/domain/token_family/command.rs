//! What may be asked of a token family.

use super::{Alive, Pending, RefreshToken};
use crate::domain::{
    Fingerprint, Requirement, Timestamp,
    authority::{Audience, GrantedAuthority, Scopes},
    authorization_details::Details,
    grant::{Grant, Limits},
    possession::Possession,
    pushed_request::Pushed,
};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Begin(Box<Begin>),
    Start(Box<Start>),
    /// Says what it is about, so that what limits it can be gathered.
    Show,
    /// The same, as it is now.
    ShowNow,
    Redeem(Box<Redeem>),
    Refresh(Box<Refresh>),
    Revoke {
        client_id: String,
    },
    /// Nothing that was granted before is good: the account was recovered, or the person has ended it.
    End,
    /// The client holds more of the person's grants than are kept, and this is the longest unused.
    MakeRoom,
}

/// A grant and the code that stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    pub grant: Grant,
    pub code: Fingerprint,
    pub lives: CodeLifetimes,
    pub redirect_uri: String,
    pub challenge: Fingerprint,
    /// The thumbprint of the key by which alone the code is redeemed (RFC 9449 §10).
    pub key: Option<Fingerprint>,
    pub nonce: Option<String>,
    /// The pushed request that it answers: it is used up with it.
    pub pushed: Option<Pushed>,
    /// The session is to note its client, which is told when the session ends.
    pub noted_in: Option<String>,
    /// Facts the grant rests on, as they were read.
    pub requirements: Vec<Requirement>,
}

/// How long a code lives, and how long the access token that comes of it is expected to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeLifetimes {
    pub code: Duration,
    pub access_token: Duration,
}

/// A grant whose tokens are issued at once: no code stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub grant: Grant,
    /// Whether a refresh token is given out.
    pub refreshable: bool,
    pub issuing: Issuing,
}

/// A code, presented by an authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redeem {
    /// Of a code that was issued for this family.
    pub code: Fingerprint,
    pub redirect_uri: Option<String>,
    /// SHA-256 of the verifier.
    pub verifier: Option<Fingerprint>,
    /// Whether a refresh token is given out.
    pub refreshable: bool,
    /// How old the code may be by the rules of its client, if they say so.
    pub longest: Option<Duration>,
    pub issuing: Issuing,
}

/// A refresh token, presented by an authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Of a token that was issued for this family.
    pub token: Fingerprint,
    /// Whether the next token takes its place; by some profiles it stays (FAPI 2.0 Security Profile §5.3.2.1).
    pub rotates: bool,
    pub issuing: Issuing,
}

/// What every command that issues tokens brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuing {
    /// The client that presents.
    pub client_id: String,
    pub narrowing: Narrowing,
    /// Of the refresh token to be issued.
    ///
    /// It is drawn for one request alone. A command that finds it in the family has been carried out
    /// before, and is answered as then.
    pub next: Fingerprint,
    pub limits: Limits,
    pub requirements: Vec<Requirement>,
    pub lifetimes: Lifetimes,
    pub possession: Possession,
}

/// What a client asks of its grant: it may ask for fewer scopes and details, and change nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Fewer than were granted, if the client says so (RFC 6749 §6).
    pub scopes: Option<Scopes>,
    /// Less than was granted, if the client says so (RFC 9396 §6).
    pub details: Option<Details>,
    /// The one recipient (RFC 8707 §2.2).
    pub audience: Option<Audience>,
    /// The slug of the organization.
    pub organization: Option<String>,
    /// Something cannot be read; the client that sent it is judged first.
    pub malformed: Option<Malformed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    Scope,
    Target,
    Details,
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
    fn refresh_until(&self, born_at: Timestamp, now: Timestamp) -> Timestamp {
        (now + self.refresh_idle).min(born_at + self.refresh_ceiling)
    }
}

impl Issuing {
    pub(super) fn access_until(&self, now: Timestamp) -> Timestamp {
        now + self.lifetimes.access_token
    }

    /// The refresh token that is issued now, in a family of this age.
    pub(super) fn token(&self, born_at: Timestamp, now: Timestamp) -> RefreshToken {
        self.staying(self.next, born_at, now)
    }

    /// The same where a token stays, and is good for longer.
    pub(super) fn staying(
        &self,
        fingerprint: Fingerprint,
        born_at: Timestamp,
        now: Timestamp,
    ) -> RefreshToken {
        RefreshToken { fingerprint, expires_at: self.lifetimes.refresh_until(born_at, now) }
    }
}

impl Begin {
    /// Begins a family whose code a client has polled with: it is its own verifier, for it never left the
    /// client, and it was sent nowhere.
    pub fn awaited(grant: Grant, code: Fingerprint, code_lives: Duration) -> Self {
        Self {
            grant,
            code,
            lives: CodeLifetimes { code: code_lives, access_token: Duration::ZERO },
            redirect_uri: String::new(),
            challenge: code,
            key: None,
            nonce: None,
            pushed: None,
            noted_in: None,
            requirements: Vec::new(),
        }
    }

    pub(super) fn pending(self, now: Timestamp) -> Pending {
        Pending {
            grant: self.grant,
            born_at: now,
            code: self.code,
            expires_at: now + self.lives.code,
            listed_at: Some(now + self.lives.access_token),
            redirect_uri: self.redirect_uri,
            challenge: self.challenge,
            key: self.key,
            nonce: self.nonce,
        }
    }
}

impl Start {
    /// Says what would be granted.
    pub fn granted(&self) -> Result<GrantedAuthority, super::Refusal> {
        self.grant.pass_on(&self.issuing)
    }

    /// The family that stands for what was granted.
    pub(super) fn alive(&self, granted: &GrantedAuthority, now: Timestamp) -> Alive {
        let issuing = &self.issuing;
        let until = self.grant.delegation.as_ref().map(|one| one.until);
        let access_until = issuing.access_until(now);
        let scopes = granted.scopes().clone();
        Alive {
            grant: Grant { scopes, details: granted.details().clone(), ..self.grant.clone() },
            born_at: now,
            code: None,
            challenge: None,
            access_until: until.map_or(access_until, |until| until.min(access_until)),
            refresh: self.refreshable.then(|| issuing.token(now, now)),
            bound: issuing.possession.of_refresh(),
            issued_for: (!self.refreshable).then_some(issuing.next),
        }
    }
}
