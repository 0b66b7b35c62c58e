//! Parts of hashes as exports have them, put together as PHC strings.

use crate::crypto::password;
use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD_NO_PAD,
};

const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How many bytes of a salt or an output are looked at.
const LONGEST: usize = 1_024;

/// Accepts a PHC string that can be verified, or says why it cannot; it is not repeated.
pub(super) fn checked(phc: String) -> Result<String, String> {
    match password::check(&phc) {
        Ok(()) => Ok(phc),
        Err(why) => Err(format!("has a password hash that cannot be used: {why}")),
    }
}

/// Decodes base64 with padding or without.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    (text.len() <= LONGEST).then(|| ANY_PADDING.decode(text).ok()).flatten()
}

/// Writes bytes as PHC strings have them.
pub(super) fn encoded(bytes: &[u8]) -> String {
    BASE64_STANDARD_NO_PAD.encode(bytes)
}

/// Writes a hash of PBKDF2. Of an output that is longer than the digest the first part is kept: each
/// part is as hard to guess as all of them.
pub(super) fn pbkdf2(digest: &str, passes: u64, salt: &[u8], output: &[u8]) -> String {
    let length = match digest {
        "sha1" => 20,
        "sha256" => 32,
        _ => 64,
    };
    let output = &output[..output.len().min(length)];
    let (length, salt, output) = (output.len(), encoded(salt), encoded(output));
    format!("$pbkdf2-{digest}$i={passes},l={length}${salt}${output}")
}
