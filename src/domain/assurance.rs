//! How sure we are of a person: derived from what was proved and when, never configured beside it.

mod authenticators;
mod sign_out;
mod single_sign_on;

pub use authenticators::{AuthenticatorId, Authenticators};
pub use single_sign_on::SingleSignOn;

use super::{Timestamp, epoch::is_first};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// For how long a factor is good as one of two (NIST SP 800-63B-4 §2.2.3).
const AAL2_LIVES: Duration = Duration::from_hours(24);

/// For how long a session may be unused before two factors count as one.
const AAL2_IDLE: Duration = Duration::from_hours(1);

/// For how long an attested passkey is good for the highest level (§2.3.3).
const AAL3_LIVES: Duration = Duration::from_hours(12);

/// For how long a session may be unused before it needs that passkey again.
const AAL3_IDLE: Duration = Duration::from_mins(15);

/// For how long a proof is fresh: long enough to go through a page of settings.
pub const FRESH_FOR: Duration = Duration::from_mins(15);

/// How a person proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    #[serde(rename = "pwd")]
    Password,
    /// A one-time code of an authenticator application.
    #[serde(rename = "otp")]
    Totp,
    /// A passkey that may be copied between devices, with its user verified.
    Passkey,
    /// A passkey that stays on one device, with its user verified.
    DevicePasskey,
    /// A passkey in hardware whose maker vouches for it, with its user verified (adr/0059).
    AttestedPasskey,
    EmailCode,
    MagicLink,
    SmsCode,
    RecoveryCode,
    /// Another provider says who the person is.
    SingleSignOn,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 10] = [
        Self::Password,
        Self::Totp,
        Self::Passkey,
        Self::DevicePasskey,
        Self::AttestedPasskey,
        Self::EmailCode,
        Self::MagicLink,
        Self::SmsCode,
        Self::RecoveryCode,
        Self::SingleSignOn,
    ];

    /// Returns its names in `amr` (RFC 8176 §2). A passkey with a verified user is several factors
    /// in one method, which only `mfa` says.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Password => &["pwd"],
            Self::Totp | Self::EmailCode | Self::MagicLink | Self::RecoveryCode => &["otp"],
            Self::Passkey => &["swk", "mfa"],
            Self::DevicePasskey | Self::AttestedPasskey => &["hwk", "mfa"],
            Self::SmsCode => &["sms"],
            // How the provider knows them is not ours to say.
            Self::SingleSignOn => &[],
        }
    }

    /// Tells whether a page that poses as ours gains nothing from it.
    pub const fn resists_phishing(self) -> bool {
        matches!(self, Self::Passkey | Self::DevicePasskey | Self::AttestedPasskey)
    }
}

/// Lists the names of methods as `amr` does, each once.
pub fn amr(methods: &[Method]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in methods.iter().flat_map(|method| method.names()) {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    names
}

/// What a person must know, have or be to give a proof (NIST SP 800-63B-4 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    Knowledge,
    Possession,
}

