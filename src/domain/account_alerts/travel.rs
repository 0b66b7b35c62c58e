//! Journeys that no person makes: too far for the time between two sign-ins.

use crate::domain::{CLOCK_SKEW, Timestamp, place::GeoPoint};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Faster than an airliner, from one town to another.
const FASTEST_KM_PER_HOUR: u64 = 1_000;

/// Nearer than this a database of addresses is too often wrong.
const NEAREST_KM: u32 = 500;

/// How often it is noted that a person is still at the same place.
const NOTED_EVERY: Duration = Duration::from_mins(15);

/// Where a person signed in last, of the sign-ins whose place is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastPlace {
    #[serde(rename = "p")]
    point: GeoPoint,
    #[serde(rename = "t")]
    at: Timestamp,
}

/// What a person would have had to travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Journey {
    pub(super) kilometres: u32,
    pub(super) minutes: u64,
}

impl LastPlace {
    pub(super) fn new(point: GeoPoint, at: Timestamp) -> Self {
        Self { point, at }
    }

    /// Tells whether it says enough of another sign-in.
    pub(super) fn stands_for(self, later: Self) -> bool {
        self.point == later.point && later.at.since(self.at) < NOTED_EVERY
    }

    /// Returns the journey to another place, if no person can have made it.
    pub(super) fn impossible_to(self, later: Self) -> Option<Journey> {
        let kilometres = self.point.least_distance_km(later.point);
        // The clocks of two nodes differ, and a place may be noted late.
        let time = later.at.since(self.at) + CLOCK_SKEW;
        let is_too_fast = u64::from(kilometres) * 3_600 > FASTEST_KM_PER_HOUR * time.as_secs();
        let minutes = later.at.since(self.at).as_secs() / 60;
        (kilometres >= NEAREST_KM && is_too_fast).then_some(Journey { kilometres, minutes })
    }
}
