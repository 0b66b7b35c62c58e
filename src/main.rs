//! The `porteiro` binary: parse the arguments, run the command, end with its exit code.

use clap::Parser as _;
use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    porteiro::cli::run(porteiro::cli::Arguments::parse())
}
