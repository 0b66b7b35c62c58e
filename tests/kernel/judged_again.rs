//! Commits of a machine whose grants are judged again at each use: what they require must hold, and need not stay so until
//! they have ended.

use crate::{
    engines::on_postgres,
    ledger::{Command as Book, Ledger},
    support::{Node, World, eventually},
};
use porteiro::{
    actors::{Entities, Failure},
    domain::{Context, Decision, Machine, Requirement, Timestamp},
};
use serde::{Deserialize, Serialize};
use std::{convert::Infallible, time::Duration};
use tokio::task::JoinSet;

/// A ticket: how often it was stamped.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Ticket {
    stamps: u64,
}

/// Stamps it while the facts hold.
struct Stamp(Vec<Requirement>);

struct Stamped;

impl Machine for Ticket {
    const KIND: &'static str = "ticket";
    const IS_JUDGED_AGAIN: bool = true;
    type Command = Stamp;
    type Event = Stamped;
    type Reply = u64;
    type Refusal = Infallible;

    fn decide(&self, Stamp(facts): &Stamp, _now: Timestamp) -> Decision<Self> {
        let decision = Decision::accept(vec![Stamped], self.stamps + 1);
        facts.iter().cloned().fold(decision, Decision::requiring)
    }

    fn apply(&mut self, Stamped: &Stamped) {
        self.stamps += 1;
    }
}

async fn stamp(tickets: &Entities<Ticket>, facts: &[Requirement]) -> Result<u64, &'static str> {
    match tickets.ask(&Context::node(), "t", Stamp(facts.to_vec())).await {
        Ok(stamped) => Ok(stamped.reply),
        Err(Failure::Unmet { kind }) => Err(kind),
        Err(other) => panic!("{other}"),
    }
}

/// A node with an open book, a closed one, and tickets.
async fn scene(world: &World) -> (Node, Entities<Ticket>) {
    let node = world.node().await;
    node.append("open", 1).await.unwrap();
    node.append("closed", 1).await.unwrap();
    node.ledgers.ask("closed", Book::Close).await.unwrap();
    let tickets = node.tree.host::<Ticket>().await.unwrap();
    (node, tickets)
}

#[tokio::test]
async fn what_does_not_hold_when_the_commit_begins_refuses_it() {
    let world = World::new().await;
    let (node, tickets) = scene(&world).await;
    let version = node.store.version("ledger", "open").await.unwrap();
    let good =
        [Requirement::live::<Ledger>("open"), Requirement::unchanged::<Ledger>("open", version)];
    let bad = [
        Requirement::live::<Ledger>("closed"),
        Requirement::live::<Ledger>("missing"),
        Requirement::unchanged::<Ledger>("open", version - 1),
        Requirement::unchanged::<Ledger>("missing", version),
    ];
    let mut stamps = 0;
    // On PostgreSQL a group after one that was contested takes several statements, and later ones take one.
    for pause in [Duration::ZERO, Duration::from_millis(1_100)] {
        for fact in &bad {
            tokio::time::sleep(pause).await;
            stamps += 1;
            // So that the connection was good within the last second.
            assert_eq!(stamp(&tickets, &[]).await, Ok(stamps));
            let facts = [good[0].clone(), fact.clone(), good[1].clone()];
            assert_eq!(stamp(&tickets, &facts).await, Err("ledger"), "{fact:?}");
        }
        stamps += 1;
        assert_eq!(stamp(&tickets, &good).await, Ok(stamps));
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_required_may_change_while_the_commit_waits() {
    let Some(world) = on_postgres().await else { return };
    let (node, tickets) = scene(&world).await;
    let other = world.node().await;
    assert_eq!(stamp(&tickets, &[]).await, Ok(1));
    let mut stranger = world.stranger().await;
    stranger.hold("t").await;
    let mut waiting = JoinSet::new();
    let stamped = tickets.clone();
    waiting.spawn(async move { stamp(&stamped, &[Requirement::live::<Ledger>("open")]).await });
    let mut looker = world.stranger().await;
    eventually("a commit that waits", async || looker.waiting().await > 0).await;
    // It waits for the ticket alone, and keeps the book from nothing.
    other.ledgers.ask("open", Book::Close).await.unwrap();
    assert!(waiting.try_join_next().is_none(), "it still waits");
    stranger.let_go().await;
    let stamped = waiting.join_all().await.pop().unwrap();
    // By one statement it was looked at before, by several after.
    assert!(stamped == Ok(2) || stamped == Err("ledger"), "{stamped:?}");
    assert_eq!(stamp(&tickets, &[Requirement::live::<Ledger>("open")]).await, Err("ledger"));
    other.stop().await;
    node.stop().await;
}
