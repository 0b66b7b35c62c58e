//! One file of the keys folder: one private key, whatever its form.

use super::problem::Problem;
use super::{Origin, jwk, pem};
use crate::crypto::{SecretKey, Signer};
use crate::domain::Timestamp;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeyPairComponents, PublicKeyComponents};
use std::sync::Arc;

/// What a file says.
#[derive(Debug)]
pub(super) struct KeyFile {
    pub material: KeyMaterial,
    /// Unknown for keys that were brought from elsewhere.
    pub origin: Option<Origin>,
    /// `NEVER` for keys that do not say it, which makes them the oldest.
    pub created_at: Timestamp,
}

#[derive(Debug)]
pub(super) enum KeyMaterial {
    Signing(Arc<Signer>),
    Secret(SecretKey),
}

impl KeyMaterial {
    pub(super) fn signing(signer: Signer) -> Self {
        Self::Signing(Arc::new(signer))
    }

    pub(super) fn kid(&self) -> &str {
        match self {
            Self::Signing(signer) => signer.kid(),
            Self::Secret(key) => key.kid(),
        }
    }
}

/// Parses a private JWK or PEM.
pub(super) fn parse(contents: &[u8]) -> Result<KeyFile, Problem> {
    let text = std::str::from_utf8(contents).map_err(|_| Problem::NotAKey)?;
    if text.trim_start().starts_with('{') {
        jwk::parse(text.as_bytes())
    } else if text.contains("-----BEGIN ") {
        pem::parse(text)
    } else {
        Err(Problem::NotAKey)
    }
}

/// Makes an RSA key of its components, if it is strong and they belong together.
pub(super) fn rsa_key(components: &KeyPairComponents<&[u8]>) -> Result<RsaKeyPair, Problem> {
    let (n, e) = rsa_strength(components.public_key.n, components.public_key.e)?;
    let public_key = PublicKeyComponents { n, e };
    RsaKeyPair::from_components(&KeyPairComponents { public_key, ..*components })
        .map_err(|_| Problem::Inconsistent)
}

/// Returns modulus and exponent of an RSA key without leading zeros, if it is strong.
pub fn rsa_strength<'a>(n: &'a [u8], e: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Problem> {
    let (n, e) = (without_leading_zeros(n), without_leading_zeros(e));
    // The library refuses such keys too, but without saying why.
    let bits = n.len() * 8 - n.first().map_or(0, |byte| byte.leading_zeros() as usize);
    match bits {
        0..2048 => return Err(Problem::WeakModulus { bits }),
        2048..=8192 => {}
        _ => return Err(Problem::OversizedModulus { bits }),
    }
    // FIPS 186-5 §5.1
    if e.len() < 3 {
        return Err(Problem::WeakExponent);
    }
    Ok((n, e))
}

fn without_leading_zeros(mut number: &[u8]) -> &[u8] {
    while let [0, rest @ ..] = number {
        number = rest;
    }
    number
}

#[cfg(test)]
mod tests;
