//! Patterns that make a password long without making it harder to guess.

/// Rows, columns and diagonals of keyboards, the alphabet and the digits; each is also read backwards.
const WALKS: [&str; 24] = [
    "abcdefghijklmnopqrstuvwxyz",
    "1234567890",
    "0123456789",
    "qwertyuiop[]",
    "asdfghjkl;'",
    "zxcvbnm/",
    "qwertzuiop",
    "yxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
    "wxcvbn",
    "!@#$%^&*()",
    "qazwsxedcrfvtgbyhnujmikolp",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "!qaz@wsx#edc$rfv%tgb^yhn&ujm",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "1a2b3c4d5e6f7g8h9i0j",
    "a1b2c3d4e5f6g7h8i9j0",
    "aabbccddeeffgghhiijjkkllmmnnooppqqrrssttuuvvwwxxyyzz",
    "00112233445566778899",
    "147258369",
    "159357",
    "789456123",
];

/// A step of fewer keys is found in ordinary words.
const SHORTEST_STEP: usize = 3;

/// Returns the length of the unit that a text repeats, if it holds it twice at least; the last time may
/// be cut short.
pub(super) fn repeated_unit(text: &[char]) -> Option<usize> {
    (1..=text.len() / 2).find(|unit| text[*unit..].iter().eq(&text[..text.len() - unit]))
}

/// Tells whether a text is made of walks alone: `qwerty12345`, `abcdefgh`, `1qaz2wsx`, `aaaabbbb`.
pub(super) fn is_walk(text: &[char]) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let step = longest_step(rest);
        if step < SHORTEST_STEP {
            return false;
        }
        rest = &rest[step..];
    }
    !text.is_empty()
}

/// Returns how many characters at the beginning of a text are one walk.
fn longest_step(text: &[char]) -> usize {
    let same = text.iter().take_while(|it| **it == text[0]).count();
    let along = WALKS.iter().map(|walk| {
        let forwards = (0..walk.len()).map(|from| common_start(text, walk[from..].chars()));
        let backwards = (0..walk.len()).map(|to| common_start(text, walk[..=to].chars().rev()));
        forwards.chain(backwards).max().unwrap_or(0)
    });
    along.fold(same, usize::max)
}

fn common_start(text: &[char], walk: impl Iterator<Item = char>) -> usize {
    text.iter().zip(walk).take_while(|(typed, key)| **typed == *key).count()
}
