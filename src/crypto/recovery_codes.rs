//! Recovery codes: ten saved codes that stand in for a lost device, each good for once.
//!
//! A code has fifty random bits. A set is hashed with Argon2id under one salt, so that one computation
//! tells which of its codes was presented. The salt is written with what a computation costs, as the
//! beginning of a PHC string: a set that was made at another cost than today's stays good.

use super::{
    password::{self, Memory, PasswordCost, PasswordError},
    random::{Dice, draw},
};
use crate::domain::{
    Secret,
    account::{PasswordHash, RecoveryCodes},
};
use zeroize::Zeroizing;

/// How many codes a set has.
const CODES: usize = 10;
/// How many characters a code has.
const LENGTH: usize = 10;
/// Nothing longer is read: a code with every space and hyphen that a person may have added.
const LONGEST: usize = 64;

/// Digits and lower-case letters, without those that look like another (as Crockford's base32).
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A recovery code, in the one form in which it is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryCode(Secret);

impl RecoveryCode {
    /// Reads what a person typed: case, spaces and hyphens do not count, and letters that look like a
    /// digit are that digit.
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut code = Zeroizing::new([0; LENGTH]);
        let mut length = 0;
        for typed in text.chars().filter(|one| !one.is_whitespace() && !is_hyphen(*one)) {
            let meant = match typed.to_ascii_lowercase() {
                'o' => '0',
                'i' | 'l' => '1',
                other => other,
            };
            let byte = u8::try_from(meant).ok().filter(|byte| ALPHABET.contains(byte))?;
            *code.get_mut(length)? = byte;
            length += 1;
        }
        (length == LENGTH).then(|| Self(Secret::new(*code)))
    }

    /// Returns it as it is shown, in two halves.
    pub fn shown(&self) -> Zeroizing<String> {
        let (first, second) = self.0.expose().split_at(LENGTH / 2);
        let halves = [first, b"-", second].into_iter().flatten();
        let mut shown = Zeroizing::new(String::with_capacity(LENGTH + 1));
        shown.extend(halves.map(|byte| char::from(*byte)));
        shown
    }
}

/// What word processors make of a hyphen counts as one.
fn is_hyphen(character: char) -> bool {
    character == '-' || ('\u{2010}'..='\u{2015}').contains(&character) || character == '\u{2212}'
}

/// Draws the codes of a new set.
pub fn draw_recovery_codes(dice: &dyn Dice) -> Vec<RecoveryCode> {
    let one = |_| {
        let mut drawn = Zeroizing::new(draw::<LENGTH>(dice));
        // There are 32 characters: of each byte five bits are enough, and none is likelier.
        for byte in drawn.iter_mut() {
            *byte = ALPHABET[usize::from(*byte % 32)];
        }
        RecoveryCode(Secret::new(*drawn))
    };
    (0..CODES).map(one).collect()
}

/// Hashes a new set; that is one computation a code.
pub fn hash_recovery_codes(
    codes: &[RecoveryCode],
    salt: [u8; 16],
    cost: PasswordCost,
    memory: &mut Memory,
) -> Result<RecoveryCodes, PasswordError> {
    let salt = password::salt_string(salt, cost);
    let hash = |code: &RecoveryCode| code.hash_under(&salt, &mut *memory);
    let hashes = codes.iter().map(hash).collect::<Result<_, _>>()?;
    Ok(RecoveryCodes { salt, hashes })
}

impl RecoveryCode {
    fn hash_under(&self, salt: &str, memory: &mut Memory) -> Result<PasswordHash, PasswordError> {
        password::hash_under(self.0.expose(), salt, memory).map(PasswordHash::new)
    }

