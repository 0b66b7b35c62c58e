//! Changes bytes at random, and always in the same way for the same seed.

/// A small generator of numbers (`SplitMix64`): for tests alone, and nothing that must not be guessed.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

/// No input is longer: parsers are bounded by bytes, and this is above each bound of a parameter.
pub(super) const LONGEST: usize = 48 * 1024;

/// What parsers stumble over: ends of texts, nesting, numbers at the edge, other spellings.
const WORDS: &[&str] = &[
    "",
    "\0",
    "\n",
    " ",
    "\u{202e}",
    "\u{feff}",
    "é",
    "\u{10ffff}",
    "%",
    "%00",
    "%2e%2e",
    "+",
    "&",
    "=",
    ";",
    ",",
    ":",
    "//",
    "@",
    "#",
    "?",
    "..",
    ".",
    "-",
    "_",
    "\\",
    "\"",
    "'",
    "`",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "1e400",
    "1e-400",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "0.1",
    "NaN",
    "\\u0000",
    "\\ud800",
    "none",
    "HS256",
    "RS256",
    "ES256",
    "alg",
    "crit",
    "jwk",
    "kid",
    "https://",
    "http://",
    "javascript:",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "xn--",
    "not",
    "and",
    "or",
    "eq",
    "pr",
    "co",
    "value",
    "type",
    "path",
    "op",
    "replace",
    "remove",
    "add",
    "$ref",
    "emails[",
    "].value",
    "e30",
    "AA==",
    "====",
    "....",
    "\r\n\r\n",
    "\u{0}\u{1}\u{2}",
];

/// Nesting, and what is long.
const REPEATED: &[&str] =
    &["[", "{\"a\":", "(", "not (", "a", "a.", "%41", "é", "&a=b", "/", "\\", "0", "ä", "]"];

/// Makes another input of one of the pool; another may lend a part.
pub(super) fn mutate(pool: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = pool[numbers.below(pool.len())].clone();
    for _ in 0..=numbers.below(4) {
        change(&mut bytes, pool, numbers);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, pool: &[Vec<u8>], numbers: &mut Numbers) {
    let at = numbers.below(bytes.len() + 1);
    let end = (at + 1 + numbers.below(16)).min(bytes.len());
    match numbers.below(11) {
        0 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
        1 if at < bytes.len() => bytes[at] = numbers.byte(),
        2 => drop(bytes.drain(at.min(end)..end)),
        3 => bytes.truncate(at),
        4 => bytes.insert(at, numbers.byte()),
        5 => {
            let part = bytes[at.min(end)..end].to_vec();
            let times = 1 + numbers.below(64);
            bytes.splice(at..at, part.repeat(times));
        }
        6 => {
            let other = &pool[numbers.below(pool.len())];
            let from = numbers.below(other.len() + 1);
            let until = from + numbers.below(other.len() - from + 1);
            bytes.splice(at..end.max(at), other[from..until].iter().copied());
        }
        7 => {
            let other = &pool[numbers.below(pool.len())];
            bytes.truncate(at);
            bytes.extend(&other[numbers.below(other.len() + 1)..]);
        }
        8 => {
            let times = 1 << numbers.below(13);
            let word = REPEATED[numbers.below(REPEATED.len())];
            bytes.splice(at..at, word.repeat(times).into_bytes());
        }
        _ => {
            let word = WORDS[numbers.below(WORDS.len())];
            let replaced = if numbers.below(2) == 0 { at } else { end.max(at) };
            bytes.splice(at..replaced, word.bytes());
        }
    }
}
