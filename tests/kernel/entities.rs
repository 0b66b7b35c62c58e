//! What the shell and the host promise on a good day.

use crate::{
    ledger::{Command, Ledger, Refusal},
    support::{World, eventually, refused},
    views::WHOLE,
};
use porteiro::{actors::Failure, domain::Context};
use std::time::Duration;
use tokio::task::JoinSet;

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let world = World::new().await;
    let node = world.node().await;
    assert_eq!(node.append("a", 1).await.unwrap(), [1]);
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    node.stop().await;

    let node = world.node().await;
    assert_eq!(node.entries("a").await, [1, 2]);
    assert!(node.entries("b").await.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn a_refusal_may_commit() {
    let world = World::new().await;
    let node = world.node().await;
    let answer = node.ledgers.ask("a", Command::RefuseAndKeep(1)).await;
    assert_eq!(refused(&answer), Some(Refusal::OnPrinciple));
    node.stop().await;
    let node = world.node().await;
    assert_eq!(node.entries("a").await, [1]);
    let recorded = "security_log WHERE event = 'ledger.appended'";
    assert_eq!(world.stranger().await.count(recorded).await, 1);
    node.stop().await;
}

#[tokio::test]
async fn every_query_that_somebody_asked_for_is_counted() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let counted = node.store.report().reads;
    node.store.load("ledger", "a").await.unwrap();
    node.store.version("ledger", "a").await.unwrap();
    node.store.liveness(&[("ledger", "a"), ("ledger", "b")]).await.unwrap();
    node.store.find("ledger", "nobody").await.unwrap();
    node.store.list("ledgers", "", ("", ""), 10).await.unwrap();
    assert_eq!(node.store.report().reads, counted + 5);
    node.store.outbox_lanes().await.unwrap();
    assert_eq!(node.store.report().reads, counted + 5, "the house looks after itself");
    node.stop().await;
}

#[tokio::test]
async fn a_hundred_simultaneous_askers_each_get_their_own_turn() {
    let world = World::new().await;
    let node = world.node().await;
    let mut askers = JoinSet::new();
    for entry in 0..100 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move { ledgers.ask("a", Command::Append(entry)).await });
    }
    let mut lengths: Vec<usize> =
        askers.join_all().await.into_iter().map(|answer| answer.unwrap().len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, (1..=100).collect::<Vec<_>>());
    assert_eq!(node.ledgers.report().woken, 1, "one owner served them all");
    node.stop().await;
}

#[tokio::test]
async fn an_idle_entity_rests_and_wakes_with_its_state() {
    let mut world = World::new().await;
    world.tree.idle = Duration::from_millis(40);
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    assert_eq!(node.ledgers.report().awake, 1);
    world.clock.advance(Duration::from_secs(1));
    eventually("rest", async || node.ledgers.report().awake == 0).await;
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    assert_eq!(node.ledgers.report().woken, 2);
    node.stop().await;
}

#[tokio::test]
async fn in_a_crowd_only_those_stay_awake_that_are_in_use() {
    let mut world = World::new().await;
    (world.tree.idle, world.tree.max_awake) = (Duration::from_mins(5), 2);
    let node = world.node().await;
    for book in ["a", "b"] {
        node.append(book, 1).await.unwrap();
    }
    world.clock.advance(Duration::from_secs(2));
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(node.ledgers.report().awake, 2, "two are no max_awake");
    node.append("c", 1).await.unwrap();
    eventually("rest", async || node.ledgers.report().awake == 1).await;
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2], "it wakes with its state");
    node.stop().await;
}

