//! Whole processes on one database: killed, told to end, and racing.
//!
//! A child is this same test binary, told by its environment to be one. It prints each number once
//! its commit is acknowledged; what a parent has read must be there afterwards.

use crate::{
    ledger::Command,
    support::{Node, World},
};
use porteiro::actors::Failure;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command as Process, Stdio},
    time::Duration,
};
use tokio::task::JoinSet;

const ROLE: &str = "PORTEIRO_TEST_CHILD";

/// What a child is told: its database, the first number it appends, and to which books.
struct Task<'a> {
    url: &'a str,
    first: u64,
    books: u64,
}

fn start(task: &Task<'_>) -> Child {
    Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture"])
        .env(ROLE, format!("{} {} {}", task.url, task.first, task.books))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test of its own: what a child process runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(task) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = task.split(' ').collect();
    let (first, books): (u64, u64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let world = World::joining(words[0].to_owned());
    let node = world.node().await;
    let mut terminated =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..8u64 {
        let ledgers = node.ledgers.clone();
        writers.spawn(async move {
            for number in 0.. {
                let entry = first + number * 8 + writer;
                let book = format!("book{}", entry % books);
                match ledgers.ask(&book, Command::Push(entry)).await {
                    Ok(_) => say(&format!("acknowledged {entry}")),
                    Err(Failure::Busy) => return,
                    Err(Failure::Contended) => {}
                    Err(_) => say(&format!("perhaps {entry}")),
                }
            }
        });
    }
    terminated.recv().await;
    node.stop().await;
    writers.join_all().await;
    say("ended in order");
    std::process::exit(0);
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Reads a child's words until `most` numbers are acknowledged; then does `then`, and reads on.
fn listen(child: &mut Child, most: usize, then: impl FnOnce(&mut Child)) -> Heard {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = Heard::default();
    let mut then = Some(then);
    while let Some(Ok(line)) = lines.next() {
        heard.note(&line);
        if heard.acknowledged.len() >= most
            && let Some(then) = then.take()
        {
            then(child);
        }
    }
    heard
}

#[derive(Default)]
struct Heard {
    acknowledged: Vec<u64>,
    ended_in_order: bool,
}

impl Heard {
    fn note(&mut self, line: &str) {
        // The test harness prints on the same line at times.
        if let Some((_, number)) = line.split_once("acknowledged ") {
            self.acknowledged.extend(number.trim().parse::<u64>());
        }
        self.ended_in_order |= line.contains("ended in order");
    }
}

/// Reads every book and asserts that it holds what was acknowledged, each number once.
async fn audit(node: &Node, books: u64, acknowledged: &[u64]) {
    let mut stored = Vec::new();
    for book in 0..books {
        stored.extend(node.entries(&format!("book{book}")).await);
    }
    let count = stored.len();
    stored.sort_unstable();
    stored.dedup();
    assert_eq!(stored.len(), count, "nothing is applied twice");
    let lost: Vec<_> =
        acknowledged.iter().filter(|entry| stored.binary_search(entry).is_err()).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let proof = node.store.verify_log(&[]).await.unwrap();
    assert!(proof.findings.is_empty(), "{:?}", proof.findings);
}

#[tokio::test]
async fn kill_9_in_mid_commit_loses_nothing_acknowledged() {
    let world = World::on_disk().await;
    world.node().await.stop().await;
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let url = world.url.clone();
        let heard = tokio::task::spawn_blocking(move || {
            let mut child = start(&Task { url: &url, first: round * 1_000_000, books: 5 });
            let heard = listen(&mut child, 150 + 37 * usize::try_from(round).unwrap(), |child| {
                child.kill().unwrap();
            });
            child.wait().unwrap();
            heard
        });
        let heard = heard.await.unwrap();
        assert!(!heard.ended_in_order);
        acknowledged.extend(heard.acknowledged);
    }
    assert!(acknowledged.len() >= 450);
    let node = world.node().await;
    audit(&node, 5, &acknowledged).await;
    node.append("book0", u64::MAX).await.unwrap();
    node.stop().await;
}

#[tokio::test]
async fn a_process_told_to_end_answers_what_it_has_begun_and_ends_well() {
    let world = World::on_disk().await;
    world.node().await.stop().await;
    let url = world.url.clone();
    let heard = tokio::task::spawn_blocking(move || {
        let mut child = start(&Task { url: &url, first: 0, books: 5 });
        let heard = listen(&mut child, 100, |child| {
            let pid = rustix::process::Pid::from_child(child);
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        });
        assert!(child.wait().unwrap().success());
        heard
    });
    let heard = heard.await.unwrap();
    assert!(heard.ended_in_order);
    let node = world.node().await;
    audit(&node, 5, &heard.acknowledged).await;
    let mut stored = 0;
    for book in 0..5 {
        stored += node.entries(&format!("book{book}")).await.len();
    }
    assert_eq!(stored, heard.acknowledged.len(), "everything begun was answered");
    node.stop().await;
}

#[tokio::test]
async fn two_processes_that_race_for_one_entity_lose_nothing_and_double_nothing() {
    let world = World::on_disk().await;
    world.node().await.stop().await;
    let racing: Vec<_> = [0, 1_000_000]
        .map(|first| {
            let url = world.url.clone();
            tokio::task::spawn_blocking(move || {
                let mut child = start(&Task { url: &url, first, books: 1 });
                let heard = listen(&mut child, 60, |child| child.kill().unwrap());
                child.wait().unwrap();
                heard
            })
        })
        .into_iter()
        .collect();
    let mut acknowledged = Vec::new();
    for racer in racing {
        let heard = tokio::time::timeout(Duration::from_mins(1), racer).await.unwrap().unwrap();
        assert!(heard.acknowledged.len() >= 60, "neither starves");
        acknowledged.extend(heard.acknowledged);
    }
    let node = world.node().await;
    audit(&node, 1, &acknowledged).await;
    node.stop().await;
}

#[tokio::test]
async fn processes_that_open_a_new_database_at_once_migrate_it_once() {
    let world = World::on_disk().await;
    let mut openers = JoinSet::new();
    for _ in 0..4 {
        let world = World::joining(world.url.clone());
        openers.spawn(async move { world.node().await.stop().await });
    }
    openers.join_all().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    node.stop().await;
}
