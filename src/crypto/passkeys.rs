//! Passkeys: WebAuthn ceremonies of this server (WebAuthn Level 3 §7), as the rest of the product uses
//! them (adr/0053).
//!
//! A ceremony is two halves. The first gives options for the browser and a state, which the caller
//! keeps; the second takes that state and the browser's answer. The library does not remember which
//! states were used: the caller must give each to the second half at most once.
//!
//! Whatever the settings of the library are, every passkey is discoverable, and every ceremony demands
//! that the authenticator has verified its user. One registration is an exception: where a password manager makes a
//! passkey by itself after a password, no person is asked (adr/0143).

mod answer;
mod attestation;
mod signal;

pub use answer::PresentedPasskey;
pub use attestation::{AttestationFault, AttestationPolicy};
pub use signal::{AccountSignal, UnknownCredentialSignal};

use super::{Dice, draw};
use crate::domain::{
    Fingerprint,
    account::{Passkey, PasskeyUse},
    assurance::Worth,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;
use webauthn_rs::{
    Webauthn, WebauthnBuilder,
    prelude::{
        AuthenticationResult, Credential, DiscoverableAuthentication, Passkey as Verifier,
        PasskeyRegistration, PublicKeyCredential, RegisterPublicKeyCredential, WebauthnError,
    },
};
use webauthn_rs_proto::{AttestationConveyancePreference, ResidentKeyRequirement};

/// How many bytes a credential id has at most (WebAuthn §7.1, step 25).
const LONGEST_ID: usize = 1_023;

/// How a browser is asked to make a passkey by itself, and what marks such a ceremony.
const CONDITIONAL: &str = "conditional";

/// What begins and finishes the ceremonies of one issuer.
pub struct Passkeys {
    library: Webauthn,
    /// The domain that passkeys belong to.
    rp_id: String,
    /// The issuer's and those of pages that may use its passkeys, each once.
    origins: Vec<String>,
    /// `None` where no passkey is asked for an attestation.
    attestation: Option<AttestationPolicy>,
}

/// The first half of a ceremony.
pub struct Ceremony {
    /// What the browser needs: `{"publicKey": …}`.
    pub options: Value,
    /// What the second half needs. It is good for one answer.
    pub state: Value,
}

/// The person who registers a passkey, as their authenticator will name them.
#[derive(Clone, Copy, Debug)]
pub struct Registrant<'a> {
    /// The id of the account, a UUID: what the passkey will answer with.
    pub account: &'a str,
    pub email: &'a str,
    /// The e-mail address stands in for a name that is empty.
    pub display_name: &'a str,
}

impl<'a> Registrant<'a> {
    /// What the authenticator calls the person.
    fn shown_name(&self) -> &'a str {
        if self.display_name.trim().is_empty() { self.email } else { self.display_name }
    }
}

