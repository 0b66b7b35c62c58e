//! A key in a token, as its attributes tell of it.

use super::TokenProblem;
use crate::{
    crypto::{
        PublicParts,
        keys::{Problem, rsa_strength},
    },
    domain::{Timestamp, signing_keys::SigningAlgorithm},
};
use aws_lc_rs::{
    digest::{SHA256, digest},
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED, ED25519 as EDDSA, RSA_PKCS1_2048_8192_SHA256,
        RSA_PSS_2048_8192_SHA256, UnparsedPublicKey,
    },
};
use cryptoki::{
    error::{Error, RvError},
    mechanism::{
        Mechanism, MechanismType,
        eddsa::{EddsaParams, EddsaSignatureScheme},
        rsa::{PkcsMgfType, PkcsPssParams},
    },
    object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle},
    session::Session,
};

/// What the labels of our keys begin with: a token may hold keys of others.
const OWN: &str = "porteiro ";

/// The curve P-256 as an object identifier in DER (RFC 5480 §2.1.1.1).
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// Ed25519 likewise (RFC 8410 §3), and by the name that older tokens want.
const ED25519: &[u8] = &[0x06, 0x03, 0x2b, 0x65, 0x70];
const ED25519_BY_NAME: &[u8] = b"\x13\x0cedwards25519";

/// A private key of ours in a token.
#[derive(Clone)]
pub(super) struct KeyObject {
    /// What joins the halves of a pair.
    pub id: Vec<u8>,
    pub label: String,
    pub algorithm: SigningAlgorithm,
    pub created_at: Timestamp,
    pub public: PublicParts,
}

/// Names a new key: what it is for, and since when.
pub(super) fn label(algorithm: SigningAlgorithm, created_at: Timestamp) -> String {
    format!("{OWN}{algorithm} {}", created_at.millis())
}

/// Lists the private keys of ours.
pub(super) fn own_keys(session: &Session) -> Result<Vec<(ObjectHandle, String)>, Error> {
    let wanted = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::Sign(true)];
    let mut own = Vec::new();
    for handle in session.find_objects(&wanted)? {
        for attribute in session.get_attributes(handle, &[AttributeType::Label])? {
            if let Attribute::Label(label) = attribute
                && let Ok(label) = String::from_utf8(label)
                && label.starts_with(OWN)
            {
                own.push((handle, label));
            }
        }
    }
    Ok(own)
}

/// Finds the private key of this id.
pub(super) fn find(session: &Session, id: &[u8]) -> Result<Option<ObjectHandle>, Error> {
    let wanted = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::Id(id.to_vec())];
    Ok(session.find_objects(&wanted)?.into_iter().next())
}

/// Reads what is known of a private key and its public half; says what is wrong with it.
pub(super) fn read(
    session: &Session,
    handle: ObjectHandle,
    label: &str,
) -> Result<Result<KeyObject, Problem>, Error> {
    let told = [
        AttributeType::Id,
        AttributeType::KeyType,
        AttributeType::Sensitive,
        AttributeType::Extractable,
    ];
    let (mut id, mut kind, mut is_kept) = (Vec::new(), None, [false, false]);
    for attribute in session.get_attributes(handle, &told)? {
        match attribute {
            Attribute::Id(value) => id = value,
            Attribute::KeyType(value) => kind = Some(value),
            Attribute::Sensitive(value) => is_kept[0] = value,
            Attribute::Extractable(value) => is_kept[1] = !value,
            _ => {}
        }
    }
    if is_kept != [true, true] {
        return Ok(Err(Problem::Token(TokenProblem::Extractable)));
    }
    let wanted = [Attribute::Class(ObjectClass::PUBLIC_KEY), Attribute::Id(id.clone())];
    let Some(half) = session.find_objects(&wanted)?.into_iter().next() else {
        return Ok(Err(Problem::Token(TokenProblem::NoPublicHalf)));
    };
    Ok(public_parts(session, half, kind)?.map(|public| {
        let algorithm = match public {
            PublicParts::Rsa { .. } if label.contains(SigningAlgorithm::Ps256.name()) => {
                SigningAlgorithm::Ps256
            }
            PublicParts::Rsa { .. } => SigningAlgorithm::Rs256,
            PublicParts::P256 { .. } => SigningAlgorithm::Es256,
            PublicParts::Ed25519 { .. } => SigningAlgorithm::EdDsa,
        };
        let millis = label.rsplit(' ').next().and_then(|millis| millis.parse().ok());
        let created_at = millis.map_or(Timestamp::NEVER, Timestamp::from_millis);
        KeyObject { id, label: label.to_owned(), algorithm, created_at, public }
    }))
}

