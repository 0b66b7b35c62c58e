//! Accounts that come from other servers, with the passwords that people have there.

use crate::{
    binary::{Installation, said},
    person::text,
    support::TestServer,
};
use porteiro::{
    clock::SystemClock,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::account::EMAIL_ADDRESSES,
    provisioning::{Format, Import, PeopleImport},
    system::Workbench,
};
use std::sync::Arc;

const REALM: &str = r#"{"realm": "acme", "enabled": true, "users": [{"username": "kim", "email": "kim@acme.test", "emailVerified": true, "enabled": true, "firstName": "Kim", "lastName": "Silva", "attributes": {"locale": ["pt"], "department": ["sales"]}, "credentials": [{"type": "password", "secretData": "{\"value\": \"yqSq2SygY1sB4EcH9f2FG0JTMES+wqLsOT5YmiRBplLYbawB4lwjdPCI3Ns1d3pRT9/+PGa1sFXN8qwjZx9S8g==\", \"salt\": \"MDEyMzQ1Njc4OWFiY2RlZg==\", \"additionalParameters\": {}}", "credentialData": "{\"hashIterations\": 1000, \"algorithm\": \"pbkdf2-sha256\", \"additionalParameters\": {}}"}], "realmRoles": ["admin"]}, {"username": "lia@acme.test", "enabled": true, "credentials": [{"type": "password", "secretData": "{\"value\": \"5bTW2oeyDJyGJPcmEr+mRDE11ghpozWrDGnSNhRXo2ZCu0KHRDiUMAVEGzLJC+oDhRoeIja9J1iLIv9ptDJMfQ==\", \"salt\": \"MDEyMzQ1Njc4OWFiY2RlZg==\", \"additionalParameters\": {}}", "credentialData": "{\"hashIterations\": 1000, \"algorithm\": \"pbkdf2-sha512\", \"additionalParameters\": {}}"}, {"type": "webauthn", "secretData": "{}", "credentialData": "{}"}]}, {"username": "service-account-billing", "serviceAccountClientId": "billing", "enabled": true}]}"#;

const TENANT: &str = r#"{"email": "max@acme.test", "email_verified": true, "name": "Max M.", "given_name": "Max", "blocked": false, "passwordHash": "$2b$04$abcdefghijklmnopqrstuu7EJV7kdjBBQxyb0HjTh9KS7.Lah/6CG", "user_id": "auth0|1"}
{"email": "nina@acme.test", "email_verified": false, "name": "nina@acme.test", "custom_password_hash": {"algorithm": "scrypt", "hash": {"value": "d0fcfa46e37d58263a39f1371581f9332c7426abcd8ee97ce156c5c962c17f88e3a644d98b7cb5dc421a9fa9d4496559d6ac70c8c48f6a6e7315bd46768c060a", "encoding": "hex"}, "salt": {"value": "0123456789abcdef", "encoding": "utf8"}, "keylen": 64, "cost": 16, "blockSize": 8, "parallelization": 1}}
"#;

async fn workbench(server: &TestServer) -> Workbench {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
    Workbench::open(&server.url, &folder, clock, dice).await.unwrap()
}

async fn begin<'a>(workbench: &'a Workbench, text: &str, format: Format) -> PeopleImport<'a> {
    let import = Import::parse(text, format).unwrap();
    PeopleImport::begin(workbench, import.file, &|_, _| {}).await.unwrap()
}

/// Imports an export, and says what became of each person.
async fn import(server: &TestServer, text: &str, format: Format) -> Vec<String> {
    let workbench = workbench(server).await;
    let mut people = begin(&workbench, text, format).await;
    let mut done = Vec::new();
    while let Some(plan) = people.next(&|_, _| {}).await.unwrap() {
        done.extend(plan.steps.iter().map(ToString::to_string));
    }
    workbench.close().await;
    done
}

