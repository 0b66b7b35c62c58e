use super::*;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::{task::JoinSet, time::sleep};

const SALT: [u8; 16] = *b"sixteen of these";

fn options() -> HashingOptions {
    HashingOptions {
        workers: 2,
        waiting: 1,
        idle: Duration::from_mins(10),
        cost: PasswordCost::CHEAP,
    }
}

fn pool(options: HashingOptions) -> Arc<HashingPool> {
    Arc::new(HashingPool::start(options).unwrap())
}

fn secret() -> Password {
    Password::read("correct horse").unwrap()
}

/// Waits until `holds`; the test's own limit ends it when it never does.
async fn until(pool: &HashingPool, holds: impl Fn(Vitals) -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        while !holds(pool.vitals()) {
            sleep(Duration::from_millis(2)).await;
        }
    });
    assert!(waited.await.is_ok(), "{:?}", pool.vitals());
}

/// A job that runs until it is let go or its holder is dropped.
fn held() -> (Sender<()>, impl FnOnce(&mut Memory) + Send) {
    let (release, released): (_, Receiver<()>) = channel();
    (release, move |_: &mut Memory| {
        let _ = released.recv();
    })
}

type Outcomes = JoinSet<Result<(), HashingError>>;

/// Occupies every worker; they work until what is returned is dropped.
async fn occupy(pool: &Arc<HashingPool>, tasks: &mut Outcomes) -> Vec<Sender<()>> {
    let mut releases = Vec::new();
    for _ in 0..2 {
        let (release, job) = held();
        releases.push(release);
        let pool = pool.clone();
        tasks.spawn(async move { pool.run(job).await });
    }
    until(pool, |vitals| vitals.busy == 2).await;
    releases
}

#[tokio::test]
async fn a_password_hashed_in_the_pool_is_verified_in_the_pool() {
    let pool = pool(options());
    let phc = pool.hash(secret(), SALT).await.unwrap();
    let fresh = password::hash(b"correct horse", SALT, options().cost, &mut Memory::default());
    assert_eq!(Ok(&phc), fresh.as_ref());
    for _ in 0..10 {
        assert_eq!(pool.hash(secret(), SALT).await.as_ref(), Ok(&phc));
    }
    let verdict = pool.verify(secret(), phc.clone()).await.unwrap();
    assert!(verdict.matches && !verdict.needs_rehash);
    assert!(!pool.verify(Password::read("wrong").unwrap(), phc).await.unwrap().matches);
    assert_eq!(pool.vitals().done, 13);
}

#[tokio::test]
async fn an_account_without_a_password_costs_one_computation_too_and_is_wrong() {
    let pool = pool(options());
    let phc = pool.hash(secret(), SALT).await.unwrap();
    for (phc, matches) in [(Some(phc), true), (None, false), (None, false)] {
        let done = pool.vitals().done;
        let verdict = pool.verify_or_decoy(secret(), phc).await.unwrap();
        assert_eq!(verdict, Verdict { matches, needs_rehash: false });
        assert_eq!(pool.vitals().done, done + 1);
    }
}

#[tokio::test]
async fn a_hash_from_elsewhere_is_verified_and_a_hostile_one_rejected() {
    let pool = pool(options());
    let dear = PasswordCost { memory: 128, ..options().cost };
    let phc = password::hash(b"correct horse", SALT, dear, &mut Memory::default()).unwrap();
    assert!(pool.verify(secret(), phc).await.unwrap().needs_rehash);
    assert_eq!(pool.vitals().shelved, 0, "memory of unusual size is not kept");

    let hostile = "$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA";
    let outcome = pool.verify(secret(), hostile.to_owned()).await;
    assert_eq!(outcome, Err(HashingError::Rejected(PasswordError::Unbearable)));
    assert_eq!(pool.vitals().panicked, 0);
}

/// What time tells in earnest is measured by `bench/run identifiers`; a busy machine cannot judge it.
#[tokio::test]
async fn time_does_not_tell_whose_hash_was_imported_at_another_cost() {
    let cost = PasswordCost { memory: 2_048, ..options().cost };
    let pool = pool(HashingOptions { cost, ..options() });
    pool.verify_or_decoy(secret(), None).await.unwrap();
    let of_cost = |parameters: &str| {
        let (salt, output) = ("c29tZXNhbHQ", "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4");
        Some(format!("$argon2id$v=19${parameters}${salt}${output}"))
    };
    for phc in [
        None,
        of_cost("m=2048,t=1,p=1"),
        of_cost("m=8,t=1,p=1"),
        of_cost("m=256,t=2,p=1"),
        of_cost("m=8192,t=2,p=4"),
    ] {
        let (floor, begun) = (pool.wrong_after(), Stopwatch::start());
        let verdict = pool.verify_or_decoy(secret(), phc.clone()).await.unwrap();
        assert!(!verdict.matches && floor > Duration::ZERO);
        assert!(begun.elapsed() >= floor, "told too soon of {phc:?}");
    }
}

