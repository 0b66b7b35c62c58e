use super::*;
use proptest::prelude::*;
use serde_json::json;

fn details(value: &Value) -> Details {
    Details::parse(&value.to_string()).unwrap()
}

fn rules() -> SubsetRules {
    let at = |name: &str, shrinks| (name.to_owned(), shrinks);
    [
        at("amount", Shrinks::AtMost),
        at("actions", Shrinks::Subset),
        at("limit.value", Shrinks::AtMost),
    ]
    .into_iter()
    .collect()
}

fn is_part(part: &Details, whole: &Details) -> bool {
    let rules = rules();
    part.is_part_of(whole, |kind| (kind == "payment").then_some(&rules))
}

#[test]
fn a_list_is_bounded_and_each_of_it_has_a_type() {
    let many = |count| json!(vec![json!({ "type": "payment" }); count]).to_string();
    assert_eq!(Details::parse(&many(MOST)).unwrap().iter().count(), MOST);
    let nested = |levels: usize| {
        format!("[{{\"type\":\"t\",\"x\":{}1{}}}]", "[".repeat(levels), "]".repeat(levels))
    };
    assert!(Details::parse(&nested(DEEPEST - 2)).is_ok());
    for (bad, why) in [
        (many(MOST + 1), MalformedDetails::NoList),
        (many(1_000), MalformedDetails::TooLong),
        (nested(DEEPEST - 1), MalformedDetails::Unreadable),
        (nested(1_000), MalformedDetails::Unreadable),
        ("[]".to_owned(), MalformedDetails::NoList),
        ("{\"type\":\"t\"}".to_owned(), MalformedDetails::NoList),
        ("[1]".to_owned(), MalformedDetails::NoList),
        ("[[]]".to_owned(), MalformedDetails::NoList),
        ("null".to_owned(), MalformedDetails::NoList),
        ("[{}]".to_owned(), MalformedDetails::NoType),
        ("[{\"type\":1}]".to_owned(), MalformedDetails::NoType),
        ("[{\"type\":\"\"}]".to_owned(), MalformedDetails::NoType),
        ("[{\"type\":\"t\",\"text\":\"Nothing\"}]".to_owned(), MalformedDetails::Text),
        ("[{\"type\":\"t\",\"type\":\"u\"}]".to_owned(), MalformedDetails::Unreadable),
        ("[{\"type\":\"t\",\"a\":{\"b\":1,\"b\":2}}]".to_owned(), MalformedDetails::Unreadable),
        ("[{\"type\":\"t\",\"a\":1e999}]".to_owned(), MalformedDetails::Unreadable),
        ("[{\"type\":\"t\"}] x".to_owned(), MalformedDetails::Unreadable),
        ("[{\"type\":\"t\"}".to_owned(), MalformedDetails::Unreadable),
        ("x".to_owned(), MalformedDetails::Unreadable),
    ] {
        assert_eq!(Details::parse(&bad), Err(why), "{}", bad.chars().take(60).collect::<String>());
        assert_eq!(why.to_string(), why.description());
    }
}

#[test]
fn a_schema_admits_what_it_says() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A payment",
        "type": "object", "required": ["amount"], "additionalProperties": false,
        "properties": {
            "amount": { "type": "integer", "minimum": 1, "exclusiveMaximum": 1000, "multipleOf": 5 },
            "currency": { "enum": ["EUR", "USD"] },
            "to": { "type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[A-Z]+$" },
            "actions": { "type": "array", "items": { "const": "pay" }, "minItems": 1, "maxItems": 2,
                "uniqueItems": true },
            "more": { "type": ["object", "null"], "minProperties": 1, "maxProperties": 1 },
            "either": { "oneOf": [{ "type": "string" }, { "const": 1 }] },
            "any": { "anyOf": [{ "type": "string" }, { "type": "number" }], "not": { "const": 3 } },
            "all": { "allOf": [{ "type": "number" }, { "maximum": 2.5 }] },
        },
    });
    let schema = Schema::compile(&schema).unwrap();
    for (members, fits) in [
        (json!({ "amount": 5 }), true),
        (json!({ "amount": 5.0 }), true),
        (json!({}), false),
        (json!({ "amount": "5" }), false),
        (json!({ "amount": 0 }), false),
        (json!({ "amount": 1000 }), false),
        (json!({ "amount": 7 }), false),
        (json!({ "amount": 5, "unheard_of": 1 }), false),
        (json!({ "amount": 5, "currency": "EUR" }), true),
        (json!({ "amount": 5, "currency": "GBP" }), false),
        (json!({ "amount": 5, "to": "ABC" }), true),
        (json!({ "amount": 5, "to": "A" }), false),
        (json!({ "amount": 5, "to": "ABCDE" }), false),
        (json!({ "amount": 5, "to": "abc" }), false),
        (json!({ "amount": 5, "actions": ["pay"] }), true),
        (json!({ "amount": 5, "actions": [] }), false),
        (json!({ "amount": 5, "actions": ["pay", "pay"] }), false),
        (json!({ "amount": 5, "actions": ["steal"] }), false),
        (json!({ "amount": 5, "more": null }), true),
        (json!({ "amount": 5, "more": {} }), false),
        (json!({ "amount": 5, "more": { "a": 1, "b": 2 } }), false),
        (json!({ "amount": 5, "either": 1 }), true),
        (json!({ "amount": 5, "either": 2 }), false),
        (json!({ "amount": 5, "any": 2 }), true),
        (json!({ "amount": 5, "any": 3 }), false),
        (json!({ "amount": 5, "all": 2.5 }), true),
        (json!({ "amount": 5, "all": 2.6 }), false),
    ] {
        let mut whole = members.clone();
        whole["type"] = json!("payment");
        let one = details(&json!([whole]));
        assert_eq!(one.iter().next().unwrap().fits(&schema), fits, "{members}");
    }
    let named = json!({ "required": ["type"], "properties": { "type": { "const": "payment" } } });
    let named = Schema::compile(&named).unwrap();
    assert!(details(&json!([{ "type": "payment" }])).iter().all(|one| one.fits(&named)));
}

