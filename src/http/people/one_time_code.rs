//! Codes of six digits that are sent to a person, and typed by them.

use crate::crypto::{Dice, draw};

/// How many digits a code has.
const DIGITS: usize = 6;

/// Draws a code of six digits, each as likely as another.
pub fn draw_code(dice: &dyn Dice) -> String {
    const ALL: u32 = 1_000_000;
    loop {
        let drawn = u32::from_be_bytes(draw(dice));
        // What lies beyond the last whole million would make small codes likelier.
        if drawn < u32::MAX - u32::MAX % ALL {
            return format!("{:0width$}", drawn % ALL, width = DIGITS);
        }
    }
}

/// Reads a code that a person types: spaces and hyphens between its digits mean nothing.
pub fn typed(text: &str) -> String {
    let meant = |one: &char| !one.is_whitespace() && *one != '-';
    // One digit too many is enough to be wrong.
    text.chars().filter(meant).take(DIGITS + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;

    struct Stuck(std::sync::Mutex<Vec<u8>>);

    impl Dice for Stuck {
        fn fill(&self, bytes: &mut [u8]) {
            let mut left = self.0.lock().unwrap();
            for byte in bytes {
                *byte = left.remove(0);
            }
        }
    }

    #[test]
    fn a_code_has_six_digits_and_none_is_likelier() {
        for _ in 0..100 {
            let code = draw_code(&SystemDice);
            assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()), "{code}");
        }
        let dice = Stuck(std::sync::Mutex::new(vec![255, 255, 255, 255, 0, 0, 0, 7]));
        assert_eq!(draw_code(&dice), "000007", "what lies beyond the last million is drawn again");
    }

    #[test]
    fn a_code_is_read_as_people_type_it() {
        assert_eq!(typed(" 123 456\n"), "123456");
        assert_eq!(typed("123-456"), "123456");
        assert_eq!(typed(&"1".repeat(100_000)).len(), 7);
    }
}