fn public_parts(
    session: &Session,
    half: ObjectHandle,
    kind: Option<KeyType>,
) -> Result<Result<PublicParts, Problem>, Error> {
    let told = [
        AttributeType::Modulus,
        AttributeType::PublicExponent,
        AttributeType::EcParams,
        AttributeType::EcPoint,
    ];
    let [mut n, mut e, mut curve, mut point] = [const { Vec::new() }; 4];
    for attribute in session.get_attributes(half, &told)? {
        match attribute {
            Attribute::Modulus(value) => n = value,
            Attribute::PublicExponent(value) => e = value,
            Attribute::EcParams(value) => curve = value,
            Attribute::EcPoint(value) => point = value,
            _ => {}
        }
    }
    Ok(match kind {
        Some(KeyType::RSA) => {
            rsa_strength(&n, &e).map(|(n, e)| PublicParts::Rsa { n: n.to_vec(), e: e.to_vec() })
        }
        Some(KeyType::EC) if curve == P256 => match unwrapped(&point, 65) {
            [4, coordinates @ ..] if coordinates.len() == 64 => {
                let (x, y) = coordinates.split_at(32);
                Ok(PublicParts::P256 { x: x.to_vec(), y: y.to_vec() })
            }
            _ => Err(Problem::Inconsistent),
        },
        Some(KeyType::EC_EDWARDS) if [ED25519, ED25519_BY_NAME].contains(&&*curve) => {
            match unwrapped(&point, 32) {
                x if x.len() == 32 => Ok(PublicParts::Ed25519 { x: x.to_vec() }),
                _ => Err(Problem::Inconsistent),
            }
        }
        Some(KeyType::EC | KeyType::EC_EDWARDS) => Err(Problem::UnsupportedCurve),
        _ => Err(Problem::UnsupportedKeyType),
    })
}

/// Takes a point out of its OCTET STRING in DER; some tokens give it bare.
fn unwrapped(point: &[u8], length: usize) -> &[u8] {
    match point {
        [4, size, bare @ ..] if usize::from(*size) == length && bare.len() == length => bare,
        bare => bare,
    }
}

/// Says how a token makes a pair for an algorithm, the ways it may be asked one after another.
pub(super) fn making(algorithm: SigningAlgorithm) -> (Mechanism<'static>, Vec<Vec<Attribute>>) {
    let curve = |der: &[u8]| vec![Attribute::EcParams(der.to_vec())];
    match algorithm {
        SigningAlgorithm::Rs256 | SigningAlgorithm::Ps256 => {
            let size =
                [Attribute::ModulusBits(2048.into()), Attribute::PublicExponent(vec![1, 0, 1])];
            (Mechanism::RsaPkcsKeyPairGen, vec![size.into()])
        }
        SigningAlgorithm::Es256 => (Mechanism::EccKeyPairGen, vec![curve(P256)]),
        SigningAlgorithm::EdDsa => {
            (Mechanism::EccEdwardsKeyPairGen, vec![curve(ED25519), curve(ED25519_BY_NAME)])
        }
    }
}

