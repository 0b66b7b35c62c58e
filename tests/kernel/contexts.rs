//! Who acted, in the security log; and asking only at a version that was read before.

use crate::{
    ledger::{Command, Ledger},
    support::{World, refused},
};
use porteiro::{
    actors::{Failure, VersionedReply},
    domain::{Actor, Context},
};
use serde_json::{Value, json};

fn request() -> Context {
    let address = "203.0.113.9".parse().unwrap();
    Context::request(address, Some(b"curl/8"), Some("r1".into()))
}

/// The contexts of all records of ledgers, in the order of their entries.
async fn contexts(world: &World) -> Vec<Value> {
    let mut stranger = world.stranger().await;
    let sql = "SELECT CAST(detail AS BYTEA) FROM security_log WHERE event = 'ledger.appended'";
    let sql = if world.is_postgres() {
        "SELECT convert_to(detail, 'UTF8') FROM security_log WHERE event = 'ledger.appended'"
    } else {
        &sql.replace("BYTEA", "BLOB")
    };
    let rows = stranger.bytes(sql).await;
    let mut details: Vec<Value> =
        rows.iter().map(|row| serde_json::from_slice(row).unwrap()).collect();
    details.sort_by_key(|detail| detail["entry"].as_u64());
    details.into_iter().map(|mut detail| detail["context"].take()).collect()
}

#[tokio::test]
async fn every_record_says_who_acted_and_from_where_be_it_of_a_refusal() {
    let world = World::new().await;
    let node = world.node().await;
    let ledgers = &node.ledgers.0;
    let client = request().by(Actor::Client("billing".to_owned()));
    ledgers.ask(&client, "a", Command::AppendAndRecord(1)).await.unwrap();
    assert!(ledgers.ask(&request(), "a", Command::RefuseAndKeep(2)).await.is_err());
    let person = request().by(Actor::Person("p1".to_owned())).because("asked to");
    ledgers.ask_detached(&person, "b", Command::AppendAndRecord(3)).await.unwrap();
    let mut multi_commit = node.tree.multi_commit(&Context::operator());
    let append = Command::AppendAndRecord(4);
    multi_commit.decide::<Ledger>("c", &append).await.unwrap().unwrap();
    multi_commit.commit().await.unwrap();
    let from = json!({ "address": "203.0.113.9", "request_id": "r1", "user_agent": "curl/8" });
    let with = |more: &[(&str, Value)]| {
        let mut whole = from.clone();
        for (name, value) in more {
            whole[*name] = value.clone();
        }
        whole
    };
    let expected = [
        with(&[("actor", json!({ "type": "client", "id": "billing" }))]),
        from.clone(),
        with(&[("actor", json!({ "type": "person", "id": "p1" })), ("reason", json!("asked to"))]),
        json!({ "actor": { "type": "operator" } }),
    ];
    assert_eq!(contexts(&world).await, expected);
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn an_answer_carries_the_version_it_is_true_of() {
    let world = World::new().await;
    let node = world.node().await;
    let (ledgers, by) = (&node.ledgers.0, Context::node());
    let unborn = ledgers.ask(&by, "a", Command::Read).await.unwrap();
    assert_eq!(unborn, VersionedReply { reply: vec![], version: 0 });
    let first = ledgers.ask(&by, "a", Command::Append(1)).await.unwrap();
    assert_eq!(first.version, node.store.version("ledger", "a").await.unwrap());
    let read = ledgers.ask(&by, "a", Command::Read).await.unwrap();
    assert_eq!(read, VersionedReply { reply: vec![1], version: first.version });
    let second = ledgers.ask(&by, "a", Command::Append(2)).await.unwrap();
    assert!(second.version > first.version);
    node.stop().await;
}

#[tokio::test]
async fn an_entity_at_another_version_decides_and_commits_nothing() {
    let world = World::new().await;
    let (one, other) = (world.node().await, world.node().await);
    let by = Context::node();
    let (here, there) = (&one.ledgers.0, &other.ledgers.0);
    let first = here.ask_if(&by, "a", 0, Command::Append(1)).await.unwrap().version;
    let other_version = Err(Failure::OtherVersion { version: first });
    assert_eq!(here.ask_if(&by, "a", 0, Command::Append(2)).await, other_version);
    assert_eq!(here.ask_if(&by, "a", first - 1, Command::Panic).await, other_version);
    assert_eq!(
        here.ask_if(&by, "b", 7, Command::Append(1)).await,
        Err(Failure::OtherVersion { version: 0 })
    );

    // The other node moves the entity on; what is held here is behind the row.
    let second = there.ask_if(&by, "a", first, Command::Append(2)).await.unwrap().version;
    let commits = one.store.report().commits;
    let moved = Err(Failure::OtherVersion { version: second });
    assert_eq!(here.ask_if(&by, "a", first, Command::Append(3)).await, moved);
    let third = here.ask_if(&by, "a", second, Command::Append(3)).await.unwrap().version;
    assert_eq!(there.ask(&by, "a", Command::Append(4)).await.unwrap().reply, [1, 2, 3, 4]);
    let stale = here.ask_if(&by, "a", third, Command::Glance).await;
    assert!(matches!(stale, Err(Failure::OtherVersion { .. })), "memory alone does not answer");
    assert_eq!(one.store.report().commits, commits + 1);
    assert_eq!(one.entries("a").await, [1, 2, 3, 4]);
    let refusal = here.ask_if(&by, "a", third, Command::Append(1)).await;
    assert!(matches!(refusal, Err(Failure::OtherVersion { .. })), "nothing is decided");
    assert!(refused(&one.append("a", 1).await).is_some());
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn of_many_that_ask_at_one_version_one_is_heard() {
    let world = World::new().await;
    let nodes = [world.node().await, world.node().await];
    let version =
        nodes[0].ledgers.0.ask(&Context::node(), "a", Command::Append(0)).await.unwrap().version;
    let mut callers = tokio::task::JoinSet::new();
    for entry in 1..=20 {
        let ledgers = nodes[entry % 2].ledgers.0.clone();
        let append = Command::Append(entry as u64);
        callers.spawn(async move { ledgers.ask_if(&Context::node(), "a", version, append).await });
    }
    let answers = callers.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let lost = |answer: &&_| matches!(answer, Err(Failure::OtherVersion { .. }));
    assert_eq!(answers.iter().filter(lost).count(), 19);
    assert_eq!(nodes[0].entries("a").await.len(), 2);
    for node in nodes {
        node.stop().await;
    }
}
