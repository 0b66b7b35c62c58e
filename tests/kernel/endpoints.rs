//! The list of endpoints in the documentation is the table of endpoints.

use porteiro::http::{
    api::OPERATIONS,
    router::{Extras, documented, paths},
};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of `docs/endpoints.md`, as they must be.
fn expected() -> Vec<String> {
    let row = |one: porteiro::http::router::DocumentedEndpoint| {
        format!("| {} | `{}` | {} |", one.methods, one.path, one.about)
    };
    documented().map(row).collect()
}

#[test]
fn every_endpoint_is_documented_and_no_other() {
    let page = std::fs::read_to_string("docs/endpoints.md").unwrap();
    let verbs = ["| GET", "| POST", "| PUT", "| PATCH", "| DELETE"];
    let is_row = |line: &&str| verbs.iter().any(|verb| line.starts_with(verb));
    let rows: Vec<&str> = page.lines().filter(is_row).collect();
    let expected = expected();
    assert!(rows == expected, "docs/endpoints.md must have these rows:\n{}", expected.join("\n"));
}

/// Where words of ours and a value share a place in a path, and why no value is such a word (adr/0151). `{}` is any value.
const SHARED: [(&str, &str, &[&str], &str); 5] = [
    ("/assets", "{file}", &["brand", "client"], "what lies below these has one segment more"),
    ("/flows", "{id}", &["stop"], "an id begins with flw_"),
    (
        "/scim/v2/{}",
        "{*rest}",
        &[
            ".search",
            "Bulk",
            "Groups",
            "Me",
            "ResourceTypes",
            "Schemas",
            "ServiceProviderConfig",
            "Users",
        ],
        "it is what is none of these",
    ),
    ("/scim/v2/{}/Groups", "{id}", &[".search"], "an id has no point"),
    ("/scim/v2/{}/Users", "{id}", &[".search"], "an id has no point"),
];

/// Values that are free to choose: a word that stood in their place would have to be forbidden to them.
const FREE: [&str; 3] = ["{organization}", "{role}", "{client_id}"];

#[test]
fn no_word_of_ours_stands_where_a_slug_or_another_free_name_stands() {
    let mut places: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for path in paths(Extras::ALL) {
        let mut before = String::new();
        for segment in path.split('/').skip(1) {
            places.entry(before.clone()).or_default().insert(segment);
            let is_value = segment.starts_with('{');
            before = format!("{before}/{}", if is_value { "{}" } else { segment });
        }
    }
    let is_value = |segment: &&&str| segment.starts_with('{');
    let mut shared = Vec::new();
    let mut free = BTreeSet::new();
    for (before, segments) in &places {
        let values: Vec<&str> = segments.iter().filter(is_value).copied().collect();
        assert!(values.len() < 2, "{before}: a place has one kind of value: {values:?}");
        let Some(value) = values.first() else { continue };
        let words: Vec<&str> = segments.iter().filter(|one| !is_value(one)).copied().collect();
        if FREE.contains(value) {
            assert!(words.is_empty(), "{before}/{value} may be any of {words:?}");
            free.insert(*value);
        } else if !words.is_empty() {
            shared.push((before.as_str(), *value, words));
        }
    }
    assert_eq!(free, BTreeSet::from(FREE), "each of them is the value of some path");
    let expected = SHARED.map(|(before, value, words, _)| (before, value, words.to_vec()));
    assert_eq!(shared, expected, "say here why no such value is such a word");
}

#[test]
fn every_path_is_served_once_and_has_a_method() {
    let all: Vec<&str> = paths(Extras::ALL).collect();
    for path in &all {
        assert_eq!(all.iter().filter(|other| *other == path).count(), 1, "{path}");
        assert!(documented().any(|one| one.path == *path), "{path} has no operation");
    }
    // An operation of a path that is not in the table would not be served.
    for operation in OPERATIONS {
        assert!(all.contains(&operation.path), "{}", operation.path);
    }
}
