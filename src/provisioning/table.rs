//! A table of the file while it is read: takes what is there, notes its line, complains of the rest.

use super::{
    connections::ConnectionEntry,
    domains::DomainEntry,
    lines::{Declaration, Lines},
};
use crate::{
    config::{Complaint, DocumentValue, Section, read_bytes},
    domain::authority::Permission,
};
use std::{
    collections::{HashMap, hash_map::Entry},
    path::{Path, PathBuf},
};

/// How much a list may hold.
const MOST_MEMBERS: usize = 1_000;
pub(super) const LONGEST_NAME: usize = 200;
/// How much of a text a complaint repeats.
const EXCERPT: usize = 100;

/// The complaints about a file so far, and what it may give only once.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) complaints: Vec<Complaint>,
    first: HashMap<(&'static str, String), usize>,
    /// Where files that it names are looked for.
    pub(super) folder: Option<PathBuf>,
    /// How many logos it has named.
    pub(super) logos: usize,
    /// Which of its clients must be usable, and which must not, so far.
    pub(super) clients_enabled: HashMap<String, bool>,
    /// The domains of its organizations, so far.
    pub(super) domains: Vec<Declaration<DomainEntry>>,
    /// The connections of its organizations, so far.
    pub(super) connections: Vec<Declaration<ConnectionEntry>>,
}

impl Reading {
    /// Reads a file that may name others in `folder`.
    pub(super) fn beside(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), ..Self::default() }
    }

    pub(super) fn complain(&mut self, line: usize, text: impl Into<String>) {
        self.complaints.push(Complaint::new(line, text));
    }

    /// Complains of what the file has given before.
    pub(super) fn once(&mut self, what: &'static str, name: &str, line: usize) {
        match self.first.entry((what, name.to_owned())) {
            Entry::Vacant(place) => drop(place.insert(line)),
            Entry::Occupied(before) => {
                let before = *before.get();
                let name = excerpt(name);
                self.complain(line, format!("the {what} `{name}` is on line {before} already"));
            }
        }
    }
}

/// A table and where it is; every taker complains as those of [`Section`] do.
#[must_use = "finish it, or unknown keys pass unseen"]
pub(super) struct Table<'a> {
    pub(super) reading: &'a mut Reading,
    path: &'static str,
    section: Section,
    lines: Lines,
}

impl<'a> Table<'a> {
    pub(super) fn new(path: &'static str, section: Section, reading: &'a mut Reading) -> Self {
        let lines = Lines::new(section.line());
        Self { reading, path, section, lines }
    }

    /// The keys that were not taken yet.
    pub(super) fn keys(&self) -> Vec<String> {
        self.section.keys().map(|key| key.value.to_owned()).collect()
    }

