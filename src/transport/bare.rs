//! The headers that hyper's own answers lack.

/// What every answer carries, as the router's layers would write it.
const HEADERS: &[u8] = b"x-content-type-options: nosniff\r\n\
    x-frame-options: DENY\r\n\
    referrer-policy: no-referrer\r\n\
    content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n\
    cache-control: no-store\r\n\
    x-request-id: ";
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// Whether this begins an answer that refuses.
pub(super) fn refuses(bytes: &[u8]) -> bool {
    matches!(bytes, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', b'4' | b'5', ..])
}

/// Returns the answer with the headers it lacks, or nothing if it has no head.
pub(super) fn with_headers(answer: &[u8], request_id: &str) -> Option<Vec<u8>> {
    let head = answer.windows(BLANK_LINE.len()).position(|window| window == BLANK_LINE)?;
    let (head, rest) = answer.split_at(head);
    Some([head, b"\r\n", HEADERS, request_id.as_bytes(), rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_come_after_those_that_are_there() {
        let bare = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        let text = String::from_utf8(with_headers(bare, "abc").unwrap()).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nx-content-"));
        assert!(text.ends_with("\r\nx-request-id: abc\r\n\r\n"));
        assert_eq!(text.matches(": ").count(), 7);
    }

    #[test]
    fn a_head_that_never_ends_is_left_alone() {
        assert_eq!(with_headers(b"HTTP/1.1 400 Bad Request\r\n", "abc"), None);
    }

    #[test]
    fn only_refusals_are_looked_at() {
        for refusal in ["HTTP/1.1 400 Bad Request", "HTTP/1.0 431 ", "HTTP/1.1 505 "] {
            assert!(refuses(refusal.as_bytes()), "{refusal}");
        }
        for other in ["HTTP/1.1 200 OK", "HTTP/1.1 100 Continue", "HTTP/1.1 ", "400", ""] {
            assert!(!refuses(other.as_bytes()), "{other}");
        }
    }
}
