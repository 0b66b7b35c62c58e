//! The headroom below a ceiling: how many more of something an owner may get before the store is asked how many there are.
//!
//! To count up to a thousand entries with every one that is added would cost more than adding it. What is remembered here is
//! of this node alone, so it is half of what was left, for a minute: nodes that count apart ask again long before all of them
//! together are far above the ceiling.

use crate::{domain::Timestamp, two_generation_cache::TwoGenerationCache};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// How many owners are remembered in a generation: a few megabytes at most.
const GENERATION: usize = 8_192;
/// For how long a count is used.
const COUNTED_FOR: Duration = Duration::from_mins(1);
/// How soon an owner at its ceiling is looked at again.
const FULL_FOR: Duration = Duration::from_secs(1);

/// How many more each owner may get.
#[derive(Default)]
pub struct Headroom(Mutex<TwoGenerationCache<String, Room>>);

#[derive(Clone, Copy)]
struct Room {
    left: u32,
    since: Timestamp,
    lasts: Duration,
}

impl Headroom {
    /// Takes one of what an owner has left; false where the store must be asked.
    pub fn take(&self, owner: &str, now: Timestamp) -> bool {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(room) = rooms.find(owner).copied() else { return false };
        // A clock that was set back asks at once.
        let is_known = room.since <= now && now.since(room.since) < room.lasts;
        if !is_known || room.left == 0 {
            return false;
        }
        rooms.insert(owner.to_owned(), Room { left: room.left - 1, ..room }, 1);
        true
    }

    /// Notes that an owner has so many less than it may have.
    pub fn counted(&self, owner: String, left: u32, now: Timestamp) {
        self.note(owner, Room { left: left / 2, since: now, lasts: COUNTED_FOR });
    }

    /// Notes that an owner was at its ceiling, and what was beyond it is ended.
    pub fn full(&self, owner: String, now: Timestamp) {
        self.note(owner, Room { left: u32::MAX, since: now, lasts: FULL_FOR });
    }

    fn note(&self, owner: String, room: Room) {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.turn_at(GENERATION);
        rooms.insert(owner, room, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn taken(headroom: &Headroom, owner: &str, now: Timestamp) -> usize {
        (0..10_000).take_while(|_| headroom.take(owner, now)).count()
    }

    #[test]
    fn half_of_what_is_left_is_taken_without_asking() {
        let headroom = Headroom::default();
        assert_eq!(taken(&headroom, "ana", NOW), 0, "nothing is known of her yet");
        for (left, half) in [(999, 499), (3, 1), (1, 0), (0, 0)] {
            headroom.counted("ana".to_owned(), left, NOW);
            assert_eq!(taken(&headroom, "ana", NOW), half, "{left}");
        }
    }

    #[test]
    fn a_count_is_used_for_a_minute_and_an_owner_at_the_ceiling_rests_for_a_second() {
        let headroom = Headroom::default();
        let (minute, second) = (Duration::from_mins(1), Duration::from_secs(1));
        let just = Duration::from_millis(1);
        headroom.counted("ana".to_owned(), 100, NOW);
        assert!(headroom.take("ana", NOW + minute - just));
        assert!(!headroom.take("ana", NOW + minute));
        assert!(!headroom.take("ana", NOW - just), "a clock set back");
        headroom.full("ana".to_owned(), NOW);
        assert_eq!(taken(&headroom, "ana", NOW + second - just), 10_000);
        assert!(!headroom.take("ana", NOW + second));
    }

    #[test]
    fn owners_without_number_take_no_more_memory() {
        let headroom = Headroom::default();
        for number in 0..5 * GENERATION {
            headroom.counted(number.to_string(), 10, NOW);
            headroom.take(&(number / 2).to_string(), NOW);
        }
        assert!(headroom.0.lock().unwrap().len() <= 4 * GENERATION);
    }
}
