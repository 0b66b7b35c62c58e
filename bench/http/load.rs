//! The load: so many connections, each with one request under way at any time.

use crate::{Outcome, connection::Connection, process::own_cpu, servers::Server};
use std::time::{Duration, Instant};
use tokio::{task::JoinSet, time::sleep_until};

/// How long and how hard one round presses.
#[derive(Clone, Copy)]
pub struct Plan {
    pub connections: usize,
    pub warm_up: Duration,
    pub measured: Duration,
}

/// What one connection says, and learns from the answers.
pub trait Script: Send {
    fn request(&mut self) -> &[u8];

    /// Hears a successful answer before the next request, as a rotation of tokens must.
    fn answered(&mut self, body: &[u8]) -> Outcome<()> {
        let _ = body;
        Ok(())
    }
}

/// The same request over and over.
pub struct Always(pub Vec<u8>);

impl Script for Always {
    fn request(&mut self) -> &[u8] {
        &self.0
    }
}

/// What one round showed.
pub struct Round {
    /// Operations per second.
    pub rate: f64,
    /// Seconds within which half of the answers had come.
    pub p50: f64,
    pub p99: f64,
    /// Seconds of the server's CPU time an operation took.
    pub cpu: f64,
    /// Cores the generator itself was using.
    pub generator: f64,
    /// Every so-manieth answer, to be looked at afterwards.
    pub samples: Vec<Vec<u8>>,
}

/// The first answer of each connection is kept, and then every so-manieth.
const SAMPLE_EVERY: usize = 1_000;

struct Window {
    begin: Instant,
    end: Instant,
}

struct Heard {
    latencies: Vec<Duration>,
    samples: Vec<Vec<u8>>,
}

/// Presses a server with one connection for each script; any answer but a 2xx fails the round.
pub async fn press(server: &Server, scripts: Vec<Box<dyn Script>>, plan: Plan) -> Outcome<Round> {
    let mut driven = JoinSet::new();
    let begin = Instant::now() + plan.warm_up;
    let end = begin + plan.measured;
    for script in scripts {
        let connection = Connection::open(server.address).await?;
        driven.spawn(drive(connection, script, Window { begin, end }));
    }
    sleep_until(begin.into()).await;
    let (cpu_before, own_before) = (server.process.cpu()?, own_cpu()?);
    sleep_until(end.into()).await;
    let (cpu_after, own_after) = (server.process.cpu()?, own_cpu()?);
    let mut latencies = Vec::new();
    let mut samples = Vec::new();
    while let Some(heard) = driven.join_next().await {
        let heard = heard??;
        latencies.extend(heard.latencies);
        samples.extend(heard.samples);
    }
    if latencies.is_empty() {
        return Err("no answer came within the round".into());
    }
    latencies.sort_unstable();
    let operations = latencies.len() as f64;
    let within = |part: usize| latencies[(latencies.len() - 1) * part / 100].as_secs_f64();
    Ok(Round {
        rate: operations / plan.measured.as_secs_f64(),
        p50: within(50),
        p99: within(99),
        cpu: (cpu_after - cpu_before) / operations,
        generator: (own_after - own_before) / plan.measured.as_secs_f64(),
        samples,
    })
}

async fn drive(
    mut connection: Connection,
    mut script: Box<dyn Script>,
    window: Window,
) -> Outcome<Heard> {
    let mut heard = Heard { latencies: Vec::with_capacity(64 * 1024), samples: Vec::new() };
    for number in 0.. {
        let sent = Instant::now();
        if sent >= window.end {
            break;
        }
        let answer = connection.exchange(script.request()).await?;
        let came = Instant::now();
        if !(200..300).contains(&answer.status) {
            let body = String::from_utf8_lossy(answer.body);
            return Err(format!("answered {}: {body}", answer.status).into());
        }
        if number % SAMPLE_EVERY == 0 {
            heard.samples.push(answer.body.to_vec());
        }
        script.answered(answer.body)?;
        if sent >= window.begin && came <= window.end {
            heard.latencies.push(came - sent);
        }
    }
    Ok(heard)
}
