//! The index of decisions names each of them once, by its title, and says whether it is in force.

use std::{collections::BTreeMap, fs, path::Path};

/// A decision as its own file has it.
struct Decision {
    file: String,
    title: String,
    /// What its `Status` says it was replaced by.
    replaced_by: Option<String>,
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/adr"))
}

fn is_number(text: &str) -> bool {
    text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn decisions() -> BTreeMap<String, Decision> {
    let files = fs::read_dir(folder()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let read = |file: String| {
        let number = file.get(..4).filter(|number| is_number(number))?.to_owned();
        let text = fs::read_to_string(folder().join(&file)).unwrap();
        let head = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let title = head.trim_start_matches(&number).trim_start_matches('.').trim().to_owned();
        let replaced = text.lines().find_map(|line| line.strip_prefix("Status: superseded by "));
        let replaced_by = replaced.map(|rest| rest.chars().take(4).collect());
        Some((number, Decision { file, title, replaced_by }))
    };
    names.filter_map(read).collect()
}

#[test]
fn every_decision_is_in_the_index_with_its_title_and_its_state() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    let known = decisions();
    let mut listed = 0;
    for line in index.lines().filter(|line| line.starts_with("| [")) {
        let number = &line[3..7];
        let decision = known.get(number).unwrap_or_else(|| panic!("no such decision: {line}"));
        let state = match &decision.replaced_by {
            Some(by) => format!("replaced by {by}"),
            None => "in force".to_owned(),
        };
        let expected = format!("| [{number}]({}) {} | {state} |", decision.file, decision.title);
        assert_eq!(line, expected);
        listed += 1;
    }
    let missing: Vec<&str> = known
        .iter()
        .filter(|(number, _)| !index.contains(&format!("| [{number}](")))
        .map(|(_, decision)| decision.file.as_str())
        .collect();
    assert!(missing.is_empty(), "adr/README.md does not name {missing:?}");
    assert_eq!(listed, known.len(), "each is named once");
}
