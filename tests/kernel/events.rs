//! The list of events in the documentation is what the code records.

use std::{collections::BTreeSet, fs, path::Path};

/// Where records are made.
const FOLDERS: [&str; 4] = ["src/actors", "src/domain", "src/store", "src/system"];

/// What has the form of an event there, and is none.
const OTHERS: [&str; 4] = ["webhook.test", "query.jwt", "form_post.jwt", "common.txt"];

/// Returns what has the form of an event: two words with a point between them.
fn has_form(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    text.split_once('.').is_some_and(|(noun, verb)| is_word(noun) && is_word(verb))
}

/// Every text of that form in the code that is no test, nor a comment.
fn in_source(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.contains("tests") {
            continue;
        }
        if path.is_dir() {
            in_source(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in lines {
            found.extend(line.split('"').filter(|text| has_form(text)).map(str::to_owned));
        }
    }
}

/// The events of the page: the first column of its tables.
fn in_page() -> Vec<String> {
    let page = fs::read_to_string("docs/events.md").unwrap();
    let first = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let quoted = first.flat_map(|cell| cell.split('`'));
    quoted.filter(|text| has_form(text)).map(str::to_owned).collect()
}

#[test]
fn every_event_that_can_be_recorded_is_documented_and_no_other() {
    let mut found = BTreeSet::new();
    for folder in FOLDERS {
        in_source(Path::new(folder), &mut found);
    }
    for other in OTHERS {
        assert!(found.remove(other), "{other} is not there any more: take it out of this list");
    }
    // Domains of examples stand among the code that refuses them.
    found.retain(|text| !text.ends_with(".example") && text != "app.localhost");
    assert!(found.len() > 100, "{found:?}");
    let documented = in_page();
    let once: BTreeSet<String> = documented.iter().cloned().collect();
    assert_eq!(once.len(), documented.len(), "an event is there twice");
    let missing: Vec<_> = found.difference(&once).collect();
    assert!(missing.is_empty(), "not in docs/events.md: {missing:?}");
    let unknown: Vec<_> = once.difference(&found).collect();
    assert!(unknown.is_empty(), "in docs/events.md, and recorded nowhere: {unknown:?}");
}
