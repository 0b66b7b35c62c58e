//! Pages of lists: `cursor` and `limit`.

use super::call::{Call, wrong_parameter};
use crate::{
    actors::{Bound, Entry},
    http::answer::{error::Problem, private_json},
};
use axum::response::Response;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use utoipa::ToSchema;

/// A page of a list.
#[derive(Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_cursor: Option<String>,
}

pub const PAGE_PARAMETERS: [(&str, &str); 2] = [
    ("cursor", "Where the page begins: the next_cursor of the page before."),
    ("limit", "How many entries the page has at most: 1 to 100; 50 unless it is said."),
];

const USUAL: u32 = 50;
const MOST: u32 = 100;

/// A request for a page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The list it is of.
    list: String,
    /// The entry after which it begins, by what the list is ordered by.
    pub after: Vec<String>,
    pub limit: u32,
}

impl PageRequest {
    /// Reads which page of a list is asked for; a cursor of another list is refused.
    pub fn of(call: &Call, list: &str) -> Result<Self, Problem> {
        let list = format!("{list} {}", call.caller.organization);
        Self::read(&list, call.query("cursor"), call.query("limit"))
    }

    fn read(list: &str, cursor: Option<&str>, limit: Option<&str>) -> Result<Self, Problem> {
        let limit = match limit {
            None => USUAL,
            Some(text) => {
                let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
                number.ok_or_else(|| wrong_parameter("limit", "is a number from 1 to 100"))?
            }
        };
        let after = match cursor {
            None => Vec::new(),
            Some(text) => parse(text, list)
                .ok_or_else(|| wrong_parameter("cursor", "is not one of this list"))?,
        };
        Ok(Self { list: list.to_owned(), after, limit })
    }

    /// How many entries are read.
    pub fn bound(&self) -> Bound {
        Bound::asked(self.limit)
    }

    /// The entry after which the page begins, for lists that are ordered by rank and id.
    pub fn after_rank(&self) -> (&str, &str) {
        match &*self.after {
            [rank, id] => (rank, id),
            _ => ("", ""),
        }
    }

    /// Returns what the last entry of a full page is ordered by: others may follow it.
    pub fn last<M>(&self, page: &[(String, Entry<M>)]) -> Option<Vec<String>> {
        let is_full = page.len() == self.limit as usize;
        let last = page.last().filter(|_| is_full);
        last.map(|(rank, entry)| vec![rank.clone(), entry.id.clone()])
    }

    /// Answers with a page; `last` is what its last entry is ordered by, if others may follow.
    pub fn answer<T: Serialize>(&self, items: Vec<T>, last: Option<Vec<String>>) -> Response {
        let next_cursor = last.map(|last| {
            let parts: Vec<&str> =
                [self.list.as_str()].into_iter().chain(last.iter().map(String::as_str)).collect();
            URL_SAFE_NO_PAD.encode(parts.join("\0"))
        });
        private_json(&Page { items, next_cursor })
    }
}

fn parse(text: &str, list: &str) -> Option<Vec<String>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let mut parts = text.split('\0').map(str::to_owned);
    let of = parts.next()?;
    let after: Vec<String> = parts.collect();
    (of == list && !after.is_empty()).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_another_list_and_a_limit_out_of_bounds_are_refused_by_name() {
        let pointer = |refused: Problem| refused.member.map(|member| member.pointer);
        let cursor = URL_SAFE_NO_PAD.encode("members acme\0rank\0id");
        let asked = PageRequest::read("members acme", Some(&cursor), Some("100")).unwrap();
        assert_eq!((asked.after_rank(), asked.limit), (("rank", "id"), 100));
        for list in ["members other", "clients acme", ""] {
            let refused = PageRequest::read(list, Some(&cursor), None).unwrap_err();
            assert_eq!(pointer(refused).as_deref(), Some("?cursor"), "{list}");
        }
        for bad in ["", "x", "=", "AA", &URL_SAFE_NO_PAD.encode(b"\xff\xfe")] {
            assert!(PageRequest::read("members acme", Some(bad), None).is_err(), "{bad}");
        }
        for bad in ["0", "101", "-1", "", "1e1", "4294967297"] {
            let refused = PageRequest::read("members acme", None, Some(bad)).unwrap_err();
            assert_eq!(pointer(refused).as_deref(), Some("?limit"), "{bad}");
        }
    }
}
