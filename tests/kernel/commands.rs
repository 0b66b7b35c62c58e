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

/// What is logged meanwhile.
#[derive(Clone, Default)]
pub struct Kept(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Kept {
    type Writer = Kept;

    fn make_writer(&'a self) -> Kept {
        self.clone()
    }
}

impl Kept {
    /// Keeps what this thread logs until the guard is dropped.
    pub fn begin() -> (Self, tracing::subscriber::DefaultGuard) {
        let kept = Self::default();
        let logging = tracing_subscriber::fmt().json().with_writer(kept.clone()).finish();
        (kept, tracing::subscriber::set_default(logging))
    }

    pub fn text(&self) -> String {
        text(&self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn heads_are_read_out_of_what_the_server_logged() {
    let mut world = World::new().await;
    world.tree.janitor.anchor_every = Duration::from_millis(1);
    let folder = world.folder().join("keys");
    let keys = folder.to_str().unwrap().to_owned();
    assert!(porteiro(&["keys", "generate", "--keys", &keys]).status.success());
    let (kept, _logging) = Kept::begin();
    let system = System::start(world.system(folder)).await.unwrap();
    eventually("heads in the log", async || {
        world.clock.advance(Duration::from_secs(1));
        kept.text().contains("porteiro::log_heads")
    })
    .await;
    assert!(system.stop(Duration::from_secs(5)).await);

    let file = world.folder().join("server.log");
    let verify = |content: &str| {
        std::fs::write(&file, content).unwrap();
        let heads = file.to_str().unwrap();
        porteiro(&["log", "verify", "--store", &world.url, "--keys", &keys, "--heads", heads])
    };
    let logged = format!("starting up\n{}", kept.text());
    let verified = verify(&logged);
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));
    assert!(!text(&verified.stdout).contains(" 0 kept heads"));
    let gone = logged.replace("\"seq\":", "\"seq\":9");
    assert_eq!(verify(&gone).status.code(), Some(1), "heads that are not there are missed");
    assert_eq!(verify("no head in here").status.code(), Some(78));
}

#[tokio::test]
async fn a_system_that_stops_exports_heads_that_show_a_tail_cut_while_it_was_down() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    let keys = folder.to_str().unwrap().to_owned();
    assert!(porteiro(&["keys", "generate", "--keys", &keys]).status.success());
    let (kept, _logging) = Kept::begin();
    run_once(&world, &folder).await;
    let server_log = world.folder().join("server.log");
    std::fs::write(&server_log, kept.text()).unwrap();
    let verify = ["log", "verify", "--store", &world.url, "--keys", &keys];
    let with_heads = [&verify[..], &["--heads", server_log.to_str().unwrap()]].concat();
    let verified = porteiro(&with_heads);
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));

    let mut stranger = world.stranger().await;
    stranger.disarm().await;
    let lane = "lane = (SELECT MIN(lane) FROM security_log WHERE kind = 'signing_keys')";
    stranger.run(format!("DELETE FROM security_log WHERE seq > 1 AND {lane}")).await.unwrap();
    let back = "UPDATE log_lanes SET seq = 1, mac = (SELECT mac FROM security_log l \
                WHERE l.lane = log_lanes.lane AND l.seq = 1)";
    stranger.run(format!("{back} WHERE {lane}")).await.unwrap();
    // On PostgreSQL the anchor is in another lane, and still names what was cut.
    let alone = porteiro(&verify);
    assert!(alone.status.success() || world.is_postgres(), "the database alone cannot tell");
    let found = porteiro(&with_heads);
    assert_eq!(found.status.code(), Some(1));
    assert!(
        text(&found.stdout).contains("were there once and are gone"),
        "{}",
        text(&found.stdout)
    );
}

#[tokio::test]
async fn why_a_read_failed_is_logged() {
    use porteiro::store::Moment;
    let world = World::new().await;
    let node = world.node().await;
    let (kept, _logging) = Kept::begin();
    node.script.fail_next(Moment::Read, 2);
    assert!(node.store.load("ledger", "a").await.is_err());
    assert!(node.store.liveness(&[("ledger", "a")]).await.is_err());
    let cause = porteiro::store::DatabaseError::Planted.to_string();
    let lines = kept.text().lines().filter(|line| line.contains(&cause)).count();
    assert_eq!(lines, 2, "{}", kept.text());
    node.stop().await;
}

#[tokio::test]
async fn an_audit_changes_nothing_and_takes_nothing_for_good() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    let keys = folder.to_str().unwrap();
    assert!(porteiro(&["keys", "generate", "--keys", keys]).status.success());
    let nowhere = world.folder().join("typo.db");
    let url = format!("sqlite://{}", nowhere.display());
    let verified = porteiro(&["log", "verify", "--store", &url, "--keys", keys]);
    assert_eq!(verified.status.code(), Some(78));
    assert!(!nowhere.exists());
    assert!(porteiro(&["migrate", "--store", &world.url]).status.success());
    let verified = porteiro(&["log", "verify", "--store", &world.url, "--keys", keys]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&verified.stdout).contains("there is no log"));
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
    assert_eq!(migrated.status.code(), Some(78));
    let said = text(&migrated.stderr);
    assert!(said.contains("cannot be reached") && !said.contains("hunter2"), "{said}");
    let migrated = porteiro(&["migrate", "--store", "mysql://x"]);
    assert!(text(&migrated.stderr).contains("sqlite:"), "{}", text(&migrated.stderr));
}
