//! Fifty thousand requests for an approval that wait for a decision, each polled every thirty seconds.
//!
//! Only by its name: it takes minutes. Polls are due at fixed times, spread evenly; how long one took is
//! counted from when it was due, so that a server that falls behind shows.

use super::ciba::{Polling, begun, is_pending};
use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, thousands},
    load::{Plan, percentiles},
    process::own_cpu,
    report::Section,
    servers::{Server, Stage, porteiro},
};
use std::time::{Duration, Instant};
use tokio::{task::JoinSet, time::sleep_until};

pub const NAME: &str = "pending";

const REQUESTS: usize = 50_000;
/// Of a short run.
const FEW: usize = 500;
const CONNECTIONS: usize = 64;
const EVERY: Duration = Duration::from_secs(30);

/// They are polled for so many times as long as a round of load is.
const ROUNDS: u32 = 18;

/// None expires while it is polled.
const LIFETIMES: &str = "ciba = 3600\n";

/// The part of the polls that was answered within the time.
const KEPT_UP: f64 = 0.99;

/// What was asked about one after the other on a connection, and what came of it.
struct Caller {
    connection: Connection,
    polling: Polling,
    /// Each with the part of the interval at which it is due.
    requests: Vec<(Duration, String)>,
}

struct Window {
    begin: Instant,
    end: Instant,
}

pub async fn measure(stage: &Stage, plan: Plan, share: f64) -> Outcome<Section> {
    let mut section = Section::new("Pending approvals");
    let (server, _) = porteiro::start_with(stage, LIFETIMES).await?;
    let empty = server.process.resident()?;
    let number = if share < 1.0 { FEW } else { REQUESTS };
    let callers = begin(stage, &server, number).await?;
    let (commits, resident) = (committed(&server).await?, server.process.resident()?);
    let lasts = plan.measured * ROUNDS;
    eprintln!("{NAME} {number} wait; polled for {} s", lasts.as_secs());

    let begin = Instant::now() + Duration::from_millis(100);
    let end = begin + lasts;
    let (cpu, own) = (server.process.cpu()?, own_cpu()?);
    let mut polling = JoinSet::new();
    for caller in callers {
        polling.spawn(caller.poll(Window { begin, end }));
    }
    let (mut latencies, mut due) = (Vec::new(), 0);
    while let Some(polled) = polling.join_next().await {
        let (took, were_due) = polled??;
        latencies.extend(took);
        due += were_due;
    }
    let lasted = begin.elapsed().as_secs_f64();
    let (cpu, own) = (server.process.cpu()? - cpu, own_cpu()? - own);
    let commits = committed(&server).await? - commits;
    let last = server.process.resident()?;
    server.process.stop().await?;
    if latencies.is_empty() {
        return Err("no poll was due".into());
    }
    let answered = latencies.len() as f64;
    let (p50, p99) = percentiles(&mut latencies);
    section.line(&format!(
        "{} requests of one client wait for {} people. Each is polled every {} s, over {CONNECTIONS} \
         connections, for {lasted:.0} s; every poll was told `authorization_pending`. Times are counted \
         from when a poll was due.",
        thousands(&number.to_string()),
        stage.scene.people.len(),
        EVERY.as_secs(),
    ));
    section.table(&["what", "measured"]);
    let mib = |bytes: f64| format!("{:.0} MiB", bytes / 1024.0 / 1024.0);
    for (what, measured) in [
        ("polls due", thousands(&due.to_string())),
        ("polls answered", thousands(&format!("{answered:.0}"))),
        ("polls a second", thousands(&format!("{:.0}", answered / lasted))),
        ("p50", format!("{:.2} ms", p50 * 1e3)),
        ("p99", format!("{:.2} ms", p99 * 1e3)),
        ("CPU time of the server", format!("{cpu:.1} s, {:.2} cores", cpu / lasted)),
        ("CPU time of a poll", format!("{:.1} µs", cpu / answered * 1e6)),
        ("CPU time of the generator", format!("{own:.1} s")),
        ("commits while they were polled", format!("{commits:.0}")),
        ("resident memory when nothing waited", mib(empty)),
        ("resident memory when all waited", mib(resident)),
        ("resident memory at the end", mib(last)),
    ] {
        section.row(&[what, &measured]);
    }
    let kept = answered / due as f64;
    section.verdicts.extend([
        Bound::Floor(KEPT_UP).judge(format!("{NAME}: polls answered ÷ due"), kept, ""),
        Bound::Ceiling(0.0).judge(format!("{NAME}: commits of pending polls"), commits, ""),
    ]);
    Ok(section)
}

async fn committed(server: &Server) -> Outcome<f64> {
    Ok(server.commits().await?.ok_or("no commits are told")?)
}

/// Has so many requests wait, on connections that then poll them.
async fn begin(stage: &Stage, server: &Server, number: usize) -> Outcome<Vec<Caller>> {
    let mut beginning: JoinSet<Outcome<Caller>> = JoinSet::new();
    for place in 0..CONNECTIONS {
        let mut connection = Connection::open(server.address).await?;
        let polling = Polling::at(&stage.scene, server.address);
        let people = stage.scene.people.clone();
        beginning.spawn(async move {
            let mut requests = Vec::new();
            for one in (place..number).step_by(CONNECTIONS) {
                let request = polling.begin(&people[one % people.len()]);
                let auth_req_id = begun(&connection.exchange(&request).await?)?;
                requests.push((EVERY.mul_f64(one as f64 / number as f64), auth_req_id));
            }
            Ok(Caller { connection, polling, requests })
        });
    }
    let mut callers = Vec::new();
    while let Some(caller) = beginning.join_next().await {
        callers.push(caller??);
    }
    Ok(callers)
}

impl Caller {
    /// Polls until the time is over; returns how long each poll took, and how many were due.
    async fn poll(mut self, window: Window) -> Outcome<(Vec<Duration>, usize)> {
        let (mut took, mut due) = (Vec::new(), 0);
        for round in 0_u32.. {
            for (offset, auth_req_id) in &self.requests {
                let at = window.begin + EVERY * round + *offset;
                if at >= window.end {
                    return Ok((took, due));
                }
                due += 1;
                // A connection that is behind asks no more; what was due is counted all the same.
                if Instant::now() >= window.end {
                    continue;
                }
                sleep_until(at.into()).await;
                let request = self.polling.poll(auth_req_id);
                let answer = self.connection.exchange(&request).await?;
                if answer.status != 400 {
                    return Err(answer.unexpected());
                }
                is_pending(answer.body)?;
                took.push(at.elapsed());
            }
            if self.requests.is_empty() {
                break;
            }
        }
        Ok((took, due))
    }
}
