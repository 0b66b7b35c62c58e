use super::*;
use crate::domain::scim::{any_json::any_json, schema::USER};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

fn read(pairs: &[(&str, &str)]) -> Query {
    Query::from_pairs(pairs, &USER).unwrap_or_else(|why| panic!("{pairs:?}: {why}"))
}

fn refuse(pairs: &[(&str, &str)], scim_type: &str) {
    let why = Query::from_pairs(pairs, &USER).expect_err(&format!("{pairs:?}"));
    assert_eq!((why.status, why.scim_type), (400, Some(scim_type)), "{pairs:?}");
}

#[test]
fn without_parameters_the_first_page_is_asked_for() {
    let query = read(&[("unknown", "x")]);
    assert_eq!((query.start, query.count), (Start::Index(1), MAX_COUNT));
    assert!(query.filter.is_none() && query.sort.is_none());
    assert!(query.projection.wants("emails"));
}

#[test]
fn the_body_of_a_search_means_what_the_parameters_mean() {
    let pairs = [
        ("filter", "title pr"),
        ("attributes", "userName, emails.value"),
        ("sortBy", "name.familyName"),
        ("sortOrder", "descending"),
        ("startIndex", "11"),
        ("count", "10"),
    ];
    let body = json!({
        "schemas": [SEARCH_REQUEST],
        "Filter": "title pr",
        "attributes": ["userName", "emails.value"],
        "sortBy": "name.familyName",
        "sortOrder": "descending",
        "startIndex": 11,
        "count": 10,
        "unknown": {},
    });
    assert_eq!(read(&pairs), Query::from_body(body.as_object().unwrap(), &USER).unwrap());
    let excluded = json!({ "schemas": [SEARCH_REQUEST], "excludedAttributes": "emails,name" });
    let query = Query::from_body(excluded.as_object().unwrap(), &USER).unwrap();
    assert!(!query.projection.wants("name"));
}

#[test]
fn numbers_are_bounded_and_what_is_no_number_is_refused() {
    let page = |start: &str, count: &str| {
        let query = read(&[("startIndex", start), ("count", count)]);
        (query.start, query.count)
    };
    assert_eq!(page("0", "-5"), (Start::Index(1), 0));
    assert_eq!(page("-99999999999999999999", "99999999999999999999"), (Start::Index(1), MAX_COUNT));
    assert_eq!(page("7", "0"), (Start::Index(7), 0));
    assert_eq!(page("", " "), (Start::Index(1), MAX_COUNT));
    for text in ["x", "1.5", "1e3", "+1", "--1", "-", "0x1", "１"] {
        refuse(&[("count", text)], "invalidValue");
        refuse(&[("startIndex", text)], "invalidValue");
    }
    for number in [json!("x"), json!(1.5), json!(true), json!([]), json!({})] {
        let body = json!({ "schemas": [SEARCH_REQUEST], "count": number });
        let why = Query::from_body(body.as_object().unwrap(), &USER).unwrap_err();
        assert_eq!(why.scim_type, Some("invalidValue"), "{number}");
    }
}

#[test]
fn a_cursor_takes_the_place_of_the_index() {
    assert_eq!(read(&[("cursor", "")]).start, Start::Cursor(None));
    let next = Start::Cursor(Some("abc".to_owned()));
    assert_eq!(read(&[("cursor", "abc"), ("count", "5")]).start, next);
    refuse(&[("cursor", "abc"), ("startIndex", "1")], "invalidValue");
    refuse(&[("cursor", &"a".repeat(2000))], "invalidCursor");
    let body = json!({ "schemas": [SEARCH_REQUEST], "cursor": "abc" });
    assert_eq!(Query::from_body(body.as_object().unwrap(), &USER).unwrap().start, next);
}

