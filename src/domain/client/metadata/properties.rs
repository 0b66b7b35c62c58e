use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Members with values of which most are taken and some refused; null is one of them.
fn members() -> impl Strategy<Value = Map<String, Value>> {
    let name = prop::sample::select(ClientMetadata::known_fields().collect::<Vec<_>>());
    let localized = prop::sample::select(vec!["client_name#pt", "client_name#PT", "logo_uri#en"]);
    let name = prop_oneof![9 => name, 1 => localized];
    let value = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(60),
        json!([]),
        json!("RS256"),
        json!("ping"),
        json!("web"),
        json!("native"),
        json!("pairwise"),
        json!("none"),
        json!("a b  a"),
        json!("a.example"),
        json!("192.0.2.1"),
        json!("ana@a.example"),
        json!("https://a.example/"),
        json!(["https://a.example/", "https://a.example/"]),
        json!(["https://a.example/", "http://localhost/cb"]),
        json!(["com.example.app:/cb"]),
        json!(["token-exchange", "authorization_code"]),
        json!(["code"]),
        json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": "11qY" }], "more": 1 }),
    ]);
    prop::collection::vec((name, value), 0..12)
        .prop_map(|members| members.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
}

/// Leaves out the members that are refused, so that most patches say something.
fn sound(held: &ClientMetadata, mut members: Map<String, Value>) -> Map<String, Value> {
    while let Err(faults) = held.patch(&members) {
        let before = members.len();
        members.retain(|name, _| faults.iter().all(|fault| fault.field != *name));
        // A contradiction with what is held: the type is what was given.
        if members.len() == before {
            members.remove("application_type");
        }
    }
    members
}

proptest! {
    #[test]
    fn a_patch_repeated_changes_nothing(first in members(), second in members()) {
        let blank = ClientMetadata::default();
        let held = blank.patch(&sound(&blank, first)).unwrap();
        let second = sound(&held, second);
        let once = held.patch(&second).unwrap();
        prop_assert_eq!(once.patch(&second), Ok(once.clone()));
    }

    #[test]
    fn what_is_stored_and_what_is_shown_say_it_all(given in members()) {
        let blank = ClientMetadata::default();
        let metadata = blank.patch(&sound(&blank, given)).unwrap();
        let stored = serde_json::to_string(&metadata).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ClientMetadata>(&stored).unwrap(), &metadata);
        prop_assert_eq!(blank.patch(&metadata.members()), Ok(metadata));
    }

    #[test]
    fn a_patch_touches_no_member_it_does_not_name(first in members(), second in members()) {
        let blank = ClientMetadata::default();
        let held = blank.patch(&sound(&blank, first)).unwrap();
        let second = sound(&held, second);
        let patched = held.patch(&second).unwrap().members();
        let named = |name: &str| second.keys().any(|given| given.eq_ignore_ascii_case(name));
        let replaced = |name: &str| {
            let alternatives = ALTERNATIVES.iter().find(|row| row.contains(&name));
            alternatives.is_some_and(|row| row.iter().any(|other| second.contains_key(*other)))
        };
        for (name, value) in held.members() {
            prop_assert!(named(&name) || replaced(&name) || patched.get(&name) == Some(&value));
        }
    }
}
