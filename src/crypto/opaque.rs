//! Opaque tokens: codes, refresh tokens and session tokens.
//!
//! ```text
//! prefix _ owner's id (22) | 256 random bits (43) | MAC over prefix, id and those bits (22)
//! ```
//!
//! all in base64url. The prefix tells leak scanners what they have found. The id leads to the owner
//! without a lookup. The MAC tells, without reading a row, that this was once issued; whether it is
//! good is for its owner to say, who compares the hash of the random bits.

use super::{Dice, Vault, draw, draw_text, uuid_text};
use crate::domain::{Fingerprint, Timestamp};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpaqueKind {
    AuthorizationCode,
    RefreshToken,
    Session,
    Invitation,
    DeviceCode,
    /// The `auth_req_id` of a backchannel authentication request.
    BackchannelRequest,
    /// Lets a person recover an account.
    RecoveryLink,
    /// Voids such a link.
    RecoveryStop,
}

/// A new token: its text is seen once, its fingerprint is kept.
pub struct MintedToken {
    pub text: Zeroizing<String>,
    pub fingerprint: Fingerprint,
}

/// A token that was once issued: whose it is, and what is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenuineToken {
    pub id: String,
    pub fingerprint: Fingerprint,
}

const ID_BYTES: usize = 16;
const ID: usize = 22;
const RANDOM: usize = 43;
const TAG_BYTES: usize = 16;
const TAG: usize = 22;

impl OpaqueKind {
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "pac_",
            Self::RefreshToken => "prf_",
            Self::Session => "pss_",
            Self::Invitation => "piv_",
            Self::DeviceCode => "pdc_",
            Self::BackchannelRequest => "pbr_",
            Self::RecoveryLink => "prl_",
            Self::RecoveryStop => "prs_",
        }
    }

    /// Draws a token for the owner `id`, which came from [`draw_id`].
    pub fn mint(self, id: &str, vault: &Vault, dice: &dyn Dice) -> MintedToken {
        debug_assert_eq!(id.len(), ID);
        let random = Zeroizing::new(draw_text(dice, 32));
        let parts = [self.prefix().as_bytes(), id.as_bytes(), random.as_bytes()];
        let tag = vault.opaque_keys()[0].tag(&parts);
        let tag = URL_SAFE_NO_PAD.encode(&tag[..TAG_BYTES]);
        let text = Zeroizing::new([self.prefix(), id, &random, &tag].concat());
        MintedToken { text, fingerprint: Fingerprint::of(random.as_bytes()) }
    }

    /// Reads what a caller presents, if it was issued under a secret key that is still kept.
    pub fn read(self, text: &str, vault: &Vault) -> Option<GenuineToken> {
        let body = text.strip_prefix(self.prefix())?;
        if body.len() != ID + RANDOM + TAG || !body.is_ascii() {
            return None;
        }
        let (id, rest) = body.split_at(ID);
        let (random, tag) = rest.split_at(RANDOM);
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        let parts = [self.prefix().as_bytes(), id.as_bytes(), random.as_bytes()];
        let genuine = vault.opaque_keys().iter().any(|key| key.begins(&parts, &tag));
        let fingerprint = Fingerprint::of(random.as_bytes());
        genuine.then(|| GenuineToken { id: id.to_owned(), fingerprint })
    }
}

/// Draws the id of something that opaque tokens lead to.
pub fn draw_id(dice: &dyn Dice) -> String {
    draw_text(dice, ID_BYTES)
}

