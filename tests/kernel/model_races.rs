//! Requests that race, model-checked over the real machines: devices, back channels, approvals, flows, throttles and
//! domains (adr/0165). Token families and the allowances of agents have models of their own.
//!
//! Each scene has a store, two nodes and a handful of requests. Every order is visited in which nodes read, decide and
//! commit, in which a node dies, a commit is of unknown fate or an answer is lost, and in which time passes; whose
//! caller has heard nothing asks again. `shell` says what it mirrors of production and what it leaves out.
//!
//! With `PORTEIRO_MODEL_LOSSES` set to more than 1, more is lost, and time goes farther (`bench/long/model`).

mod asks;
mod checker;
mod mistakes;
mod rules;
mod scene;
mod scenes;
mod shell;
mod store;
mod world;

use checker::explore;
use rules::Rules;
use scene::Scene;
use scenes::{approval, backchannel, device, device_flows, domain, flow, throttle};
use std::collections::BTreeSet;
use world::Bounds;

/// How much is lost in the ordinary run: a node, the fate of a commit, or an answer.
const LOSSES: u8 = 1;

/// A cast with more worlds is left to the long run.
const MOST_WORLDS: usize = 160_000;

/// Up to which instant the ordinary run goes.
const INSTANTS: u8 = 2;

/// So many worlds there are at least, and so many steps the farthest is away.
type Size = (usize, usize);

/// Requests of a scene, by their numbers.
type Cast = &'static [u8];

fn losses() -> u8 {
    let asked = std::env::var("PORTEIRO_MODEL_LOSSES").ok();
    let asked = asked.map_or(LOSSES, |text| text.parse().unwrap());
    assert!((LOSSES..4).contains(&asked), "it must not prove less");
    asked
}

/// Visits all worlds, and demands that they be as many as is stated, and that this was told to callers in some.
fn exhaust(
    name: &str,
    scene: fn() -> Scene,
    casts: &[(Cast, Size)],
    told: &[(&'static str, &'static str)],
) -> String {
    if std::env::var_os("PORTEIRO_TEST_POSTGRES").is_some() {
        return format!("skipped: {name} has no database; it is shown in the run on SQLite");
    }
    let (mut heard, mut lines) = (BTreeSet::new(), Vec::new());
    for (cast, (worlds, depth)) in casts {
        if *worlds > MOST_WORLDS && losses() == LOSSES {
            continue;
        }
        let mut rules = Rules::new(scene(), None);
        let losses = losses();
        let all = u8::try_from(rules.scene.instants.len()).unwrap();
        let instants = if losses > LOSSES { all } else { all.min(INSTANTS) };
        let explored = explore(&mut rules, cast, Bounds { losses, instants }, None);
        if let Some(found) = explored.violation {
            panic!("{name} {cast:?}: not so: {}; after{}", found.property, found.trace);
        }
        lines.push(format!(
            "{name} {cast:?}: losses: {losses}, instants: {instants}, worlds: {}, steps between \
             them: {}, depth: {}",
            explored.worlds, explored.steps, explored.depth
        ));
        assert!(
            explored.worlds >= *worlds && explored.depth >= *depth,
            "{name} {cast:?}: less was shown than is said"
        );
        heard.extend(explored.told);
    }
    let missing: Vec<_> = told.iter().filter(|one| !heard.contains(*one)).collect();
    assert!(missing.is_empty(), "{name}: {missing:?} was never told; {heard:?} was");
    lines.join("\n")
}

#[test]
fn no_order_of_events_breaks_a_throttle() {
    let text = exhaust(
        "throttle",
        || throttle::scene(None),
        &[
            (&[0, 3], (12_712, 18)),
            (&[0, 4], (8_891, 17)),
            (&[0, 1, 2], (28_382, 16)),
            (&[0, 1, 3], (161_096, 24)),
            (&[0, 3, 4], (662_883, 29)),
        ],
        &[
            ("charge", "granted"),
            ("charge", "too many"),
            ("clear", "cleared"),
            ("refund", "refunded"),
        ],
    );
    println!("{text}");
}

