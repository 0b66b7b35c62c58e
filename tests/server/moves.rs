//! A store is moved to another database, of the same engine or the other, and goes on there (adr/0158).

use crate::{
    binary::{Installation, Serving, porteiro, printed, refused, said},
    database::Database,
    levers::me,
    outside::Outside,
    person::text,
    shared::new_database,
    support::ACME,
};
use porteiro::{
    domain::Timestamp,
    store::{MoveError, move_rows},
};
use serde_json::Value;
use std::{ops::ControlFlow, process::Output};

const ANA: &str = "ana@acme.test";
const SCOPE: &str = "openid offline_access invoices:read";
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A database of PostgreSQL; none where the tests run on SQLite.
#[expect(clippy::print_stdout, reason = "a part that was skipped must not look like one that ran")]
async fn postgres(installation: &Installation) -> Option<String> {
    if std::env::var_os("PORTEIRO_TEST_POSTGRES").is_none() {
        println!(
            "skipped: a move to PostgreSQL and back needs PORTEIRO_TEST_POSTGRES, as bin/test sets it"
        );
        return None;
    }
    Some(new_database(installation.path()).await)
}

fn installation() -> Installation {
    let installation = Installation::on_sqlite();
    installation.configure("[limits]\nenabled = false\n");
    installation.apply(ACME);
    installation
}

fn file(installation: &Installation, name: &str) -> String {
    format!("sqlite://{}", installation.path().join(name).display())
}

fn move_store(installation: &Installation, from: &str, to: &str) -> Output {
    porteiro(installation.path(), &["move", "--from", from, "--to", to, "--json"]).output().unwrap()
}

fn serve(installation: &Installation, url: &str) -> Serving {
    installation.serve_with(&[("PORTEIRO_STORE__URL", url)])
}

fn verify(installation: &Installation, url: &str) {
    let mut command =
        porteiro(installation.path(), &["log", "verify", "--config", "porteiro.toml"]);
    let verified = printed(&command.env("PORTEIRO_STORE__URL", url).output().unwrap());
    assert!(verified.contains("0 findings"), "{verified}");
}

/// Moves a store that is used by people from place to place, and back; each time it is used where it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_goes_on_where_it_was_moved_to_with_every_row_and_a_log_that_holds() {
    let installation = installation();
    let node = Outside { address: installation.address };
    let mut places = vec![installation.url().to_owned(), file(&installation, "second.db")];
    if let Some(url) = postgres(&installation).await {
        places.extend([url, file(&installation, "third.db")]);
    }
    let serving = serve(&installation, &places[0]);
    let session = node.sign_in(ANA).await;
    let mut refresh = text(&node.tokens(ANA, "web", SCOPE).await["refresh_token"]).to_owned();
    let mut serving = Some(serving);
    for pair in places.windows(2) {
        let [from, to] = pair else { unreachable!() };
        refused(&move_store(&installation, from, to), 1, "another process uses");
        serving.take().unwrap().stop().await;
        let moved = move_store(&installation, from, to);
        let told: Value = serde_json::from_str(&printed(&moved)).unwrap();
        assert_eq!(told["same"], true, "{told}");
        let tables = told["tables"].as_array().unwrap();
        for name in ["entities", "names", "listings", "security_log", "log_lanes", "list_counts"] {
            let table = tables.iter().find(|table| table["table"] == name).unwrap();
            assert!(table["from"]["rows"].as_u64().unwrap() > 0, "{name}: {told}");
            assert_eq!(table["from"], table["to"], "{name}");
        }
        verify(&installation, to);
        // It may have been interrupted before it said that it was finished.
        assert_eq!(move_store(&installation, from, to).stdout, moved.stdout);
        serving = Some(serve(&installation, to));
        // It has served nothing yet.
        let unused = file(&installation, "unused.db");
        refused(&move_store(&installation, to, &unused), 1, "another process uses");
        assert_eq!(me(node, &session).await.status, 200, "{to}");
        let next = node.refresh("web", &refresh).await;
        assert_eq!(next.status, 200, "{next:?}");
        refresh = text(&next.json()["refresh_token"]).to_owned();
        node.sign_in("bruno@acme.test").await;
    }
    serving.take().unwrap().stop().await;
    let last = places.last().unwrap();
    verify(&installation, last);
    // It was used since it was moved there.
    let before = &places[places.len() - 2];
    refused(&move_store(&installation, before, last), 1, "is not empty");
}

