//! So many requests, rendered beforehand, over connections of which each takes the next when its last is answered.

use crate::{Outcome, connection::Connection, load::percentiles, servers::Server};
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// What a batch showed.
pub struct Batch {
    /// Requests per second.
    pub rate: f64,
    /// Seconds within which half of them, and all but one of a hundred, were answered.
    pub p50: f64,
    pub p99: f64,
    /// Seconds of the server's CPU time for one.
    pub cpu: f64,
    pub bodies: Vec<Vec<u8>>,
}

impl Batch {
    /// Reads the ids of the resources in its answers.
    pub fn ids(&self) -> Outcome<Vec<String>> {
        let id = |body: &Vec<u8>| -> Outcome<String> {
            let shown: Value = serde_json::from_slice(body)?;
            Ok(shown["id"].as_str().ok_or("a resource has no id")?.to_owned())
        };
        self.bodies.iter().map(id).collect()
    }
}

/// One answer.
struct BatchAnswer {
    latency: Duration,
    body: Vec<u8>,
}

/// Sends them all; an answer that is no success fails the run.
pub async fn send(server: &Server, requests: Vec<Vec<u8>>, connections: usize) -> Outcome<Batch> {
    let count = requests.len();
    let (requests, next) = (Arc::new(requests), Arc::new(AtomicUsize::new(0)));
    let mut opened = Vec::new();
    for _ in 0..connections.min(count) {
        opened.push(Connection::open(server.address).await?);
    }
    let (before, begun) = (server.process.cpu()?, Instant::now());
    let mut driven: JoinSet<Outcome<Vec<BatchAnswer>>> = JoinSet::new();
    for mut connection in opened {
        let (requests, next) = (requests.clone(), next.clone());
        driven.spawn(async move {
            let mut heard = Vec::new();
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let sent = Instant::now();
                let answer = connection.exchange(request).await?;
                answer.success()?;
                heard.push(BatchAnswer { latency: sent.elapsed(), body: answer.body.to_vec() });
            }
            Ok(heard)
        });
    }
    let (mut latencies, mut bodies) = (Vec::with_capacity(count), Vec::with_capacity(count));
    while let Some(heard) = driven.join_next().await {
        for BatchAnswer { latency, body } in heard?? {
            latencies.push(latency);
            bodies.push(body);
        }
    }
    let took = begun.elapsed().as_secs_f64();
    let cpu = (server.process.cpu()? - before) / count as f64;
    let (p50, p99) = percentiles(&mut latencies);
    Ok(Batch { rate: count as f64 / took, p50, p99, cpu, bodies })
}
