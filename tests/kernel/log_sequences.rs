//! Every sequence, up to a stated length, of what happens to the security log: two nodes append, one anchors, one
//! deletes what is old, an answer or a commit is lost, a node dies (adr/0165).
//!
//! A de Bruijn sequence holds each of them once. After each event the whole log is proved, also against the heads
//! that were kept outside, and has exactly as many rows as were acknowledged or are known to be durable.
//!
//! With `PORTEIRO_LOG_SEQUENCES` set to more than 3, the sequences are longer (`bench/long/model`).

use crate::{
    ledger::Command,
    support::{Node, Stranger, World},
};
use porteiro::{
    domain::Clock as _,
    store::{Finding, Head, Moment},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// How long the sequences are in the ordinary run.
const LENGTH: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    OneAppends,
    OtherAppends,
    /// Every lane's head is named in the log, and kept outside.
    Anchored,
    /// What is older than half an hour may go, and goes.
    Shortened,
    /// The row is durable, and its writer is not told.
    AnswerLost,
    /// The row is not durable, and its writer is not told.
    CommitLost,
    /// A node is gone without giving up its lane, and comes back.
    Died,
}

impl Event {
    const ALL: [Self; 7] = [
        Self::OneAppends,
        Self::OtherAppends,
        Self::Anchored,
        Self::Shortened,
        Self::AnswerLost,
        Self::CommitLost,
        Self::Died,
    ];
}

/// Two nodes and what their log must hold.
struct Scene {
    world: World,
    one: Node,
    other: Option<Node>,
    stranger: Stranger,
    kept_outside: Vec<Head>,
    /// How many rows were ever written, beside those of the root lane.
    written: i64,
    /// No book is written to twice.
    books: u64,
    /// Up to which row each lane goes.
    lanes: BTreeMap<String, i64>,
    /// Which lanes the last proof named.
    named: BTreeSet<String>,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        let (one, other) = (world.node().await, Some(world.node().await));
        let stranger = world.stranger().await;
        Self {
            world,
            one,
            other,
            stranger,
            kept_outside: Vec::new(),
            written: 0,
            books: 0,
            lanes: BTreeMap::new(),
            named: BTreeSet::new(),
        }
    }

    fn other(&self) -> &Node {
        self.other.as_ref().unwrap()
    }

    async fn append(&mut self, by_other: bool, lost: Option<Moment>) -> bool {
        self.books += 1;
        let node = if by_other { self.other.as_ref().unwrap() } else { &self.one };
        if let Some(moment) = lost {
            node.script.fail_next(moment, 1);
        }
        let book = format!("book{}", self.books);
        let asked = node.ledgers.ask(&book, Command::AppendAndRecord(self.books)).await;
        node.script.clear();
        asked.is_ok()
    }

    async fn happen(&mut self, event: Event) {
        // Leases end, and rows grow old.
        self.world.clock.advance(Duration::from_secs(40));
        match event {
            Event::OneAppends => {
                assert!(self.append(false, None).await);
                self.written += 1;
            }
            Event::OtherAppends => {
                assert!(self.append(true, None).await);
                self.written += 1;
            }
            Event::Anchored => {
                let now = self.world.clock.now();
                self.kept_outside = self.one.store.anchor_log(now).await.unwrap();
                self.written += 1;
            }
            Event::Shortened => self.shorten().await,
            Event::AnswerLost => {
                assert!(!self.append(false, Some(Moment::Answer)).await, "it cannot know");
                self.written += 1;
            }
            Event::CommitLost => {
                assert!(!self.append(true, Some(Moment::Commit)).await, "nor can it here");
            }
            Event::Died => self.die().await,
        }
    }

    async fn shorten(&mut self) {
        self.world.clock.advance(Duration::from_mins(10));
        let now = self.world.clock.now();
        let before = now - Duration::from_mins(30);
        let allowed = self.other().store.checkpoint_log(now, before, 1_000).await.unwrap();
        self.written += i64::from(allowed > 0);
        while self.other().store.trim_log(100).await.unwrap() > 0 {}
    }

    /// The other node ends, and its lanes are held as by one that was killed.
    async fn die(&mut self) {
        let held =
            "CREATE TABLE held_by_the_dead AS SELECT lane, holder, held_until FROM log_lanes";
        self.stranger.run(held).await.unwrap();
        self.other.take().unwrap().stop().await;
        for sql in [
            "UPDATE log_lanes SET \
             holder = (SELECT d.holder FROM held_by_the_dead d WHERE d.lane = log_lanes.lane), \
             held_until = (SELECT d.held_until FROM held_by_the_dead d WHERE d.lane = log_lanes.lane)",
            "DROP TABLE held_by_the_dead",
        ] {
            self.stranger.run(sql).await.unwrap();
        }
        self.other = Some(self.world.node().await);
    }

    /// What is found by a node, which may be the one that has written.
    async fn findings(&self) -> BTreeSet<Finding> {
        self.one.store.verify_log(&self.kept_outside).await.unwrap().findings
    }

    /// Demands that the log is whole, and has every row that it must have had.
    async fn prove(&mut self, so_far: &[Event]) {
        let proof = self.one.store.verify_log(&self.kept_outside).await.unwrap();
        let told = &so_far[so_far.len().saturating_sub(LENGTH + 1)..];
        assert!(proof.findings.is_empty(), "{:?} after {told:?}", proof.findings);
        let of_lanes = proof.heads.iter().filter(|(lane, _)| *lane != "root");
        let now: BTreeMap<String, i64> = of_lanes.map(|(lane, seq)| (lane.clone(), *seq)).collect();
        // A lane whose rows are all too old is not named until it is written to again; it goes on where it was.
        let may_be_gone = so_far.last() == Some(&Event::Shortened);
        let gone = self.named.iter().any(|lane| !now.contains_key(lane));
        assert!(may_be_gone || !gone, "a lane is gone after {told:?}");
        self.named = now.keys().cloned().collect();
        self.lanes.extend(now);
        let written: i64 = self.lanes.values().sum();
        assert_eq!(written, self.written, "rows after {told:?}");
    }

    async fn stop(self) {
        self.one.stop().await;
        self.other.unwrap().stop().await;
    }
}

