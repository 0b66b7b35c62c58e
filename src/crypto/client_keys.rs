//! The public keys of a client, ready to verify what it signed (RFC 7517).
//!
//! A set that gives a secret away, or holds a weak key, is refused as a whole: its owner must hear of
//! it. A key of a kind that we do not verify with is passed over (RFC 7517 §5).

use super::{client_certificate::ClientCertificate, jws::Jws, proof::thumbprint, verifier::Key};
use crate::domain::{
    Fingerprint,
    client::{KeySetFault, check_public_key},
    signing_keys::SigningAlgorithm,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// How many keys a set may hold.
const MOST_KEYS: usize = 20;

/// Bytes of a key's name.
const LONGEST_KID: usize = 512;

/// The keys that can verify, and the certificates that are the client's own.
#[derive(Default)]
pub struct ClientKeys {
    /// One key may serve two algorithms.
    entries: Vec<Entry>,
    /// Hashes of the certificates that come with keys (`x5c`).
    certificates: Vec<Fingerprint>,
    /// Thumbprints of the keys that come without one.
    bare: Vec<Fingerprint>,
}

/// By what a client shows that it is the one with these keys.
#[derive(Clone, Copy)]
pub enum ClientEvidence<'a> {
    /// It has signed something.
    Signature(&'a Jws<'a>),
    /// It has made a connection with a certificate of its own (RFC 8705 §2.2).
    Certificate(&'a ClientCertificate),
}

impl ClientEvidence<'_> {
    /// Tells whether another key, of the same name or of none, may have taken the place of those that were tried.
    pub fn may_be_by_a_newer_key(&self, why: UnverifiedSignature) -> bool {
        match (why, self) {
            (UnverifiedSignature::NoKey, _) => true,
            // A key without a name may have been replaced by another without a name.
            (UnverifiedSignature::Signature, Self::Signature(jws)) => jws.kid.is_none(),
            _ => false,
        }
    }
}

struct Entry {
    kid: Option<String>,
    algorithm: SigningAlgorithm,
    key: Key,
}

/// Why a signature was not found to be the client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnverifiedSignature {
    #[error("the client has no such key")]
    NoKey,
    #[error("the client has several such keys, and none is named")]
    Ambiguous,
    #[error("too many callers wait for the keys of the client")]
    Busy,
    #[error("the signature is not by the client's key")]
    Signature,
}

impl ClientKeys {
    /// Reads a key set; `None` if it is none.
    pub fn read(set: &Value) -> Option<Result<Self, KeySetFault>> {
        Self::read_as(set, Self::add)
    }

    /// Reads a key set for one use: of its keys only what may verify this. It is judged as a whole all the same.
    pub fn read_for(
        evidence: &ClientEvidence<'_>,
        set: &Value,
    ) -> Option<Result<Self, KeySetFault>> {
        Self::read_as(set, |keys, key| match evidence {
            ClientEvidence::Signature(jws) => keys.entries.extend(Entry::of(jws.algorithm, key)),
            ClientEvidence::Certificate(_) => keys.add_certificate(key),
        })
    }

