//! Reading back what we signed ourselves: only our own keys, only the header we write.

use crate::domain::signing_keys::{PublicKey, SigningAlgorithm};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;

/// The published keys, ready to verify.
#[derive(Clone, Default)]
pub struct Verifiers(BTreeMap<String, Vec<(SigningAlgorithm, Key)>>);

/// A public key, for one algorithm; parsed once, for it verifies many signatures.
#[derive(Clone)]
pub(super) struct Key(ParsedPublicKey);

/// The text is not a token that one of these keys signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no token of ours")]
pub struct ForeignToken;

/// Exactly what [`super::Signer`] writes: a `crit` or anything else is none of ours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<'a> {
    typ: &'a str,
    alg: &'a str,
    kid: &'a str,
}

/// A token, and the key that its header names.
struct Parts<'a> {
    key: &'a Key,
    /// Header and claims, as they are signed.
    message: &'a str,
    claims: &'a str,
    signature: &'a str,
}

impl<'a> FromIterator<&'a PublicKey> for Verifiers {
    fn from_iter<I: IntoIterator<Item = &'a PublicKey>>(keys: I) -> Self {
        let read = |key: &PublicKey| {
            let by = |one: &SigningAlgorithm| Some((*one, Key::read(*one, &key.public_jwk)?));
            let signed_with = key.algorithm.signed_with().iter();
            (key.kid.clone(), signed_with.filter_map(by).collect())
        };
        Self(keys.into_iter().map(read).collect())
    }
}

impl Verifiers {
    /// Reads the public keys of another party: each has a `kid`, and tells its algorithm by `alg` or by
    /// its type. One that cannot be used refuses all of them.
    pub fn of_others(keys: &[Value]) -> Option<Self> {
        let read = |jwk: &Value| {
            let text = |name: &str| jwk.get(name).and_then(Value::as_str);
            let algorithm = match (text("alg"), text("kty")?, text("crv")) {
                (Some(name), _, _) => SigningAlgorithm::by_name(name)?,
                (None, "EC", Some("P-256")) => SigningAlgorithm::Es256,
                (None, "OKP", Some("Ed25519")) => SigningAlgorithm::EdDsa,
                _ => return None,
            };
            Some((text("kid")?.to_owned(), vec![(algorithm, Key::read(algorithm, jwk)?)]))
        };
        keys.iter().map(read).collect::<Option<_>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the claims of a token of this type that one of these keys signed.
    ///
    /// Says nothing of time, issuer or revocation.
    pub fn read<C: DeserializeOwned>(&self, typ: &str, token: &str) -> Result<C, ForeignToken> {
        let Parts { key, message, claims, signature } = self.parts(typ, token)?;
        key.verify(message.as_bytes(), &decode(signature)?)?;
        serde_json::from_slice(&decode(claims)?).map_err(|_| ForeignToken)
    }

    /// The same of a token that is known to be signed by one of these keys.
    pub(super) fn read_signed<C: DeserializeOwned>(
        &self,
        typ: &str,
        token: &str,
    ) -> Result<C, ForeignToken> {
        let claims = self.parts(typ, token)?.claims;
        serde_json::from_slice(&decode(claims)?).map_err(|_| ForeignToken)
    }

    /// Takes a token apart whose header names one of these keys.
    fn parts<'a>(&'a self, typ: &str, token: &'a str) -> Result<Parts<'a>, ForeignToken> {
        let (message, signature) = token.rsplit_once('.').ok_or(ForeignToken)?;
        let (header, claims) = message.split_once('.').ok_or(ForeignToken)?;
        let header = decode(header)?;
        let header: Header<'_> = serde_json::from_slice(&header).map_err(|_| ForeignToken)?;
        let signed_with = self.0.get(header.kid).ok_or(ForeignToken)?;
        // The algorithm is one of the key's own; the header must agree (RFC 8725 §3.1).
        let (_, key) =
            signed_with.iter().find(|(one, _)| one.name() == header.alg).ok_or(ForeignToken)?;
        if header.typ != typ {
            return Err(ForeignToken);
        }
        Ok(Parts { key, message, claims, signature })
    }
}

impl Key {
    /// Reads the members of a public JWK (RFC 7518 §6, RFC 8037 §2); an RSA key of a length that does not count
    /// verifies nothing.
    pub(super) fn read(algorithm: SigningAlgorithm, jwk: &Value) -> Option<Self> {
        let member = |name: &str| decode(jwk.get(name)?.as_str()?).ok();
        let rsa = |parameters| {
            let (n, e) = (member("n")?, member("e")?);
            RsaPublicKeyComponents { n, e }.to_parsed_public_key(parameters).ok()
        };
        let parsed = match algorithm {
            SigningAlgorithm::Rs256 => rsa(&RSA_PKCS1_2048_8192_SHA256),
            SigningAlgorithm::Ps256 => rsa(&RSA_PSS_2048_8192_SHA256),
            SigningAlgorithm::Es256 => {
                // Uncompressed: 0x04, then both coordinates (RFC 7518 §6.2.1).
                let point = [&[4], member("x")?.as_slice(), member("y")?.as_slice()].concat();
                ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).ok()
            }
            SigningAlgorithm::EdDsa => ParsedPublicKey::new(&ED25519, member("x")?).ok(),
        };
        parsed.map(Self)
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), ForeignToken> {
        self.0.verify_sig(message, signature).map_err(|_| ForeignToken)
    }
}