/// An authenticator assurance level (NIST SP 800-63B-4 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Aal1,
    Aal2,
    Aal3,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::Aal1, Self::Aal2, Self::Aal3];

    /// Returns its name in `acr`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
            Self::Aal3 => "aal3",
        }
    }

    /// Returns what is left of a level that was reached at this time.
    pub fn lapsed(self, reached_at: Timestamp, now: Timestamp) -> Self {
        let left = match now.since(reached_at) {
            age if age < AAL3_LIVES => Self::Aal3,
            age if age < AAL2_LIVES => Self::Aal2,
            _ => Self::Aal1,
        };
        self.min(left)
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A value of `acr_values`: what a client, a person or an organization may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Acr {
    #[default]
    Aal1,
    Aal2,
    Aal3,
    /// Phishing resistant (OpenID Connect Extended Authentication Profile).
    Phr,
    /// The same with keys in hardware that was attested. `acr` says the level, and never this.
    Phrh,
}

impl Acr {
    /// Every value that can be asked for.
    pub const ALL: [Self; 5] = [Self::Aal1, Self::Aal2, Self::Aal3, Self::Phr, Self::Phrh];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
            Self::Aal3 => "aal3",
            Self::Phr => "phr",
            Self::Phrh => "phrh",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|acr| acr.name() == name)
    }

    /// Returns the level that it goes with.
    pub const fn level(self) -> Level {
        match self {
            Self::Aal1 => Level::Aal1,
            Self::Aal2 | Self::Phr | Self::Phrh => Level::Aal2,
            Self::Aal3 => Level::Aal3,
        }
    }

    /// Tells whether it asks for nothing that any proof does not give.
    pub fn is_least(&self) -> bool {
        *self == Self::Aal1
    }

    /// Tells whether proofs by these methods, which reached this level, are enough for it.
    pub fn is_met_at(self, level: Level, methods: &[Method]) -> bool {
        let by = |is_right: fn(Method) -> bool| methods.iter().copied().any(is_right);
        let sort = match self {
            Self::Aal1 | Self::Aal2 | Self::Aal3 => true,
            Self::Phr => by(Method::resists_phishing),
            Self::Phrh => by(|method| method == Method::AttestedPasskey),
        };
        level >= self.level() && sort
    }

    /// Tells whether the evidence is enough for it now.
    pub fn is_met_by(self, evidence: &Evidence, now: Timestamp) -> bool {
        let methods: Vec<Method> = evidence.good(now).map(|proof| proof.method).collect();
        evidence.level(now).is_some_and(|level| self.is_met_at(level, &methods))
    }

    /// Tells whether an account that can prove itself by these methods may come to it.
    pub fn is_reachable_by(self, methods: &[Method]) -> bool {
        let has_passkey = methods.iter().any(|method| method.resists_phishing());
        let one_of = |wanted: &[Method]| methods.iter().any(|method| wanted.contains(method));
        match self {
            Self::Aal1 => true,
            Self::Aal2 => {
                let possessed = [Method::Totp, Method::RecoveryCode, Method::SmsCode];
                has_passkey || one_of(&[Method::Password]) && one_of(&possessed)
            }
            Self::Phr => has_passkey,
            Self::Aal3 | Self::Phrh => one_of(&[Method::AttestedPasskey]),
        }
    }

    /// Returns as much of it as such an account may come to: of a key in hardware that was attested
    /// any passkey is a part.
    pub fn within(self, methods: &[Method]) -> Option<Self> {
        let part = if self == Self::Phrh { Self::Phr } else { self };
        [self, part].into_iter().find(|acr| acr.is_reachable_by(methods))
    }
}

/// What a proof of one kind is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    pub method: Method,
    /// A passkey that verified its user proves two; an e-mail code proves none.
    pub factors: &'static [Factor],
}

impl Worth {
    pub const PASSWORD: Self = Self { method: Method::Password, factors: &[Factor::Knowledge] };
    pub const TOTP: Self = Self { method: Method::Totp, factors: &[Factor::Possession] };
    /// Its user was verified by the device: what they have, and what they know or are.
    pub const PASSKEY: Self =
        Self { method: Method::Passkey, factors: &[Factor::Possession, Factor::Knowledge] };
    pub const DEVICE_PASSKEY: Self = Self { method: Method::DevicePasskey, ..Self::PASSKEY };
    pub const ATTESTED_PASSKEY: Self = Self { method: Method::AttestedPasskey, ..Self::PASSKEY };
    /// Mail proves no possession of a device (NIST SP 800-63B-4 §3.1.3.1).
    pub const EMAIL_CODE: Self = Self { method: Method::EmailCode, factors: &[] };
    pub const MAGIC_LINK: Self = Self { method: Method::MagicLink, factors: &[] };
    pub const SMS_CODE: Self = Self { method: Method::SmsCode, factors: &[Factor::Possession] };
    pub const RECOVERY_CODE: Self =
        Self { method: Method::RecoveryCode, factors: &[Factor::Possession] };

    /// What every kind of proof is worth.
    pub const ALL: [Self; 9] = [
        Self::PASSWORD,
        Self::TOTP,
        Self::PASSKEY,
        Self::DEVICE_PASSKEY,
        Self::ATTESTED_PASSKEY,
        Self::EMAIL_CODE,
        Self::MAGIC_LINK,
        Self::SMS_CODE,
        Self::RECOVERY_CODE,
    ];

    /// Returns the proof that was given at this time.
    pub fn given(self, at: Timestamp) -> Proof {
        Proof {
            method: self.method,
            factors: self.factors.to_vec(),
            at,
            by: None,
            void: false,
            sign_on: None,
            auth_time: None,
            sign_outs: 0,
        }
    }
}

/// One proof, and when it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub method: Method,
    pub factors: Vec<Factor>,
    pub at: Timestamp,
    /// By which authenticator of the account it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AuthenticatorId>,
    /// That authenticator is gone: the proof is one of no factor, and never a fresh one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
    /// What it rests on, where another provider gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_on: Option<Box<SingleSignOn>>,
    /// When that provider says that the person proved it there, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<Timestamp>,
    /// How many sign-outs there had been when it was given (adr/0140).
    #[serde(default, skip_serializing_if = "is_first")]
    pub sign_outs: u64,
}

impl Proof {
    /// Tells whether its factors still count.
    fn is_good(&self, now: Timestamp) -> bool {
        !self.void && now.since(self.at) < AAL2_LIVES
    }

