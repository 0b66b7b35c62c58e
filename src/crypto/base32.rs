//! Base32 (RFC 4648 §6), as the secrets of authenticator applications are written.

use crate::domain::Secret;
use data_encoding::{Encoding, Specification};
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// Either case and no padding. Bits that are left over do not count: some issuers draw the letters
/// themselves, and applications read such a secret without them.
static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut base32 = Specification::new();
    base32.symbols.push_str("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
    base32.translate.from.push_str("abcdefghijklmnopqrstuvwxyz");
    base32.translate.to.push_str("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    base32.check_trailing_bits = false;
    base32.encoding().expect("thirty-two symbols, none of them twice")
});

/// Writes bytes in capitals and without padding, as applications show and take them.
pub fn encode_base32(secret: &Secret) -> Zeroizing<String> {
    Zeroizing::new(BASE32.encode(secret.expose()))
}

/// Returns the bytes of a text in either case, padded or not; `None` where it is no base32.
pub fn decode_base32(text: &str) -> Option<Secret> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 6 || (padding > 0 && !text.len().is_multiple_of(8)) {
        return None;
    }
    let length = BASE32.decode_len(digits.len()).ok()?;
    // One buffer for all of it: one that grows leaves a copy of the secret behind.
    let mut bytes = Zeroizing::new(vec![0; length]);
    let decoded = BASE32.decode_mut(digits.as_bytes(), &mut bytes).ok()?;
    Some(Secret::new(&bytes[..decoded]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard_are_read_with_and_without_padding() {
        for (text, bytes) in [
            ("", ""),
            ("MY======", "f"),
            ("MZXQ====", "fo"),
            ("MZXW6===", "foo"),
            ("MZXW6YQ=", "foob"),
            ("MZXW6YTB", "fooba"),
            ("MZXW6YTBOI======", "foobar"),
        ] {
            assert_eq!(decode_base32(text), Some(Secret::new(bytes)), "{text}");
            let bare = text.trim_end_matches('=').to_lowercase();
            assert_eq!(decode_base32(&bare), Some(Secret::new(bytes)), "{bare}");
        }
        let known = decode_base32("JBSWY3DPEHPK3PXP").unwrap();
        assert_eq!(known.expose(), b"Hello!\xDE\xAD\xBE\xEF");
        assert_eq!(&*encode_base32(&known), "JBSWY3DPEHPK3PXP");
        assert_eq!(&*encode_base32(&Secret::new("foobar")), "MZXW6YTBOI", "no padding");
        assert_eq!(decode_base32("MZ"), decode_base32("MY"), "bits that are left over");
    }

    #[test]
    fn nothing_else_is_read() {
        for bad in [
            "M",
            "MZX",
            "MZXW6Y",
            "MZXW 6YTB",
            "M0XW6YTB",
            "MZXW6YT1",
            "MY=====",
            "=",
            "========",
            "MY==MY==",
            "MZXW6YTB========",
            "ÑÑÑÑ",
            "MZXW-6YTB",
        ] {
            assert_eq!(decode_base32(bad), None, "{bad}");
        }
    }
}
