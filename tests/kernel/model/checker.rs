//! Visits every world that can be reached, nearest first, so that a counterexample is a shortest one.
//!
//! Worlds are compared whole and not by a hash of them: what is said to be exhausted is. Of each only
//! the step that led to it is kept beside it; a trace is told by taking those steps once more.

use super::{
    chronicle::{Property, Witness},
    rules::Rules,
    shell::{self, Said, Step},
    world::{Action, Bounds, World},
};
use std::{
    collections::{BTreeSet, HashSet},
    fmt::Write as _,
};

/// What a search saw.
#[derive(Default)]
pub struct Explored {
    pub worlds: usize,
    pub steps: usize,
    /// How many steps the farthest world is away.
    pub depth: usize,
    pub seen: BTreeSet<Witness>,
    pub violation: Option<Violation>,
}

/// A property that does not hold, and the steps after which it does not.
pub struct Violation {
    pub property: Property,
    pub trace: String,
}

/// Goes through all worlds within the bounds, or up to the first violation of `wanted`; of any
/// property, if none is named.
pub fn explore(rules: &mut Rules, bounds: Bounds, wanted: Option<Property>) -> Explored {
    let start = World::new(rules);
    let mut explored = Explored::default();
    let mut visited = HashSet::from([start.canonical()]);
    // The step that led to each world, and from which.
    let mut origins: Vec<Option<(u32, Action)>> = vec![None];
    let mut frontier = vec![(0, start)];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for (place, world) in frontier {
            for action in world.actions(bounds) {
                let Some(step) = shell::take(rules, bounds, &world, action) else { continue };
                let Step { world: reached, violated, seen, .. } = step;
                explored.steps += 1;
                explored.seen.extend(seen);
                let broken = violated.into_iter().find(|it| wanted.is_none_or(|one| one == *it));
                if let Some(property) = broken {
                    let trace = tell(rules, bounds, &path(&origins, place, action));
                    explored.violation = Some(Violation { property, trace });
                    explored.worlds = visited.len();
                    return explored;
                }
                if visited.insert(reached.canonical()) {
                    next.push((u32::try_from(origins.len()).unwrap(), reached));
                    origins.push(Some((place, action)));
                }
            }
        }
        explored.depth += usize::from(!next.is_empty());
        frontier = next;
    }
    explored.worlds = visited.len();
    explored
}

fn path(origins: &[Option<(u32, Action)>], mut place: u32, last: Action) -> Vec<Action> {
    let mut path = vec![last];
    while let Some((from, action)) = origins[place as usize] {
        path.push(action);
        place = from;
    }
    path.reverse();
    path
}

/// Tells the steps as sentences.
fn tell(rules: &mut Rules, bounds: Bounds, path: &[Action]) -> String {
    let (mut world, mut trace) = (World::new(rules), String::new());
    for (place, action) in path.iter().enumerate() {
        let step = shell::take(rules, bounds, &world, *action).unwrap();
        write!(trace, "\n{:>4}. {action}", place + 1).unwrap();
        match &step.said {
            Some(Said::Verdict(verdict, token)) => match &verdict.outcome {
                Ok(_) if verdict.issues() => {
                    write!(trace, ": granted, with refresh token {token}").unwrap();
                }
                Ok(_) => trace.push_str(": granted"),
                Err(refusal) => write!(trace, ": refused, {refusal}").unwrap(),
            },
            Some(Said::Unmet(kind)) => write!(trace, ": unmet, the {kind} has changed").unwrap(),
            Some(Said::Contended) => trace.push_str(": contended"),
            None => {}
        }
        world = step.world;
    }
    trace
}
