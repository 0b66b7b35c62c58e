//! What the hashing pool costs: Argon2id verifications through it, against the bare crate.
//!
//! Both have a thread for each core, the same memory over and over, and the same priority, so that what
//! else the machine does falls on both alike. Rounds are made in turn.

use crate::{
    Outcome,
    figures::{Bound, Spread},
    load::Plan,
    report::Section,
};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use porteiro::{
    actors::hashing::{HashingOptions, HashingPool},
    crypto::password::PasswordCost,
    domain::password::Password,
};
use std::{
    num::NonZero,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

pub const NAME: &str = "passwords";

const PASSWORD: &str = "correct horse battery staple";
const SALT: [u8; 16] = *b"sixteen of these";

/// What is asked of the pool, in parts of what the bare crate does.
const WANTED: f64 = 0.9;

pub async fn measure(plan: Plan, rounds: usize) -> Outcome<Section> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    let pool = Arc::new(HashingPool::start(HashingOptions::default())?);
    let phc = pool.hash(password()?, SALT).await?;
    for round in 0..=rounds {
        let (through, without) =
            (pool_rate(&pool, &phc, plan.measured).await?, bare_rate(plan.measured));
        eprintln!("{NAME} {round}/{rounds} pool {through:.1}/s, bare {without:.1}/s");
        // The first round counts for nothing: memory is mapped in it.
        if round > 0 {
            ours.push(through);
            bare.push(without);
        }
    }
    pool.stop().await;
    let (ours, bare) = (Spread::of(ours), Spread::of(bare));
    let mut section = Section::new("Passwords");
    section.line(&format!(
        "Argon2id at our cost, {} threads each; callers of the pool wait for it twice as many at a time.",
        cores()
    ));
    section.table(&["what", "verifications/s"]);
    section.row(&["through the pool", &ours.text(1)]);
    section.row(&["the bare crate", &bare.text(1)]);
    let what = format!("{NAME}: verifications/s ÷ the bare crate");
    section.verdicts.push(Bound::Floor(WANTED).judge(what, ours.median / bare.median, ""));
    Ok(section)
}

fn password() -> Outcome<Password> {
    Ok(Password::read(PASSWORD)?)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Verifications a second through the pool, all of them right.
async fn pool_rate(pool: &Arc<HashingPool>, phc: &str, measured: Duration) -> Outcome<f64> {
    let mut callers = JoinSet::new();
    let begun = Instant::now();
    let end = begun + measured;
    for _ in 0..2 * cores() {
        let (pool, phc, given) = (pool.clone(), phc.to_owned(), password()?);
        callers.spawn(async move {
            let mut done = 0_u32;
            while Instant::now() < end {
                let verdict = pool.verify_or_decoy(given.clone(), Some(phc.clone())).await?;
                assert!(verdict.matches);
                done += 1;
            }
            Ok::<u32, porteiro::actors::hashing::HashingError>(done)
        });
    }
    let mut all = 0;
    while let Some(done) = callers.join_next().await {
        all += done??;
    }
    Ok(f64::from(all) / begun.elapsed().as_secs_f64())
}

/// Hashes a second of the bare crate, a thread a core, at the priority of the pool's threads.
fn bare_rate(measured: Duration) -> f64 {
    let begun = Instant::now();
    let end = begun + measured;
    let hash = move || {
        lower_priority();
        let PasswordCost { memory, passes, lanes } = PasswordCost::default();
        let params = Params::new(memory, passes, lanes, Some(32)).unwrap();
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let mut blocks = vec![Block::new(); usize::try_from(memory).unwrap()];
        let (mut output, mut done) = ([0; 32], 0_u32);
        while Instant::now() < end {
            let password = PASSWORD.as_bytes();
            argon2
                .hash_password_into_with_memory(password, &SALT, &mut output, &mut blocks)
                .unwrap();
            std::hint::black_box(&output);
            done += 1;
        }
        done
    };
    let threads: Vec<_> = (0..cores()).map(|_| thread::spawn(hash)).collect();
    let done = threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>();
    f64::from(done) / begun.elapsed().as_secs_f64()
}

/// As the pool does with its own threads.
fn lower_priority() {
    use rustix::process::{getpriority_process, setpriority_process};
    let this_thread = Some(rustix::thread::gettid());
    let usual = getpriority_process(this_thread).unwrap();
    let lowered = (usual + porteiro::actors::hashing::LOWERED_BY).min(19);
    setpriority_process(this_thread, lowered).unwrap();
}
