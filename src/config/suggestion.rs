//! "Did you mean": the known name that a mistyped one is nearest to.

/// Returns the known name nearest to `typed`, if it is near enough to be what was meant.
pub(super) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// Names what is unknown, and what may have been meant.
pub(super) fn unknown(what: &str, typed: &str, meant: Option<&str>) -> String {
    // A quoted key may hold anything; it is shown so that it stays on one line.
    let typed = typed.escape_debug();
    match meant {
        Some(name) => format!("unknown {what} `{typed}`, did you mean `{name}`?"),
        None => format!("unknown {what} `{typed}`"),
    }
}
