//! What messages call the installation: the issuer's host.

use crate::actors::DeliveryFailure;
use std::sync::OnceLock;
use url::Url;

/// The issuer's host, once it is known: a development server learns its port when it binds.
#[derive(Default)]
pub(super) struct Installation(OnceLock<String>);

impl Installation {
    /// Takes the host from the issuer; the first one counts.
    pub(super) fn name(&self, issuer: &str) {
        let url = Url::parse(issuer).ok();
        let host = url.as_ref().and_then(|url| {
            let host = url.host_str()?;
            Some(url.port().map_or(host.to_owned(), |port| format!("{host}:{port}")))
        });
        let _ = self.0.set(host.unwrap_or_else(|| issuer.to_owned()));
    }

    pub(super) fn host(&self) -> Result<String, DeliveryFailure> {
        let host = self.0.get().cloned();
        host.ok_or_else(|| DeliveryFailure::Later("the server has not started yet".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installation_is_named_by_its_issuers_host() {
        for (issuer, host) in [
            ("https://id.example.com", "id.example.com"),
            ("http://localhost:8080", "localhost:8080"),
        ] {
            let installation = Installation::default();
            assert!(installation.host().is_err());
            installation.name(issuer);
            assert_eq!(installation.host().as_deref(), Ok(host));
        }
    }
}
