//! Shows a person at a terminal that something is under way; it is not in logs or data.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(100);

/// Turns while something of unknown length is under way.
pub(super) fn spinner(what: &'static str) -> ProgressBar {
    // Drawn to standard error, and only if that is a terminal.
    let spinner = ProgressBar::new_spinner().with_message(what);
    spinner.enable_steady_tick(TICK);
    spinner
}

/// Fills while so many things are done one by one.
pub(super) fn bar(what: &'static str, things: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(things as u64).with_style(style).with_message(what)
}
