//! What a token family is while it lives.

use super::{Issuing, Redeem, Refusal};
use crate::domain::{
    Fingerprint, Timestamp,
    grant::Grant,
    possession::{Confirmation, HeldKeys},
};
use serde::{Deserialize, Serialize};

/// A family whose code is out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub grant: Grant,
    pub born_at: Timestamp,
    pub code: Fingerprint,
    pub expires_at: Timestamp,
    /// When its first access token would expire if it were redeemed now: it is listed as it will be then, so that a
    /// redemption seldom changes lists. Older binaries stored none, and listed it by its birth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) listed_at: Option<Timestamp>,
    /// Where the code was sent.
    pub redirect_uri: String,
    /// SHA-256 of the verifier (RFC 7636 §4.2, S256).
    pub challenge: Fingerprint,
    /// The thumbprint of the key by which alone it is redeemed (RFC 9449 §10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Fingerprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

/// A family whose tokens are out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    pub grant: Grant,
    pub born_at: Timestamp,
    /// The code it came from, if it came from one: to see it again ends the family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<Fingerprint>,
    /// SHA-256 of that code's verifier; the first families were stored without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<Fingerprint>,
    /// When its last access token expires.
    pub(super) access_until: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<RefreshToken>,
    /// The key that its refresh tokens are bound to: those of a public client are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bound: Option<Confirmation>,
    /// The `next` of the request it issued to, where no refresh token was given out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) issued_for: Option<Fingerprint>,
}

/// The one refresh token that is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshToken {
    pub fingerprint: Fingerprint,
    pub expires_at: Timestamp,
}

/// Why a family has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Its code was presented a second time.
    Replayed,
    /// A refresh token was presented after it had been replaced.
    Reused,
    /// The client gave it back.
    Revoked,
    /// The person has ended it, alone or with everything that rested on the account.
    // As older binaries write it.
    #[serde(rename = "AccountRecovered")]
    Over,
}

impl Pending {
    /// Checks everything that a code is bound to.
    pub(super) fn admit(&self, redeem: &Redeem, now: Timestamp) -> Result<(), Refusal> {
        if self.code != redeem.code {
            return Err(Refusal::Unknown);
        }
        let longest = redeem.longest.map_or(Timestamp::FOREVER, |longest| self.born_at + longest);
        if now >= self.expires_at.min(longest) {
            return Err(Refusal::Expired);
        }
        if self.grant.client_id != redeem.issuing.client_id {
            return Err(Refusal::WrongClient);
        }
        // OAuth 2.1 §10.2: a client need not repeat it, but what it repeats must be the same.
        if redeem.redirect_uri.as_ref().is_some_and(|uri| *uri != self.redirect_uri) {
            return Err(Refusal::WrongRedirectUri);
        }
        // RFC 7636 §4.6
        if redeem.verifier != Some(self.challenge) {
            return Err(Refusal::WrongVerifier);
        }
        if self.key.is_some() && self.key != redeem.issuing.possession.held.key {
            return Err(Refusal::WrongKey);
        }
        Ok(())
    }

    pub(super) fn redeemed(&self, redeemed: &Redeemed) -> Alive {
        let Redeemed { access_until, issued, bound } = *redeemed;
        let (refresh, issued_for) = match issued {
            FirstIssue::Refreshable(token) => (Some(token), None),
            FirstIssue::Once(next) => (None, Some(next)),
        };
        Alive {
            grant: self.grant.clone(),
            born_at: self.born_at,
            code: Some(self.code),
            challenge: Some(self.challenge),
            access_until,
            refresh,
            bound,
            issued_for,
        }
    }
}

/// What came of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redeemed {
    pub access_until: Timestamp,
    pub issued: FirstIssue,
    /// The key that refresh tokens are bound to.
    pub bound: Option<Confirmation>,
}

/// What the first request of a family was given beside an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstIssue {
    Refreshable(RefreshToken),
    /// No refresh token; the request is known by this.
    Once(Fingerprint),
}

impl Alive {
    /// Checks who presents a code that was redeemed before (RFC 9700 §4.5, adr/0046).
    ///
    /// A caller that could not have redeemed it proves nothing, and ends nothing.
    pub(super) fn admit_again(&self, redeem: &Redeem) -> Result<(), Refusal> {
        if self.grant.client_id != redeem.issuing.client_id {
            return Err(Refusal::WrongClient);
        }
        if self.challenge.is_some_and(|challenge| redeem.verifier != Some(challenge)) {
            return Err(Refusal::WrongVerifier);
        }
        Ok(())
    }

    /// Tells whether what it issued last was for this very request.
    pub(super) fn issued_for(&self, issuing: &Issuing) -> bool {
        let last = self.refresh.map(|token| token.fingerprint).or(self.issued_for);
        last == Some(issuing.next)
    }

    /// Checks that a caller holds the key that its refresh tokens are bound to.
    pub(super) fn is_held_by(&self, held: &HeldKeys) -> bool {
        self.bound.is_none_or(|bound| held.holds(&bound))
    }

    pub(super) fn over_at(&self) -> Timestamp {
        let refresh = self.refresh.map(|token| token.expires_at);
        refresh.map_or(self.access_until, |until| until.max(self.access_until))
    }
}
