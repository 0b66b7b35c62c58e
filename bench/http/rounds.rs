//! Rounds in turn, so that what the machine does meanwhile falls on every server alike.

use crate::{
    Outcome,
    bare::Bare,
    figures::{Bound, Spread, Verdict, judge_tail},
    load::{Plan, Round, press},
    plot::{Bar, Panel},
    report::Section,
    scenarios::{Compared, Load, Wanted},
    scene::Scene,
    servers::{Server, Stage, Who},
};

/// What all rounds showed of one server.
struct Summary {
    who: Who,
    rate: Spread,
    p50: Spread,
    p99: Spread,
    cpu: Spread,
    generator: Spread,
    /// Commits waited for in an operation, of whoever tells.
    commits: Option<Spread>,
    /// Bytes by which an operation made the process grow.
    growth: Spread,
}

/// A round and what was asked of the server before and after it.
pub struct Looked {
    pub round: Round,
    pub commits: Option<f64>,
    growth: f64,
}

/// Measures one scenario: its section of the report, and its panels of the plot.
pub async fn measure(
    load: &dyn Load,
    (stage, servers): (&Stage, &[Server]),
    (plan, rounds): (Plan, usize),
) -> Outcome<(Section, Vec<Panel>)> {
    let servers: Vec<&Server> = servers.iter().filter(|one| load.is_for(one.who)).collect();
    let mut shown: Vec<Vec<Looked>> = servers.iter().map(|_| Vec::new()).collect();
    let mut bare = match load.most_commits() {
        Some(_) => Some(Bare::open(stage, load.name()).await?),
        None => None,
    };
    // The first round counts for nothing: what compiles itself while it runs has by then done so.
    for number in 0..=rounds {
        for (server, shown) in servers.iter().copied().zip(&mut shown) {
            let who = server.who.name();
            let looked = one(load, &stage.scene, server, plan)
                .await
                .map_err(|error| format!("{}, {who}, round {number}: {error}", load.name()))?;
            eprintln!("{} {number}/{rounds} {who:8} {:9.0}/s", load.name(), looked.round.rate);
            if number > 0 {
                shown.push(looked);
            }
        }
        if let Some(bare) = &mut bare {
            bare.press(plan).await?;
            if number == 0 {
                bare.forget();
            }
        }
    }
    let of = |(server, rounds): (&Server, &Vec<Looked>)| Summary::of(server.who, rounds);
    let summaries: Vec<Summary> = servers.iter().copied().zip(&shown).map(of).collect();
    let wanted = if stage.postgres.is_some() { load.wanted_on_postgres() } else { load.wanted() };
    let mut section = section(load, wanted, &summaries);
    if let (Some(bare), Some(most)) = (bare, load.most_commits()) {
        let ours = summaries.iter().find(|summary| summary.who == Who::Porteiro);
        add_commits(&mut section, (load.name(), most), ours, bare.close().await);
    }
    Ok((section, panels(load, &summaries)))
}

/// Makes one round, and looks at its answers.
pub async fn one(load: &dyn Load, scene: &Scene, server: &Server, plan: Plan) -> Outcome<Looked> {
    let scripts = load.scripts(scene, server, plan.connections).await?;
    let (commits, resident) = (server.commits().await?, server.process.resident()?);
    let round = press(server, scripts, plan).await?;
    let grown = server.process.resident()? - resident;
    let committed = server.commits().await?.zip(commits).map(|(after, before)| after - before);
    for body in &round.samples {
        load.check(scene, server, body)?;
    }
    let commits = committed.map(|commits| commits / round.operations);
    Ok(Looked { commits, growth: grown / round.operations, round })
}

