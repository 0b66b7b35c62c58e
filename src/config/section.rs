//! A table of a document: its keys are taken one by one, and those that are left are unknown.

use super::{
    Complaint, DocumentValue,
    document::{Entry, Node},
    suggestion,
};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A table, its line, and the keys that have not been taken yet.
///
/// A method that takes a key adds a complaint for a value of the wrong type and returns `None`, as it
/// does for a key that is not there: take everything, [`Section::finish`], then look at the complaints.
#[must_use = "finish it, or unknown keys pass unseen"]
pub struct Section {
    /// The names that lead here, `organization.role`; empty at the top.
    path: String,
    line: usize,
    entries: Vec<Entry>,
    /// Every key that was asked for; the others may be misspellings of these.
    known: Vec<String>,
}

/// Shows the keys alone: values may be secret.
impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.entries.iter().map(|entry| (&entry.key, entry.line));
        f.debug_map().entries(keys).finish()
    }
}

impl Section {
    pub(super) fn new(path: String, line: usize, entries: Vec<Entry>) -> Self {
        Self { path, line, entries, known: Vec::new() }
    }

    /// The line its header is on.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The keys that have not been taken, from top to bottom.
    pub fn keys(&self) -> impl Iterator<Item = DocumentValue<&str>> {
        self.entries
            .iter()
            .map(|entry| DocumentValue { value: entry.key.as_str(), line: entry.line })
    }

    /// Returns whether the key is there and has not been taken.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Complains of each of the keys that is not there; for before they are taken.
    pub fn demand(&self, keys: &[&str], complaints: &mut Vec<Complaint>) {
        for key in keys.iter().filter(|key| !self.has(key)) {
            let text = format!("`{}` is missing", self.name_of(key));
            complaints.push(Complaint::new(self.line, text));
        }
    }

    /// Takes a text.
    pub fn text(
        &mut self,
        key: &str,
        complaints: &mut Vec<Complaint>,
    ) -> Option<DocumentValue<String>> {
        let entry = self.take(key)?;
        match entry.node {
            Node::Text(value) => Some(DocumentValue { value, line: entry.line }),
            other => self.wrong(key, "a text in quotes", &other).at(entry.line, complaints),
        }
    }

    /// Takes `true` or `false`.
    pub fn flag(
        &mut self,
        key: &str,
        complaints: &mut Vec<Complaint>,
    ) -> Option<DocumentValue<bool>> {
        let entry = self.take(key)?;
        match entry.node {
            Node::Flag(value) => Some(DocumentValue { value, line: entry.line }),
            other => self.wrong(key, "true or false", &other).at(entry.line, complaints),
        }
    }

    /// Takes a whole number that is not negative.
    pub fn number(
        &mut self,
        key: &str,
        complaints: &mut Vec<Complaint>,
    ) -> Option<DocumentValue<u64>> {
        let entry = self.take(key)?;
        let number = match entry.node {
            Node::Number(number) => u64::try_from(number).ok(),
            _ => None,
        };
        match number {
            Some(value) => Some(DocumentValue { value, line: entry.line }),
            None => {
                self.wrong(key, "a whole number, 0 or more", &entry.node).at(entry.line, complaints)
            }
        }
    }

    /// Takes a list of texts, each with its own line.
    pub fn texts(
        &mut self,
        key: &str,
        complaints: &mut Vec<Complaint>,
    ) -> Option<DocumentValue<Vec<DocumentValue<String>>>> {
        const EXPECTED: &str = "a list of texts in quotes";
        let entry = self.take(key)?;
        let Node::List(list) = entry.node else {
            return self.wrong(key, EXPECTED, &entry.node).at(entry.line, complaints);
        };
        let mut texts = Vec::with_capacity(list.len());
        for DocumentValue { value, line } in list {
            match value {
                Node::Text(value) => texts.push(DocumentValue { value, line }),
                other => self.wrong_member(key, EXPECTED, &other).note(line, complaints),
            }
        }
        Some(DocumentValue { value: texts, line: entry.line })
    }

    /// Takes a table.
    pub fn table(&mut self, key: &str, complaints: &mut Vec<Complaint>) -> Option<Section> {
        let entry = self.take(key)?;
        match entry.node {
            Node::Table(entries) => Some(Self::new(self.name_of(key), entry.line, entries)),
            other => self.wrong(key, "a table", &other).at(entry.line, complaints),
        }
    }

