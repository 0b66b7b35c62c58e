//! Latencies at equal load: every server is offered the same number of operations a second.
//!
//! Only by its name: it takes 40 minutes. In a closed loop a faster server gets more to do, and its latencies
//! are those of a full queue; here all of them have the same to do. Latencies count from the moment at which an
//! operation was due (see [`crate::load`]).

use super::{
    ClientCredentials, Load, asking, ciba, code, device, exchange, mixed, refresh, registration,
};
use crate::{
    Outcome,
    figures::{Spread, thousands},
    load::{Pace, Plan, Round},
    plot::{Bar, Panel},
    portal::Identity,
    report::Section,
    rounds,
    servers::{Server, Stage, Who},
};
use std::time::Duration;

pub const NAME: &str = "offered";

const OFFERED: [&dyn Load; 10] = [
    &refresh::Refresh(Identity::Es256),
    &code::Code(Identity::Es256),
    &asking::Introspection,
    &asking::Userinfo,
    &ClientCredentials,
    &mixed::Mixed,
    &registration::Registration,
    &exchange::TokenExchange,
    &ciba::Ciba,
    &device::Device,
];

/// The part of its capacity that a server is offered.
const PART: f64 = 0.7;

/// The part of an offer that must be done in time for its latencies to be given.
const KEPT_UP: f64 = 0.95;

/// How long a round is, at most, that looks for the capacity of a server.
const LOOK: Duration = Duration::from_secs(2);

/// So many operations a second, for these servers.
struct Offer<'a> {
    rate: f64,
    servers: Vec<&'a Server>,
}

/// What all rounds of one offer showed of one server.
struct Shown {
    who: Who,
    achieved: Spread,
    p50: Spread,
    p99: Spread,
    cores: Spread,
}

pub async fn measure(stage: &Stage, plan: Plan, rounds: usize) -> Outcome<(Section, Vec<Panel>)> {
    let servers = stage.raise().await?;
    let mut section = Section::new("Equal offered load");
    section.line(&format!(
        "Operations begin at fixed intervals over {} connections, and their latencies count from the moment at which they were \
         due: one that begins late because the one before it is not over has waited. First 70 % of what the slowest \
         server does in a closed loop are offered to all; then 70 % of what Porteiro does to those that can bear it. \
         A server that does less than 95 % of an offer in time does not keep up, and no latencies are given. The \
         generator runs on the same cores: what it waits for a core itself is part of all latencies.",
        plan.connections
    ));
    section.table(&[
        "scenario",
        "offered/s",
        "server",
        "achieved/s",
        "p50, ms",
        "p99, ms",
        "server CPU, cores",
    ]);
    let mut panels = Vec::new();
    for load in OFFERED {
        let able: Vec<&Server> = servers.iter().filter(|one| load.is_for(one.who)).collect();
        for offer in offers(load, (stage, &able), plan).await? {
            let shown = offer.measure(load, stage, (plan, rounds)).await?;
            for server in &able {
                let shown = shown.iter().find(|shown| shown.who == server.who);
                add_row(&mut section, (load.name(), offer.rate), server.who, shown);
            }
            panels.extend(offer.panels(load, &shown));
        }
    }
    Ok((section, panels))
}

/// Finds out what each server can do, and what is therefore offered.
async fn offers<'a>(
    load: &dyn Load,
    (stage, servers): (&Stage, &[&'a Server]),
    plan: Plan,
) -> Outcome<Vec<Offer<'a>>> {
    let look = Plan { measured: plan.measured.min(LOOK), ..plan };
    let (mut slowest, mut ours) = (f64::MAX, None);
    for server in servers {
        // The first round counts for nothing, as in other scenarios.
        rounds::one(load, &stage.scene, server, look).await?;
        let rate = rounds::one(load, &stage.scene, server, look).await?.round.rate;
        eprintln!("{NAME} {} {:8} can do {rate:.0}/s", load.name(), server.who.name());
        slowest = slowest.min(rate);
        if server.who == Who::Porteiro {
            ours = Some(rate);
        }
    }
    let mut offers = vec![Offer { rate: (slowest * PART).ceil(), servers: servers.to_vec() }];
    if let Some(ours) = ours.filter(|ours| *ours > slowest) {
        let able = servers.iter().copied().filter(|server| server.who != Who::Peer);
        offers.push(Offer { rate: (ours * PART).ceil(), servers: able.collect() });
    }
    Ok(offers)
}