/// The same for what there is much of: ids of one time lie side by side, so that a group of commits changes few pages
/// of the database. It says when it was drawn, and has 80 random bits: it names something, and opens nothing.
pub fn draw_id_at(dice: &dyn Dice, now: Timestamp) -> String {
    let mut bytes = draw::<ID_BYTES>(dice);
    bytes[..6].copy_from_slice(&now.millis().to_be_bytes()[2..]);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the id that tokens lead to an entity by which has a UUID; nothing where it has none.
pub fn id_of_uuid(uuid: &str) -> Option<String> {
    let groups = [8, 4, 4, 4, 12];
    if !uuid.split('-').map(str::len).eq(groups) {
        return None;
    }
    let bytes = u128::from_str_radix(&uuid.replace('-', ""), 16).ok()?.to_be_bytes();
    let id = URL_SAFE_NO_PAD.encode(bytes);
    // What is not written as we write it is not the name of an entity.
    (uuid_of_id(&id).as_deref() == Some(uuid)).then_some(id)
}

/// Returns the UUID that [`id_of_uuid`] was given.
pub fn uuid_of_id(id: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?;
    Some(uuid_text(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SecretKey, SystemDice};

    fn vault(byte: u8) -> Vault {
        Vault::new(SecretKey::new(&[byte; 32]), Vec::new())
    }

    const ALL: [OpaqueKind; 7] = [
        OpaqueKind::AuthorizationCode,
        OpaqueKind::RefreshToken,
        OpaqueKind::Session,
        OpaqueKind::Invitation,
        OpaqueKind::DeviceCode,
        OpaqueKind::RecoveryLink,
        OpaqueKind::RecoveryStop,
    ];

    #[test]
    fn a_uuid_is_read_back_from_the_id_of_its_tokens() {
        for _ in 0..10 {
            let uuid = crate::crypto::draw_uuid(&SystemDice);
            let id = id_of_uuid(&uuid).unwrap();
            assert_eq!((id.len(), uuid_of_id(&id)), (ID, Some(uuid.clone())));
            assert_eq!(id_of_uuid(&uuid.to_uppercase()), None);
        }
        for wrong in ["", "ana", "0-0-0-0-0", "+0000000-0000-0000-0000-000000000000"] {
            assert_eq!(id_of_uuid(wrong), None, "{wrong}");
        }
        assert_eq!(uuid_of_id("AAAA"), None);
    }

    #[test]
    fn ids_of_one_time_begin_alike_and_differ() {
        let at = |millis| draw_id_at(&SystemDice, Timestamp::from_millis(millis));
        let (one, other, later) =
            (at(1_790_000_000_000), at(1_790_000_000_000), at(1_790_000_000_001));
        assert_eq!((one.len(), &one[..8]), (ID, &other[..8]));
        assert_ne!(one, other);
        assert_eq!(one[..7], later[..7]);
        assert_ne!(one[..8], later[..8]);
    }

    #[test]
    fn what_was_minted_is_read_as_its_own_kind_alone() {
        for kind in ALL {
            let id = draw_id(&SystemDice);
            let minted = kind.mint(&id, &vault(1), &SystemDice);
            let read = kind.read(&minted.text, &vault(1)).unwrap();
            assert_eq!((read.id, read.fingerprint), (id, minted.fingerprint));
            for other in ALL.into_iter().filter(|other| *other != kind) {
                assert_eq!(other.read(&minted.text, &vault(1)), None);
                let renamed = minted.text.replacen(kind.prefix(), other.prefix(), 1);
                assert_eq!(other.read(&renamed, &vault(1)), None);
            }
        }
    }

    #[test]
    fn a_token_with_an_altered_character_was_never_issued() {
        let kind = OpaqueKind::RefreshToken;
        let minted = kind.mint(&draw_id(&SystemDice), &vault(1), &SystemDice);
        for at in 0..minted.text.len() {
            let mut forged = minted.text.as_bytes().to_vec();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            // The last character of a tag carries bits that mean nothing; those are refused as well.
            assert_eq!(kind.read(std::str::from_utf8(&forged).unwrap(), &vault(1)), None, "{at}");
            assert_eq!(kind.read(&minted.text[..at], &vault(1)), None);
        }
        assert_eq!(kind.read(&format!("{}A", *minted.text), &vault(1)), None);
        assert_eq!(kind.read(&"é".repeat(60), &vault(1)), None);
    }

    #[test]
    fn a_former_secret_key_still_knows_its_tokens() {
        let kind = OpaqueKind::Session;
        let minted = kind.mint(&draw_id(&SystemDice), &vault(1), &SystemDice);
        let rotated = Vault::new(SecretKey::new(&[2; 32]), vec![SecretKey::new(&[1; 32])]);
        assert!(kind.read(&minted.text, &rotated).is_some());
        assert_eq!(kind.read(&minted.text, &vault(2)), None);
    }
}