#[test]
fn a_schema_that_is_not_understood_is_refused() {
    let nested = |levels: usize| (0..levels).fold(json!(true), |inner, _| json!({ "not": inner }));
    assert!(Schema::compile(&nested(10)).is_ok());
    assert!(Schema::compile(&json!(true)).unwrap().admits(&json!(1)));
    assert!(!Schema::compile(&json!(false)).unwrap().admits(&json!(1)));
    let bomb = (0..4).fold(json!(true), |inner, _| json!({ "allOf": vec![inner; 8] }));
    for (schema, why) in [
        (json!({ "$ref": "https://evil.example/schema" }), BadSchema::Unknown("$ref".to_owned())),
        (json!({ "$defs": {} }), BadSchema::Unknown("$defs".to_owned())),
        (json!({ "patternProperties": {} }), BadSchema::Unknown("patternProperties".to_owned())),
        (json!({ "type": "payment" }), BadSchema::Wrong("type".to_owned())),
        (json!({ "items": [true] }), BadSchema::Wrong("schema".to_owned())),
        (json!({ "pattern": "(?=a)" }), BadSchema::Wrong("pattern".to_owned())),
        (json!({ "minimum": "1" }), BadSchema::Wrong("minimum".to_owned())),
        (json!({ "multipleOf": 0 }), BadSchema::Wrong("multipleOf".to_owned())),
        (json!({ "required": "amount" }), BadSchema::Wrong("required".to_owned())),
        (json!({ "properties": [] }), BadSchema::Wrong("properties".to_owned())),
        (json!({ "anyOf": [] }), BadSchema::Wrong("anyOf".to_owned())),
        (json!({ "properties": { "text": true } }), BadSchema::Text),
        (json!({ "properties": { "a": { "x": 1 } } }), BadSchema::Unknown("x".to_owned())),
        (nested(100), BadSchema::TooLarge),
        (bomb, BadSchema::TooLarge),
    ] {
        let refused = Schema::compile(&schema).unwrap_err();
        assert_eq!(refused, why);
    }
}

#[test]
fn a_part_has_the_same_members_and_only_what_may_shrink_is_less() {
    let whole = json!({ "type": "payment", "amount": 100, "actions": ["pay", "see"], "to": "Bob",
        "limit": { "value": "10.00", "currency": "EUR" } });
    let with = |name: &str, value: Value| {
        let mut part = whole.clone();
        part[name] = value;
        part
    };
    let without = |name: &str| {
        let mut part = whole.clone();
        part.as_object_mut().unwrap().remove(name);
        part
    };
    for (part, is) in [
        (whole.clone(), true),
        (with("amount", json!(99.5)), true),
        (with("amount", json!(101)), false),
        (with("amount", json!("99")), false),
        (with("actions", json!(["see"])), true),
        (with("actions", json!([])), true),
        (with("actions", json!(["see", "delete"])), false),
        (with("actions", json!("see")), false),
        (with("to", json!("Eve")), false),
        (with("limit", json!({ "value": "9.99", "currency": "EUR" })), true),
        (with("limit", json!({ "value": "10.01", "currency": "EUR" })), false),
        (with("limit", json!({ "value": "9.99", "currency": "USD" })), false),
        (with("limit", json!({ "value": "9.99" })), false),
        (with("more", json!(true)), false),
        (with("type", json!("other")), false),
        (without("amount"), false),
        (without("to"), false),
    ] {
        let (part, whole) = (details(&json!([part])), details(&json!([whole])));
        assert_eq!(is_part(&part, &whole), is, "{part:?}");
    }
    // A name with a dot in it is no path.
    let dotted = |value| details(&json!([{ "type": "payment", "limit.value": value }]));
    assert!(!is_part(&dotted(1), &dotted(2)));
}