impl Offer<'_> {
    /// Offers it to each server in turn, round after round.
    async fn measure(
        &self,
        load: &dyn Load,
        stage: &Stage,
        (plan, rounds): (Plan, usize),
    ) -> Outcome<Vec<Shown>> {
        let plan = Plan { pace: Pace::Offered(self.rate), ..plan };
        let mut shown: Vec<Vec<Round>> = self.servers.iter().map(|_| Vec::new()).collect();
        for number in 0..=rounds {
            for (server, shown) in self.servers.iter().zip(&mut shown) {
                let (name, who, rate) = (load.name(), server.who.name(), self.rate);
                let round = rounds::one(load, &stage.scene, server, plan)
                    .await
                    .map_err(|error| format!("{name}, {who}, {rate}/s: {error}"))?
                    .round;
                eprintln!(
                    "{NAME} {name} {number}/{rounds} {who:8} {:.0}/s of {rate:.0}/s, p50 {:.2} ms, p99 {:.2} ms, \
                     generator {:.2} cores",
                    round.rate,
                    round.p50 * 1e3,
                    round.p99 * 1e3,
                    round.generator
                );
                if number > 0 {
                    shown.push(round);
                }
            }
        }
        let of = |(server, rounds): (&&Server, &Vec<Round>)| Shown::of(server.who, rounds);
        Ok(self.servers.iter().zip(&shown).map(of).collect())
    }

    /// One panel for p50 and one beside it for p99, of those that kept up.
    fn panels(&self, load: &dyn Load, shown: &[Shown]) -> [Panel; 2] {
        let title = format!("{} at {}/s", load.name(), thousands(&format!("{:.0}", self.rate)));
        let panel = |unit: &'static str, figure: fn(&Shown) -> Spread| {
            let kept_up = shown.iter().filter(|shown| shown.kept_up(self.rate));
            let bar = |shown: &Shown| Bar { who: shown.who, spread: figure(shown).times(1e3) };
            Panel { title: title.clone(), unit, bars: kept_up.map(bar).collect() }
        };
        [
            panel("p50, ms (less is better)", |shown| shown.p50),
            panel("p99, ms (less is better)", |shown| shown.p99),
        ]
    }
}

impl Shown {
    fn of(who: Who, rounds: &[Round]) -> Self {
        let spread = |figure: fn(&Round) -> f64| Spread::of(rounds.iter().map(figure));
        Self {
            who,
            achieved: spread(|round| round.rate),
            p50: spread(|round| round.p50),
            p99: spread(|round| round.p99),
            cores: spread(|round| round.cpu * round.rate),
        }
    }

    fn kept_up(&self, rate: f64) -> bool {
        self.achieved.median >= KEPT_UP * rate
    }
}

/// Adds what an offer showed of a server; a dash where it was not made to that one.
fn add_row(section: &mut Section, (name, rate): (&str, f64), who: Who, shown: Option<&Shown>) {
    let offered = thousands(&format!("{rate:.0}"));
    let Some(shown) = shown else {
        return section.row(&[name, &offered, who.name(), "–", "–", "–", "–"]);
    };
    let latency = |spread: Spread| {
        if shown.kept_up(rate) { spread.times(1e3).text(2) } else { "did not keep up".to_owned() }
    };
    section.row(&[
        name,
        &offered,
        who.name(),
        &shown.achieved.text(0),
        &latency(shown.p50),
        &latency(shown.p99),
        &shown.cores.text(2),
    ]);
}
