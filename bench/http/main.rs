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

mod bare;
mod connection;
mod families;
mod figures;
mod limit;
mod load;
mod options;
mod plot;
mod portal;
mod process;
mod report;
mod request;
mod rounds;
mod scenarios;
mod scene;
mod servers;
mod signing;
mod token;

use options::Options;
use report::Circumstances;
use rustix::process::{Signal, set_parent_process_death_signal};
use scenarios::{
    LOADS, directory, growth, identifiers, live, memory, passwords, pending, revoked, screens,
    start, storm,
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
    let circumstances =
        Circumstances { plan: options.plan, rounds: options.rounds, load: report::load_now() };
    let stage = Stage {
        scene: Scene::new(options.plan.connections),
        folder: folder.path().to_owned(),
        binary: options.binary.clone(),
        peer: options.peer.clone(),
        cast: options.cast.clone(),
        postgres: options.postgres.clone(),
    };
    let (mut sections, mut panels) = (Vec::new(), Vec::new());
    let loads: Vec<_> = LOADS.into_iter().filter(|load| options.wants(load.name())).collect();
    if !loads.is_empty() {
        let servers = stage.raise().await?;
        for load in loads {
            let effort = (options.plan, options.rounds);
            let (section, drawn) = rounds::measure(load, (&stage, &servers), effort).await?;
            sections.push(section);
            panels.extend(drawn);
        }
        if options.wants(screens::NAME) {
            sections.extend(screens::first_byte(&servers, options.pairs).await?);
        }
    }
    if options.wants(identifiers::NAME) && stage.cast.contains(&Who::Porteiro) {
        eprintln!("identifiers");
        sections.push(identifiers::measure(&stage, options.pairs).await?);
    }
    if options.wants(passwords::NAME) {
        sections.push(passwords::measure(options.plan, options.rounds).await?);
    }
    if options.wants(storm::NAME) && stage.cast.contains(&Who::Porteiro) {
        sections.push(storm::measure(&stage, options.plan, options.rounds).await?);
    }
    if options.wants(memory::NAME) {
        eprintln!("memory");
        sections.push(memory::measure(&stage, options.plan, options.times).await?);
    }
    if options.wants(live::NAME) && stage.cast.contains(&Who::Porteiro) {
        eprintln!("live");
        sections.push(live::measure(&stage).await?);
    }
    if options.wants(start::NAME) && stage.cast.contains(&Who::Porteiro) {
        eprintln!("start");
        sections.push(start::measure(&stage, options.times).await?);
    }
    if options.asks_for(growth::NAME) {
        sections.push(growth::measure(&stage, options.plan, options.share).await?);
    }
    if options.asks_for(directory::NAME) {
        sections.extend(directory::measure(&stage, options.plan, options.share).await?);
    }
    if options.asks_for(pending::NAME) {
        sections.push(pending::measure(&stage, options.plan, options.share).await?);
    }
    if options.asks_for(revoked::NAME) {
        sections.push(revoked::measure(&stage, options.share).await?);
    }
    let body = report::body(&sections);
    let Some(into) = &options.into else {
        println!("{body}");
        return Ok(());
    };
    let preface = report::preface(&stage, &circumstances)?;
    let plot = "![Operations per second and CPU time per operation](http.svg)";
    let text = format!("{preface}\n{plot}\n\n{body}{}", report::READING);
    std::fs::create_dir_all(into)?;
    std::fs::write(into.join("http.md"), &text)?;
    std::fs::write(into.join("http.svg"), plot::draw(&panels))?;
    println!("{text}");
    Ok(())
}
