//! The command line: data to standard output, everything else to standard error.
//!
//! Exit codes: 0 done; 1 it could not be done, or a verification found something; 78 (`EX_CONFIG`)
//! the configuration or the keys folder must be mended first.

mod account;
mod apikey;
mod apply;
mod backup;
mod certificate;
mod client;
mod completions;
mod config;
mod dev;
mod doctor;
mod export;
mod keys;
mod log;
mod migrate;
mod move_store;
mod named_files;
mod organization;
mod output;
mod progress;
mod restore;
mod self_service;
mod serve;
mod session;
mod settings;

use crate::{
    domain::installation::SelfService,
    telemetry::{self, Verbosity},
};
use clap::{Parser, Subcommand};
use settings::CommandSettings;
use std::{
    error::Error,
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

/// What `porteiro` was asked to do.
#[derive(Debug, Parser)]
#[command(
    name = "porteiro",
    version,
    about = "An identity provider for people, services and agents"
)]
pub struct Arguments {
    /// The configuration file (TOML); every key can be overridden as `PORTEIRO_SECTION__KEY`
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a development server with a demo organization under ./.porteiro
    Dev(dev::Dev),
    /// Run the server
    Serve,
    /// Bring resources, organizations, accounts and clients to what a file says
    Apply(apply::Apply),
    /// List, show, invite, import, unlock, recover and suspend accounts
    #[command(subcommand)]
    Account(account::Command),
    /// Make, suspend, enable, list and show organizations
    #[command(subcommand)]
    Organization(organization::Command),
    /// List, show, suspend, enable and delete clients, and change their secrets
    #[command(subcommand)]
    Client(client::Command),
    /// Make, rotate, revoke, list and show API keys
    #[command(subcommand)]
    Apikey(apikey::Command),
    /// End the sessions and grants of people
    #[command(subcommand)]
    Session(session::Command),
    /// Close or open the registration of clients by themselves
    #[command(subcommand)]
    Registration(self_service::Command),
    /// Close or open sign-up: people who make accounts for themselves
    #[command(subcommand)]
    SignUp(self_service::Command),
    /// Make, rotate, revoke and list the keys of an installation
    #[command(subcommand)]
    Keys(keys::Command),
    /// Bring the database's schema up to this binary
    Migrate(migrate::Migrate),
    /// Copy an SQLite store to a file, while it is used
    Backup(backup::MakeBackup),
    /// Put a backup of an SQLite store back, while no server runs
    Restore(restore::Restore),
    /// Move a store to another database, and compare the two
    Move(move_store::Move),
    /// Print an organization as a provisioning file, without a secret
    Export(export::Export),
    /// Look for whatever would keep the server from working, and say what to mend
    Doctor(doctor::Doctor),
    /// Print the effective configuration and where each value came from
    Config(config::Show),
    /// Read and verify the security log
    #[command(subcommand)]
    Log(log::Command),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

/// How long what runs beside a command that is done may take to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
    let telemetry = telemetry::start(match arguments.command {
        Command::Serve => Verbosity::Informative,
        Command::Dev(_) => Verbosity::Development,
        _ => Verbosity::Quiet,
    });
    let _telemetry = match telemetry {
        Ok(telemetry) => telemetry,
        Err(error) => return report(&Failure::Configuration(vec![chain(&error)])),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&Failure::from(error)),
    };
    let given = CommandSettings::new(arguments.config);
    let done = runtime.block_on(async {
        match arguments.command {
            Command::Dev(command) => dev::run(command, given).await,
            Command::Serve => serve::run(given).await,
            Command::Apply(command) => apply::run(command, given).await,
            Command::Account(command) => account::run(command, given).await,
            Command::Organization(command) => organization::run(command, given).await,
            Command::Client(command) => client::run(command, given).await,
            Command::Apikey(command) => apikey::run(command, given).await,
            Command::Session(command) => session::run(command, given).await,
            Command::Registration(command) => {
                self_service::run(SelfService::Registration, command, given).await
            }
            Command::SignUp(command) => {
                self_service::run(SelfService::SignUp, command, given).await
            }
            Command::Keys(command) => keys::run(command, given).await,
            Command::Migrate(command) => migrate::run(command, given).await,
            Command::Backup(command) => backup::run(command, given).await,
            Command::Restore(command) => restore::run(command, given).await,
            Command::Move(command) => move_store::run(command).await,
            Command::Export(command) => export::run(command, given).await,
            Command::Doctor(command) => doctor::run(command, given).await,
            Command::Config(command) => config::run(&command, given),
            Command::Log(command) => log::run(command, given).await,
            Command::Completions(command) => completions::run(&command),
        }
    });
    // A name that is still being looked up is not waited for.
    runtime.shutdown_timeout(LAST_WORDS);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
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

/// What was asked for cannot be done, for this reason.
fn cannot(why: &str) -> Failure {
    Failure::Failed(why.into())
}

/// An error and its causes on one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some errors repeat their cause in their own words.
        if !text.ends_with(&said) {
            let _ = write!(text, ": {said}");
        }
        cause = error.source();
    }
    text
}

/// Writes a line of data; a reader that has had enough is no failure.
fn say(line: &str) -> io::Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
