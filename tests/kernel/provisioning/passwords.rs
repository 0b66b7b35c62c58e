//! What passwords cost when a file is applied: nothing before it is sure, and each of them once.

use super::{EXAMPLE, Shop, accounts::is_her_password, file, lines, workbench};
use porteiro::{
    crypto::{
        Dice, SystemDice,
        keys::{DevKeys, Folder},
        password::PasswordCost,
    },
    domain::{membership::MEMBERS, password::Policy},
    provisioning::{ApplyError, apply},
    system::Workbench,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};
use tokio::runtime::Runtime;

#[tokio::test]
async fn passwords_cost_nothing_in_a_dry_run_and_in_a_file_that_is_refused() {
    let shop = Shop::with("[[organization]]\nslug = \"acme\"\n").await;
    // It is out of bounds: were it tried, it would fail.
    let unbearable = PasswordCost { memory: u32::MAX, ..PasswordCost::CHEAP };
    let bench = workbench(&shop.world).await.unwrap().with_password_cost(unbearable);
    let eva = "[[account]]\nemail = \"eva@acme.test\"\npassword = \"a horse of her own\"\n";
    let dry = apply(&bench, &file(eva), true, &|_, _| {}).await.unwrap();
    assert_eq!(lines(&dry), ["+ created account eva@acme.test"]);
    let refused = format!("{eva}memberships = [{{ organization = \"nowhere\" }}]\n");
    let refused = apply(&bench, &file(&refused), false, &|_, _| {}).await.unwrap_err();
    assert!(refused.to_string().contains("cannot be applied"), "{refused}");
    let tried = apply(&bench, &file(eva), false, &|_, _| {}).await.unwrap_err();
    assert_eq!(tried.to_string(), "the passwords cannot be hashed");
    assert_eq!(shop.account("eva@acme.test").await, None);
    shop.apply(eva).await.unwrap();
    // An account that exists has its password already.
    assert!(apply(&bench, &file(eva), false, &|_, _| {}).await.unwrap().changes_nothing());
    for bench in [shop.bench, bench] {
        bench.close().await;
    }
}

#[tokio::test]
async fn a_new_password_is_held_to_the_one_rule_and_one_that_does_not_act_is_not() {
    let shop = Shop::with("[[organization]]\nslug = \"acme\"\n").await;
    let eva = |password: &str| {
        format!("[[account]]\nemail = \"eva@acme.test\"\npassword = \"{password}\"\n")
    };
    let short = "3: account `eva@acme.test`: `password` must have at least 15 characters";
    for bad in ["12345678", "fourteen chars", &"n\u{303}".repeat(14)] {
        assert_eq!(shop.refused(&eva(bad)).await, [short]);
    }
    let lax = workbench(&shop.world).await.unwrap().with_password_policy(Policy::new(8));
    apply(&lax, &file(&eva("12345678")), false, &|_, _| {}).await.unwrap();
    // It exists: what the file says of its password does not act, and is not judged.
    assert!(shop.apply(&eva("12345678")).await.unwrap().changes_nothing());
    let strict = workbench(&shop.world).await.unwrap().with_password_policy(Policy::new(32));
    let rui = eva("correct horse battery staple").replace("eva", "rui");
    let refused = apply(&strict, &file(&rui), true, &|_, _| {}).await.unwrap_err();
    let ApplyError::Refused(said) = refused else { panic!("{refused:?}") };
    assert!(said[0].text.contains("at least 32 characters"), "{said:?}");
    for bench in [shop.bench, lax, strict] {
        bench.close().await;
    }
}

/// Dice that count how often they draw as many bytes as a UUID or a salt has.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Dice for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.fetch_add((bytes.len() == 16).into(), SeqCst);
        SystemDice.fill(bytes);
    }
}

#[tokio::test]
async fn a_password_is_hashed_once_however_often_the_file_is_planned() {
    let shop = Shop::with(EXAMPLE).await;
    let folder = Folder::load(&shop.world.folder().join("keys"), DevKeys::Refused).unwrap();
    let (clock, dice) = (shop.world.clock.clone(), Arc::new(Counting::default()));
    let bench = Workbench::open(&shop.world.url, &folder, clock, dice.clone()).await.unwrap();
    let (bench, opening) = (bench.with_password_cost(PasswordCost::CHEAP), dice.0.load(SeqCst));
    let parsed = file(
        "[[organization]]\nslug = \"acme\"\nname = \"Acme SA\"\n[[account]]\n\
         email = \"eva@acme.test\"\npassword = \"a horse of her own\"\n",
    );
    let (heard, at_work) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // When all is decided and nothing is committed, another command is faster.
    let faster = async || {
        let other = workbench(&shop.world).await.unwrap();
        let change = file("[[organization]]\nslug = \"acme\"\nrole = []\n");
        apply(&other, &change, false, &|_, _| {}).await.unwrap();
        other.close().await;
    };
    let told = |done: usize, all: usize| {
        heard.fetch_add(1, SeqCst);
        if done == all && at_work.fetch_add(1, SeqCst) == 0 {
            let run = || Runtime::new().unwrap().block_on(faster());
            thread::scope(|scope| scope.spawn(run).join().unwrap());
        }
    };
    apply(&bench, &parsed, false, &told).await.unwrap();
    assert_eq!(heard.into_inner(), 4, "it was planned twice");
    assert_eq!(dice.0.load(SeqCst) - opening, 2, "one id and one salt");
    assert!(is_her_password(&shop.account("eva@acme.test").await.unwrap(), b"a horse of her own"));
    for bench in [shop.bench, bench] {
        bench.close().await;
    }
}

#[tokio::test]
async fn hundreds_of_accounts_with_passwords_are_one_commit() {
    let shop = Shop::with(EXAMPLE).await;
    let before = shop.bench.store().report().commits;
    let one = |number: usize| {
        format!(
            "[[account]]\nemail = \"p{number}@acme.test\"\npassword = \"a horse for number {number}\"\n\
             memberships = [{{ organization = \"acme\", roles = [\"clerk\"] }}]\n"
        )
    };
    let text: String = (0..300).map(one).collect();
    let heard = AtomicUsize::new(0);
    let told = |done: usize, all: usize| {
        assert_eq!((heard.fetch_add(1, SeqCst) + 1, 300), (done, all));
    };
    let created = apply(&shop.bench, &file(&text), false, &told).await.unwrap();
    assert_eq!(heard.into_inner(), created.steps.len());
    assert_eq!(shop.bench.store().report().commits, before + 1);
    let last = shop.account("p299@acme.test").await.unwrap();
    assert!(
        is_her_password(&last, b"a horse for number 299")
            && !is_her_password(&last, b"a horse for number 29")
    );
    assert_eq!(shop.bench.store().list(MEMBERS, "acme", ("", ""), 400).await.unwrap().len(), 301);
    assert!(shop.apply(&text).await.unwrap().changes_nothing());
    shop.bench.close().await;
}
