//! Attacks on a server of our own, over loopback: what each was able to take, and whether other
//! callers were still served.
//!
//! `bench/long/attacks` builds and runs this. Each attack is bounded in count and time, prints what
//! it measured, and makes the run fail where other callers were not served or memory was not
//! bounded. Attackers and other callers are told apart as in the world: by their addresses
//! (127.0.0.2 and so on), or by what a trusted proxy says.

#![expect(clippy::disallowed_methods, reason = "measuring is what clocks and tasks are for here")]
#![expect(clippy::print_stdout, reason = "the report is printed")]

mod bodies;
mod caller;
mod connections;
mod http2;
mod installation;
mod lists;
#[path = "../http/process.rs"]
#[expect(dead_code, reason = "the benchmark uses more of it")]
mod process;
mod unread;

use rustix::process::{Signal, set_parent_process_death_signal};
use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What came of one attack.
pub struct Measured {
    pub attack: &'static str,
    /// What the attacker did, and what it was left with.
    pub took: String,
    /// What the other callers met.
    pub others: String,
    /// What must hold and did not.
    pub failures: Vec<String>,
}

fn main() -> ExitCode {
    // Cargo does not pass on what kills it; the run must not stay behind.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    porteiro::transport::raise_limit();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let into = arguments.iter().skip_while(|word| *word != "--into").nth(1).map(PathBuf::from);
    let only = arguments.iter().skip_while(|word| *word != "--only").nth(1).cloned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(into, only)));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("the run could not be made: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes one attack.
async fn make(attack: &str) -> Outcome<Measured> {
    let unread = |window, paced, head| unread::answers(unread::Attack { window, paced, head });
    match attack {
        "connections-of-one" => connections::one_address().await,
        "connections-of-many" => connections::many_addresses().await,
        "bodies-behind-a-proxy" => bodies::one_network_behind_a_proxy().await,
        "bodies-of-one" => bodies::one_address().await,
        "unread-answers" => unread(0, false, false).await,
        "trickled-answers" => unread(1, false, false).await,
        "unread-and-paced" => unread(0, true, false).await,
        "unread-heads" => unread(0, false, true).await,
        "lists-of-one" => lists::of_one_person().await,
        _ => Err(format!("there is no attack {attack}").into()),
    }
}

const ATTACKS: [&str; 9] = [
    "connections-of-one",
    "connections-of-many",
    "bodies-behind-a-proxy",
    "bodies-of-one",
    "unread-answers",
    "trickled-answers",
    "unread-and-paced",
    "unread-heads",
    "lists-of-one",
];

async fn run(into: Option<PathBuf>, only: Option<String>) -> Outcome<bool> {
    let mut all = Vec::new();
    let wanted = |attack: &&str| only.as_ref().is_none_or(|only| only == attack);
    for attack in ATTACKS.into_iter().filter(wanted) {
        let measured = make(attack).await?;
        println!("{}\n  {}\n  {}", measured.attack, measured.took, measured.others);
        for failure in &measured.failures {
            println!("  FAILED: {failure}");
        }
        all.push(measured);
    }
    if let Some(folder) = into {
        std::fs::write(folder.join("attacks.md"), report(&all)?)?;
    }
    Ok(all.iter().all(|measured| measured.failures.is_empty()))
}

fn report(all: &[Measured]) -> Outcome<String> {
    let mut git = std::process::Command::new("git");
    let commit = process::run(git.args(["rev-parse", "--short", "HEAD"])).unwrap_or_default();
    let cores = std::thread::available_parallelism()?;
    let profile = if cfg!(debug_assertions) { "development" } else { "release" };
    let mut text = format!(
        "# Attacks\n\nWhat `bench/long/attacks` measured at commit `{commit}` ({profile} build, \
         {cores} cores, SQLite, loopback, one run). Every attack is bounded; `FAILED` would say \
         what did not hold. Memory is the highest that was resident at any moment.\n\n\
         | attack | what it took | what the other callers met |\n|---|---|---|\n"
    );
    for Measured { attack, took, others, failures } in all {
        let failed =
            failures.iter().fold(String::new(), |all, why| all + &format!(" **FAILED: {why}**"));
        writeln!(text, "| {attack} | {took} | {others}{failed} |")?;
    }
    Ok(text)
}
