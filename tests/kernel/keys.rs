//! The whole system: keys from a folder, their states in the store, passwords in the pool.

use crate::{
    ledger::{self, Ledger},
    shared::worker_threads,
    support::{World, eventually},
};
use porteiro::{
    actors::{HydrateError, INSTALLATION},
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder, Generator, Origin, Purpose},
    },
    domain::{
        Clock as _, Context,
        password::Password,
        signing_keys::{Command, SigningAlgorithm},
    },
    system::{System, SystemError, key_states},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

fn generator<'a>(folder: &'a std::path::Path, world: &World) -> Generator<'a> {
    let created_at = world.clock.now();
    Generator { folder, origin: Origin::Generate, created_at, dice: &SystemDice }
}

fn kid(system: &System, algorithm: SigningAlgorithm) -> String {
    system.keys().borrow().signer(algorithm).unwrap().kid().to_owned()
}

fn published(system: &System) -> Vec<String> {
    let keys = system.keys();
    let snapshot = keys.borrow();
    let set = snapshot.jwks["keys"].as_array().unwrap();
    set.iter().map(|jwk| jwk["kid"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_system_signs_hashes_and_ends_in_order() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    generator(&folder, &world).generate_all().unwrap();
    let system = System::start(world.system(folder)).await.unwrap();
    for algorithm in [SigningAlgorithm::Rs256, SigningAlgorithm::Es256, SigningAlgorithm::EdDsa] {
        let keys = system.keys();
        let signer = keys.borrow().signer(algorithm).unwrap().clone();
        let token = signer.sign("JWT", &serde_json::json!({ "sub": "ana" })).unwrap();
        assert_eq!(token.split('.').count(), 3);
        assert!(published(&system).contains(&signer.kid().to_owned()));
    }
    let shown = system.keys().borrow().jwks.to_string();
    assert!(!shown.contains("\"d\""), "no private half is published");
    let password = || Password::read("correct horse").unwrap();
    let hash = system.hashing().hash(password(), [1; 16]).await.unwrap();
    assert!(system.hashing().verify(password(), hash).await.unwrap().matches);
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_new_key_is_published_before_it_signs_and_the_old_one_verifies_for_a_while() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    generator(&folder, &world).generate_all().unwrap();
    let system = System::start(world.system(folder.clone())).await.unwrap();
    let es256 = SigningAlgorithm::Es256;
    let old = kid(&system, es256);
    world.clock.advance(Duration::from_secs(1));
    let new = generator(&folder, &world).generate(Purpose::Signing(es256)).unwrap().kid;
    system.reload_keys();
    eventually("publication", async || published(&system).contains(&new)).await;
    assert_eq!(kid(&system, es256), old, "not yet");
    world.clock.advance(world.tree.keys.published_for);
    eventually("promotion", async || kid(&system, es256) == new).await;
    assert!(published(&system).contains(&old), "what the old one signed still verifies");
    world.clock.advance(world.tree.keys.longest_token + Duration::from_secs(1));
    eventually("retirement", async || !published(&system).contains(&old)).await;
    assert_eq!(kid(&system, es256), new, "though its file is still there");
    assert!(system.store().verify_log(&[]).await.unwrap().findings.is_empty());
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn two_nodes_with_one_folder_publish_the_same_set() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    generator(&folder, &world).generate_all().unwrap();
    let one = System::start(world.system(folder.clone())).await.unwrap();
    let other = System::start(world.system(folder)).await.unwrap();
    assert_eq!(published(&one), published(&other));
    for algorithm in [SigningAlgorithm::Rs256, SigningAlgorithm::Es256, SigningAlgorithm::EdDsa] {
        assert_eq!(kid(&one, algorithm), kid(&other, algorithm));
    }
    assert!(one.stop(Duration::from_secs(5)).await);
    assert!(other.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_folder_that_turns_bad_changes_nothing_until_it_is_good_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new().await;
    let folder = world.folder().join("keys");
    let keys = generator(&folder, &world).generate_all().unwrap();
    let system = System::start(world.system(folder)).await.unwrap();
    let before = published(&system);
    let chmod = |mode| {
        std::fs::set_permissions(&keys[0].path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(0o644);
    system.reload_keys();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(published(&system), before);
    assert!(system.keys().borrow().signer(SigningAlgorithm::Rs256).is_some());
    chmod(0o600);
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_database_of_other_keys_is_not_touched() {
    let world = World::new().await;
    let (ours, theirs) = (world.folder().join("ours"), world.folder().join("theirs"));
    generator(&ours, &world).generate_all().unwrap();
    generator(&theirs, &world).generate_all().unwrap();
    let system = System::start(world.system(ours)).await.unwrap();
    let before = published(&system);
    let foreign = System::start(world.system(theirs)).await;
    assert!(matches!(foreign, Err(SystemError::ForeignKeys)));
    system.reload_keys();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(published(&system), before);
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_leaked_key_leaves_the_published_set_at_once() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    generator(&folder, &world).generate_all().unwrap();
    let es256 = SigningAlgorithm::Es256;
    world.clock.advance(Duration::from_secs(1));
    let next = generator(&folder, &world).generate(Purpose::Signing(es256)).unwrap().kid;
    let system = System::start(world.system(folder)).await.unwrap();
    eventually("publication", async || published(&system).contains(&next)).await;
    let leaked = kid(&system, es256);
    let revoke = Command::Revoke { kid: leaked.clone(), held: vec![next.clone()] };
    system.signing_keys().ask(&Context::operator(), INSTALLATION, revoke).await.unwrap();
    system.reload_keys();
    eventually("the successor", async || kid(&system, es256) == next).await;
    assert!(!published(&system).contains(&leaked));
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_system_without_usable_keys_does_not_start_and_touches_no_store() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    std::fs::create_dir(&folder).unwrap();
    let mut options = world.system(folder);
    let database = world.folder().join("untouched.db");
    options.store = format!("sqlite://{}", database.display());
    assert!(matches!(System::start(options).await, Err(SystemError::Keys(_))));
    assert!(!database.exists());
}

#[tokio::test]
async fn signing_keys_of_a_newer_revision_are_refused_instead_of_misread() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    generator(&folder, &world).generate_all().unwrap();
    let running = System::start(world.system(folder.clone())).await.unwrap();
    let before = published(&running);
    let mut stranger = world.stranger().await;
    let raise =
        "UPDATE entities SET revision = 3, version = version + 1 WHERE kind = 'signing_keys'";
    stranger.run(raise).await.unwrap();
    let read = key_states(running.store()).await;
    assert!(matches!(read, Err(HydrateError::TooNew { kind: "signing_keys", .. })));
    let started = System::start(world.system(folder)).await;
    assert!(matches!(started, Err(SystemError::KeyStates(HydrateError::TooNew { .. }))));
    assert_eq!(published(&running), before, "the last reading counts");
    assert!(running.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_folder_that_is_slow_to_read_keeps_nothing_else_waiting() {
    let world = World::new().await;
    let folder = world.folder().join("keys");
    generator(&folder, &world).generate_all().unwrap();
    let [slow, begun, ended] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let mut options = world.system(folder.clone());
    options.read_folder = Arc::new({
        let (slow, begun, ended) = (slow.clone(), begun.clone(), ended.clone());
        move || {
            if slow.load(SeqCst) {
                begun.store(true, SeqCst);
                let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(10));
                ended.store(true, SeqCst);
            }
            Folder::load(&folder, DevKeys::Refused)
        }
    });
    let system = System::start(options).await.unwrap();
    slow.store(true, SeqCst);
    system.reload_keys();
    eventually("a reading", async || begun.load(SeqCst)).await;
    // This runtime has one thread: had the reading taken it, nothing would be answered before its end.
    let ledgers = system.host::<Ledger>().await.unwrap();
    ledgers.ask(&Context::node(), "a", ledger::Command::Append(1)).await.unwrap();
    assert!(!ended.load(SeqCst), "the folder is still being read");
    slow.store(false, SeqCst);
    drop(release);
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_system_that_does_not_start_leaves_no_thread_and_no_lane_behind() {
    let mut world = World::new().await;
    world.tree.timeout = Duration::from_millis(500);
    let folder = world.folder().join("keys");
    generator(&folder, &world).generate_all().unwrap();
    for _ in 0..3 {
        // The folder can be read once, and by no worker after that.
        let (mut options, unread) = (world.system(folder.clone()), AtomicBool::new(true));
        let keys = folder.clone();
        options.read_folder = Arc::new(move || {
            let first = unread.swap(false, SeqCst);
            if first { Folder::load(&keys, DevKeys::Refused) } else { Err(Vec::new()) }
        });
        let refused = System::start(options).await;
        assert!(matches!(refused, Err(SystemError::NoKeys)), "{:?}", refused.err());
        let mut stranger = world.stranger().await;
        let held = stranger.run("UPDATE log_lanes SET holder = holder WHERE held_until > 0").await;
        assert_eq!(held, Ok(0), "its lanes are free for others");
    }
    eventually("the end of all threads", async || worker_threads() == 0).await;
    world.tree.timeout = Duration::from_secs(20);
    let system = System::start(world.system(folder)).await.unwrap();
    assert!(worker_threads() > 0);
    assert!(system.stop(Duration::from_secs(5)).await);
    eventually("the end of all threads", async || worker_threads() == 0).await;
}
