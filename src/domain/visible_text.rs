//! Which characters must not be in a text that people read to decide whom they trust.
//!
//! A character that cannot be seen lets two names look alike or a name look empty. One that changes
//! the direction of writing lets a text look like another one (Unicode TR 36 §2.5 and §2.10).

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{BidiControl, DefaultIgnorableCodePoint, GeneralCategory},
};

/// Tells whether a character is invisible, controls what stands around it, or has no fixed meaning.
///
/// Joiners and variation selectors are among them: some scripts and emoji use those, and have to do
/// without here.
pub fn is_hidden(character: char) -> bool {
    use GeneralCategory as G;
    // An empty Braille pattern is a symbol to Unicode, and a blank to people.
    const BLANK: char = '\u{2800}';
    let category = CodePointMapData::<G>::new().get(character);
    matches!(
        category,
        G::Control | G::Format | G::LineSeparator | G::ParagraphSeparator | G::PrivateUse
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
        || CodePointSetData::new::<BidiControl>().contains(character)
        || character == BLANK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_visible() {
        for text in
            ["Acme Lda", "São João & Filhos", "Ελλάδα", "株式会社", "שלום", "مثال", "🎉 ½ №"]
        {
            assert!(!text.chars().any(is_hidden), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_seen_or_turns_a_text_around_is_hidden() {
        for character in [
            '\0',
            '\n',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{2800}',
            '\u{3164}',
            '\u{e000}',
            '\u{f8ff}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{f0000}',
        ] {
            assert!(is_hidden(character), "{character:?}");
        }
    }
}
