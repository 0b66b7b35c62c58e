//! The one place that draws; everyone else is lent [`Dice`].

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Draws unpredictable bytes for whoever was lent it.
pub trait Dice: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

/// The generator of the cryptographic library, seeded by the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDice;

impl Dice for SystemDice {
    #[expect(clippy::disallowed_methods, reason = "these are the dice that are lent to the others")]
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Always(u8);

    impl Dice for Always {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn what_is_drawn_comes_from_the_dice_that_were_lent() {
        assert_eq!(draw::<3>(&Always(7)), [7, 7, 7]);
        assert_eq!(draw_text(&Always(0), 3), "AAAA");
    }

    #[test]
    fn drawn_text_is_unpadded_base64url_of_the_length_asked_for() {
        let text = draw_text(&SystemDice, 32);
        assert_eq!(text.len(), 43);
        assert_eq!(URL_SAFE_NO_PAD.decode(&text).unwrap().len(), 32);
    }

    #[test]
    fn two_draws_differ() {
        assert_ne!(draw::<32>(&SystemDice), draw::<32>(&SystemDice));
    }
}
