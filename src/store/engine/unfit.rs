//! Why a server of PostgreSQL is not used (adr/0161).

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnfitServer {
    #[error("the server says that it is “{0}”: use PostgreSQL 15 or later")]
    Another(String),
    #[error("the server lacks what every PostgreSQL has: use PostgreSQL 15 or later")]
    Lacking(#[source] sqlx::Error),
    #[error(
        "the server gives one advisory lock to two transactions at once, which PostgreSQL does not: \
         use PostgreSQL 15 or later"
    )]
    Locks,
    #[error(
        "a transaction of the server does not see what another one has committed since, which READ COMMITTED of \
         PostgreSQL does: use PostgreSQL 15 or later"
    )]
    Isolation,
    #[error(
        "{0} of the server is not what was asked for: let the pooler pass what a transaction sets, or give the \
         address of the server itself"
    )]
    Timeout(&'static str),
    #[error(
        "synchronous_commit is off, so what was acknowledged may be lost: take it back where it was set (ALTER \
         SYSTEM, ALTER DATABASE, ALTER ROLE, or `options` in store.url)"
    )]
    Durability,
    #[error(
        "the server is a standby, whose answers may be older than a revocation: let the address lead to the \
         primary, or promote it"
    )]
    Standby,
    #[error(
        "two transactions at once are given one session: set the pooler to transaction mode or session mode"
    )]
    Sessions,
    #[error(
        "the `options` of store.url cannot be set at a pooler: write each as -c name=value, or leave them out"
    )]
    Options,
    #[error(
        "the environment variable PGOPTIONS cannot be sent to a pooler: unset it, and give `options` in store.url"
    )]
    Environment,
    #[error("a pooler keeps no lock for us: give the address of the server itself")]
    Pooled,
}
