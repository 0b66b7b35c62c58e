use super::*;
use crate::store::engine::Engine;

const NOW: Timestamp = Timestamp::from_millis(1);

async fn open(folder: &tempfile::TempDir) -> Connection {
    let url = format!("sqlite://{}", folder.path().join("test.db").display());
    Engine::parse(&url).unwrap().connect().await.unwrap()
}

fn step(version: i64, script: &'static str) -> Migration {
    Migration::new(version, script, script)
}

#[test]
fn the_history_is_numbered_without_gaps_and_each_says_what_it_is_compatible_with() {
    for (place, migration) in (1..).zip(MIGRATIONS) {
        assert_eq!(migration.version, place);
        assert!(migration.name.starts_with(&format!("{place:04}_")));
        assert!(migration.script.starts_with("-- "), "{} must open with why", migration.name);
        assert!(migration.script.contains("\n-- oldest_compatible: "), "{}", migration.name);
        assert!(oldest_compatible(migration) <= migration.version);
    }
    let files = std::fs::read_dir("migrations").unwrap().count();
    assert_eq!(files, MIGRATIONS.len(), "every file in migrations/ has its line");
}

#[tokio::test]
async fn migrations_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = open(&folder).await;
    assert_eq!(migrate(&mut connection, NOW).await.unwrap().len(), MIGRATIONS.len());
    assert!(migrate(&mut connection, NOW).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_newer_schema_is_accepted_while_it_says_so_and_refused_when_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = open(&folder).await;
    let old = [step(1, "-- first\n-- oldest_compatible: 1\nCREATE TABLE a (x TEXT);")];
    let expanded = [
        step(1, "-- first\n-- oldest_compatible: 1\nCREATE TABLE a (x TEXT);"),
        step(2, "-- expand\n-- oldest_compatible: 1\nALTER TABLE a ADD COLUMN y TEXT;"),
    ];
    let contracted = [
        step(1, "-- first\n-- oldest_compatible: 1\nCREATE TABLE a (x TEXT);"),
        step(2, "-- expand\n-- oldest_compatible: 1\nALTER TABLE a ADD COLUMN y TEXT;"),
        step(3, "-- contract\n-- oldest_compatible: 2\nALTER TABLE a DROP COLUMN x;"),
    ];
    run(&mut connection, &expanded, NOW).await.unwrap();
    assert!(run(&mut connection, &old, NOW).await.unwrap().is_empty());
    run(&mut connection, &contracted, NOW).await.unwrap();
    let refused = run(&mut connection, &old, NOW).await;
    assert!(matches!(refused, Err(MigrateError::TooNew { needed: 2, known: 1 })));
}

#[tokio::test]
async fn a_rewritten_migration_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = open(&folder).await;
    migrate(&mut connection, NOW).await.unwrap();
    let mut changed: Vec<Migration> =
        MIGRATIONS.iter().map(|m| step(m.version, m.script)).collect();
    changed[0].script = "-- something else";
    let refused = run(&mut connection, &changed, NOW).await;
    assert!(matches!(refused, Err(MigrateError::Rewritten { .. })));
}

#[tokio::test]
async fn a_failing_migration_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = open(&folder).await;
    let broken =
        [step(1, "-- x\nCREATE TABLE a (x TEXT);"), step(2, "-- y\nCREATE TABLE a (x TEXT);")];
    assert!(run(&mut connection, &broken, NOW).await.is_err());
    assert_eq!(migrate(&mut connection, NOW).await.unwrap().len(), MIGRATIONS.len());
}

#[tokio::test]
async fn a_file_that_was_restored_or_is_empty_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let mut original = open(&folder).await;
    migrate(&mut original, NOW).await.unwrap();
    // Leaves a file that is not in WAL mode, as restoring a backup does.
    let backup = folder.path().join("backup.db");
    let script = format!("VACUUM INTO '{}'", backup.display());
    original.run_script(script.leak()).await.unwrap();
    original.close().await;
    let url = format!("sqlite://{}", backup.display());
    assert!(crate::store::pending_migrations(&url).await.unwrap().is_empty());
    let readers = Engine::parse(&url).unwrap().readers();
    check(&readers).await.unwrap();
    readers.close().await;
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, b"").unwrap();
    let url = format!("sqlite://{}", empty.display());
    assert_eq!(crate::store::pending_migrations(&url).await.unwrap(), names());
    assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0, "nothing was made of it");
}

#[tokio::test]
async fn what_was_written_stays_when_a_table_gets_one_tree() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = open(&folder).await;
    run(&mut connection, &MIGRATIONS[..6], NOW).await.unwrap();
    let written = "INSERT INTO names VALUES ('email', 'a@example.com', 'account', '1');
         INSERT INTO listings VALUES ('sessions', '1', '2026', 'session', 's');
         INSERT INTO security_log VALUES
         ('lane', 1, 7, 'event', NULL, 'account', '1', '{}', 'key', x'0102', '1');";
    connection.run_script(written).await.unwrap();
    let applied = run(&mut connection, &MIGRATIONS[..7], NOW).await.unwrap();
    assert_eq!(applied, ["0007_one_tree_a_table.sql"]);
    for (rows, expected) in [
        ("SELECT space || name || kind || id FROM names", "emaila@example.comaccount1"),
        ("SELECT list || owner || rank || kind || id FROM listings", "sessions12026sessions"),
        (
            "SELECT lane || seq || at || event || kind || id || detail || mac_key || hex(mac) || account \
               FROM security_log WHERE organization IS NULL",
            "lane17eventaccount1{}key01021",
        ),
    ] {
        let rows = connection.fetch(rows, &[]).await.unwrap();
        assert_eq!((rows.len(), rows[0].text(0).unwrap()), (1, expected.to_owned()));
    }
    for change in ["DELETE FROM security_log", "UPDATE security_log SET at = 8"] {
        assert!(connection.execute(change, &[]).await.is_err(), "{change}");
    }
    let hidden = connection.fetch("SELECT rowid FROM security_log", &[]).await;
    assert!(hidden.is_err(), "its key is its only tree");
}

#[tokio::test]
async fn what_directories_did_is_read_by_its_index_and_not_by_the_whole_trail() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = open(&folder).await;
    migrate(&mut connection, NOW).await.unwrap();
    let plan = format!("EXPLAIN QUERY PLAN {}", crate::store::sql::TRAIL_OF_DIRECTORIES);
    let values = [
        Value::Text("acme"),
        Value::Int(0),
        Value::Int(9),
        Value::Text(""),
        Value::Int(9),
        Value::Text(""),
        Value::Int(0),
        Value::Int(50),
    ];
    let rows = connection.fetch(plan.leak(), &values).await.unwrap();
    let said = rows[0].text(3).unwrap();
    assert!(rows.len() == 1 && said.contains("security_log_of_directories"), "{said}");
}
