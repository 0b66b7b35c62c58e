//! A PostgreSQL of a test's own that archives its write-ahead log: it is dumped, killed, and recovered to a moment.

use crate::{binary::free_port, nodes, programs::shell};
use std::{
    fmt::Write as _,
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

/// What the tests call of the folder of the server's programs.
const PROGRAMS: [&str; 7] =
    ["initdb", "pg_basebackup", "pg_ctl", "pg_dump", "pg_restore", "postgres", "psql"];

const SETTINGS: &str = "listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
autovacuum = off
";

pub struct OwnPostgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    port: u16,
}

impl OwnPostgres {
    /// Starts one with these settings too; nothing where the tests run on SQLite, or where its programs are missing.
    #[expect(
        clippy::print_stdout,
        reason = "a test that was skipped must not look like one that ran"
    )]
    pub fn start(settings: impl Fn(&Path) -> String) -> Option<Self> {
        if nodes::many() {
            nodes::leave_out("it starts a server of PostgreSQL and the program by itself");
        }
        if std::env::var_os("PORTEIRO_TEST_POSTGRES").is_none() {
            println!("skipped: this is about servers of PostgreSQL");
            return None;
        }
        let Some(programs) = find_programs() else {
            println!("skipped: no folder has all of {PROGRAMS:?}");
            return None;
        };
        // Where the server's user may go, be TMPDIR what it is.
        let user = server_user();
        let parent = user.map_or_else(std::env::temp_dir, |_| PathBuf::from("/tmp"));
        let folder = tempfile::Builder::new().prefix("porteiro-own-").tempdir_in(parent).unwrap();
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        let server = Self { folder, programs, user, port: free_port() };
        server.run(&[], "initdb -D data -U porteiro -A trust --locale=C --encoding=UTF8 --no-sync");
        let file = server.path("data/postgresql.conf");
        let mut text = fs::read_to_string(&file).unwrap();
        let own = settings(server.folder.path());
        let _ = writeln!(text, "{SETTINGS}port = {}\n{own}", server.port);
        fs::write(file, text).unwrap();
        server.run(&[], "pg_ctl start --wait --pgdata=data --log=server.log");
        server.create("porteiro");
        Some(server)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://porteiro@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs commands as the server's user in its folder; each of them must succeed.
    #[track_caller]
    pub fn run(&self, filled_in: &[(&str, &str)], script: &str) -> String {
        let Output { status, stdout, stderr } =
            self.shell(&filled(filled_in, script)).output().unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{script}\n{stdout}\n{stderr}\n{}", self.logs());
        stdout.into_owned()
    }

    /// What its servers have logged.
    fn logs(&self) -> String {
        let files = ["server.log", "recovered/recovery.log"].map(|name| self.path(name));
        files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = shell(self.folder.path(), script);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs.clone()].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Asks for one value.
    #[track_caller]
    pub fn ask(&self, sql: &str) -> String {
        let ask = "psql \"$URL\" --no-psqlrc --quiet --no-align --tuples-only --command \"$SQL\"";
        let answer = self.run(&[("URL", &self.url("postgres")), ("SQL", sql)], ask);
        answer.trim_end().to_owned()
    }

    /// Makes an empty database.
    pub fn create(&self, database: &str) -> String {
        self.ask(&format!("CREATE DATABASE {database}"));
        self.url(database)
    }

    /// Waits until all that was written is in the archive.
    pub async fn archive(&self, archive: &Path) {
        let last = archive.join(self.ask("SELECT pg_walfile_name(pg_switch_wal())"));
        for _ in 0..400 {
            if last.exists() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never archived: {}", last.display());
    }

    /// Ends it without a last word.
    #[track_caller]
    pub fn kill(&self) {
        self.run(&[], "pg_ctl stop --wait --mode=immediate --pgdata=data");
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        for data in ["data", "recovered"] {
            if self.path(data).join("postmaster.pid").exists() {
                let stop = format!("pg_ctl stop --wait --mode=immediate --pgdata={data}");
                let _ = self.shell(&stop).output();
            }
        }
    }
}

/// Puts what the operator fills in before a script.
pub fn filled(filled_in: &[(&str, &str)], script: &str) -> String {
    let mut whole = String::new();
    for (name, value) in filled_in {
        assert!(script.contains(&format!("${name}")), "{name} is not filled in: {script}");
        assert!(!value.contains('\''), "{value}");
        let _ = writeln!(whole, "{name}='{value}'");
    }
    whole + script
}

/// Returns the folder of the server's programs: what PATH leads to, else Debian's newest.
fn find_programs() -> Option<PathBuf> {
    let found = crate::programs::find("initdb").and_then(|file| file.canonicalize().ok());
    let mut folders: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path().join("bin")).collect())
        .unwrap_or_default();
    let version = |folder: &PathBuf| {
        let name = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0_u32)
    };
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let of_path = found.as_deref().and_then(Path::parent).map(Path::to_owned);
    let has_all = |folder: &PathBuf| PROGRAMS.iter().all(|name| folder.join(name).is_file());
    of_path.into_iter().chain(folders).find(has_all)
}

/// PostgreSQL refuses to run as root: the user and the group that it runs as, where we are root.
fn server_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let id = |flag: &str, name: &str| {
        let output = Command::new("id").args([flag, name]).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    let found = ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| Some((id("-u", name)?, id("-g", name)?)));
    Some(found.expect("there is a user that is not root"))
}
