//! What three nodes cost and what they bring, beside one: CPU time of the nodes an operation, and operations a second where a
//! node has three tenths of a core.
//!
//! Only by its name: it takes ten minutes, `--postgres` and `HAProxy`. Both installations run all the time, each with a schema
//! of its own on the same PostgreSQL server, and their rounds alternate. Requests of each connection go to one node
//! after the other.

use super::{Load, asking, code, refresh};
use crate::{
    Outcome,
    cpu_group::CpuHierarchy,
    figures::{Bound, Spread, Verdict},
    load::{Plan, Round, press},
    portal::Identity,
    report::Section,
    servers::{Stage, cluster::Cluster},
};

pub const NAME: &str = "nodes";

const LOADS: [&dyn Load; 3] =
    [&refresh::Refresh(Identity::Es256), &code::Code(Identity::Es256), &asking::Introspection];

/// How many nodes the two installations have.
const NODES: [usize; 2] = [1, 3];

/// What a node has of a core where it is capped.
const CORES: f64 = 0.3;

const MOST_CPU: f64 = 1.25;
const LEAST_RATE: f64 = 1.8;

/// A round, and seconds of CPU time of all nodes an operation.
struct Shown {
    round: Round,
    cpu: f64,
}

pub async fn measure(stage: &Stage, plan: Plan, rounds: usize) -> Outcome<Section> {
    let mut clusters = Vec::new();
    for count in NODES {
        clusters.push(Cluster::start(stage, count).await?);
    }
    let mut section = Section::new("Several nodes");
    section.line(
        "One node and three, each with HAProxy in front, which sends every request to the next node, and with a schema of its own on \
         one PostgreSQL server; rounds of both alternate. CPU time of the nodes is that of their processes, user and system, over \
         all operations of a round, also those before it is measured; the balancer, PostgreSQL and the generator run on the same \
         cores and are not in it.",
    );
    press_all(&mut section, (stage, &clusters), (plan, rounds), judge_cpu).await?;
    match cap(&mut clusters) {
        Ok(()) => {
            section.line(&format!(
                "The same where each node has {CORES} of a core, by a control group of its own:"
            ));
            press_all(&mut section, (stage, &clusters), (plan, rounds), judge_rate).await?;
        }
        Err(error) => {
            let left_out = format!("Nodes with {CORES} of a core each were left out: {error}");
            eprintln!("{NAME}: {left_out}");
            section.line(&left_out);
        }
    }
    for cluster in clusters {
        cluster.stop().await?;
    }
    Ok(section)
}

/// Gives each node its part of a core from now on.
fn cap(clusters: &mut [Cluster]) -> Outcome<()> {
    let hierarchy = CpuHierarchy::find()?;
    clusters.iter_mut().try_for_each(|cluster| cluster.cap(&hierarchy, CORES))
}

/// Presses both with each load, and judges three nodes beside one.
async fn press_all(
    section: &mut Section,
    (stage, clusters): (&Stage, &[Cluster]),
    (plan, rounds): (Plan, usize),
    judge: fn(&str, [&[Shown]; 2]) -> Verdict,
) -> Outcome<()> {
    section.table(&[
        "operation",
        "nodes",
        "operations/s",
        "p50, ms",
        "p99, ms",
        "CPU of the nodes an operation, µs",
        "of the balancer, µs",
        "generator, cores",
    ]);
    for load in LOADS {
        let shown = take_turns(load, (stage, clusters), (plan, rounds)).await?;
        for (cluster, shown) in clusters.iter().zip(&shown) {
            let of = |figure: fn(&Shown) -> f64| Spread::of(shown.iter().map(figure));
            section.row(&[
                load.name(),
                &cluster.count().to_string(),
                &of(|one| one.round.rate).text(0),
                &of(|one| one.round.p50 * 1e3).text(2),
                &of(|one| one.round.p99 * 1e3).text(2),
                &of(|one| one.cpu * 1e6).text(1),
                &of(|one| one.round.cpu * 1e6).text(1),
                &format!("{:.2}", of(|one| one.round.generator).median),
            ]);
        }
        section.verdicts.push(judge(load.name(), [&shown[0], &shown[1]]));
    }
    Ok(())
}

fn judge_cpu(name: &str, shown: [&[Shown]; 2]) -> Verdict {
    let what = format!("{NAME}: {name}: CPU an operation of three nodes ÷ one");
    Bound::Ceiling(MOST_CPU).judge(what, three_to_one(shown, |one| one.cpu), "")
}

fn judge_rate(name: &str, shown: [&[Shown]; 2]) -> Verdict {
    let what = format!("{NAME}: {name}: operations/s of three nodes ÷ one, {CORES} of a core each");
    Bound::Floor(LEAST_RATE).judge(what, three_to_one(shown, |one| one.round.rate), "")
}

fn three_to_one(shown: [&[Shown]; 2], figure: fn(&Shown) -> f64) -> f64 {
    let [one, three] = shown.map(|rounds| Spread::of(rounds.iter().map(figure)).median);
    three / one
}

/// Makes rounds of both in turn.
async fn take_turns(
    load: &dyn Load,
    (stage, clusters): (&Stage, &[Cluster]),
    (plan, rounds): (Plan, usize),
) -> Outcome<Vec<Vec<Shown>>> {
    let mut shown: Vec<Vec<Shown>> = clusters.iter().map(|_| Vec::new()).collect();
    // The first round counts for nothing.
    for number in 0..=rounds {
        for (cluster, shown) in clusters.iter().zip(&mut shown) {
            let (name, count) = (load.name(), cluster.count());
            let one = one(load, (stage, cluster), plan).await.map_err(|error| {
                format!("{NAME}, {name}, {count} nodes, round {number}: {error}")
            })?;
            eprintln!(
                "{NAME} {name} {number}/{rounds} {count} nodes {:9.0}/s, {:.1} µs of the nodes' CPU each",
                one.round.rate,
                one.cpu * 1e6
            );
            if number > 0 {
                shown.push(one);
            }
        }
    }
    Ok(shown)
}

/// Makes one round, and looks at its answers.
async fn one(load: &dyn Load, (stage, cluster): (&Stage, &Cluster), plan: Plan) -> Outcome<Shown> {
    let (scene, front) = (&stage.scene, &cluster.front);
    let scripts = load.scripts(scene, front, plan.connections).await?;
    let before = cluster.cpu()?;
    let round = press(front, scripts, plan).await?;
    let cpu = (cluster.cpu()? - before) / round.operations;
    for body in &round.samples {
        load.check(scene, front, body)?;
    }
    Ok(Shown { round, cpu })
}
