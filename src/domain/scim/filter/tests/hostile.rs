use super::*;

fn detail(text: &str) -> String {
    Filter::parse(text, &USER).unwrap_err().detail
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    for text in ["(".repeat(100_000), "not (".repeat(100_000), "emails[".repeat(100_000)] {
        assert!(detail(&text).contains("at most 4096 bytes"));
    }
    for open in ["(", "not (", "not(not ("] {
        let text = format!("{}title pr", open.repeat(400));
        assert!(detail(&text).contains("nested at most 32"), "{open}");
    }
    let nested = |depth: usize| format!("{}title pr{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Filter::parse(&nested(MAX_FILTER_DEPTH), &USER).is_ok());
    assert!(Filter::parse(&nested(MAX_FILTER_DEPTH + 1), &USER).is_err());
    // Groups one after the other are not nested.
    let beside = vec!["(not (title pr))"; 100].join(" or ");
    assert!(Filter::parse(&beside, &USER).is_ok());
    assert!(Filter::parse(&"emails[type pr] or ".repeat(100), &USER).is_err());
}

#[test]
fn the_number_of_comparisons_is_bounded() {
    let chain = |count: usize| vec!["title pr"; count].join(" or ");
    assert!(Filter::parse(&chain(MAX_FILTER_TERMS), &USER).is_ok());
    assert!(detail(&chain(MAX_FILTER_TERMS + 1)).contains("at most 200 comparisons"));
    let inside = format!("emails[{}]", vec!["type pr"; MAX_FILTER_TERMS + 1].join(" or "));
    assert!(detail(&inside).contains("at most 200 comparisons"));
}

#[test]
fn a_long_text_is_refused_before_it_is_read() {
    let long = format!("userName eq \"{}\"", "a".repeat(1_000_000));
    assert!(detail(&long).contains("4096"));
    let spaces = format!("title pr{}", " ".repeat(4096));
    assert!(detail(&spaces).contains("4096"));
}

#[test]
fn an_error_repeats_little_of_the_filter() {
    let why = detail(&format!("title xx \"{}\u{202e}\"", "s".repeat(500)));
    assert!(why.len() < 150 && why.is_ascii() || why.contains('…'), "{why}");
}

#[test]
fn documents_of_any_shape_are_answered() {
    let shapes = [
        json!({ "userName": 5, "emails": "x", "name": [], "active": "no", "meta": null }),
        json!({ "userName": [], "emails": [1, null, [], {}], "name": { "givenName": {} } }),
        json!({ ENTERPRISE: [], "emails": { "value": [["x"]] }, "meta": { "created": 5 } }),
    ];
    let filters = [
        r#"userName co "x" or emails co "x" or emails[value pr] or name.givenName eq "x""#,
        r#"not (active eq true) and meta.created gt "2010-01-23T04:56:22Z""#,
        r#"manager eq "x" or emails.value ne "x""#,
    ];
    for shape in &shapes {
        for filter in filters {
            let _ = parse(filter).matches(shape.as_object().unwrap());
        }
    }
}
