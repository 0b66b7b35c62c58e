//! No circles of imports between files of different folders. A module and the folder below it may
//! know each other. The rooms of `http` lie one above the other, and none imports one above it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

type Imports = BTreeMap<String, BTreeSet<String>>;

/// The rooms of `src/http`, the lowest first.
const ROOMS_OF_HTTP: &[&str] = &[
    // What everything else may use.
    "time",
    "routes",
    "purpose",
    "answer",
    "hosts",
    "vitals",
    "limits",
    "options",
    "new_password",
    "cookies",
    "brand_files",
    "reading",
    // What handlers share, and what they look up.
    "app",
    "clients",
    "extract",
    "people",
    "grants",
    "authorization",
    "issuing",
    // Endpoints.
    "flows",
    "oauth",
    "api",
    "scim",
    "me",
    "related_origins",
    "well_known",
    "screens",
    "playground",
    "mailbox",
    // What is around them, and the listeners.
    "layers",
    "operator",
    "router",
];

/// Lists the code files below `folder` by their module paths.
fn modules(folder: &Path, found: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            modules(&path, found);
        } else if let Some(stem) = name.strip_suffix(".rs").filter(|stem| !stem.contains("tests")) {
            let inside = path.strip_prefix("src").unwrap().with_extension("");
            let mut module = vec!["crate".to_owned()];
            module.extend(inside.iter().map(|part| part.to_string_lossy().into_owned()));
            if matches!(stem, "mod" | "lib" | "main") {
                module.pop();
            }
            if stem != "main" {
                found.insert(module.join("::"), path);
            }
        }
    }
}

/// Spells out every path of an import such as `a::{b, c::{d, e as f}}`.
fn paths(import: &str) -> Vec<String> {
    let import = import.trim();
    let Some((stem, rest)) = import.split_once('{') else {
        let path = import.split(" as ").next().unwrap_or_default();
        return vec![path.trim().to_owned()];
    };
    let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(c);
        }
    }
    let whole = parts.iter().filter(|part| !part.trim().is_empty());
    whole.flat_map(|part| paths(part)).map(|path| format!("{}{path}", stem.trim())).collect()
}

/// Returns what a file imports, as modules of ours.
fn imports(module: &str, text: &str, known: &BTreeMap<String, PathBuf>) -> BTreeSet<String> {
    let code: String = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = BTreeSet::new();
    for statement in code.split(';') {
        let Some(at) = statement.find("use ") else { continue };
        let begins = statement[..at].trim_end();
        let is_import = begins.is_empty()
            || begins.ends_with('}')
            || begins.ends_with("pub")
            || begins.ends_with(')')
            || begins.ends_with(']');
        if !is_import {
            continue;
        }
        for path in paths(&statement[at + 4..].replace('\n', " ")) {
            let mut base: Vec<&str> = module.split("::").collect();
            let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
            match parts[0] {
                "crate" => base = vec!["crate"],
                "super" => {
                    while parts.first() == Some(&"super") {
                        base.pop();
                        parts.remove(0);
                    }
                    parts.insert(0, "");
                }
                "self" => {}
                _ => parts.insert(0, ""),
            }
            base.extend(parts.into_iter().skip(1).filter(|part| !matches!(*part, "self" | "*")));
            let mut ends = (1..=base.len()).rev().map(|length| base[..length].join("::"));
            found.extend(ends.find(|name| name != "crate" && known.contains_key(name)));
        }
    }
    found.remove(module);
    found
}

