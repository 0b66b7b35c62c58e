//! scim2-tester of `PyPI` makes, reads, changes and deletes Users and Groups of a live organization, attribute by attribute: no check
//! reports an error.
//!
//! `bin/python-for-tests scim -- cargo nextest run --test server scim_tester --run-ignored only` runs it.

use crate::{
    scim_caller::Scim,
    support::{TestOptions, TestServer},
};
use std::process::Command;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs scim2-tester: bin/python-for-tests"]
async fn scim2_tester_reports_no_error() {
    let python = std::env::var("PORTEIRO_TEST_SCIM").expect("run by bin/python-for-tests");
    let options = TestOptions { mailbox: true, rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let scim = Scim::of(&server, "acme").await;
    let address = format!("{}/scim/v2/acme", server.issuer());
    let run = move |key: String| {
        let mut command = Command::new(&python);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scim/judge.py")).arg(&address);
        command.env("SCIM_KEY", key);
        tokio::task::spawn_blocking(move || command.output())
    };
    let judged = run(scim.key.clone()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(judged.status.success(), "{said}\n{}", String::from_utf8_lossy(&judged.stderr));
    println!("{said}");
    // The judge is one who can say no.
    let without_key = run("wrong".to_owned()).await.unwrap().unwrap();
    assert!(!without_key.status.success());
    server.stop().await;
}
