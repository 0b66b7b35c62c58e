//! Applying files while others are at work, and files that are large.

use super::{EXAMPLE, INVOICES, SECRET, Shop, file, lines, make_keys, workbench};
use crate::{
    ledger::{Command, Ledger},
    support::eventually,
};
use porteiro::{
    clock::Stopwatch,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::{Context, Provisioned, client::Client, organization::Organization},
    provisioning::{ApplyError, apply, plan},
    store::CommitError,
    system::{System, SystemError, Workbench},
};
use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

/// Clients of one organization, each with a secret, a redirect, scopes and a role.
fn clients(count: usize, name: &str) -> String {
    let mut text = EXAMPLE.to_owned();
    for number in 0..count {
        write!(
            text,
            "[[client]]\nclient_id = \"c{number}\"\nclient_secret = \"{SECRET}\"\n\
             organization = \"acme\"\nroles = [\"clerk\"]\nclient_name = \"{name}\"\n\
             redirect_uris = [\"https://c{number}.example/\"]\nscope = \"openid invoices:read\"\n\
             introspects = [\"{INVOICES}\"]\n"
        )
        .unwrap();
    }
    text
}

/// Compiles only for what may move between threads.
fn on_any_thread<F: Future + Send>(future: F) -> F {
    future
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_and_writes_nothing() {
    let shop = Shop::open().await;
    let (before, heard) = (shop.rows().await, AtomicUsize::new(0));
    let progress = |done: usize, total: usize| {
        assert_eq!((heard.fetch_add(1, SeqCst) + 1, total), (done, 4));
    };
    let (bench, example) = (&shop.bench, &file(EXAMPLE));
    let dry = on_any_thread(apply(bench, example, true, &progress)).await.unwrap();
    assert_eq!(heard.load(SeqCst), 4);
    assert_eq!(shop.rows().await, before);
    assert_eq!(dry, shop.apply(EXAMPLE).await.unwrap(), "and then it is so");
    shop.bench.close().await;
}

#[tokio::test]
async fn what_was_planned_is_not_committed_over_what_has_moved() {
    let shop = Shop::with(EXAMPLE).await;
    let client = "[[client]]\nclient_id = \"billing\"\nroles = [\"manager\"]\n";
    let (_, multi_commit) = plan(&shop.bench, &file(client)).await.unwrap();
    // The organization is not in the file, but the plan rests on it.
    let without = "[[organization]]\nslug = \"acme\"\nrole = [{ name = \"clerk\" }]\n";
    shop.apply(without).await.unwrap();
    let unmet = CommitError::Unmet { kind: "organization" };
    assert_eq!(multi_commit.commit().await, Err(unmet));
    let said = shop.refused(client).await;
    assert_eq!(said, ["3: client `billing`: the organization has no role `manager`"]);
    shop.bench.close().await;
}

#[tokio::test]
async fn of_two_who_apply_the_same_file_both_succeed() {
    let shop = Shop::open().await;
    let other = workbench(&shop.world).await.unwrap();
    for round in 0..10 {
        let text = clients(20, &format!("round {round}"));
        let parsed = file(&text);
        let (one, two) = tokio::join!(
            apply(&shop.bench, &parsed, false, &|_, _| {}),
            apply(&other, &parsed, false, &|_, _| {}),
        );
        let (one, two) = (one.unwrap(), two.unwrap());
        assert!(!(one.changes_nothing() && two.changes_nothing()));
        for step in one.steps.iter().chain(&two.steps) {
            let created = step.outcome == Provisioned::Created;
            assert!(!created || round == 0, "{step}");
        }
        assert!(shop.apply(&text).await.unwrap().changes_nothing());
        let name = shop.client("c19").await.metadata.client_name;
        assert_eq!(name, Some(format!("round {round}")));
    }
    let created = "security_log WHERE event = 'client.created'";
    assert_eq!(shop.world.stranger().await.count(created).await, 21, "each once");
    assert!(shop.bench.store().verify_log(&[]).await.unwrap().findings.is_empty());
    for bench in [shop.bench, other] {
        bench.close().await;
    }
}

#[tokio::test]
async fn of_two_files_that_want_one_scope_the_second_hears_who_has_it() {
    let shop = Shop::open().await;
    let other = workbench(&shop.world).await.unwrap();
    let wants = |name: &str| {
        file(&format!(
            "[[resource]]\nidentifier = \"https://{name}.example/\"\nscopes = [\"x:read\"]\n"
        ))
    };
    let (one, two) = (wants("one"), wants("two"));
    let outcomes = tokio::join!(
        apply(&shop.bench, &one, false, &|_, _| {}),
        apply(&other, &two, false, &|_, _| {}),
    );
    let (winner, refused) = match outcomes {
        (Ok(_), Err(ApplyError::Refused(said))) => ("one", said),
        (Err(ApplyError::Refused(said)), Ok(_)) => ("two", said),
        both => panic!("{both:?}"),
    };
    let owned = format!("the scope `x:read` belongs to `https://{winner}.example/`");
    assert!(refused[0].line == 3 && refused[0].text.ends_with(&owned), "{refused:?}");
    for bench in [shop.bench, other] {
        bench.close().await;
    }
}

#[tokio::test]
async fn a_running_system_sees_within_a_second_what_a_command_beside_it_applied() {
    // A command writes before the first start of a server.
    let shop = Shop::with("[[organization]]\nslug = \"first\"\n").await;
    let system = System::start(shop.world.system(shop.world.folder().join("keys"))).await.unwrap();
    let (clients, organizations) = (system.view::<Client>(), system.view::<Organization>());
    assert!(clients.look("billing").await.unwrap().machine.known().is_none());
    shop.apply(EXAMPLE).await.unwrap();
    let stopwatch = Stopwatch::start();
    eventually("the client", async || {
        clients.look("billing").await.unwrap().machine.known().is_some()
    })
    .await;
    assert!(stopwatch.elapsed() < Duration::from_millis(1_500));
    // Both write, over and over, and neither is in the other's way.
    let organization = async |enabled: bool| {
        let text = format!("[[organization]]\nslug = \"acme\"\nenabled = {enabled}\n");
        shop.apply(&text).await.unwrap();
    };
    let (ledgers, by) = (system.host::<Ledger>().await.unwrap(), Context::node());
    for round in 0..10 {
        let append = Command::AppendAndRecord(round);
        let ((), appended) =
            tokio::join!(organization(round % 2 == 0), ledgers.ask(&by, "of the system", append));
        appended.unwrap();
    }
    eventually("the suspension", async || {
        let seen = organizations.look("acme").await.unwrap();
        seen.machine.known().is_some_and(|acme| !acme.enabled)
    })
    .await;
    shop.bench.close().await;
    assert!(system.store().verify_log(&[]).await.unwrap().findings.is_empty());
    assert!(system.stop(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_workbench_opens_only_what_its_keys_belong_to() {
    let shop = Shop::with(EXAMPLE).await;
    let folder = shop.world.folder().join("other keys");
    make_keys(&folder, porteiro::domain::Clock::now(&*shop.world.clock));
    let folder = Folder::load(&folder, DevKeys::Refused).unwrap();
    let dice = Arc::new(SystemDice);
    let opened = Workbench::open(&shop.world.url, &folder, shop.world.clock.clone(), dice).await;
    assert!(matches!(opened, Err(SystemError::ForeignKeys)));
    shop.bench.close().await;
}

#[tokio::test]
async fn thousands_of_clients_are_one_commit() {
    let count = 3_000;
    let shop = Shop::open().await;
    let text = clients(count, "first");
    let created = apply(&shop.bench, &file(&text), false, &|_, _| {}).await.unwrap();
    assert_eq!(created.steps.len(), count + 4);
    assert_eq!(shop.bench.store().report().commits, 1);
    let stored = shop.world.stranger().await.count("entities WHERE kind = 'client'").await;
    assert_eq!(usize::try_from(stored).unwrap(), count + 1);
    // Some change: the others are required to be as they were read.
    let changed = text.replace("0.example", "0.example/new");
    let changed = apply(&shop.bench, &file(&changed), false, &|_, _| {}).await.unwrap();
    let changed = lines(&changed).iter().filter(|line| line.starts_with('~')).count();
    assert_eq!(changed, count / 10);
    shop.bench.close().await;
}
