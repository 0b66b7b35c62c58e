//! The load: so many connections, each with at most one request under way.
//!
//! In a closed loop each connection begins its next operation when the last is over. At an offered rate the
//! moments are fixed beforehand, and latencies count from there: an operation that must wait for the one before
//! it has waited as well.

use crate::{
    Outcome,
    alarm::Alarm,
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
    pub pace: Pace,
}

/// When operations begin.
#[derive(Clone, Copy)]
pub enum Pace {
    /// When the one before is over.
    Closed,
    /// So many a second over all connections, in equal intervals.
    Offered(f64),
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
    /// Operations per second that were over within the round.
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

#[derive(Clone, Copy)]
struct Window {
    begin: Instant,
    end: Instant,
    /// Until when what was due within it is waited for.
    last: Instant,
}

impl Window {
    fn of(plan: Plan, start: Instant) -> Self {
        let begin = start + plan.warm_up;
        let end = begin + plan.measured;
        // Without those that are still under way the longest latencies would be missing.
        let last = match plan.pace {
            Pace::Closed => end,
            Pace::Offered(_) => end + plan.measured / 10,
        };
        Self { begin, end, last }
    }
}

/// When the operations of one connection are due.
struct Schedule {
    alarm: Alarm,
    next: Instant,
    interval: Duration,
}

impl Schedule {
    /// Those of the connection at `place` among so many; none in a closed loop.
    fn of(pace: Pace, start: Instant, (place, count): (usize, usize)) -> Outcome<Option<Self>> {
        let Pace::Offered(rate) = pace else { return Ok(None) };
        let after = |operations: usize| Duration::from_secs_f64(operations as f64 / rate);
        let (next, interval) = (start + after(place), after(count));
        Ok(Some(Self { alarm: Alarm::new()?, next, interval }))
    }

    /// Waits until the next operation is due, and returns that moment; it may be over.
    async fn next(&mut self) -> Outcome<Instant> {
        let due = self.next;
        self.alarm.until(due).await?;
        self.next += self.interval;
        Ok(due)
    }
}

struct Heard {
    operations: usize,
    /// Those measured that were over within the round.
    in_time: usize,
    latencies: Vec<Duration>,
    samples: Vec<Vec<u8>>,
}

/// Presses a server with one connection for each script.
pub async fn press(server: &Server, scripts: Vec<Box<dyn Script>>, plan: Plan) -> Outcome<Round> {
    let mut driven = JoinSet::new();
    let start = Instant::now();
    let window = Window::of(plan, start);
    let count = scripts.len();
    for (place, script) in scripts.into_iter().enumerate() {
        let connection = Connection::open(server.address).await?;
        let schedule = Schedule::of(plan.pace, start, (place, count))?;
        driven.spawn(drive(connection, script, window, schedule));
    }
    sleep_until(window.begin.into()).await;
    let (cpu_before, own_before) = (server.process.cpu()?, own_cpu()?);
    sleep_until(window.end.into()).await;
    let (cpu_after, own_after) = (server.process.cpu()?, own_cpu()?);
    let (mut latencies, mut samples) = (Vec::new(), Vec::new());
    let (mut all, mut in_time) = (0, 0);
    while let Some(heard) = driven.join_next().await {
        let heard = heard??;
        latencies.extend(heard.latencies);
        samples.extend(heard.samples);
        all += heard.operations;
        in_time += heard.in_time;
    }
    if in_time == 0 {
        return Err("nothing was done within the round".into());
    }
    let measured = in_time as f64;
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
    mut schedule: Option<Schedule>,
) -> Outcome<Heard> {
    let latencies = Vec::with_capacity(64 * 1024);
    let mut heard = Heard { operations: 0, in_time: 0, latencies, samples: Vec::new() };
    loop {
        let due = match &mut schedule {
            None => Instant::now(),
            Some(schedule) => schedule.next().await?,
        };
        if due >= window.end || Instant::now() >= window.last {
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
            if due >= window.begin && came <= window.last {
                heard.latencies.push(came - due);
                heard.in_time += usize::from(came <= window.end);
            }
            break;
        }
        heard.operations += 1;
    }
}