#[tokio::test]
async fn a_right_password_does_not_wait() {
    let cost = PasswordCost { memory: 4_096, ..options().cost };
    let pool = pool(HashingOptions { cost, ..options() });
    pool.verify_or_decoy(secret(), None).await.unwrap();
    let phc = pool.hash(secret(), SALT).await.unwrap();
    let (mut quickest, floor) = (Duration::MAX, pool.wrong_after());
    for _ in 0..5 {
        let begun = Stopwatch::start();
        assert!(pool.verify_or_decoy(secret(), Some(phc.clone())).await.unwrap().matches);
        quickest = quickest.min(begun.elapsed());
    }
    assert!(quickest < floor, "{quickest:?} {floor:?}");
}

#[tokio::test]
async fn without_a_permit_a_caller_is_refused_at_once_and_every_permit_returns() {
    let pool = pool(options());
    let mut tasks = JoinSet::new();
    let releases = occupy(&pool, &mut tasks).await;
    let (_, quick) = held();
    let waiting = pool.clone();
    tasks.spawn(async move { waiting.run(quick).await });
    until(&pool, |vitals| vitals.free == 0).await;

    for _ in 0..100 {
        assert_eq!(pool.hash(secret(), SALT).await, Err(HashingError::Busy));
    }
    assert_eq!(pool.vitals().refused, 100);
    drop(releases);
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    until(&pool, |vitals| vitals.free == 3 && vitals.busy == 0).await;
    assert!(pool.hash(secret(), SALT).await.is_ok());
}

#[tokio::test]
async fn a_permit_may_be_reserved_before_the_job_is_known_and_goes_back_unused() {
    let pool = pool(options());
    let permits: Vec<Permit> = (0..3).map(|_| pool.reserve().unwrap()).collect();
    assert_eq!(pool.hash(secret(), SALT).await, Err(HashingError::Busy));
    assert!(pool.reserve().is_err());
    assert_eq!((pool.vitals().refused, pool.vitals().free), (2, 0));
    drop(permits);
    assert_eq!(pool.vitals().free, 3);
    let verdict = pool.verify_reserved(pool.reserve().unwrap(), secret(), None).await.unwrap();
    assert!(!verdict.matches);
    assert_eq!(pool.vitals().free, 3);
    pool.stop().await;
    assert!(matches!(pool.reserve(), Err(HashingError::Stopped)));
}

#[tokio::test]
async fn a_panic_fails_its_own_caller_and_the_pool_serves_on() {
    let pool = pool(options());
    pool.hash(secret(), SALT).await.unwrap();
    assert_eq!(pool.vitals().shelved, 1);
    for _ in 0..20 {
        let outcome: Result<(), _> = pool.run(|_| panic!("on purpose")).await;
        assert_eq!(outcome, Err(HashingError::Failed));
    }
    let vitals = pool.vitals();
    assert_eq!((vitals.panicked, vitals.busy, vitals.free), (20, 0, 3));
    assert_eq!(vitals.shelved, 0, "memory that saw a panic is not used again");
    let mut tasks = JoinSet::new();
    drop(occupy(&pool, &mut tasks).await);
    assert!(tasks.join_all().await.iter().all(Result::is_ok), "both workers are alive");
    assert!(pool.hash(secret(), SALT).await.is_ok());
}

#[tokio::test]
async fn memory_is_reused_while_it_is_wanted_and_given_back_when_it_is_not() {
    let pool = pool(HashingOptions { idle: Duration::from_millis(50), ..options() });
    for _ in 0..2 {
        pool.hash(secret(), SALT).await.unwrap();
        until(&pool, |vitals| vitals.shelved == 0).await;
    }
    let patient = self::pool(options());
    patient.hash(secret(), SALT).await.unwrap();
    let size = patient.run(|memory| memory.size()).await;
    assert_eq!(size, Ok(64), "the second job is given the memory of the first");
    assert_eq!(patient.vitals().shelved, 1);
}

