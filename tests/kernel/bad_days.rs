//! The store fails: known, unknown, for a while, or for want of room.

use crate::{
    ledger::Command,
    support::{Entries, Node, World, eventually},
};
use porteiro::{
    actors::Failure,
    domain::{Clock as _, Timestamp},
    store::{Change, Commit, Delta, ExpectedRow, Moment},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

#[tokio::test]
async fn a_commit_that_failed_before_commit_is_known_not_to_have_happened() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    node.script.fail_next(Moment::Write, 1);
    let answer = node.append("a", 2).await;
    assert_eq!(answer, Err(Failure::Unavailable));
    assert!(!answer.unwrap_err().may_have_happened());
    assert_eq!(node.entries("a").await, [1]);
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    assert_eq!(node.ledgers.report().woken, 1, "a known failure costs nobody his actor");
    node.stop().await;
}

#[tokio::test]
async fn after_a_commit_of_unknown_fate_the_next_command_sees_what_is_true() {
    for (moment, truth) in [(Moment::Commit, vec![1]), (Moment::Answer, vec![1, 2])] {
        let world = World::new().await;
        let node = world.node().await;
        node.append("a", 1).await.unwrap();
        node.script.fail_next(moment, 1);
        let answer = node.append("a", 2).await;
        assert_eq!(answer, Err(Failure::Unknown), "{moment:?}");
        assert!(answer.unwrap_err().may_have_happened());
        assert_eq!(node.entries("a").await, truth, "{moment:?}");
        let report = node.ledgers.report();
        assert_eq!((report.unknown, report.woken), (1, 2), "the actor ended");
        assert_eq!(report.failures, 0, "and is not blamed for the store");
        node.stop().await;
    }
}

