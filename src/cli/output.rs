//! How entries are printed: a list as one JSON array or as aligned lines, one entry as an object or as
//! lines of its members.

use super::say;
use crate::domain::is_hidden;
use serde_json::Value;
use std::io;

/// How many lines are aligned with each other.
const ALIGNED: usize = 100;

/// A list that is printed while it is read: some are long.
pub(super) struct ListPrinter<const N: usize> {
    json: bool,
    /// Printed when the next one comes, which decides what stands between them.
    held: Option<String>,
    any: bool,
    lines: Vec<[String; N]>,
    widths: [usize; N],
}

impl<const N: usize> ListPrinter<N> {
    pub(super) fn new(json: bool) -> Self {
        Self { json, held: None, any: false, lines: Vec::new(), widths: [0; N] }
    }

    /// Prints an entry: the object, or the cells of its line.
    pub(super) fn entry(
        &mut self,
        object: impl FnOnce() -> Value,
        cells: impl FnOnce() -> [String; N],
    ) -> io::Result<()> {
        if self.json {
            let former = self.held.replace(object().to_string());
            if let Some(former) = former {
                say(&format!("{}{former},", self.opening()))?;
                self.any = true;
            }
            return Ok(());
        }
        self.any = true;
        self.lines.push(cells().map(|cell| visible(&cell)));
        if self.lines.len() == ALIGNED { self.print_lines() } else { Ok(()) }
    }

    /// Ends the list; people are told where it is empty.
    pub(super) fn end(mut self, empty: &str) -> io::Result<()> {
        if self.json {
            let last = self.held.take().unwrap_or_default();
            return say(&format!("{}{last}]", self.opening()));
        }
        self.print_lines()?;
        if self.any { Ok(()) } else { say(empty) }
    }

    fn opening(&self) -> &'static str {
        if self.any { "" } else { "[" }
    }

    fn print_lines(&mut self) -> io::Result<()> {
        for line in &self.lines {
            for (width, cell) in self.widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        for line in self.lines.drain(..) {
            let cells = line.iter().zip(self.widths);
            let padded: Vec<String> =
                cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
            say(padded.join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// Prints one entry: the object, or each member on a line of its own.
pub(super) fn show(json: bool, object: &Value) -> io::Result<()> {
    if json {
        return say(&object.to_string());
    }
    let members = object.as_object();
    let longest = members.into_iter().flatten().map(|(name, _)| name.chars().count()).max();
    let width = longest.unwrap_or(0);
    for (name, value) in members.into_iter().flatten() {
        let text = match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(members) if members.iter().all(Value::is_string) => {
                members.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            other => other.to_string(),
        };
        say(format!("{name:<width$}  {}", visible(&text)).trim_end())?;
    }
    Ok(())
}

/// Leaves nothing in a text that a terminal would obey or a person could not see.
pub(super) fn visible(text: &str) -> String {
    text.chars().map(|one| if is_hidden(one) { '\u{fffd}' } else { one }).collect()
}

/// A cell that may have nothing to say.
pub(super) fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}
