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
        assert!(seen.len() > 1_300, "{}", seen.len());
    }

    /// What people put behind a word, the most usual first.
    const DRESSINGS: [&str; 24] = [
        "", "1", "123", "!", "12", "2", "7", "1234", "123!", "01", "13", "69", "2024", "2025",
        "11", "99", "12345", "007", "2000", "1990", "123456", "1!", "12345678", "321",
    ];

    #[test]
    fn three_thousand_common_passwords_of_each_length_are_on_the_list_at_least() {
        const ENOUGH: usize = 3_000;
        let longest = 15;
        // How many of them fit each minimum; one that is too short for the next counts no further.
        let mut fitting = vec![0; longest + 1];
        let letters = |word: &&str| word.chars().all(char::is_alphabetic);
        for dressing in DRESSINGS {
            for word in words().filter(letters) {
                let text = format!("{word}{dressing}");
                let length = text.chars().count().min(longest);
                if length < 8 || fitting[length] >= ENOUGH {
                    continue;
                }
                assert!(has(&Password::read(&text).unwrap(), 8), "{text}");
                fitting[8..=length].iter_mut().for_each(|count| *count += 1);
            }
        }
        assert!(fitting[8..].iter().all(|count| *count >= ENOUGH), "{fitting:?}");
    }
}
