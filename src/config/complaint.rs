//! What is wrong with a file, and on which of its lines.

use std::path::Path;

/// One fault of a file; never quotes a value, for a value may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Counted from 1; 0 is the file as a whole.
    pub line: usize,
    pub text: String,
}

impl Complaint {
    pub fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into() }
    }

    /// Returns it as editors and terminals know it: `FILE:LINE: text`.
    pub fn of_file(&self, path: &Path) -> String {
        match self.line {
            0 => format!("{}: {}", path.display(), self.text),
            line => format!("{}:{line}: {}", path.display(), self.text),
        }
    }
}
