//! A decision may command other entities (adr/0124).

use crate::{
    ledger::{Command, Refusal},
    support::{World, eventually, refused},
};
use porteiro::{
    actors::Failure,
    domain::{Requirement, Timestamp},
    store::Moment,
};
use tokio::task::JoinSet;

fn command(entry: u64, others: &[(&str, Command)]) -> Command {
    let others = others.iter().map(|(id, command)| ((*id).to_owned(), command.clone()));
    Command::AppendAndPassOn(entry, others.collect())
}

#[tokio::test]
async fn commanded_entities_decide_in_the_same_commit() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("old", 1).await.unwrap();
    let (commits, expires_at) = (node.store.report().commits, Timestamp::FOREVER);
    let post = |entry| Command::AppendAndPost {
        entry,
        topic: "test",
        text: "a letter".to_owned(),
        expires_at,
    };
    let others = [
        ("old", Command::AppendAndRecord(2)),
        ("new", Command::AppendAndName(3, Some("n".to_owned()))),
        ("new", post(4)),
    ];
    let reply = node.ledgers.ask("owner", command(9, &others)).await.unwrap();
    assert_eq!(reply, [9, 1, 2, 3, 3, 4], "what they answered is in the reply, in order");
    assert_eq!(node.store.report().commits, commits + 1, "one commit");
    assert_eq!(node.entries("owner").await, [9]);
    assert_eq!(node.entries("old").await, [1, 2], "its actor has noticed");
    assert_eq!(node.entries("new").await, [3, 4], "decided one on top of the other");
    assert!(node.store.find("ledger_name", "n").await.unwrap().is_some());
    let mut stranger = world.stranger().await;
    assert_eq!(stranger.count("outbox").await, 1);
    assert_eq!(stranger.count("security_log WHERE id = 'old'").await, 1);
    assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
    node.stop().await;
}

#[tokio::test]
async fn if_a_commanded_entity_refuses_nothing_is_written() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("full", 1).await.unwrap();
    let others = [("other", Command::Append(5)), ("full", Command::Append(1))];
    for new in [false, true] {
        let asked = command(9, &others);
        let answer = if new {
            node.ledgers.ask_new("owner", asked).await
        } else {
            node.ledgers.ask("owner", asked).await
        };
        assert_eq!(refused(&answer), Some(Refusal::AlreadyThere), "the refusal is a value");
    }
    // A refusal that would commit by itself does not: the whole is refused.
    let keeps = command(9, &[("other", Command::RefuseAndKeep(7))]);
    assert_eq!(refused(&node.ledgers.ask("owner", keeps).await), Some(Refusal::OnPrinciple));
    assert_eq!(world.stranger().await.count("entities").await, 1);
    assert_eq!(world.stranger().await.count("security_log WHERE kind = 'ledger'").await, 0);
    // Unless the owner takes it for no refusal of its own.
    let suggest = |inner| Command::AppendAndSuggest(9, "full".to_owned(), Box::new(inner));
    node.ledgers.ask("owner", suggest(Command::Append(1))).await.unwrap();
    assert_eq!((node.entries("owner").await, node.entries("full").await), (vec![9], vec![1]));
    node.stop().await;
}

#[tokio::test]
async fn an_entity_may_be_born_by_a_command_and_command_others_at_its_birth() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("old", 1).await.unwrap();
    let others = [("old", Command::Append(2)), ("child", Command::Append(3))];
    let reply = node.ledgers.ask_new("owner", command(9, &others)).await.unwrap();
    assert_eq!(reply, [9, 1, 2, 3]);
    assert_eq!(node.entries("child").await, [3]);
    let (asked, more) = (command(10, &[("child", Command::Append(4))]), ("old", 5));
    node.append(more.0, more.1).await.unwrap();
    assert_eq!(node.ledgers.ask("owner", asked).await.unwrap(), [9, 10, 3, 4]);
    node.stop().await;
}

#[tokio::test]
async fn an_owner_without_a_change_of_its_own_may_command_and_read() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("other", 1).await.unwrap();
    let pass = |command| Command::Pass("other".to_owned(), Box::new(command));
    let commits = node.store.report().commits;
    assert_eq!(node.ledgers.ask("owner", pass(Command::Read)).await.unwrap(), [1]);
    assert_eq!(node.store.report().commits, commits, "nothing was written");
    assert_eq!(node.ledgers.ask("owner", pass(Command::Append(2))).await.unwrap(), [1, 2]);
    assert_eq!(node.ledgers.ask("owner", pass(Command::Ensure(2))).await.unwrap(), [1, 2]);
    assert_eq!(node.store.report().commits, commits + 1);
    node.stop().await;
}