    /// Hashes it as the codes of a set were, to be looked for among them. Where there is no set, or one
    /// that cannot be computed with, the computation is made in vain.
    pub fn hash_as(
        &self,
        salt: Option<&str>,
        cost: PasswordCost,
        memory: &mut Memory,
    ) -> Result<Option<PasswordHash>, PasswordError> {
        match salt.map(|salt| self.hash_under(salt, memory)) {
            Some(Ok(hash)) => Ok(Some(hash)),
            failed => {
                self.hash_under(&password::salt_string([0; 16], cost), memory)?;
                failed.transpose()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;
    use std::collections::HashSet;

    const COST: PasswordCost = PasswordCost::CHEAP;

    fn code(text: &str) -> RecoveryCode {
        RecoveryCode::read(text).unwrap()
    }

    #[test]
    fn a_set_has_ten_codes_none_of_them_twice() {
        let codes = draw_recovery_codes(&SystemDice);
        let shown: HashSet<String> = codes.iter().map(|code| code.shown().to_string()).collect();
        assert_eq!(shown.len(), 10);
        for one in &shown {
            assert_eq!((one.len(), one.find('-')), (11, Some(5)), "{one}");
            let others = one.bytes().filter(|byte| !ALPHABET.contains(byte));
            assert_eq!(others.count(), 1, "{one}");
        }
        for one in &codes {
            assert_eq!(RecoveryCode::read(&one.shown()).as_ref(), Some(one));
        }
    }

    #[test]
    fn every_character_is_drawn_and_none_looks_like_another() {
        struct AscendingDice(std::sync::atomic::AtomicU8);
        impl Dice for AscendingDice {
            fn fill(&self, bytes: &mut [u8]) {
                use std::sync::atomic::Ordering::Relaxed;
                bytes.fill_with(|| self.0.fetch_add(1, Relaxed));
            }
        }
        let codes = draw_recovery_codes(&AscendingDice(0.into()));
        let seen: HashSet<u8> = codes.iter().flat_map(|code| code.0.expose().to_vec()).collect();
        assert_eq!(seen, ALPHABET.iter().copied().collect());
        for alike in b"ilouILOU" {
            assert!(!seen.contains(alike));
        }
    }

    #[test]
    fn a_code_is_read_however_it_was_typed() {
        let expected = code("01abc-defgh");
        for typed in [
            "01abcdefgh",
            "01ABC-DEFGH",
            "  01abc defgh\r\n",
            "0 1 a b c - d e f g h",
            "oiabc-defgh",
            "OLabc-defgh",
            "01abc–defgh",
            "01abc\u{2212}defgh",
            "-01abc--defgh-",
            "01abc\u{a0}defgh",
        ] {
            assert_eq!(RecoveryCode::read(typed), Some(expected.clone()), "{typed}");
        }
    }

    #[test]
    fn nothing_else_is_a_code() {
        let (long, spaces) = ("a".repeat(1_000_000), " ".repeat(1_000_000));
        for bad in [
            "",
            "-",
            "01abc-defg",
            "01abc-defghj",
            "01abc-defgu",
            "01abc_defgh",
            "０１abc-defgh",
            "٠١abc-defgh",
            "01abc-d\u{435}fgh",
            "01abc-defg\0",
            "01abc-defg\u{200b}h",
            "\u{17F}1abc-defgh",
            "\u{212A}1abc-defgh",
            &long,
            &spaces,
            &format!("01abc-defgh{spaces}"),
        ] {
            assert_eq!(RecoveryCode::read(bad), None, "{bad:.40}");
        }
    }

    #[test]
    fn one_computation_tells_which_code_of_a_set_it_is() {
        let mut memory = Memory::default();
        let codes = draw_recovery_codes(&SystemDice);
        let set = hash_recovery_codes(&codes, [7; 16], COST, &mut memory).unwrap();
        assert_eq!(set.hashes.iter().map(PasswordHash::expose).collect::<HashSet<_>>().len(), 10);
        for (code, hash) in codes.iter().zip(&set.hashes) {
            // What is the cost of the day by then does not matter.
            let dearer = PasswordCost { passes: 3, ..COST };
            let hashed = code.hash_as(Some(&set.salt), dearer, &mut memory).unwrap();
            assert_eq!(hashed.as_ref(), Some(hash));
        }
        let other = code("01abc-defgh").hash_as(Some(&set.salt), COST, &mut memory).unwrap();
        assert!(!set.hashes.contains(&other.unwrap()));
    }

    #[test]
    fn the_same_code_under_another_salt_has_another_argon2id_hash() {
        let mut memory = Memory::default();
        let codes = [code("01abc-defgh")];
        let one = hash_recovery_codes(&codes, [1; 16], COST, &mut memory).unwrap();
        let other = hash_recovery_codes(&codes, [2; 16], COST, &mut memory).unwrap();
        assert_ne!(one.hashes, other.hashes);
        assert_ne!(one.salt, other.salt);
        // A password hash, at the cost of passwords, under 128 bits of salt.
        assert!(one.salt.starts_with("$argon2id$v=19$"), "{}", one.salt);
        assert_eq!(one.salt.rsplit('$').next().unwrap().len(), 22);
    }

    #[test]
    fn without_a_set_the_computation_is_made_all_the_same() {
        let mut memory = Memory::default();
        assert_eq!(code("01abc-defgh").hash_as(None, COST, &mut memory), Ok(None));
        assert_eq!(memory.size(), 64, "it was computed");
        let mut memory = Memory::default();
        let broken = code("01abc-defgh").hash_as(Some("$argon2id$v=19"), COST, &mut memory);
        assert_eq!(broken, Err(PasswordError::Malformed));
        assert_eq!(memory.size(), 64, "here as well");
    }

    #[test]
    fn neither_codes_nor_their_hashes_are_printed() {
        let mut memory = Memory::default();
        let codes = [code("01abc-defgh")];
        let set = hash_recovery_codes(&codes, [1; 16], COST, &mut memory).unwrap();
        let printed = format!("{codes:?} {set:?}");
        assert!(
            !printed.contains("01abc") && !printed.contains(set.hashes[0].expose()),
            "{printed}"
        );
    }
}
