//! Reads the claims of a token whose signature was verified, one by one, and says which one is wrong.

use super::{CompanyFault, Issuer, OLDEST, SKEW};
use crate::domain::Timestamp;
use serde_json::{Map, Value};

/// OpenID Connect Core §2: at most 255 ASCII characters.
const LONGEST_SUBJECT: usize = 255;

/// Bytes of a text that is compared or kept.
pub(super) const LONGEST_TEXT: usize = 1_024;

/// The last second of the year 9999: no time of a token is later.
const LAST_SECOND: i64 = 253_402_300_799;

/// Why a token is not believed; reads on from "the token".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimsFault {
    #[error("lacks the claim `{0}`")]
    Missing(&'static str),
    #[error("has a claim `{0}` of the wrong type or size")]
    Malformed(&'static str),
    #[error("is of another issuer")]
    Issuer,
    #[error("is for another client")]
    Audience,
    #[error("is for others beside this client")]
    FurtherAudience,
    #[error("was made for another client: `azp` is not this one")]
    AuthorizedParty,
    #[error("has expired")]
    Expired,
    #[error("was issued too long ago")]
    TooOld,
    #[error("is not good yet: compare the clocks")]
    NotYet,
    #[error("was not made for this sign-in: `nonce` is another")]
    Nonce,
    #[error("says that the person proved who they are longer ago than was asked for")]
    AuthTime,
    #[error("is not of this access token: `at_hash` is another")]
    AccessTokenHash,
    #[error("is not of this code: `c_hash` is another")]
    CodeHash,
    #[error("has too many claims")]
    TooMany,
    #[error("is not of the company: {0}")]
    Company(#[from] CompanyFault),
    #[error("is not a logout token: it lacks the event, or has a nonce")]
    NoLogout,
}

impl ClaimsFault {
    /// A stable name for machines.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Missing(_) => "claim_missing",
            Self::Malformed(_) => "claim_malformed",
            Self::Issuer => "issuer_mismatch",
            Self::Audience => "audience_mismatch",
            Self::FurtherAudience => "further_audience",
            Self::AuthorizedParty => "authorized_party_mismatch",
            Self::Expired => "token_expired",
            Self::TooOld => "token_too_old",
            Self::NotYet => "token_not_yet_good",
            Self::Nonce => "nonce_mismatch",
            Self::AuthTime => "authentication_too_old",
            Self::AccessTokenHash => "access_token_hash_mismatch",
            Self::CodeHash => "code_hash_mismatch",
            Self::TooMany => "too_many_claims",
            Self::Company(fault) => fault.reason(),
            Self::NoLogout => "no_logout_token",
        }
    }
}

/// Claims of a token.
#[derive(Clone, Copy)]
pub(super) struct Claims<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Claims<'a> {
    pub(super) fn text(self, name: &'static str) -> Result<Option<&'a str>, ClaimsFault> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if is_text(text, LONGEST_TEXT) => Ok(Some(text)),
            Some(_) => Err(ClaimsFault::Malformed(name)),
        }
    }

    pub(super) fn required_text(self, name: &'static str) -> Result<&'a str, ClaimsFault> {
        self.text(name)?.ok_or(ClaimsFault::Missing(name))
    }

    /// Reads seconds since 1970, which may have a fraction (RFC 7519 §2).
    pub(super) fn time(self, name: &'static str) -> Result<Option<Timestamp>, ClaimsFault> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a fraction is meant to go; what is out of range is refused below"
        )]
        let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64));
        let seconds = seconds.filter(|seconds| (0..=LAST_SECOND).contains(seconds));
        seconds.map(|at| Some(Timestamp::from_seconds(at))).ok_or(ClaimsFault::Malformed(name))
    }

    pub(super) fn required_time(self, name: &'static str) -> Result<Timestamp, ClaimsFault> {
        self.time(name)?.ok_or(ClaimsFault::Missing(name))
    }

    /// Core §3.1.3.7 no. 2: exactly the issuer of the metadata.
    pub(super) fn check_issuer(self, issuer: &Issuer) -> Result<(), ClaimsFault> {
        let is_same = self.required_text("iss")? == issuer.as_str();
        if is_same { Ok(()) } else { Err(ClaimsFault::Issuer) }
    }

    /// Core §3.1.3.7 no. 3 to 5: for this client, and for no other, since we trust none.
    pub(super) fn check_audience(self, client_id: &str) -> Result<(), ClaimsFault> {
        let malformed = ClaimsFault::Malformed("aud");
        let audiences: Vec<&str> = match self.0.get("aud").ok_or(ClaimsFault::Missing("aud"))? {
            Value::String(one) => vec![one],
            Value::Array(several) => {
                let texts: Option<_> = several.iter().map(Value::as_str).collect();
                texts.ok_or(malformed)?
            }
            _ => return Err(malformed),
        };
        if !audiences.contains(&client_id) {
            return Err(ClaimsFault::Audience);
        }
        if audiences.iter().any(|audience| *audience != client_id) {
            return Err(ClaimsFault::FurtherAudience);
        }
        match self.text("azp")? {
            Some(party) if party != client_id => Err(ClaimsFault::AuthorizedParty),
            None if audiences.len() > 1 => Err(ClaimsFault::AuthorizedParty),
            _ => Ok(()),
        }
    }

    /// Core §3.1.3.7 no. 9 and 10: not expired, issued lately, and good already. Returns from when on it is refused.
    pub(super) fn check_times(self, now: Timestamp) -> Result<Timestamp, ClaimsFault> {
        let (expires_at, issued_at) = (self.required_time("exp")?, self.required_time("iat")?);
        if expires_at + SKEW <= now {
            return Err(ClaimsFault::Expired);
        }
        if issued_at + OLDEST + SKEW <= now {
            return Err(ClaimsFault::TooOld);
        }
        let not_before = self.time("nbf")?.unwrap_or(issued_at);
        if issued_at.max(not_before) > now + SKEW {
            return Err(ClaimsFault::NotYet);
        }
        Ok(expires_at.min(issued_at + OLDEST) + SKEW)
    }

    pub(super) fn subject(self) -> Result<Option<&'a str>, ClaimsFault> {
        match self.0.get("sub") {
            None => Ok(None),
            Some(Value::String(text)) if is_subject(text) => Ok(Some(text)),
            Some(_) => Err(ClaimsFault::Malformed("sub")),
        }
    }
}

pub(super) fn is_subject(text: &str) -> bool {
    let is_printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    (1..=LONGEST_SUBJECT).contains(&text.len()) && text.bytes().all(is_printable)
}

/// Tells whether a text is neither empty nor long, and has no character that controls others.
pub(super) fn is_text(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && !text.chars().any(char::is_control)
}
