//! A private key as JSON (RFC 7517): the form in which keys are generated.

use super::Origin;
use super::file::{KeyFile, KeyMaterial, rsa_key};
use super::problem::Problem;
use crate::crypto::{SecretKey, Signer};
use crate::domain::Timestamp;
use crate::domain::signing_keys::SigningAlgorithm;
use aws_lc_rs::rsa::{KeyPairComponents, PublicKeyComponents};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// The value of `use` that marks the secret key.
pub(super) const SECRET_USE: &str = "porteiro-secret";

/// The members that matter here; RFC 7517 §4 has the others ignored. A member given twice is an
/// error, as two readers could believe different ones.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PrivateJwk {
    kty: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    porteiro_origin: Option<Origin>,
    created_at: Option<Timestamp>,
    x: Option<Text>,
    y: Option<Text>,
    n: Option<Text>,
    e: Option<Text>,
    d: Option<Text>,
    p: Option<Text>,
    q: Option<Text>,
    dp: Option<Text>,
    dq: Option<Text>,
    qi: Option<Text>,
    oth: Option<IgnoredAny>,
    k: Option<Text>,
}

/// Text that may be secret, erased when dropped.
struct Text(Zeroizing<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Zeroizing::new(text)))
    }
}

pub(super) fn parse(json: &[u8]) -> Result<KeyFile, Problem> {
    // The parser's own words may quote the file, so they go no further.
    let jwk: PrivateJwk = serde_json::from_slice(json).map_err(|_| Problem::NotAKey)?;
    let material = match jwk.kty.as_deref() {
        None => return Err(Problem::MissingMember("kty")),
        Some("RSA") => jwk.rsa()?,
        Some("EC") => jwk.ec()?,
        Some("OKP") => jwk.okp()?,
        Some("oct") => jwk.oct()?,
        Some(_) => return Err(Problem::UnsupportedKeyType),
    };
    Ok(KeyFile {
        material,
        origin: jwk.porteiro_origin,
        created_at: jwk.created_at.unwrap_or(Timestamp::NEVER),
    })
}

impl PrivateJwk {
    fn rsa(&self) -> Result<KeyMaterial, Problem> {
        let algorithm = self.algorithm(&[SigningAlgorithm::Rs256, SigningAlgorithm::Ps256])?;
        if self.oth.is_some() {
            return Err(Problem::UnsupportedKeyType);
        }
        let n = octets(self.n.as_ref(), "n")?;
        let e = octets(self.e.as_ref(), "e")?;
        let key = rsa_key(&KeyPairComponents {
            public_key: PublicKeyComponents { n: n.as_slice(), e: e.as_slice() },
            d: octets(self.d.as_ref(), "d")?.as_slice(),
            p: octets(self.p.as_ref(), "p")?.as_slice(),
            q: octets(self.q.as_ref(), "q")?.as_slice(),
            dP: octets(self.dp.as_ref(), "dp")?.as_slice(),
            dQ: octets(self.dq.as_ref(), "dq")?.as_slice(),
            qInv: octets(self.qi.as_ref(), "qi")?.as_slice(),
        })?;
        Ok(KeyMaterial::signing(match algorithm {
            SigningAlgorithm::Ps256 => Signer::ps256(key),
            _ => Signer::rs256(key),
        }))
    }

    fn ec(&self) -> Result<KeyMaterial, Problem> {
        self.on_curve("P-256")?;
        self.algorithm(&[SigningAlgorithm::Es256])?;
        let d = octets_32(self.d.as_ref(), "d")?;
        let x = octets_32(self.x.as_ref(), "x")?;
        let y = octets_32(self.y.as_ref(), "y")?;
        let point = [&[0x04], x.as_slice(), y.as_slice()].concat();
        EcdsaKeyPair::from_private_key_and_public_key(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            d.as_slice(),
            &point,
        )
        .map(|key| KeyMaterial::signing(Signer::es256(key)))
        .map_err(|_| Problem::Inconsistent)
    }

    fn okp(&self) -> Result<KeyMaterial, Problem> {
        self.on_curve("Ed25519")?;
        self.algorithm(&[SigningAlgorithm::EdDsa])?;
        let d = octets_32(self.d.as_ref(), "d")?;
        let x = octets_32(self.x.as_ref(), "x")?;
        Ed25519KeyPair::from_seed_and_public_key(d.as_slice(), x.as_slice())
            .map(|key| KeyMaterial::signing(Signer::eddsa(key)))
            .map_err(|_| Problem::Inconsistent)
    }

    fn oct(&self) -> Result<KeyMaterial, Problem> {
        if self.usage.as_deref() != Some(SECRET_USE) {
            return Err(Problem::UnsupportedUse);
        }
        Ok(KeyMaterial::Secret(SecretKey::new(&*octets_32(self.k.as_ref(), "k")?)))
    }

    fn on_curve(&self, supported: &str) -> Result<(), Problem> {
        match self.crv.as_deref() {
            None => Err(Problem::MissingMember("crv")),
            Some(curve) if curve == supported => Ok(()),
            Some(_) => Err(Problem::UnsupportedCurve),
        }
    }

    /// Returns the algorithm the file names, or the first of those the key can serve.
    fn algorithm(&self, possible: &[SigningAlgorithm]) -> Result<SigningAlgorithm, Problem> {
        if self.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return Err(Problem::UnsupportedUse);
        }
        match self.alg.as_deref() {
            None => Ok(possible[0]),
            Some(name) => SigningAlgorithm::by_name(name)
                .filter(|algorithm| possible.contains(algorithm))
                .ok_or(Problem::UnsupportedAlgorithm),
        }
    }
}

fn octets(member: Option<&Text>, name: &'static str) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let text = member.ok_or(Problem::MissingMember(name))?;
    URL_SAFE_NO_PAD
        .decode(text.0.as_bytes())
        .map(Zeroizing::new)
        .map_err(|_| Problem::MalformedMember(name))
}

/// Reads a member that has 32 octets, leading zeros included (RFC 7518 §6.2.1.2).
fn octets_32(member: Option<&Text>, name: &'static str) -> Result<Zeroizing<[u8; 32]>, Problem> {
    let mut array = Zeroizing::new([0; 32]);
    let bytes = octets(member, name)?;
    if bytes.len() != array.len() {
        return Err(Problem::MalformedMember(name));
    }
    array.copy_from_slice(&bytes);
    Ok(array)
}
