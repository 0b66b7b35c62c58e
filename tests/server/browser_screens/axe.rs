//! axe-core, which judges the accessibility of a page. `bin/axe-for-tests` installs it.

use serde_json::Value;
use std::path::PathBuf;

/// What is asked of a page: WCAG 2.2 at level AA, and what is good practice beyond it. With `true`, only
/// what depends on how the page is shown.
const RUN: &str = "
    const [shown, done] = arguments;
    const runOnly = shown
        ? { type: 'rule', values: ['color-contrast', 'target-size', 'link-in-text-block'] }
        : ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    axe.run(document, { runOnly, resultTypes: ['violations'] }).then(
        ({ violations }) => done(violations.map(({ id, nodes }) =>
            `${id}: ${nodes.map(({ html, failureSummary }) => `${html} (${failureSummary})`).join(', ')}`)),
        (error) => done([String(error)]));";

/// The script, where it was installed.
pub struct Axe(String);

impl Axe {
    pub fn find() -> Option<Self> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let folder = cache.or_else(home)?.join("porteiro/axe/node_modules/axe-core");
        let Ok(script) = std::fs::read_to_string(folder.join("axe.min.js")) else {
            let required = std::env::var("PORTEIRO_TEST_REQUIRE_AXE").is_ok_and(|it| it == "1");
            assert!(!required, "there is no axe-core: bin/axe-for-tests installs it");
            skip();
            return None;
        };
        Some(Self(script))
    }

    /// What makes it known to a page.
    pub fn script(&self) -> &str {
        &self.0
    }

    /// What has it judge a page where it is known.
    pub fn judge() -> &'static str {
        RUN
    }
}

/// Lists what it found.
pub fn violations(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

#[expect(clippy::print_stderr, reason = "what was not judged must not look as if it was")]
fn skip() {
    eprintln!("skipped: axe-core, which bin/axe-for-tests installs");
}
