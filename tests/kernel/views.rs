//! Views: what is read without an actor, and what is refused.

use crate::{
    ledger::{Command, Ledger},
    support::{Node, World},
};
use porteiro::actors::HydrateError;
use tokio::task::JoinSet;

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
