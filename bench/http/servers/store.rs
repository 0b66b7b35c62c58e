//! Where servers and bare commits keep rows: a file of their own, or a schema of their own on a PostgreSQL server.

use super::Stage;
use crate::Outcome;
use porteiro::crypto::{SystemDice, draw_text};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// Returns the address of a store that nobody has used: of a file by this name, if rows are kept in files.
pub async fn new_store(stage: &Stage, name: &str) -> Outcome<String> {
    match &stage.postgres {
        Some(server) => new_schema(server).await,
        None => Ok(format!("sqlite://{}", stage.file(name).display())),
    }
}

/// Makes a schema on a PostgreSQL server, and returns its address.
pub async fn new_schema(server: &str) -> Outcome<String> {
    let name: String = draw_text(&SystemDice, 12).to_lowercase().replace(['-', '_'], "0");
    let mut connection = PgConnection::connect(server).await?;
    let create = AssertSqlSafe(format!("CREATE SCHEMA b{name}"));
    sqlx::query(create).execute(&mut connection).await?;
    connection.close().await?;
    Ok(format!("{server}?options=-csearch_path%3Db{name}"))
}
