//! A version is put back after a later one has served: "Rollback" in docs/operating.md says when it serves, and when it
//! must refuse. The later version is played by what it would have left in the database.

use crate::{
    binary::{Installation, printed, said},
    database::Database,
    levers::me,
    outside::Outside,
    person::text,
    support::ACME,
};

const ANA: &str = "ana@acme.test";
const SCOPE: &str = "openid offline_access invoices:read";

async fn installation() -> Installation {
    let installation = Installation::new().await;
    installation.apply(ACME);
    installation
}

async fn run(installation: &Installation, sql: &str) -> u64 {
    Database::at(installation.url()).await.run(sql).await.unwrap()
}

/// Writes what a later version writes that has brought the schema up to its migration 900.
async fn migrated_by_a_later_version(installation: &Installation, oldest_compatible: i64) {
    let row = format!(
        "INSERT INTO schema_history (version, name, digest, oldest_compatible, applied_at) \
         VALUES (900, '0900_of_a_later_version.sql', '', {oldest_compatible}, 0)"
    );
    assert_eq!(run(installation, &row).await, 1);
}

/// The last migration of this version.
fn last_migration() -> i64 {
    let files = std::fs::read_dir("migrations").unwrap();
    files.count().try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_later_schema_that_is_compatible_a_version_serves_and_migrates_nothing() {
    let installation = installation().await;
    migrated_by_a_later_version(&installation, last_migration()).await;
    for command in [&["migrate", "--dry-run"][..], &["migrate"]] {
        let up_to_date = printed(&installation.run(command));
        assert_eq!(up_to_date, "= the schema is up to date\n", "{command:?}");
    }
    let changed = installation.apply(&ACME.replace("Acme Lda", "Acme SA"));
    assert!(changed.contains("~ changed organization acme (name)"), "{changed}");
    let node = Outside { address: installation.address };
    let serving = installation.serve();
    let session = node.sign_in(ANA).await;
    assert_eq!(me(node, &session).await.status, 200);
    let tokens = node.tokens(ANA, "web", SCOPE).await;
    assert_eq!(node.refresh("web", text(&tokens["refresh_token"])).await.status, 200);
    serving.stop().await;
    assert!(printed(&installation.run(&["log", "verify"])).contains("0 findings"));
    let forgotten = "DELETE FROM schema_history WHERE version = 900";
    assert_eq!(run(&installation, forgotten).await, 1, "what the later one did is still known");
}

#[tokio::test]
async fn on_a_later_schema_that_is_not_compatible_nothing_runs_and_the_reason_is_said() {
    let installation = installation().await;
    migrated_by_a_later_version(&installation, 900).await;
    let sentence = format!(
        "the database needs a binary that knows migration 900; this one ends at {}",
        last_migration()
    );
    for command in [
        &["serve"][..],
        &["migrate"],
        &["migrate", "--dry-run"],
        &["apply", "file.toml"],
        &["log", "verify"],
    ] {
        let refused = installation.run(command);
        assert_eq!(refused.status.code(), Some(78), "{command:?}: {}", said(&refused));
        assert!(said(&refused).contains(&sentence), "{command:?}: {}", said(&refused));
    }
}

/// Nothing is changed by a version that does not know what it would change, and nobody is signed out by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_a_later_version_can_read_is_answered_503_until_that_version_serves_again() {
    let installation = installation().await;
    let node = Outside { address: installation.address };
    let serving = installation.serve();
    let session = node.sign_in(ANA).await;
    let tokens = node.tokens(ANA, "web", SCOPE).await;
    let refresh = text(&tokens["refresh_token"]);
    serving.stop().await;
    let later =
        "UPDATE entities SET revision = revision + 100 WHERE kind IN ('session', 'token_family')";
    assert!(run(&installation, later).await > 1);
    let serving = installation.serve();
    for _ in 0..3 {
        assert_eq!(me(node, &session).await.status, 503);
        assert_eq!(node.refresh("web", refresh).await.status, 503);
    }
    node.token("billing", "invoices:read").await;
    serving.stop().await;
    let again = "UPDATE entities SET revision = revision - 100 WHERE revision > 100";
    assert!(run(&installation, again).await > 1);
    let serving = installation.serve();
    assert_eq!(me(node, &session).await.status, 200);
    assert_eq!(node.refresh("web", refresh).await.status, 200);
    serving.stop().await;
}
