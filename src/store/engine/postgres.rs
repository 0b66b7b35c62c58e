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

/// Sessions of this role whose COMMIT waits for a standby.
pub(super) const WAITING_COMMITS: &str = "SELECT 1 FROM pg_stat_activity \
      WHERE usename = current_user AND wait_event = 'SyncRep' AND state_change < now() - interval '3 s' LIMIT 1";

/// The schema in which the path of the session finds a store that is not the one where it makes tables.
pub(super) const STORE_ELSEWHERE: &str = "SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
      WHERE c.oid = to_regclass('schema_history') AND n.nspname <> current_schema()";

/// Tables of the schema but for that of migrations, by which a store begins.
pub(super) const OTHER_TABLES: &str = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
      WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_history' LIMIT 1";