/// Lists what can be reached from `module`.
fn reached(module: &str, imports: &Imports) -> BTreeSet<String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![module.to_owned()]);
    while let Some(one) = open.pop() {
        for next in imports.get(&one).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

/// Lists pairs of files that import each other, through others or not, from folders of which neither
/// lies in the other.
fn circles(imports: &Imports, folders: &BTreeMap<String, PathBuf>) -> Vec<String> {
    let reach: Imports =
        imports.keys().map(|module| (module.clone(), reached(module, imports))).collect();
    let mut found = Vec::new();
    for (one, reachable) in &reach {
        for other in reachable.iter().filter(|other| *other > one) {
            let back = reach.get(other).is_some_and(|reach| reach.contains(one));
            let (here, there) = (&folders[one], &folders[other]);
            if back && !here.starts_with(there) && !there.starts_with(here) {
                found.push(format!("{one} and {other}"));
            }
        }
    }
    found
}

/// Reads the code files, and what each imports.
fn read() -> (BTreeMap<String, PathBuf>, Imports) {
    let mut files = BTreeMap::new();
    modules(Path::new("src"), &mut files);
    let read = |(module, path): (&String, &PathBuf)| {
        (module.clone(), imports(module, &fs::read_to_string(path).unwrap(), &files))
    };
    let imports = files.iter().map(read).collect();
    (files, imports)
}

/// Lists imports of a room of `http` from one that is not above it; a room that is not in the order is above none.
fn upward(imports: &Imports, order: &[&str]) -> Vec<String> {
    let room = |module: &str| {
        let mut parts = module.strip_prefix("crate::http::")?.split("::");
        parts.next().map(str::to_owned)
    };
    let place = |room: &str| order.iter().position(|one| *one == room);
    let mut found = Vec::new();
    for (module, imported) in imports {
        let Some(here) = room(module) else { continue };
        for other in imported {
            let Some(there) = room(other).filter(|there| *there != here) else { continue };
            if place(&here) <= place(&there) || place(&there).is_none() {
                found.push(format!("{module} imports {other}"));
            }
        }
    }
    found
}

#[test]
fn no_room_of_http_imports_one_above_it() {
    let (files, imports) = read();
    let rooms: BTreeSet<&str> = files
        .keys()
        .filter_map(|module| module.strip_prefix("crate::http::")?.split("::").next())
        .collect();
    assert_eq!(rooms, ROOMS_OF_HTTP.iter().copied().collect(), "each room has its place");
    let found = upward(&imports, ROOMS_OF_HTTP);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn an_import_from_above_is_seen() {
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let graph = Imports::from([
        edge("crate::http::app", "crate::http::screens::shell"),
        edge("crate::http::screens::show", "crate::http::app::tokens"),
        edge("crate::http::screens::shell", "crate::http::elsewhere"),
    ]);
    let expected = [
        "crate::http::app imports crate::http::screens::shell",
        "crate::http::screens::shell imports crate::http::elsewhere",
    ];
    assert_eq!(upward(&graph, &["app", "screens"]), expected);
}

#[test]
fn files_of_different_folders_do_not_import_each_other() {
    let (files, imports) = read();
    assert!(files.len() > 200, "the files were found: {}", files.len());
    let edges: usize = imports.values().map(BTreeSet::len).sum();
    assert!(edges > 800, "the imports were seen: {edges}");
    let folders =
        files.iter().map(|(module, path)| (module.clone(), path.parent().unwrap().to_owned()));
    let found = circles(&imports, &folders.collect());
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_circle_is_seen_however_long_it_is() {
    let graph = |edges: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (from, to) in edges {
            imports.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            imports.entry((*to).to_owned()).or_default();
        }
        imports
    };
    let folders = [("a", "src/x"), ("b", "src/y"), ("c", "src/x/z"), ("d", "src")]
        .map(|(module, folder)| (module.to_owned(), PathBuf::from(folder)));
    let folders = BTreeMap::from(folders);
    assert_eq!(circles(&graph(&[("a", "b"), ("b", "d"), ("d", "a")]), &folders), ["a and b"]);
    assert!(circles(&graph(&[("a", "c"), ("c", "a"), ("d", "a")]), &folders).is_empty());
    assert_eq!(
        paths("crate::{a::B, c::{self, d as e}}"),
        ["crate::a::B", "crate::c::self", "crate::c::d"]
    );
}
