//! Porteiro: an identity provider for people, services and agents.
//!
//! The folders, in reading order, and what each may use:
//!
//! | folder | holds | may use |
//! |---|---|---|
//! | [`domain`] | machines and rules | nothing of ours |
//! | [`config`] | the configuration, layered, with the origin of each value; the reader of TOML files | `domain` values |
//! | [`crypto`] | randomness, keys, signatures, sealing, password hashes | `domain` |
//! | [`store`] | SQL, migrations, compare-and-swap commits, the security log | `domain` values |
//! | [`outbound`] | the one guarded client for everything that calls out | nothing of ours |
//! | [`breach`] | whether a password has leaked: a server's ranges, or a sorted file | `domain` values, `outbound` |
//! | [`claims_hook`] | the operator's own server, which adds claims | `outbound` |
//! | [`client_documents`] | what clients keep at addresses of their own: key sets, request objects, logos | `domain` values, `crypto`, `outbound` |
//! | [`upstream`] | providers at which people sign in, of which we are a relying party | `domain` values, `crypto`, `outbound`, `client_documents` |
//! | [`geo`] | where addresses are: a database of places | `domain` values |
//! | [`actors`] | supervision, entity shell and host, workers | `domain`, `crypto`, `store`, `outbound` |
//! | [`messages`] | mails and SMS: their words, and how they are handed over | `domain`, `config`, `actors`, `outbound` |
//! | [`backchannel`] | tells clients that a session has ended, or that a person has decided | `domain`, `actors`, `outbound` |
//! | [`webhooks`] | sends the trails of organizations to their endpoints, signed | `domain`, `crypto`, `actors`, `outbound` |
//! | [`provisioning`] | the declarative file: read, planned, committed as one | `domain`, `config`, `store`, `actors`, `system` |
//! | [`transport`] | connections: accepted, timed, counted, charged, drained | `crypto` for randomness |
//! | [`http`] | one table of routes, one file an endpoint, the layers around them | `domain` values, `Entities` and views of `actors`, `crypto`, `store::views`, `breach`, `claims_hook`, `client_documents`, `upstream`, `geo`, the mailbox of `messages`, addresses of `transport` |
//!
//! [`cli`] is what the binary runs, [`system`] builds everything below HTTP into one value and [`server`] the rest on top of
//! it; [`clock`] reads the time for all of them, [`histogram`] counts, `two_generation_cache` caches, `rate_limiter` limits rates, [`telemetry`] writes logs and spans,
//! `html` escapes, `fuzzing` feeds parsers with bytes of no sense in tests, `wording` finds sentences, and `tests/kernel/architecture.rs` executes these rules.

#![forbid(unsafe_code)]

// What tests share names the crate as those outside of it do.
#[cfg(test)]
extern crate self as porteiro;

pub mod actors;
pub mod backchannel;
pub mod breach;
pub mod claims_hook;
pub mod cli;
pub mod client_documents;
pub mod clock;
pub mod config;
pub mod crypto;
pub mod domain;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod geo;
pub mod histogram;
pub(crate) mod html;
pub mod http;
pub mod messages;
pub mod outbound;
pub mod provisioning;
pub(crate) mod rate_limiter;
pub mod server;
pub mod store;
pub mod system;
pub mod telemetry;
pub mod transport;
pub(crate) mod two_generation_cache;
pub mod upstream;
pub mod webhooks;
pub(crate) mod wording;
