use super::*;
use std::{collections::BTreeSet, fs, path::Path};

/// Lists the text of every file below a folder.
fn texts(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.display().to_string(), text));
            }
        }
    }
    found
}

fn names() -> BTreeSet<String> {
    let file = include_str!("../../../../locales/en/screens.ftl");
    let named = |line: &str| line.split_once(" =").map(|(name, _)| name.to_owned());
    let is_name = |name: &String| {
        name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    file.lines().filter(|line| !line.starts_with('#')).filter_map(named).filter(is_name).collect()
}

#[test]
fn every_sentence_that_a_page_asks_for_is_there() {
    let names = names();
    for (path, text) in texts("templates") {
        for (at, _) in text.match_indices("page.") {
            let call = &text[at..];
            let calls = ["t", "with", "html", "count", "dated", "timed"];
            let begins = |of: &&str| call.starts_with(&format!("page.{of}(\""));
            if !calls.iter().any(begins) {
                continue;
            }
            let rest = call.split_once('"').unwrap().1;
            let name = rest.split('"').next().unwrap();
            assert!(names.contains(name), "{path}: there is no sentence {name}");
        }
    }
}

#[test]
fn every_sentence_is_used() {
    let mut used = texts("templates");
    used.extend(texts("src/http"));
    used.retain(|(path, _)| !path.ends_with("words/tests.rs"));
    for name in names() {
        let quoted = format!("\"{name}\"");
        assert!(used.iter().any(|(_, text)| text.contains(&quoted)), "{name} is used nowhere");
    }
}

#[test]
fn no_template_has_a_sentence_of_its_own() {
    let is_page = |path: &str| Path::new(path).extension().is_some_and(|ending| ending == "html");
    for (path, text) in texts("templates").into_iter().filter(|(path, _)| is_page(path)) {
        let mut plain = String::new();
        let mut rest = text.as_str();
        // What is left when tags, expressions and comments are taken out is what people read.
        while let Some(at) = rest.find(['<', '{']) {
            plain.push_str(&rest[..at]);
            let end = if rest[at..].starts_with("{{") {
                "}}"
            } else if rest[at..].starts_with("{%") {
                "%}"
            } else if rest[at..].starts_with("{#") {
                "#}"
            } else {
                ">"
            };
            let close = rest[at..].find(end).unwrap_or_else(|| panic!("{path}: {end} is missing"));
            rest = &rest[at + close + end.len()..];
        }
        plain.push_str(rest);
        let words: Vec<&str> =
            plain.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).collect();
        // The name of the product is the same in every language.
        let words: Vec<&&str> = words.iter().filter(|word| **word != "Porteiro").collect();
        assert!(words.is_empty(), "{path}: {words:?}");
        for attribute in ["aria-label=\"", "alt=\"", "placeholder=\"", "title=\""] {
            for (at, _) in text.match_indices(attribute) {
                let value = text[at + attribute.len()..].split('"').next().unwrap();
                assert!(value.is_empty() || value.starts_with('{'), "{path}: {attribute}{value}");
            }
        }
    }
}

#[test]
fn a_value_is_escaped_and_stands_out() {
    let hostile = "<script>\u{202e}&";
    let html = say_in_html(Locale::English, "to-continue", &[("app", hostile)]);
    assert!(html.contains("<b><bdi>&lt;script&gt;"), "{html}");
    assert!(!html.contains("<script>"), "{html}");
    assert!(say(Locale::Portuguese, "to-continue", &[("app", "X")]).contains('X'));
}

#[test]
fn a_day_is_written_as_people_write_it() {
    for (at, english, portuguese) in [
        ("2026-03-03T09:12:00Z", "3 March 2026", "3 de março de 2026"),
        ("1999-12-31T23:59:59Z", "31 December 1999", "31 de dezembro de 1999"),
        ("2027-01-15T08:00:00Z", "15 January 2027", "15 de janeiro de 2027"),
    ] {
        assert_eq!(date(Locale::English, at), english);
        assert_eq!(date(Locale::Portuguese, at), portuguese);
    }
    for none in ["", "yesterday", "2026-03", "2026-03-03-04"] {
        assert_eq!(date(Locale::English, none), none);
    }
}

#[test]
fn a_claim_is_named_in_words_where_it_has_some() {
    let of = |locale, claim| say(locale, "consent-claim", &[("claim", claim)]);
    assert_eq!(of(Locale::English, "birthdate"), "Know your date of birth");
    assert_eq!(of(Locale::Portuguese, "birthdate"), "Conhecer a sua data de nascimento");
    assert!(of(Locale::English, "shoe_size").contains("shoe_size"));
    assert!(of(Locale::Portuguese, "shoe_size").contains("shoe_size"));
}
