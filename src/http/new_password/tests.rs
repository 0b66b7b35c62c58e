use crate::{
    actors::hashing::HashingOptions,
    breach::HashFile,
    crypto::{SystemDice, password::PasswordCost},
    domain::{Timestamp, account::Credentials},
    http::new_password::*,
};
use axum::http::StatusCode;

const GOOD: &str = "correct horse battery staple";

/// The SHA-1 of [`GOOD`].
const GOOD_SHA1: &str = "ABF7AAD6438836DBE526AA231ABDE2D0EEF74D42";

fn new_passwords(breach_check: BreachCheck) -> NewPasswords {
    let cost = PasswordCost::CHEAP;
    let options = HashingOptions { workers: 1, cost, ..HashingOptions::default() };
    let hashing = Arc::new(HashingPool::start(options).unwrap());
    let means =
        PasswordDependencies { hashing, dice: Arc::new(SystemDice), vitals: Arc::default() };
    let options = PasswordOptions { policy: Policy::default(), breach_check };
    NewPasswords::new("https://id.example-bank.com", options, means)
}

fn ana() -> About<'static> {
    About {
        email: "ana.margarida@acme.test",
        given_name: "Ana",
        family_name: "de Albuquerque",
        names: vec!["Acme Holding Lda"],
    }
}

/// Counts of what came of looking passwords up: not found, found, no answer.
fn lookups(passwords: &NewPasswords) -> Vec<u64> {
    passwords.vitals.lookups().map(|(_, count)| count).collect()
}

#[tokio::test]
async fn a_password_that_may_be_chosen_is_hashed_as_it_is_done_today() {
    let passwords = new_passwords(BreachCheck::Off);
    let hash = passwords.choose(GOOD, &ana()).await.unwrap();
    assert!(hash.expose().starts_with("$argon2id$v=19$m=64,t=1,p=1$"));
    let given = Password::read(GOOD).unwrap();
    let verdict = passwords.hashing.verify(given, hash.expose().to_owned()).await.unwrap();
    assert!(verdict.matches && !verdict.needs_rehash);
    let again = passwords.choose(GOOD, &ana()).await.unwrap();
    assert_ne!(hash, again, "each has a salt of its own");
    let long = "a horse, a horse, my kingdom for a horse; ".repeat(7)[..256].to_owned();
    assert!(passwords.choose(&long, &ana()).await.is_ok());
    assert_eq!(lookups(&passwords), [0, 0, 0], "nothing is looked up");
}

#[tokio::test]
async fn a_refusal_points_at_the_password_and_does_not_repeat_it() {
    let passwords = new_passwords(BreachCheck::Off);
    let too_long = "x".repeat(1_025);
    for (text, says) in [
        ("", "must not be empty"),
        ("fourteen chars", "at least 15 characters"),
        (&*too_long, "at most 1024 characters"),
        ("passwordpassword", "many people use"),
        ("qwertyuiop123456", "many people use"),
        ("porteiro porteiro", "name of yours"),
        ("id.example-bank.com", "name of yours"),
        ("ana.margarida@acme.test", "name of yours"),
        ("Ana de Albuquerque", "name of yours"),
        ("ACME Holding Lda", "name of yours"),
    ] {
        let problem = passwords.choose(text, &ana()).await.unwrap_err();
        assert_eq!((problem.status, problem.code), (StatusCode::BAD_REQUEST, "password_refused"));
        let member = problem.member.clone().unwrap();
        assert_eq!(member.pointer, "#/password");
        assert!(member.detail.contains(says), "{text}: {}", member.detail);
        assert!(text.is_empty() || !format!("{problem:?}").contains(text), "{problem:?}");
    }
    assert_eq!(passwords.hashing.vitals().done, 0, "what is refused costs no hash");
}

#[tokio::test]
async fn a_leaked_password_is_refused_and_a_broken_list_refuses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hashes.txt");
    std::fs::write(&path, format!("{GOOD_SHA1}:216\n")).unwrap();
    let passwords = new_passwords(BreachCheck::File(HashFile::new(&path)));
    let problem = passwords.choose(GOOD, &ana()).await.unwrap_err();
    assert_eq!(problem.code, "password_refused");
    assert!(problem.member.unwrap().detail.contains("leaked"));
    assert!(passwords.choose("another horse and its cart", &ana()).await.is_ok());
    assert_eq!(lookups(&passwords), [1, 1, 0]);
    // What the policy refuses is looked up nowhere.
    passwords.choose("passwordpassword", &ana()).await.unwrap_err();
    assert_eq!(lookups(&passwords), [1, 1, 0]);
    std::fs::remove_file(&path).unwrap();
    assert!(passwords.choose(GOOD, &ana()).await.is_ok(), "the list is gone");
    std::fs::write(&path, "no list\n").unwrap();
    assert!(passwords.choose(GOOD, &ana()).await.is_ok(), "the list is broken");
    assert_eq!(lookups(&passwords), [1, 1, 2]);
}

#[test]
fn an_account_says_which_names_are_its_persons() {
    let profile = serde_json::json!({
        "given_name": "Ana", "family_name": "de Albuquerque", "nickname": "Aninhas do Porto",
    });
    let known = Known {
        id: String::new(),
        email: "ana.margarida@acme.test".to_owned(),
        email_verified: true,
        credentials: Credentials::default(),
        profile: serde_json::from_value(profile).unwrap(),
        epoch: 0,
        signed_out: 0,
        administers: false,
        recovery_link: None,
        proposed_email: None,
        proposed_phone: None,
        suspended_at: None,
        erase_at: None,
        created_at: Timestamp::NEVER,
        updated_at: Timestamp::NEVER,
    };
    let context = About::account(&known).add_to(Context::default());
    let judged = |text: &str| Policy::default().check(&Password::read(text).unwrap(), &context);
    for known in ["ana.margarida@acme.test", "ana-de-albuquerque", "aninhas do porto"] {
        assert_eq!(judged(known), Err(Fault::ContextWord), "{known}");
    }
    assert_eq!(judged(GOOD), Ok(()));
}

#[tokio::test]
async fn where_the_pool_is_gone_the_person_is_told_to_try_again() {
    let passwords = new_passwords(BreachCheck::Off);
    passwords.hashing.stop().await;
    let problem = passwords.choose(GOOD, &About::default()).await.unwrap_err();
    assert_eq!(problem, Problem::UNAVAILABLE);
}
