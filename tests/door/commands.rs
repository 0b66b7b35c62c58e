//! What each command does, says and refuses.

use crate::{
    binary::{Installation, Speaking, free_port, porteiro, run, said, succeed},
    support::ACME,
};
use std::{net::TcpListener, os::unix::fs::PermissionsExt as _, process::Command};

/// Refusals name everything at once, exit with 78, and bind nothing.
///
/// The port is held by this test: a server that tried to bind would say so and exit with 1.
#[tokio::test]
async fn serve_names_every_reason_at_once_and_never_binds() {
    let installation = Installation::new().await;
    let held = TcpListener::bind(installation.address).unwrap();
    let port = installation.address.port();
    let busy = installation.run(&["serve"]);
    assert_eq!(busy.status.code(), Some(1), "{}", said(&busy));
    assert!(said(&busy).contains("cannot listen"), "the proof works: {}", said(&busy));

    let key = std::fs::read_dir(installation.path().join("keys")).unwrap().next().unwrap().unwrap();
    std::fs::set_permissions(key.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let dev = tempfile::tempdir().unwrap();
    let mut speaking = Speaking::start(porteiro(dev.path(), &["dev", "--listen", "127.0.0.1:0"]));
    speaking.until("Ctrl-C");
    assert_eq!(speaking.terminate(), Some(0));
    let dev_key = std::fs::read_dir(dev.path().join(".porteiro/keys")).unwrap().next().unwrap();
    let dev_key = dev_key.unwrap();
    let copy =
        installation.path().join("keys").join(format!("dev-{}", dev_key.file_name().display()));
    std::fs::copy(dev_key.path(), copy).unwrap();
    let config = format!(
        "issuer = \"http://id.example.com/path/\"\nlisten = \"0.0.0.0:{port}\"\nlisen = 1\n\
         [store]\nurl = \"sqlite://nowhere/at/all.db\"\n[keys]\ndir = \"keys\"\n\
         [lifetimes]\nsession_idle = 700000\nsession_ceiling = 3000000\n"
    );
    std::fs::write(installation.config(), config).unwrap();
    let refused = installation.run(&["serve"]);
    let reasons = said(&refused);
    assert_eq!(refused.status.code(), Some(78), "{reasons}");
    for named in [
        "porteiro.toml:3",
        "`lisen`",
        "issuer",
        "https",
        "listen",
        "mode 0644",
        "made by `porteiro dev`",
        "session_idle",
        "session_ceiling",
        "store.url",
    ] {
        assert!(reasons.contains(named), "{named} is not named:\n{reasons}");
    }
    drop(held);
}

#[tokio::test]
async fn serve_without_keys_or_anything_else_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run(folder.path(), &["serve"]);
    assert_eq!(refused.status.code(), Some(78));
    for named in ["issuer", "store.url", "keys.dir"] {
        assert!(said(&refused).contains(named), "{}", said(&refused));
    }
    let installation = Installation::new().await;
    std::fs::remove_dir_all(installation.path().join("keys")).unwrap();
    let refused = installation.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(78), "{}", said(&refused));
    assert!(said(&refused).contains("keys"), "{}", said(&refused));
    std::fs::create_dir(installation.path().join("keys")).unwrap();
    let refused = installation.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(78));
    assert!(said(&refused).contains("a usable signing key for ES256 is missing"));
}

#[tokio::test]
async fn plain_http_off_loopback_is_refused_and_behind_a_proxy_is_not() {
    let installation = Installation::new().await;
    let (port, operator) = (installation.address.port(), installation.operator);
    let config = |more: &str| {
        let text = format!(
            "issuer = \"https://id.example.com\"\nlisten = \"0.0.0.0:{port}\"\n{more}\
             [store]\nurl = \"sqlite://porteiro.db\"\n[keys]\ndir = \"keys\"\n\
             [operator]\nlisten = \"{operator}\"\n"
        );
        std::fs::write(installation.config(), text).unwrap();
    };
    config("");
    let refused = installation.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(78));
    assert!(said(&refused).contains("public_proxy"), "{}", said(&refused));
    config("public_proxy = true\n");
    let serving = installation.serve();
    serving.signal("-TERM");
    assert_eq!(tokio::task::spawn_blocking(move || serving.end()).await.unwrap().0, Some(0));
}

