//! The import rules, executed.

use std::{fs, path::Path};

/// What the lines of a room must not contain.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "src/domain",
        &[
            "crate::actors",
            "crate::http",
            "crate::store",
            "crate::crypto",
            "crate::outbound",
            "crate::clock",
            "crate::system",
            "tokio",
            "ractor",
            "actix",
            "axum",
            "sqlx",
            "hyper",
            "tracing",
            "aws_lc_rs",
            "std::fs",
            "std::net",
            "std::env",
            "std::thread",
            "SystemTime",
            "Instant",
            "async fn",
            ".await",
        ],
    ),
    (
        "src/config",
        &[
            "crate::actors",
            "crate::http",
            "crate::store",
            "crate::crypto",
            "crate::outbound",
            "crate::clock",
            "crate::system",
            "std::env",
            "tokio",
            "ractor",
            "actix",
            "axum",
            "sqlx",
            "hyper",
        ],
    ),
    (
        "src/crypto",
        &[
            "crate::actors",
            "crate::http",
            "crate::store",
            "crate::outbound",
            "crate::system",
            "tokio",
            "ractor",
            "actix",
            "axum",
            "sqlx",
            "hyper",
        ],
    ),
    (
        "src/store",
        &[
            "crate::actors",
            "crate::http",
            "crate::crypto",
            "crate::outbound",
            "crate::system",
            "ractor",
            "actix",
            "axum",
            "hyper",
            "domain::Machine",
            "Decision",
            "signing_keys",
        ],
    ),
    (
        "src/outbound",
        &[
            "crate::actors",
            "crate::http",
            "crate::store",
            "crate::crypto",
            "crate::system",
            "ractor",
            "actix",
            "axum",
            "sqlx",
        ],
    ),
    (
        "src/breach",
        &[
            "crate::actors",
            "crate::cli",
            "crate::config",
            "crate::crypto",
            "crate::http",
            "crate::server",
            "crate::store",
            "crate::system",
            "ractor",
            "actix",
            "axum",
            "sqlx",
        ],
    ),
    ("src/client_documents", CALLS_OUT),
    ("src/upstream", CALLS_OUT),
    ("src/geo", CALLS_OUT),
    (
        "src/transport",
        &[
            "crate::actors",
            "crate::cli",
            "crate::config",
            "crate::domain",
            "crate::http",
            "crate::outbound",
            "crate::server",
            "crate::store",
            "crate::system",
            "ractor",
            "actix",
            "sqlx",
        ],
    ),
    (
        "src/actors",
        &["crate::http", "crate::system", "axum", "askama", "sqlx", "SELECT ", "UPDATE "],
    ),
    (
        "src/messages",
        &[
            "crate::http",
            "crate::store",
            "crate::system",
            "crate::server",
            "crate::cli",
            "axum",
            "sqlx",
            "ractor",
            "actix",
        ],
    ),
    ("src/backchannel", DELIVERS),
    ("src/webhooks", DELIVERS),
    ("src/provisioning", &["crate::http", "axum", "sqlx", "ractor"]),
    (
        "src/http",
        &[
            "crate::cli",
            "crate::config",
            "crate::provisioning",
            "crate::server",
            "sqlx",
            "ractor",
            "ActorRef",
            "SELECT ",
        ],
    ),
];

/// What rooms that call out for documents must not use.
const CALLS_OUT: &[&str] = &[
    "crate::actors",
    "crate::cli",
    "crate::config",
    "crate::http",
    "crate::server",
    "crate::store",
    "crate::system",
    "ractor",
    "actix",
    "axum",
    "sqlx",
];

/// What rooms that deliver messages must not use.
const DELIVERS: &[&str] = &[
    "crate::http",
    "crate::store",
    "crate::system",
    "crate::server",
    "crate::cli",
    "crate::config",
    "axum",
    "sqlx",
    "ractor",
    "actix",
];

/// Words that belong to one file alone.
const AT_HOME: &[(&str, &str)] = &[
    ("PRAGMA", "src/store/engine/sqlite.rs"),
    ("pragma_update", "src/store/engine/sqlite.rs"),
    ("FOR SHARE", "src/store/engine/postgres.rs"),
    ("plpgsql", "src/store/engine/triggers.rs"),
    ("BEGIN IMMEDIATE", "src/store/engine.rs"),
    ("SystemTime::now", "src/clock.rs"),
    ("Instant::now", "src/clock.rs"),
    // The beginning of a transaction that a pooler lends a session for, of settings that are escaped.
    ("AssertSqlSafe", "src/store/engine/postgres/session.rs"),
];

#[test]
fn every_room_imports_only_what_it_may() {
    let mut read = 0;
    for (room, forbidden) in FORBIDDEN {
        visit(Path::new(room), &mut |path, line| {
            read += 1;
            for word in *forbidden {
                assert!(!uses(line, word), "{} must not use {word}: {line}", path.display());
            }
        });
    }
    assert!(read > 1_000, "the rooms were found");
}

/// Tells whether a line has this word, and not one that only begins with it.
fn uses(line: &str, word: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let is_path = word.starts_with("crate::");
    line.match_indices(word).any(|(at, _)| !is_path || !goes_on(&line[at + word.len()..]))
}