/// Returns a sequence in which each sequence of this length occurs, and the first of it once more at its end.
fn every_sequence(length: usize) -> Vec<Event> {
    fn extend((t, p): (usize, usize), word: &mut [usize], found: &mut Vec<usize>) {
        let length = word.len() - 1;
        if t > length {
            if length.is_multiple_of(p) {
                found.extend(&word[1..=p]);
            }
            return;
        }
        word[t] = word[t - p];
        extend((t + 1, p), word, found);
        for next in word[t - p] + 1..Event::ALL.len() {
            word[t] = next;
            extend((t + 1, t), word, found);
        }
    }
    let mut found = Vec::new();
    extend((1, 1), &mut vec![0; length + 1], &mut found);
    let ends = found[..length - 1].to_vec();
    found.into_iter().chain(ends).map(|place| Event::ALL[place]).collect()
}

fn length() -> usize {
    let asked = std::env::var("PORTEIRO_LOG_SEQUENCES").ok();
    let asked = asked.map_or(LENGTH, |text| text.parse().unwrap());
    assert!((LENGTH..7).contains(&asked), "it must not prove less");
    asked
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_sequence_of_events_breaks_the_chain_or_loses_a_row() {
    let length = length();
    let events = every_sequence(length);
    let seen: BTreeSet<&[Event]> = events.windows(length).collect();
    let all = Event::ALL.len().pow(u32::try_from(length).unwrap());
    assert_eq!(seen.len(), all, "each of them occurs");
    let mut scene = Scene::new().await;
    for (place, event) in events.iter().enumerate() {
        scene.happen(*event).await;
        scene.prove(&events[..=place]).await;
    }
    println!("sequences of {length} events: {all}, rows written: {}", scene.written);
    assert!(scene.written > i64::try_from(all / 2).unwrap(), "{}", scene.written);
    scene.stop().await;
}

/// Does what a person could who owns the database.
async fn tamper(stranger: &mut Stranger, lane: &str, how: &str) {
    match how {
        "a row is altered" => {
            let alter = format!(
                "UPDATE security_log SET detail = '{{}}' WHERE lane = '{lane}' AND seq = 2"
            );
            assert_eq!(stranger.run(alter).await.unwrap(), 1);
        }
        "a row is removed" => {
            let remove = format!("DELETE FROM security_log WHERE lane = '{lane}' AND seq = 2");
            assert_eq!(stranger.run(remove).await.unwrap(), 1);
        }
        _ => {
            stranger.cut_tail(lane, 2).await;
            stranger.move_head_back(lane, 2).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_tampered_with_is_found_whatever_happens_next() {
    if std::env::var_os("PORTEIRO_TEST_POSTGRES").is_some() {
        println!(
            "skipped: on PostgreSQL a node has several lanes, and what is cut is shown in security_log_lanes"
        );
        return;
    }
    for how in ["a row is altered", "a row is removed", "the tail is cut"] {
        for event in Event::ALL {
            let mut scene = Scene::new().await;
            for before in [Event::OneAppends, Event::OneAppends, Event::Anchored] {
                scene.happen(before).await;
            }
            // The anchor is a row of that lane, and is kept outside with the next one.
            let now = scene.world.clock.now();
            let outside = scene.one.store.anchor_log(now).await.unwrap();
            assert_eq!(scene.findings().await, BTreeSet::new());
            let lanes = scene.one.store.log_lanes().await.unwrap();
            let lane = lanes.into_iter().find(|lane| lane != "root").unwrap();
            scene.stranger.disarm().await;
            tamper(&mut scene.stranger, &lane, how).await;
            scene.kept_outside.clone_from(&outside);
            assert_ne!(scene.findings().await, BTreeSet::new(), "{how}");
            scene.happen(event).await;
            // A person keeps every head that was ever given out.
            scene.kept_outside = outside;
            assert_ne!(scene.findings().await, BTreeSet::new(), "{how}, then {event:?}");
            scene.stop().await;
        }
    }
}