#[test]
fn each_part_needs_a_detail_of_its_own() {
    let pay = |amounts: &[u32]| {
        let one = |amount: &u32| json!({ "type": "payment", "amount": amount });
        details(&json!(amounts.iter().map(one).collect::<Vec<_>>()))
    };
    assert!(is_part(&pay(&[100]), &pay(&[100, 5])));
    assert!(!is_part(&pay(&[100, 100]), &pay(&[100])));
    assert!(!is_part(&pay(&[50, 50]), &pay(&[100, 5])));
    // Which is which does not matter: the first must make way for the second.
    assert!(is_part(&pay(&[5, 100]), &pay(&[100, 5])));
    assert!(is_part(&pay(&[4, 90, 50]), &pay(&[100, 50, 5])));
}

#[test]
fn a_person_reads_all_of_it_in_both_languages() {
    let texts = Texts { en: Some("Pay {amount} {limit.currency} to {to}".to_owned()), pt: None };
    assert_eq!(texts.check(), Ok(()));
    let one = details(&json!([{ "type": "payment", "amount": 12.5, "to": "Bob\u{202e}<b>",
        "limit": { "currency": "EUR", "value": "1" }, "actions": ["a", "b"] }]));
    let Rendered { en, pt } = texts.render(one.iter().next().unwrap());
    assert_eq!(en, "Pay 12.5 EUR to Bob\u{fffd}<b> (actions a, b, limit.value 1)");
    assert_eq!(
        pt,
        "payment: actions a, b, amount 12.5, limit.currency EUR, limit.value 1, to Bob\u{fffd}<b>"
    );
    let bare = details(&json!([{ "type": "payment" }]));
    assert_eq!(texts.render(bare.iter().next().unwrap()).en, "Pay - - to -");
    for bad in ["{", "}", "{}", "{a", "a}", "{a{b}}", "{a b}", "", " ", "a\u{202e}"] {
        let texts = Texts { en: None, pt: Some(bad.to_owned()) };
        assert_eq!(texts.check(), Err(BadText), "{bad:?}");
    }
}

#[test]
fn a_rule_names_a_member_that_is_not_the_type() {
    let rules =
        |path: &str| -> SubsetRules { [(path.to_owned(), Shrinks::AtMost)].into_iter().collect() };
    assert_eq!(rules("a.b").check(), Ok(()));
    for bad in ["type", "", "a.", ".a", "a..b"] {
        assert!(rules(bad).check().is_err(), "{bad}");
    }
}

/// A payment, as the rules of these tests let it shrink.
fn payments() -> impl Strategy<Value = Details> {
    let one = (0_u32..6, proptest::collection::vec(0_u8..3, 0..3), 0_u8..2).prop_map(
        |(amount, actions, to)| {
            json!({ "type": "payment", "amount": amount, "actions": actions, "to": to })
        },
    );
    proptest::collection::vec(one, 1..4).prop_map(|list| details(&json!(list)))
}

/// Returns how much may be paid to each in all, and how many payments there are.
fn worth(details: &Details) -> [(u64, usize); 2] {
    [0, 1].map(|to| {
        let of = |detail: &&Detail| detail.members()["to"] == to;
        let amount = |detail: &Detail| detail.members()["amount"].as_u64().unwrap();
        (details.iter().filter(of).map(amount).sum(), details.iter().filter(of).count())
    })
}

proptest! {
    #[test]
    fn a_list_is_part_of_itself_and_parts_of_parts_are_parts(
        one in payments(), two in payments(), three in payments()
    ) {
        prop_assert!(is_part(&one, &one));
        if is_part(&one, &two) && is_part(&two, &three) {
            prop_assert!(is_part(&one, &three));
        }
    }

    #[test]
    fn a_part_never_confers_more(whole in payments(), part in payments()) {
        if is_part(&part, &whole) {
            for ((amount, count), (most, all)) in worth(&part).into_iter().zip(worth(&whole)) {
                prop_assert!(amount <= most && count <= all, "{part:?} of {whole:?}");
            }
        }
    }
}
