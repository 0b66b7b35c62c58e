//! A server's process: started with a log of its own, measured from outside, never left behind.

use crate::Outcome;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    io,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Ends with its guard, however the run ends.
pub struct Process {
    child: Child,
    log: PathBuf,
}

/// How long a server may take to go when it is asked to.
const PATIENCE: Duration = Duration::from_secs(10);

impl Process {
    pub fn spawn(mut command: Command, log: &Path) -> Outcome<Self> {
        let out = File::create(log)?;
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        without_our_settings(&mut command);
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self { child, log: log.to_owned() })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Seconds of CPU time it has used so far, all threads, in user and kernel.
    pub fn cpu(&self) -> Outcome<f64> {
        cpu(&self.child.id().to_string())
    }

    /// Memory of it that is really there, in bytes.
    pub fn resident(&self) -> Outcome<f64> {
        self.memory("VmRSS:")
    }

    /// One of the kernel's figures of its memory, in bytes.
    pub fn memory(&self, name: &str) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kib: f64 = kib.ok_or("no memory is told")?.parse()?;
        Ok(kib * 1024.0)
    }

    /// Fails with the end of its log if it has gone by itself.
    pub fn check(&mut self) -> Outcome<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("it ended with {status}\n{}", self.last_words()).into()),
        }
    }

    /// Asks it to go, and waits until it has gone.
    pub async fn stop(mut self) -> Outcome<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.ok_or("it has no pid")?, Signal::TERM)?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Err(format!("it did not end when asked to\n{}", self.last_words()).into())
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has gone already is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end and returns what it said.
pub fn run(command: &mut Command) -> Outcome<String> {
    without_our_settings(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}\n{said}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Runs a command to its end and returns the most memory it had, in bytes.
pub fn peak_of(mut command: Command) -> Outcome<f64> {
    without_our_settings(&mut command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let mut peak = 0.0;
    loop {
        // The kernel keeps the peak; the last look before the end is a moment old.
        if let Ok(status) = fs::read_to_string(format!("/proc/{}/status", child.id())) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
            peak = kib.and_then(|kib| kib.parse().ok()).map_or(peak, |kib: f64| kib * 1024.0);
        }
        if let Some(status) = child.try_wait()? {
            let failed = || format!("{command:?} ended with {status}").into();
            return if status.success() { Ok(peak) } else { Err(failed()) };
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Seconds of CPU time this process has used.
pub fn own_cpu() -> Outcome<f64> {
    cpu("self")
}

/// A port that was free a moment ago.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// What is set in the shell for another installation must not reach this one.
fn without_our_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PORTEIRO_") {
            command.env_remove(name);
        }
    }
}

fn cpu(pid: &str) -> Outcome<f64> {
    /// What the kernel counts in here, on every architecture Linux still runs on.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may hold spaces and brackets; after its last bracket come state, then ten more
    // fields, then utime and stime.
    let (_, fields) = stat.rsplit_once(')').ok_or("no stat is told")?;
    let mut ticks = 0.0;
    for field in fields.split_ascii_whitespace().skip(11).take(2) {
        ticks += field.parse::<f64>()?;
    }
    Ok(ticks / TICKS_PER_SECOND)
}