#[tokio::test]
async fn what_is_required_of_a_commanded_entity_and_is_not_so_is_unmet_at_once() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("other", 1).await.unwrap();
    let version = node.store.load("ledger", "other").await.unwrap().unwrap().version;
    let while_at = |version| {
        let (kind, id) = ("ledger", "other".to_owned());
        Command::AppendIf(2, Requirement::Unchanged { kind, id, version })
    };
    // To decide again would not help: the version comes from the caller.
    let asked = command(9, &[("other", while_at(version - 1))]);
    let answer = node.ledgers.ask("owner", asked).await;
    assert!(matches!(answer, Err(Failure::Unmet { kind: "ledger" })), "{answer:?}");
    assert!(node.entries("owner").await.is_empty());
    let asked = command(9, &[("other", while_at(version))]);
    assert_eq!(node.ledgers.ask("owner", asked).await.unwrap(), [9, 1, 2]);
    node.stop().await;
}

#[tokio::test]
async fn owners_on_two_nodes_that_command_one_entity_lose_nothing_and_do_nothing_twice() {
    let world = World::new().await;
    let nodes = [world.node().await, world.node().await];
    let mut askers = JoinSet::new();
    for entry in 0..40_u64 {
        let ledgers = nodes[usize::try_from(entry).unwrap() % 2].ledgers.clone();
        // Some change the commanded entity themselves.
        askers.spawn(async move {
            let answer = if entry % 4 == 0 {
                ledgers.ask("shared", Command::Push(entry)).await
            } else {
                let asked = command(entry, &[("shared", Command::Push(entry))]);
                ledgers.ask(&format!("owner-{entry}"), asked).await
            };
            (entry, answer.is_ok())
        });
    }
    let mut done: Vec<u64> = Vec::new();
    for (entry, is_done) in askers.join_all().await {
        let owned = nodes[0].entries(&format!("owner-{entry}")).await;
        assert_eq!(owned.len(), usize::from(is_done && entry % 4 != 0), "both or neither");
        done.extend(is_done.then_some(entry));
    }
    let mut shared = nodes[1].entries("shared").await;
    shared.sort_unstable();
    done.sort_unstable();
    assert_eq!(shared, done);
    assert!(!done.is_empty());
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_commanded_entity_that_changes_meanwhile_is_decided_on_again() {
    let world = World::new().await;
    let (node, other) = (world.node().await, world.node().await);
    node.append("owner", 1).await.unwrap();
    node.append("shared", 1).await.unwrap();
    // The commit is held up until another node has changed the commanded entity.
    for (round, (inner, seen)) in
        [(Command::Append(3), vec![1, 2, 3]), (Command::Read, vec![1, 2, 3, 4])]
            .into_iter()
            .enumerate()
    {
        let round = u64::try_from(round).unwrap();
        let held = node.script.hold_next_write();
        let (ledgers, asked) = (node.ledgers.clone(), command(10 + round, &[("shared", inner)]));
        let asker = tokio::spawn(async move { ledgers.ask("owner", asked).await });
        eventually("the commit is held up", async || node.script.has_held()).await;
        let next = if round == 0 { 2 } else { 4 };
        if world.is_postgres() {
            other.append("shared", next).await.unwrap();
            drop(held);
        } else {
            // One file has one writer: the other node comes first by a commit that waits for no lock.
            drop(held);
            other.append("shared", next).await.unwrap();
        }
        let reply = asker.await.unwrap().unwrap();
        let shared = node.entries("shared").await;
        assert!(shared.contains(&next));
        if world.is_postgres() {
            assert!(reply.ends_with(&seen), "{reply:?}");
        }
    }
    node.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_commit_of_unknown_fate_is_whole_or_not_at_all() {
    let world = World::new().await;
    let node = world.node().await;
    node.append("shared", 1).await.unwrap();
    for (entry, moment) in [(2, Moment::Write), (3, Moment::Commit), (4, Moment::Answer)] {
        node.script.fail_next(moment, 1);
        let asked = command(entry, &[("shared", Command::Append(entry))]);
        let answer = node.ledgers.ask("owner", asked).await;
        let (owned, shared) = (node.entries("owner").await, node.entries("shared").await);
        assert_eq!(owned.contains(&entry), shared.contains(&entry), "{moment:?}: {answer:?}");
        assert!(answer.is_err(), "{moment:?}: {answer:?}");
    }
    node.script.panic_next_write();
    let answer = node.ledgers.ask("owner", command(5, &[("shared", Command::Append(5))])).await;
    assert_eq!(answer, Err(Failure::Unknown));
    let (owned, shared) = (node.entries("owner").await, node.entries("shared").await);
    assert_eq!(owned.contains(&5), shared.contains(&5));
    node.stop().await;
}
