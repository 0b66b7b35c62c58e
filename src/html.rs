//! Text in markup, of pages and of mails: nothing that came in becomes markup.

use std::fmt::Write as _;

/// Escapes a text for the content of an element and for an attribute in quotes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Writes what is not ASCII as references, so that markup is the same in every character set; control
/// characters are left out.
pub fn in_ascii(markup: &str) -> String {
    let mut ascii = String::with_capacity(markup.len());
    for letter in markup.chars() {
        match letter {
            ' '..='~' | '\n' => ascii.push(letter),
            other if other.is_ascii() => {}
            other => write!(ascii, "&#{};", u32::from(other)).expect("a String takes it all"),
        }
    }
    ascii
}
