//! Visits every world of a scene that can be reached, nearest first, so that a counterexample is a shortest one.
//!
//! Worlds are compared whole and not by a hash of them. Of each only the step that led to it is kept beside it; a
//! trace is told by taking those steps once more.

use super::{
    asks::Said,
    rules::Rules,
    scene::View,
    shell::{self, Step},
    world::{Action, Bounds, Call, Fate, State, World},
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
    /// What callers were told, of which ask.
    pub told: BTreeSet<(Said, Said)>,
    /// What has landed of commits whose actor was gone, and of others.
    pub landed: BTreeSet<(Said, Said)>,
    pub violation: Option<Violation>,
}

/// A property that does not hold, and the steps after which it does not.
pub struct Violation {
    pub property: &'static str,
    pub trace: String,
}

fn beginning(rules: &mut Rules, cast: &[u8]) -> World {
    let rows = rules.beginning();
    let call = |request: &u8| {
        let ask = u8::try_from(rules.scene.requests[usize::from(*request)]).unwrap();
        let state = State::Waiting { ask, node: None };
        Call { request: *request, tries: 0, rereads: 0, state }
    };
    let calls = cast.iter().map(call).collect();
    let held = [vec![None; rows.len()], vec![None; rows.len()]];
    let (strays, landed) = (Vec::new(), Vec::new());
    World { clock: 0, writes: 1, losses: 0, rows, held, calls, strays, landed }
}

/// Goes through all worlds that these requests lead to, or up to the first violation of `wanted`; of any property, if
/// none is named.
pub fn explore(
    rules: &mut Rules,
    cast: &[u8],
    bounds: Bounds,
    wanted: Option<&'static str>,
) -> Explored {
    let start = beginning(rules, cast);
    let mut explored = Explored::default();
    let mut visited = HashSet::from([start.canonical()]);
    // The step that led to each world, and from which.
    let mut origins: Vec<Option<(u32, Action)>> = vec![None];
    let mut frontier = vec![(0, start)];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for (place, world) in frontier {
            for action in world.actions(bounds) {
                let Some(step) = shell::take(rules, &world, action) else { continue };
                let Step { world: reached, violated, told, .. } = step;
                explored.steps += 1;
                let broken = violated.filter(|it| wanted.is_none_or(|one| one == *it));
                if let Some(property) = broken {
                    let trace = tell(rules, cast, &path(&origins, place, action));
                    explored.violation = Some(Violation { property, trace });
                    explored.worlds = visited.len();
                    return explored;
                }
                if let Some((ask, word)) = told {
                    explored.told.insert((rules.ask(ask).name, rules.said(word)));
                }
                if reached.landed.len() > world.landed.len() {
                    let view = View { rules, world: &reached };
                    explored
                        .landed
                        .extend(view.landed().next_back().map(|one| (one.ask, one.said)));
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
fn tell(rules: &mut Rules, cast: &[u8], path: &[Action]) -> String {
    let (mut world, mut trace) = (beginning(rules, cast), String::new());
    for (place, action) in path.iter().enumerate() {
        let said = sentence(rules, &world, *action);
        let step = shell::take(rules, &world, *action).unwrap();
        let (reached, told) = (step.world, step.told);
        write!(trace, "\n{:>4}. {said}", place + 1).unwrap();
        if let Some((_, word)) = told {
            write!(trace, ": {}", rules.said(word)).unwrap();
        }
        world = reached;
    }
    trace
}

fn sentence(rules: &Rules, world: &World, action: Action) -> String {
    let name = |node: u8| if node == 0 { "node A" } else { "node B" };
    let request = |place: u8| {
        let call = &world.calls[usize::from(place)];
        let ask = match &call.state {
            State::Waiting { ask, .. } => rules.ask(*ask).name,
            State::Working(work) => rules.ask(work.ask).name,
            State::Done(_) => "nothing",
        };
        format!("request {} ({ask})", call.request)
    };
    let stage = |place: u8| match &world.calls[usize::from(place)].state {
        State::Working(work) => format!("{:?} on {}", work.stage, name(work.node)),
        _ => String::new(),
    };
    match action {
        Action::Tick => "time passes".to_owned(),
        Action::Forget(slot) => {
            format!("the janitor forgets {}", rules.scene.entities[usize::from(slot)].kind)
        }
        Action::Crash(node) => format!("{} dies", name(node)),
        Action::Begin(place, node) => format!("{} begins {}", name(node), request(place)),
        Action::Go(place, fate) => {
            let lost = if fate == Fate::Lost { ", and its answer is lost" } else { "" };
            format!("{} goes on from {}{lost}", request(place), stage(place))
        }
        Action::LoseTrack(place) => {
            format!("it is not heard what became of the commit of {}", request(place))
        }
        Action::Land(place) => {
            let (request, work) = &world.strays[usize::from(place)];
            let ask = rules.ask(work.ask).name;
            format!("the commit of request {request} ({ask}) lands, whose actor is gone")
        }
    }
}
