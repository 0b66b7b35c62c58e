//! What each command does, says and refuses.

use crate::{
    binary::{Installation, Speaking, porteiro, refused, run, said, succeed},
    database::Database,
    support::ACME,
};
use std::{io::Write as _, net::TcpListener, os::unix::fs::PermissionsExt as _, process::Stdio};

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
async fn a_dry_run_makes_no_database() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), &["keys", "generate", "--keys", "keys"]);
    std::fs::write(folder.path().join("file.toml"), ACME).unwrap();
    let mut command = porteiro(folder.path(), &["apply", "file.toml", "--dry-run"]);
    command.env("PORTEIRO_STORE__URL", "sqlite://new.db").env("PORTEIRO_KEYS__DIR", "keys");
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("porteiro migrate"), "{}", said(&refused));
    assert!(!folder.path().join("new.db").exists());
}

#[tokio::test]
async fn a_migration_that_is_only_asked_about_names_what_would_run_and_changes_nothing() {
    let installation = Installation::new().await;
    let would = || {
        let output = installation.run(&["migrate", "--dry-run"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let file = installation.url().strip_prefix("sqlite://").map(std::path::PathBuf::from);
    let before = would();
    assert!(before.starts_with("would run 0001_entities.sql\n"), "{before}");
    assert_eq!(would(), before, "nothing has run");
    assert!(file.is_none_or(|file| !file.exists()), "no file was made");
    let ran = installation.run(&["migrate"]);
    let ran = String::from_utf8(ran.stdout).unwrap();
    let named = |text: &str, mark: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix(mark)).map(str::to_owned).collect()
    };
    assert_eq!(named(&ran, "+ "), named(&before, "would run "), "{ran}");
    assert_eq!(would(), "= the schema is up to date\n");
    let mut database = Database::at(installation.url()).await;
    let rewrite = "UPDATE schema_history SET digest = 'x' || digest WHERE version = 1";
    database.run(rewrite).await.unwrap();
    for command in [&["migrate", "--dry-run"][..], &["migrate"]] {
        refused(&installation.run(command), 78, "was changed after it had been applied");
    }
    let restore = "UPDATE schema_history SET digest = substr(digest, 2) WHERE version = 1";
    database.run(restore).await.unwrap();
    let newer = "INSERT INTO schema_history (version, name, digest, oldest_compatible, applied_at) \
                 VALUES (900, '0900_of_a_newer_binary.sql', '', 900, 0)";
    database.run(newer).await.unwrap();
    let later = installation.run(&["migrate", "--dry-run"]);
    refused(&later, 78, "needs a binary that knows migration 900");
}

#[tokio::test]
async fn no_file_declares_what_is_the_issuers_own() {
    let installation = Installation::new().await;
    let issuer = format!("http://localhost:{}", installation.address.port());
    let text = format!(
        "[[resource]]\nidentifier = \"{issuer}/api\"\n\
         [[client]]\nclient_id = \"c\"\nintrospects = [\"{issuer}\"]\n"
    );
    std::fs::write(installation.path().join("own.toml"), text).unwrap();
    let refused = installation.run(&["apply", "own.toml"]);
    assert_eq!(refused.status.code(), Some(78));
    for named in ["own.toml:2: resource", "own.toml:5: client"] {
        assert!(said(&refused).contains(named), "{named}: {}", said(&refused));
    }
}

#[tokio::test]
async fn standard_input_is_refused_as_a_file_is() {
    let installation = Installation::new().await;
    let apply = |text: &[u8]| {
        let mut command = porteiro(installation.path(), &["apply", "-", "--config"]);
        command.arg("porteiro.toml").stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // It may have had enough before the end.
        let _ = child.stdin.take().unwrap().write_all(text);
        child.wait_with_output().unwrap()
    };
    assert!(apply(ACME.as_bytes()).status.success());
    let comment = vec![b'#'; 16 * 1024 * 1024 + 1];
    for (text, named) in [
        (&comment[..], "standard input: is larger than"),
        (b"# one\n\xff", "standard input:2: is not text in UTF-8"),
        (b"\n[[client]]\nclient_idd = \"x\"\n", "standard input:3: unknown key"),
        (b"\n[[client]]\nclient_id = \"x y\"\n", "standard input:3: client `x y`"),
    ] {
        let refused = apply(text);
        assert_eq!(refused.status.code(), Some(78), "{named}");
        assert!(said(&refused).contains(named), "{named}: {}", said(&refused));
    }
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_78_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), &["keys", "generate", "--keys", "keys"]);
    let empty = folder.path().join("empty.toml");
    std::fs::write(&empty, "").unwrap();
    for command in [
        &["migrate"][..],
        &["keys", "list"],
        &["keys", "revoke", "x"],
        &["log", "verify"],
        &["apply", "empty.toml"],
        &["apply", "empty.toml", "--dry-run"],
    ] {
        let mut command = porteiro(folder.path(), command);
        command.env("PORTEIRO_STORE__URL", "sqlite://nowhere/at/all.db");
        let refused = command.env("PORTEIRO_KEYS__DIR", "keys").output().unwrap();
        let told = said(&refused);
        assert_eq!(refused.status.code(), Some(78), "{command:?}: {told}");
        assert!(told.contains("nowhere/at/all.db"), "{command:?}: {told}");
        assert!(told.matches("unable to open").count() <= 1, "{command:?}: {told}");
    }
    let heads = ["log", "verify", "--heads", "none.log"];
    let refused = run(folder.path(), &heads);
    assert_eq!(refused.status.code(), Some(78));
    assert!(said(&refused).contains("none.log: there is no such file"), "{}", said(&refused));
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

#[test]
fn what_a_command_needs_can_be_given_as_a_flag_and_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let refused = said(&run(folder.path(), &["keys", "generate"]));
    assert!(refused.contains("PORTEIRO_KEYS__DIR, or --keys"), "{refused}");
    let refused = said(&run(folder.path(), &["migrate"]));
    assert!(refused.contains("PORTEIRO_STORE__URL, or --store"), "{refused}");
    let refused = said(&run(folder.path(), &["keys", "list", "--keys", "none"]));
    assert!(refused.contains("none: there is no folder"), "{refused}");
    assert!(refused.contains("porteiro keys generate"), "{refused}");
}

#[test]
fn a_filter_that_is_none_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = porteiro(folder.path(), &["config"]);
    let refused = command.env("PORTEIRO_LOG", "porteiro=loud").output().unwrap();
    assert_eq!(refused.status.code(), Some(78));
    assert!(said(&refused).contains("PORTEIRO_LOG"), "{}", said(&refused));
    let mut command = porteiro(folder.path(), &["config"]);
    assert!(command.env("PORTEIRO_LOG", "").output().unwrap().status.success());
}

#[test]
fn every_shell_gets_its_completion() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(succeed(folder.path(), &["completions", shell]).contains("porteiro"));
    }
    assert_eq!(run(folder.path(), &["completions", "tcsh"]).status.code(), Some(2));
}
