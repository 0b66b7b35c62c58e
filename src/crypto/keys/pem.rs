//! A private key in PEM (RFC 7468): PKCS#8, or what OpenSSL wrote before it.

use super::file::{KeyFile, KeyMaterial, rsa_key};
use super::problem::Problem;
use crate::crypto::Signer;
use crate::domain::Timestamp;
use aws_lc_rs::rsa::{KeyPairComponents, PublicKeyComponents};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use pkcs1::RsaPrivateKeyRef;
use pkcs8::{ObjectIdentifier, PrivateKeyInfoRef, SecretDocument};

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

pub(super) fn parse(text: &str) -> Result<KeyFile, Problem> {
    Ok(KeyFile {
        material: KeyMaterial::signing(read_pem(text)?),
        origin: None,
        created_at: Timestamp::NEVER,
    })
}

/// Reads a private key. It names no algorithm: RSA signs RS256, P-256 ES256, Ed25519 `EdDSA`.
pub fn read_pem(text: &str) -> Result<Signer, Problem> {
    let text = without_parameters(text);
    if text.matches("-----BEGIN ").count() > 1 {
        return Err(Problem::SeveralBlocks);
    }
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(Problem::Encrypted);
    }
    let (label, document) = SecretDocument::from_pem(text).map_err(|_| Problem::NotAKey)?;
    match label {
        "PRIVATE KEY" => pkcs8(document.as_bytes()),
        "RSA PRIVATE KEY" => rsa(document.as_bytes()),
        "EC PRIVATE KEY" => sec1(document.as_bytes()),
        "ENCRYPTED PRIVATE KEY" => Err(Problem::Encrypted),
        _ => Err(Problem::NotAKey),
    }
}

/// `openssl ecparam -genkey` names the curve in a block of its own before the key, which names it too.
fn without_parameters(text: &str) -> &str {
    let parameters = text.trim_start().strip_prefix("-----BEGIN EC PARAMETERS-----");
    let key = parameters.and_then(|rest| rest.split_once("-----END EC PARAMETERS-----"));
    key.map_or(text, |(_, key)| key.trim_start())
}

fn pkcs8(der: &[u8]) -> Result<Signer, Problem> {
    let info = PrivateKeyInfoRef::try_from(der).map_err(|_| Problem::NotAKey)?;
    match info.algorithm.oid {
        RSA => rsa(info.private_key.as_bytes()),
        EC if info.algorithm.parameters_oid() != Ok(P_256) => Err(Problem::UnsupportedCurve),
        EC => EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der)
            .map(Signer::es256)
            .map_err(|_| Problem::Inconsistent),
        ED25519 => {
            Ed25519KeyPair::from_pkcs8(der).map(Signer::eddsa).map_err(|_| Problem::Inconsistent)
        }
        _ => Err(Problem::UnsupportedKeyType),
    }
}

fn sec1(der: &[u8]) -> Result<Signer, Problem> {
    // The curve is named by its identifier somewhere within (RFC 5915 §3).
    if !der.windows(P_256.as_bytes().len()).any(|bytes| bytes == P_256.as_bytes()) {
        return Err(Problem::UnsupportedCurve);
    }
    EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, der)
        .map(Signer::es256)
        .map_err(|_| Problem::Inconsistent)
}

fn rsa(pkcs1: &[u8]) -> Result<Signer, Problem> {
    let key = RsaPrivateKeyRef::try_from(pkcs1).map_err(|_| Problem::NotAKey)?;
    if key.other_prime_infos.is_some() {
        return Err(Problem::UnsupportedKeyType);
    }
    let components = KeyPairComponents {
        public_key: PublicKeyComponents {
            n: key.modulus.as_bytes(),
            e: key.public_exponent.as_bytes(),
        },
        d: key.private_exponent.as_bytes(),
        p: key.prime1.as_bytes(),
        q: key.prime2.as_bytes(),
        dP: key.exponent1.as_bytes(),
        dQ: key.exponent2.as_bytes(),
        qInv: key.coefficient.as_bytes(),
    };
    rsa_key(&components).map(Signer::rs256)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts the public half of `other`, which comes last in all these forms, in place of `der`'s.
    fn with_public_half_of(der: &[u8], other: &[u8], length: usize) -> Vec<u8> {
        [&der[..der.len() - length], &other[other.len() - length..]].concat()
    }

    #[test]
    fn a_p256_key_with_the_public_half_of_another_is_refused() {
        let make = || EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let (one, other) = (make().to_pkcs8v1().unwrap(), make().to_pkcs8v1().unwrap());
        assert!(pkcs8(one.as_ref()).is_ok());
        let mixed = with_public_half_of(one.as_ref(), other.as_ref(), 64);
        assert_eq!(pkcs8(&mixed).unwrap_err(), Problem::Inconsistent);
    }

    #[test]
    fn an_ed25519_key_with_the_public_half_of_another_is_refused() {
        let make = || Ed25519KeyPair::generate().unwrap().to_pkcs8().unwrap();
        let (one, other) = (make(), make());
        assert!(pkcs8(one.as_ref()).is_ok());
        let mixed = with_public_half_of(one.as_ref(), other.as_ref(), 32);
        assert_eq!(pkcs8(&mixed).unwrap_err(), Problem::Inconsistent);
    }

    #[test]
    fn a_sec1_key_with_the_public_half_of_another_is_refused() {
        let pem = include_str!("fixtures/p256_sec1.pem");
        let (_, document) = SecretDocument::from_pem(pem).unwrap();
        let other = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let other = other.to_pkcs8v1().unwrap();
        let mixed = with_public_half_of(document.as_bytes(), other.as_ref(), 64);
        assert_eq!(sec1(&mixed).unwrap_err(), Problem::Inconsistent);
        assert_eq!(sec1(&[0; 100]).unwrap_err(), Problem::UnsupportedCurve);
    }

    #[test]
    fn a_key_after_a_block_that_names_its_curve_is_taken() {
        let parameters =
            "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
        let key = include_str!("fixtures/p256_sec1.pem");
        let kid = |text: &str| parse(text).map(|file| file.material.kid().to_owned());
        assert_eq!(kid(&format!("{parameters}{key}")), kid(key));
        assert_eq!(kid(&format!("{parameters}{key}{key}")), Err(Problem::SeveralBlocks));
        assert_eq!(kid(parameters), Err(Problem::NotAKey));
    }

    #[test]
    fn no_truncated_document_is_taken_for_a_key() {
        let pem = include_str!("fixtures/rsa_2048.pem");
        let (_, document) = SecretDocument::from_pem(pem).unwrap();
        for length in 0..document.as_bytes().len() {
            assert!(pkcs8(&document.as_bytes()[..length]).is_err());
        }
    }
}
