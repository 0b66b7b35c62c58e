//! The token family, model-checked: every order of events within bounds, over the real machine.
//!
//! A store, two nodes, a client, an impostor and a thief; actors that die, commits of unknown fate,
//! answers that are lost or stolen, time, a session that ends, a role that is lost. `shell` says what
//! it mirrors of production and what it leaves out; adr/0019 says why it is done this way.
//!
//! With `PORTEIRO_MODEL_REQUESTS` set to more than 3, further requests are made (`bench/long/model`).

mod checker;
mod chronicle;
mod rules;
mod scene;
mod shell;
mod world;

use checker::explore;
use chronicle::{Property, Witness};
use rules::{Bug, Rules};
use world::Bounds;

/// How many requests there are in the ordinary run.
const REQUESTS: u8 = 3;

/// How many worlds there are, and how many steps the farthest is away.
type Size = (usize, usize);

fn requests() -> u8 {
    let asked = std::env::var("PORTEIRO_MODEL_REQUESTS").ok();
    let asked = asked.map_or(REQUESTS, |text| text.parse().unwrap());
    assert!((REQUESTS..scene::MOST_REQUESTS).contains(&asked), "it must not prove less");
    asked
}

/// Tells whether the same was already shown elsewhere: there is no database in a model.
fn is_shown_elsewhere() -> bool {
    std::env::var_os("PORTEIRO_TEST_POSTGRES").is_some()
}

/// Visits all worlds, and demands that they be as many as is stated for the ordinary run and for the
/// one with one request more: a model that shrinks by mistake proves less.
fn exhaust(offline: bool, bounds: Bounds, stated: [Size; 2], witnesses: &[Witness]) -> String {
    let explored = explore(&mut Rules::new(offline, None), bounds, None);
    if let Some(found) = explored.violation {
        panic!("not so: {}; after{}", found.property, found.trace);
    }
    let common = [
        Witness::Redeemed,
        Witness::Rotated,
        Witness::EndedByReplay,
        Witness::EndedByReuse,
        Witness::Revoked,
        Witness::DecidedAgain,
        Witness::Contended,
        Witness::StrayLanded,
        Witness::StrayBeaten,
    ];
    for witness in common.iter().chain(witnesses) {
        assert!(explored.seen.contains(witness), "{witness:?} was never seen");
    }
    let (worlds, depth) = stated[usize::from(requests() > REQUESTS)];
    assert!(explored.worlds >= worlds && explored.depth >= depth, "less was shown than is said");
    let Bounds { requests, instants, .. } = bounds;
    format!(
        "requests: {requests}, instants: {instants}, worlds: {}, steps between them: {}, depth: {}",
        explored.worlds, explored.steps, explored.depth
    )
}

#[test]
fn no_order_of_events_breaks_a_family_that_ends_with_its_session() {
    if is_shown_elsewhere() {
        return;
    }
    let requests = requests();
    let bounds =
        Bounds { requests, instants: 4, session_ends: true, role_is_lost: false, repeats: false };
    let stated = [(214_714, 17), (3_344_186, 19)];
    let witnesses =
        [Witness::SessionUnmet, Witness::RefusedLate, Witness::Slid, Witness::Forgotten];
    println!("{}", exhaust(false, bounds, stated, &witnesses));
}

#[test]
fn no_order_of_events_breaks_a_family_that_outlives_its_session() {
    if is_shown_elsewhere() {
        return;
    }
    let requests = requests();
    let bounds =
        Bounds { requests, instants: 4, session_ends: false, role_is_lost: true, repeats: false };
    let stated = [(307_906, 17), (307_906, 17)];
    let witnesses = [
        Witness::IssuedAfterSession,
        Witness::LimitsUnmet,
        Witness::RefusedWidening,
        Witness::RefusedLate,
        Witness::Slid,
        Witness::Forgotten,
    ];
    println!("{}", exhaust(true, bounds, stated, &witnesses));
}

