//! Where in the file something was declared, and where each part of it.

use std::{collections::HashMap, fmt};

/// A draft and the lines it came from.
pub struct Declaration<D> {
    pub draft: D,
    pub lines: Lines,
}

/// Shows the line alone: a draft may hold a secret.
impl<D> fmt::Debug for Declaration<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Declaration(line {})", self.lines.own)
    }
}

/// The line of a declaration, and those of its parts as far as they are known.
pub struct Lines {
    own: usize,
    fields: HashMap<String, usize>,
    members: HashMap<(&'static str, String), usize>,
}

impl Lines {
    pub(super) fn new(own: usize) -> Self {
        Self { own, fields: HashMap::new(), members: HashMap::new() }
    }

    /// The line of the declaration itself.
    pub fn own(&self) -> usize {
        self.own
    }

    /// The line of a field, or of the declaration where it has no such field.
    pub fn of_field(&self, field: &str) -> usize {
        self.fields.get(field).copied().unwrap_or(self.own)
    }

    /// The line of a member of a list, or of the list where it has no such member.
    pub fn of_member(&self, list: &'static str, member: &str) -> usize {
        let line = self.members.get(&(list, member.to_owned())).copied();
        line.unwrap_or_else(|| self.of_field(list))
    }

    pub(super) fn note_field(&mut self, field: &str, line: usize) {
        self.fields.insert(field.to_owned(), line);
    }

    /// Of a member that is there twice, the first line is kept.
    pub(super) fn note_member(&mut self, list: &'static str, member: &str, line: usize) {
        self.members.entry((list, member.to_owned())).or_insert(line);
    }
}
