//! Random histories against a plain model: no acknowledged event lost, none applied twice.

use crate::{
    ledger::{Command, Refusal},
    support::{Node, World, eventually},
};
use porteiro::{actors::Failure, store::Moment};
use proptest::{prelude::*, test_runner::TestRunner};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::task::JoinSet;

#[derive(Clone, Debug)]
enum Step {
    /// Appends, through one of two nodes, to one of a few books, all at once.
    Append(Vec<(u8, u8)>),
    /// The same, recorded in the log, or refused and kept all the same.
    Record(u8, u8),
    RefuseAndKeep(u8, u8),
    /// Asks for the same number again.
    Again(u8, u8),
    Read(u8, u8),
    Panic(u8, u8),
    Fail(u8, Fault),
    /// Lets everybody rest.
    Rest,
    /// Ends a node, in order or not, and starts another in its place.
    Restart(u8),
    Crash(u8),
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Read,
    Write,
    Commit,
    Answer,
}

impl From<Fault> for Moment {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Read => Self::Read,
            Fault::Write => Self::Write,
            Fault::Commit => Self::Commit,
            Fault::Answer => Self::Answer,
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let node = 0..2u8;
    let book = 0..3u8;
    let fault = prop_oneof![
        Just(Fault::Read),
        Just(Fault::Write),
        Just(Fault::Commit),
        Just(Fault::Answer)
    ];
    let step = prop_oneof![
        6 => prop::collection::vec((node.clone(), book.clone()), 1..8).prop_map(Step::Append),
        2 => (node.clone(), book.clone()).prop_map(|(n, b)| Step::Record(n, b)),
        1 => (node.clone(), book.clone()).prop_map(|(n, b)| Step::RefuseAndKeep(n, b)),
        2 => (node.clone(), book.clone()).prop_map(|(n, b)| Step::Again(n, b)),
        2 => (node.clone(), book.clone()).prop_map(|(n, b)| Step::Read(n, b)),
        1 => (node.clone(), book.clone()).prop_map(|(n, b)| Step::Panic(n, b)),
        3 => (node.clone(), fault).prop_map(|(n, f)| Step::Fail(n, f)),
        1 => Just(Step::Rest),
        1 => node.clone().prop_map(Step::Restart),
        1 => node.prop_map(Step::Crash),
    ];
    prop::collection::vec(step, 1..40)
}

/// What must be true, whatever the store and the actors have been through.
#[derive(Default)]
struct Model {
    next: u64,
    books: BTreeMap<u8, Book>,
    /// Numbers appended with a record, known and perhaps.
    recorded: BTreeSet<u64>,
    perhaps_recorded: BTreeSet<u64>,
}

#[derive(Default)]
struct Book {
    /// Acknowledged, in the order of acknowledgement where they were asked one after the other.
    certain: BTreeSet<u64>,
    /// Of unknown fate.
    perhaps: BTreeSet<u64>,
}

impl Model {
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Learns from an answer what became of `entry`.
    fn learn(&mut self, book: u8, entry: u64, answer: Result<Vec<u64>, Failure<Refusal>>) {
        let book = self.books.entry(book).or_default();
        match answer {
            Ok(entries) => {
                assert!(entries.contains(&entry), "an acknowledged entry is in its own answer");
                book.certain.insert(entry);
            }
            Err(Failure::Refused(Refusal::OnPrinciple)) => {
                book.certain.insert(entry);
            }
            Err(Failure::Refused(Refusal::AlreadyThere)) => {
                panic!("{entry} was asked for once and is said to be there already")
            }
            Err(failure) if failure.may_have_happened() => {
                book.perhaps.insert(entry);
            }
            Err(_) => {}
        }
    }

    fn check(&self, book: u8, entries: &[u64]) {
        let once: BTreeSet<u64> = entries.iter().copied().collect();
        assert_eq!(once.len(), entries.len(), "applied twice in book {book}: {entries:?}");
        let Some(expected) = self.books.get(&book) else {
            assert!(entries.is_empty(), "entries out of nothing");
            return;
        };
        let lost: Vec<_> = expected.certain.difference(&once).collect();
        assert!(lost.is_empty(), "acknowledged and lost in book {book}: {lost:?}");
        let known: BTreeSet<_> = expected.certain.union(&expected.perhaps).copied().collect();
        let ghosts: Vec<_> = once.difference(&known).collect();
        assert!(ghosts.is_empty(), "never asked for, or said to have failed: {ghosts:?}");
    }
}

fn id(book: u8) -> String {
    format!("book{book}")
}

async fn play(steps: Vec<Step>) {
    let mut world = World::new().await;
    world.tree.idle = Duration::from_millis(8);
    let mut nodes = vec![world.node().await, world.node().await];
    let mut model = Model::default();
    for step in steps {
        // Pauses after failures are over before the next step.
        world.clock.advance(Duration::from_mins(2));
        take(step, &world, &mut nodes, &mut model).await;
    }
    world.clock.advance(Duration::from_mins(2));
    for node in &nodes {
        node.script.clear();
    }
    for book in 0..3 {
        for node in &nodes {
            model.check(book, &read(&world, node, book).await);
        }
    }
    let log = nodes[0].store.verify_log(&[]).await.unwrap();
    assert!(log.findings.is_empty(), "{:?}", log.findings);
    check_log(&world, &nodes[0], &model).await;
    for node in nodes {
        node.stop().await;
    }
}

