//! Base32 (RFC 4648 §6), as the secrets of authenticator apps are written.

use crate::domain::Secret;
use zeroize::Zeroizing;

/// Returns the bytes of a text in either case, padded or not; `None` where it is no base32.
pub fn decode_base32(text: &str) -> Option<Secret> {
    let digits = text.trim_end_matches('=');
    let is_padded = digits.len() < text.len();
    // What is left over must not be a whole digit: nobody wrote that (RFC 4648 §6).
    if matches!(digits.len() % 8, 1 | 3 | 6) || (is_padded && !text.len().is_multiple_of(8)) {
        return None;
    }
    if text.len() - digits.len() > 6 {
        return None;
    }
    // Room for all of it at once: a buffer that grows leaves a copy of the secret behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len() * 5 / 8));
    let (mut buffer, mut bits) = (0_u16, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a',
            b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        buffer = (buffer << 5) | u16::from(value);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits).to_le_bytes()[0]);
        }
    }
    Some(Secret::new(bytes.as_slice()))
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
