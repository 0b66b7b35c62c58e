//! schemathesis calls everything that the OpenAPI document describes, with what the document allows and
//! with what it does not: no answer is a failure of the server, and each is as the document says.
//!
//! `bin/python-for-tests openapi -- cargo nextest run --test server openapi_document --run-ignored only`
//! runs it.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    support::{TestOptions, TestServer},
};
use std::process::Command;

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance";

/// Calls what the document describes, with these headers; says what was wrong.
async fn judge(server: &TestServer, paths: &str, headers: &[String]) {
    let python = std::env::var("PORTEIRO_TEST_OPENAPI").expect("run by bin/python-for-tests");
    let document = format!("{}/api/openapi.json", server.issuer());
    let folder = tempfile::tempdir().unwrap();
    // In an organization of the caller's own, at any version: else it would see refusals alone.
    let known = "[parameters]\n\"path.organization\" = \"acme\"\n\"header.If-Match\" = \"*\"\n";
    std::fs::write(folder.path().join("schemathesis.toml"), known).unwrap();
    let mut command = Command::new(python);
    command.current_dir(&folder).args(["-m", "schemathesis.cli", "run", &document]);
    command.args(["--checks", CHECKS, "--seed", "1", "--max-examples", "12", "--no-color"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--include-path-regex", paths]);
    command.args(["--generation-database", "none", "--suppress-health-check", "all"]);
    for header in headers {
        command.args(["--header", header]);
    }
    let ran = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("passed"), "{said}");
}

async fn directory() -> TestServer {
    let options = TestOptions { mailbox: true, rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    server.apply(DIRECTORY).await;
    server
}

#[tokio::test]
#[ignore = "needs schemathesis: bin/python-for-tests"]
async fn the_management_api_answers_as_its_document_says() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let headers = [format!("Authorization: Bearer {}", api.token)];
    judge(&server, "^/api/", &headers).await;
    // It may have taken its own role away; others are let in.
    let otto = Api::of(&server, "otto@other.test", "organizations:read").await;
    assert_eq!(otto.get("/api/organizations/other").await.status, 200);
    server.stop().await;
}

#[tokio::test]
#[ignore = "needs schemathesis: bin/python-for-tests"]
async fn flows_and_what_a_person_may_change_answer_as_the_document_says() {
    let server = directory().await;
    let session = server.sign_in("rita@acme.test").await;
    judge(&server, "^/(flows|me)", &[format!("X-Session-Token: {session}")]).await;
    server.stop().await;
}