#[tokio::test]
async fn keys_of_another_installation_are_refused() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    std::fs::remove_dir_all(installation.path().join("keys")).unwrap();
    succeed(installation.path(), &["keys", "generate", "--keys", "keys"]);
    let refused = installation.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(78), "{}", said(&refused));
    assert!(said(&refused).contains("another keys folder"), "{}", said(&refused));
    let ill = installation.run(&["doctor"]);
    assert_eq!(ill.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ill.stdout).contains("other keys"));
}

#[tokio::test]
async fn apply_prints_a_plan_and_is_idempotent() {
    let installation = Installation::new().await;
    let first = installation.apply(ACME);
    assert!(first.contains("+ created client billing"), "{first}");
    assert!(first.contains("+ created resource https://api.example.com/invoices"));
    assert!(first.contains("+ created organization acme"));
    let second = installation.apply(ACME);
    assert!(second.lines().all(|line| line.starts_with("= unchanged")), "{second}");
    let changed = ACME.replace("Acme Lda", "Acme SA");
    std::fs::write(installation.path().join("changed.toml"), &changed).unwrap();
    let dry = installation.run(&["apply", "changed.toml", "--dry-run"]);
    let dry = String::from_utf8(dry.stdout).unwrap();
    assert!(dry.contains("~ changed organization acme (name)"), "{dry}");
    assert!(installation.apply(&changed).contains("~ changed organization acme (name)"));
    let json = installation.run(&["apply", "changed.toml", "--json"]);
    for line in String::from_utf8(json.stdout).unwrap().lines() {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(step["change"], "unchanged");
    }
}

#[tokio::test]
async fn a_bad_file_is_refused_whole_with_every_line_named() {
    let installation = Installation::new().await;
    let text =
        format!("{ACME}\n[[client]]\nclient_id = \"x\"\nclient_sekret = \"y\"\n[[nonsense]]\n");
    std::fs::write(installation.path().join("bad.toml"), &text).unwrap();
    let refused = installation.run(&["apply", "bad.toml"]);
    assert_eq!(refused.status.code(), Some(78));
    let line = text.lines().position(|line| line.contains("sekret")).unwrap() + 1;
    let told = said(&refused);
    assert!(told.contains(&format!("bad.toml:{line}: ")), "{told}");
    assert!(told.contains("did you mean `client.client_secret`"), "{told}");
    assert!(told.contains("nonsense"), "{told}");
    let missing = installation.run(&["apply", "missing.toml"]);
    assert_eq!(missing.status.code(), Some(78));
    let plan = installation.apply(ACME);
    assert!(plan.lines().all(|line| line.starts_with('+')), "nothing was half applied: {plan}");
}

#[tokio::test]
async fn config_shows_where_each_value_came_from_and_no_secret() {
    let installation = Installation::new().await;
    let mut command = porteiro(installation.path(), &["config", "--config", "porteiro.toml"]);
    command.env("PORTEIRO_STORE__URL", "postgres://user:hunter2@db/porteiro");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("PORTEIRO_STORE__URL") && !text.contains("hunter2"), "{text}");
    assert!(text.contains("porteiro.toml:1"), "{text}");
    assert!(text.contains("access_token = 300"), "{text}");
    let unknown = porteiro(installation.path(), &["config"])
        .env("PORTEIRO_STORE__URI", "x")
        .output()
        .unwrap();
    assert_eq!(unknown.status.code(), Some(78));
    assert!(said(&unknown).contains("PORTEIRO_STORE__URI"), "{}", said(&unknown));
}

#[tokio::test]
async fn doctor_says_what_is_well_and_what_to_mend() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let well = installation.run(&["doctor", "--json"]);
    let text = String::from_utf8(well.stdout.clone()).unwrap();
    assert!(well.status.success(), "{text}{}", said(&well));
    for check in ["configuration", "keys", "store", "security log", "clock", "issuer"] {
        let found = text.lines().any(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["check"] == check && line["verdict"] == "ok"
        });
        assert!(found, "{check}: {text}");
    }
    let port = free_port();
    installation.configure(&format!(
        "[mail]\ntransport = \"smtp://127.0.0.1:{port}\"\nfrom = \"a@b.test\"\n\
         [tls]\ncert = \"none.pem\"\nkey = \"none.pem\"\n"
    ));
    let ill = installation.run(&["doctor"]);
    assert_eq!(ill.status.code(), Some(1));
    let text = String::from_utf8(ill.stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("mend  mail")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("mend  certificate")), "{text}");
}

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

#[test]
fn every_shell_gets_its_completion() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(succeed(folder.path(), &["completions", shell]).contains("porteiro"));
    }
    assert_eq!(run(folder.path(), &["completions", "tcsh"]).status.code(), Some(2));
}
