//! Growth is bounded: what has expired is forgotten, and its id is safe to use again.

use crate::{
    ledger::Command,
    support::{World, eventually},
};
use porteiro::domain::Clock as _;
use std::time::Duration;
use tokio::task::JoinSet;

#[tokio::test]
async fn what_has_expired_is_forgotten_with_its_names_and_listings() {
    let world = World::new().await;
    let node = world.node().await;
    let soon = world.clock.now() + Duration::from_mins(1);
    for number in 0..5 {
        let id = format!("l{number}");
        let name = Some(format!("name{number}"));
        node.ledgers.ask(&id, Command::AppendAndName(1, name)).await.unwrap();
        node.ledgers.ask(&id, Command::Join("ana".to_owned())).await.unwrap();
        node.ledgers.ask(&id, Command::ForgetAt(soon)).await.unwrap();
    }
    node.append("kept", 1).await.unwrap();
    assert_eq!(node.store.forget_expired(world.clock.now(), 100).await.unwrap(), 0);
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(node.store.forget_expired(world.clock.now(), 3).await.unwrap(), 3, "a small bite");
    assert_eq!(node.store.forget_expired(world.clock.now(), 3).await.unwrap(), 2);
    let mut stranger = world.stranger().await;
    let left = (
        stranger.count("entities").await,
        stranger.count("names").await,
        stranger.count("listings").await,
    );
    assert_eq!(left, (1, 0, 0));
    node.stop().await;
}

#[tokio::test]
async fn the_janitor_comes_by_itself_and_works_off_a_backlog() {
    let world = World::new().await;
    let node = world.node().await;
    let soon = world.clock.now() + Duration::from_mins(1);
    for number in 0..250 {
        node.ledgers.ask(&format!("l{number}"), Command::ForgetAt(soon)).await.unwrap();
    }
    node.tree.start_janitor().await.unwrap();
    world.clock.advance(Duration::from_mins(2));
    let mut stranger = world.stranger().await;
    eventually("a tidy house", async || stranger.count("entities").await == 0).await;
    node.stop().await;
}

