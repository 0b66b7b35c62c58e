//! How a flow begins, before anything is done in it.

use super::{Open, Stage};
use crate::domain::{
    Fingerprint, Timestamp,
    authorization::{ConsentQuestion, Request},
    grant::Person,
};
use serde::{Deserialize, Serialize};

/// The channel that began a flow; it alone goes on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Channel {
    /// A program that knows the flow's id.
    #[serde(rename = "p")]
    Program,
    /// The browser that holds the cookie of this fingerprint.
    #[serde(rename = "b")]
    Browser(Fingerprint),
}

/// A flow as it begins; short names, because it travels in the flow's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// The name of its kind.
    #[serde(rename = "k")]
    pub kind: String,
    #[serde(rename = "w")]
    pub channel: Channel,
    #[serde(rename = "e")]
    pub expires_at: Timestamp,
    /// What a client asks for, if one does.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The session in which the person is asked, if they need not sign in.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub signed_in: Option<SignedIn>,
}

/// A person who signed in before the flow began, and what they are asked first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    #[serde(rename = "p")]
    pub person: Person,
    #[serde(rename = "s")]
    pub session: String,
    #[serde(rename = "t")]
    pub stage: Stage,
    /// What they are asked to consent to.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<ConsentQuestion>>,
    /// The second factors of the account, where one of them is asked for.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub second_factors: Vec<super::Method>,
}

impl Seed {
    pub(super) fn open(self) -> Open {
        let (stage, person, question, second_factors) = match &self.signed_in {
            None => (Stage::Identify, None, None, Vec::new()),
            Some(SignedIn { person, stage, question, second_factors, .. }) => {
                (*stage, Some(person.clone()), question.clone(), second_factors.clone())
            }
        };
        let (identifier, chosen, attempts, proved_here) = (None, None, 0, false);
        Open {
            seed: self,
            stage,
            identifier,
            attempts,
            person,
            proved_here,
            second_factors,
            chosen,
            question,
        }
    }
}