/// Reads a book once any pause is over: a panic is noted when its actor is gone, which may be late.
async fn read(world: &World, node: &Node, book: u8) -> Vec<u64> {
    let mut entries = Vec::new();
    eventually("the end of a pause", async || {
        world.clock.advance(Duration::from_mins(2));
        let answer = node.ledgers.ask(&id(book), Command::Read).await;
        answer.map(|found| entries = found).is_ok()
    })
    .await;
    entries
}

/// A record is in the log exactly where its entry is in the book.
async fn check_log(world: &World, node: &Node, model: &Model) {
    let mut logged = Vec::new();
    for lane in node.store.log_lanes().await.unwrap() {
        for row in node.store.log_page(&lane, 0).await.unwrap() {
            if row.event == "ledger.appended" {
                let detail: serde_json::Value = serde_json::from_str(&row.detail).unwrap();
                logged.push(detail["entry"].as_u64().unwrap());
            }
        }
    }
    let once: BTreeSet<u64> = logged.iter().copied().collect();
    assert_eq!(once.len(), logged.len(), "recorded twice");
    assert!(model.recorded.is_subset(&once), "a record was lost");
    let mut stored = BTreeSet::new();
    for book in 0..3 {
        stored.extend(read(world, node, book).await);
    }
    assert!(once.is_subset(&stored), "a record of something that did not happen");
    let perhaps: BTreeSet<u64> = model.perhaps_recorded.intersection(&stored).copied().collect();
    assert!(perhaps.is_subset(&once), "something happened without its record");
}

async fn take(step: Step, world: &World, nodes: &mut [Node], model: &mut Model) {
    match step {
        Step::Append(asks) => {
            let mut askers = JoinSet::new();
            for (node, book) in asks {
                let (entry, ledgers) = (model.fresh(), nodes[usize::from(node)].ledgers.clone());
                askers.spawn(async move {
                    (book, entry, ledgers.ask(&id(book), Command::Push(entry)).await)
                });
            }
            for (book, entry, answer) in askers.join_all().await {
                model.learn(book, entry, answer);
            }
        }
        Step::Record(node, book) => {
            let entry = model.fresh();
            let ledgers = &nodes[usize::from(node)].ledgers;
            let answer = ledgers.ask(&id(book), Command::AppendAndRecord(entry)).await;
            model.perhaps_recorded.insert(entry);
            model.recorded.extend(answer.is_ok().then_some(entry));
            model.learn(book, entry, answer);
        }
        Step::RefuseAndKeep(node, book) => {
            let entry = model.fresh();
            let ledgers = &nodes[usize::from(node)].ledgers;
            let answer = ledgers.ask(&id(book), Command::RefuseAndKeep(entry)).await;
            model.perhaps_recorded.insert(entry);
            let kept = answer == Err(Failure::Refused(Refusal::OnPrinciple));
            model.recorded.extend(kept.then_some(entry));
            model.learn(book, entry, answer);
        }
        Step::Again(node, book) => {
            let certain = model.books.get(&book).and_then(|book| book.certain.last().copied());
            let Some(entry) = certain else { return };
            let answer = nodes[usize::from(node)].append(&id(book), entry).await;
            assert!(answer.is_err(), "{entry} was granted twice");
        }
        Step::Read(node, book) => {
            if let Ok(entries) =
                nodes[usize::from(node)].ledgers.ask(&id(book), Command::Read).await
            {
                model.check(book, &entries);
            }
        }
        Step::Panic(node, book) => {
            let answer = nodes[usize::from(node)].ledgers.ask(&id(book), Command::Panic).await;
            assert!(answer.is_err());
        }
        Step::Fail(node, fault) => nodes[usize::from(node)].script.fail_next(fault.into(), 1),
        Step::Rest => {
            world.clock.advance(Duration::from_mins(1));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Step::Restart(node) => {
            let fresh = world.node().await;
            std::mem::replace(&mut nodes[usize::from(node)], fresh).stop().await;
        }
        Step::Crash(node) => {
            // Not told to stop: its actors and connections go with the value, mid-air.
            let fresh = world.node().await;
            let old = std::mem::replace(&mut nodes[usize::from(node)], fresh);
            let mut busy = JoinSet::new();
            for book in 0..3u8 {
                let (entry, ledgers) = (model.fresh(), old.ledgers.clone());
                model.books.entry(book).or_default().perhaps.insert(entry);
                busy.spawn(async move { ledgers.ask(&id(book), Command::Push(entry)).await });
            }
            tokio::task::yield_now().await;
            drop(old);
            busy.abort_all();
        }
    }
}

#[test]
fn no_history_loses_an_acknowledged_event_or_applies_one_twice() {
    let cases = std::env::var("PORTEIRO_TEST_CASES").ok().and_then(|n| n.parse().ok());
    let config = ProptestConfig {
        cases: cases.unwrap_or(32),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let played = TestRunner::new(config).run(&steps(), |steps| {
        runtime.block_on(play(steps));
        Ok(())
    });
    played.unwrap();
}
