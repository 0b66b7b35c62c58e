//! The harness for any compiler: a bounded number of runs from the kept corpus, the same each time.
//!
//! It keeps what came to something new and goes on from there; that is less than a coverage-guided fuzzer sees, and much more
//! than chance. A panic is a finding, and so is an input that takes more than [`LONGEST_RUN`] of a processor.
//!
//! `bench/long/fuzz` runs it for long; every run of the tests runs it shortly.

use super::{
    Outcome, TARGETS, Target,
    mutator::{Numbers, mutate},
};
use rustix::time::{ClockId, clock_gettime};
use std::{
    collections::HashSet,
    fmt::Write as _,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

/// What one input may take of a processor. The longest inputs take a hundredth of it without optimisation.
const LONGEST_RUN: Duration = Duration::from_secs(2);

/// After so long without an end an input hangs, however busy the machine is.
const HANGS_AFTER: Duration = Duration::from_mins(1);

/// Runs of each target where nothing else is said.
const SHORT: usize = 150;

/// Inputs that a target goes on from.
const LARGEST_POOL: usize = 400;

/// What came of the runs of one target.
struct Summary {
    name: &'static str,
    runs: usize,
    outcomes: usize,
    slowest: Duration,
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = PathBuf::from("fuzz/corpus").join(target.name);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|why| panic!("{}: {why}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort_unstable();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Runs one input, and says what was found, with the bytes as a text of Rust.
fn feed(target: &Target, bytes: &[u8]) -> Result<(Outcome, Duration), String> {
    let began = processor_time();
    let shown = || bytes.escape_ascii().to_string();
    let ran = catch_unwind(AssertUnwindSafe(|| target.run(bytes)));
    let outcome = ran.map_err(|_| format!("{} panics on b\"{}\"", target.name, shown()))?;
    let took = processor_time().saturating_sub(began);
    if took > LONGEST_RUN {
        return Err(format!("{} takes {took:?} for b\"{}\"", target.name, shown()));
    }
    Ok((outcome, took))
}

/// Feeds a target with its corpus, and with what mutations make of it.
fn explore(
    target: &Target,
    (runs, seed): (usize, u64),
    told: &dyn Fn(&[u8]),
) -> Result<Summary, String> {
    let mut pool = corpus(target);
    assert!(!pool.is_empty(), "{}: there is nothing to begin with", target.name);
    let mut numbers = Numbers::new(seed);
    let mut outcomes = HashSet::new();
    let mut slowest = Duration::ZERO;
    let kept = pool.clone();
    let made = runs.saturating_sub(kept.len());
    let inputs = kept.into_iter().map(Some).chain(std::iter::repeat_n(None, made));
    let mut done = 0;
    for input in inputs {
        let input = input.unwrap_or_else(|| mutate(&pool, &mut numbers));
        told(&input);
        let (outcome, took) = feed(target, &input)?;
        slowest = slowest.max(took);
        if outcomes.insert(outcome) && pool.len() < LARGEST_POOL {
            pool.push(input);
        }
        done += 1;
    }
    Ok(Summary { name: target.name, runs: done, outcomes: outcomes.len(), slowest })
}

/// Runs a target in a thread of its own, so that an input that never ends is named.
fn watch(target: Target, runs: usize, seed: u64) -> Result<Summary, String> {
    let current = Arc::new(Mutex::new(Vec::new()));
    let (sender, receiver) = mpsc::channel();
    let (held, ended) = (current.clone(), sender.clone());
    let worker = thread::Builder::new().name(target.name.to_owned()).spawn(move || {
        let told = |input: &[u8]| {
            *held.lock().unwrap() = input.to_vec();
            let _ = sender.send(None);
        };
        let _ = ended.send(Some(explore(&target, (runs, seed), &told)));
    });
    worker.unwrap();
    loop {
        match receiver.recv_timeout(HANGS_AFTER) {
            Ok(None) => {}
            Ok(Some(result)) => return result,
            Err(_) => {
                let input = current.lock().unwrap().escape_ascii().to_string();
                return Err(format!("{} hangs on b\"{input}\"", target.name));
            }
        }
    }
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn no_parser_that_meets_strangers_panics_or_hangs() {
    let runs = number("PORTEIRO_FUZZ_RUNS", SHORT);
    let seed = number("PORTEIRO_FUZZ_SEED", 1) as u64;
    let only = std::env::var("PORTEIRO_FUZZ_TARGET").ok();
    let chosen = TARGETS.iter().filter(|target| only.as_ref().is_none_or(|one| one == target.name));
    let results: Vec<_> = chosen.map(|target| watch(*target, runs, seed)).collect();
    assert!(!results.is_empty(), "there is such a target");
    let findings: Vec<&String> =
        results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    if let Ok(path) = std::env::var("PORTEIRO_FUZZ_REPORT") {
        let mut report =
            String::from("| target | runs | outcomes | slowest input |\n|---|---:|---:|---:|\n");
        for Summary { name, runs, outcomes, slowest } in results.iter().flatten() {
            let slowest = slowest.as_micros();
            writeln!(report, "| `{name}` | {runs} | {outcomes} | {slowest} µs |").unwrap();
        }
        fs::write(path, report).unwrap();
    }
}

#[test]
fn the_harness_finds_a_panic_behind_several_mutations() {
    // The corpus of another target has no such word: it is put together by mutations.
    let needle = |bytes: &[u8]| {
        assert!(!bytes.windows(3).any(|part| part == b"not"), "found");
        Outcome::of(&bytes.len().min(40))
    };
    let target = Target { name: "user_codes", run: needle };
    let found = watch(target, 20_000, 1).err().expect("a finding");
    assert!(found.starts_with("user_codes panics on b\""), "{found}");
}

#[test]
fn every_target_has_its_corpus_and_its_file_for_cargo_fuzz() {
    let manifest = fs::read_to_string("fuzz/Cargo.toml").unwrap();
    let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert!(names.is_sorted());
    for name in &names {
        let file = fs::read_to_string(format!("fuzz/fuzz_targets/{name}.rs")).unwrap();
        assert!(file.contains(&format!("porteiro::fuzzing::run(\"{name}\", bytes)")), "{name}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
    for folder in ["fuzz/corpus", "fuzz/fuzz_targets"] {
        let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<String> =
            found.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        found.sort_unstable();
        assert_eq!(found, names, "{folder}");
    }
    names.dedup();
    assert_eq!(names.len(), TARGETS.len());
}
