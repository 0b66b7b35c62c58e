//! What `bench/run` asks for.

use crate::{
    Outcome,
    load::{Pace, Plan},
    scenarios::{
        LOADS, Load, alerts, bound, certificates, directory, flat, growth, identifiers, issued,
        levers, live, memory, nodes, offered, passwords, pending, proofs, revoked, scim, start,
        storm,
    },
    servers::Who,
};
use std::{path::PathBuf, time::Duration};

pub struct Options {
    pub binary: PathBuf,
    /// Another build, measured in turn with it.
    pub former: Option<PathBuf>,
    pub peer: Option<PathBuf>,
    pub cast: Vec<Who>,
    /// Where rows are kept instead of in files.
    pub postgres: Option<String>,
    pub plan: Plan,
    pub rounds: usize,
    /// How often what needs a new process is measured.
    pub times: usize,
    /// How many attempts for known and unknown identifiers are compared.
    pub pairs: usize,
    /// Which part of a million exchanges is made to see what is left of them.
    pub share: f64,
    /// How many proofs of a key are used to see what is kept of them.
    pub proofs: usize,
    /// Where the report is kept; otherwise it is printed only.
    pub into: Option<PathBuf>,
    only: Option<String>,
}

const USAGE: &str = "[--quick] [--seconds N] [--rounds N] [--connections N] [--proofs N] [--without SERVER]… [--postgres URL] [--binary FILE] \
                     [--former FILE] [--peer FOLDER] [--into FOLDER] [SCENARIO]";

impl Options {
    pub fn read(arguments: &[PathBuf]) -> Outcome<Self> {
        let (warm_up, measured) = (Duration::from_secs(1), Duration::from_secs(5));
        let mut options = Self {
            binary: PathBuf::from(env!("CARGO_BIN_EXE_porteiro")),
            former: None,
            peer: None,
            cast: Who::ALL.to_vec(),
            postgres: None,
            plan: Plan { connections: 16, warm_up, measured, pace: Pace::Closed },
            rounds: 5,
            times: 5,
            pairs: 600,
            share: 1.0,
            proofs: 200_000,
            into: None,
            only: None,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let word = word.to_str().ok_or(USAGE)?;
            let mut value = || words.next().ok_or(USAGE);
            match word {
                // What cargo adds for harnesses of its own.
                "--bench" => {}
                "--quick" => options.hurry(),
                "--seconds" => {
                    let seconds = value()?.to_str().ok_or(USAGE)?.parse()?;
                    options.plan.measured = Duration::try_from_secs_f64(seconds)?;
                }
                "--rounds" => options.rounds = value()?.to_str().ok_or(USAGE)?.parse()?,
                "--connections" => {
                    options.plan.connections = value()?.to_str().ok_or(USAGE)?.parse()?;
                }
                "--proofs" => options.proofs = value()?.to_str().ok_or(USAGE)?.parse()?,
                "--without" => {
                    let name = value()?.to_str().ok_or(USAGE)?;
                    options.cast.retain(|who| who.name() != name);
                }
                "--postgres" => {
                    options.postgres = Some(value()?.to_str().ok_or(USAGE)?.to_owned());
                }
                "--binary" => options.binary.clone_from(value()?),
                "--former" => {
                    options.former = Some(value()?.clone());
                    options.cast.insert(1, Who::Former);
                }
                "--peer" => options.peer = Some(value()?.clone()),
                "--into" => options.into = Some(value()?.clone()),
                name if names().any(|known| known == name) => options.only = Some(name.to_owned()),
                other => {
                    let known = names().collect::<Vec<_>>().join(", ");
                    return Err(format!("{other}? {USAGE}\nscenarios: {known}").into());
                }
            }
        }
        // Others have reports under their names that were not written here.
        let has_report = |name: &str| [offered::NAME, flat::NAME, scim::NAME].contains(&name);
        if options.into.is_some() && options.only().is_some_and(|name| !has_report(name)) {
            return Err("of single scenarios only offered, flat and scim are kept".into());
        }
        if options.asks_for(nodes::NAME) && options.postgres.is_none() {
            return Err("nodes share a PostgreSQL server: --postgres URL".into());
        }
        if options.asks_for(flat::NAME) {
            options.plan.measured = options.plan.measured.min(flat::ROUND);
            options.cast = vec![Who::Porteiro];
        }
        if options.asks_for(scim::NAME) {
            options.cast = vec![Who::Porteiro];
        }
        Ok(options)
    }

    /// The one scenario that is asked for, if it is one.
    pub fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// Says whether a scenario is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == name)
    }

    /// Says whether a scenario is asked for by its name: some take too long for every run.
    pub fn asks_for(&self, name: &str) -> bool {
        self.only.as_deref() == Some(name)
    }

    /// Enough to see that everything works, not to believe the figures.
    fn hurry(&mut self) {
        self.plan.warm_up = Duration::from_millis(300);
        self.plan.measured = Duration::from_secs(1);
        (self.rounds, self.times, self.pairs, self.share) = (3, 2, 60, 0.01);
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let others = [
        identifiers::NAME,
        passwords::NAME,
        storm::NAME,
        memory::NAME,
        live::NAME,
        start::NAME,
        growth::NAME,
        directory::NAME,
        pending::NAME,
        revoked::NAME,
        levers::NAME,
        bound::NAME,
        certificates::NAME,
        proofs::NAME,
        issued::NAME,
        nodes::NAME,
        offered::NAME,
        flat::NAME,
        scim::NAME,
        alerts::NAME,
    ];
    LOADS.into_iter().map(Load::name).chain(others)
}
