//! A security key: its passkey never leaves it, and its maker vouches for that (WebAuthn §8.2).
//!
//! The authenticator of [`crate::passkey_device`] says of every passkey that it may be copied, and
//! attests nothing.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The model of every key here, unless it is said to be another.
pub const MODEL: [u8; 16] = *b"a model of a key";

/// A maker of security keys: a root, and a certificate below it that is in each key.
pub struct Maker {
    pub root: String,
    /// The certificate of the keys, and what leads from it to the root.
    chain: Vec<Vec<u8>>,
    key: EcdsaKeyPair,
}

/// What a key says of where its passkey is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// Nothing.
    None,
    /// What it signs itself.
    OwnWord,
    /// What its maker's key signs.
    Makers,
}

pub struct SecurityKey<'a> {
    origin: String,
    maker: &'a Maker,
    statement: Statement,
    model: [u8; 16],
    /// It says that its passkey may be copied.
    backup_eligible: bool,
    key: EcdsaKeyPair,
    id: [u8; 32],
    user: Vec<u8>,
    uses: u32,
}

fn p256(key: &KeyPair) -> EcdsaKeyPair {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key.serialize_der()).unwrap()
}

fn sign(key: &EcdsaKeyPair, data: &[u8]) -> Vec<u8> {
    key.sign(&SystemRandom::new(), data).unwrap().as_ref().to_vec()
}

impl Maker {
    pub fn new(name: &str) -> Self {
        let authority = |name: &str| {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            params
        };
        let generate = || KeyPair::generate().unwrap();
        let root = CertifiedIssuer::self_signed(authority(name), generate()).unwrap();
        let below = format!("{name}, a year");
        let between = CertifiedIssuer::signed_by(authority(&below), generate(), &root).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let subject = [
            (DnType::CountryName, "PT"),
            (DnType::OrganizationName, name),
            (DnType::OrganizationalUnitName, "Authenticator Attestation"),
            (DnType::CommonName, "keys"),
        ];
        for (kind, value) in subject {
            params.distinguished_name.push(kind, value);
        }
        params.is_ca = IsCa::ExplicitNoCa;
        let model = [&[4, 16][..], &MODEL].concat();
        let oid = [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4];
        params.custom_extensions = vec![CustomExtension::from_oid_content(&oid, model)];
        let key = generate();
        let leaf = params.signed_by(&key, &between).unwrap();
        let chain = vec![leaf.der().to_vec(), between.der().to_vec()];
        Self { root: root.pem(), chain, key: p256(&key) }
    }
}

impl<'a> SecurityKey<'a> {
    pub fn new(origin: &str, maker: &'a Maker) -> Self {
        let key = p256(&KeyPair::generate().unwrap());
        let id = Sha256::digest(key.public_key()).into();
        let (statement, model) = (Statement::Makers, MODEL);
        let (origin, backup_eligible) = (origin.to_owned(), false);
        Self {
            origin,
            maker,
            statement,
            model,
            backup_eligible,
            key,
            id,
            user: Vec::new(),
            uses: 0,
        }
    }

    pub fn saying(self, statement: Statement) -> Self {
        Self { statement, ..self }
    }

    pub fn of_model(self, model: [u8; 16]) -> Self {
        Self { model, ..self }
    }

    /// Says that its passkey may be copied.
    pub fn copyable(self) -> Self {
        Self { backup_eligible: true, ..self }
    }

    /// Makes its passkey, as `navigator.credentials.create` does.
    pub fn create(&mut self, options: &Value) -> Value {
        let asked = &options["publicKey"];
        self.user = URL_SAFE_NO_PAD.decode(asked["user"]["id"].as_str().unwrap()).unwrap();
        let client_data = self.client_data(asked, "webauthn.create");
        let mut data = self.authenticator_data(asked["rp"]["id"].as_str().unwrap(), 0x40);
        data.extend(self.model);
        data.extend([0, u8::try_from(self.id.len()).unwrap()]);
        data.extend(self.id);
        let point = self.key.public_key().as_ref();
        // {1: 2, 3: -7, -1: 1, -2: x, -3: y}
        data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]);
        data.extend(bytes(&point[1..33]));
        data.push(0x22);
        data.extend(bytes(&point[33..65]));
        let signed = [&data[..], &Sha256::digest(&client_data)].concat();
        let alg = [text("alg"), vec![0x26]].concat();
        let (format, statement) = match self.statement {
            Statement::None => ("none", vec![0xa0]),
            Statement::OwnWord => {
                let signature = bytes(&sign(&self.key, &signed));
                ("packed", [vec![0xa2], alg, text("sig"), signature].concat())
            }
            Statement::Makers => {
                let signature = bytes(&sign(&self.maker.key, &signed));
                let chain = &self.maker.chain;
                let mut listed = vec![0x80 | u8::try_from(chain.len()).unwrap()];
                listed.extend(chain.iter().flat_map(|one| bytes(one)));
                let parts = [vec![0xa3], alg, text("sig"), signature, text("x5c"), listed];
                ("packed", parts.concat())
            }
        };
        let object = [
            vec![0xa3],
            text("fmt"),
            text(format),
            text("attStmt"),
            statement,
            text("authData"),
            bytes(&data),
        ];
        self.answer(json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(&client_data),
            "attestationObject": URL_SAFE_NO_PAD.encode(object.concat()),
            "transports": ["usb"],
        }))
    }

    /// Proves that it has its passkey, as `navigator.credentials.get` does.
    pub fn get(&mut self, options: &Value) -> Value {
        self.uses += 1;
        let asked = &options["publicKey"];
        let client_data = self.client_data(asked, "webauthn.get");
        let data = self.authenticator_data(asked["rpId"].as_str().unwrap(), 0);
        let signed = [&data[..], &Sha256::digest(&client_data)].concat();
        self.answer(json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(&client_data),
            "authenticatorData": URL_SAFE_NO_PAD.encode(&data),
            "signature": URL_SAFE_NO_PAD.encode(sign(&self.key, &signed)),
            "userHandle": URL_SAFE_NO_PAD.encode(&self.user),
        }))
    }

    #[expect(clippy::needless_pass_by_value, reason = "what a test says stands where it is said")]
    fn answer(&self, response: Value) -> Value {
        let id = URL_SAFE_NO_PAD.encode(self.id);
        json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "authenticatorAttachment": "cross-platform",
            "clientExtensionResults": {},
            "response": response,
        })
    }

    /// Hash of the RP ID, flags and counter (§6.1): a user who is there and was verified.
    fn authenticator_data(&self, rp_id: &str, flags: u8) -> Vec<u8> {
        let copied = if self.backup_eligible { 0x08 } else { 0 };
        let mut data = Sha256::digest(rp_id).to_vec();
        data.push(0x05 | copied | flags);
        data.extend(self.uses.to_be_bytes());
        data
    }

    fn client_data(&self, asked: &Value, kind: &str) -> Vec<u8> {
        let challenge = &asked["challenge"];
        let (origin, framed) = (&self.origin, false);
        json!({ "type": kind, "challenge": challenge, "origin": origin, "crossOrigin": framed })
            .to_string()
            .into_bytes()
    }
}

/// A text in CBOR, of less than 24 bytes.
fn text(text: &str) -> Vec<u8> {
    let mut written = vec![0x60 | u8::try_from(text.len()).unwrap()];
    written.extend(text.bytes());
    written
}

/// Bytes in CBOR.
fn bytes(bytes: &[u8]) -> Vec<u8> {
    let mut written = vec![0x59];
    written.extend(u16::try_from(bytes.len()).unwrap().to_be_bytes());
    written.extend(bytes);
    written
}
