//! What a page tells the password manager of its browser (WebAuthn Level 3 §5.1.10), as the browser takes it.

use super::{Passkeys, Registrant, URL_SAFE_NO_PAD, Uuid};
use crate::domain::account::Passkey;
use base64::Engine as _;
use serde::Serialize;

/// Which passkeys of an account are good, and what its person is called: for `signalAllAcceptedCredentials` and for
/// `signalCurrentUserDetails`, which each take what they know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountSignal {
    rp_id: String,
    /// The user handle, in base64url.
    user_id: String,
    all_accepted_credential_ids: Vec<String>,
    name: String,
    display_name: String,
}

/// A passkey that is good for nothing here: for `signalUnknownCredential`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnknownCredentialSignal {
    rp_id: String,
    credential_id: String,
}

impl Passkeys {
    /// Says which passkeys of a person are good, and what the person is called.
    pub fn account_signal<'a>(
        &self,
        person: Registrant<'_>,
        passkeys: impl IntoIterator<Item = &'a Passkey>,
    ) -> Option<AccountSignal> {
        let account = Uuid::parse_str(person.account).ok()?;
        Some(AccountSignal {
            rp_id: self.rp_id.clone(),
            user_id: URL_SAFE_NO_PAD.encode(account.as_bytes()),
            all_accepted_credential_ids: passkeys.into_iter().map(|one| one.id.clone()).collect(),
            name: person.email.to_owned(),
            display_name: person.shown_name().to_owned(),
        })
    }

    /// Says that no account has the passkey of this id.
    pub fn unknown_credential_signal(&self, credential_id: String) -> UnknownCredentialSignal {
        UnknownCredentialSignal { rp_id: self.rp_id.clone(), credential_id }
    }
}