#[tokio::test]
async fn the_janitor_anchors_the_log_only_when_something_was_written() {
    let mut world = World::new().await;
    world.tree.janitor.anchor_every = Duration::from_secs(1);
    let node = world.node().await;
    node.tree.start_janitor().await.unwrap();
    let mut stranger = world.stranger().await;
    let anchors = "security_log WHERE event = 'log.anchored'";
    for round in 1..=3 {
        node.ledgers.ask("a", Command::AppendAndRecord(round)).await.unwrap();
        eventually("an anchor", async || {
            world.clock.advance(Duration::from_secs(2));
            stranger.count(anchors).await == i64::try_from(round).unwrap()
        })
        .await;
        for _ in 0..10 {
            world.clock.advance(Duration::from_secs(2));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(stranger.count(anchors).await, i64::try_from(round).unwrap());
    }
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn two_janitors_do_not_answer_each_others_anchors() {
    let mut world = World::new().await;
    world.tree.janitor.anchor_every = Duration::from_secs(1);
    let (one, other) = (world.node().await, world.node().await);
    one.ledgers.ask("a", Command::AppendAndRecord(1)).await.unwrap();
    other.ledgers.ask("b", Command::AppendAndRecord(1)).await.unwrap();
    one.tree.start_janitor().await.unwrap();
    other.tree.start_janitor().await.unwrap();
    let mut stranger = world.stranger().await;
    let anchors = "security_log WHERE event = 'log.anchored'";
    eventually("an anchor of each", async || {
        world.clock.advance(Duration::from_secs(2));
        stranger.count(anchors).await >= 2
    })
    .await;
    let looked = world.clock.readings();
    eventually("many rounds", async || {
        world.clock.advance(Duration::from_secs(2));
        world.clock.readings() > looked + 40
    })
    .await;
    assert_eq!(stranger.count(anchors).await, 2);
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn the_janitor_trims_a_long_log_though_nothing_more_is_written() {
    let mut world = World::new().await;
    world.tree.janitor.keep_log = Some(Duration::from_hours(1));
    let node = world.node().await;
    let mut askers = JoinSet::new();
    for book in 0..100 {
        let ledgers = node.ledgers.clone();
        askers.spawn(async move {
            for entry in 0..25 {
                let append = Command::AppendAndRecord(entry);
                ledgers.ask(&format!("l{book}"), append).await.unwrap();
            }
        });
    }
    askers.join_all().await;
    node.tree.start_janitor().await.unwrap();
    let mut stranger = world.stranger().await;
    let anchors = "security_log WHERE event = 'log.anchored'";
    world.clock.advance(Duration::from_mins(61));
    eventually("an anchor", async || stranger.count(anchors).await > 0).await;
    // From here on the clock stands still: what is left is trimmed round by round.
    let old = "security_log WHERE event = 'ledger.appended'";
    eventually("a short log", async || stranger.count(old).await == 0).await;
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    // And it goes on when nobody writes: the anchor has had its time, too.
    world.clock.advance(Duration::from_mins(122));
    eventually("a shorter log", async || stranger.count(anchors).await == 0).await;
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn rounds_that_could_not_be_made_are_not_made_up_for() {
    let mut world = World::new().await;
    let every = Duration::from_millis(40);
    world.tree.janitor.every = every;
    let node = world.node().await;
    let mut stranger = world.stranger().await;
    let soon = world.clock.now();
    node.ledgers.ask("a", Command::ForgetAt(soon)).await.unwrap();
    stranger.hold_everything().await;
    node.tree.start_janitor().await.unwrap();
    tokio::time::sleep(every * 50).await;
    stranger.let_go().await;
    eventually("a tidy house", async || stranger.count("entities").await == 0).await;
    let looked = world.clock.readings();
    tokio::time::sleep(every * 5).await;
    let rounds = world.clock.readings() - looked;
    assert!(rounds < 20, "{rounds} rounds in the time of five");
    node.stop().await;
}

#[tokio::test]
async fn what_has_expired_is_locked_in_the_order_of_commits() {
    let world = World::new().await;
    if !world.is_postgres() {
        return;
    }
    let node = world.node().await;
    let now = world.clock.now();
    node.ledgers.ask("a", Command::ForgetAt(now)).await.unwrap();
    node.ledgers.ask("b", Command::ForgetAt(now - Duration::from_secs(1))).await.unwrap();
    let (mut holder, mut observer) = (world.stranger().await, world.stranger().await);
    holder.hold("a").await;
    let store = node.store.clone();
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { store.forget_expired(now, 10).await });
    eventually("a waiting janitor", async || observer.waiting().await > 0).await;
    let next = "UPDATE entities SET version = version WHERE id = 'b'";
    assert_eq!(holder.run(next).await.unwrap(), 1, "no deadlock");
    holder.let_go().await;
    assert_eq!(waiting.join_next().await.unwrap().unwrap().unwrap(), 2);
    node.stop().await;
}

#[tokio::test]
async fn an_actor_that_outlived_its_row_neither_resurrects_it_nor_mistakes_its_successor() {
    let world = World::new().await;
    let (one, other) = (world.node().await, world.node().await);
    one.append("a", 1).await.unwrap();
    one.append("a", 2).await.unwrap();
    let now = world.clock.now();
    one.ledgers.ask("a", Command::ForgetAt(now)).await.unwrap();
    let version = one.store.version("ledger", "a").await.unwrap();
    assert_eq!(other.store.forget_expired(now, 10).await.unwrap(), 1);
    // Born again elsewhere, with as many steps: the first node's version must not fit by chance.
    world.clock.advance(Duration::from_secs(1));
    for entry in [7, 8, 9] {
        other.append("a", entry).await.unwrap();
    }
    assert!(other.store.version("ledger", "a").await.unwrap() > version);
    assert_eq!(one.append("a", 10).await.unwrap(), [7, 8, 9, 10]);
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn an_actor_whose_row_is_gone_starts_afresh() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let now = world.clock.now();
    node.ledgers.ask("a", Command::ForgetAt(now)).await.unwrap();
    node.store.forget_expired(now, 10).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(node.append("a", 2).await.unwrap(), [2]);
    node.stop().await;
}
