//! Programs of the system that tests run. Where one is missing the test says so and passes;
//! `PORTEIRO_TEST_REQUIRE_PROGRAMS=1` makes that a failure. `bin/test` installs them where it can.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Finds a program as a shell does.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[expect(clippy::print_stderr, reason = "a test that was skipped must not look like one that ran")]
pub fn there_are(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|one| find(one).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    let required = std::env::var("PORTEIRO_TEST_REQUIRE_PROGRAMS").is_ok_and(|it| it == "1");
    assert!(!required, "there is no {missing:?}");
    eprintln!("skipped: there is no {missing:?}");
    false
}

/// A shell in a folder that finds `porteiro`, with nothing of ours in its environment.
pub fn shell(folder: &Path, script: &str) -> Command {
    let mut command = crate::binary::porteiro(folder, &[]);
    let ours = Path::new(command.get_program()).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([ours].into_iter().chain(std::env::split_paths(&path)));
    let removed: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    command = Command::new("sh");
    for name in removed {
        command.env_remove(name);
    }
    command.env("PATH", path.unwrap()).env("NO_PROXY", "localhost,127.0.0.1");
    command.args(["-euc", script]).current_dir(folder).stdin(std::process::Stdio::null());
    command
}

/// Runs a script to its end; each command of it must succeed.
#[track_caller]
pub fn run_script(folder: &Path, script: &str) -> String {
    let Output { status, stdout, stderr } = shell(folder, script).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{script}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// The commands of a section of a document, block by block.
pub fn blocks(document: &str, heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(document).unwrap();
    let (_, section) = text.split_once(&format!("\n{heading}\n")).unwrap();
    commands(section.split("\n## ").next().unwrap())
}

/// The commands before the first section of a document.
pub fn first_blocks(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(document).unwrap();
    commands(text.split("\n## ").next().unwrap())
}

fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}
