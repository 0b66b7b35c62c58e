//! Starts nodes of Porteiro on one PostgreSQL database and one keys folder, with `HAProxy` before them: every request goes to
//! the next node, whoever sends it.

use super::{Server, Stage, Who, greet, loopback, porteiro::Installation, store::new_schema};
use crate::{
    Outcome,
    cpu_group::{CpuGroup, CpuHierarchy},
    process::{Process, free_port},
};
use std::{fmt::Write as _, fs, process::Command, sync::Arc};

pub struct Cluster {
    /// What is asked: its address and its process are those of the balancer.
    pub front: Server,
    nodes: Vec<Node>,
}

/// The process goes before its group, which must be empty by then.
struct Node {
    server: Server,
    group: Option<CpuGroup>,
}

impl Cluster {
    /// Starts so many nodes with a schema of their own.
    pub async fn start(stage: &Stage, count: usize) -> Outcome<Self> {
        let postgres = stage.postgres.as_deref().ok_or("nodes share a PostgreSQL server")?;
        let schema = new_schema(postgres).await?;
        let (name, port) = (format!("cluster-{count}"), free_port()?);
        let first = Installation::prepare_at(stage, &name, &schema)?.behind(port)?;
        let mut installations = vec![first];
        for number in 1..count {
            let node = installations[0].join(&format!("{name}-{number}"))?;
            installations.push(node);
        }
        let balancer = balance(stage, (&name, port), &installations)?;
        installations[0].apply()?;
        let mut nodes = Vec::new();
        for installation in &installations {
            nodes.push(Node { server: installation.started().await?, group: None });
        }
        let front = greet(Who::Porteiro, balancer, port).await?;
        Ok(Self { front, nodes })
    }

    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Seconds of CPU time that all nodes together have used so far, without the balancer.
    pub fn cpu(&self) -> Outcome<f64> {
        self.nodes.iter().map(|node| node.server.process.cpu()).sum()
    }

    /// Lets each node use so many cores from now on.
    pub fn cap(&mut self, hierarchy: &Arc<CpuHierarchy>, cores: f64) -> Outcome<()> {
        for node in &mut self.nodes {
            node.group = Some(hierarchy.cap(&node.server.process, cores)?);
        }
        Ok(())
    }

    pub async fn stop(self) -> Outcome<()> {
        self.front.process.stop().await?;
        for Node { server, group } in self.nodes {
            server.process.stop().await?;
            drop(group);
        }
        Ok(())
    }
}

/// Starts the balancer.
fn balance(
    stage: &Stage,
    (name, port): (&str, u16),
    nodes: &[Installation<'_>],
) -> Outcome<Process> {
    let address = loopback(port);
    let mut text = format!(
        "global\n maxconn 2000\n nbthread 1\n\
         defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n \
         retries 0\n\
         frontend front\n bind {address}\n default_backend nodes\n\
         backend nodes\n balance roundrobin\n"
    );
    for node in nodes {
        let (port, address) = (node.port, loopback(node.port));
        let _ = writeln!(text, " server node-{port} {address}");
    }
    let file = stage.file(&format!("{name}.cfg"));
    fs::write(&file, text)?;
    let mut command = Command::new("haproxy");
    command.arg("-db").arg("-f").arg(&file);
    Process::spawn(command, &file.with_extension("log"))
}
