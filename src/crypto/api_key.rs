//! The text of an API key.
//!
//! ```text
//! pak_ id (22) | 256 random bits (43) | checksum (6)
//! ```
//!
//! Id and random bits are in base64url. The checksum is the CRC-32 of all that stands before it, in
//! base62: it needs no secret, so that a leak scanner can tell a key from noise (`docs/api-keys.md`).
//! It proves nothing: acceptance compares the hash of the random bits (adr/0080).

use super::{Dice, MintedToken, draw_text, id_of_uuid, uuid_of_id};
use crate::domain::Fingerprint;
use zeroize::Zeroizing;

/// What every key begins with.
pub const API_KEY_PREFIX: &str = "pak_";

const ID: usize = 22;
const RANDOM: usize = 43;
const CHECKSUM: usize = 6;

/// The digits of base62, the least first.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What the text of a key says of itself; whether it is good is for the key to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentedKey {
    /// The UUID of the key.
    pub id: String,
    pub secret: Fingerprint,
}

/// Draws a secret for the key of this UUID; nothing where it is none.
pub fn mint_api_key(uuid: &str, dice: &dyn Dice) -> Option<MintedToken> {
    let id = id_of_uuid(uuid)?;
    let random = Zeroizing::new(draw_text(dice, 32));
    let body = Zeroizing::new([API_KEY_PREFIX, &id, &random].concat());
    let checksum = checksum(&body);
    let text = Zeroizing::new([body.as_str(), checksum.as_str()].concat());
    Some(MintedToken { text, fingerprint: Fingerprint::of(random.as_bytes()) })
}

/// Reads what a caller presents, if it has the form of a key and its checksum is right.
pub fn read_api_key(text: &str) -> Option<PresentedKey> {
    let length = API_KEY_PREFIX.len() + ID + RANDOM + CHECKSUM;
    if !text.is_ascii() || text.len() != length || !text.starts_with(API_KEY_PREFIX) {
        return None;
    }
    let (body, given) = text.split_at(length - CHECKSUM);
    if *checksum(body) != *given {
        return None;
    }
    let (id, random) = body[API_KEY_PREFIX.len()..].split_at(ID);
    let uuid = uuid_of_id(id)?;
    // Of one key there is one spelling.
    if id_of_uuid(&uuid).as_deref() != Some(id) {
        return None;
    }
    Some(PresentedKey { id: uuid, secret: Fingerprint::of(random.as_bytes()) })
}

/// Returns the CRC-32 of a text in six digits of base62, the greatest first.
fn checksum(text: &str) -> Zeroizing<String> {
    let mut rest = u64::from(crc32(text.as_bytes()));
    let mut digits = [b'0'; CHECKSUM];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[usize::try_from(rest % 62).unwrap_or_default()];
        rest /= 62;
    }
    Zeroizing::new(digits.iter().map(|digit| char::from(*digit)).collect())
}

/// The CRC-32 of IEEE 802.3, as zip and PNG have it.
fn crc32(bytes: &[u8]) -> u32 {
    let shift = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    let take = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shift(crc));
    !bytes.iter().fold(u32::MAX, take)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{OpaqueKind, SystemDice, draw_uuid};

    struct Zeros;

    impl Dice for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    #[test]
    fn the_checksum_is_the_one_that_everyone_knows() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(*checksum(""), "000000");
        // 0xCBF43926 = 3421780262 in base 62.
        assert_eq!(*checksum("123456789"), "3jZRME");
        let key = mint_api_key("00000000-0000-4000-8000-000000000000", &Zeros).unwrap();
        let body = ["pak_AAAAAAAAQACAAAAAAAAAAA", &"A".repeat(43)].concat();
        assert_eq!(key.text.strip_prefix(&*body).map(str::len), Some(CHECKSUM));
    }

    #[test]
    fn the_example_of_the_documentation_is_a_key() {
        let example = "pak_BTkd4S6qSUeO5xOyf0gGkwAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8427av9";
        let read = read_api_key(example).unwrap();
        assert_eq!(read.id, "05391de1-2eaa-4947-8ee7-13b27f480693");
        assert!(include_str!("../../docs/api-keys.md").contains(example));
    }

    #[test]
    fn what_was_minted_is_read_back() {
        for _ in 0..20 {
            let uuid = draw_uuid(&SystemDice);
            let key = mint_api_key(&uuid, &SystemDice).unwrap();
            let read = read_api_key(&key.text).unwrap();
            assert_eq!((read.id, read.secret), (uuid, key.fingerprint));
        }
        assert!(mint_api_key("no uuid", &SystemDice).is_none());
    }

    #[test]
    fn what_was_altered_cut_or_never_was_a_key_is_none() {
        let key = mint_api_key(&draw_uuid(&SystemDice), &SystemDice).unwrap().text;
        for at in 0..key.len() {
            let mut forged = key.as_bytes().to_vec();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(read_api_key(std::str::from_utf8(&forged).unwrap()), None, "{at}");
            assert_eq!(read_api_key(&key[..at]), None, "{at}");
        }
        for other in
            [format!("{}0", *key), format!(" {}", *key), "é".repeat(37), key.to_uppercase()]
        {
            assert_eq!(read_api_key(&other), None, "{other}");
        }
    }

    #[test]
    fn the_spare_bits_of_an_id_name_no_second_key() {
        // The last character of 16 bytes in base64url carries four bits that mean nothing.
        let body = ["pak_AAAAAAAAQACAAAAAAAAAAB", &"A".repeat(43)].concat();
        assert_eq!(read_api_key(&[body.as_str(), checksum(&body).as_str()].concat()), None);
    }

    #[test]
    fn no_other_token_of_ours_begins_so() {
        for kind in [
            OpaqueKind::AuthorizationCode,
            OpaqueKind::RefreshToken,
            OpaqueKind::Session,
            OpaqueKind::Invitation,
            OpaqueKind::DeviceCode,
            OpaqueKind::RecoveryLink,
            OpaqueKind::RecoveryStop,
        ] {
            assert_ne!(kind.prefix(), API_KEY_PREFIX);
        }
    }
}