#[test]
fn no_order_of_events_breaks_a_device() {
    let text = exhaust(
        "device",
        || device::scene(None),
        &[(&[0, 1, 2], (23_399, 23)), (&[0, 2, 3], (11_127, 19)), (&[0, 2, 4], (62_632, 22))],
        &[
            ("poll", "pending"),
            ("poll", "denied"),
            ("poll", "expired"),
            ("redeem", "issued"),
            ("redeem", "replayed"),
            ("redeem", "expired"),
            ("redeem", "unmet"),
            ("approve", "approved"),
            ("approve", "refused"),
            ("deny", "denied"),
        ],
    );
    println!("{text}");
}

#[test]
fn no_order_of_events_breaks_two_flows_that_decide_on_one_device() {
    let text = exhaust(
        "two flows, one device",
        || device_flows::scene(None),
        &[
            (&[0, 3], (4_094, 16)),
            (&[2, 3], (4_585, 16)),
            (&[0, 1, 2], (86_493, 23)),
            (&[0, 2, 3], (232_924, 24)),
        ],
        &[
            ("confirm", "approved"),
            ("confirm", "over"),
            ("confirm", "decided elsewhere"),
            ("confirm", "expired"),
            ("confirm", "unmet"),
            ("refuse", "denied"),
            ("refuse", "decided elsewhere"),
        ],
    );
    println!("{text}");
}

#[test]
fn no_order_of_events_breaks_a_request_by_a_back_channel() {
    let text = exhaust(
        "back channel",
        || backchannel::scene(None),
        &[(&[0, 1, 2], (23_535, 23)), (&[0, 2, 4], (53_647, 22)), (&[0, 2, 3], (11_460, 19))],
        &[
            ("poll", "pending"),
            ("poll", "denied"),
            ("redeem", "issued"),
            ("redeem", "replayed"),
            ("redeem", "unmet"),
            ("approve", "approved"),
            ("approve", "decided before"),
            ("approve", "refused"),
            ("approve", "unmet"),
            ("deny", "denied"),
        ],
    );
    println!("{text}");
}

#[test]
fn no_order_of_events_breaks_an_approval() {
    let text = exhaust(
        "approval",
        || approval::scene(None),
        &[(&[0, 1, 3], (71_058, 20)), (&[0, 2, 3], (62_393, 22)), (&[0, 2, 4], (51_075, 19))],
        &[
            ("approve", "approved"),
            ("approve", "denied"),
            ("approve", "decided before"),
            ("approve", "refused"),
            ("deny, block", "denied"),
            ("deny, block", "decided before"),
            ("begin", "begun"),
            ("begin", "taken"),
        ],
    );
    println!("{text}");
}

#[test]
fn no_order_of_events_breaks_the_ownership_of_a_domain() {
    let text = exhaust(
        "domain",
        || domain::scene(None),
        &[
            (&[0, 1], (9_559, 20)),
            (&[0, 1, 3], (238_115, 25)),
            (&[0, 2, 3], (154_309, 22)),
            (&[1, 2, 4], (368_019, 25)),
            (&[0, 3, 5], (161_744, 22)),
            (&[2, 4, 5], (148_739, 22)),
        ],
        &[
            ("check", "not due"),
            ("missing", "done"),
            ("found", "done"),
            ("prove", "done"),
            ("prove", "taken"),
            ("prove", "contended"),
            ("prove", "organization suspended"),
            ("prove elsewhere", "done"),
            ("prove elsewhere", "taken"),
            ("remove", "done"),
            ("remove", "contended"),
            ("remove", "organization suspended"),
        ],
    );
    println!("{text}");
}

#[test]
fn no_order_of_events_breaks_a_flow() {
    let text = exhaust(
        "flow",
        || flow::scene(None),
        &[(&[0, 1, 2], (20_610, 17)), (&[0, 1, 3], (110_118, 20)), (&[0, 2, 3], (100_999, 21))],
        &[
            ("prove", "signed in"),
            ("prove", "over"),
            ("prove", "expired"),
            ("prove", "goes on"),
            ("try a wrong password", "goes on"),
            ("try a wrong password", "over"),
        ],
    );
    println!("{text}");
}
