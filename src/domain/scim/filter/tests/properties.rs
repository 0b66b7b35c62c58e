use super::*;
use proptest::prelude::*;

/// Texts of filters that are well formed.
fn filters() -> impl Strategy<Value = String> {
    let paths = prop::sample::select(vec![
        "userName",
        "name.givenName",
        "emails",
        "emails.value",
        "meta.created",
        "active",
        "manager.$ref",
        "shoeSize",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department",
    ]);
    let literal = prop_oneof![
        any::<String>().prop_map(|text| Value::String(text).to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        Just("true".to_owned()),
        Just("null".to_owned()),
    ];
    let operators =
        prop::sample::select(vec!["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
    let term = prop_oneof![
        paths.clone().prop_map(|path| format!("{path} pr")),
        (paths, operators, literal)
            .prop_map(|(path, operator, literal)| { format!("{path} {operator} {literal}") }),
        Just(r#"emails[type eq "work" or not (primary eq true)]"#.to_owned()),
    ];
    term.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|all| all.join(" and ")),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|all| all.join(" or ")),
            inner.clone().prop_map(|one| format!("({one})")),
            inner.prop_map(|one| format!("not ({one})")),
        ]
    })
}

proptest! {
    #[test]
    fn reading_any_text_never_panics(text in any::<String>()) {
        let _ = Filter::parse(&text, &USER);
    }

    #[test]
    fn reading_texts_of_filter_words_never_panics(
        words in prop::collection::vec(prop::sample::select(vec![
            "(", ")", "[", "]", " ", "not", "and", "or", "eq", "pr", "emails", ".", "value", "\"",
            "\\", "x", "1", "-", "true", "null", "urn:", ":", "$ref", "é", "\0",
        ]), 0..40),
    ) {
        if let Ok(filter) = Filter::parse(&words.concat(), &USER) {
            let _ = filter.matches(&barbara());
        }
    }

    #[test]
    fn a_filter_prints_as_one_that_means_the_same(text in filters()) {
        if let Ok(filter) = Filter::parse(&text, &USER) {
            let printed = filter.to_string();
            let again = Filter::parse(&printed, &USER).unwrap();
            prop_assert_eq!(again.to_string(), printed);
            prop_assert_eq!(&again, &filter);
            prop_assert_eq!(again.matches(&barbara()), filter.matches(&barbara()));
        }
    }

    #[test]
    fn not_turns_every_answer_around(text in filters()) {
        if let Ok(filter) = Filter::parse(&text, &USER)
            && let Ok(turned) = Filter::parse(&format!("not ({text})"), &USER)
        {
            prop_assert_ne!(filter.matches(&barbara()), turned.matches(&barbara()));
        }
    }

    #[test]
    fn folding_a_part_gives_a_part_of_the_folded_text(one in any::<String>(), two in any::<String>()) {
        let whole = fold_case(&format!("{one}{two}"));
        prop_assert_eq!(whole, format!("{}{}", fold_case(&one), fold_case(&two)));
    }
}
