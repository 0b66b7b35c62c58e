//! Attempts against one password, at once: wrong ones, a right one, and one that was not made after all.

use crate::model_races::{
    asks::{Ask, By, Reading, Said},
    scene::{Entity, Scene, View},
};
use porteiro::domain::{
    Decision, Machine as _, Timestamp,
    throttle::{Command, Pace, Refusal, Throttle},
};
use std::time::Duration;

/// A mistake in the rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// An attempt is granted and not written down.
    NotCharged,
    /// What is given back is given back twice.
    RefundedTwice,
}

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const BURST: usize = 2;
const MOST_FAILURES: usize = 3;
const REFILL: Duration = Duration::from_secs(10);

pub const TOO_MANY: &str = "no more attempts are made than the pace allows";
pub const TOO_MANY_FAILURES: &str = "no more failures in a row are borne than may be";
pub const NOT_WRITTEN: &str = "an attempt that was granted is written down";
pub const REFUSED_FALSELY: &str =
    "none is refused while the allowance is whole, by nodes whose clocks agree";

const PACE: Pace = Pace { burst: 2, refill: REFILL, most_failures: 3, day: None };

const CLEAR: usize = 1;
const REFUND: usize = 2;

pub fn scene(wrong: Option<Wrong>) -> Scene {
    Scene {
        entities: vec![Entity::of::<Throttle>("t", word)],
        fixed: &[],
        // One more may be made, and another.
        instants: vec![NOW, NOW + REFILL, NOW + 2 * REFILL],
        asks: vec![
            charge("charge", wrong),
            Ask::of::<Throttle>(("clear", 0), |_| Command::Clear, |_| "cleared"),
            Ask::bent::<Throttle>(
                ("refund", 0),
                |_| Command::Refund { pace: PACE },
                |_| "refunded",
                move |seen, decision, reading| match wrong {
                    Some(Wrong::RefundedTwice) => refund_again(seen, decision, reading.now),
                    _ => decision,
                },
            ),
            charge("charge, right", wrong).then(|said| (said == "granted").then_some(CLEAR)),
            charge("charge, not made", wrong).then(|said| (said == "granted").then_some(REFUND)),
        ],
        requests: &[0, 0, 0, 3, 4],
        standing,
        landing: |_, _| None,
    }
}

fn charge(name: Said, wrong: Option<Wrong>) -> Ask {
    let said = |outcome: &Result<u32, Refusal>| match outcome {
        Ok(_) => "granted",
        Err(Refusal::TooMany { .. }) => "too many",
    };
    let bend = move |_: &Throttle, decision: Decision<Throttle>, _: &Reading<'_>| match (
        wrong,
        &decision.outcome,
    ) {
        (Some(Wrong::NotCharged), Ok(held)) => Decision::accept(Vec::new(), *held),
        _ => decision,
    };
    let command = |_: &Reading<'_>| Command::Charge { pace: PACE };
    Ask::bent::<Throttle>((name, 0), command, said, bend).by(By::TolerantActor)
}

fn refund_again(
    seen: &Throttle,
    decision: Decision<Throttle>,
    now: Timestamp,
) -> Decision<Throttle> {
    let mut once = seen.clone();
    decision.events.iter().for_each(|event| once.apply(event));
    let twice = once.decide(&Command::Refund { pace: PACE }, now);
    if twice.events.is_empty() { decision } else { twice }
}

fn word(throttle: &Throttle) -> Said {
    match throttle {
        Throttle::Full => "full",
        Throttle::Charged(_) => "charged",
    }
}

/// What was committed, told again: so many attempts and failures since the last that was right.
fn standing(view: &View<'_>) -> Option<&'static str> {
    // What may still come back with time, and failures in a row.
    let (mut taken, mut failures, mut charged) = (Vec::<u8>::new(), 0_usize, 0);
    for one in view.landed() {
        match one.said {
            "granted" => {
                taken.push(one.instant);
                failures += 1;
                charged += 1;
            }
            "cleared" => {
                taken.clear();
                failures = 0;
            }
            _ => {
                taken.pop();
                failures = failures.saturating_sub(1);
            }
        }
        // In no window more than the burst, and one for each refill in it.
        let over = |(place, from): (usize, &u8)| {
            let to = taken[place..].iter().max().copied().unwrap_or(*from);
            taken.len() - place > BURST + usize::from(to.saturating_sub(*from))
        };
        if taken.iter().enumerate().any(over) {
            return Some(TOO_MANY);
        }
        if failures > MOST_FAILURES {
            return Some(TOO_MANY_FAILURES);
        }
    }
    let cleared = view.landings("clear", "cleared") + view.landings("refund", "refunded");
    if view.hearing("granted") + view.hearing("cleared") + view.hearing("refunded") > charged {
        return Some(NOT_WRITTEN);
    }
    // A node whose clock is behind may refuse what was charged by one that is ahead.
    let one_time = view.landed().all(|one| one.instant == 0);
    let whole = charged < BURST && cleared == 0 && one_time;
    (view.hearing("too many") > 0 && whole).then_some(REFUSED_FALSELY)
}
