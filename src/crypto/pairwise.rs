//! Subjects by which clients of different sectors cannot tell that they know the same person (OIDC
//! Core §8.1).
//!
//! A subject is
//!
//! ```text
//! name (16) | id of the account (16), masked
//! ```
//!
//! in base64url. The name is a keyed hash of sector and account, and the mask a keyed hash of the
//! name: it is the synthetic IV construction of RFC 5297 over HMAC. So a subject is the same each
//! time, no two accounts share one, and only the holder of the secret key finds the account behind it.
//!
//! Both keys descend from the oldest secret key in the folder, which operators keep. A new secret key
//! changes no subject: clients know people by nothing else.

use super::{MacKey, SharedVault};
use crate::domain::client::KnownClient;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

const HALF: usize = 16;

/// The length of a subject; an account's id, a UUID, is shorter.
const LENGTH: usize = 43;

/// Gives subjects, and finds the accounts behind them; clones do the same.
#[derive(Clone)]
pub struct PairwiseSubjects(SharedVault);

struct Keys {
    name: MacKey,
    mask: MacKey,
}

impl PairwiseSubjects {
    pub fn new(vault: SharedVault) -> Self {
        Self(vault)
    }

    /// Tells whether this is such a subject by its looks, and no account's id.
    pub fn is_one(subject: &str) -> bool {
        subject.len() == LENGTH
    }

    /// Returns how a client knows an account: by its id, or by a subject for the client's sector alone.
    pub fn known_to(&self, client: &KnownClient, account: &str) -> String {
        match client.pairwise_sector() {
            None => account.to_owned(),
            Some(sector) => self.subject(&sector, account),
        }
    }

    /// Returns how the clients of a sector know an account.
    ///
    /// An account's id is a UUID. Of any other text the subject is as good, but leads nowhere.
    pub fn subject(&self, sector: &str, account: &str) -> String {
        let keys = self.keys();
        let id = Uuid::parse_str(account).map(Uuid::into_bytes).unwrap_or_default();
        let name = keys.name(sector, account);
        URL_SAFE_NO_PAD.encode([name, keys.masked(&name, id)].concat())
    }

    /// Returns the account that the clients of a sector know by this subject.
    pub fn account(&self, sector: &str, subject: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(subject).ok()?;
        let (name, masked) = bytes.split_at_checked(HALF)?;
        let keys = self.keys();
        let id = keys.masked(name, masked.try_into().ok()?);
        let account = Uuid::from_bytes(id).to_string();
        let same: bool = keys.name(sector, &account).ct_eq(name).into();
        same.then_some(account)
    }

    fn keys(&self) -> Keys {
        let vault = self.0.now();
        Keys {
            name: vault.lasting_mac_key("pairwise name"),
            mask: vault.lasting_mac_key("pairwise mask"),
        }
    }
}

impl Keys {
    fn name(&self, sector: &str, account: &str) -> [u8; HALF] {
        let tag = self.name.tag(&[sector.as_bytes(), account.as_bytes()]);
        std::array::from_fn(|at| tag[at])
    }

    /// Masks an id, or uncovers one.
    fn masked(&self, name: &[u8], id: [u8; HALF]) -> [u8; HALF] {
        let mask = self.mask.tag(&[name]);
        std::array::from_fn(|at| id[at] ^ mask[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SecretKey, Vault};

    const ANA: &str = "6f9619ff-8b86-4d11-b42d-00c04fc964ff";
    const BRUNO: &str = "6f9619ff-8b86-4d11-b42d-00c04fc964fe";

    fn secret(byte: u8) -> SecretKey {
        SecretKey::new(&[byte; 32])
    }

    fn subjects(current: u8, former: &[u8]) -> PairwiseSubjects {
        let former = former.iter().map(|byte| secret(*byte)).collect();
        PairwiseSubjects::new(SharedVault::new(Vault::new(secret(current), former)))
    }

    #[test]
    fn a_sector_knows_an_account_by_one_subject_and_no_other_sector_by_the_same() {
        let subjects = subjects(1, &[]);
        let here = subjects.subject("a.example", ANA);
        assert_eq!(here, subjects.subject("a.example", ANA));
        assert!(PairwiseSubjects::is_one(&here) && !PairwiseSubjects::is_one(ANA), "{here}");
        let there = subjects.subject("b.example", ANA);
        assert_ne!(here, there);
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        assert_ne!(bytes(&here)[..HALF], bytes(&there)[..HALF]);
        assert_ne!(bytes(&here)[HALF..], bytes(&there)[HALF..]);
        assert_ne!(here, subjects.subject("a.example", BRUNO));
    }

    #[test]
    fn only_the_sector_and_the_key_of_a_subject_lead_to_its_account() {
        let ours = subjects(1, &[]);
        let subject = ours.subject("a.example", ANA);
        assert_eq!(ours.account("a.example", &subject).as_deref(), Some(ANA));
        assert_eq!(ours.account("b.example", &subject), None);
        assert_eq!(subjects(2, &[]).account("a.example", &subject), None);
        for other in ["", "x", ANA, &subject[1..], &format!("A{}", &subject[1..])] {
            assert_eq!(ours.account("a.example", other), None, "{other}");
        }
        let odd = ours.subject("a.example", "not a uuid");
        assert_eq!(ours.account("a.example", &odd), None);
    }

    #[test]
    fn a_new_secret_key_changes_no_subject() {
        let subject = subjects(1, &[]).subject("a.example", ANA);
        let later = subjects(3, &[2, 1]);
        assert_eq!(later.subject("a.example", ANA), subject);
        assert_eq!(later.account("a.example", &subject).as_deref(), Some(ANA));
    }
}