    /// Takes an array of tables, however it is written; none when the key is not there.
    pub fn tables(&mut self, key: &str, complaints: &mut Vec<Complaint>) -> Vec<Section> {
        const EXPECTED: &str = "a list of tables";
        let Some(entry) = self.take(key) else { return Vec::new() };
        let Node::List(list) = entry.node else {
            self.wrong(key, EXPECTED, &entry.node).note(entry.line, complaints);
            return Vec::new();
        };
        let mut tables = Vec::with_capacity(list.len());
        for DocumentValue { value, line } in list {
            match value {
                Node::Table(entries) => tables.push(Self::new(self.name_of(key), line, entries)),
                other => self.wrong_member(key, EXPECTED, &other).note(line, complaints),
            }
        }
        tables
    }

    /// Takes any value, as JSON, which knows neither dates nor NaN.
    pub fn value_as_json(
        &mut self,
        key: &str,
        complaints: &mut Vec<Complaint>,
    ) -> Option<DocumentValue<Value>> {
        let entry = self.take(key)?;
        let value = self.json(key, entry.node, entry.line, complaints)?;
        Some(DocumentValue { value, line: entry.line })
    }

    /// Complains of every key that was not taken.
    pub fn finish(self, complaints: &mut Vec<Complaint>) {
        for entry in &self.entries {
            let nearest = suggestion::nearest(&entry.key, self.known.iter().map(String::as_str));
            let meant = nearest.map(|key| self.name_of(key));
            let text = suggestion::unknown("key", &self.name_of(&entry.key), meant.as_deref());
            complaints.push(Complaint::new(entry.line, text));
        }
    }

    fn take(&mut self, key: &str) -> Option<Entry> {
        self.known.push(key.to_owned());
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    fn json(
        &self,
        key: &str,
        node: Node,
        line: usize,
        complaints: &mut Vec<Complaint>,
    ) -> Option<Value> {
        match node {
            Node::Text(text) => Some(Value::String(text)),
            Node::Number(number) => Some(Value::from(number)),
            Node::Flag(flag) => Some(Value::Bool(flag)),
            Node::Fraction(number) => match Number::from_f64(number) {
                Some(number) => Some(Value::Number(number)),
                None => self.wrong(key, "a finite number", &node).at(line, complaints),
            },
            Node::Moment => self
                .wrong_member(key, "what JSON knows: write the date as a text in quotes", &node)
                .at(line, complaints),
            Node::List(list) => {
                let json =
                    |node: DocumentValue<Node>| self.json(key, node.value, node.line, complaints);
                Some(Value::Array(list.into_iter().filter_map(json).collect()))
            }
            Node::Table(entries) => {
                let mut object = Map::new();
                for Entry { key: member, line, node } in entries {
                    if let Some(value) = self.json(key, node, line, complaints) {
                        object.insert(member, value);
                    }
                }
                Some(Value::Object(object))
            }
        }
    }

    fn name_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn wrong(&self, key: &str, expected: &str, found: &Node) -> WrongType {
        let key = self.name_of(key);
        WrongType(format!("`{key}` must be {expected}, found {}", found.kind()))
    }

    fn wrong_member(&self, key: &str, expected: &str, found: &Node) -> WrongType {
        let key = self.name_of(key);
        WrongType(format!("`{key}` must be {expected}, found {} in it", found.kind()))
    }
}

/// A value of the wrong type, still without its line.
struct WrongType(String);

impl WrongType {
    fn note(self, line: usize, complaints: &mut Vec<Complaint>) {
        complaints.push(Complaint::new(line, self.0));
    }

    fn at<T>(self, line: usize, complaints: &mut Vec<Complaint>) -> Option<T> {
        self.note(line, complaints);
        None
    }
}

impl Node {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Number(number) if *number < 0 => "a negative number",
            Self::Number(_) => "a number",
            Self::Fraction(number) if !number.is_finite() => "a number that is none",
            Self::Fraction(_) => "a fraction",
            Self::Flag(_) => "true or false",
            Self::Moment => "a date or time",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}
