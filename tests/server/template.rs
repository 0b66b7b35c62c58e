//! An installation that is made once and then copied: its keys, and a database in which a file was applied.
//!
//! To make keys, migrate a database and hash passwords took longer than most tests do. The first test that
//! needs an installation makes it, in a folder that belongs to this build of the tests; the others copy it.

use crate::shared::{new_database, straight};
use porteiro::domain::Timestamp;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{
    cell::Cell,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

/// Templates of other builds are kept so long: another run may still copy them.
const KEPT: Duration = Duration::from_hours(24);

/// What the tables of a schema of PostgreSQL hold, as statements that fill those of another schema.
const ROWS: &str = "rows.sql";

thread_local! {
    /// How many installations this test has; each test has a thread of its own.
    static INSTALLATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Puts an installation into a folder and returns the address of its database.
///
/// `make` makes one in a folder, with the database at an address. The installations of one test are
/// copies of different ones: none has the keys of another.
pub async fn install(folder: &Path, make: impl AsyncFnOnce(&Path, &str)) -> String {
    let number = INSTALLATIONS.replace(INSTALLATIONS.get() + 1);
    let url = new_database(folder).await;
    let is_postgres = url.starts_with("postgres");
    let engine = if is_postgres { "postgres" } else { "sqlite" };
    let template = folder_of_this_build().join(format!("{engine}-{number}"));
    if !template.exists() {
        make_template(&template, make).await;
    }
    copy_folder(&template, folder).unwrap();
    if is_postgres {
        porteiro::store::migrate(&url, Timestamp::from_millis(0)).await.unwrap();
        fill(&url, fs::read_to_string(template.join(ROWS)).unwrap()).await;
    }
    url
}

/// Makes a template, whole or not at all: where another test was first, that one is taken.
async fn make_template(template: &Path, make: impl AsyncFnOnce(&Path, &str)) {
    let build = template.parent().unwrap();
    fs::create_dir_all(build).unwrap();
    remove_old(build.parent().unwrap()).unwrap();
    let made = tempfile::tempdir_in(build).unwrap();
    let url = new_database(made.path()).await;
    make(made.path(), &url).await;
    match url.strip_prefix("sqlite://") {
        Some(file) => checkpoint(file),
        None => fs::write(made.path().join(ROWS), dump(&url).await).unwrap(),
    }
    if fs::rename(made.path(), template).is_ok() {
        // There is nothing left to remove.
        let _ = made.keep();
    }
}

/// Moves what SQLite's write-ahead log holds into the file, and removes the files beside it.
fn checkpoint(file: &str) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let moved = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = connection.query_row(moved, [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0, "the template is still in use");
    drop(connection);
    for ending in ["-wal", "-shm"] {
        // They are there while a reader is open.
        let _ = fs::remove_file(format!("{file}{ending}"));
    }
}

/// Names a folder for this build: the program has the product in it, its migrations, and what is applied.
fn folder_of_this_build() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let metadata = program.metadata().unwrap();
    let built = metadata.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let name = program.file_name().unwrap().to_string_lossy();
    let build = format!("{name}-{built}-{}", metadata.len());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates").join(build)
}

fn remove_old(templates: &Path) -> io::Result<()> {
    for build in templates.read_dir()? {
        let build = build?.path();
        let modified = build.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT)) {
            // Another test may be removing it as well.
            let _ = fs::remove_dir_all(build);
        }
    }
    Ok(())
}

/// Copies files and folders with their permissions.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in from.read_dir()? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&copy)?;
            fs::set_permissions(&copy, entry.metadata()?.permissions())?;
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

/// Writes statements that fill the tables of another schema as those of this one are. What triggers count they count there.
async fn dump(url: &str) -> String {
    let mut connection = PgConnection::connect(&straight(url)).await.unwrap();
    let tables = "SELECT relname::text FROM pg_class WHERE relkind = 'r' \
                  AND relnamespace = current_schema()::regnamespace AND relname NOT IN ('schema_history', 'list_counts', 'outbox_counts')";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
    let mut statements = String::new();
    for table in tables {
        let filling = format!(
            "SELECT format('INSERT INTO {table} \
             SELECT * FROM json_populate_recordset(NULL::{table}, %L);\n', \
             coalesce(json_agg(t), '[]')) FROM {table} t"
        );
        let filling = sqlx::query_scalar(AssertSqlSafe(filling));
        let filling: String = filling.fetch_one(&mut connection).await.unwrap();
        statements += &filling;
    }
    connection.close().await.unwrap();
    statements
}

async fn fill(url: &str, statements: String) {
    let mut connection = PgConnection::connect(&straight(url)).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}
