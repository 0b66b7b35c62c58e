//! A TOML document in which every value knows its line.

use super::{Complaint, Section};
use std::fmt;
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

/// Deeper than files written by hand, and shallow enough for recursion.
const DEEPEST: usize = 32;
/// A file that is not TOML at all would otherwise give thousands of complaints.
const MOST_COMPLAINTS: usize = 20;

/// A file's tables and values; which keys are known is decided later.
pub struct Document {
    root: Section,
}

/// A value and the line it is on; `Debug` shows the line alone, for the value may be secret.
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentValue<T> {
    pub value: T,
    pub line: usize,
}

impl<T> fmt::Debug for DocumentValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocumentValue(line {})", self.line)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Document").field(&self.root).finish()
    }
}

/// A key and what it is set to.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) node: Node,
}

/// A value of the document.
pub(super) enum Node {
    Text(String),
    Number(i64),
    Fraction(f64),
    Flag(bool),
    Moment,
    List(Vec<DocumentValue<Node>>),
    Table(Vec<Entry>),
}

impl Document {
    /// Reads TOML, or returns everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Complaint>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader { text, lines: line_starts(text), complaints: Vec::new() };
        for error in &errors {
            reader.syntax(error);
        }
        let entries = reader.table(table.get_ref(), 0);
        dismantle(table.into_inner());
        let mut complaints = reader.complaints;
        if complaints.is_empty() {
            return Ok(Self { root: Section::new(String::new(), 1, entries) });
        }
        // The parser may report one mistake several times.
        complaints.sort_by_key(|complaint| complaint.line);
        complaints.dedup_by_key(|complaint| complaint.line);
        let more = complaints.len().saturating_sub(MOST_COMPLAINTS);
        if more > 0 {
            complaints.truncate(MOST_COMPLAINTS);
            complaints.push(Complaint::new(0, format!("{more} more lines are not TOML")));
        }
        Err(complaints)
    }

    /// Hands out the top-level table.
    pub fn into_root(self) -> Section {
        self.root
    }
}

/// Turns the parser's spans into lines, and gathers complaints.
struct Reader<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    complaints: Vec<Complaint>,
}

impl Reader<'_> {
    fn line<T>(&self, spanned: &Spanned<T>) -> usize {
        self.line_at(spanned.span().start)
    }

    fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    fn complain(&mut self, line: usize, text: impl Into<String>) {
        self.complaints.push(Complaint::new(line, text));
    }

    fn syntax(&mut self, error: &toml::de::Error) {
        let span = error.span().unwrap_or_default();
        let mut text = error.message().to_owned();
        if text.starts_with("duplicate key") {
            let key = self.text.get(span.clone()).unwrap_or_default();
            text = format!("duplicate key `{}`", key.escape_debug());
        }
        self.complain(self.line_at(span.start), text);
    }

    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let line = self.line(key);
            let name = self.string(key.get_ref(), line);
            if let Some(node) = self.node(value, line, depth) {
                entries.push((key.span().start, Entry { key: name, line, node }));
            }
        }
        // The parser sorts by name; people read from top to bottom.
        entries.sort_by_key(|(offset, _)| *offset);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    fn list(&mut self, list: &DeArray<'_>, depth: usize) -> Vec<DocumentValue<Node>> {
        let mut nodes = Vec::with_capacity(list.len());
        for value in list {
            let line = self.line(value);
            nodes.extend(self.node(value, line, depth).map(|value| DocumentValue { value, line }));
        }
        nodes
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, line: usize, depth: usize) -> Option<Node> {
        if depth == DEEPEST {
            self.complain(line, "is nested too deeply");
            return None;
        }
        Some(match value.get_ref() {
            DeValue::String(text) => Node::Text(self.string(text, line)),
            DeValue::Boolean(flag) => Node::Flag(*flag),
            DeValue::Datetime(_) => Node::Moment,
            DeValue::Array(list) => Node::List(self.list(list, depth + 1)),
            DeValue::Table(table) => Node::Table(self.table(table, depth + 1)),
            DeValue::Integer(digits) => {
                let Ok(number) = i64::from_str_radix(digits.as_str(), digits.radix()) else {
                    self.complain(line, "a number is out of range");
                    return None;
                };
                Node::Number(number)
            }
            DeValue::Float(digits) => {
                let Ok(number) = digits.as_str().parse() else {
                    self.complain(line, "a number is malformed");
                    return None;
                };
                Node::Fraction(number)
            }
        })
    }

    /// PostgreSQL cannot store NUL, and no value needs it.
    fn string(&mut self, text: &str, line: usize) -> String {
        if text.contains('\0') {
            self.complain(line, "a text must not hold the character NUL");
        }
        text.to_owned()
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(breaks.map(|(offset, _)| offset + 1)).collect()
}

/// Drops a table level by level: dotted keys inside inline tables nest so deep that a recursive drop
/// would overflow the stack.
fn dismantle(table: DeTable<'_>) {
    let mut values = vec![DeValue::Table(table)];
    while let Some(value) = values.pop() {
        match value {
            DeValue::Table(table) => {
                values.extend(table.into_iter().map(|(_, value)| value.into_inner()));
            }
            DeValue::Array(list) => values.extend(list.into_iter().map(Spanned::into_inner)),
            _ => {}
        }
    }
}
