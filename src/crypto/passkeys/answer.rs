//! What a browser answers in a ceremony: bounded and read before anything is verified.

use super::{PasskeyError, PublicKeyCredential, URL_SAFE_NO_PAD, Uuid};
use base64::Engine as _;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// How long each text of an answer may be, before it is decoded: more than authenticators send. A TPM
/// attests with four certificates in 6 KiB.
const LONGEST: [(&str, usize); 7] = [
    ("/id", 1_364),
    ("/rawId", 1_364),
    ("/response/attestationObject", 16 * 1024),
    ("/response/authenticatorData", 2 * 1024),
    ("/response/clientDataJSON", 4 * 1024),
    ("/response/signature", 1_024),
    ("/response/userHandle", 88),
];

/// An answer to a sign-in that was read, and not verified: what it says of itself may be a lie.
pub struct PresentedPasskey {
    pub(super) answer: PublicKeyCredential,
    /// The id of the account that the authenticator keeps with the passkey.
    pub account: String,
    /// The credential id in base64url.
    pub credential: String,
}

impl PresentedPasskey {
    /// Reads an answer to a sign-in, which must say whose passkey it is.
    pub fn read(credential: &Value) -> Result<Self, PasskeyError> {
        let answer: PublicKeyCredential = read(credential)?;
        refuse_frames(&answer.response.client_data_json)?;
        let account = answer.get_user_unique_id().and_then(|id| Uuid::from_slice(id).ok());
        let account = account.ok_or(PasskeyError::Malformed("it names no account"))?;
        Ok(Self {
            account: account.to_string(),
            credential: URL_SAFE_NO_PAD.encode(&answer.raw_id),
            answer,
        })
    }
}

/// Reads an answer whose parts are no longer than they may be.
pub(super) fn read<T: DeserializeOwned>(credential: &Value) -> Result<T, PasskeyError> {
    let malformed = PasskeyError::Malformed;
    let length = |path| credential.pointer(path).and_then(Value::as_str).map_or(0, str::len);
    if LONGEST.iter().any(|(path, most)| length(path) > *most) {
        return Err(malformed("a part is too long"));
    }
    // The library does not look at it.
    if credential.get("type").and_then(Value::as_str) != Some("public-key") {
        return Err(malformed("it is no public key"));
    }
    T::deserialize(credential).map_err(|_| malformed("a part is missing, or not base64url"))
}

/// Sets the flags of presence and verification in what answers a conditional creation, where they are not set; tells
/// whether they were not (§7.1, step 15).
///
/// Only where there is no attestation: then nothing signs the flags, and they are the word of the client in any case.
pub(super) fn presume_person(attestation_object: &mut [u8], rp_id: &str) -> bool {
    /// In CBOR: the member `fmt` is `none`.
    const NO_STATEMENT: &[u8] = b"cfmtdnone";
    const PRESENT_AND_VERIFIED: u8 = 0b101;
    let is_none = attestation_object.windows(NO_STATEMENT.len()).any(|part| part == NO_STATEMENT);
    // The authenticator data begin with the hash of the RP ID; the flags follow (§6.1).
    let hash = Sha256::digest(rp_id.as_bytes());
    let at = attestation_object.windows(hash.len()).position(|part| part == &hash[..]);
    let flags = at.and_then(|at| attestation_object.get_mut(at + hash.len()));
    let Some(flags) = flags.filter(|_| is_none) else { return false };
    let was_said = *flags & PRESENT_AND_VERIFIED == PRESENT_AND_VERIFIED;
    *flags |= PRESENT_AND_VERIFIED;
    !was_said
}

/// What the browser says of the page (§5.8.1).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<String>,
}

/// Refuses a page that is a frame of another page, which the library does only at registration: what
/// the person sees around it is not ours (§7.2, steps 13 and 14).
pub(super) fn refuse_frames(client_data: &[u8]) -> Result<(), PasskeyError> {
    let read = serde_json::from_slice::<ClientData>(client_data);
    let data = read.map_err(|_| PasskeyError::Malformed("the client data are not JSON"))?;
    if data.cross_origin || data.top_origin.is_some() {
        return Err(PasskeyError::CrossOrigin);
    }
    Ok(())
}