fn decode(text: &str) -> Result<Vec<u8>, ForeignToken> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| ForeignToken)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::crypto::signer::tests::signers;
    use crate::domain::{Timestamp, signing_keys::KeyState};
    use serde_json::json;

    pub(in crate::crypto) fn published(signer: &crate::crypto::Signer) -> PublicKey {
        let observed = signer.observed();
        PublicKey {
            kid: observed.kid,
            algorithm: observed.algorithm,
            public_jwk: observed.public_jwk,
            published_at: Timestamp::NEVER,
            state: KeyState::Current,
            retired_for: std::time::Duration::ZERO,
        }
    }

    #[test]
    fn what_each_of_our_keys_signs_is_read_back() {
        let signers = signers();
        let keys: Vec<PublicKey> = signers.iter().map(published).collect();
        let verifiers: Verifiers = keys.iter().collect();
        for signer in &signers {
            let token = signer.sign("at+jwt", &json!({ "sub": "ana" })).unwrap();
            assert_eq!(verifiers.read::<Value>("at+jwt", &token), Ok(json!({ "sub": "ana" })));
            assert_eq!(verifiers.read::<Value>("JWT", &token), Err(ForeignToken), "another type");
            assert_eq!(Verifiers::default().read::<Value>("at+jwt", &token), Err(ForeignToken));
        }
    }

    #[test]
    fn a_key_verifies_the_algorithms_it_signs_with_and_no_others() {
        let [rs256, ps256, ..] = signers();
        let keys = [published(&rs256), published(&ps256)];
        let verifiers: Verifiers = keys.iter().collect();
        let also = rs256.by(SigningAlgorithm::Ps256).unwrap();
        let said = json!({ "sub": "ana" });
        let token = also.sign("JWT", &said).unwrap();
        assert_eq!(verifiers.read::<Value>("JWT", &token), Ok(said.clone()));
        // A signature is good under the algorithm alone by which it was made.
        let under = |signer: &crate::crypto::Signer, alg: &str| {
            let header = json!({ "typ": "JWT", "alg": alg, "kid": signer.kid() });
            let parts = [header, said.clone()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
            let message = parts.join(".");
            let signature = signer.signature(message.as_bytes()).unwrap();
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
        };
        assert_eq!(verifiers.read::<Value>("JWT", &under(&rs256, "RS256")), Ok(said.clone()));
        for (signer, alg) in [(&also, "RS256"), (&rs256, "PS256"), (&ps256, "RS256")] {
            let token = under(signer, alg);
            assert_eq!(
                verifiers.read::<Value>("JWT", &token),
                Err(ForeignToken),
                "{signer:?} as {alg}"
            );
        }
    }

    #[test]
    fn no_altered_byte_passes() {
        let [_, _, signer, _] = signers();
        let key = published(&signer);
        let verifiers: Verifiers = [&key].into_iter().collect();
        let token = signer.sign("at+jwt", &json!({ "sub": "ana" })).unwrap();
        for at in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(verifiers.read::<Value>("at+jwt", &altered), Err(ForeignToken), "byte {at}");
        }
        for bad in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", "€.€.€"] {
            assert_eq!(verifiers.read::<Value>("at+jwt", bad), Err(ForeignToken), "{bad}");
        }
    }

    #[test]
    fn a_header_that_says_anything_else_is_not_believed() {
        let [_, _, signer, _] = signers();
        let key = published(&signer);
        let verifiers: Verifiers = [&key].into_iter().collect();
        let token = signer.sign("at+jwt", &json!({ "sub": "ana" })).unwrap();
        let (_, rest) = token.split_once('.').unwrap();
        for header in [
            json!({ "typ": "at+jwt", "alg": "none", "kid": signer.kid() }),
            json!({ "typ": "at+jwt", "alg": "HS256", "kid": signer.kid() }),
            json!({ "typ": "at+jwt", "alg": signer.algorithm().name(), "kid": signer.kid(), "crit": ["x"] }),
            json!({ "alg": signer.algorithm().name() }),
        ] {
            let forged = format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()));
            assert_eq!(verifiers.read::<Value>("at+jwt", &forged), Err(ForeignToken), "{header}");
        }
    }
}