/// Divides rounds by others of the same server that took turns with them, pair by pair: in operations a second, which is judged,
/// and in what an operation cost the server.
pub fn set_beside<'a>(
    section: &mut Section,
    (name, rounds): (&str, impl Iterator<Item = &'a Round> + Clone),
    (other, beside): (&str, impl Iterator<Item = &'a Round> + Clone),
    floor: f64,
) {
    let ratio = |figure: fn(&Round) -> f64| {
        let pairs = rounds.clone().zip(beside.clone());
        Spread::of(pairs.map(|(one, other)| figure(one) / figure(other)))
    };
    let (rate, cpu) = (ratio(|round| round.rate), ratio(|round| 1.0 / round.cpu));
    let what = format!("{name} ÷ {other}");
    section.line(&format!(
        "{what}: {} in operations a second, {} in operations a second of the server's CPU time.",
        rate.text(2),
        cpu.text(2)
    ));
    section.verdicts.push(Bound::Floor(floor).judge(what, rate.median, ""));
}

impl Summary {
    fn of(who: Who, rounds: &[Looked]) -> Self {
        let spread =
            |figure: fn(&Round) -> f64| Spread::of(rounds.iter().map(|it| figure(&it.round)));
        let commits: Vec<f64> = rounds.iter().filter_map(|it| it.commits).collect();
        Self {
            who,
            rate: spread(|round| round.rate),
            p50: spread(|round| round.p50),
            p99: spread(|round| round.p99),
            cpu: spread(|round| round.cpu),
            generator: spread(|round| round.generator),
            commits: (!commits.is_empty()).then(|| Spread::of(commits)),
            growth: Spread::of(rounds.iter().map(|it| it.growth)),
        }
    }
}

fn section(load: &dyn Load, wanted: &[Wanted], summaries: &[Summary]) -> Section {
    let mut section = Section::new(load.name());
    section.line(load.about());
    section.table(&[
        "server",
        "operations/s",
        "p50, ms",
        "p99, ms",
        "server CPU an operation, µs",
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
            "Porteiro ÷ {}: {:.2} in operations a second, {:.2} in CPU time an operation.",
            other.who.name(),
            ours.rate.median / other.rate.median,
            ours.cpu.median / other.cpu.median,
        ));
        section.verdicts.extend(verdicts((load.name(), wanted), ours, other));
    }
    section
}

/// Adds how often, and for how long, Porteiro waited for commits.
fn add_commits(
    section: &mut Section,
    (name, most): (&str, f64),
    ours: Option<&Summary>,
    (p50, p99): (Spread, Spread),
) {
    section.line(&format!(
        "A bare durable commit, as many at a time, in rounds between those: p50 {} ms, p99 {} ms.",
        p50.times(1e3).text(2),
        p99.times(1e3).text(2),
    ));
    let Some(ours) = ours else { return };
    if let Some(commits) = ours.commits {
        section.line(&format!(
            "Porteiro waited for {} commits in an operation, and its resident memory grew by {} \
             bytes in each: whoever was asked for something stays awake for two minutes.",
            commits.text(3),
            ours.growth.text(0),
        ));
        let what = format!("{name}: commits awaited in an operation");
        section.verdicts.push(Bound::Ceiling(most).judge(what, commits.median, ""));
    }
    section.verdicts.push(judge_tail(name, (ours.p50.median, ours.p99.median), p99.median));
}

fn verdicts((name, wanted): (&str, &[Wanted]), ours: &Summary, other: &Summary) -> Vec<Verdict> {
    let wanted = wanted.iter().filter(|(_, who, _)| *who == other.who);
    let judge = |(compared, who, bound): &Wanted| {
        let (what, figure) = match compared {
            Compared::Rate => ("operations/s", ours.rate.median / other.rate.median),
            Compared::Cpu => ("CPU an operation", ours.cpu.median / other.cpu.median),
        };
        bound.judge(format!("{name}: {what} ÷ {}", who.name()), figure, "")
    };
    // Another build is compared in every scenario: none may have become slower.
    let former = [(Compared::Rate, Who::Former, Bound::Floor(0.95))];
    let former = former.iter().filter(|_| other.who == Who::Former);
    wanted.chain(former).map(judge).collect()
}

fn panels(load: &dyn Load, summaries: &[Summary]) -> Vec<Panel> {
    let bars = |figure: fn(&Summary) -> Spread| {
        summaries.iter().map(|summary| Bar { who: summary.who, spread: figure(summary) }).collect()
    };
    vec![
        Panel {
            title: load.name().to_owned(),
            unit: "operations per second (more is better)",
            bars: bars(|summary| summary.rate),
        },
        Panel {
            title: load.name().to_owned(),
            unit: "server CPU per operation, µs (less is better)",
            bars: bars(|summary| summary.cpu.times(1e6)),
        },
    ]
}
