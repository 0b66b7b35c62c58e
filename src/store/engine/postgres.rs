//! PostgreSQL: several connections that write, and a few that read, straight to the server or through a pooler
//! (adr/0160).

mod alone;
mod examination;
mod readers;
mod server;
mod session;
mod settings;

pub(in crate::store) use readers::Readers;
pub(super) use server::Server;
pub(super) use session::Session;

/// Versions and ends of life of several entities, in the order in which they are asked for.
macro_rules! liveness {
    ($ending:literal) => {
        concat!(
            "SELECT asked.place, e.version, e.live_until \
               FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (kind, id, place) \
               JOIN entities e ON e.kind = asked.kind AND e.id = asked.id \
              ORDER BY asked.place",
            $ending
        )
    };
}

const LIVENESS: &str = liveness!("");

/// For required rows: they stay as they are until we commit. Rows are locked in the order asked, so that groups cannot
/// deadlock.
pub(super) const LIVENESS_REQUIRED: &str = liveness!(" FOR SHARE OF e");

/// The same for rows that will be changed.
pub(super) const LIVENESS_CHANGED: &str = liveness!(" FOR NO KEY UPDATE OF e");

/// Tables of the schema but for that of migrations, by which a store begins.
pub(super) const OTHER_TABLES: &str = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
      WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_history' LIMIT 1";
