//! Pages of lists under `/me`: a list that has more than a page says where the next one begins.

use crate::http::answer::{error::Problem, private_json};
use axum::{
    extract::{FromRequestParts, RawQuery},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use std::convert::Infallible;
use url::form_urlencoded;

/// The longest cursor that is looked at.
const LONGEST: usize = 512;

const WRONG_CURSOR: Problem =
    Problem::new(StatusCode::BAD_REQUEST, "invalid_cursor", "cursor is not one of this list");

/// A list, as every list under `/me` is shown.
#[derive(Serialize)]
pub struct Items<T> {
    pub items: Vec<T>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T> Items<T> {
    /// A list that is shown whole.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}

impl<T: Serialize> IntoResponse for Items<T> {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

/// The cursor that a caller presents.
pub struct Cursor(Option<String>);

impl Cursor {
    /// The rank and id after which the page of this list begins; empty, where it begins with the list.
    pub fn read(&self, list: &str) -> Result<(String, String), Problem> {
        let Some(text) = &self.0 else { return Ok((String::new(), String::new())) };
        let bytes = Some(text).filter(|text| text.len() <= LONGEST);
        let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(WRONG_CURSOR)?;
        match text.split('\0').collect::<Vec<_>>()[..] {
            [of, rank, id] if of == list => Ok((rank.to_owned(), id.to_owned())),
            _ => Err(WRONG_CURSOR),
        }
    }

    /// The cursor of what follows an entry of a list.
    pub fn after(list: &str, (rank, id): (&str, &str)) -> String {
        URL_SAFE_NO_PAD.encode(format!("{list}\0{rank}\0{id}"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Cursor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let RawQuery(query) = RawQuery::from_request_parts(parts, state).await?;
        let query = query.unwrap_or_default();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let cursor = pairs.find(|(name, _)| name == "cursor");
        Ok(Self(cursor.map(|(_, value)| value.into_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_on_in_its_own_list_alone() {
        let cursor = |text: &str| Cursor(Some(text.to_owned()));
        let text = Cursor::after("sessions", ("0001", "s"));
        let place = cursor(&text).read("sessions").unwrap();
        assert_eq!(place, ("0001".to_owned(), "s".to_owned()));
        assert_eq!(Cursor(None).read("sessions").unwrap(), Default::default());
        let long = Cursor::after("sessions", (&"x".repeat(600), "s"));
        let short = URL_SAFE_NO_PAD.encode("sessions\0rank");
        for wrong in [&*Cursor::after("consents", ("0001", "s")), "", "%", &long, &short] {
            assert_eq!(cursor(wrong).read("sessions").unwrap_err().code, "invalid_cursor");
        }
    }
}
