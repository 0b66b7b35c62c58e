//! Holds `tests/one_engine.txt` to its own rule: what must be proved on PostgreSQL is not left out there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Lists the modules that run on SQLite alone.
fn on_one_engine() -> BTreeSet<String> {
    let text = fs::read_to_string(tests().join("one_engine.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Lists the modules of a test binary.
fn modules(binary: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(tests().join(binary).join("main.rs")).unwrap();
    let declared = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    declared.map(str::to_owned).collect()
}

/// Returns the text of every file of a module.
fn source(binary: &str, module: &str) -> String {
    let folder = tests().join(binary);
    let mut pending = vec![folder.join(format!("{module}.rs")), folder.join(module)];
    if module == "conformance" {
        pending.push(tests().join("conformance"));
    }
    let mut text = String::new();
    while let Some(path) = pending.pop() {
        if let Ok(entries) = path.read_dir() {
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        } else if let Ok(file) = fs::read_to_string(path) {
            text += &file;
        }
    }
    text
}

/// Lists the tests in a text.
fn tests_in(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_test = |line: &str| line == "#[test]" || line.starts_with("#[tokio::test");
    let pairs = lines.windows(2).filter(|pair| is_test(pair[0]));
    pairs.filter_map(|pair| pair[1].split_once("fn ")?.1.split('(').next()).collect()
}

#[test]
fn every_module_that_runs_on_one_engine_exists() {
    let mut all = modules("kernel");
    all.append(&mut modules("server"));
    let unknown: Vec<String> = on_one_engine().difference(&all).cloned().collect();
    assert_eq!(unknown, [""; 0], "a module that was renamed is left out nowhere");
}

#[test]
fn a_mutant_of_postgresql_is_caught_by_tests_that_run_there() {
    let text: String = ["kernel", "server"]
        .into_iter()
        .flat_map(|binary| modules(binary).into_iter().map(move |module| (binary, module)))
        .filter(|(_, module)| on_one_engine().contains(module))
        .map(|(binary, module)| source(binary, &module))
        .collect();
    let left_out = tests_in(&text);
    assert!(left_out.len() > 100, "{}", left_out.len());
    let mut looked_at = 0;
    for mutant in tests().join("mutants").read_dir().unwrap() {
        let path = mutant.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        if header("engine: ") == "sqlite" {
            continue;
        }
        looked_at += 1;
        for name in header("tests: ").split_whitespace() {
            let is_left_out = left_out.iter().any(|test| test.contains(name));
            assert!(!is_left_out, "{}: {name} does not run on PostgreSQL", path.display());
        }
    }
    assert!(looked_at > 10, "{looked_at}");
}
