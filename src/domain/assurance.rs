//! How sure we are of a person: derived from what was proved and when, never configured beside it.

use super::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// For how long two factors are good (NIST SP 800-63B-4 §2.2.3).
const AAL2_LIVES: Duration = Duration::from_hours(24);

/// For how long a session may be unused before two factors count as one.
const AAL2_IDLE: Duration = Duration::from_hours(1);

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
    EmailCode,
    MagicLink,
    SmsCode,
    RecoveryCode,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 8] = [
        Self::Password,
        Self::Totp,
        Self::Passkey,
        Self::DevicePasskey,
        Self::EmailCode,
        Self::MagicLink,
        Self::SmsCode,
        Self::RecoveryCode,
    ];

    /// Returns its names in `amr` (RFC 8176 §2). A passkey with a verified user is several factors
    /// in one method, which only `mfa` says.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Password => &["pwd"],
            Self::Totp | Self::EmailCode | Self::MagicLink | Self::RecoveryCode => &["otp"],
            Self::Passkey => &["swk", "mfa"],
            Self::DevicePasskey => &["hwk", "mfa"],
            Self::SmsCode => &["sms"],
        }
    }

    /// Tells whether a page that poses as ours gains nothing from it.
    pub const fn resists_phishing(self) -> bool {
        matches!(self, Self::Passkey | Self::DevicePasskey)
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
    /// Every level that evidence can reach today.
    pub const REACHABLE: [Self; 2] = [Self::Aal1, Self::Aal2];

    /// Returns its name in `acr`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
            Self::Aal3 => "aal3",
        }
    }

    /// Returns the level of this name, if evidence can reach it.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::REACHABLE.into_iter().find(|level| level.name() == name)
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
    /// Mail proves no possession of a device (NIST SP 800-63B-4 §3.1.3.1).
    pub const EMAIL_CODE: Self = Self { method: Method::EmailCode, factors: &[] };
    pub const MAGIC_LINK: Self = Self { method: Method::MagicLink, factors: &[] };
    pub const SMS_CODE: Self = Self { method: Method::SmsCode, factors: &[Factor::Possession] };
    pub const RECOVERY_CODE: Self =
        Self { method: Method::RecoveryCode, factors: &[Factor::Possession] };

    /// Returns the proof that was given at this time.
    pub fn given(self, at: Timestamp) -> Proof {
        Proof { method: self.method, factors: self.factors.to_vec(), at }
    }
}

/// One proof, and when it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub method: Method,
    pub factors: Vec<Factor>,
    pub at: Timestamp,
}

/// Everything that was proved of one person, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    proofs: Vec<Proof>,
    /// The session was unused for too long since the last proof.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lapsed: bool,
}

impl Evidence {
    pub fn of(proof: Proof) -> Self {
        Self { proofs: vec![proof], lapsed: false }
    }

    /// Returns the level reached and not lapsed; without a proof there is none.
    pub fn level(&self, now: Timestamp) -> Option<Level> {
        let last = self.last()?;
        let mut factors = self.proofs.iter().flat_map(|proof| &proof.factors);
        let first = factors.next();
        // Two proofs of one factor are one factor.
        let several = factors.any(|factor| Some(factor) != first);
        let fresh = !self.lapsed && now.since(last) < AAL2_LIVES;
        Some(if several && fresh { Level::Aal2 } else { Level::Aal1 })
    }

    /// Returns what was proved, and one proof more.
    pub fn and(&self, proof: Proof) -> Self {
        let proofs = self.proofs.iter().cloned().chain([proof]).collect();
        Self { proofs, lapsed: false }
    }

    /// Returns what it is worth in a session that was last used at `seen_at`.
    ///
    /// Once lapsed it stays so until the next proof.
    pub fn after_use(&self, seen_at: Timestamp, now: Timestamp) -> Self {
        let lapsed = self.lapsed || now.since(seen_at) >= AAL2_IDLE;
        Self { proofs: self.proofs.clone(), lapsed }
    }

    /// Tells whether this method was used.
    pub fn has(&self, method: Method) -> bool {
        self.proofs.iter().any(|proof| proof.method == method)
    }

    /// Lists the methods, each once.
    pub fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> = Vec::new();
        for proof in &self.proofs {
            if !methods.contains(&proof.method) {
                methods.push(proof.method);
            }
        }
        methods
    }

    /// Returns when the person last proved anything: `auth_time`.
    pub fn last(&self) -> Option<Timestamp> {
        self.proofs.iter().map(|proof| proof.at).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn the_level_follows_from_the_factors() {
        assert_eq!(Evidence::default().level(NOW), None);
        let proved = Evidence::of(Worth::PASSWORD.given(NOW));
        assert_eq!((proved.level(NOW), proved.last()), (Some(Level::Aal1), Some(NOW)));
        assert_eq!(proved.methods(), [Method::Password]);
        let twice = proved.and(Worth::PASSWORD.given(NOW));
        assert_eq!((twice.level(NOW), twice.methods().len()), (Some(Level::Aal1), 1));
        let both = proved.and(Worth::TOTP.given(NOW));
        assert_eq!(both.level(NOW), Some(Level::Aal2));
        assert_eq!(both.methods(), [Method::Password, Method::Totp]);
    }

    #[test]
    fn one_proof_may_be_worth_two_factors_or_none() {
        let two = &[Factor::Possession, Factor::Knowledge];
        let passkey = Worth { method: Method::Totp, factors: two };
        assert_eq!(Evidence::of(passkey.given(NOW)).level(NOW), Some(Level::Aal2));
        let none = Worth { method: Method::Totp, factors: &[] };
        let added = Evidence::of(Worth::PASSWORD.given(NOW)).and(none.given(NOW));
        assert_eq!(added.level(NOW), Some(Level::Aal1));
    }

    #[test]
    fn two_factors_lapse_after_a_day_or_an_hour_unused_until_the_next_proof() {
        let both = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
        let day = NOW + AAL2_LIVES;
        assert_eq!(both.level(day - Duration::from_millis(1)), Some(Level::Aal2));
        assert_eq!(both.level(day), Some(Level::Aal1));
        let hour = NOW + AAL2_IDLE;
        let used = both.after_use(NOW, hour - Duration::from_millis(1));
        assert_eq!(used.level(hour), Some(Level::Aal2));
        let unused = both.after_use(NOW, hour);
        assert_eq!(unused.level(hour), Some(Level::Aal1));
        let later = unused.after_use(hour, hour + Duration::from_secs(1));
        assert_eq!(later.level(hour), Some(Level::Aal1), "use does not bring it back");
        assert_eq!(later.and(Worth::TOTP.given(hour)).level(hour), Some(Level::Aal2));
    }
}
