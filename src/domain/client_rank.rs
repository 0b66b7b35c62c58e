//! The rank of what belongs to one client, in a list of what belongs to a person (adr/0119).
//!
//! A rank begins with a hash of the client's id, so that everything of one client lies together, and a client that holds
//! much is passed over in one step. Digits and the letters a to f are in this order in every database.

use super::{Fingerprint, Timestamp};
use std::fmt::Write as _;

/// How many bytes of the hash there are: no two clients of a person share them by chance, and if two do, both are looked at.
const BYTES: usize = 8;

/// The highest number that has fifteen digits.
const LAST: i64 = 999_999_999_999_999;

/// Where everything of one client lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientRank(String);

impl ClientRank {
    pub fn of(client_id: &str) -> Self {
        let hash = Fingerprint::of(client_id.as_bytes());
        let hex = hash.bytes().iter().take(BYTES).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Self(hex)
    }

    /// The rank of what was used at this time; what was used last comes first.
    pub fn used_at(&self, at: Timestamp) -> String {
        used_at(&self.0, at)
    }

    /// Every rank of the client is above this one.
    pub fn above(&self) -> &str {
        &self.0
    }

    /// Every rank of the client is below this one.
    pub fn below(&self) -> String {
        format!("{}g", self.0)
    }
}

/// The rank of what was used at this time, in a part of a list whose ranks begin with `place`. Downwards: a list is read
/// from its start, and people look for what is new.
pub(super) fn used_at(place: &str, at: Timestamp) -> String {
    format!("{place}{:015}", LAST.saturating_sub(at.millis()).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_belongs_to_one_client_lies_together_and_the_last_used_first() {
        let (one, other) = (ClientRank::of("app"), ClientRank::of("https://other.example/client"));
        let now = Timestamp::from_millis(1_800_000_000_000);
        let (sooner, later) = (one.used_at(now), one.used_at(now + Duration::from_secs(1)));
        assert!(later < sooner);
        for rank in
            [&sooner, &later, &one.used_at(Timestamp::NEVER), &one.used_at(Timestamp::FOREVER)]
        {
            assert!(one.above() < rank.as_str() && *rank < one.below(), "{rank}");
            assert!(!(other.above() < rank.as_str() && *rank < other.below()), "{rank}");
            assert_eq!(rank.len(), 31);
        }
    }
}
