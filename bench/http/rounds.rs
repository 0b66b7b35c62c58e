//! Rounds in turn, so that what the machine does meanwhile falls on every server alike.

use crate::{
    Outcome,
    figures::{Spread, Verdict},
    load::{Plan, Round, press},
    plot::{Bar, Panel},
    report::Section,
    scenarios::{Compared, Load},
    scene::Scene,
    servers::{Server, Who},
};

/// What all rounds showed of one server.
struct Summary {
    who: Who,
    rate: Spread,
    p50: Spread,
    p99: Spread,
    cpu: Spread,
    generator: Spread,
}

/// Measures one scenario: its section of the report, and its panels of the plot.
pub async fn measure(
    load: &dyn Load,
    (scene, servers): (&Scene, &[Server]),
    (plan, rounds): (Plan, usize),
) -> Outcome<(Section, Vec<Panel>)> {
    let mut shown: Vec<Vec<Round>> = servers.iter().map(|_| Vec::new()).collect();
    // The first round counts for nothing: what compiles itself while it runs has by then done so.
    for number in 0..=rounds {
        for (server, shown) in servers.iter().zip(&mut shown) {
            let who = server.who.name();
            let round = one(load, scene, server, plan)
                .await
                .map_err(|error| format!("{}, {who}, round {number}: {error}", load.name()))?;
            eprintln!("{} {number}/{rounds} {who:8} {:9.0}/s", load.name(), round.rate);
            if number > 0 {
                shown.push(round);
            }
        }
    }
    let of = |(server, rounds): (&Server, &Vec<Round>)| Summary::of(server.who, rounds);
    let summaries: Vec<Summary> = servers.iter().zip(&shown).map(of).collect();
    Ok((section(load, &summaries), panels(load, &summaries)))
}

async fn one(load: &dyn Load, scene: &Scene, server: &Server, plan: Plan) -> Outcome<Round> {
    let scripts = load.scripts(scene, server, plan.connections).await?;
    let round = press(server, scripts, plan).await?;
    for body in &round.samples {
        load.check(scene, server, body)?;
    }
    Ok(round)
}

impl Summary {
    fn of(who: Who, rounds: &[Round]) -> Self {
        let spread = |figure: fn(&Round) -> f64| Spread::of(rounds.iter().map(figure));
        Self {
            who,
            rate: spread(|round| round.rate),
            p50: spread(|round| round.p50),
            p99: spread(|round| round.p99),
            cpu: spread(|round| round.cpu),
            generator: spread(|round| round.generator),
        }
    }
}

fn section(load: &dyn Load, summaries: &[Summary]) -> Section {
    let mut section = Section::new(load.name());
    section.line(load.about());
    section.table(&[
        "server",
        "requests/s",
        "p50, ms",
        "p99, ms",
        "server CPU a request, µs",
        "generator, cores",
    ]);
    for summary in summaries {
        section.row(&[
            summary.who.name(),
            &summary.rate.text(0),
            &summary.p50.times(1e3).text(2),
            &summary.p99.times(1e3).text(2),
            &summary.cpu.times(1e6).text(1),
            &format!("{:.2}", summary.generator.median),
        ]);
    }
    let ours = summaries.iter().find(|summary| summary.who == Who::Porteiro);
    let others = summaries.iter().filter(|summary| summary.who != Who::Porteiro);
    for (ours, other) in ours.into_iter().flat_map(|ours| others.clone().map(move |it| (ours, it)))
    {
        section.line(&format!(
            "Porteiro ÷ {}: {:.2} in requests a second, {:.2} in CPU time a request.",
            other.who.name(),
            ours.rate.median / other.rate.median,
            ours.cpu.median / other.cpu.median,
        ));
        section.verdicts.extend(verdicts(load, ours, other));
    }
    section
}

fn verdicts(load: &dyn Load, ours: &Summary, other: &Summary) -> Vec<Verdict> {
    let wanted = load.wanted().iter().filter(|(_, who, _)| *who == other.who);
    let judge = |(compared, who, bound): &(Compared, Who, crate::figures::Bound)| {
        let (what, figure) = match compared {
            Compared::Rate => ("requests/s", ours.rate.median / other.rate.median),
            Compared::Cpu => ("CPU a request", ours.cpu.median / other.cpu.median),
        };
        bound.judge(format!("{}: {what} ÷ {}", load.name(), who.name()), figure, "")
    };
    wanted.map(judge).collect()
}

fn panels(load: &dyn Load, summaries: &[Summary]) -> Vec<Panel> {
    let bars = |figure: fn(&Summary) -> Spread| {
        summaries.iter().map(|summary| Bar { who: summary.who, spread: figure(summary) }).collect()
    };
    vec![
        Panel {
            title: load.name().to_owned(),
            unit: "requests per second (more is better)",
            bars: bars(|summary| summary.rate),
        },
        Panel {
            title: load.name().to_owned(),
            unit: "server CPU per request, µs (less is better)",
            bars: bars(|summary| summary.cpu.times(1e6)),
        },
    ]
}
