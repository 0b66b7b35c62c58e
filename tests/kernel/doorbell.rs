//! The machine of `CONTRIBUTING.md`, run as it stands there.

use crate::support::World;
use porteiro::{actors::Failure, domain::Context};
use std::fs;

// [the machine]
use porteiro::domain::{Decision, Machine, Record, Timestamp};
use serde::{Deserialize, Serialize};

/// A doorbell: rings until it is muted.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Doorbell {
    rings: u64,
    muted: bool,
}

pub enum Command {
    Ring,
    Mute,
}

pub enum Event {
    Rung,
    Muted,
}

#[derive(Debug, PartialEq)]
pub enum Refusal {
    Muted,
}

impl Machine for Doorbell {
    const KIND: &'static str = "doorbell";
    type Command = Command;
    type Event = Event;
    type Reply = u64;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        match (command, self.muted) {
            (Command::Ring, false) => Decision::accept(vec![Event::Rung], self.rings + 1),
            (Command::Ring, true) => Decision::refuse(Refusal::Muted),
            (Command::Mute, false) => Decision::accept(vec![Event::Muted], self.rings)
                .recording(Record::new("doorbell.muted").with("rings", self.rings)),
            (Command::Mute, true) => Decision::accept(vec![], self.rings),
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Rung => self.rings += 1,
            Event::Muted => self.muted = true,
        }
    }
}
// [/the machine]

#[tokio::test]
async fn a_new_machine_needs_one_impl_and_nothing_else() {
    let world = World::new().await;
    let node = world.node().await;
    let doorbells = node.tree.host::<Doorbell>().await.unwrap();
    let caller = Context::node();
    assert_eq!(doorbells.ask(&caller, "front", Command::Ring).await.unwrap().reply, 1);
    assert_eq!(doorbells.ask(&caller, "front", Command::Ring).await.unwrap().reply, 2);
    assert_eq!(doorbells.ask(&caller, "front", Command::Mute).await.unwrap().reply, 2);
    let muted = Err(Failure::Refused(Refusal::Muted));
    assert!(doorbells.ask(&caller, "front", Command::Ring).await == muted);
    node.stop().await;
    let node = world.node().await;
    let doorbells = node.tree.host::<Doorbell>().await.unwrap();
    assert!(doorbells.ask(&caller, "front", Command::Ring).await == muted);
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[test]
fn the_machine_in_the_contributors_guide_is_the_one_that_is_tested() {
    let source = include_str!("doorbell.rs");
    let (_, rest) = source.split_once("// [the machine]\n").unwrap();
    let (machine, _) = rest.split_once("// [/the machine]\n").unwrap();
    let guide = fs::read_to_string("CONTRIBUTING.md").unwrap();
    assert!(guide.contains(machine), "CONTRIBUTING.md shows another machine");
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let model = fs::read_to_string("docs/threat-model.md").unwrap();
    let mut tests = String::new();
    for folder in ["tests", "src"] {
        visit(std::path::Path::new(folder), &mut |text| tests.push_str(text));
    }
    let is_name = |word: &&str| word.matches('_').count() >= 3 && !word.contains(['.', '/', ' ']);
    let named: Vec<&str> = model.split('`').skip(1).step_by(2).filter(is_name).collect();
    assert!(named.len() > 20);
    for name in named {
        assert!(tests.contains(&format!("fn {name}()")), "there is no test {name}");
    }
}

fn visit(folder: &std::path::Path, look: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, look);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            look(text.split("#[cfg(test)]").next().unwrap_or_default());
        }
    }
}