#[test]
fn http_reads_the_store_through_its_views_alone() {
    visit(Path::new("src/http"), &mut |path, line| {
        let views = "crate::store::views";
        let bad = line.replace(views, "").contains("crate::store") || line.contains(".store()");
        assert!(!bad, "{} may use {views} and nothing else of it: {line}", path.display());
    });
}

#[test]
fn what_belongs_to_one_file_stays_there() {
    visit(Path::new("src"), &mut |path, line| {
        for (word, home) in AT_HOME {
            let at_home = path == Path::new(home);
            assert!(at_home || !line.contains(word), "{word} lives in {home}: {}", path.display());
        }
    });
}

#[test]
fn drivers_are_known_to_the_engine_alone() {
    visit(Path::new("src"), &mut |path, line| {
        let engine = path.starts_with("src/store/engine")
            || [Path::new("src/store/engine.rs"), Path::new("src/store/value.rs")].contains(&path);
        let driver = ["sqlx::", "rusqlite::"].iter().any(|driver| line.contains(driver));
        assert!(engine || !driver, "{}: {line}", path.display());
    });
}

#[test]
fn a_commit_without_an_owner_is_for_what_provisions_alone_in_http() {
    visit(Path::new("src/http"), &mut |path, line| {
        // The management API, SCIM (adr/0133), an account that a proved domain vouches for (adr/0135), what a
        // provider ends (adr/0138), and an identity that is unlinked (adr/0139).
        let homes = [
            "src/http/api",
            "src/http/scim",
            "src/http/flows/sign_on/identity.rs",
            "src/http/oauth/sso/logout.rs",
            "src/http/me/identities.rs",
        ];
        let at_home =
            homes.iter().any(|home| path.starts_with(home)) || path == Path::new("src/http/app.rs");
        let made = line.contains("MultiCommit") || line.contains("multi_commit(");
        assert!(
            at_home || !made,
            "a handler asks one owner (adr/0124): {}: {line}",
            path.display()
        );
    });
}

#[test]
fn actix_is_used_by_the_hashing_pool_alone() {
    visit(Path::new("src"), &mut |path, line| {
        let hashing = path.starts_with("src/actors/hashing") || path.ends_with("hashing.rs");
        assert!(hashing || !line.contains("actix::"), "{}: {line}", path.display());
    });
}

#[test]
fn no_room_has_a_global_that_changes() {
    visit(Path::new("src"), &mut |path, line| {
        let global = line.trim_start();
        let global = global.strip_prefix("pub(super) ").unwrap_or(global);
        let changes = ["Mutex", "RwLock", "Atomic", "OnceLock", "Cell"];
        let bad = global.starts_with("static ") && changes.iter().any(|c| global.contains(c));
        assert!(!bad, "{}: {line}", path.display());
    });
}

/// Calls `look` with every line of code below `folder`, without comments and tests.
fn visit(folder: &Path, look: &mut impl FnMut(&Path, &str)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, look);
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_code = path.extension().is_some_and(|e| e == "rs");
        let is_test = name.contains("tests") || path.components().any(|c| c.as_os_str() == "tests");
        if !is_code || is_test {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for line in code_of(&text) {
            look(&path, &line);
        }
    }
}

/// The lines of code without comments and test modules, and every import in full: `use
/// crate::{a::B, c::D}` is also seen as `crate::a::B` and `crate::c::D`.
fn code_of(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut import = None::<String>;
    let mut skipping = None::<usize>;
    let mut is_test = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        if let Some(depth) = &mut skipping {
            *depth += line.matches('{').count();
            *depth -= line.matches('}').count();
            if *depth == 0 {
                skipping = None;
            }
            continue;
        }
        if line.trim() == "#[cfg(test)]" {
            is_test = true;
            continue;
        }
        if is_test && !line.trim_start().starts_with("#[") {
            is_test = false;
            let depth = line.matches('{').count() - line.matches('}').count();
            skipping = (depth > 0).then_some(depth);
            continue;
        }
        lines.push(line.to_owned());
        let begins = ["use ", "pub use ", "pub(super) use "].iter().any(|w| line.starts_with(w));
        if begins || import.is_some() {
            let whole = import.get_or_insert_default();
            whole.extend(line.chars().filter(|c| !c.is_whitespace()));
            if line.contains(';') {
                lines.extend(expand(&import.take().unwrap_or_default()));
            }
        }
    }
    lines
}

/// Spells out the first level of braces of an import.
fn expand(import: &str) -> Vec<String> {
    let Some((stem, rest)) = import.split_once('{') else { return Vec::new() };
    let stem = stem.trim_start_matches("pub(super)").trim_start_matches("pub");
    let stem = stem.trim_start_matches("use");
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in rest.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        if c != ',' || depth > 0 {
            parts.last_mut().unwrap().push(c);
        }
    }
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("{stem}{part}")).collect()
}

#[test]
fn imports_are_seen_however_they_are_written() {
    let text = "use crate::{\n    domain::X,\n    store::{Y, Z},\n};\n#[cfg(test)]\nmod tests;\n\
                use std::fs;\n#[cfg(test)]\nmod more {\n    use crate::http;\n}\nfn after() {}\n";
    let seen = code_of(text);
    for expected in ["crate::domain::X", "crate::store::{Y,Z}", "use std::fs;", "fn after() {}"] {
        assert!(seen.iter().any(|line| line == expected), "{expected}: {seen:?}");
    }
    assert!(!seen.iter().any(|line| line.contains("crate::http")));
}