#[tokio::test]
async fn a_job_whose_caller_left_before_it_began_is_skipped() {
    let pool = pool(options());
    let mut tasks = JoinSet::new();
    let releases = occupy(&pool, &mut tasks).await;
    let mut leaving: Outcomes = JoinSet::new();
    let theirs = pool.clone();
    leaving.spawn(async move { theirs.run(|_| panic!("never begun")).await });
    until(&pool, |vitals| vitals.free == 0).await;
    leaving.shutdown().await;
    assert_eq!(pool.vitals().free, 0, "the permit stays until a worker has seen the job");

    drop(releases);
    until(&pool, |vitals| vitals.free == 3).await;
    let vitals = pool.vitals();
    assert_eq!((vitals.abandoned, vitals.panicked, vitals.done), (1, 0, 2));
}

#[tokio::test]
async fn a_job_whose_caller_left_while_it_ran_keeps_its_permit_until_it_is_done() {
    let pool = pool(options());
    let mut tasks = JoinSet::new();
    let releases = occupy(&pool, &mut tasks).await;
    tasks.shutdown().await;
    let vitals = pool.vitals();
    assert_eq!((vitals.busy, vitals.free), (2, 1));
    drop(releases);
    until(&pool, |vitals| vitals.free == 3 && vitals.done == 2).await;
}

#[tokio::test]
async fn stopping_finishes_what_runs_and_refuses_what_waits() {
    let pool = pool(options());
    let mut running = JoinSet::new();
    let releases = occupy(&pool, &mut running).await;
    let mut waiting = JoinSet::new();
    let theirs = pool.clone();
    waiting.spawn(async move { theirs.hash(secret(), SALT).await });
    until(&pool, |vitals| vitals.free == 0).await;

    let mut stopping = JoinSet::new();
    let theirs = pool.clone();
    stopping.spawn(async move { theirs.stop().await });
    until(&pool, |_| pool.common.permits.is_closed()).await;
    assert_eq!(pool.hash(secret(), SALT).await, Err(HashingError::Stopped));
    assert!(stopping.try_join_next().is_none(), "it waits for what runs");

    drop(releases);
    stopping.join_all().await;
    assert!(running.join_all().await.iter().all(Result::is_ok));
    assert_eq!(waiting.join_all().await, [Err(HashingError::Stopped)]);
    let vitals = pool.vitals();
    assert_eq!((vitals.busy, vitals.shelved, vitals.done), (0, 0, 2));
    pool.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_caller_is_left_waiting_when_the_pool_stops_under_load() {
    for _ in 0..20 {
        let pool = pool(HashingOptions { waiting: 8, ..options() });
        let mut tasks = JoinSet::new();
        for _ in 0..16 {
            let theirs = pool.clone();
            tasks.spawn(async move {
                while theirs.run(|_| ()).await != Err(HashingError::Stopped) {
                    tokio::task::yield_now().await;
                }
            });
        }
        until(&pool, |vitals| vitals.done > 50).await;
        pool.stop().await;
        tasks.join_all().await;
        assert_eq!(pool.vitals().free, 10);
    }
}

#[tokio::test]
async fn a_pool_that_is_dropped_ends_by_itself_and_does_not_make_anyone_wait() {
    let pool = HashingPool::start(options()).unwrap();
    pool.hash(secret(), SALT).await.unwrap();
    let common = Arc::downgrade(&pool.common);
    let (release, job) = held();
    let mut asking = Box::pin(pool.run(job));
    tokio::select! {
        biased;
        _ = &mut asking => unreachable!("it is held"),
        () = until(&pool, |vitals| vitals.busy == 1) => {}
    }
    drop(asking);
    drop(pool);
    assert!(common.upgrade().is_some(), "the worker is still at it");
    drop(release);
    while common.strong_count() > 0 {
        sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_hash_that_is_too_dear_is_rejected_by_the_pool_as_well() {
    let cost = PasswordCost { memory: u32::MAX, ..PasswordCost::CHEAP };
    let pool = pool(HashingOptions { cost, ..options() });
    let outcome = pool.hash(secret(), SALT).await;
    assert_eq!(outcome, Err(HashingError::Rejected(PasswordError::Unbearable)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn workers_run_at_lower_priority_than_the_rest() {
    let pool = pool(options());
    let priority = || rustix::process::getpriority_process(Some(rustix::thread::gettid()));
    let ours = priority().unwrap();
    assert_eq!(pool.run(move |_| priority().unwrap()).await, Ok((ours + LOWERED_BY).min(19)));
    assert_eq!(priority().unwrap(), ours);
}
