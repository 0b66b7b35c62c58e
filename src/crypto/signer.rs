//! Signing: a private key parsed once, and the public key that goes with it.

use super::local_key::LocalKey;
use crate::domain::Fingerprint;
use crate::domain::signing_keys::{ObservedKey, SigningAlgorithm};
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{EcdsaKeyPair, Ed25519KeyPair};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Signs with one key and one algorithm; shared between threads as it is.
pub struct Signer {
    key: Arc<dyn SigningKey>,
    algorithm: SigningAlgorithm,
    public: PublicParts,
    kid: String,
    public_jwk: Value,
    /// The encoded header of each usual type.
    headers: [(&'static str, String); 2],
}

/// A private key that signs, wherever it lies: in this process, or in a token (adr/0144).
pub trait SigningKey: Send + Sync {
    /// Signs a message.
    fn signature(&self, algorithm: SigningAlgorithm, message: &[u8]) -> Result<Vec<u8>, KeyError>;

    /// Tells whether it signs by an algorithm that its type allows: not every token can.
    fn signs_by(&self, _algorithm: SigningAlgorithm) -> bool {
        true
    }

    /// Tells whether it could sign when it was last asked: one that cannot is not waited for.
    fn is_available(&self) -> bool {
        true
    }
}

/// Why a key did not sign.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the library did not sign")]
    Library(#[from] aws_lc_rs::error::Unspecified),
    #[error("the key is for another algorithm")]
    OtherAlgorithm,
    #[error("the token with the key is away")]
    Away,
    #[error("the token did not sign: {0}")]
    Token(String),
}

/// The public half of a key: numbers with the most significant byte first, without leading zeros or in full length.
#[derive(Clone)]
pub enum PublicParts {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256 { x: Vec<u8>, y: Vec<u8> },
    Ed25519 { x: Vec<u8> },
}

impl PublicParts {
    fn members(&self) -> Members {
        let text = str::to_owned;
        match self {
            Self::Rsa { n, e } => {
                [("kty", text("RSA")), ("n", base64url(n)), ("e", base64url(e))].into()
            }
            Self::P256 { x, y } => [
                ("kty", text("EC")),
                ("crv", text("P-256")),
                ("x", base64url(x)),
                ("y", base64url(y)),
            ]
            .into(),
            Self::Ed25519 { x } => {
                [("kty", text("OKP")), ("crv", text("Ed25519")), ("x", base64url(x))].into()
            }
        }
    }
}

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error("the claims are not JSON")]
    Claims(#[source] serde_json::Error),
    #[error("the key did not sign")]
    Key(#[source] KeyError),
}

/// The members over which RFC 7638 §3.2 takes the thumbprint; ordered by name, whatever
/// `serde_json` was compiled to do with its own maps.
type Members = BTreeMap<&'static str, String>;

#[derive(Serialize)]
struct Header<'a> {
    typ: &'a str,
    alg: SigningAlgorithm,
    kid: &'a str,
}

/// The types of most tokens (RFC 9068 §2.1, RFC 7519 §5.1).
const USUAL_TYPES: [&str; 2] = ["at+jwt", "JWT"];

/// Room for the claims of most tokens.
const USUAL_CLAIMS: usize = 512;

fn encoded_header(typ: &str, alg: SigningAlgorithm, kid: &str) -> String {
    let header = serde_json::to_vec(&Header { typ, alg, kid });
    base64url(&header.expect("three texts are JSON"))
}

impl Signer {
    /// Signs with PKCS#1 v1.5 padding.
    pub(super) fn rs256(key: RsaKeyPair) -> Self {
        Self::local(LocalKey::Rsa(key), SigningAlgorithm::Rs256)
    }

    /// Signs with PSS padding, and with no other.
    pub(super) fn ps256(key: RsaKeyPair) -> Self {
        Self::local(LocalKey::Rsa(key), SigningAlgorithm::Ps256)
    }

    /// Signs with a P-256 key made or parsed for `ECDSA_P256_SHA256_FIXED_SIGNING`.
    pub(super) fn es256(key: EcdsaKeyPair) -> Self {
        Self::local(LocalKey::P256(key), SigningAlgorithm::Es256)
    }

    pub(super) fn eddsa(key: Ed25519KeyPair) -> Self {
        Self::local(LocalKey::Ed25519(key), SigningAlgorithm::EdDsa)
    }

