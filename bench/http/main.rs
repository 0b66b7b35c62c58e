//! The server's figures over HTTP, beside a limit and a peer: ratios within one run.
//!
//! `bench/run` builds everything, runs this and keeps the report. Three servers are started as
//! processes of their own and pressed in alternating rounds; the medians are compared.
//!
//! 1. `porteiro`: the release binary, as an operator runs it ([`servers::porteiro`]);
//! 2. `limit`: a bare server that only signs, and commits, the same ([`limit`]);
//! 3. `peer`: the npm package `oidc-provider` with its in-memory store (`bench/peer`).

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "measuring is what clocks and tasks are for here")]
#![expect(clippy::print_stdout, reason = "the report is printed")]
#![expect(clippy::print_stderr, reason = "whoever waits for minutes is told what goes on")]
#![expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

mod alarm;
mod bare;
mod connection;
mod cpu_group;
mod families;
mod figures;
mod limit;
mod lines;
mod load;
mod options;
mod plot;
mod population;
mod portal;
mod process;
mod report;
mod request;
mod rounds;
mod scenarios;
mod scene;
mod secured;
mod servers;
mod signing;
mod token;

use options::Options;
use report::{Circumstances, Picture, Section};
use rustix::process::{Signal, set_parent_process_death_signal};
use scenarios::{
    LOADS, alerts, bound, certificates, directory, flat, growth, identifiers, issued, levers, live,
    memory, nodes, offered, passwords, pending, proofs, revoked, scim, screens, start, storm,
};
use scene::Scene;
use servers::{Stage, Who};
use std::{path::PathBuf, process::ExitCode};
use tokio::signal::unix::{SignalKind, signal};

/// The limit allocates as Porteiro does.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    // Cargo does not pass on what kills it; neither the run nor the limit stays behind.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first.as_os_str() == "limit" => limit::run(rest),
        _ => Options::read(&arguments).and_then(|options| {
            // One thread: the generator shares the cores with what it measures.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(until_told_to_stop(options))
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the benchmark failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Leaves by the same door whoever asks for it, so that no server stays behind.
async fn until_told_to_stop(options: Options) -> Outcome<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        done = measure(options) => done,
        _ = terminate.recv() => Err("told to stop".into()),
        _ = interrupt.recv() => Err("interrupted".into()),
        _ = hang_up.recv() => Err("the terminal is gone".into()),
    }
}

async fn measure(options: Options) -> Outcome<()> {
    if cfg!(debug_assertions) {
        eprintln!("{}", report::UNOPTIMISED);
    }
    let folder = tempfile::tempdir()?;
    let circumstances = Circumstances {
        only: options.only().map(str::to_owned),
        plan: options.plan,
        rounds: options.rounds,
        load: report::load_now(),
    };
    let stage = Stage {
        scene: Scene::new(options.plan.connections),
        folder: folder.path().to_owned(),
        binary: options.binary.clone(),
        former: options.former.clone(),
        peer: options.peer.clone(),
        cast: options.cast.clone(),
        postgres: options.postgres.clone(),
    };
    let mut found = Found::default();
    measure_loads(&options, &stage, &mut found).await?;
    measure_others(&options, &stage, &mut found).await?;
    measure_by_name(&options, &stage, &mut found).await?;
    let body = report::body(&found.sections);
    let text = match &options.into {
        None => body,
        Some(into) => {
            report::keep(into, (&stage, &circumstances), (&body, found.picture.as_ref()))?
        }
    };
    println!("{text}");
    Ok(())
}

/// What a run has found.
#[derive(Default)]
struct Found {
    sections: Vec<Section>,
    picture: Option<Picture>,
}

