//! JSON as hostile callers write it.

use super::*;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn an_object_is_read_as_it_is_written() {
    let text = br#" { "a": [1, -2, 2.5, true, null, {"b": "\u00e9\ud83d\ude00"}], "A": "" } "#;
    let read = Value::Object(object(text).unwrap());
    assert_eq!(read, json!({ "a": [1, -2, 2.5, true, null, { "b": "é😀" }], "A": "" }));
    assert_eq!(object(b"{}"), Ok(Map::new()));
}

#[test]
fn a_member_is_given_once_however_it_is_spelled_and_however_deep() {
    for bad in [
        r#"{"a": 1, "a": 1}"#,
        r#"{"a": 1, "\u0061": 2}"#,
        r#"{"x": [{"y": {"a": null, "a": null}}]}"#,
    ] {
        assert_eq!(object(bad.as_bytes()), Err(Flaw::Repeated), "{bad}");
    }
    assert!(object(br#"{"a": {"a": 1}, "b": {"a": 1}}"#).is_ok());
}

#[test]
fn a_nul_is_refused_wherever_it_stands() {
    for bad in [r#"{"a": "x\u0000"}"#, r#"{"\u0000": 1}"#, r#"{"a": [{"b": ["\u0000"]}]}"#] {
        assert_eq!(object(bad.as_bytes()), Err(Flaw::Nul), "{bad}");
    }
}

#[test]
fn what_is_not_json_or_not_an_object_is_told_apart() {
    for bad in [
        &b""[..],
        b" ",
        b"{",
        b"{}{}",
        b"{} x",
        b"{\"a\": 1,}",
        b"{'a': 1}",
        b"{\"a\": NaN}",
        b"{\"a\": 1e999}",
        b"{\"a\": 01}",
        b"{\"a\": \"\0\"}",
        b"{\"a\": \"\xff\"}",
        b"\xef\xbb\xbf{}",
        br#"{"a": "\ud800"}"#,
        br#"{"a": "\udc00"}"#,
        br#"{"a": "\ud800\ud800"}"#,
        br#"{"\ud800": 1}"#,
    ] {
        assert_eq!(object(bad), Err(Flaw::NotJson), "{}", String::from_utf8_lossy(bad));
    }
    for bad in ["[]", "[{}]", "null", "true", "1", "\"{}\""] {
        assert_eq!(object(bad.as_bytes()), Err(Flaw::NotAnObject), "{bad}");
    }
}

#[test]
fn what_is_nested_too_deeply_is_refused_before_it_exhausts_the_stack() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(object(nested(100).as_bytes()).is_ok());
    assert_eq!(object(nested(30_000).as_bytes()), Err(Flaw::NotJson));
    assert_eq!(object("{\"a\":".repeat(10_000).as_bytes()), Err(Flaw::NotJson));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = object(&bytes);
    }

    #[test]
    fn what_is_written_is_read_back(name in "[^\0]{0,20}", text in "[^\0]{0,20}", n: i64) {
        let given = json!({ name: [text, n] });
        let read = object(given.to_string().as_bytes());
        prop_assert_eq!(read.map(Value::Object), Ok(given));
    }
}
