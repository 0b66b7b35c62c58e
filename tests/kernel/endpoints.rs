//! The list of endpoints in the documentation is the table of endpoints.

use porteiro::http::{
    api::OPERATIONS,
    router::{Extras, documented, paths},
};

/// The rows of `docs/endpoints.md`, as they must be.
fn expected() -> Vec<String> {
    let row = |one: porteiro::http::router::Documented| {
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
