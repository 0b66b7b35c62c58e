//! How long it takes from the command to the first answer.

use crate::{
    Outcome,
    figures::{Bound, Spread},
    process::{Process, free_port, run},
    report::Section,
    servers::{
        DISCOVERY, Stage, loopback,
        porteiro::{Installation, dev},
        until_ready,
    },
};
use std::{
    process::Command,
    time::{Duration, Instant},
};

pub const NAME: &str = "start";

pub async fn measure(stage: &Stage, times: usize) -> Outcome<Section> {
    let mut section = Section::new("Start");
    section.line(
        "From the spawning of `porteiro` to its first 200 on the discovery document, tried every \
         millisecond. The keys exist, except under `dev`, which makes them.",
    );
    section.table(&["what", "ms"]);
    let installation = Installation::prepare(stage, "start")?;
    let (mut fresh, mut existing, mut played) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times {
        installation.empty()?;
        fresh.push(until_first_answer(installation.port, || installation.serve()).await?);
    }
    installation.apply()?;
    for _ in 0..times {
        existing.push(until_first_answer(installation.port, || installation.serve()).await?);
    }
    let dev_is_there = run(Command::new(&stage.binary).args(["dev", "--help"])).is_ok();
    for number in (0..times).filter(|_| dev_is_there) {
        let (folder, port) = (stage.folder.join(format!("dev-{number}")), free_port()?);
        played.push(until_first_answer(port, || dev(stage, &folder, port)).await?);
    }
    let cases = [
        ("`serve` with a new database", fresh),
        ("`serve` with an existing database", existing),
        ("`dev` in an empty folder", played),
    ];
    for (what, took) in cases {
        if took.is_empty() {
            section.row(&[what, "not offered by this binary"]);
            continue;
        }
        let took = Spread::of(took.iter().map(Duration::as_secs_f64));
        section.row(&[what, &took.times(1e3).text(0)]);
        section.verdicts.push(Bound::Ceiling(1.0).judge(
            format!("start: {what}"),
            took.median,
            " s",
        ));
    }
    Ok(section)
}

async fn until_first_answer(
    port: u16,
    spawn: impl FnOnce() -> Outcome<Process>,
) -> Outcome<Duration> {
    let begun = Instant::now();
    let mut process = spawn()?;
    until_ready(&mut process, loopback(port), DISCOVERY).await?;
    let took = begun.elapsed();
    process.stop().await?;
    Ok(took)
}
