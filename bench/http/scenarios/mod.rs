//! What is asked of the servers, a file each.
//!
//! A scenario of load says how its requests are rendered and what its answers must hold; the rest is
//! the same for all. To add one: its file, and its line in [`LOADS`].

pub mod alerts;
mod asking;
pub mod bound;
pub mod certificates;
mod ciba;
mod client_credentials;
mod code;
mod device;
pub mod directory;
mod discovery;
mod exchange;
pub mod flat;
pub mod growth;
pub mod identifiers;
pub mod issued;
mod jwks;
pub mod levers;
pub mod live;
pub mod memory;
mod mixed;
pub mod nodes;
pub mod offered;
pub mod passwords;
pub mod pending;
mod private_key_jwt;
pub mod proofs;
mod pushed;
mod refresh;
mod registration;
mod revocation;
pub mod revoked;
pub mod scim;
pub mod screens;
pub mod start;
pub mod storm;

use crate::{
    Outcome,
    figures::Bound,
    load::Script,
    portal::Identity,
    scene::Scene,
    servers::{Server, Who},
};
use std::pin::Pin;

pub use client_credentials::ClientCredentials;

/// Every scenario of load, in the order of the report.
pub const LOADS: [&dyn Load; 21] = [
    &ClientCredentials,
    &private_key_jwt::PrivateKeyJwt,
    &code::Code(Identity::Rs256),
    &code::Code(Identity::Es256),
    &pushed::Push,
    &pushed::CodeByPush,
    &refresh::Refresh(Identity::Rs256),
    &refresh::Refresh(Identity::Es256),
    &device::Device,
    &exchange::TokenExchange,
    &asking::Introspection,
    &asking::FirstIntrospection,
    &asking::Userinfo,
    &asking::FirstUserinfo,
    &mixed::Mixed,
    &registration::Registration,
    &revocation::Revocation,
    &ciba::Ciba,
    &discovery::Discovery,
    &jwks::Jwks,
    &screens::Screens,
];

/// One script for each connection.
pub type Scripts<'a> = Pin<Box<dyn Future<Output = Outcome<Vec<Box<dyn Script>>>> + 'a>>;

pub trait Load {
    fn name(&self) -> &'static str;

    /// One sentence for the report.
    fn about(&self) -> &'static str;

    /// Makes ready for one round, before the clock runs: whatever must be held to ask is got here.
    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a>;

    /// Looks at an answer of the sample; what is wrong with it fails the run.
    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()>;

    /// What Porteiro is held to, against whom, where rows are kept in files.
    fn wanted(&self) -> &'static [Wanted];

    /// The same where rows are kept on PostgreSQL; of most it is only reported.
    fn wanted_on_postgres(&self) -> &'static [Wanted] {
        &[]
    }

    /// Whether a server has what is asked for.
    fn is_for(&self, _who: Who) -> bool {
        true
    }

    /// How many commits Porteiro may wait for in one operation; `None` where it makes none.
    fn most_commits(&self) -> Option<f64> {
        None
    }
}

/// What is divided, by whose figure, and what the ratio is to be.
pub type Wanted = (Compared, Who, Bound);

/// What of Porteiro's is divided by another's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    Rate,
    Cpu,
}
