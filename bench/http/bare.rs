//! A bare durable commit: what no operation that waits for one can be faster than.

use crate::{
    Outcome,
    families::Families,
    figures::Spread,
    load::{Plan, percentiles},
    servers::{Stage, store::new_store},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// What the rounds of bare commits showed so far.
pub struct Bare {
    families: Arc<Families>,
    rounds: Vec<(f64, f64)>,
}

impl Bare {
    /// Opens a store of the kind that the servers have.
    pub async fn open(stage: &Stage, name: &str) -> Outcome<Self> {
        let store = new_store(stage, &format!("bare-{name}.db")).await?;
        let families = Arc::new(Families::open(&store, &stage.scene).await?);
        Ok(Self { families, rounds: Vec::new() })
    }

    /// Commits as many at a time as there are connections, each to a row of its own.
    pub async fn press(&mut self, plan: Plan) -> Outcome<()> {
        let begin = Instant::now() + plan.warm_up;
        let end = begin + plan.measured;
        let mut writers = JoinSet::new();
        for _ in 0..plan.connections {
            let families = self.families.clone();
            writers.spawn(async move { commit_until(&families, begin, end).await });
        }
        let mut latencies = Vec::new();
        while let Some(written) = writers.join_next().await {
            latencies.extend(written??);
        }
        self.rounds.push(percentiles(&mut latencies));
        Ok(())
    }

    /// Forgets the round that counts for nothing.
    pub fn forget(&mut self) {
        self.rounds.clear();
    }

    /// Ends, and returns seconds within which half of the commits, and all but one of a hundred,
    /// were durable.
    pub async fn close(self) -> (Spread, Spread) {
        self.families.close().await;
        let (p50, p99): (Vec<f64>, Vec<f64>) = self.rounds.into_iter().unzip();
        (Spread::of(p50), Spread::of(p99))
    }
}

async fn commit_until(families: &Families, begin: Instant, end: Instant) -> Outcome<Vec<Duration>> {
    let mut written = families.begin().await?;
    let mut latencies = Vec::new();
    loop {
        let begun = Instant::now();
        if begun >= end {
            return Ok(latencies);
        }
        written = families.change(written).await?;
        let done = Instant::now();
        if begun >= begin && done <= end {
            latencies.push(done - begun);
        }
    }
}
