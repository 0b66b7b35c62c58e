//! A password storm: five times as many wrong passwords as the machine can hash, while clients go on
//! asking for tokens.
//!
//! In each round tokens are asked for alone, wrong passwords come alone, and then both come at once.
//! Tokens keep most of their rate, hashing keeps some of its own, and what cannot be hashed is told to
//! come again (503); nothing is answered in any other way.

use super::Load as _;
use crate::{
    Outcome,
    connection::{Connection, fetch},
    figures::{Bound, Spread, Verdict},
    load::{Plan, press},
    report::Section,
    request::post_json,
    scenarios::ClientCredentials,
    servers::{Server, Stage, Who},
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

pub const NAME: &str = "storm";

/// How many wrong passwords come for each one that could be hashed.
const TIMES: f64 = 5.0;

/// A wrong password is answered after some time, so many wait at once.
const CONNECTIONS: u32 = 96;

/// How often each of them tries while it is found out how many can be hashed.
const FINDING_OUT: Duration = Duration::from_millis(200);

/// Wrong passwords in one flow, which takes ten at most.
const TRIES: u32 = 8;

const TOKENS_KEEP: f64 = 0.7;
const HASHING_KEEPS: f64 = 0.15;

/// What became of wrong passwords.
#[derive(Default)]
struct Storm {
    judged: AtomicU64,
    shed: AtomicU64,
    over: AtomicBool,
}

/// What one round showed.
struct Round {
    alone: f64,
    tokens: f64,
    hashed_alone: f64,
    hashed: f64,
    shed: f64,
}

pub async fn measure(stage: &Stage, plan: Plan, rounds: usize) -> Outcome<Section> {
    let server = stage.start(Who::Porteiro).await?;
    let stormed = Stormed::begin(&server, FINDING_OUT).await?;
    tokio::time::sleep(plan.warm_up).await;
    let watch = Watch::start(&server, &stormed).await?;
    tokio::time::sleep(plan.measured).await;
    let capacity = watch.stop(&server, &stormed).await?.hashed;
    stormed.end().await?;
    let every = Duration::from_secs_f64(f64::from(CONNECTIONS) / (capacity * TIMES));
    let mut shown = Vec::new();
    for number in 0..=rounds {
        let round = one(stage, &server, plan, every).await?;
        eprintln!(
            "{NAME} {number}/{rounds} tokens {:.0}/s of {:.0}/s, hashes {:.1}/s of {:.1}/s, {:.0} % shed",
            round.tokens,
            round.alone,
            round.hashed,
            round.hashed_alone,
            round.shed * 100.0
        );
        if number > 0 {
            shown.push(round);
        }
    }
    server.process.stop().await?;
    let spread = |figure: fn(&Round) -> f64| Spread::of(shown.iter().map(figure));
    let mut section = Section::new("A password storm");
    section.line(&format!(
        "{CONNECTIONS} connections send {TIMES} times as many wrong passwords as the server can hash, for \
         identifiers that no account has; {} others ask for tokens \
         (client_credentials). The generator has a part of the same cores.",
        plan.connections
    ));
    section.table(&["what", "alone", "in the storm"]);
    section.row(&["tokens/s", &spread(|it| it.alone).text(0), &spread(|it| it.tokens).text(0)]);
    section.row(&[
        "hashes/s",
        &spread(|it| it.hashed_alone).text(1),
        &spread(|it| it.hashed).text(1),
    ]);
    section.line(&format!(
        "Of the wrong passwords {} % were shed with 503; the others were answered with 401.",
        spread(|it| it.shed * 100.0).text(0)
    ));
    // Of each round by itself: what the machine does meanwhile falls on both of its parts.
    let kept = |figure: fn(&Round) -> f64| Spread::of(shown.iter().map(figure)).median;
    let judge = |bound: f64, what: &str, figure: f64| {
        Bound::Floor(bound).judge(format!("{NAME}: {what}"), figure, "")
    };
    section.verdicts.extend([
        judge(TOKENS_KEEP, "tokens/s ÷ alone", kept(|it| it.tokens / it.alone)),
        judge(HASHING_KEEPS, "hashes/s ÷ alone", kept(|it| it.hashed / it.hashed_alone)),
        Verdict {
            what: format!("{NAME}: the rest is shed with 503"),
            measured: format!("{:.0} %", kept(|it| it.shed) * 100.0),
            wanted: "more than none, and no other answer".to_owned(),
            holds: kept(|it| it.shed) > 0.0,
        },
    ]);
    Ok(section)
}

async fn one(stage: &Stage, server: &Server, plan: Plan, every: Duration) -> Outcome<Round> {
    let alone = tokens(stage, server, plan).await?;
    let stormed = Stormed::begin(server, every).await?;
    tokio::time::sleep(plan.warm_up).await;
    let watch = Watch::start(server, &stormed).await?;
    tokio::time::sleep(plan.measured).await;
    let hashed_alone = watch.stop(server, &stormed).await?.hashed;
    let watch = Watch::start(server, &stormed).await?;
    let tokens = tokens(stage, server, plan).await?;
    let Seen { hashed, shed } = watch.stop(server, &stormed).await?;
    stormed.end().await?;
    Ok(Round { alone, tokens, hashed_alone, hashed, shed })
}

/// A storm that goes on until it is ended.
struct Stormed {
    storm: Arc<Storm>,
    callers: JoinSet<Outcome<()>>,
}

impl Stormed {
    async fn begin(server: &Server, every: Duration) -> Outcome<Self> {
        let (storm, mut callers) = (Arc::new(Storm::default()), JoinSet::new());
        for _ in 0..CONNECTIONS {
            let caller = Caller::open(server.address).await?;
            callers.spawn(caller.storm(storm.clone(), every));
        }
        Ok(Self { storm, callers })
    }

    /// How many were judged and how many were shed so far.
    fn counts(&self) -> (f64, f64) {
        let [judged, shed] = [&self.storm.judged, &self.storm.shed].map(|it| it.load(Relaxed));
        (judged as f64, shed as f64)
    }

    async fn end(mut self) -> Outcome<()> {
        self.storm.over.store(true, Relaxed);
        while let Some(done) = self.callers.join_next().await {
            done??;
        }
        Ok(())
    }
}

/// What is counted while something else goes on.
struct Watch {
    begun: Instant,
    hashes: f64,
    counts: (f64, f64),
}

struct Seen {
    /// Hashes a second.
    hashed: f64,
    /// The part of all wrong passwords that was shed.
    shed: f64,
}

impl Watch {
    async fn start(server: &Server, stormed: &Stormed) -> Outcome<Self> {
        let (hashes, counts) = (hashes_done(server).await?, stormed.counts());
        Ok(Self { begun: Instant::now(), hashes, counts })
    }

    async fn stop(self, server: &Server, stormed: &Stormed) -> Outcome<Seen> {
        let hashed = hashes_done(server).await? - self.hashes;
        let took = self.begun.elapsed().as_secs_f64();
        let (judged, shed) = stormed.counts();
        let (judged, shed) = (judged - self.counts.0, shed - self.counts.1);
        Ok(Seen { hashed: hashed / took, shed: shed / (judged + shed).max(1.0) })
    }
}

/// Tokens a second.
async fn tokens(stage: &Stage, server: &Server, plan: Plan) -> Outcome<f64> {
    let scripts = ClientCredentials.scripts(&stage.scene, server, plan.connections).await?;
    Ok(press(server, scripts, plan).await?.rate)
}

/// How many passwords the server has hashed since its start.
async fn hashes_done(server: &Server) -> Outcome<f64> {
    let operator = server.operator.ok_or("it tells no metrics")?;
    let metrics = String::from_utf8(fetch(operator, "/metrics").await?)?;
    let name = "porteiro_hashing_total{outcome=\"done\"} ";
    let count = metrics.lines().find_map(|line| line.strip_prefix(name));
    Ok(count.ok_or("no hashes are told")?.parse()?)
}

/// One connection of the storm.
struct Caller {
    connection: Connection,
    address: SocketAddr,
}

impl Caller {
    async fn open(address: SocketAddr) -> Outcome<Self> {
        Ok(Self { connection: Connection::open(address).await?, address })
    }

    /// Tries wrong passwords until the storm is over.
    async fn storm(mut self, storm: Arc<Storm>, every: Duration) -> Outcome<()> {
        let mut pace = interval(every);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let guess = json!({ "password": "not the password of any person" });
        loop {
            let (_, begun) = self.post("/flows", &json!({ "kind": "sign_in" })).await?;
            let id = begun["id"].as_str().ok_or("a flow has no id")?.to_owned();
            let identifier = format!("{}@bench.test", &id[4..20.min(id.len())]);
            let body = json!({ "identifier": identifier });
            self.post(&format!("/flows/{id}/identifier"), &body).await?;
            let mut wrong = 0;
            while wrong < TRIES {
                pace.tick().await;
                if storm.over.load(Relaxed) {
                    return Ok(());
                }
                match self.post(&format!("/flows/{id}/password"), &guess).await? {
                    (401, _) => {
                        wrong += 1;
                        storm.judged.fetch_add(1, Relaxed);
                    }
                    (503, _) => {
                        storm.shed.fetch_add(1, Relaxed);
                    }
                    (status, said) => return Err(format!("answered {status}: {said}").into()),
                }
            }
        }
    }

    async fn post(&mut self, path: &str, document: &Value) -> Outcome<(u16, Value)> {
        let request = post_json(self.address, path, &[], document);
        let answer = self.connection.exchange(&request).await?;
        Ok((answer.status, serde_json::from_slice(answer.body)?))
    }
}