/// Lets so many batches through, then stops.
async fn interrupted(from: &str, to: &str, batches: u32) -> Result<(), MoveError> {
    let mut left = batches;
    let mut tell = |_: &'static str, _: u64| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    move_rows((from, to), NOW, &mut tell).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_was_interrupted_goes_on_and_until_then_the_target_is_no_store() {
    let installation = installation();
    let from = installation.url();
    let mut targets = vec![file(&installation, "target.db")];
    targets.extend(postgres(&installation).await);
    for to in &targets {
        for batches in [1, 2, 1] {
            let stopped = interrupted(from, to, batches).await;
            assert!(matches!(stopped, Err(MoveError::Stopped)), "{stopped:?}");
            let mut command =
                porteiro(installation.path(), &["serve", "--config", "porteiro.toml"]);
            let half = command.env("PORTEIRO_STORE__URL", to).output().unwrap();
            refused(&half, 78, "a move into this database is not finished");
        }
        let other = self::installation();
        refused(&move_store(&other, other.url(), to), 1, "is not empty");
        let told = printed(&move_store(&installation, from, to));
        assert!(told.contains("\"same\":true"), "{told}");
        verify(&installation, to);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_used_while_it_moved_is_found_out() {
    let installation = installation();
    let (from, to) = (installation.url(), file(&installation, "target.db"));
    // All rows of entities were written by then, since they are few.
    let stopped = interrupted(from, &to, 1).await;
    assert!(matches!(stopped, Err(MoveError::Stopped)), "{stopped:?}");
    let named =
        "UPDATE entities SET version = version + 1 WHERE kind = 'organization' AND id = 'acme'";
    assert_eq!(Database::at(from).await.run(named).await, Ok(1));
    let moved = move_store(&installation, from, &to);
    assert_eq!(moved.status.code(), Some(1), "{}", said(&moved));
    let told: Value = serde_json::from_slice(&moved.stdout).unwrap();
    assert_eq!(told["same"], false, "{told}");
    let differ = told["tables"].as_array().unwrap().iter().filter(|table| table["same"] == false);
    assert_eq!(differ.map(|table| text(&table["table"])).collect::<Vec<_>>(), ["entities"]);
    let mut command = porteiro(installation.path(), &["serve", "--config", "porteiro.toml"]);
    let half = command.env("PORTEIRO_STORE__URL", &to).output().unwrap();
    refused(&half, 78, "a move into this database is not finished");
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused_and_passwords_are_not_told() {
    let installation = installation();
    let from = installation.url();
    let (empty, secret) =
        (file(&installation, "empty.db"), "postgres://p:open-sesame@127.0.0.1:1/p");
    let migrated = porteiro(installation.path(), &["migrate", "--store", &empty]).output().unwrap();
    printed(&migrated);
    let of_another = file(&installation, "another.db");
    let table = rusqlite::Connection::open(installation.path().join("another.db")).unwrap();
    table.execute_batch("CREATE TABLE orders (id)").unwrap();
    drop(table);
    let nowhere = format!("sqlite://{}/no/folder.db", installation.path().display());
    for (from, to, why) in [
        (from, from, "the same database"),
        (from, &*of_another, "is not empty"),
        (&*nowhere, &*empty, "cannot be reached"),
        (&*file(&installation, "missing.db"), &*empty, "no such database file"),
        (&*empty, &*file(&installation, "target.db"), "its security log is empty"),
        (from, secret, "the target cannot be reached"),
        (from, "mysql://db", "sqlite:… or postgres://…"),
    ] {
        let output = move_store(&installation, from, to);
        refused(&output, 1, why);
        assert!(!said(&output).contains("open-sesame"), "{}", said(&output));
    }
    assert!(!installation.path().join("missing.db").exists());
    verify(&installation, from);
}
