//! A private key in the memory of this process, parsed once.

use super::signer::{KeyError, PublicParts, SigningKey};
use crate::domain::signing_keys::SigningAlgorithm;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding,
};

pub(super) enum LocalKey {
    Rsa(RsaKeyPair),
    /// Made or parsed for `ECDSA_P256_SHA256_FIXED_SIGNING`.
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl LocalKey {
    pub(super) fn public(&self) -> PublicParts {
        match self {
            Self::Rsa(key) => {
                let public = key.public_key();
                PublicParts::Rsa {
                    n: public.modulus().big_endian_without_leading_zero().to_vec(),
                    e: public.exponent().big_endian_without_leading_zero().to_vec(),
                }
            }
            Self::P256(key) => {
                // Uncompressed: 0x04, then both coordinates in full length (RFC 7518 §6.2.1).
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                PublicParts::P256 { x: x.to_vec(), y: y.to_vec() }
            }
            Self::Ed25519(key) => PublicParts::Ed25519 { x: key.public_key().as_ref().to_vec() },
        }
    }
}

impl SigningKey for LocalKey {
    // The digests are signed, not the messages: only those calls ask for no source of randomness,
    // which the library would ignore in favour of its own.
    fn signature(&self, algorithm: SigningAlgorithm, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match (self, algorithm) {
            (Self::Rsa(key), SigningAlgorithm::Rs256) => {
                rsa_signature(key, &RSA_PKCS1_SHA256, message)
            }
            (Self::Rsa(key), SigningAlgorithm::Ps256) => {
                rsa_signature(key, &RSA_PSS_SHA256, message)
            }
            (Self::P256(key), SigningAlgorithm::Es256) => {
                Ok(key.sign_digest(&digest(&SHA256, message))?.as_ref().to_vec())
            }
            (Self::Ed25519(key), SigningAlgorithm::EdDsa) => {
                Ok(key.try_sign(message)?.as_ref().to_vec())
            }
            _ => Err(KeyError::OtherAlgorithm),
        }
    }
}

fn rsa_signature(
    key: &RsaKeyPair,
    encoding: &'static dyn RsaEncoding,
    message: &[u8],
) -> Result<Vec<u8>, KeyError> {
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign_digest(encoding, &digest(&SHA256, message), &mut signature)?;
    Ok(signature)
}
