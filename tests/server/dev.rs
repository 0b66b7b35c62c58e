//! `porteiro dev`: up with one command, on this machine alone.

use crate::binary::{Speaking, free_port, porteiro, run, said, succeed};
use std::process::Command;

#[tokio::test]
async fn dev_is_up_with_one_command_and_its_curl_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut speaking =
        Speaking::start(porteiro(folder.path(), &["dev", "--listen", "127.0.0.1:0"]));
    let said = speaking.until("Ctrl-C");
    let curls: Vec<String> = said
        .split("  curl ")
        .skip(1)
        .map(|rest| {
            let curl = rest.split("\n\n").next().unwrap().trim_end();
            format!("curl {}", curl.replace("\\\n", " "))
        })
        .collect();
    let [curl, sign_in] = &curls[..] else { panic!("{said}") };
    let begun = Command::new("sh").args(["-c", sign_in]).output().unwrap();
    let begun: serde_json::Value = serde_json::from_slice(&begun.stdout).unwrap();
    assert_eq!(begun["state"], "identify", "{sign_in}: {begun}");
    assert!(said.contains("ana@demo.test"), "{said}");
    let token = Command::new("sh").args(["-c", curl.as_str()]).output().unwrap();
    let token: serde_json::Value = serde_json::from_slice(&token.stdout).unwrap();
    assert_eq!(token["scope"], "invoices:read", "{curl}: {token}");
    let refused = curl.replace("invoices:read", "invoices:approve");
    let refused = Command::new("sh").args(["-c", &refused]).output().unwrap();
    let refused: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(refused["error"], "invalid_scope");
    // The commands find the development server's files by themselves.
    let plan = succeed(folder.path(), &["apply", ".porteiro/demo.toml"]);
    assert!(plan.contains("= unchanged client demo-service"), "{plan}");
    assert!(!plan.contains('!'), "everything of the demo works: {plan}");
    // Its person sees the pages of the organization.
    let ana = succeed(folder.path(), &["account", "show", "ana@demo.test", "--json"]);
    assert!(ana.contains("\"administrator\""), "{ana}");
    let demo = succeed(folder.path(), &["organization", "show", "demo", "--json"]);
    assert!(demo.contains("memberships:*") && demo.contains("audit:*"), "{demo}");
    assert_eq!(speaking.terminate(), Some(0));
    let mut again = Speaking::start(porteiro(folder.path(), &["dev", "--listen", "127.0.0.1:0"]));
    assert!(again.until("Ctrl-C").contains("client_secret"), "a second start is as good");
    assert_eq!(again.terminate(), Some(0));
}

#[test]
fn dev_listens_where_it_is_told_and_says_what_to_try_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let (port, operator) = (free_port(), free_port());
    let mut command = porteiro(folder.path(), &["dev"]);
    command.env("PORTEIRO_LISTEN", format!("127.0.0.1:{port}"));
    command.env("PORTEIRO_OPERATOR__LISTEN", format!("127.0.0.1:{operator}"));
    let mut speaking = Speaking::start(command);
    let told = speaking.until("Ctrl-C");
    assert!(told.contains(&format!("running at http://localhost:{port},")), "{told}");
    assert!(told.contains(&format!("http://127.0.0.1:{operator}/metrics")), "{told}");
    // Commands print links to where it runs.
    let invite = ["account", "invite", "eva@demo.test", "--organization", "demo", "--json"];
    for arguments in [&invite[..], &["account", "recover", "ana@demo.test", "--json"]] {
        let printed = succeed(folder.path(), arguments);
        assert!(printed.contains(&format!("http://localhost:{port}/")), "{printed}");
    }
    let busy = run(folder.path(), &["dev", "--listen", &port.to_string()]);
    assert_eq!(busy.status.code(), Some(1), "{}", said(&busy));
    assert!(said(&busy).contains("try `porteiro dev --listen 127.0.0.1:8081`"), "{}", said(&busy));
    let busy = run(folder.path(), &["dev", "--listen", &format!("localhost:{port}")]);
    assert!(said(&busy).contains("in use"), "{}", said(&busy));
    assert_eq!(speaking.terminate(), Some(0));
    let wrong = run(folder.path(), &["dev", "--listen", "here"]);
    assert!(said(&wrong).contains("like 127.0.0.1:8081"), "{}", said(&wrong));
    let open = porteiro(folder.path(), &["dev", "--listen", "0"])
        .env("PORTEIRO_OPERATOR__LISTEN", "0.0.0.0:0")
        .output()
        .unwrap();
    assert_eq!(open.status.code(), Some(78));
    assert!(said(&open).contains("PORTEIRO_OPERATOR__LISTEN"), "{}", said(&open));
}

#[test]
fn dev_recovers_from_a_start_that_was_cut_off_and_prints_the_secret_it_applied() {
    let folder = tempfile::tempdir().unwrap();
    // Half-made keys beside their place, and none in it.
    std::fs::create_dir_all(folder.path().join(".porteiro/keys.new")).unwrap();
    std::fs::write(folder.path().join(".porteiro/keys.new/rs256.json"), "{").unwrap();
    let demo = "[[client]]\nclient_id = \"other\"\nclient_secret = \"of-another-client-0123456789abcdef\"\n\
                grant_types = [\"client_credentials\"]\n\
                [[client]]\nclient_id = \"demo-service\"\ngrant_types = [\"client_credentials\"]\n\
                \"client_secret\"   = '0123456789\"abcdef0123456789abcdef'\n";
    std::fs::write(folder.path().join(".porteiro/demo.toml"), demo).unwrap();
    let mut speaking = Speaking::start(porteiro(folder.path(), &["dev", "--listen", "0"]));
    let told = speaking.until("Ctrl-C");
    assert!(told.contains("client_secret  0123456789\"abcdef0123456789abcdef\n"), "{told}");
    assert_eq!(speaking.terminate(), Some(0));
    assert!(!folder.path().join(".porteiro/keys.new").exists());
    // A doctor without a configuration looks at what is here, and says so.
    let well = succeed(folder.path(), &["doctor"]);
    assert!(well.contains("development server under ./.porteiro"), "{well}");
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
