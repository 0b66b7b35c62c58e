//! `porteiro completions`: what a shell needs to complete our commands.

use super::{Arguments, Failure};
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell: bash, zsh, fish, elvish or powershell
    shell: Shell,
}

pub(super) fn run(Completions { shell }: &Completions) -> Result<(), Failure> {
    // Written whole before it is printed: a reader may stop reading at any time.
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut Arguments::command(), "porteiro", &mut script);
    super::say(String::from_utf8_lossy(&script).trim_end())?;
    Ok(())
}
