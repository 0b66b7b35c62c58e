//! The one place that draws; everyone else is given [`Dice`].

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Draws unpredictable bytes.
pub trait Dice: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

/// The generator of the cryptographic library, seeded by the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDice;

impl Dice for SystemDice {
    #[expect(
        clippy::disallowed_methods,
        reason = "these are the dice that are services to the others"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        // Going on with bytes that were not drawn would be worse than not going on.
        aws_lc_rs::rand::fill(bytes)
            .expect("the library aborts rather than return without entropy");
    }
}

/// Draws `N` bytes.
pub fn draw<const N: usize>(dice: &dyn Dice) -> [u8; N] {
    let mut bytes = [0; N];
    dice.fill(&mut bytes);
    bytes
}

/// Draws so many `bytes` and writes them as unpadded base64url.
pub fn draw_text(dice: &dyn Dice, bytes: usize) -> String {
    let mut drawn = zeroize::Zeroizing::new(vec![0; bytes]);
    dice.fill(&mut drawn);
    URL_SAFE_NO_PAD.encode(&drawn)
}

/// Draws a client secret; leak scanners recognise secrets by how they begin.
pub fn draw_client_secret(dice: &dyn Dice) -> String {
    format!("pcs_{}", draw_text(dice, 32))
}

/// Draws a UUID of version 4 in lower case (RFC 9562 §5.4): 122 random bits.
pub fn draw_uuid(dice: &dyn Dice) -> String {
    let mut bytes = draw::<16>(dice);
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    uuid_text(bytes)
}

/// Writes a UUID.
pub(super) fn uuid_text(bytes: [u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let group = |from: usize, to: usize| &digits[from..to];
    [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ConstantDice(u8);

    impl Dice for ConstantDice {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn what_is_drawn_comes_from_the_dice_that_were_lent() {
        assert_eq!(draw::<3>(&ConstantDice(7)), [7, 7, 7]);
        assert_eq!(draw_text(&ConstantDice(0), 3), "AAAA");
    }

    #[test]
    fn drawn_text_is_unpadded_base64url_of_the_length_asked_for() {
        let text = draw_text(&SystemDice, 32);
        assert_eq!(text.len(), 43);
        assert_eq!(URL_SAFE_NO_PAD.decode(&text).unwrap().len(), 32);
    }

    #[test]
    fn a_drawn_uuid_says_its_version_and_variant() {
        assert_eq!(draw_uuid(&ConstantDice(0)), "00000000-0000-4000-8000-000000000000");
        assert_eq!(draw_uuid(&ConstantDice(0xFF)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn two_draws_differ() {
        assert_ne!(draw::<32>(&SystemDice), draw::<32>(&SystemDice));
    }
}
