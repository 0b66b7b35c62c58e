//! Views: what is read without an actor, and what is refused.

use crate::{
    ledger::{Command, Ledger},
    support::{Node, World},
};
use porteiro::actors::{Bound, HydrateError};
use porteiro::{
    domain::{Clock as _, Context},
    store::views::ListPart,
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use tokio::task::{JoinSet, yield_now};

/// As much of a list as is ever read.
pub const WHOLE: Bound = Bound::new(Bound::MOST);

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
    assert_eq!(view.list_if(false, ("ledgers", "ana"), WHOLE).await.unwrap().len(), 3);
    let mut stranger = world.stranger().await;
    let raise = "UPDATE entities SET revision = 2, version = version + 1 WHERE id = 'b'";
    stranger.run(raise).await.unwrap();
    let refused = view.list_if(true, ("ledgers", "ana"), WHOLE).await;
    let Err(HydrateError::TooNew { kind, id, revision }) = refused else {
        panic!("the list was read")
    };
    assert_eq!((kind, &*id, revision), ("ledger", "b", 2));
    assert!(matches!(view.look("b").await, Err(HydrateError::TooNew { .. })));
    assert_eq!(view.look("a").await.unwrap().machine.entries, [1], "others are read");
    stranger.run("UPDATE entities SET state = '{' , revision = 1 WHERE id = 'b'").await.unwrap();
    let poisoned = view.list_if(true, ("ledgers", "ana"), WHOLE).await;
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
        callers.spawn(async move {
            view.list_if(false, ("ledgers", "ana"), WHOLE).await.unwrap().len()
        });
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
    let (list, turns) = turns_of_another_task(view.list_if(true, ("ledgers", "ana"), WHOLE)).await;
    assert_eq!(list.unwrap().len(), 1_000);
    // After the rows of a page were read, and after they were parsed.
    assert!(turns >= 15, "{turns} turns while ten pages were read");
    let page = view.page("ledgers", "ana", ("0001", "l1"), Bound::new(250));
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

#[tokio::test]
async fn a_list_is_read_up_to_a_bound_and_within_ranks() {
    let (world, node) = a_thousand_listed().await;
    let more = "INSERT INTO listings (list, owner, rank, kind, id) \
                SELECT 'ledgers', 'ana', '0002', kind, id FROM listings WHERE id LIKE 'l1%'";
    world.stranger().await.run(more).await.unwrap();
    let view = node.tree.view::<Ledger>();
    let first = view.list_if(true, ("ledgers", "ana"), Bound::new(120)).await.unwrap();
    assert_eq!(first.len(), 120);
    assert_eq!(view.list_if(false, ("ledgers", "ana"), WHOLE).await.unwrap().len(), 1_000);
    let list = ("ledgers", "ana");
    let below = async |after, below| {
        view.page_below(list, (after, Some(below)), WHOLE).await.unwrap().len()
    };
    assert_eq!(below(("", ""), "0002").await, 1_000);
    assert_eq!(below(("", ""), "0001").await, 0);
    assert_eq!(below(("0002", ""), "0003").await, 112, "1, 10 to 19, 100 to 199, and 1000");
    assert_eq!(Bound::asked(0).most(), 1);
    assert_eq!(Bound::asked(u32::MAX).most(), Bound::MOST);
    node.stop().await;
}

#[tokio::test]
async fn what_lives_beyond_the_first_of_a_list_is_found() {
    let (world, node) = a_thousand_listed().await;
    let mut stranger = world.stranger().await;
    stranger.run("UPDATE entities SET live_until = 9000000000000000").await.unwrap();
    let part = ListPart { list: "ledgers", owner: "ana", above: "", below: "g" };
    let reads = node.store.fresh_reads();
    let beyond =
        async |kept, most| reads.live_beyond(&part, (kept, most), world.clock.now()).await.unwrap();
    assert_eq!(beyond(1_000, 10).await, [""; 0]);
    assert_eq!(beyond(998, 10).await, ["l998", "l999"]);
    assert_eq!(beyond(0, 2).await, ["l1", "l10"]);
    // What has ended takes no place.
    stranger.run("UPDATE entities SET live_until = 0 WHERE id IN ('l1', 'l2')").await.unwrap();
    assert_eq!(beyond(998, 10).await, [""; 0]);
    assert_eq!(beyond(997, 10).await, ["l999"]);
    node.stop().await;
}

#[tokio::test]
async fn what_a_node_has_changed_itself_its_views_read_anew() {
    let world = World::new().await;
    let (node, other) = (world.node().await, world.node().await);
    let view = node.tree.view::<Ledger>();
    let seen = async |id| view.look(id).await.unwrap().machine.entries.clone();
    node.append("a", 1).await.unwrap();
    assert_eq!((seen("a").await, seen("child").await), (vec![1], vec![]));
    other.append("a", 2).await.unwrap();
    assert_eq!(seen("a").await, [1], "another node's change is seen within a second");
    // By its owner, with a birth.
    let child = "child".to_owned();
    let bear = Command::AppendAndBear { entry: 3, child, name: None };
    node.ledgers.ask("a", bear).await.unwrap();
    assert_eq!((seen("a").await, seen("child").await), (vec![1, 2, 3], vec![3]));
    // By the owner of another, and without one.
    let passed = vec![("child".to_owned(), Command::Append(4))];
    node.ledgers.ask("a", Command::AppendAndPassOn(4, passed)).await.unwrap();
    assert_eq!(seen("child").await, [3, 4]);
    let mut commit = node.tree.multi_commit(&Context::operator());
    commit.decide::<Ledger>("child", &Command::Append(5)).await.unwrap().unwrap();
    commit.commit().await.unwrap();
    assert_eq!(seen("child").await, [3, 4, 5]);
    other.stop().await;
    node.stop().await;
}
