//! How the answer to a request travels (OAuth 2.0 Multiple Response Type Encoding Practices §2.1, OAuth 2.0
//! Form Post Response Mode, JARM §2.3): in the query or in a form that is posted, plain or signed. Never in a
//! fragment.

use crate::domain::signing_keys::SigningAlgorithm;
use serde::{Deserialize, Serialize};

/// How the answer travels. A node that does not know a mode cannot read the request either, and so answers
/// nothing in clear that was to be signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResponseMode {
    #[default]
    #[serde(rename = "query")]
    Query,
    #[serde(rename = "form_post")]
    FormPost,
    #[serde(rename = "query.jwt")]
    QueryJwt(ResponseJwt),
    #[serde(rename = "form_post.jwt")]
    FormPostJwt(ResponseJwt),
}

/// A signed answer: for whom, and by which algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseJwt {
    /// The client that asked.
    #[serde(rename = "c")]
    pub audience: String,
    #[serde(rename = "a")]
    pub algorithm: SigningAlgorithm,
}

/// What a browser carries the answer in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    Query,
    FormPost,
}

impl ResponseMode {
    /// The names that a request may give.
    pub const NAMES: [&'static str; 5] =
        ["query", "form_post", "jwt", "query.jwt", "form_post.jwt"];

    /// Returns the mode of a name, with what signs its answer where it is a signed one.
    pub fn named(name: &str, jwt: impl FnOnce() -> ResponseJwt) -> Option<Self> {
        match name {
            "query" => Some(Self::Query),
            "form_post" => Some(Self::FormPost),
            // JARM §2.3.4: the mode that is usual for the response type, which for a code is the query.
            "jwt" | "query.jwt" => Some(Self::QueryJwt(jwt())),
            "form_post.jwt" => Some(Self::FormPostJwt(jwt())),
            _ => None,
        }
    }

    pub const fn carrier(&self) -> Carrier {
        match self {
            Self::Query | Self::QueryJwt(_) => Carrier::Query,
            Self::FormPost | Self::FormPostJwt(_) => Carrier::FormPost,
        }
    }

    /// Returns what signs the answer, if it is signed.
    pub const fn jwt(&self) -> Option<&ResponseJwt> {
        match self {
            Self::Query | Self::FormPost => None,
            Self::QueryJwt(jwt) | Self::FormPostJwt(jwt) => Some(jwt),
        }
    }

    /// Returns the same where every answer is signed.
    pub fn signed(self, jwt: impl FnOnce() -> ResponseJwt) -> Self {
        match self {
            Self::Query => Self::QueryJwt(jwt()),
            Self::FormPost => Self::FormPostJwt(jwt()),
            signed => signed,
        }
    }

    pub(super) fn is_query(&self) -> bool {
        *self == Self::Query
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::authorization::ReplyTo;
    use serde_json::json;

    fn jwt() -> ResponseJwt {
        ResponseJwt { audience: "app".to_owned(), algorithm: SigningAlgorithm::Ps256 }
    }

    #[test]
    fn a_mode_is_found_by_its_exact_name() {
        for (name, carrier, signed) in [
            ("query", Carrier::Query, false),
            ("form_post", Carrier::FormPost, false),
            ("jwt", Carrier::Query, true),
            ("query.jwt", Carrier::Query, true),
            ("form_post.jwt", Carrier::FormPost, true),
        ] {
            assert!(ResponseMode::NAMES.contains(&name));
            let mode = ResponseMode::named(name, jwt).unwrap();
            assert_eq!((mode.carrier(), mode.jwt().is_some()), (carrier, signed), "{name}");
        }
        for name in [
            "",
            "fragment",
            "fragment.jwt",
            "query.jwt.",
            ".jwt",
            "JWT",
            "Query.jwt",
            "jwt ",
            "form_post.JWT",
        ] {
            assert!(!ResponseMode::NAMES.contains(&name));
            assert_eq!(ResponseMode::named(name, jwt), None, "{name}");
        }
    }

    #[test]
    fn what_was_stored_before_is_read_and_what_is_signed_comes_back() {
        let read = |text| serde_json::from_value::<ReplyTo>(text).map(|to| to.mode);
        assert_eq!(read(json!({ "u": "https://a.example/" })).unwrap(), ResponseMode::Query);
        let posted = json!({ "u": "https://a.example/", "d": "form_post" });
        assert_eq!(read(posted).unwrap(), ResponseMode::FormPost);
        for name in ResponseMode::NAMES {
            let mode = ResponseMode::named(name, jwt).unwrap();
            let redirect_uri = "https://a.example/".to_owned();
            let to = ReplyTo { redirect_uri, state: None, mode: mode.clone() };
            assert_eq!(read(serde_json::to_value(to).unwrap()).unwrap(), mode, "{name}");
        }
        // A mode without what signs it is none.
        assert!(read(json!({ "u": "https://a.example/", "d": "query.jwt" })).is_err());
    }
}
