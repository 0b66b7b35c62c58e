//! `porteiro keys`: keys that leak, and keys that are lost.

use crate::{
    binary::{Installation, said},
    support::ACME,
};
use std::os::unix::fs::PermissionsExt as _;

#[tokio::test]
async fn a_leaked_key_is_revoked_once_it_has_a_successor() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let serving = installation.serve();
    serving.signal("-TERM");
    tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    let list = || {
        let listed = installation.run(&["keys", "list", "--json"]);
        let text = String::from_utf8(listed.stdout).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<serde_json::Value>>()
    };
    let current = list().into_iter().find(|key| key["use"] == "ES256").unwrap();
    assert_eq!(current["state"], "current");
    let kid = current["kid"].as_str().unwrap();
    let alone = installation.run(&["keys", "revoke", kid]);
    assert_eq!(alone.status.code(), Some(1));
    assert!(said(&alone).contains("keys rotate"), "{}", said(&alone));
    assert!(installation.run(&["keys", "rotate", "--algorithm", "ES256"]).status.success());
    let revoked = installation.run(&["keys", "revoke", kid]);
    assert!(revoked.status.success(), "{}", said(&revoked));
    let states: Vec<_> = list()
        .into_iter()
        .filter(|key| key["use"] == "ES256")
        .map(|key| key["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["revoked", "current"]);
    let unknown = installation.run(&["keys", "revoke", "nonsense"]);
    assert_eq!(unknown.status.code(), Some(1));

    // That others could read it is how a key leaks, and no reason not to revoke it.
    let leaked = list().into_iter().find(|key| key["use"] == "RS256").unwrap();
    let file = leaked["file"].as_str().unwrap();
    let file = installation.path().join(file);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let kid = leaked["kid"].as_str().unwrap();
    let revoked = installation.run(&["keys", "revoke", kid, "--replace"]);
    assert!(revoked.status.success(), "{}", said(&revoked));
    assert!(said(&revoked).contains("mode 0644"), "{}", said(&revoked));
    let told = String::from_utf8(revoked.stdout).unwrap();
    assert!(told.contains("within 20 seconds") && told.contains("ten minutes longer"), "{told}");
    std::fs::remove_file(file).unwrap();
    let states = list();
    let states: Vec<_> = states.iter().filter(|key| key["use"] == "RS256").collect();
    assert_eq!((states.len(), &states[0]["state"]), (1, &serde_json::json!("current")));
}

#[tokio::test]
async fn a_key_that_signs_and_has_no_file_is_named_by_everyone() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let serving = installation.serve();
    serving.signal("-TERM");
    tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    let listed = installation.run(&["keys", "list", "--json"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut keys = listed.lines().map(|line| serde_json::from_str(line).unwrap());
    let key: serde_json::Value =
        keys.find(|key: &serde_json::Value| key["use"] == "ES256").unwrap();
    let kid = key["kid"].as_str().unwrap();
    assert!(installation.run(&["keys", "rotate"]).status.success());
    std::fs::remove_file(installation.path().join(key["file"].as_str().unwrap())).unwrap();
    let listed = installation.run(&["keys", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let missing = format!("ES256  {kid} current FILE MISSING");
    assert!(listed.lines().any(|line| line == missing), "{listed}");
    let ill = installation.run(&["doctor"]);
    let told = String::from_utf8(ill.stdout).unwrap();
    let found = told.lines().any(|line| line.starts_with("mend") && line.contains(kid));
    assert!(found && ill.status.code() == Some(1), "{told}");
    let refused = installation.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(78));
    let told = said(&refused);
    assert!(told.contains("ES256") && told.contains(&format!("keys revoke {kid}")), "{told}");
    assert!(installation.run(&["keys", "revoke", kid]).status.success());
    let serving = installation.serve();
    serving.signal("-TERM");
    assert_eq!(tokio::task::spawn_blocking(move || serving.end()).await.unwrap().0, Some(0));
}
