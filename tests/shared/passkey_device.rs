//! A software authenticator and the browser that it is asked through: honest, unless told to lie.
//!
//! The authenticator is another project's implementation of CTAP 2; what a browser does around it is
//! here, because no honest one would send what our hostile tests do.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use passkey::{
    authenticator::{
        Authenticator, CredentialStore, DiscoverabilitySupport, StoreInfo, UiHint, UserCheck,
        UserValidationMethod,
    },
    crypto::AvailableBackend,
    types::{
        Passkey,
        ctap2::{
            Aaguid, Ctap2Error, StatusCode, get_assertion,
            make_credential::{self, PublicKeyCredentialRpEntity, PublicKeyCredentialUserEntity},
        },
        webauthn::{PublicKeyCredentialCreationOptions, PublicKeyCredentialDescriptor},
    },
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A person's device: an authenticator, and the page that asks it.
pub struct Device {
    authenticator: Authenticator<Keys, Person, AvailableBackend>,
    origin: String,
}

/// What a dishonest browser says that is not so.
#[derive(Clone, Debug, Default)]
pub struct Lies {
    pub origin: Option<&'static str>,
    pub rp_id: Option<&'static str>,
    /// What the ceremony is said to be, in place of `webauthn.get` or `webauthn.create`.
    pub kind: Option<&'static str>,
    /// The page was in a frame of another page.
    pub framed: bool,
    /// The device did not ask who uses it.
    pub unverified: bool,
}

/// The passkeys of a device, newest first.
#[derive(Clone, Default)]
struct Keys(Vec<Passkey>);

/// A person who is there, and proves it when asked.
struct Person;

impl Device {
    /// A device whose passkeys do not count their uses, as those that are copied between devices.
    pub fn new(origin: &str) -> Self {
        Self::with(origin, Keys::default())
    }

    /// A device whose passkeys count their uses.
    pub fn counting(origin: &str) -> Self {
        let mut device = Self::new(origin);
        device.authenticator.set_make_credentials_with_signature_counter(true);
        device
    }

    /// A second device with all that this one has.
    pub fn copy(&self) -> Self {
        Self::with(&self.origin, self.authenticator.store().clone())
    }

    fn with(origin: &str, keys: Keys) -> Self {
        let authenticator = Authenticator::new(Aaguid::new_empty(), keys, Person, AvailableBackend);
        Self { authenticator, origin: origin.to_owned() }
    }

    /// Makes a passkey, as `navigator.credentials.create` does.
    pub async fn create(&mut self, options: &Value) -> Value {
        self.create_lying(options, &Lies::default()).await.expect("a passkey")
    }

    /// Makes a passkey, unless the device has one of those that are excluded.
    pub async fn create_lying(&mut self, options: &Value, lies: &Lies) -> Option<Value> {
        let asked: PublicKeyCredentialCreationOptions =
            serde_json::from_value(options["publicKey"].clone()).unwrap();
        let id = lies.rp_id.map(str::to_owned).or(asked.rp.id).unwrap();
        let rk = options["publicKey"]["authenticatorSelection"]["residentKey"] == "required";
        let client_data = self.client_data(&options["publicKey"], "webauthn.create", lies);
        let request = make_credential::Request {
            client_data_hash: Sha256::digest(&client_data).to_vec().into(),
            rp: PublicKeyCredentialRpEntity { id, name: Some(asked.rp.name) },
            user: asked.user,
            pub_key_cred_params: asked.pub_key_cred_params,
            exclude_list: asked.exclude_credentials,
            extensions: None,
            options: make_credential::Options { rk, up: true, uv: !lies.unverified },
            pin_auth: None,
            pin_protocol: None,
        };
        let made = match self.authenticator.make_credential(request).await {
            Ok(made) => made,
            Err(status) if status == Ctap2Error::CredentialExcluded.into() => return None,
            Err(status) => panic!("{status:?}"),
        };
        let id = made.auth_data.attested_credential_data.as_ref().unwrap().credential_id();
        let id = URL_SAFE_NO_PAD.encode(id);
        Some(json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": { "credProps": { "rk": rk } },
            "response": {
                "clientDataJSON": URL_SAFE_NO_PAD.encode(&client_data),
                "attestationObject": URL_SAFE_NO_PAD.encode(&*made.as_webauthn_bytes()),
                "transports": ["internal", "hybrid"],
            },
        }))
    }

    /// Proves that it has a passkey, as `navigator.credentials.get` does: its newest, if it may choose.
    pub async fn get(&mut self, options: &Value) -> Value {
        self.get_lying(options, &Lies::default()).await
    }

    pub async fn get_lying(&mut self, options: &Value, lies: &Lies) -> Value {
        let asked = &options["publicKey"];
        let rp_id = lies.rp_id.or(asked["rpId"].as_str()).unwrap().to_owned();
        let client_data = self.client_data(asked, "webauthn.get", lies);
        let request = get_assertion::Request {
            rp_id,
            client_data_hash: Sha256::digest(&client_data).to_vec().into(),
            allow_list: serde_json::from_value(asked["allowCredentials"].clone()).unwrap(),
            extensions: None,
            options: get_assertion::Options { up: true, uv: !lies.unverified },
            pin_auth: None,
            pin_protocol: None,
        };
        let proof = self.authenticator.get_assertion(request).await.unwrap();
        let id = URL_SAFE_NO_PAD.encode(&*proof.credential.unwrap().id);
        json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": URL_SAFE_NO_PAD.encode(&client_data),
                "authenticatorData": URL_SAFE_NO_PAD.encode(proof.auth_data.to_vec()),
                "signature": URL_SAFE_NO_PAD.encode(&*proof.signature),
                "userHandle": proof.user.map(|user| URL_SAFE_NO_PAD.encode(&*user.id)),
            },
        })
    }

    /// Writes what the browser says of the page (WebAuthn §5.8.1).
    fn client_data(&self, asked: &Value, kind: &str, lies: &Lies) -> Vec<u8> {
        let client_data = json!({
            "type": lies.kind.unwrap_or(kind),
            "challenge": asked["challenge"],
            "origin": lies.origin.unwrap_or(&self.origin),
            "crossOrigin": lies.framed,
        });
        client_data.to_string().into_bytes()
    }
}