    fn read_as(set: &Value, add: impl Fn(&mut Self, &Value)) -> Option<Result<Self, KeySetFault>> {
        let keys = set.get("keys")?.as_array()?;
        if keys.len() > MOST_KEYS {
            return Some(Err(KeySetFault::TooManyKeys));
        }
        let mut read = Self::default();
        for key in keys {
            match check_public_key(key.as_object()?) {
                Ok(()) => add(&mut read, key),
                // A kind that is not ours to verify with; what it holds is known to be no secret.
                Err(KeySetFault::KeyType) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
        Some(Ok(read))
    }

    fn add(&mut self, key: &Value) {
        let algorithms = SigningAlgorithm::ALL.into_iter();
        self.entries.extend(algorithms.filter_map(|algorithm| Entry::of(algorithm, key)));
        self.add_certificate(key);
    }

    /// Adds the certificate of a key, or the key for one of whichever certificate.
    fn add_certificate(&mut self, key: &Value) {
        if !is_for_signatures(key) {
            return;
        }
        match key.get("x5c") {
            None => self.bare.extend(thumbprint(key)),
            // RFC 7517 §4.7: the first is of this key.
            Some(chain) => {
                let first = chain.get(0).and_then(Value::as_str);
                let certificate = first.and_then(|text| STANDARD.decode(text).ok());
                self.certificates.extend(certificate.map(|bytes| Fingerprint::of(&bytes)));
            }
        }
    }

    /// Tells whether the holder of these keys has shown this.
    pub fn verify(&self, evidence: &ClientEvidence<'_>) -> Result<(), UnverifiedSignature> {
        match evidence {
            ClientEvidence::Signature(jws) => self.verify_signature(jws),
            ClientEvidence::Certificate(certificate) => {
                let is_bare = certificate.key.is_some_and(|key| self.bare.contains(&key));
                let is_own = is_bare || self.certificates.contains(&certificate.print);
                if is_own { Ok(()) } else { Err(UnverifiedSignature::NoKey) }
            }
        }
    }

    fn verify_signature(&self, jws: &Jws<'_>) -> Result<(), UnverifiedSignature> {
        let named = |entry: &&Entry| jws.kid.is_none() || entry.kid == jws.kid;
        let fitting = self.entries.iter().filter(|entry| entry.algorithm == jws.algorithm);
        let fitting: Vec<&Entry> = fitting.filter(named).collect();
        match fitting.len() {
            0 => return Err(UnverifiedSignature::NoKey),
            1 => {}
            // Two keys of one name are told apart by trying; without a name it would be guessing.
            _ if jws.kid.is_none() => return Err(UnverifiedSignature::Ambiguous),
            _ => {}
        }
        let verified = |entry: &&Entry| entry.key.verify(jws.message(), jws.signature()).is_ok();
        if fitting.iter().any(verified) { Ok(()) } else { Err(UnverifiedSignature::Signature) }
    }
}

fn is_for_signatures(jwk: &Value) -> bool {
    let usage = jwk.get("use").and_then(Value::as_str);
    let operations = jwk.get("key_ops").and_then(Value::as_array);
    let verifies = operations.is_none_or(|all| all.iter().any(|one| one == "verify"));
    usage.is_none_or(|usage| usage == "sig") && verifies
}

/// Reads a key for an algorithm that it serves; `None` if it is for another one, or not for signatures.
pub(super) fn verifying_key(algorithm: SigningAlgorithm, jwk: &Value) -> Option<Key> {
    use SigningAlgorithm::{EdDsa, Es256, Ps256, Rs256};
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let is_served = match (text("kty")?, text("crv")) {
        ("RSA", _) => matches!(algorithm, Rs256 | Ps256),
        ("EC", Some("P-256")) => algorithm == Es256,
        ("OKP", Some("Ed25519")) => algorithm == EdDsa,
        _ => false,
    };
    // RFC 8725 §3.1: a key that names its algorithm is for no other.
    let is_meant = text("alg").is_none_or(|alg| alg == algorithm.name());
    if is_served && is_meant && is_for_signatures(jwk) { Key::read(algorithm, jwk) } else { None }
}

impl Entry {
    fn of(algorithm: SigningAlgorithm, jwk: &Value) -> Option<Self> {
        let key = verifying_key(algorithm, jwk)?;
        let kid = jwk.get("kid").and_then(Value::as_str);
        let kid = kid.filter(|kid| kid.len() <= LONGEST_KID).map(str::to_owned);
        Some(Self { kid, algorithm, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Signer, signer::tests::signers};
    use serde_json::json;

    fn jwk(signer: &Signer) -> Value {
        signer.observed().public_jwk
    }

    /// A set, which says the same whether it was read for one use or for many.
    struct Set(Value);

    impl Set {
        fn verify(&self, evidence: &ClientEvidence<'_>) -> Result<(), UnverifiedSignature> {
            let verify = |keys: ClientKeys| keys.verify(evidence);
            let for_many = ClientKeys::read(&self.0).unwrap().map(verify).unwrap();
            let for_one = ClientKeys::read_for(evidence, &self.0).unwrap().map(verify).unwrap();
            assert_eq!(for_many, for_one);
            for_many
        }
    }

    fn keys(all: &[Value]) -> Set {
        Set(json!({ "keys": all }))
    }

    fn with(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    fn without(mut key: Value, name: &str) -> Value {
        key.as_object_mut().unwrap().remove(name);
        key
    }

    fn judge(keys: &Set, signer: &Signer) -> Result<(), UnverifiedSignature> {
        let token = signer.sign("JWT", &json!({ "sub": "a" })).unwrap();
        keys.verify(&ClientEvidence::Signature(&Jws::read(&token).unwrap()))
    }

    #[test]
    fn what_each_algorithm_signs_is_verified_by_its_own_key_alone() {
        let all = signers();
        let set = keys(&all.iter().map(jwk).collect::<Vec<_>>());
        for signer in &all {
            assert_eq!(judge(&set, signer), Ok(()), "{}", signer.algorithm());
            let others = all.iter().filter(|other| other.kid() != signer.kid());
            let others = keys(&others.map(jwk).collect::<Vec<_>>());
            assert_eq!(judge(&others, signer), Err(UnverifiedSignature::NoKey));
        }
        let [_, _, signer, _] = &all;
        let token = signer.sign("JWT", &json!({ "sub": "a" })).unwrap();
        for at in (0..token.len()).step_by(7) {
            let mut altered = token.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            let read = Jws::read(&altered);
            assert!(
                read.is_err() || set.verify(&ClientEvidence::Signature(&read.unwrap())).is_err(),
                "byte {at}"
            );
        }
    }

    #[test]
    fn a_key_is_for_what_it_says() {
        let [_, _, signer, _] = &signers();
        let key = without(without(jwk(signer), "alg"), "use");
        assert_eq!(judge(&keys(std::slice::from_ref(&key)), signer), Ok(()));
        for (name, value) in [
            ("use", json!("enc")),
            ("alg", json!("ES384")),
            ("alg", json!("RS256")),
            ("crv", json!("P-384")),
            ("kid", json!("another")),
            ("key_ops", json!(["sign"])),
        ] {
            let set = keys(&[with(key.clone(), name, value)]);
            assert_eq!(judge(&set, signer), Err(UnverifiedSignature::NoKey), "{name}");
        }
    }

    #[test]
    fn two_keys_of_one_name_are_tried_and_without_a_name_there_must_be_one() {
        let [_, _, signer, _] = &signers();
        let key = jwk(signer);
        let (x, y) = (key["x"].clone(), key["y"].clone());
        // No point of the curve is no key.
        let none = with(with(key.clone(), "x", y), "y", x);
        assert_eq!(judge(&keys(&[none]), signer), Err(UnverifiedSignature::NoKey));
        let [_, _, another, _] = &signers();
        let other = with(jwk(another), "kid", key["kid"].clone());
        assert_eq!(judge(&keys(&[other.clone(), key.clone()]), signer), Ok(()));
        assert_eq!(
            judge(&keys(std::slice::from_ref(&other)), signer),
            Err(UnverifiedSignature::Signature)
        );
        let token = signer.sign("JWT", &json!({})).unwrap();
        let mut unnamed = Jws::read(&token).unwrap();
        unnamed.kid = None;
        assert_eq!(
            keys(&[other, key]).verify(&ClientEvidence::Signature(&unnamed)),
            Err(UnverifiedSignature::Ambiguous)
        );
    }

    #[test]
    fn a_set_with_a_secret_or_a_weak_key_is_refused_and_a_strange_key_is_passed_over() {
        let [_, _, signer, _] = &signers();
        let key = jwk(signer);
        let read = |other: Value| {
            let set = json!({ "keys": [key, other], "comment": "of no interest" });
            ClientKeys::read(&set).unwrap().err()
        };
        assert_eq!(read(json!({ "kty": "AKP", "pub": "AAAA" })), None);
        let shared = json!({ "kty": "oct", "k": "AAAA" });
        assert_eq!(read(shared), Some(KeySetFault::Private("k")));
        let private = with(key.clone(), "d", json!("AAAA"));
        assert_eq!(read(private), Some(KeySetFault::Private("d")));
        let weak = json!({ "kty": "RSA", "n": "_".repeat(168), "e": "AQAB" });
        assert_eq!(read(weak), Some(KeySetFault::Weak));
        let many = json!({ "keys": vec![key.clone(); 21] });
        assert_eq!(ClientKeys::read(&many).unwrap().err(), Some(KeySetFault::TooManyKeys));
        for no_set in [json!([]), json!({}), json!({ "keys": {} }), json!({ "keys": [1] })] {
            assert!(ClientKeys::read(&no_set).is_none(), "{no_set}");
        }
    }

    #[test]
    fn a_certificate_is_the_clients_if_its_set_holds_it_or_holds_its_key_bare() {
        let make = |pair: &rcgen::KeyPair| {
            let params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            let certificate = params.self_signed(pair).unwrap().der().clone();
            ClientCertificate::read(vec![certificate]).unwrap()
        };
        let (pair, other) = [(); 2].map(|()| rcgen::KeyPair::generate().unwrap()).into();
        let certificate = make(&pair);
        let text = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
        let jwk = |pair: &rcgen::KeyPair| {
            let raw = pair.public_key_raw();
            json!({ "kty": "EC", "crv": "P-256", "x": text(&raw[1..33]), "y": text(&raw[33..]) })
        };
        let held = |of: &ClientCertificate| {
            let (own, _) = of.parts().unwrap();
            json!([STANDARD.encode(own)])
        };
        let judge = |key: Value| keys(&[key]).verify(&ClientEvidence::Certificate(&certificate));
        assert_eq!(judge(jwk(&pair)), Ok(()));
        assert_eq!(judge(with(jwk(&pair), "x5c", held(&certificate))), Ok(()));
        assert_eq!(judge(jwk(&other)), Err(UnverifiedSignature::NoKey));
        // Another certificate of the same key is not the one that was registered.
        assert_eq!(
            judge(with(jwk(&pair), "x5c", held(&make(&pair)))),
            Err(UnverifiedSignature::NoKey)
        );
        for odd in [json!([]), json!("AAAA"), json!([1]), json!(["!"]), json!(null)] {
            assert_eq!(judge(with(jwk(&pair), "x5c", odd)), Err(UnverifiedSignature::NoKey));
        }
        assert_eq!(judge(with(jwk(&pair), "use", json!("enc"))), Err(UnverifiedSignature::NoKey));
    }
}
