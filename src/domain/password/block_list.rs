//! Passwords that many people use, as guessing programs try them first.
//!
//! Case, spaces and `-_.,` do not count. A password is on the list if it is
//!
//! 1. a unit that is repeated, and is shorter than a password may be: `passwordpassword`, `abcabcabc`;
//! 2. a walk over a keyboard, the alphabet or the digits (`patterns`);
//! 3. a line of `common.txt`, also with digits and signs that stand for letters: `p@ssw0rd`;
//! 4. one of 2 and 3, a line that is repeated, or up to four letters that are, with digits and signs
//!    around it, which are few, or themselves 1 or 2.
//!
//! Two words of the list beside each other are not on it: words that are put together are what people
//! should choose.

use super::{
    Password,
    patterns::{is_walk, repeated_unit},
};

/// Words and phrases, one a line.
const COMMON: &str = include_str!("common.txt");

/// No list of common passwords has longer ones, so longer ones are not looked at.
const LONGEST: usize = 64;

/// How many digits and signs around a common password do not make it another.
const FEW: usize = 8;

/// How many letters that are repeated are common with digits around them.
const FEW_LETTERS: usize = 4;

/// Tells whether a password is on the list, where a password has at least `least` characters.
pub(super) fn has(password: &Password, least: usize) -> bool {
    if password.length() > LONGEST {
        return false;
    }
    let bare = password.folded(|character| !is_separator(character));
    bare.is_empty()
        || repeated_unit(&bare).is_some_and(|unit| unit < least)
        || is_walk(&bare)
        || is_listed(&bare)
        || is_padded(&bare)
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || "-_.,".contains(character)
}

fn is_listed(text: &[char]) -> bool {
    let fits = |word: &str| {
        let mut letters = word.chars();
        text.iter().all(|typed| letters.next().is_some_and(|letter| stands_for(*typed, letter)))
            && letters.next().is_none()
    };
    words().any(fits)
}

fn words() -> impl Iterator<Item = &'static str> {
    COMMON.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Tells whether people write this character for that letter.
fn stands_for(typed: char, letter: char) -> bool {
    typed == letter
        || matches!(
            (typed, letter),
            ('0', 'o')
                | ('1' | '!' | '|', 'i' | 'l')
                | ('3', 'e')
                | ('4' | '@', 'a')
                | ('5' | '$', 's')
                | ('7' | '+', 't')
                | ('8', 'b')
                | ('9', 'g')
        )
}

/// Tells whether a text is common but for digits and signs around it that add little.
fn is_padded(text: &[char]) -> bool {
    let letter = |character: &char| character.is_alphabetic();
    let (Some(first), Some(last)) = (text.iter().position(letter), text.iter().rposition(letter))
    else {
        return false;
    };
    let (before, core, after) = (&text[..first], &text[first..=last], &text[last + 1..]);
    let padding = before.len() + after.len();
    let adds_little = padding <= FEW || (is_simple(before) && is_simple(after));
    let repeats = |unit: usize| unit <= FEW_LETTERS || is_listed(&core[..unit]);
    padding > 0
        && adds_little
        && (is_walk(core) || is_listed(core) || repeated_unit(core).is_some_and(repeats))
}

/// Tells whether digits and signs are ones that people add without thinking.
fn is_simple(padding: &[char]) -> bool {
    padding.len() <= FEW / 2 || repeated_unit(padding).is_some() || is_walk(padding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_list_is_written_as_passwords_are_compared() {
        let mut seen = HashSet::new();
        for word in words() {
            let folded = word.chars().flat_map(char::to_lowercase).filter(|it| !is_separator(*it));
            assert_eq!(folded.collect::<String>(), word, "lower case, nothing between");
            assert!(seen.insert(word), "{word} is there twice");
            assert!((4..=LONGEST).contains(&word.chars().count()), "{word}");
            let chars: Vec<char> = word.chars().collect();
            assert!(!is_walk(&chars), "{word} is found by rule");
            assert!(repeated_unit(&chars).is_none_or(|unit| unit >= 8), "{word} is found by rule");
        }
        assert!(seen.len() > 400, "{}", seen.len());
    }
}
