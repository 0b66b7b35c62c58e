//! The binary as an operator runs it.

use crate::support::{World, eventually};
use porteiro::system::System;
use std::{
    path::Path,
    process::{Command, Output},
    time::Duration,
};

fn porteiro(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_porteiro"));
    command.args(arguments).env_remove("PORTEIRO_LOG").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Starts and stops a system, which leaves its keys' history in the log.
async fn run_once(world: &World, folder: &Path) {
    let system = System::start(world.system(folder.to_owned()));
    let system = system.await.unwrap();
    eventually("keys", async || !system.keys().borrow().jwks["keys"].is_null()).await;
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn an_operator_makes_keys_migrates_and_verifies_the_log() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    let keys = folder.to_str().unwrap();
    let made = porteiro(&["keys", "generate", "--keys", keys]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert_eq!(text(&made.stdout).lines().count(), 4);

    let again = porteiro(&["keys", "generate", "--keys", keys]);
    assert_eq!(again.status.code(), Some(78));
    let listed = text(&porteiro(&["keys", "list", "--keys", keys, "--json"]).stdout);
    for line in listed.lines() {
        let key: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(key["made_by_dev"], false);
    }
    assert_eq!(listed.lines().count(), 4);
    assert!(!listed.contains("\"d\"") && !listed.contains("\"k\""));

    let migrated = porteiro(&["migrate", "--store", &world.url]);
    assert!(text(&migrated.stdout).contains("+ 0001_entities.sql"), "{}", text(&migrated.stderr));
    let migrated = porteiro(&["migrate", "--store", &world.url]);
    assert_eq!(text(&migrated.stdout), "= the schema is up to date\n");

    run_once(&world, &folder).await;
    let verify = ["log", "verify", "--store", &world.url, "--keys", keys];
    let verified = porteiro(&verify);
    let said = text(&verified.stdout);
    assert!(verified.status.success(), "{said}{}", text(&verified.stderr));
    assert!(said.ends_with("0 findings\n") && !said.starts_with("0 rows"), "{said}");

    let mut stranger = world.stranger().await;
    stranger.disarm().await;
    stranger.run("UPDATE security_log SET id = 'x' WHERE kind = 'signing_keys'").await.unwrap();
    let verified = porteiro(&verify);
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&verified.stdout).contains("was altered"));
}

#[tokio::test]
async fn heads_kept_outside_are_read_as_the_server_logs_them_and_checked() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    let keys = folder.to_str().unwrap();
    assert!(porteiro(&["keys", "generate", "--keys", keys]).status.success());
    run_once(&world, &folder).await;
    let file = world.folder().join("heads");
    let verify = |content: &str| {
        std::fs::write(&file, content).unwrap();
        let heads = file.to_str().unwrap();
        porteiro(&["log", "verify", "--store", &world.url, "--keys", keys, "--heads", heads])
    };
    let gone = r#"{"level":"INFO","fields":{"message":"security log head","lane":"x","seq":9,"mac":"AAAA"}}"#;
    let verified = verify(gone);
    assert_eq!(verified.status.code(), Some(1), "{}", text(&verified.stdout));
    let verified = verify("not a head");
    assert_eq!(verified.status.code(), Some(78));
    assert!(text(&verified.stderr).contains("line 1"));
    assert!(verify("").status.success());
}

#[test]
fn what_is_wrong_with_a_folder_is_said_all_at_once_and_exits_78() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.pem"), "nonsense").unwrap();
    std::fs::write(folder.path().join("two.jwk"), "{}").unwrap();
    let listed = porteiro(&["keys", "list", "--keys", folder.path().to_str().unwrap()]);
    assert_eq!(listed.status.code(), Some(78));
    let said = text(&listed.stderr);
    assert!(said.contains("one.pem") && said.contains("two.jwk"), "{said}");
}

#[test]
fn an_unusable_store_is_an_error_that_names_no_password() {
    let url = "postgres://user:hunter2@127.0.0.1:1/nothing";
    let migrated = porteiro(&["migrate", "--store", url]);
    assert_eq!(migrated.status.code(), Some(1));
    let said = text(&migrated.stderr);
    assert!(said.contains("cannot be reached") && !said.contains("hunter2"), "{said}");
    let migrated = porteiro(&["migrate", "--store", "mysql://x"]);
    assert!(text(&migrated.stderr).contains("sqlite:"), "{}", text(&migrated.stderr));
}