#[tokio::test]
async fn people_of_a_keycloak_realm_sign_in_with_the_passwords_they_had_there() {
    let server = TestServer::open().await;
    let done = import(&server, REALM, Format::Keycloak).await;
    assert_eq!(done, ["+ created account kim@acme.test", "+ created account lia@acme.test"]);
    let again = import(&server, REALM, Format::Keycloak).await;
    assert_eq!(again, ["= unchanged account kim@acme.test", "= unchanged account lia@acme.test"]);
    for email in ["kim@acme.test", "lia@acme.test", "kim@acme.test"] {
        server.sign_in(email).await;
    }
    let tokens = server.tokens("kim@acme.test", "web", "openid profile email").await;
    let claims = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!((text(&claims["given_name"]), text(&claims["locale"])), ("Kim", "pt"));
    assert_eq!(claims["email_verified"], true);
    server.stop().await;
}

#[tokio::test]
async fn people_of_an_auth0_tenant_sign_in_with_the_passwords_they_had_there() {
    let server = TestServer::open().await;
    let done = import(&server, TENANT, Format::Auth0).await;
    assert_eq!(done, ["+ created account max@acme.test", "+ created account nina@acme.test"]);
    for email in ["max@acme.test", "nina@acme.test", "max@acme.test"] {
        server.sign_in(email).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn thousands_of_people_are_imported_in_bites_and_a_run_that_was_stopped_goes_on() {
    const PEOPLE: usize = 2_500;
    let person = |number: usize| format!("{{\"email\": \"p{number}@crowd.test\"}}\n");
    let export: String = (0..PEOPLE).map(person).collect();
    let server = TestServer::open().await;
    let workbench = workbench(&server).await;
    let commits = || workbench.store().report().commits;
    // Stopped after some bites, as by a signal.
    let mut people = begin(&workbench, &export, Format::Auth0).await;
    assert_eq!(commits(), 0, "nothing is written before all of it is planned");
    let mut created = 0;
    for bite in 1..=8 {
        created += people.next(&|_, _| {}).await.unwrap().unwrap().steps.len();
        assert_eq!(commits(), bite, "each bite is a commit");
    }
    drop(people);
    assert!((8..PEOPLE).contains(&created), "{created}");
    let is_here = async |number: usize| {
        let address = format!("p{number}@crowd.test");
        server.running().system().store().find(EMAIL_ADDRESSES, &address).await.unwrap().is_some()
    };
    assert!(is_here(created - 1).await && !is_here(created).await, "whole bites, in their order");
    // The same file again.
    let again = import(&server, &export, Format::Auth0).await;
    let unchanged = again.iter().filter(|step| step.starts_with("= unchanged")).count();
    let new = again.iter().filter(|step| step.starts_with("+ created")).count();
    assert_eq!((unchanged, new), (created, PEOPLE - created));
    assert!(is_here(PEOPLE - 1).await);
    workbench.close().await;
    server.stop().await;
}

#[tokio::test]
async fn the_command_imports_all_of_an_export_or_nothing_and_says_no_hash() {
    let installation = Installation::new().await;
    assert!(installation.run(&["migrate"]).status.success());
    let file = installation.folder.path().join("realm.json");
    let path = file.to_str().unwrap();
    let run = |more: &[&str]| {
        let arguments = [&["account", "import", path, "--format", "keycloak"], more].concat();
        installation.run(&arguments)
    };
    // The last of them cannot be taken, so that none is.
    let broken = REALM.replace("\"username\": \"lia@acme.test\"", "\"username\": \"lia\"");
    assert_ne!(broken, REALM);
    std::fs::write(&file, broken).unwrap();
    let refused = run(&[]);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("user 2: has no e-mail address"), "{}", said(&refused));
    std::fs::write(&file, REALM).unwrap();
    for (more, last) in [
        (&["--dry-run"][..], "nothing was changed: this was a dry run"),
        (&["--json"][..], "left_out"),
        (&[][..], "! "),
    ] {
        let done = run(more);
        assert!(done.status.success(), "{}", said(&done));
        let printed = String::from_utf8(done.stdout).unwrap();
        assert!(printed.lines().last().unwrap().contains(last), "{printed}");
        assert!(!printed.contains("pbkdf2") && !printed.contains("MDEyMzQ1Nj"), "{printed}");
        let first = printed.lines().next().unwrap();
        assert!(first.contains("kim@acme.test"), "{first}");
        assert_eq!(first.contains("created"), !more.is_empty(), "{first}");
    }
}
