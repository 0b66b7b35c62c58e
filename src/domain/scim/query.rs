//! What a client asks of a list, in the parameters of a GET or the body of a `.search`
//! (RFC 7644 §3.4.2, §3.4.3; RFC 9865).

mod sort;
#[cfg(test)]
mod tests;

pub use sort::{Sort, SortKey, SortPlace};

use super::{
    error::{ScimError, excerpt},
    filter::Filter,
    message::{check_size, find_member, find_parameter, find_text, require_schema},
    projection::{Projection, split_names},
    schema::ResourceType,
};
use serde_json::{Map, Value};

/// The schema of the body of a `.search`.
pub const SEARCH_REQUEST: &str = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";

/// The most resources on one page, and how many are there if the client does not say.
pub const MAX_COUNT: u64 = 200;

/// The longest cursor, in bytes.
pub const MAX_CURSOR: usize = 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub filter: Option<Filter>,
    pub projection: Projection,
    pub sort: Option<Sort>,
    pub start: Start,
    /// At most [`MAX_COUNT`]. Zero asks for the number of matches alone.
    pub count: u64,
}

/// Where the page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the resource with this number, from 1 on.
    Index(u64),
    /// Where this cursor says; `None` is the first page (RFC 9865 §2.1).
    Cursor(Option<String>),
}

/// The parameters before they are read, from either source.
#[derive(Default)]
struct Parameters<'a> {
    filter: Option<&'a str>,
    attributes: Vec<&'a str>,
    excluded: Vec<&'a str>,
    sort_by: Option<&'a str>,
    sort_order: Option<&'a str>,
    start_index: Option<i64>,
    count: Option<i64>,
    cursor: Option<&'a str>,
}

impl Query {
    /// Reads the decoded parameters of a GET. Unknown ones are ignored, and of the known ones each may be
    /// there once.
    pub fn from_pairs<N: AsRef<str>, V: AsRef<str>>(
        pairs: &[(N, V)],
        resource_type: &'static ResourceType,
    ) -> Result<Self, ScimError> {
        let find = |name: &str| find_parameter(pairs, name);
        let filled = |name: &str| Ok(find(name)?.filter(|text| !text.trim().is_empty()));
        let number = |name: &str| filled(name)?.map(|text| parse_number(name, text)).transpose();
        Parameters {
            filter: filled("filter")?,
            attributes: split_names(find("attributes")?),
            excluded: split_names(find("excludedAttributes")?),
            sort_by: filled("sortBy")?,
            sort_order: filled("sortOrder")?,
            start_index: number("startIndex")?,
            count: number("count")?,
            cursor: find("cursor")?,
        }
        .read(resource_type)
    }

    /// Reads the body of a `.search`.
    pub fn from_body(
        body: &Map<String, Value>,
        resource_type: &'static ResourceType,
    ) -> Result<Self, ScimError> {
        require_schema(body, SEARCH_REQUEST)?;
        check_size(body)?;
        let filled = |name: &str| Ok(find_text(body, name)?.filter(|text| !text.trim().is_empty()));
        let number = |name: &str| match find_member(body, name)? {
            None => Ok(None),
            Some(Value::Number(number)) => parse_number(name, &number.to_string()).map(Some),
            Some(_) => Err(ScimError::invalid_value(format!("`{name}` is a whole number"))),
        };
        Parameters {
            filter: filled("filter")?,
            attributes: read_names(body, "attributes")?,
            excluded: read_names(body, "excludedAttributes")?,
            sort_by: filled("sortBy")?,
            sort_order: filled("sortOrder")?,
            start_index: number("startIndex")?,
            count: number("count")?,
            cursor: find_text(body, "cursor")?,
        }
        .read(resource_type)
    }
}

impl Parameters<'_> {
    fn read(self, resource_type: &'static ResourceType) -> Result<Query, ScimError> {
        let filter = self.filter.map(|text| Filter::parse(text, resource_type)).transpose()?;
        let projection = Projection::read(&self.attributes, &self.excluded, resource_type)?;
        let order = self.sort_order;
        let sort = self.sort_by.map(|path| Sort::read(path, order, resource_type)).transpose()?;
        let start = match (self.cursor, self.start_index) {
            (Some(_), Some(_)) => {
                let detail = "`cursor` and `startIndex` exclude each other";
                return Err(ScimError::invalid_value(detail));
            }
            (Some(cursor), None) if cursor.len() > MAX_CURSOR => {
                return Err(ScimError::invalid_cursor("no cursor of this server is that long"));
            }
            (Some(cursor), None) => {
                Start::Cursor(Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty()))
            }
            // RFC 7644 §3.4.2.4: less than 1 is 1, and a negative count is 0.
            (None, index) => Start::Index(clamp(index.unwrap_or(1), 1, u64::MAX)),
        };
        let count = self.count.map_or(MAX_COUNT, |count| clamp(count, 0, MAX_COUNT));
        Ok(Query { filter, projection, sort, start, count })
    }
}

fn clamp(number: i64, least: u64, most: u64) -> u64 {
    u64::try_from(number).unwrap_or(0).clamp(least, most)
}

/// Reads a whole number; one that is too great to be kept is the greatest.
fn parse_number(name: &str, text: &str) -> Result<i64, ScimError> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let found = excerpt(trimmed);
        return Err(ScimError::invalid_value(format!("`{name}` is a whole number, not {found}")));
    }
    let greatest = if trimmed.starts_with('-') { i64::MIN } else { i64::MAX };
    Ok(trimmed.parse().unwrap_or(greatest))
}

/// Reads an array of names, or a text with commas as in a GET.
fn read_names<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Vec<&'a str>, ScimError> {
    let refuse = || ScimError::invalid_value(format!("`{name}` is an array of texts"));
    match find_member(body, name)? {
        None => Ok(Vec::new()),
        Some(Value::String(names)) => Ok(split_names(Some(names))),
        Some(Value::Array(names)) => {
            names.iter().map(|name| name.as_str().ok_or_else(refuse)).collect()
        }
        Some(_) => Err(refuse()),
    }
}
