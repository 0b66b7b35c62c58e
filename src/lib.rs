//! Porteiro: an identity provider for people, services and agents.
//!
//! The rooms, in reading order, and what each may use:
//!
//! | room | holds | may use |
//! |---|---|---|
//! | [`domain`] | machines and rules | nothing of ours |
//! | [`config`] | the configuration, layered, with the origin of each value; the reader of TOML files | `domain` values |
//! | [`crypto`] | randomness, keys, signatures, sealing, password hashes | `domain` |
//! | [`store`] | SQL, migrations, compare-and-swap commits, the security log | `domain` values |
//! | [`outbound`] | the one guarded client for everything that calls out | nothing of ours |
//! | [`actors`] | supervision, entity shell and host, workers | `domain`, `crypto`, `store`, `outbound` |
//! | [`provisioning`] | the declarative file: read, planned, committed as one | `domain`, `config`, `store`, `actors`, `system` |
//! | [`http`] | one file an endpoint, the layers around them, the transport below | `domain` values, doors of `actors`, `crypto` to verify, `store` views |
//!
//! [`cli`] is what the binary runs, [`system`] builds everything below HTTP into one value and [`server`] the rest on top of
//! it; [`clock`] reads the time for all of them, [`histogram`] counts, [`telemetry`] speaks, and
//! `tests/kernel/architecture.rs` executes these rules.

#![forbid(unsafe_code)]

pub mod actors;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crypto;
pub mod domain;
pub mod histogram;
pub mod http;
pub mod outbound;
pub mod provisioning;
pub mod server;
pub mod store;
pub mod system;
pub mod telemetry;
pub mod transport;