#[test]
fn malformed_parameters_are_refused() {
    refuse(&[("filter", "title")], "invalidFilter");
    refuse(&[("filter", "title pr"), ("FILTER", "title pr")], "invalidValue");
    refuse(&[("attributes", "title"), ("excludedAttributes", "name")], "invalidValue");
    refuse(&[("sortBy", "shoeSize")], "invalidPath");
    refuse(&[("sortBy", "name")], "invalidPath");
    refuse(&[("sortBy", "a b")], "invalidPath");
    refuse(&[("sortBy", "title"), ("sortOrder", "up")], "invalidValue");
    let from = |body: Value| Query::from_body(body.as_object().unwrap(), &USER).map(|_| ());
    assert!(from(json!({ "filter": "title pr" })).is_err(), "without its schema");
    assert!(from(json!({ "schemas": [SEARCH_REQUEST], "filter": 5 })).is_err());
    assert!(from(json!({ "schemas": [SEARCH_REQUEST], "attributes": [5] })).is_err());
    assert!(from(json!({ "schemas": [SEARCH_REQUEST], "attributes": {} })).is_err());
    assert!(from(json!({ "schemas": [SEARCH_REQUEST], "filter": null, "cursor": null })).is_ok());
}

fn key(sort_by: &str, document: &Value) -> SortKey {
    Sort::read(sort_by, None, &USER).unwrap().key(document.as_object().unwrap())
}

#[test]
fn resources_are_sorted_by_the_primary_or_first_value() {
    let first = json!({ "emails": [{ "value": "B" }, { "value": "a" }] });
    assert_eq!(key("emails", &first), SortKey::Text("b".to_owned()));
    let primary = json!({ "emails": [{ "value": "B" }, { "value": "A", "primary": true }] });
    assert_eq!(key("emails.value", &primary), SortKey::Text("a".to_owned()));
    let document =
        json!({ "id": "Ab", "active": false, "userName": "ÉVA", "meta": { "created": "x" } });
    assert_eq!(key("id", &document), SortKey::Text("Ab".to_owned()));
    assert_eq!(key("userName", &document), SortKey::Text("éva".to_owned()));
    assert_eq!(key("active", &document), SortKey::Boolean(false));
    assert_eq!(key("meta.created", &document), SortKey::Absent);
    assert_eq!(key("title", &document), SortKey::Absent);
}

#[test]
fn those_without_a_value_are_last_and_in_descending_order_first() {
    let ids = |order: &str| {
        let sort = Sort::read("title", Some(order), &USER).unwrap();
        let documents =
            [("1", json!({})), ("2", json!({ "title": "z" })), ("3", json!({ "title": "A" }))];
        let twin = ("4", json!({ "title": "a" }));
        let all = documents.iter().chain([&twin]);
        let places = all.map(|(id, one)| sort.place(one.as_object().unwrap(), (*id).to_owned()));
        let places: BTreeSet<SortPlace> = places.collect();
        places.into_iter().map(|place| place.id).collect::<Vec<_>>()
    };
    assert_eq!(ids("ASCENDING"), ["3", "4", "2", "1"]);
    assert_eq!(ids("Descending"), ["1", "2", "3", "4"], "of one title the smaller id is first");
    let moment = |text: &str| key("meta.created", &json!({ "meta": { "created": text } }));
    assert!(moment("2011-05-13T04:42:34+02:00") < moment("2011-05-13T04:42:34Z"));
}

proptest! {
    #[test]
    fn any_parameters_are_read_or_refused(
        pairs in prop::collection::vec((prop::sample::select(vec![
            "filter", "attributes", "excludedAttributes", "sortBy", "sortOrder", "startIndex", "count", "cursor",
        ]), any::<String>()), 0..4),
        body in any_json(),
    ) {
        if let Ok(query) = Query::from_pairs(&pairs, &USER) {
            prop_assert!(query.count <= MAX_COUNT);
        }
        let body = json!({ "schemas": [SEARCH_REQUEST], "filter": body, "count": body, "attributes": body });
        let _ = Query::from_body(body.as_object().unwrap(), &USER);
    }

    #[test]
    fn any_document_has_a_key(document in any_json()) {
        if document.is_object() {
            for path in ["emails", "userName", "meta.created", "active", "manager", "name.givenName"] {
                let _ = key(path, &document);
            }
        }
    }
}
