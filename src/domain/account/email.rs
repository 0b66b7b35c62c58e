//! E-mail addresses as people are found by them.

/// No address that mail can be sent to is longer (RFC 5321 §4.5.3.1.3), in bytes.
pub const LONGEST_EMAIL: usize = 254;

/// Marks that have a meaning of their own in the headers of a mail (RFC 5322 §3.2.3).
const SPECIALS: &[char] = &['(', ')', '<', '>', '[', ']', ',', ':', ';', '\\', '"'];

/// Returns the one spelling of an address under which an account is found, or `None` where the text
/// is no address.
///
/// Case does not count, neither before the `@` nor after it: no mail service of our time keeps
/// two people apart by it, and a person with the other spelling could pass for the first.
pub fn normalise_email(text: &str) -> Option<String> {
    let address = text.trim();
    let (mailbox, host) = address.split_once('@')?;
    let unsound = |letter: char| {
        letter.is_control()
            || letter.is_whitespace()
            || is_invisible(letter)
            || SPECIALS.contains(&letter)
    };
    let is_sound = !mailbox.is_empty()
        && !host.contains('@')
        && host.split('.').all(|label| !label.is_empty())
        && !address.contains(unsound);
    let normalised = address.to_lowercase();
    // Lower case may be longer.
    let fits = address.len() <= LONGEST_EMAIL && normalised.len() <= LONGEST_EMAIL;
    (is_sound && fits).then_some(normalised)
}

/// Whether the character is invisible, so that two addresses could look the same.
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{AD}'
            | '\u{200B}'..='\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        for (written, normalised) in [
            ("ana@acme.test", "ana@acme.test"),
            (" Ana@ACME.Test\t", "ana@acme.test"),
            ("ÁNA@exemplo.PT", "ána@exemplo.pt"),
            ("o'brien+x_y{z}@mail", "o'brien+x_y{z}@mail"),
        ] {
            assert_eq!(normalise_email(written).as_deref(), Some(normalised));
            assert_eq!(normalise_email(normalised).as_deref(), Some(normalised));
        }
    }

    #[test]
    fn what_is_no_address_has_none() {
        for bad in [
            "",
            "@",
            "ana",
            "ana@",
            "@acme",
            "a@b@c",
            "a b@c",
            "a@b c",
            "a\u{7}@b",
            "a@b\0",
            "a@.b",
            "a@b.",
            "a@b..c",
            "<a@b>",
            "a,b@c",
            "a@[::1]",
            "\"a\"@b",
            "a\n@b",
            "a\u{200B}@b",
            "a\u{202E}b@c",
            "a\u{A0}b@c",
            "a@b\u{FE0F}",
        ] {
            assert_eq!(normalise_email(bad), None, "{bad:?}");
        }
        let of_length = |length: usize| format!("{}@b.test", "a".repeat(length - 7));
        assert!(normalise_email(&of_length(254)).is_some());
        assert_eq!(normalise_email(&of_length(255)), None);
        // In lower case it has a byte more for each.
        assert_eq!(normalise_email(&format!("{}@b", "İ".repeat(100))), None);
    }
}
