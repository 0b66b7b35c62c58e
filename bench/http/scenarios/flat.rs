//! What an operation costs as a store grows: from a thousand accounts, sessions and token families to a million.
//!
//! Only by its name: it takes half an hour, and 10 GB of disk. Each size is a store of its own with a server of its
//! own, and they are pressed in turn: what the machine does meanwhile falls on all sizes alike.

use super::{ClientCredentials, Load, asking, ciba, code, device, exchange, refresh, registration};
use crate::{
    Outcome,
    figures::{Bound, Spread, thousands},
    lines::{self, Line},
    load::{Plan, Round},
    population::{self, Population},
    portal::{Identity, Portal},
    report::{Picture, Section},
    rounds,
    servers::{Server, Stage, porteiro::Installation},
};
use std::{
    fs::{self, File},
    path::PathBuf,
    time::Duration,
};

pub const NAME: &str = "flat";

const OPERATIONS: [&dyn Load; 10] = [
    &asking::Introspection,
    &asking::FirstIntrospection,
    &asking::Userinfo,
    &refresh::Refresh(Identity::Es256),
    &code::Code(Identity::Es256),
    &exchange::TokenExchange,
    &ciba::Ciba,
    &device::Device,
    &registration::Registration,
    &ClientCredentials,
];

const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// The most that the most expensive size may cost of the cheapest.
const MOST: f64 = 1.5;

/// How long a round is, at most: what it writes stays in the store.
pub const ROUND: Duration = Duration::from_secs(2);

/// A store with so many people in it.
struct Filled<'a> {
    size: u32,
    installation: Installation<'a>,
    /// The file as it was filled, for each operation anew; none for the largest, which operations change little.
    original: Option<PathBuf>,
}

/// What one operation costs at each size.
struct Cost {
    name: &'static str,
    sizes: Vec<AtSize>,
}

struct AtSize {
    size: u32,
    rate: Spread,
    p50: Spread,
    cpu: Spread,
}

pub async fn measure(
    stage: &Stage,
    (plan, rounds): (Plan, usize),
    share: f64,
) -> Outcome<(Section, Picture)> {
    let stores = fill(stage, share).await?;
    for store in &stores {
        store.check(stage).await?;
    }
    let mut costs = Vec::new();
    for load in OPERATIONS {
        costs.push(Cost::of(load, (stage, &stores), (plan, rounds)).await?);
    }
    Ok((section(plan, &costs), picture(&costs)))
}

/// Makes a store of each size from the one before.
async fn fill(stage: &Stage, share: f64) -> Outcome<Vec<Filled<'_>>> {
    let most = f64::from(SIZES[3]) * share;
    let sizes: Vec<u32> = SIZES
        .into_iter()
        .filter(|size| f64::from(*size) <= most.max(f64::from(SIZES[0])))
        .collect();
    let first = Installation::prepare(stage, "flat-first")?;
    let population = Population::begin(stage, &first).await?;
    let (mut smaller, mut there) = (first.database(), 0);
    let mut stores = Vec::new();
    for (day, size) in (0..).zip(&sizes) {
        let installation = Installation::prepare(stage, &format!("flat-{size}"))?;
        let database = installation.database();
        fs::copy(&smaller, &database)?;
        let wanted = usize::try_from(*size)?;
        population.grow(&database, (there, wanted), day).await?;
        let mut store = Filled { size: *size, installation, original: None };
        if Some(size) != sizes.last() {
            let original = database.with_file_name("filled.db");
            fs::rename(&database, &original)?;
            (smaller, there) = (original.clone(), wanted);
            store.original = Some(original);
        }
        stores.push(store);
    }
    Ok(stores)
}

impl Filled<'_> {
    async fn started(&self) -> Outcome<Server> {
        if let Some(original) = &self.original {
            self.installation.empty()?;
            let database = self.installation.database();
            fs::copy(original, &database)?;
            File::open(&database)?.sync_all()?;
        }
        self.installation.started().await
    }

    /// Fails unless one of the people who were copied can sign in.
    async fn check(&self, stage: &Stage) -> Outcome<()> {
        let server = self.started().await?;
        let last = population::address(usize::try_from(self.size - 1)?);
        Portal::at(&server, &stage.scene).sign_in(&stage.scene, &last).await?;
        server.process.stop().await
    }
}

