//! Migrations of a store on PostgreSQL that others use.

use crate::{
    engines::on_postgres,
    shared::straight,
    support::{Stranger, eventually},
};
use porteiro::{
    domain::Clock as _,
    store::{OpenError, migrate, pending_migrations},
};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_waits_for_a_table_lets_others_by() {
    let Some(world) = on_postgres().await else { return };
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    let mut stranger = Stranger::at(&straight(&world.url)).await;
    // The last migration is still to be made.
    stranger.run("DROP INDEX security_log_of_directories").await.unwrap();
    stranger.run("DELETE FROM schema_history WHERE version = 10").await.unwrap();
    stranger.run("BEGIN").await.unwrap();
    stranger.run("LOCK TABLE security_log IN ROW EXCLUSIVE MODE").await.unwrap();
    let (url, now) = (world.url.clone(), world.clock.now());
    let migrating = tokio::spawn(async move { migrate(&url, now).await });
    let mut looker = Stranger::at(&straight(&world.url)).await;
    let waits = "pg_locks WHERE NOT granted AND relation = 'security_log'::regclass";
    eventually("a migration that waits", async || looker.count(waits).await == 1).await;
    let written = tokio::time::timeout(Duration::from_secs(30), node.append("a", 2)).await;
    assert_eq!(written.expect("it is not held up").unwrap(), [1, 2]);
    assert!(!migrating.is_finished());
    stranger.run("COMMIT").await.unwrap();
    assert_eq!(migrating.await.unwrap().unwrap(), ["0010_what_directories_did.sql"]);
    node.stop().await;
}

#[tokio::test]
async fn a_schema_that_was_made_before_that_of_the_store_does_not_hide_it() {
    let Some(world) = on_postgres().await else { return };
    let node = world.node().await;
    node.append("a", 1).await.unwrap();
    node.stop().await;
    let url = straight(&world.url);
    let schema = url.split("search_path%3D").nth(1).unwrap();
    let mut stranger = Stranger::at(&url).await;
    stranger.run(format!("CREATE SCHEMA {schema}_new")).await.unwrap();
    let both = url.replacen(schema, &format!("{schema}_new,{schema}"), 1);
    for refused in
        [migrate(&both, world.clock.now()).await.err(), pending_migrations(&both).await.err()]
    {
        let Some(OpenError::Schema(why)) = refused else { panic!("{refused:?}") };
        let why = why.to_string();
        assert!(why.contains(&format!("in the schema {schema},")), "{why}");
    }
    let made = format!("pg_tables WHERE schemaname = '{schema}_new'");
    assert_eq!(stranger.count(&made).await, 0);
    // Where the path ends with an empty one, the store is the first.
    let same = url.replacen(schema, &format!("{schema},{schema}_new"), 1);
    assert_eq!(migrate(&same, world.clock.now()).await.unwrap(), Vec::<&str>::new());
}
