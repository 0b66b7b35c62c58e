//! Turns a name into addresses.

use std::{future::Future, io, net::IpAddr, pin::Pin};

/// The addresses of a name, once they are known.
pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name; asked once a request, and its answer is what is connected to.
pub trait Resolver: Send + Sync {
    fn addresses_of<'a>(&'a self, host: &'a str) -> Addresses<'a>;
}

/// The resolver of this machine, with its hosts file and its order of preference.
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn addresses_of<'a>(&'a self, host: &'a str) -> Addresses<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