    fn local(key: LocalKey, algorithm: SigningAlgorithm) -> Self {
        let public = key.public();
        Self::new(Arc::new(key), algorithm, public)
    }

    /// Signs by an algorithm with a key of its type, whose public half is this.
    pub(super) fn new(
        key: Arc<dyn SigningKey>,
        algorithm: SigningAlgorithm,
        public: PublicParts,
    ) -> Self {
        let required = public.members();
        let kid = String::from(thumbprint(&required));
        let mut public_jwk = json!(required);
        public_jwk["kid"] = kid.as_str().into();
        public_jwk["use"] = "sig".into();
        public_jwk["alg"] = algorithm.name().into();
        let headers = USUAL_TYPES.map(|typ| (typ, encoded_header(typ, algorithm, &kid)));
        Self { key, algorithm, public, kid, public_jwk, headers }
    }

    /// Returns what signs with this key by another algorithm, if the key signs by it.
    pub fn by(&self, algorithm: SigningAlgorithm) -> Option<Self> {
        let signs = algorithm != self.algorithm
            && self.algorithm.signed_with().contains(&algorithm)
            && self.key.signs_by(algorithm);
        signs.then(|| Self::new(self.key.clone(), algorithm, self.public.clone()))
    }

    /// Tells whether the key signs by this algorithm, now or when it is in reach again.
    pub fn signs(&self) -> bool {
        self.key.signs_by(self.algorithm)
    }

    /// Tells whether a signature can be asked for now.
    pub fn is_available(&self) -> bool {
        self.signs() && self.key.is_available()
    }

    /// Signs under another name of the key, by which another party knows it.
    pub fn named(mut self, kid: &str) -> Self {
        kid.clone_into(&mut self.kid);
        self.public_jwk["kid"] = kid.into();
        self.headers = USUAL_TYPES.map(|typ| (typ, encoded_header(typ, self.algorithm, kid)));
        self
    }

    pub fn algorithm(&self) -> SigningAlgorithm {
        self.algorithm
    }

    /// Returns the thumbprint of the public key (RFC 7638), or the name that it was given.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the key as it is published.
    pub fn public_jwk(&self) -> &Value {
        &self.public_jwk
    }

    /// Returns the key as the installation's key set learns of it.
    pub fn observed(&self) -> ObservedKey {
        ObservedKey {
            kid: self.kid.clone(),
            algorithm: self.algorithm,
            public_jwk: self.public_jwk.clone(),
        }
    }

    /// Returns `claims` as a signed token in compact form (RFC 7515 §3.1).
    pub fn sign(&self, typ: &str, claims: &impl Serialize) -> Result<String, SignError> {
        let mut bytes = Vec::with_capacity(USUAL_CLAIMS);
        serde_json::to_writer(&mut bytes, claims).map_err(SignError::Claims)?;
        let mut token = String::with_capacity(bytes.len() * 2 + USUAL_CLAIMS);
        match self.headers.iter().find(|(known, _)| *known == typ) {
            Some((_, header)) => token.push_str(header),
            None => token.push_str(&encoded_header(typ, self.algorithm, &self.kid)),
        }
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(bytes, &mut token);
        let signature = self.signature(token.as_bytes()).map_err(SignError::Key)?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    pub(super) fn signature(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.key.signature(self.algorithm, message)
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({} {})", self.algorithm, self.kid)
    }
}

// RFC 7638 §3.3: no white space, members in lexicographic order.
pub(super) fn thumbprint(required: &Members) -> Fingerprint {
    Fingerprint::of(&serde_json::to_vec(required).expect("text by text is JSON"))
}

fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    use jsonwebtoken::jwk::Jwk;
    use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};

