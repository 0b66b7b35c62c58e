//! The binary as an operator runs it.

use crate::shared::{make_keys, new_database};
use porteiro::{clock::SystemClock, domain::Clock as _};
use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

/// Runs `porteiro` in `folder` with nothing of ours in its environment.
pub fn porteiro(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_porteiro"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PORTEIRO_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    porteiro(folder, arguments).output().unwrap()
}

#[track_caller]
pub fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What a command has printed that must have succeeded.
#[track_caller]
pub fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a command that refused has said on standard error.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Insists that a command has refused, and has said this.
#[track_caller]
pub fn refused(output: &Output, code: i32, named: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", said(output));
    assert!(said(output).contains(named), "{named}: {}", said(output));
}

/// The ports that tests are given: none of those that the system gives to clients, of which one might be taken before a
/// server listens on it.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// A port that is free, and that no other test is given while this one runs.
pub fn free_port() -> u16 {
    static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let folder = std::env::temp_dir().join("porteiro-test-ports");
    std::fs::create_dir_all(&folder).unwrap();
    let first = usize::try_from(std::process::id()).unwrap() * 31 % PORTS.len();
    for port in PORTS.cycle().skip(first).take(PORTS.len()) {
        let lock = File::create(folder.join(port.to_string())).unwrap();
        if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            HELD.lock().unwrap().push(lock);
            return port;
        }
    }
    panic!("no port is free");
}

/// An installation: keys, a database, a configuration.
pub struct Installation {
    pub folder: tempfile::TempDir,
    pub address: SocketAddr,
    pub operator: SocketAddr,
    url: String,
}

impl Installation {
    pub async fn new() -> Self {
        if crate::nodes::many() {
            crate::nodes::leave_out("it starts the program by itself");
        }
        let folder = tempfile::tempdir().unwrap();
        let url = new_database(folder.path()).await;
        Self::with_database(folder, url)
    }

    /// One whose database is a file, whichever engine the tests run on.
    pub fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("porteiro.db").display());
        Self::with_database(folder, url)
    }

    pub fn with_database(folder: tempfile::TempDir, url: String) -> Self {
        make_keys(&folder.path().join("keys"), SystemClock.now());
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let made = Self { folder, url, address: at(free_port()), operator: at(free_port()) };
        made.configure("");
        made
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the configuration, with more of it after the usual.
    pub fn configure(&self, more: &str) {
        let Self { address, operator, url, .. } = self;
        let text = format!(
            "issuer = \"http://localhost:{}\"\nlisten = \"{address}\"\n\
             [store]\nurl = \"{url}\"\n[keys]\ndir = \"keys\"\n\
             [operator]\nlisten = \"{operator}\"\n{more}",
            address.port()
        );
        std::fs::write(self.config(), text).unwrap();
    }

    pub fn config(&self) -> PathBuf {
        self.path().join("porteiro.toml")
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        run(self.path(), &[&["--config", "porteiro.toml"], arguments].concat())
    }

    pub fn apply(&self, text: &str) -> String {
        std::fs::write(self.path().join("file.toml"), text).unwrap();
        succeed(self.path(), &["apply", "file.toml", "--config", "porteiro.toml"])
    }

    pub fn serve(&self) -> Serving {
        self.serve_with(&[])
    }

    /// Serves on another port as well: a second node of the same installation.
    pub fn serve_at(&self, address: SocketAddr) -> Serving {
        let (address_text, operator) = (address.to_string(), format!("127.0.0.1:{}", free_port()));
        let variables =
            [("PORTEIRO_LISTEN", &*address_text), ("PORTEIRO_OPERATOR__LISTEN", &*operator)];
        self.start(&variables, address)
    }

    /// Serves with more in the environment.
    pub fn serve_with(&self, variables: &[(&str, &str)]) -> Serving {
        self.start(variables, self.address)
    }

    fn start(&self, variables: &[(&str, &str)], address: SocketAddr) -> Serving {
        let mut command = porteiro(self.path(), &["serve", "--config", "porteiro.toml"]);
        command.envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        // Somebody must read what it says, or it would wait for a reader.
        let log = std::thread::spawn(move || {
            let mut lines = Vec::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                lines.push(line);
            }
            lines
        });
        let mut serving = Serving { child, log: Some(log) };
        if !listens_in_time(address) {
            let _ = serving.child.kill();
            panic!("it never listened: {:?}", serving.log.take().unwrap().join());
        }
        serving
    }
}

pub fn wait_until_it_listens(address: SocketAddr) {
    assert!(listens_in_time(address), "it never listened");
}

fn listens_in_time(address: SocketAddr) -> bool {
    let began = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        if began.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A server that runs; it is ended with the test, whatever happens.
pub struct Serving {
    child: Child,
    log: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Serving {
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// The most bytes of memory that it has held so far.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Tells it to end, waits until it has ended well, and returns its log.
    pub async fn stop(self) -> Vec<String> {
        self.signal("-TERM");
        let (code, log) = tokio::task::spawn_blocking(move || self.end()).await.unwrap();
        assert_eq!(code, Some(0), "{log:?}");
        log
    }

    /// Waits for its end and returns its exit code and its log.
    pub fn end(mut self) -> (Option<i32>, Vec<String>) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < Duration::from_secs(40), "it never ended");
            std::thread::sleep(Duration::from_millis(10));
        };
        (status.code(), self.log.take().unwrap().join().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a command whose standard output is read line by line.
pub struct Speaking {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Speaking {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads up to the line that begins so, and returns all that was read.
    pub fn until(&mut self, beginning: &str) -> String {
        let mut text = String::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            text.push_str(&line);
            text.push('\n');
            if line.trim_start().starts_with(beginning) {
                return text;
            }
        }
        panic!("it never said {beginning}: {text}");
    }

    pub fn terminate(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        let mut rest = String::new();
        let _ = self.child.stdout.take().map(|mut out| out.read_to_string(&mut rest));
        code
    }
}

impl Drop for Speaking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