    /// Complains of each of the keys that is not there; for before they are taken.
    pub(super) fn demand(&mut self, keys: &[&str]) {
        self.section.demand(keys, &mut self.reading.complaints);
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<DocumentValue<String>> {
        let text = self.section.text(key, &mut self.reading.complaints)?;
        self.lines.note_field(key, text.line);
        Some(text)
    }

    /// Takes a name for people.
    pub(super) fn name(&mut self, key: &'static str) -> Option<String> {
        let DocumentValue { value, line } = self.text(key)?;
        let Some(wrong) = wrong_name(&value) else { return Some(value) };
        self.complain_of(key, line, &wrong);
        None
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        let flag = self.section.flag(key, &mut self.reading.complaints)?;
        self.lines.note_field(key, flag.line);
        Some(flag.value)
    }

    pub(super) fn texts(&mut self, key: &'static str) -> Option<Vec<DocumentValue<String>>> {
        let DocumentValue { value, line } =
            self.section.texts(key, &mut self.reading.complaints)?;
        self.lines.note_field(key, line);
        if !self.is_bounded(key, line, value.len()) {
            return None;
        }
        for member in &value {
            self.lines.note_member(key, &member.value, member.line);
        }
        Some(value)
    }

    /// Takes who made it, beside the operator; there is one that it can be.
    pub(super) fn made_by(&mut self, maker: &str) -> bool {
        const KEY: &str = "made_by";
        let Some(DocumentValue { value, line }) = self.text(KEY) else { return false };
        if value != maker {
            self.complain_of(KEY, line, &format!("must be `{maker}`, or be left out"));
        }
        value == maker
    }

    /// Takes a list of permissions, each with its line.
    pub(super) fn permissions(
        &mut self,
        key: &'static str,
    ) -> Option<Vec<DocumentValue<Permission>>> {
        let mut permissions = Vec::new();
        for DocumentValue { value, line } in self.texts(key)? {
            match Permission::parse(&value) {
                Ok(value) => permissions.push(DocumentValue { value, line }),
                Err(why) => {
                    let value = excerpt(&value);
                    self.complain_of(key, line, &format!("contains `{value}`: {why}"));
                }
            }
        }
        Some(permissions)
    }

    /// Takes the tables of a list, which is none where the key is not there.
    pub(super) fn tables(&mut self, key: &'static str) -> Option<Vec<Section>> {
        let line = self.section.keys().find(|there| there.value == key)?.line;
        self.lines.note_field(key, line);
        let tables = self.section.tables(key, &mut self.reading.complaints);
        self.is_bounded(key, line, tables.len()).then_some(tables)
    }

    /// Takes a whole number that is not negative.
    pub(super) fn number(&mut self, key: &'static str) -> Option<DocumentValue<u64>> {
        let number = self.section.number(key, &mut self.reading.complaints)?;
        self.lines.note_field(key, number.line);
        Some(number)
    }

    /// Takes a table.
    pub(super) fn table(&mut self, key: &str) -> Option<Section> {
        let table = self.section.table(key, &mut self.reading.complaints)?;
        self.lines.note_field(key, table.line());
        Some(table)
    }

    /// Takes whatever is there, as JSON.
    pub(super) fn json(&mut self, key: &str) -> Option<DocumentValue<serde_json::Value>> {
        let value = self.section.value_as_json(key, &mut self.reading.complaints)?;
        self.lines.note_field(key, value.line);
        Some(value)
    }

    /// Notes where a member of a list was, so that complaints of it find their line.
    pub(super) fn note_member(&mut self, list: &'static str, member: &str, line: usize) {
        self.lines.note_member(list, member, line);
    }

    pub(super) fn complain_of(&mut self, key: &str, line: usize, wrong: &str) {
        self.reading.complain(line, format!("`{}.{key}` {wrong}", self.path));
    }

    /// Reads the file that `key` names, as it is now, and makes of it what it is for.
    pub(super) fn named_file<T>(
        &mut self,
        key: &str,
        named: DocumentValue<String>,
        largest: usize,
        make: impl FnOnce(Vec<u8>) -> Result<T, String>,
    ) -> Option<T> {
        let DocumentValue { value, line } = named;
        let Some(folder) = &self.reading.folder else {
            self.complain_of(key, line, "names a file, and there is no folder to look in");
            return None;
        };
        let path = folder.join(value);
        let read = read_bytes(&path, largest as u64).map_err(|complaint| complaint.text);
        let made = read.and_then(make);
        if let Err(wrong) = &made {
            let path = excerpt(&path.display().to_string());
            self.complain_of(key, line, &format!("cannot be used: `{path}` {wrong}"));
        }
        made.ok()
    }

    /// Complains of every key that was not taken, and returns where the others were.
    pub(super) fn finish(self) -> Lines {
        self.section.finish(&mut self.reading.complaints);
        self.lines
    }

    fn is_bounded(&mut self, key: &str, line: usize, members: usize) -> bool {
        if members > MOST_MEMBERS {
            self.complain_of(key, line, &format!("holds more than {MOST_MEMBERS} entries"));
        }
        members <= MOST_MEMBERS
    }
}

/// Says what is wrong with a name for people, if anything is.
pub(super) fn wrong_name(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        Some("must not be empty".to_owned())
    } else if name.chars().count() > LONGEST_NAME {
        Some(format!("holds more than {LONGEST_NAME} characters"))
    } else if name.chars().any(char::is_control) {
        Some("contains a control character".to_owned())
    } else {
        None
    }
}

/// Shortens a text for a complaint.
pub(super) fn excerpt(text: &str) -> String {
    let mut words = plain(text.chars().take(EXCERPT));
    if text.chars().nth(EXCERPT).is_some() {
        words.push('…');
    }
    words
}

/// Leaves nothing in a text that a terminal would obey.
pub(super) fn plain(text: impl Iterator<Item = char>) -> String {
    let mut words = String::new();
    for letter in text {
        match letter {
            '"' | '\'' | '\\' => words.push(letter),
            _ => words.extend(letter.escape_debug()),
        }
    }
    words
}
