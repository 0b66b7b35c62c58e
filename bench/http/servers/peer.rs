//! Starts the certified peer: `bench/peer/server.mjs`, one Node process.

use super::{Server, Stage, Who, greet};
use crate::{
    Outcome,
    process::{Process, free_port, run},
};
use std::{path::Path, process::Command};

pub async fn start(stage: &Stage) -> Outcome<Server> {
    let folder = stage.peer.as_ref().ok_or("say with --peer where it was installed")?;
    let port = free_port()?;
    let scene = stage.file(&format!("peer-{port}.json"));
    stage.scene.place(port, &scene)?;
    let mut command = Command::new("node");
    command.arg(folder.join("server.mjs")).arg(&scene).env("NODE_ENV", "production");
    let process = Process::spawn(command, &scene.with_extension("log"))?;
    greet(Who::Peer, process, port).await
}

/// Returns the versions of Node and of the package.
pub fn versions(folder: &Path) -> Outcome<String> {
    let node = run(Command::new("node").arg("--version"))?;
    let package = std::fs::read(folder.join("node_modules/oidc-provider/package.json"))?;
    let package: serde_json::Value = serde_json::from_slice(&package)?;
    let version = package["version"].as_str().ok_or("the package tells no version")?;
    Ok(format!("oidc-provider {version} on Node {node}"))
}