/// A row by hand.
fn row(id: &str, at: Timestamp) -> Commit {
    fn nothing<T>() -> Delta<T> {
        Delta { added: Vec::new(), removed: Vec::new() }
    }
    let change = Change {
        kind: "ledger",
        id: id.to_owned(),
        expected: ExpectedRow::NewId,
        revision: 1,
        id_is_derived: false,
        state: r#"{"entries":[]}"#.to_owned(),
        live_until: Timestamp::FOREVER,
        forget_at: None,
        names: nothing(),
        listings: nothing(),
    };
    let (requirements, records, messages) = (Vec::new(), Vec::new(), Vec::new());
    Commit { at, changes: vec![change], requirements, locks_requirements: true, records, messages }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_given_up_on_before_it_was_begun_is_not_written() {
    let world = World::new().await;
    if world.is_postgres() {
        println!("skipped: the two commits of this test may go to two committers on PostgreSQL");
        return;
    }
    let node = world.node().await;
    let held = node.script.hold_next_write();
    let ledgers = node.ledgers.clone();
    let first = tokio::spawn(async move { ledgers.ask("a", Command::Append(1)).await });
    eventually("a transaction that is held up", async || node.script.has_held()).await;
    let second = node.store.commit(row("b", world.clock.now()));
    let given_up = tokio::time::timeout(Duration::from_millis(50), second).await;
    assert!(given_up.is_err(), "the committer is held up");
    // Reads go on meanwhile.
    assert_eq!(node.store.version("ledger", "b").await.unwrap(), 0);
    drop(held);
    assert_eq!(first.await.unwrap().unwrap(), [1]);
    node.append("c", 1).await.unwrap();
    assert_eq!(node.store.version("ledger", "b").await.unwrap(), 0, "it was passed over");
    node.store.commit(row("b", world.clock.now())).await.unwrap();
    node.stop().await;
}

#[tokio::test]
async fn a_file_that_was_replaced_is_neither_read_nor_written_until_the_next_start() {
    let world = World::new().await;
    if world.is_postgres() {
        println!("skipped: the files of PostgreSQL are its own affair");
        return;
    }
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let at = |name: &str| world.url.strip_prefix("sqlite://").unwrap().to_owned() + name;
    let backup = at(".backup");
    world.stranger().await.run(format!("VACUUM INTO '{backup}'")).await.unwrap();
    node.append("a", 2).await.unwrap();
    // A restore: the old file goes with its write-ahead log.
    for name in ["", "-wal", "-shm"] {
        std::fs::remove_file(at(name)).unwrap();
    }
    assert!(node.store.version("ledger", "a").await.is_err(), "it is gone");
    std::fs::rename(&backup, at("")).unwrap();
    assert!(node.store.version("ledger", "a").await.is_err(), "it is another");
    assert_eq!(node.append("a", 3).await, Err(Failure::Unavailable));
    assert_eq!(node.append("b", 3).await, Err(Failure::Unavailable));
    let told = tokio::time::timeout(Duration::from_secs(5), node.store.replaced()).await;
    told.expect("the process hears that it must end");
    let next = world.node().await;
    next.append("a", 4).await.unwrap();
    node.stop().await;
    // What ended has touched nothing of the file that is there now.
    assert_eq!(next.entries("a").await, [1, 4]);
    next.append("a", 5).await.unwrap();
    next.stop().await;
    let last = world.node().await;
    assert_eq!(last.entries("a").await, [1, 4, 5]);
    last.stop().await;
}

#[tokio::test]
async fn an_unknown_fate_is_unknown_for_the_whole_group_and_applied_at_most_once() {
    let world = World::new().await;
    let node = world.node().await;
    // More than there are committers, each of which may begin with a group of one.
    node.script.fail_next(Moment::Answer, 5);
    let mut stranger = world.stranger().await;
    stranger.hold_everything().await;
    let mut askers = JoinSet::new();
    for number in 0..50u64 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move {
            let id = format!("l{number}");
            for _ in 0..10 {
                match ledgers.ask(&id, Command::AppendAndRecord(1)).await {
                    Ok(_) | Err(Failure::Refused(_)) => return true,
                    Err(Failure::Unknown) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            false
        });
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    stranger.let_go().await;
    assert!(askers.join_all().await.into_iter().all(|done| done));
    assert!(node.store.report().unknown > 5, "a group shared its fate");
    assert_eq!(stranger.count("entities").await, 50);
    assert_eq!(stranger.count("security_log WHERE event = 'ledger.appended'").await, 50);
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn a_store_that_cannot_be_read_fails_asks_without_harm_and_serves_when_it_is_back() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    node.script.fail_next(Moment::Read, u64::MAX);
    node.script.fail_next(Moment::Write, u64::MAX);
    assert_eq!(node.append("b", 1).await, Err(Failure::Unavailable));
    assert_eq!(node.append("a", 2).await, Err(Failure::Unavailable));
    assert_eq!(node.ledgers.ask("a", Command::Glance).await.unwrap(), [1], "memory still answers");
    node.script.clear();
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    assert_eq!(node.append("b", 1).await.unwrap(), [1]);
    assert_eq!(node.ledgers.report().failures, 0, "nobody is quarantined for the store's sake");
    node.stop().await;
}

#[tokio::test]
async fn what_cannot_be_verified_as_current_is_not_answered() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    node.script.fail_next(Moment::Read, u64::MAX);
    assert_eq!(node.ledgers.ask("a", Command::Read).await, Err(Failure::Unavailable));
    node.script.clear();
    assert_eq!(node.entries("a").await, [1]);
    node.stop().await;
}

/// A network between us and PostgreSQL that can be cut, or that can swallow what it is given.
struct Cable {
    port: u16,
    cut: tokio::sync::watch::Sender<bool>,
    swallow: tokio::sync::watch::Sender<bool>,
    /// How many connections were opened over it.
    opened: Arc<AtomicUsize>,
    _carrying: JoinSet<()>,
}

impl Cable {
    async fn to(server: &str) -> Self {
        let address = server.split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, is_cut) = tokio::sync::watch::channel(false);
        let (swallow, swallows) = tokio::sync::watch::channel(false);
        let opened = Arc::new(AtomicUsize::new(0));
        let (mut carrying, count) = (JoinSet::new(), opened.clone());
        carrying.spawn(async move {
            let mut lines = JoinSet::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                count.fetch_add(1, SeqCst);
                let (address, mut is_cut) = (address.clone(), is_cut.clone());
                let mut swallows = swallows.clone();
                if *is_cut.borrow() {
                    continue;
                }
                lines.spawn(async move {
                    let mut far = TcpStream::connect(address).await.unwrap();
                    let swallowed = tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => false,
                        _ = is_cut.wait_for(|cut| *cut) => false,
                        _ = swallows.wait_for(|swallow| *swallow) => true,
                    };
                    if swallowed {
                        // Neither end hears that this line is dead.
                        let _ = is_cut.wait_for(|cut| *cut).await;
                    }
                });
            }
        });
        Self { port, cut, swallow, opened, _carrying: carrying }
    }

    /// The same database by way of this cable.
    fn url(&self, world: &World) -> String {
        let (before, after) = world.url.split_once("127.0.0.1:").unwrap();
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{before}127.0.0.1:{}{after}", self.port)
    }
}

