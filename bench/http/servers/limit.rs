//! Starts the limit: this very program, with the documents Porteiro publishes.

use super::{Server, Stage, Who, greet, porteiro::make_keys, store::new_store};
use crate::{
    Outcome,
    process::{Process, free_port},
};
use std::process::Command;

pub async fn start(stage: &Stage) -> Outcome<Server> {
    make_keys(stage)?;
    let port = free_port()?;
    let scene = stage.file(&format!("limit-{port}.json"));
    stage.scene.place(port, &scene)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("limit").arg(&scene).arg(stage.keys());
    command.arg(stage.published("discovery")).arg(stage.published("jwks"));
    command.arg(stage.published("page"));
    command.arg(new_store(stage, &format!("limit-{port}.db")).await?);
    let process = Process::spawn(command, &scene.with_extension("log"))?;
    greet(Who::Limit, process, port).await
}
