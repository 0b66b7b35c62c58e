//! `porteiro dev`: up with one command, on this machine alone.

use crate::binary::{Speaking, porteiro, run, said, succeed};
use std::process::Command;

#[tokio::test]
async fn dev_is_up_with_one_command_and_its_curl_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut speaking =
        Speaking::start(porteiro(folder.path(), &["dev", "--listen", "127.0.0.1:0"]));
    let said = speaking.until("Ctrl-C");
    let curl = said.split("  curl ").nth(1).unwrap().split("\n\n").next().unwrap();
    let curl = format!("curl {}", curl.replace("\\\n", " "));
    let token = Command::new("sh").args(["-c", &curl]).output().unwrap();
    let token: serde_json::Value = serde_json::from_slice(&token.stdout).unwrap();
    assert_eq!(token["scope"], "invoices:read", "{curl}: {token}");
    let refused = curl.replace("invoices:read", "invoices:approve");
    let refused = Command::new("sh").args(["-c", &refused]).output().unwrap();
    let refused: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(refused["error"], "invalid_scope");
    // The commands find the development server's files by themselves.
    let plan = succeed(folder.path(), &["apply", ".porteiro/demo.toml"]);
    assert!(plan.contains("= unchanged client demo-service"), "{plan}");
    assert_eq!(speaking.terminate(), Some(0));
    let mut again = Speaking::start(porteiro(folder.path(), &["dev", "--listen", "127.0.0.1:0"]));
    assert!(again.until("Ctrl-C").contains("client_secret"), "a second start is as good");
    assert_eq!(again.terminate(), Some(0));
}

#[test]
fn dev_is_for_loopback_and_for_its_own_database() {
    let folder = tempfile::tempdir().unwrap();
    let open = run(folder.path(), &["dev", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.status.code(), Some(78), "{}", said(&open));
    let foreign = porteiro(folder.path(), &["dev", "--listen", "127.0.0.1:0"])
        .env("PORTEIRO_STORE__URL", "sqlite://somebody-elses.db")
        .output()
        .unwrap();
    assert_eq!(foreign.status.code(), Some(78));
    assert!(said(&foreign).contains("PORTEIRO_STORE__URL"), "{}", said(&foreign));
    assert!(
        !folder.path().join(".porteiro").exists()
            && !folder.path().join("somebody-elses.db").exists()
    );
}
