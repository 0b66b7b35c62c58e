//! A store is copied while it is used, and put back with nothing in it that may have been spent since (adr/0157).

use crate::{
    binary::{Installation, porteiro, printed, refused, said},
    held::{ANA, Held, Load, SCOPE},
    levers::me,
    outside::Outside,
    person::text,
    support::ACME,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

const WHY: [&str; 2] = ["--reason", "ticket 4711"];

fn installation() -> Installation {
    let installation = Installation::on_sqlite();
    installation.configure("[limits]\nenabled = false\n");
    installation.apply(ACME);
    installation
}

/// The names in the folder of an installation, but for what SQLite keeps beside its file while it is used.
fn files(installation: &Installation) -> BTreeSet<String> {
    let entries = installation.path().read_dir().unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !["porteiro.db-wal", "porteiro.db-shm"].contains(&&**name)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_comes_back_without_what_may_have_been_spent() {
    let installation = installation();
    installation.configure("[limits]\nenabled = false\n[sign_up]\nopen = true\n");
    let serving = installation.serve();
    let node = Outside { address: installation.address };
    let held = Held::by_ana(&installation, &node).await;
    let load = Load::begin(node).await;
    let told = printed(&installation.run(&["backup", "copy.backup"]));
    load.goes_on().await;
    load.end().await;
    assert!(told.contains("the keys folder") && told.contains("/keys"), "{told}");
    let backup = installation.path().join("copy.backup");
    assert_eq!(backup.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!files(&installation).iter().any(|name| name.contains("unfinished")));

    // What happens after it: a key is revoked, and its successor revoked, too; an account is made.
    let keys = printed(&installation.run(&["keys", "list", "--json"]));
    let keys = keys.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let leaked = keys.into_iter().find(|key| key["use"] == "ES256").unwrap();
    let leaked = text(&leaked["kid"]).to_owned();
    let revoke = |kid: &str| {
        let arguments = [&["keys", "revoke", kid, "--replace", "--json"], &WHY[..]].concat();
        serde_json::from_str::<Value>(&printed(&installation.run(&arguments))).unwrap()
    };
    let successor = text(&revoke(&leaked)["successor"]).to_owned();
    revoke(&successor);
    installation.apply(
        "[[account]]\nemail = \"late@acme.test\"\npassword = \"correct horse battery staple\"\n",
    );
    for service in ["registration", "sign-up"] {
        printed(&installation.run(&[&[service, "close"], &WHY[..]].concat()));
    }
    fs::set_permissions(store_of(&installation), fs::Permissions::from_mode(0o640)).unwrap();

    let running = installation.run(&["restore", "copy.backup", "--replace"]);
    refused(&running, 1, "another process uses the store");
    assert_eq!(me(node, &held.session).await.status, 200, "the server goes on");
    serving.stop().await;
    refused(&installation.run(&["restore", "copy.backup"]), 1, "--replace");
    let told = printed(&installation.run(&["restore", "copy.backup", "--replace", "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert!(told["ended"]["session"].as_u64().unwrap() >= 2, "{told}");
    assert!(told["ended"]["token_family"].as_u64().unwrap() >= 3, "{told}");
    assert_eq!((&told["ended"]["invitation"], &told["accounts"]), (&1.into(), &1.into()), "{told}");
    let stay: BTreeSet<&str> = told["stay_revoked"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(stay, BTreeSet::from([&*leaked, &*successor]), "{told}");
    assert!(!files(&installation).iter().any(|name| name.contains("restoring")));
    assert_eq!(told["stay_closed"], serde_json::json!(["registration", "sign-up"]), "{told}");
    assert_eq!(told["findings"], 0, "{told}");
    let mode = store_of(&installation).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "as that of the file that was replaced");
    // What a browser remembers names the number of the last sign-out of everyone.
    let of_all = "SELECT state ->> 'everyone' FROM entities WHERE kind = 'installation'";
    let number: i64 = {
        let store = rusqlite::Connection::open(store_of(&installation)).unwrap();
        store.query_row(of_all, [], |row| row.get(0)).unwrap()
    };
    assert!(number > 1_700_000_000, "{number}");

    let verified = printed(&installation.run(&["log", "verify"]));
    assert!(verified.contains("0 findings"), "{verified}");
    let log = printed(&installation.run(&["log", "list", "--json"]));
    let rows: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let noted: Vec<&Value> =
        rows.iter().filter(|row| row["event"] == "installation.restored").collect();
    assert_eq!(noted.len(), 1, "{log}");
    assert!(noted[0].to_string().contains("operator"), "{noted:?}");

    let serving = installation.serve();
    assert_eq!(me(node, &held.session).await.status, 401);
    node.refresh("web", &held.refresh).await.refused(400, "invalid_grant");
    held.assert_spent(&node).await;
    let sign_up = node.post_json("/flows", &json!({ "kind": "sign_up" }), &[]).await;
    sign_up.problem(403, "sign_up_closed");
    let published = serde_json::to_string(&node.key_set().await).unwrap();
    assert!(!published.contains(&leaked) && !published.contains(&successor), "{published}");
    let flow = node.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    let late = node.prove(&flow, "late@acme.test").await;
    assert_eq!(late.status, 401, "the account is younger than the backup: {late:?}");
    let tokens = node.tokens(ANA, "web", SCOPE).await;
    assert_eq!(node.refresh("web", text(&tokens["refresh_token"])).await.status, 200);
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_and_families_are_kept_where_the_operator_says_so_and_codes_are_not() {
    let installation = installation();
    let serving = installation.serve();
    let node = Outside { address: installation.address };
    let held = Held::by_ana(&installation, &node).await;
    printed(&installation.run(&["backup", "copy.backup"]));
    let end = ["session", "end", "--everyone", "--yes", "--reason", "ticket 4711"];
    printed(&installation.run(&end));
    assert_eq!(me(node, &held.session).await.status, 401);
    serving.stop().await;
    let told =
        printed(&installation.run(&["restore", "copy.backup", "--replace", "--keep-sessions"]));
    assert!(told.contains("are good again, also those of a thief"), "{told}");
    for old in ["memberships", "API keys", "recovery codes", "revoked signing keys"] {
        assert!(told.contains(old), "{old}: {told}");
    }
    let serving = installation.serve();
    assert_eq!(me(node, &held.session).await.status, 200);
    assert_eq!(node.refresh("web", &held.refresh).await.status, 200);
    held.assert_spent(&node).await;
    serving.stop().await;
    assert!(printed(&installation.run(&["log", "verify"])).contains("0 findings"));
}

#[tokio::test]
async fn a_backup_comes_back_to_another_place_and_a_store_that_is_empty_needs_no_leave() {
    let installation = installation();
    printed(&installation.run(&["backup", "copy.backup"]));
    for migrated in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("moved%20here.db").display());
        let elsewhere = |arguments: &[&str]| {
            let mut command = porteiro(installation.path(), arguments);
            command.env("PORTEIRO_STORE__URL", &url).env("PORTEIRO_KEYS__DIR", "keys");
            command.output().unwrap()
        };
        if migrated {
            printed(&elsewhere(&["migrate"]));
        }
        printed(&elsewhere(&["restore", "copy.backup"]));
        let mode = folder.path().join("moved here.db").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(printed(&elsewhere(&["log", "verify"])).contains("0 findings"));
        assert!(printed(&elsewhere(&["account", "show", ANA])).contains(ANA));
        refused(&elsewhere(&["restore", "copy.backup"]), 1, "--replace");
    }
}

#[tokio::test]
async fn what_is_no_whole_backup_is_refused_and_the_store_stays_as_it_was() {
    let installation = installation();
    printed(&installation.run(&["backup", "copy.backup"]));
    let at = |name: &str| installation.path().join(name);
    let whole = fs::read(at("copy.backup")).unwrap();
    refused(&installation.run(&["backup", "copy.backup"]), 1, "is there already");
    assert_eq!(fs::read(at("copy.backup")).unwrap(), whole);

    fs::write(at("half.backup"), &whole[..whole.len() / 2]).unwrap();
    fs::write(at("empty.backup"), "").unwrap();
    fs::write(at("text.backup"), "no database").unwrap();
    let mut damaged = whole.clone();
    let (from, to) = (whole.len() / 4, whole.len() * 3 / 4);
    damaged[from..to].fill(0xAA);
    fs::write(at("damaged.backup"), damaged).unwrap();
    fs::write(at("used.backup"), &whole).unwrap();
    fs::write(at("used.backup-wal"), "the last commits").unwrap();
    let change = |name: &str, sql: &str| {
        fs::write(at(name), &whole).unwrap();
        rusqlite::Connection::open(at(name)).unwrap().execute_batch(sql).unwrap();
    };
    change(
        "newer.backup",
        "INSERT INTO schema_history (version, name, digest, oldest_compatible, applied_at) \
         VALUES (900, 'newer', '', 900, 0)",
    );
    change("kind.backup", "UPDATE entities SET kind = 'of_tomorrow' WHERE kind = 'resource'");
    change(
        "forged.backup",
        "DROP TRIGGER security_log_keeps_rows; UPDATE security_log SET detail = '{}' WHERE seq = 2",
    );
    rusqlite::Connection::open(at("other.backup"))
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();

    let left = "porteiro.db.restoring";
    fs::write(at(left), &whole).unwrap();
    let why = "left by a restore that was interrupted";
    refused(&installation.run(&["restore", left, "--replace"]), 1, why);
    assert_eq!(fs::read(at(left)).unwrap(), whole, "it may be the only one");
    fs::remove_file(at(left)).unwrap();

    let names = files(&installation);
    for (name, why) in [
        ("missing.backup", "cannot be read"),
        ("half.backup", "is no backup that can be put back"),
        ("empty.backup", "no store of Porteiro"),
        ("text.backup", "is no backup that can be put back"),
        ("damaged.backup", "is no backup that can be put back"),
        ("used.backup", "a file beside it"),
        ("newer.backup", "needs a binary that knows migration 900"),
        ("kind.backup", "of_tomorrow"),
        ("forged.backup", "--despite-findings"),
        ("other.backup", "no store of Porteiro"),
        ("porteiro.db", "the store itself"),
    ] {
        refused(&installation.run(&["restore", name, "--replace"]), 1, why);
        let now: BTreeSet<String> = files(&installation);
        assert_eq!(now, names, "{name} has left something");
        assert!(printed(&installation.run(&["log", "verify"])).contains("0 findings"), "{name}");
    }
    let despite = ["restore", "forged.backup", "--replace", "--despite-findings"];
    let told = installation.run(&despite);
    assert!(said(&told).contains("was altered"), "{}", said(&told));
    assert!(printed(&told).contains("does not hold: 1 findings"), "{}", printed(&told));
    refused(&installation.run(&["log", "verify"]), 1, "");

    printed(
        &porteiro(installation.path(), &["keys", "generate", "--keys", "others"]).output().unwrap(),
    );
    let mut foreign = porteiro(
        installation.path(),
        &["restore", "copy.backup", "--replace", "--config", "porteiro.toml"],
    );
    let foreign = foreign.env("PORTEIRO_KEYS__DIR", "others").output().unwrap();
    refused(&foreign, 78, "another keys folder");
    let mut nowhere = porteiro(installation.path(), &["backup", "b", "--store", "sqlite://no.db"]);
    refused(&nowhere.output().unwrap(), 78, "no such database file");
}

#[tokio::test]
async fn postgresql_is_told_which_command_to_use_and_no_password() {
    let installation = installation();
    let url = "postgres://porteiro:open-sesame@db.example.com/porteiro";
    let run = |arguments: &[&str]| {
        let mut command = porteiro(installation.path(), arguments);
        command.env("PORTEIRO_STORE__URL", url).env("PORTEIRO_KEYS__DIR", "keys");
        command.output().unwrap()
    };
    for (arguments, named) in
        [(["backup", "copy.backup"], "pg_dump"), (["restore", "copy.backup"], "pg_restore")]
    {
        let output = run(&arguments);
        refused(&output, 1, named);
        assert!(!said(&output).contains("open-sesame"), "{}", said(&output));
        assert!(said(&output).contains("db.example.com"), "{}", said(&output));
    }
    assert!(!installation.path().join("copy.backup").exists());
}

fn store_of(installation: &Installation) -> PathBuf {
    installation.path().join("porteiro.db")
}

/// Leaves what a process leaves that is killed in a transaction while it is alone with the store.
fn kill_in_a_transaction(store: &Path) {
    let at = |end: &str| PathBuf::from(format!("{}{end}", store.display()));
    let alone = rusqlite::Connection::open(store).unwrap();
    let mode = alone.query_row("PRAGMA journal_mode = delete", [], |row| row.get::<_, String>(0));
    assert_eq!(mode.unwrap(), "delete");
    // What does not fit into the cache is written before the end.
    alone.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE entities SET state = '{}'").unwrap();
    fs::copy(store, at(".killed")).unwrap();
    fs::copy(at("-journal"), at(".killed-journal")).unwrap();
    drop(alone);
    fs::rename(at(".killed"), store).unwrap();
    fs::rename(at(".killed-journal"), at("-journal")).unwrap();
}

#[tokio::test]
async fn a_backup_that_is_killed_takes_no_name_and_the_next_one_clears_up() {
    let installation = installation();
    let at = |name: &str| installation.path().join(name);
    let make = ["backup", "copy.backup", "--config", "porteiro.toml"];
    for round in 0..20 {
        let mut child = porteiro(installation.path(), &make).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(5 * round)).await;
        let _ = child.kill();
        child.wait().unwrap();
        if at("copy.backup").exists() {
            printed(&installation.run(&["log", "verify", "--store", &url_of(&at("copy.backup"))]));
            fs::remove_file(at("copy.backup")).unwrap();
        }
    }
    fs::write(at("copy.backup.unfinished"), "of one that was killed").unwrap();
    printed(&installation.run(&["backup", "copy.backup"]));
    assert!(!files(&installation).iter().any(|name| name.contains("unfinished")));
    let whole = fs::read(at("copy.backup")).unwrap();
    // Another process that makes one of the same name is not disturbed, and no link is followed.
    let held = fs::File::create(at("other.backup.unfinished")).unwrap();
    held.try_lock().unwrap();
    refused(&installation.run(&["backup", "other.backup"]), 1, "other.backup.unfinished");
    std::os::unix::fs::symlink(at("copy.backup"), at("third.backup.unfinished")).unwrap();
    refused(&installation.run(&["backup", "third.backup"]), 1, "third.backup.unfinished");
    assert_eq!(fs::read(at("copy.backup")).unwrap(), whole);
    assert!(!at("other.backup").exists() && !at("third.backup").exists());
}

#[tokio::test]
async fn a_store_that_a_link_names_comes_back_where_the_link_leads() {
    let installation = installation();
    printed(&installation.run(&["backup", "copy.backup"]));
    let (volume, link) = (tempfile::tempdir().unwrap(), installation.path().join("link.db"));
    std::os::unix::fs::symlink(volume.path().join("porteiro.db"), &link).unwrap();
    let mut restore =
        porteiro(installation.path(), &["restore", "copy.backup", "--config", "porteiro.toml"]);
    printed(&restore.env("PORTEIRO_STORE__URL", url_of(&link)).output().unwrap());
    assert!(link.is_symlink() && volume.path().join("porteiro.db").is_file());
    printed(&installation.run(&["log", "verify", "--store", &url_of(&link)]));
}

fn url_of(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

#[tokio::test]
async fn commands_that_only_read_undo_what_a_killed_process_left_unfinished() {
    let installation = installation();
    let commands: [&[&str]; 4] =
        [&["log", "verify"], &["log", "list"], &["doctor"], &["backup", "copy.backup"]];
    let usual = commands.map(|command| installation.run(command).status);
    fs::remove_file(installation.path().join("copy.backup")).unwrap();
    for (command, usual) in commands.into_iter().zip(usual) {
        kill_in_a_transaction(&store_of(&installation));
        let output = installation.run(command);
        assert_eq!(output.status, usual, "{command:?}: {}", said(&output));
    }
    assert!(printed(&installation.run(&["account", "show", ANA])).contains(ANA));
}

/// The process is killed at many moments. Whatever is there afterwards is one store or the other, whole.
#[tokio::test]
async fn a_restore_that_is_killed_leaves_the_one_store_or_the_other() {
    let installation = installation();
    printed(&installation.run(&["backup", "copy.backup"]));
    let late = "[[account]]\nemail = \"late@acme.test\"\n";
    let mut seen = BTreeSet::new();
    let restore = ["restore", "copy.backup", "--replace", "--config", "porteiro.toml"];
    for round in 0..40 {
        if seen.len() == 2 && round >= 16 {
            break;
        }
        installation.apply(late);
        let mut child = porteiro(installation.path(), &restore).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(10 * (round % 30))).await;
        let _ = child.kill();
        child.wait().unwrap();
        let verified = printed(&installation.run(&["log", "verify"]));
        assert!(verified.contains("0 findings"), "{verified}");
        let is_old = installation.run(&["account", "show", "late@acme.test"]).status.success();
        let log = printed(&installation.run(&["log", "list", "--json"]));
        let restored = log.contains("installation.restored");
        assert!(is_old || restored, "neither the one nor the other: {log}");
        seen.insert(is_old);
    }
    assert!(seen.contains(&true), "no round ended before the store was replaced");
    fs::write(installation.path().join("porteiro.db.restoring"), "of one that was killed").unwrap();
    printed(&installation.run(&["restore", "copy.backup", "--replace"]));
    assert!(!files(&installation).iter().any(|name| name.contains("restoring")));
    let serving = installation.serve();
    Outside { address: installation.address }.sign_in(ANA).await;
    serving.stop().await;
}