#[tokio::test]
async fn an_entity_does_not_rest_at_work() {
    let mut world = World::new().await;
    world.tree.idle = Duration::from_millis(20);
    let node = world.node().await;
    // Nobody looks idle before the clock moves.
    node.append("a", 0).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.hold("a").await;
    let mut working = JoinSet::new();
    let ledgers = node.ledgers.clone();
    working.spawn(async move { ledgers.ask("a", Command::Append(1)).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.clock.advance(Duration::from_mins(1));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(node.ledgers.report().awake, 1, "its owner is still there");
    stranger.let_go().await;
    assert_eq!(working.join_all().await.pop().unwrap().unwrap(), [0, 1]);
    eventually("rest", async || node.ledgers.report().awake == 0).await;
    node.stop().await;
}

#[tokio::test]
async fn commands_that_meet_a_resting_entity_are_handed_over_and_none_is_lost() {
    let mut world = World::new().await;
    world.tree.idle = Duration::from_millis(4);
    let node = world.node().await;
    let mut askers = JoinSet::new();
    for asker in 0..8u64 {
        let (ledgers, clock) = (node.ledgers.clone(), world.clock.clone());
        askers.spawn(async move {
            for number in 0..60 {
                ledgers.ask("a", Command::Append(asker * 1_000 + number)).await.unwrap();
                // Everybody looks idle to the host all the time.
                clock.advance(Duration::from_millis(10));
                if number % 7 == 0 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
    }
    askers.join_all().await;
    assert_eq!(node.entries("a").await.len(), 8 * 60);
    node.stop().await;
}

#[tokio::test]
async fn an_answer_without_events_is_not_older_than_the_row() {
    let world = World::new().await;
    let (one, other) = (world.node().await, world.node().await);
    one.append("a", 1).await.unwrap();
    assert_eq!(other.entries("a").await, [1]);
    one.append("a", 2).await.unwrap();
    // The other node's actor holds [1]; neither its reply nor its refusal may rest on that.
    assert_eq!(other.entries("a").await, [1, 2]);
    one.append("a", 3).await.unwrap();
    let answer = other.append("a", 3).await;
    assert_eq!(refused(&answer), Some(Refusal::AlreadyThere));
    one.ledgers.ask("a", Command::Close).await.unwrap();
    assert_eq!(refused(&other.append("a", 9).await), Some(Refusal::Closed));
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_command_may_say_that_it_tolerates_an_older_answer() {
    let world = World::new().await;
    let (one, other) = (world.node().await, world.node().await);
    one.append("a", 1).await.unwrap();
    assert_eq!(one.ledgers.ask("a", Command::Glance).await.unwrap(), [1]);
    other.append("a", 2).await.unwrap();
    assert_eq!(one.ledgers.ask("a", Command::Glance).await.unwrap(), [1]);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(one.ledgers.ask("a", Command::Glance).await.unwrap(), [1, 2], "but not for long");
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn an_older_answer_needs_no_turn_and_is_never_from_before_the_last_one() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.hold("a").await;
    let mut working = JoinSet::new();
    let ledgers = node.ledgers.clone();
    working.spawn(async move { ledgers.ask("a", Command::Append(2)).await });
    node.asked(2).await;
    assert_eq!(node.ledgers.ask("a", Command::Glance).await.unwrap(), [1]);
    assert!(working.try_join_next().is_none(), "the other command is still under way");
    stranger.let_go().await;
    assert_eq!(working.join_all().await, [Ok(vec![1, 2])]);
    for entry in 3..200 {
        node.append("a", entry).await.unwrap();
        let glanced = node.ledgers.ask("a", Command::Glance).await.unwrap();
        assert_eq!(glanced.last(), Some(&entry));
    }
    node.stop().await;
}

#[tokio::test]
async fn an_entity_that_a_newer_binary_wrote_is_left_alone() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.run("UPDATE entities SET revision = 2, version = version + 1").await.unwrap();
    for _ in 0..10 {
        assert_eq!(node.append("a", 2).await, Err(Failure::Unavailable));
        assert_eq!(node.ledgers.ask("a", Command::Read).await, Err(Failure::Unavailable));
    }
    assert!(
        node.tree
            .multi_commit(&Context::operator())
            .decide::<Ledger>("a", &Command::Read)
            .await
            .is_err()
    );
    assert_eq!(node.ledgers.report().quarantined, 0, "it is nobody's fault");
    stranger.run("UPDATE entities SET revision = 1").await.unwrap();
    assert_eq!(node.append("a", 2).await.unwrap(), [1, 2]);
    node.stop().await;
}

#[tokio::test]
async fn two_nodes_that_race_for_one_entity_both_get_through_and_nothing_is_doubled() {
    let world = World::new().await;
    let nodes = [world.node().await, world.node().await];
    let mut askers = JoinSet::new();
    for entry in 0..60u64 {
        let ledgers = nodes[usize::try_from(entry % 2).unwrap()].ledgers.clone();
        askers.spawn(async move {
            loop {
                match ledgers.ask("a", Command::Append(entry)).await {
                    Ok(_) => return,
                    Err(Failure::Contended) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
    askers.join_all().await;
    let mut entries = nodes[0].entries("a").await;
    entries.sort_unstable();
    assert_eq!(entries, (0..60).collect::<Vec<_>>());
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test]
async fn an_asker_that_left_takes_its_unbegun_command_with_it() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 0).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.hold("a").await;
    let short = Duration::from_millis(50);
    let ledgers = node.ledgers.clone();
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { ledgers.ask("a", Command::Append(1)).await });
    node.asked(2).await;
    let late = node.ledgers.ask_within(short, "a", Command::Append(2)).await;
    assert_eq!(late, Err(Failure::Late));
    stranger.let_go().await;
    waiting.join_all().await.pop().unwrap().unwrap();
    assert_eq!(node.entries("a").await, [0, 1]);
    node.stop().await;
}

#[tokio::test]
async fn what_is_insisted_on_happens_though_its_asker_left_and_its_actor_died() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 0).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.hold("a").await;
    let mut waiting = JoinSet::new();
    for (asks, command) in [(2, Command::Append(1)), (3, Command::Panic)] {
        let ledgers = node.ledgers.clone();
        waiting.spawn(async move { ledgers.ask("a", command).await });
        node.asked(asks).await;
    }
    let insisting = node.ledgers.ask_detached("a", Command::Close);
    assert!(tokio::time::timeout(Duration::from_millis(50), insisting).await.is_err());
    stranger.let_go().await;
    waiting.join_all().await;
    world.clock.advance(Duration::from_secs(1));
    eventually("the closing", async || {
        refused(&node.append("a", 9).await) == Some(Refusal::Closed)
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn askers_who_stop_waiting_make_no_room_for_more_than_may_be_under_way() {
    let mut world = World::new().await;
    world.tree.most_asks = 10;
    let node = world.node().await;
    for number in 0..10 {
        node.append(&format!("l{number}"), 0).await.unwrap();
    }
    let mut stranger = world.stranger().await;
    stranger.hold_everything().await;
    for round in 1..5u64 {
        let mut askers = JoinSet::new();
        for number in 0..10u64 {
            let ledgers = node.ledgers.clone();
            let command = Command::Append(round);
            let id = format!("l{number}");
            askers.spawn(async move {
                ledgers.ask_within(Duration::from_millis(30), &id, command).await
            });
        }
        let answers = askers.join_all().await;
        let expected = if round == 1 { Failure::Late } else { Failure::Busy };
        assert!(answers.iter().all(|answer| *answer == Err(expected)), "{round}: {answers:?}");
    }
    stranger.let_go().await;
    node.stop().await;
}

#[tokio::test]
async fn more_than_may_wait_is_turned_away_at_once() {
    let mut world = World::new().await;
    world.tree.most_asks = 40;
    let node = world.node().await;
    let mut stranger = world.stranger().await;
    node.append("a", 0).await.unwrap();
    stranger.hold("a").await;
    let mut askers = JoinSet::new();
    for entry in 1..=1_000 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move { ledgers.ask("a", Command::Append(entry)).await });
    }
    eventually("shedding", async || node.ledgers.report().shed >= 960).await;
    stranger.let_go().await;
    let answers = askers.join_all().await;
    let busy = answers.iter().filter(|answer| **answer == Err(Failure::Busy)).count();
    assert_eq!((busy, answers.iter().filter(|answer| answer.is_ok()).count()), (960, 40));
    assert_eq!(node.entries("a").await.len(), 41);
    node.stop().await;
}

#[tokio::test]
async fn one_entity_cannot_hoard_all_places() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 0).await.unwrap();
    let mut stranger = world.stranger().await;
    stranger.hold("a").await;
    let mut askers = JoinSet::new();
    for entry in 1..=1_000 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move { ledgers.ask("a", Command::Append(entry)).await });
    }
    eventually("shedding", async || node.ledgers.report().shed > 0).await;
    assert!(node.ledgers.ask("b", Command::Glance).await.unwrap().is_empty());
    stranger.let_go().await;
    let answers = askers.join_all().await;
    assert!(answers.contains(&Err(Failure::Busy)));
    assert!(answers.iter().all(|answer| matches!(answer, Ok(_) | Err(Failure::Busy))));
    node.stop().await;
}

#[tokio::test]
async fn a_view_returns_a_whole_list_and_keeps_it_for_less_than_a_second() {
    let world = World::new().await;
    let node = world.node().await;
    for number in 0..250u64 {
        let id = format!("{number:03}");
        node.append(&id, number).await.unwrap();
        node.ledgers.ask(&id, Command::Join("ana".to_owned())).await.unwrap();
    }
    let view = node.tree.view::<Ledger>();
    let listed = view.list_if(false, ("ledgers", "ana"), WHOLE).await.unwrap();
    assert_eq!(listed.len(), 250);
    let first: Vec<u64> = listed.iter().map(|entry| entry.machine.entries[0]).collect();
    assert_eq!(first, (0..250).collect::<Vec<_>>());
    assert!(view.list_if(false, ("ledgers", "bea"), WHOLE).await.unwrap().is_empty());

    node.append("000", 1_000).await.unwrap();
    let reads = node.store.report().reads;
    let again = view.list_if(false, ("ledgers", "ana"), WHOLE).await.unwrap();
    assert_eq!((&*again[0].id, again[0].version), ("000", listed[0].version));
    assert_eq!(node.store.report().reads, reads, "it was seen a moment ago");
    let anew = view.list_if(true, ("ledgers", "ana"), WHOLE).await.unwrap();
    assert_eq!((anew.len(), &*anew[249].id), (250, "000"), "it has moved to the end");
    node.append("001", 1_000).await.unwrap();
    world.clock.expire_views();
    let listed = view.list_if(false, ("ledgers", "ana"), WHOLE).await.unwrap();
    assert_eq!(listed[249].machine.entries, [1, 1_000]);
    node.stop().await;
}
