//! The answer to a query (RFC 7644 §3.4.2, RFC 9865 §2).

use serde_json::{Map, Value};

/// The schema of the answer.
pub const LIST_RESPONSE: &str = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/// Where a page stands in the whole list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// The number of the first resource of the page, from 1 on.
    Index(u64),
    /// The cursor of the next page, if there is one.
    Cursor(Option<String>),
}

/// Returns the body. `total` is the number of all matches; with a cursor it may be unknown.
pub fn list_response(resources: Vec<Value>, total: Option<u64>, position: &Position) -> Value {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("schemas", vec![LIST_RESPONSE].into());
    if let Some(total) = total {
        put("totalResults", total.into());
    }
    put("itemsPerPage", resources.len().into());
    match position {
        Position::Index(start) => put("startIndex", (*start).into()),
        Position::Cursor(Some(next)) => put("nextCursor", next.as_str().into()),
        Position::Cursor(None) => None,
    };
    // RFC 7644 §3.4.2: required only where there is something; always there is simpler for clients.
    put("Resources", resources.into());
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_by_index_says_where_it_begins() {
        let body = list_response(vec![json!({ "id": "a" })], Some(7), &Position::Index(3));
        let expected = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            "totalResults": 7,
            "itemsPerPage": 1,
            "startIndex": 3,
            "Resources": [{ "id": "a" }],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn a_page_by_cursor_names_the_next_one_unless_it_is_the_last() {
        let next = Position::Cursor(Some("abc".to_owned()));
        let body = list_response(Vec::new(), None, &next);
        assert_eq!(body["nextCursor"], "abc");
        assert_eq!(body.get("startIndex"), None);
        assert_eq!(body.get("totalResults"), None);
        let last = list_response(Vec::new(), Some(0), &Position::Cursor(None));
        assert_eq!(last.get("nextCursor"), None);
        assert_eq!(last["Resources"], json!([]));
    }
}
