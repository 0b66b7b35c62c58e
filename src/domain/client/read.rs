//! How the value of a member is read into its field: by its type, within bounds, or not at all.
//!
//! JSON's null empties the field.

use super::{FieldProblem, Shape, Wrong, jwks};
use crate::domain::is_hidden;
use serde_json::Value;

pub(super) const MOST_CHARACTERS: usize = 2_000;
pub(super) const MOST_ENTRIES: usize = 100;

pub(super) type Outcome = Result<(), Vec<FieldProblem>>;

/// A single value.
pub(super) fn one<T>(
    field: &mut Option<T>,
    value: &Value,
    read: impl Fn(&str) -> Result<T, Wrong>,
) -> Outcome {
    *field = match value {
        Value::Null => None,
        Value::String(text) => Some(entry(text, read).map_err(|problem| vec![problem])?),
        _ => return Err(vec![FieldProblem::Shape(Shape::Text)]),
    };
    Ok(())
}

/// A list, of which none and empty are the same.
pub(super) fn each<T: PartialEq>(
    field: &mut Vec<T>,
    value: &Value,
    read: impl Fn(&str) -> Result<T, Wrong>,
) -> Outcome {
    let mut list = None;
    each_if_given(&mut list, value, read)?;
    *field = list.unwrap_or_default();
    Ok(())
}

/// A list, where an empty one differs from none: no grant at all is not the usual ones.
pub(super) fn each_if_given<T: PartialEq>(
    field: &mut Option<Vec<T>>,
    value: &Value,
    read: impl Fn(&str) -> Result<T, Wrong>,
) -> Outcome {
    if value.is_null() {
        *field = None;
        return Ok(());
    }
    let entries = value.as_array().map(|entries| entries.iter().map(Value::as_str));
    let texts: Vec<&str> = entries
        .and_then(Iterator::collect::<Option<_>>)
        .ok_or_else(|| vec![FieldProblem::Shape(Shape::Texts)])?;
    if texts.len() > MOST_ENTRIES {
        return Err(vec![FieldProblem::TooMany { most: MOST_ENTRIES }]);
    }
    let (mut list, mut problems) = (Vec::new(), Vec::new());
    for text in texts {
        match entry(text, &read) {
            Ok(taken) if list.contains(&taken) => {}
            Ok(taken) => list.push(taken),
            Err(FieldProblem::Is { value, wrong }) => {
                problems.push(FieldProblem::Contains { value, wrong });
            }
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    *field = Some(list);
    Ok(())
}

pub(super) fn flag(field: &mut bool, value: &Value) -> Outcome {
    *field = match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        _ => return Err(vec![FieldProblem::Shape(Shape::Flag)]),
    };
    Ok(())
}

pub(super) fn seconds(field: &mut Option<u32>, value: &Value) -> Outcome {
    let read = value.as_u64().and_then(|seconds| u32::try_from(seconds).ok());
    if read.is_none() && !value.is_null() {
        return Err(vec![FieldProblem::Shape(Shape::Seconds)]);
    }
    *field = read;
    Ok(())
}

pub(super) fn key_set(field: &mut Option<Value>, value: &Value) -> Outcome {
    *field = match (value, jwks::check(value)) {
        (Value::Null, _) => None,
        (_, Some(Ok(set))) => Some(set),
        (_, Some(Err(faults))) => {
            return Err(faults.into_iter().map(FieldProblem::KeySet).collect());
        }
        (_, None) => return Err(vec![FieldProblem::Shape(Shape::KeySet)]),
    };
    Ok(())
}

/// A member that belongs to what is not offered.
pub(super) fn refused(value: &Value, what: &'static str) -> Outcome {
    if value.is_null() { Ok(()) } else { Err(vec![FieldProblem::NotOffered { what }]) }
}

/// A switch for what is not offered: it may be off.
pub(super) fn refused_flag(value: &Value, what: &'static str) -> Outcome {
    let mut on = false;
    flag(&mut on, value)?;
    if on { Err(vec![FieldProblem::NotOffered { what }]) } else { Ok(()) }
}

/// Reads one string, after the bounds that hold for all.
fn entry<T>(text: &str, read: impl Fn(&str) -> Result<T, Wrong>) -> Result<T, FieldProblem> {
    if text.trim().is_empty() {
        return Err(FieldProblem::Empty);
    }
    // A byte is at most a character: the count is only needed for what could be too long.
    if text.len() > MOST_CHARACTERS && text.chars().count() > MOST_CHARACTERS {
        return Err(FieldProblem::TooLong { most: MOST_CHARACTERS });
    }
    if text.chars().any(is_hidden) {
        return Err(FieldProblem::HiddenCharacter);
    }
    read(text).map_err(|wrong| FieldProblem::Is { value: text.to_owned(), wrong })
}
