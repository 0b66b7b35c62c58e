//! A person who has signed in: their account, and what they have proved of it.

use super::{assurance::Evidence, epoch::is_first};
use serde::{Deserialize, Serialize};

/// A person who has signed in, as far as a session or a grant needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The id of the account.
    pub account: String,
    /// The epoch of the account in which they have proved it.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    pub evidence: Evidence,
}
