//! What the documents point at is there.

use crate::programs::there_are;
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// The name of every function, of tests and of everything else.
fn functions() -> BTreeSet<String> {
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
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let names = text.split("fn ").skip(1).map(|rest| rest.split(|c| !is_part(c)).next().unwrap());
    names.map(str::to_owned).collect()
}

/// Tells whether one of the names begins so.
fn has_beginning(names: &BTreeSet<String>, beginning: &str) -> bool {
    names.range(beginning.to_owned()..).next().is_some_and(|name| name.starts_with(beginning))
}

#[test]
fn every_clause_names_a_file_and_a_test_that_exist() {
    let tests = functions();
    let mut named = 0;
    let documents =
        ["docs/standards.md", "docs/rfc9700.md", "docs/asvs.md", "docs/nist-800-63b.md"];
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
                && !["tests", ""].contains(&test)
            {
                let is_there = match test.strip_suffix('…') {
                    Some(beginning) => has_beginning(&tests, beginning),
                    None => tests.contains(test),
                };
                assert!(is_there, "{test}: {row}");
            }
        }
    }
    assert!(named > 40, "the table was read");
}

/// The requirements of ASVS 5.0 V6 and V7 at levels 1 and 2, by section: how many there are, and those of level 3 among them.
const ASVS: [(&str, u32, &[u32]); 13] = [
    ("6.1", 3, &[]),
    ("6.2", 12, &[]),
    ("6.3", 8, &[5, 6, 7, 8]),
    ("6.4", 6, &[5, 6]),
    ("6.5", 8, &[6, 7, 8]),
    ("6.6", 4, &[4]),
    ("6.8", 4, &[]),
    ("7.1", 3, &[]),
    ("7.2", 4, &[]),
    ("7.3", 2, &[]),
    ("7.4", 5, &[]),
    ("7.5", 3, &[3]),
    ("7.6", 2, &[]),
];

