//! The kernel as a whole: actors over a store that is real, on either engine.
//!
//! With `PORTEIRO_TEST_POSTGRES` set every test runs on that server, each in a schema of its own;
//! without it each has an SQLite file of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests wait for child processes on blocking threads"
)]

mod adr_index;
mod ahead;
mod architecture;
mod assurance;
mod bad_days;
mod births;
mod commands;
mod commits;
mod contexts;
#[path = "../shared/database.rs"]
mod database;
#[path = "../shared/dns_server.rs"]
mod dns_server;
mod doorbell;
mod endpoints;
mod engines;
mod entities;
mod events;
mod failover;
mod full_disk;
mod history;
mod import_cycles;
mod janitor;
mod judged_again;
mod keys;
mod ledger;
mod log_sequences;
mod mail_server;
mod migrations;
mod model;
mod model_commands;
mod model_races;
mod multi_commit;
mod one_engine;
mod outbox;
mod outbox_classes;
mod processes;
mod provisioning;
mod security_log;
mod security_log_lanes;
mod security_log_retention;
#[path = "../shared/server_pair.rs"]
mod server_pair;
#[path = "../shared/world.rs"]
mod shared;
mod sms_gateway;
#[path = "../shared/smtp_server.rs"]
mod smtp_server;
mod sub_commands;
mod supervision;
mod supply_chain;
mod support;
mod throttles;
mod views;
