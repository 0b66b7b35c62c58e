//! `examples/agent`, as a newcomer runs it: from the challenge of an API to a payment that a person has
//! approved.
//!
//! Where there is no `python3` the test says so and passes; `PORTEIRO_TEST_REQUIRE_CLIENTS=1` makes that a
//! failure.

use crate::{
    binary::{Speaking, free_port, porteiro, succeed},
    http::get,
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A script of the example, with nothing of ours in its environment.
fn python(script: &str, arguments: &[&str]) -> Command {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/agent");
    let mut command = Command::new("python3");
    // Nothing is written beside the scripts.
    command.arg("-B").arg(folder.join(script)).args(arguments);
    command
}

#[expect(clippy::print_stderr, reason = "a test that was skipped must not look like one that ran")]
fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var("PORTEIRO_TEST_REQUIRE_CLIENTS").is_ok_and(|it| it == "1");
    assert!(!required, "there is no python3");
    eprintln!("skipped: there is no python3");
    false
}

/// What the example adds to the development server, for an API at this port.
fn provision(folder: &Path, port: u16) {
    let text = include_str!("../../examples/agent/provision.toml");
    let text = text.replace("127.0.0.1:8090", &format!("127.0.0.1:{port}"));
    std::fs::write(folder.join("provision.toml"), text).unwrap();
    succeed(folder, &["apply", "provision.toml"]);
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn the_agent_of_the_example_pays_what_a_person_has_approved_and_nothing_else() {
    if !has_python() {
        return;
    }
    let (folder, port, api) = (tempfile::tempdir().unwrap(), free_port(), free_port());
    let listen = format!("127.0.0.1:{port}");
    let mut dev = Speaking::start(porteiro(folder.path(), &["dev", "--listen", &listen]));
    let told = dev.until("Ctrl-C");
    let password = told.lines().find_map(|line| line.trim().strip_prefix("password ")).unwrap();
    let password = password.trim();
    provision(folder.path(), api);
    let issuer = format!("http://localhost:{port}");
    let mut payments = Speaking::start(python("api.py", &[&issuer, &api.to_string()]));
    payments.until("the payments API listens");

    let address = format!("http://127.0.0.1:{api}/payments");
    let arguments = ["--api", &*address, "--as", "ana@demo.test", password];
    let output = python("agent.py", &arguments).output().unwrap();
    let lines = said(&output);
    assert!(output.status.success(), "{lines}");
    for line in [
        &*format!("Payments is guarded by {issuer}"),
        "it is registered as ",
        "it acts for ana@demo.test",
        "it sees 0 payments",
        "without an approval it is told 403",
        "for more than was approved it is told 403",
    ] {
        assert!(lines.contains(line), "{line}: {lines}");
    }
    let paid = lines.split_once("paid: ").unwrap().1.lines().next().unwrap();
    let paid: Value = serde_json::from_str(paid).unwrap();
    assert_eq!((&paid["amount"], &paid["payee"]), (&40.into(), &"Padaria Central".into()));
    // The person was written to, and the trail says who asked.
    let mails = get(([127, 0, 0, 1], port).into(), "/mailbox").await.json();
    assert!(mails["items"].as_array().unwrap().iter().any(|mail| {
        mail["text"].as_str().is_some_and(|text| text.contains("/approve?approval="))
    }));
    let trail = succeed(folder.path(), &["log", "list", "--organization", "demo", "--json"]);
    for event in ["approval.asked", "approval.given", "token.exchanged", "device.approved"] {
        assert!(trail.contains(&format!("\"{event}\"")), "{event}: {trail}");
    }

    // With a wrong password nothing is let in, and the script says what it heard.
    let wrong = ["--api", &*address, "--as", "ana@demo.test", "not the password at all"];
    let output = python("agent.py", &wrong).output().unwrap();
    assert!(!output.status.success() && said(&output).contains("401"), "{}", said(&output));
    drop(payments);
    assert_eq!(dev.terminate(), Some(0));
}
