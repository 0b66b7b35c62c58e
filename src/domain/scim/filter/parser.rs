//! Reads filters and the paths of patches.
//!
//! Written by hand: the crate `scim_v2` refuses `$ref` and `not(…)`, which the RFCs allow, and
//! brings a lexer of regular expressions for a grammar this small.

use super::{
    Comparand, Literal, MAX_FILTER_DEPTH, MAX_FILTER_LENGTH, MAX_FILTER_TERMS, Node, Operator,
    Subject, Test, ValuePath,
};
use crate::domain::scim::{
    attribute_path::{AttributePath, Target, is_path_byte},
    error::{ScimError, excerpt},
    schema::{Attribute, ResourceType},
};

/// Reads one text from its start to its end. It never goes back more than one word.
pub(in crate::domain::scim) struct Parser<'a> {
    text: &'a str,
    place: usize,
    depth: usize,
    terms: usize,
    scope: Scope,
}

/// Where the paths in a condition begin.
#[derive(Clone, Copy)]
enum Scope {
    Resource(&'static ResourceType),
    /// Within the brackets of an attribute; `None` where the schema does not know it.
    Value(Option<&'static Attribute>),
}

impl<'a> Parser<'a> {
    pub(in crate::domain::scim) fn new(
        text: &'a str,
        resource_type: &'static ResourceType,
    ) -> Self {
        Self { text, place: 0, depth: 0, terms: 0, scope: Scope::Resource(resource_type) }
    }

    /// Reads the whole text as a filter.
    pub(in crate::domain::scim) fn read_filter(mut self) -> Result<Node, ScimError> {
        self.check_length()?;
        let root = self.read_or()?;
        self.skip_space();
        if self.place < self.text.len() {
            return Err(self.unexpected("the end of the filter"));
        }
        Ok(root)
    }

    pub(in crate::domain::scim) fn check_length(&self) -> Result<(), ScimError> {
        if self.text.len() > MAX_FILTER_LENGTH {
            let detail = format!("a filter has at most {MAX_FILTER_LENGTH} bytes");
            return Err(ScimError::invalid_filter(detail));
        }
        Ok(())
    }

    fn read_or(&mut self) -> Result<Node, ScimError> {
        let mut nodes = Vec::new();
        loop {
            match self.read_and()? {
                Node::Or(more) => nodes.extend(more),
                node => nodes.push(node),
            }
            if !self.take_word("or") {
                return Ok(join(nodes, Node::Or));
            }
        }
    }

    fn read_and(&mut self) -> Result<Node, ScimError> {
        let mut nodes = Vec::new();
        loop {
            match self.read_atom()? {
                Node::And(more) => nodes.extend(more),
                node => nodes.push(node),
            }
            if !self.take_word("and") {
                return Ok(join(nodes, Node::And));
            }
        }
    }

    fn read_atom(&mut self) -> Result<Node, ScimError> {
        if self.take(b'(') {
            return self.read_group();
        }
        let start = self.place;
        if self.take_word("not") {
            if self.take(b'(') {
                return Ok(Node::Not(Box::new(self.read_group()?)));
            }
            self.place = start;
        }
        let path = self.read_path()?;
        let scope = self.scope;
        match scope {
            Scope::Resource(resource_type) if self.take(b'[') => {
                self.read_values(path, resource_type)
            }
            _ => self.read_test(path),
        }
    }

    /// Reads on after an opening bracket.
    fn read_group(&mut self) -> Result<Node, ScimError> {
        self.enter()?;
        let node = self.read_or()?;
        if !self.take(b')') {
            return Err(self.unexpected("`)`"));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn read_values(
        &mut self,
        path: AttributePath,
        resource_type: &'static ResourceType,
    ) -> Result<Node, ScimError> {
        let target = path.target(resource_type);
        let mut condition = self.read_condition(target)?;
        // `emails[type eq "work"].value eq "x"` is beyond the grammar, but clients write it.
        if self.text.as_bytes().get(self.place) == Some(&b'.') {
            self.place += 1;
            let part = self.read_path()?;
            self.scope = Scope::Value(target.map(|target| target.attribute));
            let test = self.read_test(part)?;
            self.scope = Scope::Resource(resource_type);
            condition = Node::And(match condition {
                Node::And(nodes) => nodes.into_iter().chain([test]).collect(),
                node => vec![node, test],
            });
        }
        Ok(Node::Values(ValuePath { path, target, condition: Box::new(condition) }))
    }

    /// Reads the condition within square brackets, and the bracket that closes them.
    pub(in crate::domain::scim) fn read_condition(
        &mut self,
        target: Option<Target>,
    ) -> Result<Node, ScimError> {
        self.enter()?;
        let scope = self.scope;
        self.scope = Scope::Value(target.map(|target| target.attribute));
        let condition = self.read_or()?;
        self.scope = scope;
        if !self.take(b']') {
            return Err(self.unexpected("`]`"));
        }
        self.depth -= 1;
        Ok(condition)
    }

    fn read_test(&mut self, path: AttributePath) -> Result<Node, ScimError> {
        self.terms += 1;
        if self.terms > MAX_FILTER_TERMS {
            let detail = format!("a filter has at most {MAX_FILTER_TERMS} comparisons");
            return Err(ScimError::invalid_filter(detail));
        }
        self.skip_space();
        let Some(operator) = Operator::parse(self.peek_word()) else {
            return Err(self.unexpected("an operator"));
        };
        self.place += self.peek_word().len();
        let literal = match operator {
            Operator::Present => Literal::Null,
            _ => self.read_literal()?,
        };
        let subject = self.find_subject(&path);
        let comparand = Comparand::new(subject, operator, &literal)?;
        Ok(Node::Test(Test { path, subject, operator, literal, comparand }))
    }

    fn find_subject(&self, path: &AttributePath) -> Subject {
        match self.scope {
            Scope::Resource(resource_type) => {
                path.target(resource_type).map_or(Subject::Unknown, Subject::Attribute)
            }
            Scope::Value(Some(attribute)) if path.urn.is_none() && path.sub_attribute.is_none() => {
                attribute.sub_attribute(&path.name).map_or(Subject::Unknown, Subject::Part)
            }
            Scope::Value(_) => Subject::Unknown,
        }
    }

    fn read_literal(&mut self) -> Result<Literal, ScimError> {
        self.skip_space();
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.read_text();
        }
        let is_number_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let word: &str = rest.get(..rest.bytes().take_while(is_number_byte).count()).unwrap_or("");
        let literal = match word.to_ascii_lowercase().as_str() {
            "true" => Literal::Boolean(true),
            "false" => Literal::Boolean(false),
            "null" => Literal::Null,
            _ => match serde_json::from_str(word) {
                Ok(number) => Literal::Number(number),
                Err(_) => return Err(self.unexpected("a text in quotes, a number, true or false")),
            },
        };
        self.place += word.len();
        Ok(literal)
    }

    /// Reads a JSON string.
    fn read_text(&mut self) -> Result<Literal, ScimError> {
        let rest = self.rest();
        let mut is_escape = false;
        let end = rest.bytes().enumerate().skip(1).find(|(_, byte)| {
            let is_end = *byte == b'"' && !is_escape;
            is_escape = *byte == b'\\' && !is_escape;
            is_end
        });
        let quoted = end.and_then(|(end, _)| rest.get(..=end));
        let text: Option<String> = quoted.and_then(|quoted| serde_json::from_str(quoted).ok());
        // Nothing that is stored has such a character, and not every database could be asked for one.
        let text = text.filter(|text| !text.contains('\0'));
        match (quoted, text) {
            (Some(quoted), Some(text)) => {
                self.place += quoted.len();
                Ok(Literal::Text(text))
            }
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    /// Reads the path of an attribute.
    pub(in crate::domain::scim) fn read_path(&mut self) -> Result<AttributePath, ScimError> {
        self.skip_space();
        let word = self.peek_word();
        let Some(path) = AttributePath::parse(word) else {
            return Err(self.unexpected("the name of an attribute"));
        };
        self.place += word.len();
        Ok(path)
    }

    /// Takes this byte if it comes next, after any space.
    pub(in crate::domain::scim) fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.text.as_bytes().get(self.place) == Some(&byte);
        self.place += usize::from(found);
        found
    }

    /// Takes this word in any case if it comes next.
    fn take_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let found = self.peek_word().eq_ignore_ascii_case(word);
        self.place += if found { word.len() } else { 0 };
        found
    }

    fn peek_word(&self) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| is_path_byte(*byte)).count();
        rest.get(..length).unwrap_or("")
    }

    /// Returns what is not read yet.
    pub(in crate::domain::scim) fn rest(&self) -> &'a str {
        self.text.get(self.place..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        self.place += self.rest().bytes().take_while(u8::is_ascii_whitespace).count();
    }

    fn enter(&mut self) -> Result<(), ScimError> {
        self.depth += 1;
        if self.depth > MAX_FILTER_DEPTH {
            let detail = format!("a filter is nested at most {MAX_FILTER_DEPTH} deep");
            return Err(ScimError::invalid_filter(detail));
        }
        Ok(())
    }

    fn unexpected(&self, expected: &str) -> ScimError {
        let rest = self.rest();
        let found = if rest.is_empty() { "the end".to_owned() } else { excerpt(rest) };
        let place = self.place;
        ScimError::invalid_filter(format!("at byte {place}: expected {expected}, found {found}"))
    }
}

fn join(mut nodes: Vec<Node>, make: fn(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(single) if nodes.is_empty() => single,
        Some(last) => {
            nodes.push(last);
            make(nodes)
        }
        None => make(nodes),
    }
}
