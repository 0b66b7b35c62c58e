//! Regular expressions of a JSON Schema (ECMA-262, as far as they can be matched in linear time).
//!
//! Look-around and references to groups are refused when the schema is declared. `\d`, `\w` and `\s` mean
//! ASCII, as they do there.

use regex_automata::{
    nfa::thompson::{self, pikevm::PikeVM},
    util::syntax,
};

/// Bytes that an expression may take once it is compiled.
const LARGEST: usize = 256 * 1024;
const LONGEST: usize = 512;

#[derive(Clone, Debug)]
pub struct Pattern(PikeVM);

impl Pattern {
    pub fn compile(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let text = translated(text)?;
        PikeVM::builder()
            .syntax(syntax::Config::new().nest_limit(32))
            .thompson(thompson::Config::new().nfa_size_limit(Some(LARGEST)))
            .build(&text)
            .ok()
            .map(Self)
    }

    /// Tells whether the expression is found in the text.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(&mut self.0.create_cache(), text)
    }
}

/// Writes an expression of ECMA-262 as the engine reads it; refuses what the two read differently.
fn translated(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut in_class = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                'd' => out.push_str("[0-9]"),
                'D' => out.push_str("[^0-9]"),
                'w' => out.push_str("[0-9A-Za-z_]"),
                'W' => out.push_str("[^0-9A-Za-z_]"),
                's' => out.push_str("[\\t\\n\\x0B\\x0C\\r ]"),
                'S' => out.push_str("[^\\t\\n\\x0B\\x0C\\r ]"),
                // Letters that mean something else there, or nothing.
                other if other.is_ascii_alphabetic() && !"tnrfvxu".contains(other) => return None,
                other => out.extend(['\\', other]),
            },
            '[' if in_class || letters.peek() == Some(&']') => return None,
            '&' | '-' | '~' if in_class && letters.peek() == Some(&letter) => return None,
            '(' if !in_class && letters.peek() == Some(&'?') => {
                letters.next();
                if letters.next()? != ':' {
                    return None;
                }
                out.push_str("(?:");
            }
            _ => {
                match letter {
                    '[' => in_class = true,
                    ']' => in_class = false,
                    _ => {}
                }
                out.push(letter);
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_found_anywhere_unless_it_is_anchored() {
        for (pattern, text, found) in [
            ("^[A-Z]{3}$", "EUR", true),
            ("^[A-Z]{3}$", "EURO", false),
            ("^[A-Z]{3}$", "EUR\n", false),
            ("b", "abc", true),
            (r"^\d+(\.\d{2})?$", "12.50", true),
            (r"^\d+$", "\u{661}", false),
            (r"^[\w-]+$", "a_b-c", true),
            (r"^\S+$", "a b", false),
            ("^.$", "é", true),
            ("^(?:a|b)+$", "abba", true),
        ] {
            assert_eq!(Pattern::compile(pattern).unwrap().is_in(text), found, "{pattern} {text}");
        }
    }

    #[test]
    fn what_cannot_be_matched_in_linear_time_or_reads_differently_is_refused() {
        let long = "a".repeat(LONGEST + 1);
        for pattern in [
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            r"(a)\1",
            r"\p{L}",
            "[[]",
            "[]a]",
            "[a&&b]",
            "[",
            "(",
            "a{1000000}",
            "(?i)a",
            "((a{100}){100}){100}",
            r"\",
            &long,
        ] {
            assert!(Pattern::compile(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn an_expression_that_hangs_others_is_matched_at_once() {
        let pattern = Pattern::compile("^(a+)+$").unwrap();
        assert!(!pattern.is_in(&format!("{}!", "a".repeat(4_000))));
    }
}