impl Cost {
    async fn of(
        load: &dyn Load,
        (stage, stores): (&Stage, &[Filled<'_>]),
        (plan, rounds): (Plan, usize),
    ) -> Outcome<Self> {
        let name = load.name();
        let mut pressed: Vec<(u32, Server, Vec<Round>)> = Vec::new();
        for store in stores {
            pressed.push((store.size, store.started().await?, Vec::new()));
        }
        // The first round counts for nothing, as in other scenarios.
        for number in 0..=rounds {
            for (size, server, shown) in &mut pressed {
                let round = rounds::one(load, &stage.scene, server, plan)
                    .await
                    .map_err(|error| format!("{name} of {size}, round {number}: {error}"))?
                    .round;
                eprintln!(
                    "{NAME} {name} {number}/{rounds} {size:8} {:9.0}/s {:7.1} µs",
                    round.rate,
                    round.cpu * 1e6
                );
                if number > 0 {
                    shown.push(round);
                }
            }
        }
        let mut sizes = Vec::new();
        for (size, server, shown) in pressed {
            server.process.stop().await?;
            let spread = |figure: fn(&Round) -> f64| Spread::of(shown.iter().map(figure));
            let (rate, p50) = (spread(|round| round.rate), spread(|round| round.p50));
            sizes.push(AtSize { size, rate, p50, cpu: spread(|round| round.cpu) });
        }
        Ok(Self { name, sizes })
    }

    /// The most expensive size by the cheapest.
    fn ratio(&self) -> f64 {
        let costs = || self.sizes.iter().map(|at| at.cpu.median);
        costs().fold(0.0, f64::max) / costs().fold(f64::MAX, f64::min)
    }

    fn line(&self) -> Line {
        let first = self.sizes[0].cpu.median;
        let point = |at: &AtSize| (at.size, at.cpu.median / first);
        Line { title: self.name, points: self.sizes.iter().map(point).collect() }
    }
}

fn section(plan: Plan, costs: &[Cost]) -> Section {
    let mut section = Section::new("Cost as a store grows");
    section.line(&format!(
        "Porteiro with so many accounts, each with a membership, a consent, a session and a token family that are alive, and \
         their lines of the security log. {} connections of people who are not among them, in a closed loop. Each size is a \
         store and a server of its own, in turn; before each operation it is as it was filled, except for the \
         largest. What an operation writes stays there for its {:?} rounds.",
        plan.connections, plan.measured
    ));
    let sizes: Vec<String> = costs
        .first()
        .into_iter()
        .flat_map(|cost| cost.sizes.iter().map(|at| thousands(&at.size.to_string())))
        .collect();
    let head: Vec<&str> =
        ["operation", "figure"].into_iter().chain(sizes.iter().map(String::as_str)).collect();
    section.table(&head);
    for cost in costs {
        let mut add = |name: &str, figure: &str, text: fn(&AtSize) -> String| {
            let cells: Vec<String> = cost.sizes.iter().map(text).collect();
            let cells = cells.iter().map(String::as_str);
            section.row(&[name, figure].into_iter().chain(cells).collect::<Vec<_>>());
        };
        add(cost.name, "server CPU, µs", |at| at.cpu.times(1e6).text(1));
        add("", "p50, ms", |at| at.p50.times(1e3).text(2));
        add("", "operations/s", |at| at.rate.text(0));
    }
    for cost in costs {
        let what = format!("{NAME}: {}: CPU, most expensive size ÷ cheapest", cost.name);
        section.verdicts.push(Bound::Ceiling(MOST).judge(what, cost.ratio(), ""));
    }
    section
}

fn picture(costs: &[Cost]) -> Picture {
    let lines: Vec<Line> = costs.iter().map(Cost::line).collect();
    let title =
        "Server CPU an operation over accounts, sessions and token families; the first size is 1";
    let about = "CPU time per operation of Porteiro with a thousand to a million accounts";
    Picture { about, svg: lines::draw((title, about), &lines, MOST) }
}