    /// Tells whether it still makes up the highest level.
    fn is_hardware(&self, now: Timestamp) -> bool {
        self.method == Method::AttestedPasskey && !self.void && now.since(self.at) < AAL3_LIVES
    }
}

/// Everything that was proved of one person, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    proofs: Vec<Proof>,
    /// The session was unused for too long since the last proof.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lapsed: bool,
    /// The session was unused for too long since the last proof by an attested passkey.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    idle: bool,
    /// Proofs that count for one organization alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scoped: Vec<Proof>,
    /// As `lapsed`, of those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    scoped_lapsed: bool,
}

impl Evidence {
    pub fn of(proof: Proof) -> Self {
        Self::default().and(proof)
    }

    /// Lists the proofs whose factors still count.
    fn good(&self, now: Timestamp) -> impl Iterator<Item = &Proof> {
        self.proofs.iter().filter(move |proof| proof.is_good(now))
    }

    /// Returns the level reached and not lapsed; without a proof there is none.
    pub fn level(&self, now: Timestamp) -> Option<Level> {
        self.last()?;
        // Each by its own age: a password of today keeps no code of yesterday alive.
        let mut factors = self.good(now).flat_map(|proof| &proof.factors);
        let first = factors.next();
        // Two proofs of one factor are one factor.
        let several = factors.any(|factor| Some(factor) != first);
        if !several || self.lapsed {
            return Some(Level::Aal1);
        }
        let hardware = !self.idle && self.proofs.iter().any(|proof| proof.is_hardware(now));
        Some(if hardware { Level::Aal3 } else { Level::Aal2 })
    }

    /// Returns what was proved, and one proof more; of each method the last proof is kept.
    pub fn and(&self, proof: Proof) -> Self {
        let proof = self.placed(proof);
        if proof.only_for().is_some() {
            return self.and_scoped(proof);
        }
        // A mailed code is no factor, and brings none back.
        let lapsed = self.lapsed && proof.factors.is_empty();
        let idle = self.idle && proof.method != Method::AttestedPasskey;
        let mut proofs = self.proofs.clone();
        match proofs.iter_mut().find(|former| former.method == proof.method) {
            Some(former) => *former = proof,
            None => proofs.push(proof),
        }
        Self { proofs, lapsed, idle, ..self.clone() }
    }

    /// Returns what it is worth in a session that was last used at `seen_at`.
    ///
    /// Once lapsed it stays so until the next proof.
    pub fn after_use(&self, seen_at: Timestamp, now: Timestamp) -> Self {
        let unused = now.since(seen_at);
        let idle = self.idle || unused >= AAL3_IDLE && self.has(Method::AttestedPasskey);
        let lapsed = self.lapsed || unused >= AAL2_IDLE;
        let scoped_lapsed = self.scoped_lapsed || unused >= AAL2_IDLE && !self.scoped.is_empty();
        Self { lapsed, idle, scoped_lapsed, ..self.clone() }
    }

    /// Returns what was proved at this time or later.
    pub fn since(&self, at: Timestamp) -> Self {
        let mut since = self.clone();
        since.proofs.retain(|proof| proof.at >= at);
        since.scoped.retain(|proof| proof.at >= at);
        since
    }

    /// Tells whether this level was proved a moment ago: what changes the ways into an account needs
    /// more than a session that was left open.
    ///
    /// Older proofs do not count: a fresh password does not make an old code fresh.
    pub fn is_fresh(&self, level: Level, now: Timestamp) -> bool {
        let mut fresh = self.since(now - FRESH_FOR);
        // What another provider says changes no credential.
        fresh.proofs.retain(|proof| !proof.void && proof.sign_on.is_none());
        fresh.level(now) >= Some(level)
    }

    /// Tells whether this factor was proved and still counts.
    pub fn proves(&self, factor: Factor, now: Timestamp) -> bool {
        self.good(now).any(|proof| proof.factors.contains(&factor))
    }

    /// Tells whether this method was used.
    pub fn has(&self, method: Method) -> bool {
        self.proofs.iter().any(|proof| proof.method == method)
    }

    /// Lists the methods, each once; those whose authenticator is gone only where no other is left.
    pub fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> = Vec::new();
        let all_void = self.proofs.iter().all(|proof| proof.void);
        for proof in self.proofs.iter().filter(|proof| all_void || !proof.void) {
            if !methods.contains(&proof.method) {
                methods.push(proof.method);
            }
        }
        methods
    }

    /// Returns when the person last proved anything: `auth_time`.
    pub fn last(&self) -> Option<Timestamp> {
        self.proofs.iter().map(Proof::proved_at).max()
    }
}

#[cfg(test)]
mod tests;
