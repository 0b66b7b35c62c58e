//! What the documents point at is there.

use std::{fs, path::Path};

/// Every line of every test file.
fn tests() -> String {
    fn read(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut text = String::new();
    read(Path::new("tests"), &mut text);
    read(Path::new("src"), &mut text);
    text
}

#[test]
fn every_clause_names_a_file_and_a_test_that_exist() {
    let tests = tests();
    let mut named = 0;
    let documents = ["docs/standards.md", "docs/rfc9700.md"];
    let documents = documents.map(|name| fs::read_to_string(name).unwrap());
    let rows = documents
        .iter()
        .flat_map(|document| document.lines().filter(|line| line.starts_with("| ")).skip(1));
    for row in rows {
        let columns: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(columns.len(), 4, "{row}");
        for word in columns[2..].iter().flat_map(|column| column.split('`').skip(1).step_by(2)) {
            named += 1;
            if word.starts_with("src/") || word.starts_with("tests/") {
                assert!(Path::new(word).exists(), "{word}: {row}");
            } else if let Some((_, test)) = word.rsplit_once("::")
                && test != "tests"
            {
                let test = test.trim_end_matches('…');
                assert!(tests.contains(&format!("fn {test}")), "{test}: {row}");
            }
        }
    }
    assert!(named > 40, "the table was read");
}

#[test]
fn every_deviation_names_a_decision_and_a_test_that_exist() {
    let tests = tests();
    let decisions: Vec<String> = fs::read_dir("adr")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let document = fs::read_to_string("docs/deviations.md").unwrap();
    let rows: Vec<&str> = document.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 10, "the table was read");
    for row in rows {
        let columns: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(columns.len(), 5, "{row}");
        let number = columns[3].trim().strip_prefix("adr/").unwrap_or_else(|| panic!("{row}"));
        assert!(decisions.iter().any(|name| name.starts_with(&format!("{number}-"))), "{row}");
        let mut named = columns[4].split('`').skip(1).step_by(2).peekable();
        assert!(named.peek().is_some(), "{row}");
        for word in named {
            let (_, test) = word.rsplit_once("::").unwrap_or_else(|| panic!("{word}: {row}"));
            assert!(tests.contains(&format!("fn {test}(")), "{word}: {row}");
        }
    }
}

#[test]
fn the_readme_has_exactly_two_commands_and_every_link_leads_somewhere() {
    let readme = fs::read_to_string("README.md").unwrap();
    let commands: Vec<&str> =
        readme.split("```").skip(1).step_by(2).flat_map(|block| block.trim().lines()).collect();
    assert_eq!(commands, ["cargo run -- dev", "bin/test"]);
    for link in readme.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert!(Path::new(link).exists(), "{link}");
    }
}
