//! Passwords from a file and at sign-in: one form, one limit, one rule.

use crate::{
    binary::{Installation, said},
    support::TestServer,
};
use serde_json::json;

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
    let (composed, decomposed) = ("o caf\u{e9} da avo\u{301}", "o cafe\u{301} da av\u{f3}");
    server.apply(&account("nfc@acme.test", &composed.replace("o\u{301}", "\u{f3}"))).await;
    server.apply(&account("nfd@acme.test", &decomposed.replace('\u{f3}', "o\u{301}"))).await;
    for email in ["nfc@acme.test", "nfd@acme.test"] {
        for typed in [composed, decomposed] {
            assert_eq!(tried(&server, email, typed).await, 200, "{email} {typed:?}");
        }
        assert_eq!(tried(&server, email, "o cafe da avo").await, 401);
    }
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
