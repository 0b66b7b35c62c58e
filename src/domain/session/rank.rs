//! Where a session lies among those of its account.
//!
//! Sessions in which the account itself proved something come first. Those that rest on the provider of one organization alone
//! lie together behind them, each organization's apart, so that they are counted apart (adr/0148). Digits and the letters a
//! to h are in this order in every database.

use super::{Evidence, Timestamp};
use crate::domain::{ClientRank, client_rank};

/// What a rank of an organization's sessions begins with: behind every digit.
const SCOPED: &str = "g";

/// Where the sessions of one sort lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRank(String);

impl SessionRank {
    /// Where a session with this evidence lies.
    pub fn of(evidence: &Evidence) -> Self {
        let slug = evidence.second_factor_only_for();
        // A hash: a slug has characters that databases sort in ways of their own.
        let place = slug.map(|slug| format!("{SCOPED}{}", ClientRank::of(slug).above()));
        Self(place.unwrap_or_default())
    }

    /// The rank of what was used at this time; what was used last comes first.
    pub fn used_at(&self, at: Timestamp) -> String {
        client_rank::used_at(&self.0, at)
    }

    /// Every rank of the sort is above this one.
    pub fn above(&self) -> &str {
        &self.0
    }

    /// Every rank of the sort is below this one.
    pub fn below(&self) -> String {
        format!("{}{SCOPED}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::assurance::{SingleSignOn, Worth};
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn at(organization: &str) -> Evidence {
        Evidence::of(Worth::SINGLE_SIGN_ON.given(NOW).through(SingleSignOn {
            organization: Some(organization.to_owned()),
            connection: "c".to_owned(),
            session: "s".to_owned(),
            identity: "i".to_owned(),
            epoch: 0,
        }))
    }

    #[test]
    fn sessions_of_one_provider_lie_behind_the_accounts_own_and_apart_from_each_other() {
        let own = Evidence::of(Worth::PASSWORD.given(NOW));
        let mixed = at("acme").and(Worth::PASSWORD.given(NOW));
        assert_eq!(SessionRank::of(&mixed), SessionRank::of(&own), "the account proved it itself");
        let sorts = [own, at("acme"), at("globex")].map(|one| SessionRank::of(&one));
        for (place, sort) in sorts.iter().enumerate() {
            let (sooner, later) = (sort.used_at(NOW), sort.used_at(NOW + Duration::from_secs(1)));
            assert!(later < sooner, "what was used last comes first");
            for rank in [&sooner, &later, &sort.used_at(Timestamp::NEVER)] {
                for (other_place, other) in sorts.iter().enumerate() {
                    let is_in = other.above() < rank.as_str() && *rank < other.below();
                    assert_eq!(is_in, place == other_place, "{rank} {other:?}");
                }
            }
        }
        let [own, acme, globex] = &sorts;
        assert!(own.used_at(Timestamp::NEVER) < acme.used_at(Timestamp::FOREVER));
        assert!(own.used_at(Timestamp::NEVER) < globex.used_at(Timestamp::FOREVER));
    }
}