    pub(in crate::crypto) fn signers() -> [Signer; 4] {
        [
            Signer::rs256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()),
            Signer::ps256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()),
            Signer::es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap()),
            Signer::eddsa(Ed25519KeyPair::generate().unwrap()),
        ]
    }

    fn verifies(token: &str, published: &Value, algorithm: SigningAlgorithm) -> bool {
        let jwk: Jwk = serde_json::from_value(published.clone()).unwrap();
        let algorithm: Algorithm = algorithm.name().parse().unwrap();
        let mut validation = Validation::new(algorithm);
        validation.required_spec_claims.clear();
        decode::<Value>(token, &DecodingKey::from_jwk(&jwk).unwrap(), &validation)
            .is_ok_and(|verified| verified.claims == json!({ "sub": "ana" }))
    }

    #[test]
    fn every_algorithm_is_verified_with_the_published_key_alone() {
        for signer in signers() {
            let token = signer.sign("at+jwt", &json!({ "sub": "ana" })).unwrap();
            assert!(verifies(&token, signer.public_jwk(), signer.algorithm()), "{signer:?}");
            let header = decode_header(&token).unwrap();
            assert_eq!(header.typ.as_deref(), Some("at+jwt"));
            assert_eq!(header.kid.as_deref(), Some(signer.kid()));
        }
    }

    #[test]
    fn an_rsa_key_signs_by_both_algorithms_under_one_name() {
        let [rs256, ps256, es256, eddsa] = signers();
        let also = rs256.by(SigningAlgorithm::Ps256).unwrap();
        assert_eq!((also.kid(), also.algorithm()), (rs256.kid(), SigningAlgorithm::Ps256));
        let token = also.sign("JWT", &json!({ "sub": "ana" })).unwrap();
        assert_eq!(decode_header(&token).unwrap().alg, Algorithm::PS256);
        assert!(verifies(&token, also.public_jwk(), SigningAlgorithm::Ps256));
        assert!(!verifies(&token, rs256.public_jwk(), SigningAlgorithm::Rs256));
        for alone in [also, ps256, es256, eddsa] {
            for other in SigningAlgorithm::ALL {
                assert!(alone.by(other).is_none(), "{alone:?} by {other}");
            }
        }
    }

    #[test]
    fn a_token_with_any_other_byte_does_not_verify() {
        let signer = Signer::eddsa(Ed25519KeyPair::generate().unwrap());
        let token = signer.sign("JWT", &json!({ "sub": "ana" })).unwrap();
        for at in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert!(!verifies(&altered, signer.public_jwk(), signer.algorithm()), "byte {at}");
        }
    }

    #[test]
    fn the_published_key_names_its_use_and_holds_nothing_private() {
        for signer in signers() {
            let published = signer.public_jwk().as_object().unwrap();
            assert_eq!(published["use"], "sig");
            assert_eq!(published["alg"], signer.algorithm().name());
            assert_eq!(published["kid"], signer.kid());
            let mut members: Vec<&str> = published.keys().map(String::as_str).collect();
            members.sort_unstable();
            let expected: &[&str] = match signer.algorithm() {
                SigningAlgorithm::Rs256 | SigningAlgorithm::Ps256 => {
                    &["alg", "e", "kid", "kty", "n", "use"]
                }
                SigningAlgorithm::Es256 => &["alg", "crv", "kid", "kty", "use", "x", "y"],
                SigningAlgorithm::EdDsa => &["alg", "crv", "kid", "kty", "use", "x"],
            };
            assert_eq!(members, expected);
        }
    }

    #[test]
    fn the_thumbprint_is_the_one_in_rfc_7638() {
        let n = concat!(
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc",
            "_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQ",
            "R0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bF",
            "TWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
        );
        let members =
            [("kty", "RSA".to_owned()), ("n", n.to_owned()), ("e", "AQAB".to_owned())].into();
        assert_eq!(
            String::from(thumbprint(&members)),
            "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
        );
    }

    #[test]
    fn the_thumbprint_of_an_okp_key_is_the_one_in_rfc_8037() {
        let members = [
            ("kty", "OKP".to_owned()),
            ("crv", "Ed25519".to_owned()),
            ("x", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".to_owned()),
        ];
        assert_eq!(
            String::from(thumbprint(&members.into())),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
    }

    #[test]
    fn a_key_signs_under_the_name_by_which_another_party_knows_it() {
        let [_, _, signer, _] = signers();
        let signer = signer.named("KEY1234567");
        for typ in ["JWT", "dpop+jwt"] {
            let token = signer.sign(typ, &json!({ "sub": "ana" })).unwrap();
            assert_eq!(decode_header(&token).unwrap().kid.as_deref(), Some("KEY1234567"));
            assert!(verifies(&token, signer.public_jwk(), signer.algorithm()));
        }
        assert_eq!(
            (signer.kid(), &signer.public_jwk()["kid"]),
            ("KEY1234567", &json!("KEY1234567"))
        );
    }

    #[test]
    fn a_signer_is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Signer>();
    }

    #[test]
    fn a_signer_prints_only_its_name() {
        let signer = Signer::eddsa(Ed25519KeyPair::generate().unwrap());
        assert_eq!(format!("{signer:?}"), format!("Signer(EdDSA {})", signer.kid()));
    }
}
