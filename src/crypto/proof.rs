//! A token that brings the key it is verified by: it proves that its maker holds that key, and nothing else (RFC 9449 §4.2).

use super::{
    client_keys::{UnverifiedSignature, verifying_key},
    jws::{Jws, JwsFault},
    signer,
    verifier::Key,
};
use crate::domain::{
    Fingerprint,
    client::{KeySetFault, check_public_key},
};
use serde_json::Value;

/// A proof whose signature has not been verified yet.
pub struct SignedProof<'a> {
    pub jws: Jws<'a>,
    /// The key that it brings, if that is one for its algorithm.
    verifier: Option<Key>,
    /// The thumbprint of the key that it brings (RFC 7638).
    pub key: Fingerprint,
}

/// Why a text is no proof that could be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    #[error(transparent)]
    Token(#[from] JwsFault),
    #[error(transparent)]
    Key(#[from] KeySetFault),
    #[error("its key is of a kind that is not accepted")]
    OtherKind,
}

impl<'a> SignedProof<'a> {
    /// Takes a proof apart; verifies nothing.
    pub fn read(text: &'a str) -> Result<Self, ProofFault> {
        let (jws, key) = Jws::read_with_key(text)?;
        // A key that gives its secret half away is refused here as well.
        check_public_key(key.as_object().ok_or(ProofFault::OtherKind)?)?;
        let verifier = verifying_key(jws.algorithm, &key);
        let key = thumbprint(&key).ok_or(ProofFault::OtherKind)?;
        Ok(Self { jws, verifier, key })
    }

    /// Tells whether it was signed by the key that it brings. A name of a key says nothing here: there is one.
    pub fn verify(&self) -> Result<(), UnverifiedSignature> {
        let key = self.verifier.as_ref().ok_or(UnverifiedSignature::NoKey)?;
        let verified = key.verify(self.jws.message(), self.jws.signature());
        verified.map_err(|_| UnverifiedSignature::Signature)
    }
}

/// Takes the thumbprint of a public key (RFC 7638 §3, RFC 8037 §2).
pub(super) fn thumbprint(key: &Value) -> Option<Fingerprint> {
    let text = |name: &str| key.get(name)?.as_str();
    let required: &[&'static str] = match text("kty")? {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        "RSA" => &["e", "kty", "n"],
        _ => return None,
    };
    let members = required.iter().map(|name| Some((*name, text(name)?.to_owned())));
    Some(signer::thumbprint(&members.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Signer, signer::tests::signers};
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use serde_json::json;

    /// Signs with a header of one's own.
    fn signed(signer: &Signer, header: &Value) -> String {
        let parts = [header.to_string(), r#"{"jti":"a"}"#.to_owned()];
        let message = parts.map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        let signature = signer.signature(message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn header(signer: &Signer, key: &Value) -> Value {
        json!({ "typ": "dpop+jwt", "alg": signer.algorithm().name(), "jwk": key })
    }

    fn public(signer: &Signer) -> Value {
        let mut key = signer.observed().public_jwk;
        for name in ["kid", "use", "alg"] {
            key.as_object_mut().unwrap().remove(name);
        }
        key
    }

    #[test]
    fn each_kind_of_key_proves_itself_and_is_known_by_its_thumbprint() {
        for signer in signers() {
            let text = signed(&signer, &header(&signer, &public(&signer)));
            let proof = SignedProof::read(&text).unwrap();
            assert_eq!(proof.verify(), Ok(()), "{}", signer.algorithm());
            assert_eq!(String::from(proof.key), signer.kid());
            let named = json!({ "typ": "dpop+jwt", "alg": signer.algorithm().name(),
                "kid": "any", "jwk": public(&signer) });
            let text = signed(&signer, &named);
            assert_eq!(SignedProof::read(&text).unwrap().verify(), Ok(()), "a name says nothing");
        }
    }

    #[test]
    fn a_proof_by_another_key_than_it_brings_is_none() {
        let (one, other) = (&signers()[2], &signers()[2]);
        let text = signed(one, &header(one, &public(other)));
        assert_eq!(SignedProof::read(&text).unwrap().verify(), Err(UnverifiedSignature::Signature));
    }

    #[test]
    fn a_proof_brings_one_public_key_and_nothing_that_leads_elsewhere() {
        let signer = &signers()[2];
        let key = public(signer);
        let with = |name: &str, value: Value| {
            let mut key = key.clone();
            key[name] = value;
            key
        };
        let refused = |header: &Value| SignedProof::read(&signed(signer, header)).err();
        let private = header(signer, &with("d", json!("AAAA")));
        assert_eq!(refused(&private), Some(ProofFault::Key(KeySetFault::Private("d"))));
        let none = json!({ "typ": "dpop+jwt", "alg": "ES256" });
        assert_eq!(refused(&none), Some(ProofFault::Token(JwsFault::NoKeyInHeader)));
        for bad in [json!(null), json!("a"), json!([key]), json!({}), json!({ "kty": "oct" })] {
            assert!(refused(&header(signer, &bad)).is_some(), "{bad}");
        }
        for name in ["jku", "x5c", "x5u", "crit"] {
            let mut more = header(signer, &key);
            more[name] = json!(["a"]);
            assert!(matches!(refused(&more), Some(ProofFault::Token(_))), "{name}");
        }
        for algorithm in ["none", "HS256", "ES512"] {
            let mut other = header(signer, &key);
            other["alg"] = algorithm.into();
            assert_eq!(refused(&other), Some(ProofFault::Token(JwsFault::Algorithm)));
        }
        let mut other = header(signer, &key);
        other["alg"] = "EdDSA".into();
        let text = signed(signer, &other);
        assert_eq!(SignedProof::read(&text).unwrap().verify(), Err(UnverifiedSignature::NoKey));
    }
}
