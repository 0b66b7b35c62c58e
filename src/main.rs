//! The `porteiro` binary: parse the arguments, run the command, end with its exit code.

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    porteiro::cli::run(porteiro::cli::Arguments::parse())
}
