use super::*;

fn rsa() -> Value {
    let n = "u1SU".repeat(86);
    json!({ "kty": "RSA", "n": n, "e": "AQAB", "kid": "a", "use": "sig", "alg": "RS256" })
}

fn set(keys: &[Value]) -> Value {
    json!({ "keys": keys })
}

fn with(member: &str, value: Value) -> Value {
    let mut key = rsa();
    key[member] = value;
    key
}

fn faults(keys: &[Value]) -> Vec<KeySetFault> {
    check(&set(keys)).unwrap().unwrap_err()
}

#[test]
fn public_keys_of_three_kinds_are_kept_as_they_are() {
    let keys = [
        rsa(),
        json!({ "kty": "EC", "crv": "P-256", "x": "f83O", "y": "x_FE" }),
        json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qY", "x5c": ["MIIB"] }),
    ];
    assert_eq!(check(&set(&keys)), Some(Ok(set(&keys))));
    assert_eq!(check(&set(&[])), Some(Ok(set(&[]))));
}

#[test]
fn other_members_of_the_set_are_dropped() {
    let given = json!({ "keys": [rsa()], "issuer": "x", "d": "secret" });
    assert_eq!(check(&given), Some(Ok(set(&[rsa()]))));
}

#[test]
fn a_private_member_is_refused_and_not_repeated() {
    for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        for value in [json!("secret"), json!(null), json!([])] {
            let found = faults(&[rsa(), with(member, value)]);
            assert_eq!(found, [KeySetFault::Private(member)]);
            assert!(!found[0].to_string().contains("secret"));
        }
    }
    let symmetric = json!({ "kty": "oct", "k": "secret" });
    assert_eq!(faults(&[symmetric]), [KeySetFault::Private("k")]);
}

#[test]
fn what_is_no_key_is_refused() {
    for (key, fault) in [
        (json!({}), KeySetFault::KeyType),
        (with("kty", json!("oct")), KeySetFault::KeyType),
        (with("kty", json!("rsa")), KeySetFault::KeyType),
        (with("kty", json!(1)), KeySetFault::KeyType),
        (with("n", json!("")), KeySetFault::Member("n")),
        (with("n", json!("no base64url!")), KeySetFault::Member("n")),
        (with("n", json!("u1SU".repeat(85))), KeySetFault::Weak),
        (with("n", json!("AAAA".repeat(90) + "u1SU")), KeySetFault::Weak),
        (with("e", json!(65_537)), KeySetFault::Member("e")),
        (with("kid", json!(1)), KeySetFault::Member("kid")),
        (json!({ "kty": "EC", "crv": "P-256", "x": "f83O" }), KeySetFault::Member("y")),
        (json!({ "kty": "OKP", "x": "11qY" }), KeySetFault::Member("crv")),
        (with("kid", json!("a\u{0}")), KeySetFault::ControlCharacter),
        (with("x5c", json!(["MII\nB"])), KeySetFault::ControlCharacter),
        (with("a\u{1b}", json!(1)), KeySetFault::ControlCharacter),
    ] {
        assert_eq!(faults(&[key]), [fault]);
    }
}

#[test]
fn what_is_no_set_is_told_from_a_bad_one() {
    for value in [
        json!(null),
        json!("{}"),
        json!([]),
        json!({}),
        rsa(),
        json!({ "keys": {} }),
        json!({ "keys": [1] }),
        json!({ "keys": [[]] }),
        json!([{ "keys": [] }]),
    ] {
        assert_eq!(check(&value), None, "{value}");
    }
}

#[test]
fn a_set_is_bounded() {
    let most = vec![rsa(); MOST_KEYS];
    assert!(check(&set(&most)).unwrap().is_ok());
    let more = vec![rsa(); MOST_KEYS + 1];
    assert_eq!(faults(&more), [KeySetFault::TooManyKeys]);
    let frame = set(&[with("kid", json!(""))]).to_string().len();
    let largest = with("kid", json!("a".repeat(MOST_BYTES - frame)));
    assert!(check(&set(&[largest])).unwrap().is_ok());
    let larger = with("kid", json!("a".repeat(MOST_BYTES - frame + 1)));
    assert_eq!(faults(&[larger]), [KeySetFault::TooLarge]);
}

#[test]
fn every_kind_of_fault_is_said_once() {
    let keys = [with("d", json!("")), json!({}), with("d", json!("")), json!({})];
    assert_eq!(faults(&keys), [KeySetFault::Private("d"), KeySetFault::KeyType]);
}