/// Why an answer is not accepted. It is for our log: callers are told nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyError {
    #[error("the answer is not what a browser sends: {0}")]
    Malformed(&'static str),
    #[error("the account has no such passkey")]
    Unknown,
    #[error("it answers no ceremony of this flow")]
    NoCeremony,
    #[error("it is another account's")]
    OtherAccount,
    #[error("the page was inside a page of another origin")]
    CrossOrigin,
    #[error("the account's id is no UUID")]
    Account,
    #[error("the WebAuthn library refused")]
    Library(#[from] WebauthnError),
    #[error("what was kept of a ceremony or of a passkey cannot be read")]
    Kept(#[from] serde_json::Error),
}

impl Passkeys {
    /// Makes what an issuer needs, whose passkeys pages of `related` origins may use as well.
    ///
    /// There are no passkeys where the issuer's host is an IP address: an RP ID is a domain (§5.1.2).
    pub fn new<'a>(issuer: &str, related: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let url = Url::parse(issuer).ok()?;
        let domain = url.domain()?;
        let mut origins = vec![url.origin().ascii_serialization()];
        let mut builder = WebauthnBuilder::new(domain, &url).ok()?;
        for page in related.into_iter().filter_map(|page| Url::parse(page).ok()) {
            let origin = page.origin().ascii_serialization();
            if !origins.contains(&origin) {
                builder = builder.append_allowed_origin(&page);
                origins.push(origin);
            }
        }
        let (library, rp_id) = (builder.build().ok()?, domain.to_owned());
        Some(Self { library, rp_id, origins, attestation: None })
    }

    /// Says whose attestation counts; without one none is asked for.
    pub fn believing(self, attestation: Option<AttestationPolicy>) -> Self {
        Self { attestation, ..self }
    }

    /// Tells whether passkeys are asked for an attestation.
    pub fn asks_for_attestation(&self) -> bool {
        self.attestation.is_some()
    }

    /// Lists the origins whose pages may use passkeys of this issuer; its own comes first.
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Begins a sign-in with any passkey of any account: the answer says whose it is.
    pub fn begin_sign_in(&self) -> Result<Ceremony, PasskeyError> {
        let (mut options, state) = self.library.start_discoverable_authentication()?;
        // Whether the browser offers passkeys in its autofill is the page's to say, and of the
        // extensions that the library asks for we read none.
        (options.mediation, options.public_key.extensions) = (None, None);
        Ok(Ceremony {
            options: serde_json::to_value(options)?,
            state: serde_json::to_value(state)?,
        })
    }

    /// Begins the same with a challenge that holds the hash of something: the answer signs it.
    pub fn begin_signing(
        &self,
        signed: Fingerprint,
        dice: &dyn Dice,
    ) -> Result<Ceremony, PasskeyError> {
        let Ceremony { mut options, mut state } = self.begin_sign_in()?;
        let challenge = [&draw::<32>(dice)[..], signed.bytes()].concat();
        let challenge = Value::from(URL_SAFE_NO_PAD.encode(challenge));
        let drawn = options["publicKey"]["challenge"].clone();
        replace(&mut options, &drawn, &challenge);
        if !replace(&mut state, &drawn, &challenge) {
            return Err(PasskeyError::NoCeremony);
        }
        Ok(Ceremony { options, state })
    }

    /// Verifies the answer to a sign-in with the passkeys of the account that it names.
    ///
    /// A counter that did not grow does not refuse the answer; it is said (adr/0053).
    pub fn finish_sign_in<'a>(
        &self,
        state: &Value,
        presented: &PresentedPasskey,
        passkeys: impl IntoIterator<Item = &'a Passkey>,
    ) -> Result<PasskeyUse, PasskeyError> {
        let mut held = passkeys.into_iter().filter(|passkey| passkey.id == presented.credential);
        let passkey = held.next().ok_or(PasskeyError::Unknown)?;
        let mut verifier: Verifier = serde_json::from_value(passkey.verifier.clone())?;
        let mut credential = Credential::from(verifier.clone());
        // The library refuses a counter that did not grow. Here every other check is its own, and
        // the counters are compared below.
        let last = std::mem::take(&mut credential.counter);
        let state: DiscoverableAuthentication = serde_json::from_value(state.clone())?;
        let verified = self.library.finish_discoverable_authentication_v2(
            &presented.answer,
            state,
            credential,
        )?;
        let changed = verifier.update_credential(&verified) == Some(true);
        Ok(PasskeyUse {
            id: passkey.id.clone(),
            verifier: changed.then(|| serde_json::to_value(&verifier)).transpose()?,
            backed_up: verified.backup_state(),
            counter_regressed: has_regressed(last, &verified),
        })
    }

    /// Begins the registration of one passkey more.
    pub fn begin_registration<'a>(
        &self,
        registrant: Registrant<'_>,
        passkeys: impl IntoIterator<Item = &'a Passkey>,
    ) -> Result<Ceremony, PasskeyError> {
        let (email, name) = (registrant.email, registrant.shown_name());
        let account = Uuid::parse_str(registrant.account).map_err(|_| PasskeyError::Account)?;
        let ids = passkeys.into_iter().map(|passkey| URL_SAFE_NO_PAD.decode(&passkey.id));
        let exclude = ids.filter_map(Result::ok).collect();
        let (mut options, state) =
            self.library.start_passkey_registration(account, email, name, Some(exclude))?;
        // The library would rather not have it, but a passkey that needs an identifier is of no use
        // here.
        if let Some(wanted) = &mut options.public_key.authenticator_selection {
            wanted.require_resident_key = true;
            wanted.resident_key = Some(ResidentKeyRequirement::Required);
        }
        if self.attestation.is_some() {
            // A passkey that does not attest is registered all the same, and is worth less.
            options.public_key.attestation = Some(AttestationConveyancePreference::Direct);
        }
        Ok(Ceremony {
            options: serde_json::to_value(options)?,
            state: serde_json::to_value(state)?,
        })
    }

    /// Begins a registration without a question to the person, who has just proved a password: their password manager
    /// may make the passkey by itself (WebAuthn Level 3 §5.1.3, conditional creation).
    pub fn begin_conditional_registration<'a>(
        &self,
        registrant: Registrant<'_>,
        passkeys: impl IntoIterator<Item = &'a Passkey>,
    ) -> Result<Ceremony, PasskeyError> {
        let Ceremony { mut options, state } = self.begin_registration(registrant, passkeys)?;
        // A manager that must verify its user would have to ask; one that attests would sign that it asked no one.
        options["publicKey"]["authenticatorSelection"]["userVerification"] = "preferred".into();
        options["publicKey"]["attestation"] = "none".into();
        // The library asks that the passkey be used by a verified person alone, which browsers refuse beside "preferred".
        if let Some(asked) = options["publicKey"].as_object_mut() {
            asked.remove("extensions");
        }
        options["mediation"] = CONDITIONAL.into();
        Ok(Ceremony { options, state: json!({ CONDITIONAL: state }) })
    }

    /// Verifies the answer to a registration, and returns the passkey under the name given.
    pub fn finish_registration(
        &self,
        state: &Value,
        credential: &Value,
        name: &str,
    ) -> Result<Passkey, PasskeyError> {
        let mut answer: RegisterPublicKeyCredential = answer::read(credential)?;
        answer::refuse_frames(&answer.response.client_data_json)?;
        let conditional = state.get(CONDITIONAL);
        // The library knows no conditional creation. Without an attestation nothing signs the flags.
        let presumed = conditional.is_some()
            && answer::presume_person(&mut answer.response.attestation_object, &self.rp_id);
        let state: PasskeyRegistration =
            serde_json::from_value(conditional.unwrap_or(state).clone())?;
        let verifier = self.library.finish_passkey_registration(&answer, &state)?;
        let mut credential = Credential::from(verifier);
        credential.user_verified &= !presumed;
        let verifier_value = serde_json::to_value(Verifier::from(credential.clone()))?;
        if credential.cred_id.as_slice().len() > LONGEST_ID {
            return Err(PasskeyError::Malformed("the credential id is too long"));
        }
        let attested = self.is_attested(&credential);
        Ok(Passkey {
            id: URL_SAFE_NO_PAD.encode(&credential.cred_id),
            name: Passkey::named(name),
            verifier: verifier_value,
            backup_eligible: credential.backup_eligible,
            backed_up: credential.backup_state,
            attested,
            last_used_at: None,
        })
    }

    /// Says what a use of this passkey proves.
    ///
    /// An attestation is verified again: a maker or a model that is not believed any more counts for
    /// nothing at the next use.
    pub fn worth(&self, passkey: &Passkey) -> Worth {
        let attests = || {
            let verifier = serde_json::from_value::<Verifier>(passkey.verifier.clone());
            verifier.is_ok_and(|verifier| self.is_attested(&Credential::from(verifier)))
        };
        match passkey {
            Passkey { backup_eligible: true, .. } => Worth::PASSKEY,
            Passkey { attested: true, .. } if attests() => Worth::ATTESTED_PASSKEY,
            _ => Worth::DEVICE_PASSKEY,
        }
    }

    fn is_attested(&self, credential: &Credential) -> bool {
        self.attestation.as_ref().is_some_and(|policy| policy.vouches_for(credential))
    }
}

/// Puts another value in the place of each that is equal to one; tells whether there was any.
fn replace(value: &mut Value, old: &Value, new: &Value) -> bool {
    if value == old {
        *value = new.clone();
        return true;
    }
    let mut found = false;
    match value {
        Value::Object(members) => {
            for one in members.values_mut() {
                found |= replace(one, old, new);
            }
        }
        Value::Array(list) => {
            for one in list.iter_mut() {
                found |= replace(one, old, new);
            }
        }
        _ => {}
    }
    found
}

/// Authenticators without a counter always say 0 (§6.1.1).
fn has_regressed(last: u32, verified: &AuthenticationResult) -> bool {
    let counts = last > 0 || verified.counter() > 0;
    counts && verified.counter() <= last
}
