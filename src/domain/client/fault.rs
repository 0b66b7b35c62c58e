//! What is wrong with a member of client metadata, in words for its author.

use super::{KeySetFault, UriFault};
use crate::domain::is_hidden;
use std::fmt;

/// How much of a value a complaint repeats.
const EXCERPT: usize = 100;

/// One complaint about one member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {problem}", field = excerpt(field))]
pub struct FieldFault {
    /// The member as it was written, its language tag included.
    pub field: String,
    pub problem: FieldProblem,
}

impl FieldFault {
    pub(super) fn new(field: impl Into<String>, problem: FieldProblem) -> Self {
        Self { field: field.into(), problem }
    }
}

/// Why a member cannot stand; reads on from the member's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    #[error("is not a field of client metadata")]
    Unknown,
    #[error("must be {0}")]
    Shape(Shape),
    #[error("must not be empty")]
    Empty,
    #[error("holds more than {most} characters in one string")]
    TooLong { most: usize },
    /// Of all members together.
    #[error("holds more than {most} bytes")]
    TooLarge { most: usize },
    #[error("holds more than {most} entries")]
    TooMany { most: usize },
    #[error("contains a character that cannot be seen, or that changes the order of others")]
    HiddenCharacter,
    /// The whole member belongs to something Porteiro does not do.
    #[error("cannot be honoured: {what} is not offered")]
    NotOffered { what: &'static str },
    #[error("is `{value}`, which {wrong}", value = excerpt(value))]
    Is { value: String, wrong: Wrong },
    #[error("contains `{value}`, which {wrong}", value = excerpt(value))]
    Contains { value: String, wrong: Wrong },
    #[error("{0}")]
    KeySet(KeySetFault),
    #[error("must not be given beside `{other}`")]
    Beside { other: &'static str },
    #[error("is needed {why}")]
    Needed { why: &'static str },
}

/// What a member's value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Text,
    Texts,
    Flag,
    Seconds,
    KeySet,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a string",
            Self::Texts => "a list of strings",
            Self::Flag => "true or false",
            Self::Seconds => "a whole number of seconds",
            Self::KeySet => "a key set, {\"keys\": [...]}",
        })
    }
}

/// Why a value cannot stand; reads on from "which".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("is never offered")]
    NeverOffered,
    #[error("is not offered: client secrets are stored hashed")]
    NeedsClearSecret,
    #[error("is not one of {}", .0.join(", "))]
    NotOneOf(Vec<&'static str>),
    #[error("{0}")]
    Uri(#[from] UriFault),
    #[error("only an application of type `native` may use")]
    NativeOnly,
    #[error("is not a scope")]
    NotAScope,
    #[error("is not a distinguished name such as CN=client,O=Example,C=PT")]
    NotADistinguishedName,
    #[error("is not a host name")]
    NotAHostName,
    #[error("is not an IP address")]
    NotAnAddress,
    #[error("is not an e-mail address")]
    NotAnEmail,
    #[error("is only for clients that authenticate")]
    Unauthenticated,
}

/// Shortens what a client wrote and leaves nothing in it that a terminal would obey.
fn excerpt(value: &str) -> String {
    let mut words: String = value.chars().filter(|c| !is_hidden(*c)).take(EXCERPT).collect();
    if words.len() < value.len() {
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(field: &str, problem: FieldProblem) -> String {
        FieldFault::new(field, problem).to_string()
    }

    #[test]
    fn a_fault_names_the_field_and_what_is_wrong() {
        let shape = FieldProblem::Shape(Shape::Texts);
        assert_eq!(said("redirect_uris", shape), "`redirect_uris` must be a list of strings");
        let value = || "password".to_owned();
        let wrong = FieldProblem::Contains { value: value(), wrong: Wrong::NeverOffered };
        let sentence = "`grant_types` contains `password`, which is never offered";
        assert_eq!(said("grant_types", wrong), sentence);
        let wrong = Wrong::NotOneOf(vec!["web", "native"]);
        let sentence = "`application_type` is `password`, which is not one of web, native";
        assert_eq!(said("application_type", FieldProblem::Is { value: value(), wrong }), sentence);
    }

    #[test]
    fn a_fault_repeats_little_of_what_a_client_wrote() {
        let long = "a".repeat(5_000);
        assert!(said(&long, FieldProblem::Unknown).chars().count() < 200);
        assert_eq!(
            said("a\u{1b}[2J", FieldProblem::Unknown),
            "`a[2J…` is not a field of client metadata"
        );
        assert_eq!(
            said("a\u{202e}b", FieldProblem::Unknown),
            "`ab…` is not a field of client metadata"
        );
    }
}
