//! Passwords from a file and at sign-in: one form, one limit, one rule.

use crate::{
    binary::{Installation, said, succeed},
    person::PASSWORD,
    support::{ACME, TestServer},
};
use porteiro::{
    clock::SystemClock,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    provisioning::{UnlockError, UnlockOutcome, unlock},
    system::Workbench,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Adds an account with this password.
fn account(email: &str, password: &str) -> String {
    format!("[[account]]\nemail = \"{email}\"\npassword = \"{password}\"\n")
}

/// Tries a password, and returns the status of the answer.
async fn tried(server: &TestServer, email: &str, password: &str) -> u16 {
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": email })).await;
    server.step(&flow, "password", json!({ "password": password })).await.status.as_u16()
}

#[tokio::test]
async fn a_password_is_the_same_however_its_accents_are_typed() {
    let server = TestServer::open().await;
    let (composed, decomposed) =
        ("o caf\u{e9} forte da avo\u{301}", "o cafe\u{301} forte da av\u{f3}");
    server.apply(&account("nfc@acme.test", &composed.replace("o\u{301}", "\u{f3}"))).await;
    server.apply(&account("nfd@acme.test", &decomposed.replace('\u{f3}', "o\u{301}"))).await;
    for email in ["nfc@acme.test", "nfd@acme.test"] {
        for typed in [composed, decomposed] {
            assert_eq!(tried(&server, email, typed).await, 200, "{email} {typed:?}");
        }
        assert_eq!(tried(&server, email, "o cafe forte da avo").await, 401);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_password_is_good_until_it_is_changed_however_old_it_is() {
    let server = TestServer::open().await;
    assert_eq!(tried(&server, "ana@acme.test", PASSWORD).await, 200);
    server.clock.advance(Duration::from_hours(10 * 365 * 24));
    assert_eq!(tried(&server, "ana@acme.test", PASSWORD).await, 200);
    server.stop().await;
}

#[tokio::test]
async fn what_a_file_takes_as_a_password_is_taken_at_sign_in() {
    let server = TestServer::open().await;
    let longest = ["x", "\u{1f40e}", "\u{1d160}"].map(|character| character.repeat(1_024));
    for (number, password) in longest.iter().enumerate() {
        let email = format!("long{number}@acme.test");
        server.apply(&account(&email, password)).await;
        assert_eq!(tried(&server, &email, password).await, 200);
        assert_eq!(tried(&server, &email, &password[..password.len() / 2]).await, 401);
        assert_eq!(tried(&server, &email, &format!("{password}x")).await, 400);
    }
    assert_eq!(tried(&server, "ana@acme.test", "").await, 400);
    server.stop().await;
}

/// Unlocks an account as the command does.
pub async fn unlocked(server: &TestServer, email: &str) -> Result<UnlockOutcome, UnlockError> {
    let folder = Folder::load(&server.keys(), DevKeys::Refused).unwrap();
    let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
    let workbench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
    let unlocked = unlock(&workbench, email).await;
    workbench.close().await;
    unlocked
}

#[tokio::test]
async fn an_operator_unlocks_an_account_for_every_authenticator() {
    let server = TestServer::open().await;
    let (dora, ana) = ("dora@acme.test", "ana@acme.test");
    let asks_totp = async || {
        let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let asked = server.prove(&flow, dora).await;
        assert_eq!(asked.json()["state"], "second_factor", "{asked:?}");
        flow
    };
    for _ in 0..2 {
        let flow = asks_totp().await;
        for _ in 0..5 {
            server.step(&flow, "totp", json!({ "code": "000000" })).await;
        }
    }
    let flow = asks_totp().await;
    let limited = server.step(&flow, "totp", json!({ "code": "000000" })).await;
    assert_eq!(limited.status, 429, "{limited:?}");
    for email in [dora, ana] {
        for _ in 0..10 {
            assert_eq!(tried(&server, email, "wrong").await, 401);
        }
        assert_eq!(tried(&server, email, PASSWORD).await, 429);
    }
    let done = unlocked(&server, " Dora@ACME.test ").await.unwrap();
    assert_eq!(done.authenticators, ["password", "totp"]);
    // What a command changes takes effect within a second.
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(tried(&server, dora, PASSWORD).await, 200);
    let code = server.step(&flow, "totp", json!({ "code": "000000" })).await;
    assert_ne!(code.status, 429, "{code:?}");
    assert_eq!(tried(&server, ana, PASSWORD).await, 429, "another account is not unlocked");
    let none = unlocked(&server, "clara@nowhere.test").await.unwrap();
    assert!(none.authenticators.is_empty());
    for unknown in ["nobody@acme.test", "no address"] {
        let refused = unlocked(&server, unknown).await;
        assert!(matches!(refused, Err(UnlockError::NoSuchAccount)), "{refused:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_command_says_what_it_unlocked() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let config = installation.config();
    let command = ["account", "unlock", "ana@acme.test", "--config", config.to_str().unwrap()];
    let said_of = succeed(installation.path(), &command);
    assert!(said_of.starts_with("= unchanged account "), "{said_of}");
    let json = succeed(installation.path(), &[&command[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["email"], &json["unlocked"]), (&json!("ana@acme.test"), &json!([])));
    assert_eq!(json["account"].as_str().unwrap().len(), 36);
    let unknown = installation.run(&["account", "unlock", "nobody@acme.test"]);
    assert_eq!(unknown.status.code(), Some(1), "{}", said(&unknown));
    assert!(said(&unknown).contains("there is no account"), "{}", said(&unknown));
}

#[tokio::test]
async fn apply_obeys_the_configured_length() {
    let installation = Installation::new().await;
    let path = installation.path().join("eva.toml");
    std::fs::write(&path, account("eva@acme.test", "fourteen chars")).unwrap();
    let refused = installation.run(&["apply", "eva.toml"]);
    assert_eq!(refused.status.code(), Some(78), "{}", said(&refused));
    assert!(said(&refused).contains("eva.toml:3: account `eva@acme.test`"), "{}", said(&refused));
    assert!(said(&refused).contains("at least 15 characters"), "{}", said(&refused));
    assert!(!said(&refused).contains("fourteen"), "{}", said(&refused));
    installation.configure("[password]\nmin_length = 14\n");
    let applied = installation.run(&["apply", "eva.toml"]);
    assert_eq!(applied.status.code(), Some(0), "{}", said(&applied));
}
