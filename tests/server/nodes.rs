//! The suite on several nodes. `PORTEIRO_TEST_NODES=3` starts as many for each test, with `HAProxy` in front of them: every
//! request goes to the next node. `bin/test --nodes` runs it, and counts what is left out and why.

use std::{
    fmt::Write as _,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

/// How many nodes an installation of a test has.
pub fn count() -> usize {
    let count = std::env::var("PORTEIRO_TEST_NODES");
    count.map_or(1, |count| count.parse().expect("PORTEIRO_TEST_NODES is a number"))
}

pub fn many() -> bool {
    count() > 1
}

/// Why a test of HTTP by the byte is left out.
pub const BALANCER_ANSWERS: &str = "a balancer reads, answers and closes by rules of its own";

/// Why a test of a rate limit is left out.
pub const EACH_LIMITS: &str = "each node limits the rate of what it sees";

/// Waits until each node sees what was given or changed before. A node may answer from what it has read within the last
/// second; what was taken away it refuses at once, so no test of a refusal waits here.
pub async fn views_agree() {
    if many() {
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
}

/// Ends a test that cannot hold through a balancer, and says why.
#[expect(clippy::print_stdout, reason = "a test that was left out must not look like one that ran")]
#[expect(clippy::exit, reason = "nextest runs each test in a process of its own")]
pub fn leave_out(why: &str) -> ! {
    assert!(std::env::var_os("NEXTEST").is_some(), "only nextest runs the suite on several nodes");
    println!("left out on several nodes: {why}");
    std::process::exit(0);
}

/// A port that is kept until the balancer takes it. The kernel hands out none of this range by itself.
pub struct FreePort(TcpListener);

impl FreePort {
    pub fn find() -> Self {
        let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
        let found = (first..first + 2_000).find_map(|port| TcpListener::bind(at(port)).ok());
        Self(found.expect("a free port"))
    }

    pub fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// `HAProxy` before the nodes of a test.
pub struct Balancer {
    haproxy: Mutex<Child>,
    address: SocketAddr,
}

impl Balancer {
    #[expect(clippy::print_stdout, reason = "what ran through it is counted")]
    pub fn start(port: FreePort, folder: &Path, nodes: &[SocketAddr]) -> Self {
        let address = at(port.port());
        let mut text = format!(
            "global\n maxconn 2000\n nbthread 1\n tune.bufsize 65536\n\
             defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n \
             retries 0\n\
             frontend front\n bind {address}\n default_backend nodes\n\
             backend nodes\n balance roundrobin\n"
        );
        for (number, node) in nodes.iter().enumerate() {
            let _ = writeln!(text, " server node{number} {node}");
        }
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, text).unwrap();
        drop(port);
        // A test that is killed leaves none behind.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "haproxy"]);
        command.arg("-db").arg("-f").arg(file).stdin(Stdio::null()).stdout(Stdio::null());
        let haproxy = command.stderr(Stdio::null()).spawn().expect("there are setpriv and haproxy");
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "the balancer never listened");
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("through the balancer: {} nodes", nodes.len());
        Self { haproxy: Mutex::new(haproxy), address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn end(&self) {
        let mut haproxy = self.haproxy.lock().unwrap();
        let _ = haproxy.kill();
        let _ = haproxy.wait();
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.end();
    }
}