/// Starts a node at the other end of a cable, where there can be one.
#[expect(clippy::print_stdout, reason = "a test that was skipped must not look like one that ran")]
async fn across_a_cable() -> Option<(World, Cable, Node)> {
    let world = World::new().await;
    if !world.is_postgres() {
        println!("skipped: there is no network between us and SQLite");
        return None;
    }
    let cable = Cable::to(&world.url).await;
    let node = Node::start(&world, &cable.url(&world)).await;
    Some((world, cable, node))
}

/// Reads many entities at once.
async fn read_all(node: &Node) -> Vec<Entries> {
    let mut askers = JoinSet::new();
    for number in 0..64 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move { ledgers.ask(&format!("l{number}"), Command::Read).await });
    }
    askers.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_were_ended_while_they_were_idle_fail_no_read() {
    let Some((_world, cable, node)) = across_a_cable().await else { return };
    for _ in 0..10 {
        for _ in 0..5 {
            assert!(read_all(&node).await.iter().all(Result::is_ok));
        }
        // A server that is started again does the same.
        cable.cut.send_replace(true);
        tokio::time::sleep(Duration::from_millis(50)).await;
        cable.cut.send_replace(false);
        assert_eq!(node.entries("l0").await, [0; 0]);
    }
    cable.cut.send_replace(true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_hang_up_while_they_read_cost_no_connection() {
    let Some((_world, cable, node)) = across_a_cable().await else { return };
    node.append("l0", 7).await.unwrap();
    assert!(read_all(&node).await.iter().all(Result::is_ok));
    let before = cable.opened.load(SeqCst);
    for _ in 0..300 {
        tokio::select! {
            biased;
            _ = node.store.load("ledger", "l0") => {}
            () = tokio::task::yield_now() => {}
        }
    }
    let opened = cable.opened.load(SeqCst) - before;
    assert!(opened <= 8, "{opened} connections for 300 reads that were left");
    for number in 0..64 {
        let expected: &[u64] = if number == 0 { &[7] } else { &[] };
        assert_eq!(node.entries(&format!("l{number}")).await, expected, "answers are not mixed up");
    }
    cable.cut.send_replace(true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_into_nowhere_do_not_keep_the_store_away_once_it_is_back() {
    let Some((_world, cable, node)) = across_a_cable().await else { return };
    // Every connection that may be open is open.
    for _ in 0..20 {
        assert!(read_all(&node).await.iter().all(Result::is_ok));
    }
    cable.swallow.send_replace(true);
    // Each line has to notice.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(read_all(&node).await.iter().all(Result::is_err), "nothing can be verified");
    // New lines work again; the old ones stay dead, and nobody tells us.
    cable.swallow.send_replace(false);
    let back = tokio::time::timeout(Duration::from_mins(1), async {
        while node.append("l0", 1).await.is_err() {}
    });
    back.await.expect("the store is back in seconds, not when TCP gives up");
    assert_eq!(node.entries("l0").await, [1]);
    cable.cut.send_replace(true);
}

#[tokio::test]
async fn postgresql_may_go_away_in_the_middle_and_come_back_and_nothing_acknowledged_is_lost() {
    let Some((_world, cable, node)) = across_a_cable().await else { return };
    let mut askers = JoinSet::new();
    for number in 0..16u64 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move {
            let id = format!("l{number}");
            let (mut acknowledged, mut perhaps) = (Vec::new(), Vec::new());
            for entry in 0..200 {
                match ledgers.ask(&id, Command::Push(entry)).await {
                    Ok(_) => acknowledged.push(entry),
                    Err(Failure::Unknown | Failure::Late) => perhaps.push(entry),
                    Err(Failure::Unavailable | Failure::Busy) => {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            (id, acknowledged, perhaps)
        });
    }
    let felt = || node.store.report().failed + node.store.report().unknown > 0;
    // A cut between two commits is felt by none of them.
    for cut in 0..40 {
        if cut >= 4 && felt() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
        cable.cut.send_replace(true);
        tokio::time::sleep(Duration::from_millis(40)).await;
        cable.cut.send_replace(false);
    }
    let books = askers.join_all().await;
    eventually("the store to be back", async || node.append("last", 1).await.is_ok()).await;
    for (id, acknowledged, perhaps) in books {
        let stored = node.entries(&id).await;
        let mut seen = stored.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), stored.len(), "nothing is applied twice");
        assert!(acknowledged.iter().all(|entry| stored.contains(entry)), "nothing is lost");
        let explained = |entry: &u64| acknowledged.contains(entry) || perhaps.contains(entry);
        assert!(stored.iter().all(explained), "nothing appears that was said not to have happened");
    }
    assert!(felt(), "the cuts were felt");
    node.stop().await;
}

#[tokio::test]
async fn a_full_disk_refuses_writes_loses_nothing_and_serves_again_when_there_is_room() {
    let world = World::new().await;
    if world.is_postgres() {
        println!("skipped: filling PostgreSQL's disk would stop the server of the other tests");
        return;
    }
    // A file system of our own that really is full, where we may mount one.
    let folder = world.folder().join("small");
    std::fs::create_dir(&folder).unwrap();
    let mount = |arguments: &[&str]| {
        let status = std::process::Command::new("mount").args(arguments).arg(&folder).output();
        status.is_ok_and(|output| output.status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"]) {
        println!("skipped: a small file system cannot be mounted without privileges");
        return;
    }
    let _mounted = Mounted(folder.clone());
    let url = format!("sqlite://{}", folder.join("porteiro.db").display());
    let node = Node::start(&world, &url).await;
    let ballast = "x".repeat(20_000);
    let expires_at = porteiro::domain::Timestamp::FOREVER;
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for entry in 0..200 {
        let text = ballast.clone();
        let post = Command::AppendAndPost { entry, topic: "mail", text, expires_at };
        match node.ledgers.ask("a", post).await {
            Ok(_) => acknowledged.push(entry),
            Err(Failure::Unavailable | Failure::Unknown) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 0 && !acknowledged.is_empty(), "{refused} refused");
    let stored = node.ledgers.ask("a", Command::Read).await.unwrap();
    assert!(acknowledged.iter().all(|entry| stored.contains(entry)), "nothing is lost");
    assert!(mount(&["-o", "remount,size=50m"]));
    eventually("room", async || node.append("a", 1_000).await.is_ok()).await;
    let stored = node.entries("a").await;
    assert!(acknowledged.iter().all(|entry| stored.contains(entry)), "nothing is lost");
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

/// Takes a file system away again, also when the test has failed.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
