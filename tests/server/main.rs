//! The whole provider over real HTTP: in this process with a clock of its own, or as the binary that
//! an operator runs.
//!
//! With `PORTEIRO_TEST_POSTGRES` set every test runs on that server, each in a schema of its own;
//! without it each has an SQLite file of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests measure timeout and run clients beside the server"
)]

mod authorization;
mod binary;
mod changing;
mod channels;
mod commands;
mod dev;
mod doctor;
mod documents;
mod drain;
mod families;
mod http;
mod indistinguishable;
mod introspection;
mod keys;
mod metadata;
mod operator;
#[cfg(feature = "otel")]
mod otel;
mod outcomes;
mod outside;
mod person;
mod races;
mod refusals;
mod registered;
mod registration;
mod rotation;
#[path = "../shared/world.rs"]
mod shared;
mod shell;
mod sign_in;
mod support;
mod tokens;
mod userinfo;
