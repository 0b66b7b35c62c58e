//! The report: what was measured, how, and what was wanted.

use crate::{
    Outcome,
    figures::Verdict,
    load::Plan,
    process::run,
    servers::{Stage, Who, peer},
};
use std::{fmt::Write as _, fs, path::Path, process::Command};

/// One part of the report.
pub struct Section {
    title: String,
    text: String,
    pub verdicts: Vec<Verdict>,
}

impl Section {
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), text: String::new(), verdicts: Vec::new() }
    }

    /// Adds a paragraph.
    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "\n{line}");
    }

    /// Begins a table.
    pub fn table(&mut self, columns: &[&str]) {
        let _ = writeln!(self.text, "\n| {} |", columns.join(" | "));
        let _ = writeln!(self.text, "|{}", "---|".repeat(columns.len()));
    }

    pub fn row(&mut self, cells: &[&str]) {
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }
}

/// Writes the sections and the table of targets, as Markdown.
pub fn body(sections: &[Section]) -> String {
    let mut text = String::new();
    let mut targets = Section::new("Targets");
    targets.table(&["what", "measured", "wanted", ""]);
    for verdict in sections.iter().flat_map(|section| &section.verdicts) {
        let Verdict { what, measured, wanted, holds } = verdict;
        targets.row(&[what, measured, wanted, if *holds { "PASS" } else { "short" }]);
    }
    let targets = sections.iter().any(|section| !section.verdicts.is_empty()).then_some(&targets);
    for section in targets.into_iter().chain(sections) {
        let _ = writeln!(text, "## {}\n{}", section.title, section.text);
    }
    text
}

/// A picture of the figures.
pub struct Picture {
    /// What it shows.
    pub about: &'static str,
    pub svg: String,
}

/// How the run was made.
pub struct Circumstances {
    /// The one scenario that was asked for, if it was one.
    pub only: Option<String>,
    pub plan: Plan,
    pub rounds: usize,
    /// The load of the machine before anything was started.
    pub load: String,
}

/// Reads how much the machine had to do in the last minute.
pub fn load_now() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Said where the compiler was not asked for speed.
pub const UNOPTIMISED: &str = "This is not a release build: its figures mean nothing.";

/// Writes what a reader must know before the figures.
fn preface(stage: &Stage, circumstances: &Circumstances) -> Outcome<String> {
    let date = run(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let cores = std::thread::available_parallelism()?;
    let Circumstances { only, plan, rounds, load } = circumstances;
    let Plan { connections, warm_up, measured, .. } = plan;
    let revision = run(Command::new("git").args(["describe", "--always", "--dirty"]));
    let revision = revision.map_or(String::new(), |revision| format!(" at {revision}"));
    let (title, command) = match only {
        None => ("Over HTTP, measured".to_owned(), "bench/run".to_owned()),
        Some(name) => (format!("Over HTTP, measured: {name}"), format!("bench/run {name}")),
    };
    let mut text = format!(
        "# {title}\n\n\
         By `{command}`, {date}, on {cores} cores ({}), load {load} before the run.\n\
         {}{revision}",
        processor(),
        run(Command::new(&stage.binary).arg("--version"))?,
    );
    if let Some(folder) = stage.peer.as_ref().filter(|_| stage.cast.contains(&Who::Peer)) {
        let _ = write!(text, "; {}", peer::versions(folder)?);
    }
    let _ = writeln!(
        text,
        ".\n\n\
         {connections} connections, each with at most one request under way; {rounds} rounds of \
         {measured:?} for each server in turn, each after {warm_up:?} of the same load unmeasured, \
         and all after one round that counts for nothing. \
         Figures are medians of rounds, in brackets the least and the most. Every answer was the one \
         that was asked for, or there would be no report; of the answers a sample was looked at, and \
         its tokens verified with the published keys.\n\n\
         | server | what it does |\n|---|---|"
    );
    for who in &stage.cast {
        let _ = writeln!(text, "| {} | {} |", who.name(), described(*who));
    }
    if cfg!(debug_assertions) {
        let _ = writeln!(text, "\n**{UNOPTIMISED}**");
    }
    Ok(text)
}

/// Keeps a report, and its picture beside it, in a folder; returns its text.
pub fn keep(
    folder: &Path,
    (stage, circumstances): (&Stage, &Circumstances),
    (body, picture): (&str, Option<&Picture>),
) -> Outcome<String> {
    let name = circumstances.only.as_deref().unwrap_or("http");
    let mut text = preface(stage, circumstances)?;
    fs::create_dir_all(folder)?;
    if let Some(Picture { about, svg }) = picture {
        let _ = write!(text, "\n![{about}]({name}.svg)\n");
        fs::write(folder.join(format!("{name}.svg")), svg)?;
    }
    let _ = write!(text, "\n{body}");
    if circumstances.only.is_none() {
        text.push_str(READING);
    }
    fs::write(folder.join(format!("{name}.md")), &text)?;
    Ok(text)
}

/// What is to be said of the figures.
const READING: &str = "\
## How to read it

- Ratios within this run are what counts; absolute rates say little about other machines.
- How far the rounds of one server lie apart says how much a small difference between two means.
- The generator runs on the same cores as the server. Where it needs most of one core (last column), a
  fast server waits for it, and ratios of operations per second come out closer to 1 than they are.
  CPU time an operation is free of that, but counted in steps of 10 ms a round.
- The limit is not a server anyone could run: it believes everyone. What lies between it and Porteiro
  is the price of reading, checking and looking up; of request ids, security headers and metrics.
- Node runs JavaScript in one thread. On more cores one would run several of the peer; CPU time an
  operation is the fairer comparison.
- client_credentials writes nothing in any of the three. In code and refresh Porteiro and the limit
  wait until each of their commits is on the disk (SQLite, WAL, `synchronous=FULL`); the peer keeps
  everything in memory, and loses it with the process. Rate limits of Porteiro's are off.
- A page of a flow is drawn anew for each request, with a nonce of its own; the limit's is a file of the
  same size from memory, without the headers and cookies that Porteiro's has.
- All of it is plain HTTP/1.1 on loopback: no TLS, no network, no proxy.
";

fn described(who: Who) -> &'static str {
    match who {
        Who::Porteiro => {
            "the release binary under `serve`, SQLite, everything that stands around an endpoint in place"
        }
        Who::Former => "the release binary of another commit, set up in the same way",
        Who::Limit => {
            "bare axum: validates nothing, reads the request, commits a row where Porteiro commits, signs \
             the same claims with the same library and key, answers; documents are Porteiro's, from memory"
        }
        Who::Peer => {
            "the npm package `oidc-provider`, certified, with its in-memory adapter; the same client, \
             scopes, claims, lifetime and algorithm; one process, `NODE_ENV=production`"
        }
    }
}

fn processor() -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or("of an unknown kind".to_owned(), |(_, name)| name.trim().to_owned())
}
