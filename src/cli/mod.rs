//! The command line: data to standard output, everything else to standard error.
//!
//! Exit codes: 0 done; 1 it could not be done, or a verification found something; 78 (`EX_CONFIG`)
//! the configuration or the keys folder must be mended first.

mod keys;
mod log;
mod migrate;

use crate::{
    actors::LOG_HEADS,
    crypto::keys::{DevKeys, Folder},
};
use clap::{Args, Parser, Subcommand};
use std::{
    error::Error,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

/// What `porteiro` was asked to do.
#[derive(Debug, Parser)]
#[command(
    name = "porteiro",
    version,
    about = "An identity provider for people, services and agents"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make and list the keys of an installation
    #[command(subcommand)]
    Keys(keys::Command),
    /// Bring the database's schema up to this binary
    Migrate(migrate::Migrate),
    /// Read and verify the security log
    #[command(subcommand)]
    Log(log::Command),
}

#[derive(Debug, Args)]
struct KeysFolder {
    /// The keys folder: one private JWK or PEM a file
    #[arg(long = "keys", value_name = "FOLDER", env = "PORTEIRO_KEYS__DIR")]
    path: PathBuf,
}

#[derive(Debug, Args)]
struct StoreUrl {
    /// `sqlite:///path` or `postgres://user@host/database`
    #[arg(long = "store", value_name = "URL", env = "PORTEIRO_STORE__URL", hide_env_values = true)]
    url: String,
}

/// Why a command ended without success.
#[derive(Debug)]
enum Failure {
    /// Something must be mended before this can run; each line says what.
    Configuration(Vec<String>),
    /// It was tried and did not succeed.
    Failed(Box<dyn Error>),
    /// It ran, and what it found is not good; the findings have been printed.
    Findings,
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// Runs the command and says how it ended.
pub fn run(arguments: Arguments) -> ExitCode {
    start_logging();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&Failure::from(error)),
    };
    let done = runtime.block_on(async {
        match arguments.command {
            Command::Keys(command) => keys::run(command),
            Command::Migrate(command) => migrate::run(command).await,
            Command::Log(command) => log::run(command).await,
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

/// Human on a terminal, JSON otherwise.
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("PORTEIRO_LOG")
        // The heads of the security log are worth keeping whatever else is said.
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(format!("warn,{LOG_HEADS}=info")));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second subscriber in one process is a test's affair; the first one stays.
    let _ = if io::stderr().is_terminal() { lines.try_init() } else { lines.json().try_init() };
}

fn report(failure: &Failure) -> ExitCode {
    let (text, code) = match failure {
        Failure::Configuration(lines) => (lines.join("\n"), 78),
        Failure::Failed(error) => (chain(&**error), 1),
        Failure::Findings => return ExitCode::from(1),
    };
    let _ = writeln!(io::stderr(), "{text}");
    ExitCode::from(code)
}

/// An error and its causes on one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// Writes a line of data.
fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

fn read_folder(folder: &KeysFolder) -> Result<Folder, Failure> {
    Folder::load(&folder.path, DevKeys::Accepted)
        .map_err(|faults| Failure::Configuration(faults.iter().map(ToString::to_string).collect()))
}