/// Presses all servers with each load.
async fn measure_loads(options: &Options, stage: &Stage, found: &mut Found) -> Outcome<()> {
    let loads: Vec<_> = LOADS.into_iter().filter(|load| options.wants(load.name())).collect();
    if loads.is_empty() {
        return Ok(());
    }
    let servers = stage.raise().await?;
    let mut panels = Vec::new();
    for load in loads {
        let effort = (options.plan, options.rounds);
        let (section, drawn) = rounds::measure(load, (stage, &servers), effort).await?;
        found.sections.push(section);
        panels.extend(drawn);
    }
    if options.wants(screens::NAME) {
        found.sections.extend(screens::first_byte((stage, &servers), options.pairs).await?);
    }
    let about =
        "Operations per second and CPU time per operation of Porteiro, the limit and the peer";
    let svg = plot::draw(("Porteiro over HTTP", about), &panels);
    found.picture = Some(Picture { about, svg });
    Ok(())
}

/// Measures what is no load.
async fn measure_others(options: &Options, stage: &Stage, found: &mut Found) -> Outcome<()> {
    let sections = &mut found.sections;
    if options.wants(identifiers::NAME) && stage.cast.contains(&Who::Porteiro) {
        eprintln!("identifiers");
        sections.push(identifiers::measure(stage, options.pairs).await?);
    }
    if options.wants(passwords::NAME) {
        sections.push(passwords::measure(options.plan, options.rounds).await?);
    }
    if options.wants(storm::NAME) && stage.cast.contains(&Who::Porteiro) {
        sections.push(storm::measure(stage, options.plan, options.rounds).await?);
    }
    if options.wants(memory::NAME) {
        eprintln!("memory");
        sections.push(memory::measure(stage, options.plan, options.times).await?);
    }
    if options.wants(live::NAME) && stage.cast.contains(&Who::Porteiro) {
        eprintln!("live");
        sections.push(live::measure(stage).await?);
    }
    if options.wants(start::NAME) && stage.cast.contains(&Who::Porteiro) {
        eprintln!("start");
        sections.push(start::measure(stage, options.times).await?);
    }
    Ok(())
}

/// Measures what takes too long for every run.
async fn measure_by_name(options: &Options, stage: &Stage, found: &mut Found) -> Outcome<()> {
    let Options { plan, rounds, share, .. } = *options;
    let sections = &mut found.sections;
    if options.asks_for(growth::NAME) {
        sections.push(growth::measure(stage, plan, share).await?);
    }
    if options.asks_for(directory::NAME) {
        sections.extend(directory::measure(stage, plan, share).await?);
    }
    if options.asks_for(pending::NAME) {
        sections.push(pending::measure(stage, plan, share).await?);
    }
    if options.asks_for(revoked::NAME) {
        sections.push(revoked::measure(stage, share).await?);
    }
    if options.asks_for(levers::NAME) {
        sections.push(levers::measure(stage, share).await?);
    }
    if options.asks_for(bound::NAME) {
        sections.push(bound::measure(stage, plan, rounds).await?);
    }
    if options.asks_for(certificates::NAME) {
        sections.push(certificates::measure(stage, plan, rounds).await?);
    }
    if options.asks_for(proofs::NAME) {
        sections.push(proofs::measure(stage, plan, (options.proofs, share)).await?);
    }
    if options.asks_for(issued::NAME) {
        sections.push(issued::measure(stage, plan, (options.times, share)).await?);
    }
    if options.asks_for(nodes::NAME) {
        sections.push(nodes::measure(stage, plan, rounds).await?);
    }
    if options.asks_for(offered::NAME) {
        let (section, panels) = offered::measure(stage, plan, rounds).await?;
        sections.push(section);
        let about = "p50 and p99 of Porteiro, the limit and the peer at the same offered load";
        let svg = plot::draw(("Latency at equal offered load", about), &panels);
        found.picture = Some(Picture { about, svg });
    }
    if options.asks_for(flat::NAME) {
        let (section, picture) = flat::measure(stage, (plan, rounds), share).await?;
        sections.push(section);
        found.picture = Some(picture);
    }
    if options.asks_for(alerts::NAME) {
        sections.push(alerts::measure(stage, options.pairs).await?);
    }
    if options.asks_for(scim::NAME) {
        let (of_scim, picture) = scim::measure(stage, (plan, rounds), share).await?;
        sections.extend(of_scim);
        found.picture = Some(picture);
    }
    Ok(())
}
