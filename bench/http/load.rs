//! The load: so many connections, each with one request under way at any time.

use crate::{
    Outcome,
    connection::{Answer, Connection},
    process::own_cpu,
    servers::Server,
};
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

    /// Hears an answer before the next request, as a rotation of tokens must; what is not the
    /// answer that was expected fails the round.
    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        answer.success()?;
        Ok(Turn::Done)
    }
}

/// Where an operation stands after an answer.
pub enum Turn {
    /// It takes another request.
    GoesOn,
    Done,
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
    /// Seconds within which half of the operations were done.
    pub p50: f64,
    pub p99: f64,
    /// Seconds of the server's CPU time an operation took.
    pub cpu: f64,
    /// Cores the generator itself was using.
    pub generator: f64,
    /// Every operation, whether or not it was measured.
    pub operations: f64,
    /// The last answer of every so-manieth operation, to be looked at afterwards.
    pub samples: Vec<Vec<u8>>,
}

/// The first operation of each connection is kept, and then every so-manieth.
const SAMPLE_EVERY: usize = 1_000;

struct Window {
    begin: Instant,
    end: Instant,
}

struct Heard {
    operations: usize,
    latencies: Vec<Duration>,
    samples: Vec<Vec<u8>>,
}

/// Presses a server with one connection for each script.
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
    let (mut latencies, mut samples, mut all) = (Vec::new(), Vec::new(), 0);
    while let Some(heard) = driven.join_next().await {
        let heard = heard??;
        latencies.extend(heard.latencies);
        samples.extend(heard.samples);
        all += heard.operations;
    }
    if latencies.is_empty() {
        return Err("nothing was done within the round".into());
    }
    let measured = latencies.len() as f64;
    let (p50, p99) = percentiles(&mut latencies);
    Ok(Round {
        rate: measured / plan.measured.as_secs_f64(),
        p50,
        p99,
        cpu: (cpu_after - cpu_before) / measured,
        operations: all as f64,
        generator: (own_after - own_before) / plan.measured.as_secs_f64(),
        samples,
    })
}

/// Seconds within which half of them, and all but one of a hundred, were over.
pub fn percentiles(latencies: &mut [Duration]) -> (f64, f64) {
    latencies.sort_unstable();
    let within = |part: usize| latencies[(latencies.len() - 1) * part / 100].as_secs_f64();
    (within(50), within(99))
}

async fn drive(
    mut connection: Connection,
    mut script: Box<dyn Script>,
    window: Window,
) -> Outcome<Heard> {
    let latencies = Vec::with_capacity(64 * 1024);
    let mut heard = Heard { operations: 0, latencies, samples: Vec::new() };
    loop {
        let begun = Instant::now();
        if begun >= window.end {
            return Ok(heard);
        }
        loop {
            let answer = connection.exchange(script.request()).await?;
            let came = Instant::now();
            if let Turn::GoesOn = script.answered(&answer)? {
                continue;
            }
            if heard.operations.is_multiple_of(SAMPLE_EVERY) {
                heard.samples.push(answer.body.to_vec());
            }
            if begun >= window.begin && came <= window.end {
                heard.latencies.push(came - begun);
            }
            break;
        }
        heard.operations += 1;
    }
}
