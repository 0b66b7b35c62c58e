//! Whether others wait while a filter looks at all Users of a large organization.

use super::{Engine, Home, NAME, counted};
use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, Spread},
    load::{Pace, Plan, Round},
    portal::Identity,
    report::Section,
    rounds,
    scenarios::refresh::Refresh,
    servers::Stage,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::task::JoinSet;

/// Refreshes that are offered in a second: a small part of what the server can do.
const OFFERED: f64 = 300.0;

/// How many times as long others may wait at the 99th percentile, as in `bench/attacks`.
const MOST: f64 = 3.0;

pub async fn measure(
    (stage, engine): (&Stage, &Engine),
    home: &Home,
    (plan, rounds): (Plan, usize),
) -> Outcome<Section> {
    let plan = Plan { pace: Pace::Offered(OFFERED), ..plan };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let mut scans = 0;
    for number in 0..=rounds {
        let alone = refresh(stage, home, plan).await?;
        let scan = Scan::begin(home).await?;
        let beside = refresh(stage, home, plan).await?;
        scans += scan.end().await?;
        eprintln!(
            "{NAME} {} {number}/{rounds} refresh p99 {:.2} ms alone, {:.2} ms beside a scan",
            engine.name(),
            alone.p99 * 1e3,
            beside.p99 * 1e3
        );
        if number > 0 {
            without.push(alone);
            with.push(beside);
        }
    }
    let mut section = Section::new(&format!("Refreshes beside a filter: {}", engine.name()));
    section.line(&format!(
        "{OFFERED} refreshes (ES256) a second are offered over {} connections, in turn alone and while one client filters the \
         organization of {} Users by what has no index, again and again ({scans} times in all). Latencies count from the \
         moment at which a refresh was due.",
        plan.connections,
        counted(home.size)
    ));
    section.table(&["refreshes", "a second", "p50, ms", "p99, ms"]);
    for (name, of) in [("alone", &without), ("beside the filter", &with)] {
        let spread = |figure: fn(&Round) -> f64| Spread::of(of.iter().map(figure));
        section.row(&[
            name,
            &spread(|round| round.rate).text(0),
            &spread(|round| round.p50).times(1e3).text(2),
            &spread(|round| round.p99).times(1e3).text(2),
        ]);
    }
    let p99 = |of: &[Round]| Spread::of(of.iter().map(|round| round.p99)).median;
    let what = format!("{NAME}: {}: p99 of refreshes beside a filter ÷ alone", engine.name());
    section.verdicts.push(Bound::Ceiling(MOST).judge(what, p99(&with) / p99(&without), ""));
    Ok(section)
}

async fn refresh(stage: &Stage, home: &Home, plan: Plan) -> Outcome<Round> {
    let load = Refresh(Identity::Es256);
    Ok(rounds::one(&load, &stage.scene, &home.server, plan).await?.round)
}

/// A client that filters all Users, over and over.
struct Scan {
    over: Arc<AtomicBool>,
    task: JoinSet<Outcome<usize>>,
}

impl Scan {
    async fn begin(home: &Home) -> Outcome<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let mut connection = Connection::open(home.server.address).await?;
        let request = home.directory.filter("title eq \"nothing\"");
        let (mut task, told) = (JoinSet::new(), over.clone());
        task.spawn(async move {
            let mut count = 0;
            while !told.load(Ordering::Acquire) {
                connection.exchange(&request).await?.success()?;
                count += 1;
            }
            Ok(count)
        });
        Ok(Self { over, task })
    }

    /// Waits for the last one, and returns how many there were.
    async fn end(mut self) -> Outcome<usize> {
        self.over.store(true, Ordering::Release);
        self.task.join_next().await.ok_or("there is no scan")??
    }
}
