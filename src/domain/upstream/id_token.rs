//! The judgement of an ID token whose signature was verified (OpenID Connect Core §3.1.3.7).

use super::{
    Issuer, SKEW, UpstreamPerson,
    claims::{Claims, ClaimsFault, LONGEST_TEXT, is_text},
    company,
    person::{MOST_CLAIMS, address, facts, verified},
};
use crate::domain::{Timestamp, signing_keys::SigningAlgorithm};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256, Sha512};
use std::time::Duration;
use subtle::ConstantTimeEq as _;

/// How many methods `amr` may name.
const MOST_METHODS: usize = 32;

/// What an ID token must say to be the one that was asked for.
pub struct Expectation<'a> {
    pub issuer: &'a Issuer,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub company: Option<&'a str>,
    /// Where it was asked how long ago the person may have proved who they are.
    pub max_age: Option<Duration>,
    /// The algorithm of the signature, by which the hashes go.
    pub algorithm: SigningAlgorithm,
    pub access_token: Option<&'a str>,
    pub code: &'a str,
}

/// Makes a person of the claims, or says which of them is wrong.
pub fn judge(
    claims: Map<String, Value>,
    expected: &Expectation<'_>,
    now: Timestamp,
) -> Result<UpstreamPerson, ClaimsFault> {
    if claims.len() > MOST_CLAIMS {
        return Err(ClaimsFault::TooMany);
    }
    let read = Claims(&claims);
    read.check_issuer(expected.issuer)?;
    read.check_audience(expected.client_id)?;
    read.check_times(now)?;
    // No. 11: made for this sign-in; compared without telling how much of it was right.
    let nonce = read.required_text("nonce")?;
    if !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
        return Err(ClaimsFault::Nonce);
    }
    let subject = read.subject()?.ok_or(ClaimsFault::Missing("sub"))?.to_owned();
    let auth_time = auth_time(read, expected.max_age, now)?;
    check_hashes(read, expected)?;
    company::check_claims(expected.issuer, expected.company, &claims)?;
    Ok(UpstreamPerson {
        issuer: expected.issuer.as_str().to_owned(),
        subject,
        session: read.text("sid")?.map(str::to_owned),
        email: address(claims.get("email")),
        email_verified: verified(claims.get("email_verified")),
        // What could only raise trust is passed over where it is malformed.
        acr: read.text("acr").ok().flatten().map(str::to_owned),
        amr: methods(claims.get("amr")),
        auth_time,
        claims: facts(claims),
    })
}

/// No. 13: where it was asked for, it is there and lately enough.
fn auth_time(
    claims: Claims<'_>,
    max_age: Option<Duration>,
    now: Timestamp,
) -> Result<Option<Timestamp>, ClaimsFault> {
    let Some(max_age) = max_age else { return Ok(claims.time("auth_time").ok().flatten()) };
    let at = claims.required_time("auth_time")?;
    let is_late = at + max_age + SKEW < now;
    if is_late || at > now + SKEW { Err(ClaimsFault::AuthTime) } else { Ok(Some(at)) }
}

/// §3.1.3.8 and §3.3.2.10: code and access token are those with which the ID token was issued.
fn check_hashes(claims: Claims<'_>, expected: &Expectation<'_>) -> Result<(), ClaimsFault> {
    if let Some(hash) = claims.text("at_hash")? {
        let token = expected.access_token.ok_or(ClaimsFault::AccessTokenHash)?;
        if !is_hash_of(hash, token, expected.algorithm) {
            return Err(ClaimsFault::AccessTokenHash);
        }
    }
    if let Some(hash) = claims.text("c_hash")?
        && !is_hash_of(hash, expected.code, expected.algorithm)
    {
        return Err(ClaimsFault::CodeHash);
    }
    Ok(())
}

/// The left half of the hash that the algorithm signs. For `EdDSA` no standard says which: most take SHA-512, which
/// Ed25519 uses inside, and some SHA-256.
fn is_hash_of(hash: &str, text: &str, algorithm: SigningAlgorithm) -> bool {
    let short = URL_SAFE_NO_PAD.encode(&Sha256::digest(text)[..16]);
    let long = || URL_SAFE_NO_PAD.encode(&Sha512::digest(text)[..32]);
    hash == short || (algorithm == SigningAlgorithm::EdDsa && hash == long())
}

fn methods(value: Option<&Value>) -> Vec<String> {
    let entries = value.and_then(Value::as_array).filter(|entries| entries.len() <= MOST_METHODS);
    let texts = entries.into_iter().flatten().filter_map(Value::as_str);
    texts.filter(|text| is_text(text, LONGEST_TEXT)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