/// Signs a message by an algorithm.
pub(super) fn sign(
    session: &Session,
    handle: ObjectHandle,
    algorithm: SigningAlgorithm,
    message: &[u8],
) -> Result<Vec<u8>, Error> {
    let (mechanism, is_hashed) = signing(algorithm);
    let hash = is_hashed.then(|| digest(&SHA256, message));
    session.sign(&mechanism, handle, hash.as_ref().map_or(message, AsRef::as_ref))
}

/// What is signed to see whether a key can: it has no dot and is therefore the beginning of no token.
const TRIAL: &[u8] = b"a trial of porteiro";

/// Tries by which algorithms a key signs: what a token lists it may refuse, and what it does not list it may do. The one
/// that the key is kept for comes first; a key that fails there has none.
pub(super) fn tried(
    session: &Session,
    handle: ObjectHandle,
    key: &KeyObject,
) -> Result<Vec<SigningAlgorithm>, Error> {
    let mut able = Vec::new();
    for algorithm in key.algorithm.signed_with().iter().copied() {
        match sign(session, handle, algorithm, TRIAL) {
            Ok(signature) if verifies(&key.public, algorithm, &signature) => able.push(algorithm),
            // The token is away, and not only unable.
            Err(error) if able.is_empty() && !is_of_the_request(&error) => return Err(error),
            Ok(_) | Err(_) if able.is_empty() => break,
            Ok(_) | Err(_) => {}
        }
    }
    Ok(able)
}

fn verifies(public: &PublicParts, algorithm: SigningAlgorithm, signature: &[u8]) -> bool {
    let verified = match (public, algorithm) {
        (PublicParts::Rsa { n, e }, SigningAlgorithm::Ps256) => {
            PublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, TRIAL, signature)
        }
        (PublicParts::Rsa { n, e }, _) => {
            PublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, TRIAL, signature)
        }
        (PublicParts::P256 { x, y }, _) => {
            let point = [&[4], x.as_slice(), y].concat();
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(TRIAL, signature)
        }
        (PublicParts::Ed25519 { x }, _) => {
            UnparsedPublicKey::new(&EDDSA, x).verify(TRIAL, signature)
        }
    };
    verified.is_ok()
}

/// Tells whether an error is about what was asked, so that a new session would not mend it.
pub(super) fn is_of_the_request(error: &Error) -> bool {
    matches!(
        error,
        Error::Pkcs11(
            RvError::MechanismInvalid
                | RvError::MechanismParamInvalid
                | RvError::FunctionNotSupported
                | RvError::CurveNotSupported
                | RvError::KeyFunctionNotPermitted
                | RvError::KeySizeRange
                | RvError::DataInvalid
                | RvError::DataLenRange
                | RvError::AttributeTypeInvalid
                | RvError::AttributeValueInvalid
                | RvError::TemplateIncomplete
                | RvError::TemplateInconsistent,
            _
        )
    )
}

/// Says how a token signs, and whether it is given the digest.
fn signing(algorithm: SigningAlgorithm) -> (Mechanism<'static>, bool) {
    match algorithm {
        SigningAlgorithm::Rs256 => (Mechanism::Sha256RsaPkcs, false),
        // RFC 7518 §3.5: the salt is as long as the digest.
        SigningAlgorithm::Ps256 => {
            let (hash_alg, mgf) = (MechanismType::SHA256, PkcsMgfType::MGF1_SHA256);
            let salted = PkcsPssParams { hash_alg, mgf, s_len: 32.into() };
            (Mechanism::Sha256RsaPkcsPss(salted), false)
        }
        // Fewer tokens hash for this one. The answer is both numbers in full length, as RFC 7518 §3.4 has them.
        SigningAlgorithm::Es256 => (Mechanism::Ecdsa, true),
        SigningAlgorithm::EdDsa => {
            (Mechanism::Eddsa(EddsaParams::new(EddsaSignatureScheme::Ed25519)), false)
        }
    }
}
