//! The codes that devices show and people enter.

use crate::{
    crypto::{Dice, Pseudonyms, draw},
    domain::device_grant::{USER_CODE_LENGTH, USER_CODE_LETTERS, normalise_user_code},
    http::app::App,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Draws a user code, each letter as likely as the others.
pub fn drawn(dice: &dyn Dice) -> Zeroizing<String> {
    let count = USER_CODE_LETTERS.len();
    // The bytes above the last multiple would make some letters likelier.
    let fair = u8::MAX - u8::MAX % 20;
    let mut code = Zeroizing::new(String::with_capacity(USER_CODE_LENGTH));
    while code.len() < USER_CODE_LENGTH {
        let [byte] = draw::<1>(dice);
        if byte < fair {
            code.push(char::from(USER_CODE_LETTERS[usize::from(byte) % count]));
        }
    }
    code
}

/// Writes a user code as people are shown it.
pub fn shown(code: &str) -> Zeroizing<String> {
    let (first, second) = code.split_at_checked(USER_CODE_LENGTH / 2).unwrap_or((code, ""));
    Zeroizing::new(format!("{first}-{second}"))
}

/// Returns the keyed hash under which a user code is kept, as a person may write it.
///
/// What is no user code has one as well, under which none is kept: whether a code is one of ours is
/// said only to a person who has signed in.
pub fn hashed(app: &App, entered: &str) -> String {
    let code = Zeroizing::new(normalise_user_code(entered).unwrap_or_default());
    Pseudonyms::new(app.crypto.vault.clone()).name("user code", &[&code])
}

/// What codes that wait in flows are sealed for.
const WAITING: &str = "user code";

/// Seals a code as a person may write it; what is no user code is sealed as an empty one.
pub fn sealed(app: &App, entered: &str) -> String {
    let code = Zeroizing::new(normalise_user_code(entered).unwrap_or_default());
    let sealed = app.crypto.vault.now().seal(WAITING, &[], code.as_bytes(), &*app.dice);
    URL_SAFE_NO_PAD.encode(sealed)
}

/// Opens what was sealed; an empty code, which no device shows, where it cannot be opened.
pub fn opened(app: &App, sealed: &str) -> Zeroizing<String> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).unwrap_or_default();
    let opened = app.crypto.vault.now().open(WAITING, &[], &sealed).ok();
    let code = opened.and_then(|code| String::from_utf8(code.expose().to_vec()).ok());
    Zeroizing::new(code.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;

    #[test]
    fn drawn_codes_are_read_as_they_are_shown_and_use_every_letter() {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let code = drawn(&SystemDice);
            let shown = shown(&code);
            assert_eq!((shown.len(), shown.as_bytes()[4]), (9, b'-'));
            assert_eq!(normalise_user_code(&shown).as_deref(), Some(code.as_str()));
            seen.extend(code.bytes());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), USER_CODE_LETTERS);
    }
}