/// Changes the bytes that are at this path of an answer.
pub fn altered(answer: &Value, path: &str, change: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut altered = answer.clone();
    let part = altered.pointer_mut(path).unwrap_or_else(|| panic!("{path}: {answer}"));
    let mut bytes = URL_SAFE_NO_PAD.decode(part.as_str().unwrap()).unwrap();
    change(&mut bytes);
    *part = URL_SAFE_NO_PAD.encode(bytes).into();
    altered
}

/// The answer to a registration in which no person took part: the flags say neither presence nor verification.
pub fn unattended(made: &Value, rp_id: &str) -> Value {
    let hash = Sha256::digest(rp_id);
    altered(made, "/response/attestationObject", |bytes| {
        let at = bytes.windows(32).position(|part| part == &hash[..]).unwrap() + 32;
        assert_eq!(bytes[at] & 0b101, 0b101, "a person took part");
        bytes[at] &= !0b101;
    })
}

#[async_trait::async_trait]
impl CredentialStore for Keys {
    type PasskeyItem = Passkey;

    async fn find_credentials(
        &self,
        ids: Option<&[PublicKeyCredentialDescriptor]>,
        _rp_id: &str,
        _user_handle: Option<&[u8]>,
    ) -> Result<Vec<Passkey>, StatusCode> {
        let named = |key: &&Passkey| {
            ids.is_none_or(|ids| ids.iter().any(|one| one.id == key.credential_id))
        };
        let found: Vec<Passkey> = self.0.iter().filter(named).cloned().collect();
        if found.is_empty() { Err(Ctap2Error::NoCredentials.into()) } else { Ok(found) }
    }

    async fn save_credential(
        &mut self,
        passkey: Passkey,
        _user: PublicKeyCredentialUserEntity,
        _rp: PublicKeyCredentialRpEntity,
        _options: make_credential::Options,
    ) -> Result<(), StatusCode> {
        self.0.insert(0, passkey);
        Ok(())
    }

    async fn update_credential(&mut self, passkey: &Passkey) -> Result<(), StatusCode> {
        let same = |key: &&mut Passkey| key.credential_id == passkey.credential_id;
        if let Some(key) = self.0.iter_mut().find(same) {
            *key = passkey.clone();
        }
        Ok(())
    }

    async fn get_info(&self) -> StoreInfo {
        StoreInfo { discoverability: DiscoverabilitySupport::Full }
    }
}

#[async_trait::async_trait]
impl UserValidationMethod for Person {
    type PasskeyItem = Passkey;

    async fn check_user<'a>(
        &self,
        hint: UiHint<'a, Passkey>,
        _presence: bool,
        verification: bool,
    ) -> Result<UserCheck, Ctap2Error> {
        match hint {
            UiHint::InformExcludedCredentialFound(_) => Err(Ctap2Error::CredentialExcluded),
            _ => Ok(UserCheck { presence: true, verification }),
        }
    }

    fn is_presence_enabled(&self) -> bool {
        true
    }

    fn is_verification_enabled(&self) -> Option<bool> {
        Some(true)
    }
}