/// The rows of a table of four columns, of all tables of a page.
fn rows(page: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(page).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let cells =
        |row: &str| row.trim_matches('|').split(" | ").map(|c| c.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// Insists that a row of a standard is proved, or says why it needs no proof.
fn check_proof(row: &[String]) {
    let is_excused = row[2].contains("**does not apply**") || row[2].contains("**short**");
    assert!(is_excused || row[3].contains('`'), "{row:?}");
}

#[test]
fn every_requirement_of_asvs_has_its_row_and_every_row_its_proof() {
    let rows = rows("docs/asvs.md");
    let mut asked = Vec::new();
    for (section, last, beyond) in ASVS {
        let numbers = (1..=last).filter(|number| !beyond.contains(number));
        asked.extend(numbers.map(|number| format!("{section}.{number}")));
    }
    let answered = rows.iter().filter(|row| row[0].contains(" (L"));
    let answered: Vec<&str> = answered
        .inspect(|row| check_proof(row))
        .map(|row| row[0].split(' ').next().unwrap())
        .collect();
    assert_eq!(answered, asked);
    assert_eq!(asked.len(), 53);
}

#[test]
fn ten_weaknesses_are_planted_and_each_is_caught_by_the_test_of_a_row() {
    let (rows, of_nist) = (rows("docs/asvs.md"), rows("docs/nist-800-63b.md"));
    let proofs = |number: &str| {
        let of_number = |row: &&Vec<String>| row[0].split(' ').next() == Some(number);
        let found = rows.iter().chain(&of_nist).filter(of_number);
        found.map(|row| row[3].clone()).collect::<String>()
    };
    let planted = rows.iter().filter(|row| row[2].starts_with("`tests/mutants/"));
    let mut count = 0;
    for row in planted {
        count += 1;
        let [_, number, mutant, caught_by] = row.as_slice() else { panic!("{row:?}") };
        assert!(!proofs(number).is_empty(), "{number} is no row: {row:?}");
        let mutant = fs::read_to_string(mutant.trim_matches('`')).unwrap();
        let tests = mutant.lines().find_map(|line| line.strip_prefix("tests: ")).unwrap();
        let test = caught_by.trim_matches('`').rsplit("::").next().unwrap();
        assert!(tests.split(' ').any(|part| test.contains(part)), "{test}: {tests}");
        assert!(proofs(number).contains(caught_by.trim_matches('`')), "{number} names {caught_by}");
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn a_named_test_that_failed_or_was_skipped_has_proved_nothing() {
    if !there_are(&["perl"]) {
        return;
    }
    let name = "session::tests::only_its_token_opens_a_session_and_a_renewal_changes_it";
    let told = |what: &str| {
        let report = tempfile::NamedTempFile::new().unwrap();
        let other = r#"<testcase name="other::test" classname="porteiro"/>"#;
        let case = format!(r#"<testcase name="{name}" classname="porteiro">{what}</testcase>"#);
        fs::write(report.path(), format!("<testsuite>\n{other}\n{case}\n</testsuite>")).unwrap();
        let done = Command::new("bin/named-tests").arg(report.path()).output().unwrap();
        assert_eq!(done.status.code(), Some(1), "the others have not run: {done:?}");
        let lines = String::from_utf8(done.stdout).unwrap();
        let of_it = lines.lines().find(|line| {
            line.contains("session::only_its_token_opens_a_ses")
                || line.contains("session::tests::only_its_token_opens_a_ses")
        });
        of_it.map(|line| line.split(": ").next().unwrap().to_owned())
    };
    let says_skipped = "<system-err>skipped: there is no browser\n</system-err>";
    assert_eq!(told("<system-out>test result: ok. 0 skipped: none</system-out>"), None);
    assert_eq!(told(says_skipped).as_deref(), Some("named and skipped"));
    assert_eq!(told("<failure>no</failure>").as_deref(), Some("named and not run"));
}

#[test]
fn every_line_of_nist_has_its_proof() {
    let rows = rows("docs/nist-800-63b.md");
    let lines: Vec<_> = rows.iter().filter(|row| row[0].starts_with('§')).collect();
    assert!(lines.len() > 60, "{}", lines.len());
    for row in lines {
        check_proof(row);
    }
}

/// Every template.
fn templates() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["templates", "templates/flow", "templates/account", "templates/organization"] {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_some_and(|extension| extension == "html") {
                found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn password_fields_hide_what_is_typed_and_managers_may_fill_them_in() {
    let mut fields = 0;
    for (name, text) in templates() {
        for input in text.split("<input").skip(1).map(|rest| rest.split('>').next().unwrap()) {
            let is_one = input.contains("name=\"password\"") || input.contains("type=\"password\"");
            // That of a client is no person's to remember.
            if !is_one || input.contains("name=\"client_secret\"") {
                continue;
            }
            fields += 1;
            assert!(input.contains("type=\"password\""), "{name}: {input}");
            let managers = ["current-password", "new-password", "{{ field.autocomplete }}"];
            let is_named =
                managers.iter().any(|use_| input.contains(&format!("autocomplete=\"{use_}\"")));
            assert!(is_named, "{name}: {input}");
            for hindrance in ["maxlength", "onpaste", "readonly"] {
                assert!(!input.contains(hindrance), "{name}: {input}");
            }
        }
    }
    assert!(fields >= 4, "{fields}");
    for script in fs::read_dir("assets").unwrap().map(|entry| entry.unwrap().path()) {
        if script.extension().is_some_and(|extension| extension == "js") {
            let text = fs::read_to_string(&script).unwrap();
            assert!(!text.contains("paste"), "{}", script.display());
        }
    }
}

#[test]
fn every_page_of_a_signed_in_person_leads_to_the_way_out() {
    for page in ["templates/account/page.html", "templates/organization/page.html"] {
        assert!(fs::read_to_string(page).unwrap().contains("href=\"/sign-out\""), "{page}");
    }
}

#[test]
fn every_deviation_names_a_decision_and_a_test_that_exist() {
    let tests = functions();
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
            assert!(tests.contains(test), "{word}: {row}");
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