#[test]
fn no_race_of_one_request_more_breaks_a_family_within_an_instant() {
    if is_shown_elsewhere() {
        return;
    }
    let bounds = Bounds {
        requests: requests() + 1,
        instants: 1,
        session_ends: false,
        role_is_lost: false,
        repeats: false,
    };
    println!("{}", exhaust(false, bounds, [(69_150, 15), (552_024, 17)], &[]));
}

#[test]
fn no_handler_that_asks_again_breaks_a_family() {
    if is_shown_elsewhere() {
        return;
    }
    let bounds = Bounds {
        requests: requests(),
        instants: 1,
        session_ends: false,
        role_is_lost: true,
        repeats: true,
    };
    let witnesses = [Witness::AnsweredAgain, Witness::LimitsUnmet];
    println!("{}", exhaust(false, bounds, [(70_244, 19), (1_128_813, 21)], &witnesses));
}

/// Demands that a planted bug be found to break `property`, and tells how.
fn find(bug: Bug, property: Property) -> String {
    let bounds = Bounds {
        requests: REQUESTS,
        instants: 4,
        session_ends: true,
        role_is_lost: true,
        repeats: true,
    };
    let explored = explore(&mut Rules::new(false, Some(bug)), bounds, Some(property));
    if let Some(found) = explored.violation {
        return format!("{bug:?} breaks: {}; after{}", found.property, found.trace);
    }
    let anything = explore(&mut Rules::new(false, Some(bug)), bounds, None).violation;
    let instead = anything.map(|found| format!("{}; after{}", found.property, found.trace));
    panic!("{bug:?} was not found in {} worlds; it breaks: {instead:?}", explored.worlds)
}

#[test]
fn a_replay_that_ends_nothing_is_found() {
    println!("{}", find(Bug::ReplayOnlyRefused, Property::OverAfterTheft));
}

#[test]
fn a_former_token_that_is_accepted_once_more_is_found() {
    println!("{}", find(Bug::FormerTokenAccepted, Property::RotatedOnce));
}

#[test]
fn an_answer_before_its_commit_is_found() {
    println!("{}", find(Bug::AnsweredBeforeCommit, Property::NothingLost));
    println!("{}", find(Bug::AnsweredBeforeCommit, Property::RedeemedOnce));
}

#[test]
fn a_last_writer_who_wins_is_found() {
    println!("{}", find(Bug::LastWriterWins, Property::RedeemedOnce));
    println!("{}", find(Bug::LastWriterWins, Property::NothingLost));
}

#[test]
fn memory_that_outlives_an_unknown_commit_is_found() {
    println!("{}", find(Bug::MemoryKeptAfterUnknown, Property::NoneAccusedFalsely));
}

#[test]
fn a_session_that_is_not_required_is_found() {
    println!("{}", find(Bug::SessionNotRequired, Property::NotWithoutSession));
}

#[test]
fn a_refusal_that_rests_on_memory_is_found() {
    println!("{}", find(Bug::RefusedFromMemory, Property::NoReplayUnnoticed));
}

#[test]
fn a_code_that_is_spent_in_memory_only_is_found() {
    println!("{}", find(Bug::SpentInMemoryOnly, Property::RedeemedOnce));
}

#[test]
fn an_expiry_that_is_ignored_is_found() {
    println!("{}", find(Bug::ExpiryIgnored, Property::InTime));
}

#[test]
fn limits_that_are_ignored_are_found() {
    println!("{}", find(Bug::LimitsIgnored, Property::WithinLimits));
}

#[test]
fn facts_that_are_not_required_are_found() {
    println!("{}", find(Bug::FactsNotRequired, Property::WithinLimits));
}

#[test]
fn a_request_that_is_taken_for_a_replay_of_itself_is_found() {
    println!("{}", find(Bug::RepeatNotKnown, Property::NoneAccusedFalsely));
}
