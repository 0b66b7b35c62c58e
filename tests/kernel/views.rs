//! Views: what is read without an actor, and what is refused.

use crate::{
    ledger::{Command, Ledger},
    support::{Node, World},
};
use porteiro::actors::HydrateError;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use tokio::task::{JoinSet, yield_now};

/// A node with three ledgers on the list of one owner.
async fn listed() -> (World, Node) {
    let world = World::new().await;
    let node = world.node().await;
    for id in ["a", "b", "c"] {
        node.append(id, 1).await.unwrap();
        node.ledgers.ask(id, Command::Join("ana".to_owned())).await.unwrap();
    }
    (world, node)
}

#[tokio::test]
async fn a_list_with_a_row_of_a_newer_revision_is_refused_instead_of_misread() {
    let (world, node) = listed().await;
    let view = node.tree.view::<Ledger>();
    assert_eq!(view.list("ledgers", "ana").await.unwrap().len(), 3);
    let mut stranger = world.stranger().await;
    let raise = "UPDATE entities SET revision = 2, version = version + 1 WHERE id = 'b'";
    stranger.run(raise).await.unwrap();
    let refused = view.list_if(true, "ledgers", "ana").await;
    let Err(HydrateError::TooNew { kind, id, revision }) = refused else {
        panic!("the list was read")
    };
    assert_eq!((kind, &*id, revision), ("ledger", "b", 2));
    assert!(matches!(view.look("b").await, Err(HydrateError::TooNew { .. })));
    assert_eq!(view.look("a").await.unwrap().machine.entries, [1], "others are read");
    stranger.run("UPDATE entities SET state = '{' , revision = 1 WHERE id = 'b'").await.unwrap();
    let poisoned = view.list_if(true, "ledgers", "ana").await;
    assert!(matches!(poisoned, Err(HydrateError::Poisoned { .. })));
    node.stop().await;
}

#[tokio::test]
async fn callers_that_ask_for_one_list_at_once_share_one_reading() {
    let (_world, node) = listed().await;
    let view = node.tree.view::<Ledger>();
    let reads = node.store.report().reads;
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let view = view.clone();
        callers.spawn(async move { view.list("ledgers", "ana").await.unwrap().len() });
    }
    assert_eq!(callers.join_all().await, [3; 20]);
    assert_eq!(node.store.report().reads, reads + 1);
    node.stop().await;
}

/// A node with a thousand ledgers on the list of one owner.
async fn a_thousand_listed() -> (World, Node) {
    let world = World::new().await;
    let node = world.node().await;
    let mut stranger = world.stranger().await;
    let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)";
    let entities = "INSERT INTO entities (kind, id, version, revision, state, live_until) \
                    SELECT 'ledger', 'l' || i, 1, 1, '{\"entries\":[1],\"closed\":false}', 1 FROM n";
    stranger.run(format!("{numbers} {entities}")).await.unwrap();
    let listings = "INSERT INTO listings (list, owner, rank, kind, id) \
                    SELECT 'ledgers', 'ana', '0001', 'ledger', 'l' || i FROM n";
    stranger.run(format!("{numbers} {listings}")).await.unwrap();
    (world, node)
}

/// Counts how often another task of this thread has a turn while `work` is done.
async fn turns_of_another_task<T>(work: impl Future<Output = T>) -> (T, usize) {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = turns.clone();
    let mut other = JoinSet::new();
    other.spawn(async move {
        loop {
            counted.fetch_add(1, SeqCst);
            yield_now().await;
        }
    });
    yield_now().await;
    let before = turns.load(SeqCst);
    let done = work.await;
    (done, turns.load(SeqCst) - before)
}

#[tokio::test]
async fn another_task_has_a_turn_after_every_page_of_a_list() {
    let (_world, node) = a_thousand_listed().await;
    let view = node.tree.view::<Ledger>();
    let (list, turns) = turns_of_another_task(view.list_if(true, "ledgers", "ana")).await;
    assert_eq!(list.unwrap().len(), 1_000);
    assert!(turns >= 10, "{turns} turns while ten pages were read");
    let page = view.page("ledgers", "ana", ("0001", "l1"), 250);
    let (page, turns) = turns_of_another_task(page).await;
    let page = page.unwrap();
    assert_eq!((page.len(), &*page[0].1.id), (250, "l10"), "ranks, then ids");
    assert!(turns >= 2, "{turns} turns while three pages were read");
    node.stop().await;
}

#[tokio::test]
async fn another_task_has_a_turn_while_one_reads_a_thousand_entities() {
    let (_world, node) = a_thousand_listed().await;
    let view = node.tree.view::<Ledger>();
    let all = async {
        for number in 1..=1_000 {
            assert_eq!(view.peek(&format!("l{number}")).await.unwrap().machine.entries, [1]);
        }
    };
    let ((), turns) = turns_of_another_task(all).await;
    assert!(turns >= 5, "{turns} turns while a thousand rows were read");
    node.stop().await;
}
